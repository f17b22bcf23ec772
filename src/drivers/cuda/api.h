// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CudaApi: the CUDA driver API as an Api of the stream driver (drivers/stream/api.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/cuda/functions.h"
#include "drivers/cuda/physical_device.h"
#include "drivers/stream/api.h"
#include "drivers/stream/completion.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/loader.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::cuda {

struct CudaApi {
  using Stream = CUstream;
  using Event = CUevent;
  using Context = CUcontext;
  using CaptureMode = CUstreamCaptureMode;
  using Module = CUmodule;
  using Graph = CUgraph;
  using GraphNode = CUgraphNode;
  using ExecutableGraph = CUgraphExec;
  using Pool = CUmemoryPool;
  using Functions = cuda::Functions;
  using PhysicalDevice = cuda::PhysicalDevice;
  using Flag = std::uint64_t*;  // pinned; its address is the device's as well
  // With what each launch of it repeats.
  struct Function {
    CUfunction handle = nullptr;
    std::uint32_t workgroup_size[3] = {};
    std::uint32_t dynamic_shared_bytes = 0;
  };
  static constexpr std::string_view kDriver = "cuda";
  static constexpr CaptureMode kRelaxedCapture = CU_STREAM_CAPTURE_MODE_RELAXED;
  static constexpr const char* kLibraryVariable = "HALYARD_CUDA_LIBRARY";
  static constexpr const char* kLibraryFiles[] = {"libcuda.so.1"};
  static constexpr std::string_view kOldest = "a driver of CUDA 11.4";
  static constexpr auto kDeviceType = hal::dlpack::DeviceType::kCuda;

  // Work that has been submitted cannot be stopped; a stream that is idle has. Of one whose context
  // has faulted nothing will say that its work has ended: kStillRunning.
  Status create_stream(Stream& stream, int priority) const noexcept;
  Status finish(Stream stream) const noexcept;
  timeline::Abandoned stop(Stream stream) const noexcept;
  void destroy(Stream stream) const noexcept;
  Status query(Stream stream) const noexcept;
  Status create_event(Event& event) const noexcept;
  void destroy(Event event) const noexcept;
  Status record(Event event, Stream stream) const noexcept;
  Result<bool> query(Event event) const noexcept;
  Status wait(Stream stream, Event event) const noexcept;
  Status call_host(Stream stream, stream::HostFunction function, void* argument) const noexcept;
  Status check_capture(Stream stream) const noexcept;

  Status synchronize(Event event) const noexcept;
  Status create_flag(Flag& flag) const noexcept;
  void destroy(Flag flag) const noexcept;
  Status write(Stream stream, Flag flag, std::uint64_t value) const noexcept;
  std::uint64_t read(Flag flag) const noexcept;

  // `ordinal` is a CUdevice.
  Status retain_context(unsigned ordinal, Context& context) const noexcept;
  void release_context(unsigned ordinal) const noexcept;
  Status current_context(Context& context) const noexcept;
  Status set_current_context(Context context) const noexcept;
  Status exchange_capture_mode(CaptureMode& mode) const noexcept;

  Status fill(Stream stream, std::uint64_t target, std::uint32_t pattern,
              std::uint32_t pattern_size, std::uint64_t size) const noexcept;
  Status copy(Stream stream, std::uint64_t target, std::uint64_t source,
              std::uint64_t size) const noexcept;
  Status copy_in(Stream stream, std::uint64_t target, const std::byte* source,
                 std::uint64_t size) const noexcept;
  void unload(Module module) const noexcept;
  Status find_function(Module module, const kernel::KernelInfo& kernel,
                       Function& function) const noexcept;
  Result<hal::FunctionResources> resources(const Function& function) const noexcept;
  Status launch(Stream stream, const Function& function, const std::uint32_t (&groups)[3],
                std::span<const std::byte> arguments) const noexcept;

