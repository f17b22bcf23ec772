// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CudaApi: the CUDA driver API as an Api of the stream driver (drivers/stream/native_api.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/cuda/error.h"
#include "drivers/cuda/functions.h"
#include "drivers/cuda/physical_device.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/loader.h"
#include "drivers/stream/native_api.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::cuda {

struct CudaNames {
  using Functions = cuda::Functions;
  using PhysicalDevice = cuda::PhysicalDevice;
  using Result = CUresult;
  using Pointer = CUdeviceptr;
  using Stream = CUstream;
  using Event = CUevent;
  using Context = CUcontext;
  using CaptureMode = CUstreamCaptureMode;
  using CaptureStatus = CUstreamCaptureStatus;
  using Pool = CUmemoryPool;
  using PoolProperties = CUmemPoolProps;
  using PoolAccess = CUmemAccessDesc;
  using PoolAttribute = CUmemPool_attribute;
  using PointerAttribute = CUpointer_attribute;
  using Module = CUmodule;
  using Function = CUfunction;
  using FunctionAttribute = CUfunction_attribute;
  using Graph = CUgraph;
  using GraphNode = CUgraphNode;
  using ExecutableGraph = CUgraphExec;
  using KernelNodeParameters = CUDA_KERNEL_NODE_PARAMS;
  using FillNodeParameters = CUDA_MEMSET_NODE_PARAMS;
  static constexpr std::string_view kDriver = "cuda", kPrefix = "cu";
  static constexpr std::uintptr_t kLaunchEnd = 0;                   // CU_LAUNCH_PARAM_END
  static constexpr bool kDevicesMaySeeHostMemoryElsewhere = false;  // unified addressing
  static constexpr bool kGraphsHaveContexts = true;

#define HALYARD_CUDA_NAME(name) static constexpr auto name = &Functions::cu##name;
  HALYARD_STREAM_FUNCTIONS(HALYARD_CUDA_NAME)
#undef HALYARD_CUDA_NAME
  static constexpr auto EventCreate = &Functions::cuEventCreate;
  static constexpr auto GetCurrent = &Functions::cuCtxGetCurrent;
  static constexpr auto SetCurrent = &Functions::cuCtxSetCurrent;
  static constexpr auto GetStreamPriorityRange = &Functions::cuCtxGetStreamPriorityRange;
  static constexpr auto EnablePeerAccess = &Functions::cuCtxEnablePeerAccess;
  static constexpr auto MaxActiveBlocks = &Functions::cuOccupancyMaxActiveBlocksPerMultiprocessor;
  static constexpr auto LaunchKernel = &Functions::cuLaunchKernel;
  static constexpr auto Allocate = &Functions::cuMemAlloc;
  static constexpr auto AllocateManaged = &Functions::cuMemAllocManaged;
  static constexpr auto Free = &Functions::cuMemFree;
  static constexpr auto AllocateHost = &Functions::cuMemHostAlloc;
  static constexpr auto FreeHost = &Functions::cuMemFreeHost;
  static constexpr auto RegisterHost = &Functions::cuMemHostRegister;
  static constexpr auto UnregisterHost = &Functions::cuMemHostUnregister;
  static constexpr auto GetDevicePointer = &Functions::cuMemHostGetDevicePointer;
  static constexpr auto AllocateFromPool = &Functions::cuMemAllocFromPoolAsync;
  static constexpr auto FreeAsync = &Functions::cuMemFreeAsync;

  static Status to_status(CUresult result, std::string_view call) {
    return cuda::to_status(result, call);
  }
  static std::string native_name(CUresult result) { return cuda::native_name(result); }
  static CUmodule handle_of(CUmodule module) noexcept { return module; }
  // cudaEventCreateWithFlags: waits and queries are fastest without CU_EVENT_BLOCKING_SYNC.
  static unsigned event_flags(bool sleeps) noexcept {
    return CU_EVENT_DISABLE_TIMING | (sleeps ? CU_EVENT_BLOCKING_SYNC : 0u);
  }
  static void set_grid(CUDA_KERNEL_NODE_PARAMS& parameters, const std::uint32_t (&groups)[3],
                       const std::uint32_t (&items)[3]) noexcept {
    parameters.gridDimX = groups[0];
    parameters.gridDimY = groups[1];
    parameters.gridDimZ = groups[2];
    parameters.blockDimX = items[0];
    parameters.blockDimY = items[1];
    parameters.blockDimZ = items[2];
  }
};

struct CudaApi : stream::NativeApi<CudaApi, CudaNames> {
  static constexpr const char* kLibraryVariable = "HALYARD_CUDA_LIBRARY";
  static constexpr const char* kLibraryFiles[] = {"libcuda.so.1"};
  static constexpr std::string_view kOldest = "a driver of CUDA 11.4";
  static constexpr auto kDeviceType = hal::dlpack::DeviceType::kCuda;

  Status finish(Stream stream) const noexcept;

  // `ordinal` is a CUdevice.
  Status retain_context(unsigned ordinal, Context& context) const noexcept;
  void release_context(unsigned ordinal) const noexcept;
  Status check_import(Stream stream) const;

  Status copy(Stream stream, std::uint64_t target, std::uint64_t source,
              std::uint64_t size) const noexcept;
  // Allows more shared memory than the default if a launch needs it.
  Status find_function(Module module, const kernel::KernelInfo& kernel,
                       Function& function) const noexcept;
  static int device_memory_type() noexcept { return CU_MEMORYTYPE_DEVICE; }

  // Copies and fills of a graph run in graph_context, the context that is current here.
  Status prepare_graphs() noexcept { return current_context(graph_context); }
  Status add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                  std::uint64_t target, std::uint64_t source, std::uint64_t size) const noexcept;
  Status set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                  std::uint64_t source, std::uint64_t size) const noexcept;

  // In images.cpp. Messages contain the compiler's log. compile() returns the source itself if the
  // driver has no linker.
  Status load_image(const kernel::Hyx& file, std::string_view target,
                    std::span<const std::byte> bytes, Module& module) const;
  void unload(Module module) const noexcept;
  static bool is_foreign(const Status& status);
  static bool is_source(std::string_view target) noexcept { return target.starts_with("ptx-"); }
  Result<std::vector<std::byte>> compile(const kernel::Hyx& file,
                                         const kernel::ImageInfo& image) const;
  std::string compiler() const;

  // In loader.cpp; start() is declared in physical_device.h.
  static void* open_library(const char* file, std::string& reason);
  static stream::LoadedLibraries<CudaApi>& loaded_libraries() noexcept;
  static Status start(Functions& functions, std::vector<PhysicalDevice>& devices) {
    return cuda::start(functions, devices);
  }
  static bool is_identity(std::string_view path) noexcept { return path.starts_with("GPU-"); }
  static std::string_view identity(const PhysicalDevice& device) noexcept { return device.uuid; }

  CUcontext graph_context = nullptr;
};

static_assert(stream::DeviceApi<CudaApi> && stream::CompilerApi<CudaApi>);

}  // namespace halyard::inline v0::cuda
