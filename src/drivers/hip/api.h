// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HipApi: HIP as an Api of the stream driver (drivers/stream/api.h, device_api.h). A context is the
// ordinal of a device, which HIP keeps for each thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/hip/functions.h"
#include "drivers/hip/physical_device.h"
#include "drivers/stream/api.h"
#include "drivers/stream/completion.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/loader.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::hip {

struct Graph;       // graph_api.cpp
struct KernelNode;  // graph_api.cpp

struct HipApi {
  using Stream = hipStream_t;
  using Event = hipEvent_t;
  using Context = int;
  using CaptureMode = hipStreamCaptureMode;
  using Pool = hipMemPool_t;
  using Functions = hip::Functions;
  using PhysicalDevice = hip::PhysicalDevice;
  // HIP does not copy an image: it is kept until the module is unloaded.
  struct Module {
    hipModule_t handle = nullptr;
    std::byte* image = nullptr;
  };
  // With what each launch of it repeats.
  struct Function {
    hipFunction_t handle = nullptr;
    std::uint32_t workgroup_size[3] = {};
    std::uint32_t dynamic_shared_bytes = 0;
  };
  // Libraries have forgotten the arguments of a kernel node: they are kept as long as its graph.
  using Graph = hip::Graph*;
  struct GraphNode {
    hipGraphNode_t handle = nullptr;
    KernelNode* kernel = nullptr;
  };
  using ExecutableGraph = hipGraphExec_t;
  using Flag = stream::HostMemory;  // coherent
  static constexpr std::string_view kDriver = "hip";
  static constexpr CaptureMode kRelaxedCapture = hipStreamCaptureModeRelaxed;
  static constexpr const char* kLibraryVariable = "HALYARD_HIP_LIBRARY";
  static constexpr const char* kLibraryFiles[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                                  "libamdhip64.so.5", "libamdhip64.so"};
  static constexpr std::string_view kOldest = "HIP 5.6";
  static constexpr auto kDeviceType = hal::dlpack::DeviceType::kRocm;

  // A stream that does not answer has not stopped: kStillRunning. finish() polls: while one thread
  // synchronizes, calls of others for the same queue may block (ROCm/rocm-systems#11678).
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
  bool still_works(Stream stream) const noexcept;

  Status synchronize(Event event) const noexcept;
  Status create_flag(Flag& flag) const noexcept;
  void destroy(Flag flag) const noexcept;
  Status write(Stream stream, Flag flag, std::uint64_t value) const noexcept;
  std::uint64_t read(Flag flag) const noexcept;

  Status retain_context(unsigned ordinal, Context& context) const noexcept;
  void release_context(unsigned) const noexcept {}
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

  // Tests once whether graphs of the device take other parameters; if not, set_fill(), set_copy()
  // and set_launch() are kUnimplemented, and graphs are built again.
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
  bool same_library(const HipApi& other) const noexcept { return hip == other.hip; }
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

  // images.cpp
  Status load_image(const kernel::Hyx& file, std::string_view target,
                    std::span<const std::byte> bytes, Module& module) const;
  static bool is_foreign(const Status& status) noexcept {
    return status.code() == StatusCode::kUnavailable;
  }

  // functions.cpp; start() is that of physical_device.h.
  static void* open_library(const char* file, std::string& reason);
  static stream::LoadedLibraries<HipApi>& loaded_libraries() noexcept;
  static Status start(Functions& functions, std::vector<PhysicalDevice>& devices) {
    return hip::start(functions, devices);
  }
  static bool is_identity(std::string_view path) noexcept { return path.find(':') != path.npos; }
  static std::string_view identity(const PhysicalDevice& device) noexcept { return device.address; }
  static HipApi of(const Functions& functions, const PhysicalDevice& device, bool sleeps) noexcept {
    return {.hip = &functions, .device = &device, .sleeps_on_events = sleeps};
  }

  // function(arguments...), or, without the call, the fault that ended the library.
  template <class F, class... Arguments>
  hipError_t call(const F& function, Arguments... arguments) const noexcept {
    const int fault = hip->fault.load(std::memory_order_relaxed);
    if (fault != hipSuccess) return static_cast<hipError_t>(fault);
    return has_ended() ? hipErrorDeinitialized : function(arguments...);
  }
  // Of a call on `stream`: kDeviceLost only if the stream confirms it.
  Status status_of(hipError_t result, const char* name, Stream stream) const noexcept;

  // Both live until the process ends.
  const Functions* hip = nullptr;
  const PhysicalDevice* device = nullptr;
  bool sleeps_on_events = false;  // synchronize() is called: it gives its processor away
  bool updates_graphs = false;
};

static_assert(stream::DeviceApi<HipApi> && !stream::CompilerApi<HipApi>);

inline void* pointer_to(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

// to_status(hip->name(...), "name"), and the same of a call on a stream.
#define HALYARD_HIP_CALL(function, ...) to_status(call(hip->function, __VA_ARGS__), #function)
#define HALYARD_HIP_STREAM_CALL(stream, function, ...) \
  status_of(call(hip->function, __VA_ARGS__), #function, stream)

}  // namespace halyard::inline v0::hip
