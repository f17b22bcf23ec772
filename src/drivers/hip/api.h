// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HipApi: HIP as an Api of the stream driver (drivers/stream/native_api.h). A context is the
// ordinal of a device, which HIP keeps for each thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/hip/error.h"
#include "drivers/hip/functions.h"
#include "drivers/hip/physical_device.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/loader.h"
#include "drivers/stream/native_api.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::hip {

struct HipNames {
  using Functions = hip::Functions;
  using PhysicalDevice = hip::PhysicalDevice;
  using Result = hipError_t;
  using Pointer = void*;
  using Stream = hipStream_t;
  using Event = hipEvent_t;
  using Context = int;
  using CaptureMode = hipStreamCaptureMode;
  using CaptureStatus = hipStreamCaptureStatus;
  using Pool = hipMemPool_t;
  using PoolProperties = hipMemPoolProps;
  using PoolAccess = hipMemAccessDesc;
  using PoolAttribute = hipMemPoolAttr;
  using PointerAttribute = hipPointer_attribute;
  // HIP does not copy an image: it is kept until the module is unloaded.
  struct Module {
    hipModule_t handle = nullptr;
    std::byte* image = nullptr;
  };
  using Function = hipFunction_t;
  using FunctionAttribute = hipFunction_attribute;
  using Graph = hipGraph_t;
  using GraphNode = hipGraphNode_t;
  using ExecutableGraph = hipGraphExec_t;
  using KernelNodeParameters = hipKernelNodeParams;
  using FillNodeParameters = hipMemsetParams;
  static constexpr std::string_view kDriver = "hip", kPrefix = "hip";
  static constexpr std::uintptr_t kLaunchEnd = 3;  // HIP_LAUNCH_PARAM_END; null is refused
  static constexpr bool kDevicesMaySeeHostMemoryElsewhere = true;  // ROCm/hip#2189
  static constexpr bool kGraphsHaveContexts = false;

#define HALYARD_HIP_NAME(name) static constexpr auto name = &Functions::hip##name;
  HALYARD_STREAM_FUNCTIONS(HALYARD_HIP_NAME)
#undef HALYARD_HIP_NAME
  static constexpr auto EventCreate = &Functions::hipEventCreateWithFlags;
  static constexpr auto GetCurrent = &Functions::hipGetDevice;
  static constexpr auto SetCurrent = &Functions::hipSetDevice;
  static constexpr auto GetStreamPriorityRange = &Functions::hipDeviceGetStreamPriorityRange;
  static constexpr auto EnablePeerAccess = &Functions::hipDeviceEnablePeerAccess;
  static constexpr auto MaxActiveBlocks =
      &Functions::hipModuleOccupancyMaxActiveBlocksPerMultiprocessor;
  static constexpr auto LaunchKernel = &Functions::hipModuleLaunchKernel;
  static constexpr auto Allocate = &Functions::hipMalloc;
  static constexpr auto AllocateManaged = &Functions::hipMallocManaged;
  static constexpr auto Free = &Functions::hipFree;
  static constexpr auto AllocateHost = &Functions::hipHostMalloc;
  static constexpr auto FreeHost = &Functions::hipHostFree;
  static constexpr auto RegisterHost = &Functions::hipHostRegister;
  static constexpr auto UnregisterHost = &Functions::hipHostUnregister;
  static constexpr auto GetDevicePointer = &Functions::hipHostGetDevicePointer;
  static constexpr auto AllocateFromPool = &Functions::hipMallocFromPoolAsync;
  static constexpr auto FreeAsync = &Functions::hipFreeAsync;

  static Status to_status(hipError_t result, std::string_view call) {
    return hip::to_status(result, call);
  }
  static std::string native_name(hipError_t result) { return hip::native_name(result); }
  static hipModule_t handle_of(const Module& module) noexcept { return module.handle; }
  // A wait sleeps only if no other flag is set (hip_event.cpp of ROCm/rocm-systems).
  static unsigned event_flags(bool sleeps) noexcept {
    return sleeps ? hipEventBlockingSync : hipEventDisableTiming;
  }
  static void set_grid(hipKernelNodeParams& parameters, const std::uint32_t (&groups)[3],
                       const std::uint32_t (&items)[3]) noexcept {
    parameters.gridDim = {groups[0], groups[1], groups[2]};
    parameters.blockDim = {items[0], items[1], items[2]};
  }
};