  // Copies and fills of a graph run in graph_context, the one that is current here.
  Status prepare_graphs() noexcept;
  Status create_graph(Graph& graph) const noexcept;
  void destroy(Graph graph) const noexcept;
  Status add_empty(Graph graph, std::span<const GraphNode> behind, GraphNode& node) const noexcept;
  Status add_fill(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                  std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                  std::uint64_t size) const noexcept;
  Status add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                  std::uint64_t target, std::uint64_t source, std::uint64_t size) const noexcept;
  Status add_launch(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                    const Function& function, const std::uint32_t (&groups)[3],
                    std::span<const std::byte> arguments) const noexcept;
  Status instantiate(Graph graph, ExecutableGraph& executable) const noexcept;
  Status set_fill(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                  std::uint32_t pattern, std::uint32_t pattern_size,
                  std::uint64_t size) const noexcept;
  Status set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                  std::uint64_t source, std::uint64_t size) const noexcept;
  Status set_launch(ExecutableGraph executable, GraphNode node, const Function& function,
                    const std::uint32_t (&groups)[3],
                    std::span<const std::byte> arguments) const noexcept;
  Status launch(Stream stream, ExecutableGraph executable) const noexcept;
  void destroy(ExecutableGraph executable) const noexcept;

  // device_api.cpp
  Status allocate(std::uint64_t& address, std::uint64_t size) const noexcept;
  Status allocate_managed(std::uint64_t& address, std::uint64_t size) const noexcept;
  void free(std::uint64_t address) const noexcept;
  Status allocate_host(stream::HostMemory& memory, std::uint64_t size) const noexcept;
  void free_host(void* pointer) const noexcept;
  Status register_host(void* pointer, std::uint64_t size) const noexcept;
  void unregister_host(void* pointer) const noexcept;
  Status device_address(void* pointer, std::uint64_t& address) const noexcept;
  Status find_owner(std::uint64_t address, int& ordinal) const noexcept;
  bool same_library(const CudaApi& other) const noexcept { return cuda == other.cuda; }
  Status create_pool(int ordinal, Pool& pool) const noexcept;
  Status set_release_threshold(Pool pool, std::uint64_t size) const noexcept;
  Status share_pool(Pool pool, int ordinal) const noexcept;
  void destroy(Pool pool) const noexcept;
  Status allocate_from(Pool pool, Stream stream, std::uint64_t& address,
                       std::uint64_t size) const noexcept;
  void free_async(std::uint64_t address, Stream stream) const noexcept;
  Status can_access_peer(int user, int owner, bool& possible) const noexcept;
  Status enable_peer_access(Context owner) const noexcept;
  Status priority_range(int& least, int& greatest) const noexcept;
  Status check_import(Stream stream) const;

  // images.cpp. The messages have the compiler's log. The result of compile() is the source itself
  // where the driver has no linker.
  Status load_image(const kernel::Hyx& file, std::string_view target,
                    std::span<const std::byte> bytes, Module& module) const;
  static bool is_foreign(const Status& status);
  static bool is_source(std::string_view target) noexcept { return target.starts_with("ptx-"); }
  Result<std::vector<std::byte>> compile(const kernel::Hyx& file,
                                         const kernel::ImageInfo& image) const;
  std::string compiler() const;

  // loader.cpp; start() and identity() are those of physical_device.h.
  static void* open_library(const char* file, std::string& reason);
  static stream::LoadedLibraries<CudaApi>& loaded_libraries() noexcept;
  static Status start(Functions& functions, std::vector<PhysicalDevice>& devices) {
    return cuda::start(functions, devices);
  }
  static bool is_identity(std::string_view path) noexcept { return path.starts_with("GPU-"); }
  static std::string_view identity(const PhysicalDevice& device) noexcept { return device.uuid; }
  static CudaApi of(const Functions& functions, const PhysicalDevice& device,
                    bool sleeps) noexcept {
    return {.cuda = &functions, .device = &device, .sleeps_on_events = sleeps};
  }

  // Both live until the process ends.
  const Functions* cuda = nullptr;
  const PhysicalDevice* device = nullptr;
  bool sleeps_on_events = false;  // synchronize() is called: it gives its processor away
  CUcontext graph_context = nullptr;
};

static_assert(stream::DeviceApi<CudaApi> && stream::CompilerApi<CudaApi>);

}  // namespace halyard::inline v0::cuda