struct HipApi : stream::NativeApi<HipApi, HipNames> {
  static constexpr const char* kLibraryVariable = "HALYARD_HIP_LIBRARY";
  static constexpr const char* kLibraryFiles[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                                  "libamdhip64.so.5", "libamdhip64.so"};
  static constexpr std::string_view kOldest = "HIP 5.6";
  static constexpr auto kDeviceType = hal::dlpack::DeviceType::kRocm;
  // Some libraries do not copy the arguments of a graph's kernels (ROCm/clr#138).
  static constexpr bool kGraphsKeepArguments = true;

  // Polls: while one thread synchronizes, calls of others for the same queue may block
  // (ROCm/rocm-systems#11678).
  Status finish(Stream stream) const noexcept;
  bool still_works(Stream stream) const noexcept;
  // The status of a call on `stream`. It is kDeviceLost only if the stream confirms it.
  Status status_of(hipError_t result, std::string_view call, Stream stream) const noexcept;

  // Fails if another device is current, before an object of the current device is created. If
  // entering the guard (context.h) failed, HIP might create the object on device 0.
  Status check_device() const noexcept;
  Status create_stream(Stream& stream, int priority) const noexcept {
    HALYARD_RETURN_IF_ERROR(check_device());
    return NativeApi::create_stream(stream, priority);
  }
  Status create_event(Event& event) const noexcept {
    HALYARD_RETURN_IF_ERROR(check_device());
    return NativeApi::create_event(event);
  }
  Status allocate(std::uint64_t& address, std::uint64_t size) const noexcept {
    HALYARD_RETURN_IF_ERROR(check_device());
    return NativeApi::allocate(address, size);
  }
  Status allocate_managed(std::uint64_t& address, std::uint64_t size) const noexcept {
    HALYARD_RETURN_IF_ERROR(check_device());
    return NativeApi::allocate_managed(address, size);
  }
  Status instantiate(Graph graph, ExecutableGraph& executable) const noexcept {
    HALYARD_RETURN_IF_ERROR(check_device());
    return NativeApi::instantiate(graph, executable);
  }

  // HIP counts no users of a device.
  Status retain_context(unsigned ordinal, Context& context) const noexcept {
    return context = static_cast<int>(ordinal), Status();
  }
  void release_context(unsigned) const noexcept {}
  Status check_import(Stream stream) const;

  Status copy(Stream stream, std::uint64_t target, std::uint64_t source,
              std::uint64_t size) const noexcept;
  // Refuses memory that HIP already knows: libraries until June 2026 accept a second registration,
  // and then end both at once.
  Status register_host(void* pointer, std::uint64_t size) const noexcept;
  int device_memory_type() const noexcept { return native->version >= kNewMemoryTypes ? 2 : 1; }

  // Tests once whether graphs of the device take other parameters; if not, they are built again. An
  // executable graph takes other addresses for a copy only if the kind of the copy stays the same.
  Status prepare_graphs() noexcept;
  Status add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                  std::uint64_t target, std::uint64_t source, std::uint64_t size) const noexcept;
  Status set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                  std::uint64_t source, std::uint64_t size) const noexcept;

  // images.cpp
  Status load_image(const kernel::Hyx& file, std::string_view target,
                    std::span<const std::byte> bytes, Module& module) const;
  void unload(Module module) const noexcept;
  static bool is_foreign(const Status& status) noexcept {
    return status.code() == StatusCode::kUnavailable;
  }

  // In functions.cpp; start() is declared in physical_device.h.
  static void* open_library(const char* file, std::string& reason);
  static stream::LoadedLibraries<HipApi>& loaded_libraries() noexcept;
  static Status start(Functions& functions, std::vector<PhysicalDevice>& devices) {
    return hip::start(functions, devices);
  }
  static bool is_identity(std::string_view path) noexcept { return path.find(':') != path.npos; }
  static std::string_view identity(const PhysicalDevice& device) noexcept { return device.address; }

  bool updates_graphs = false;
};

static_assert(stream::DeviceApi<HipApi> && !stream::CompilerApi<HipApi>);

}  // namespace halyard::inline v0::hip
