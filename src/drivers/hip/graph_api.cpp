// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "base/array.h"
#include "base/atomic.h"
#include "base/format.h"
#include "base/mutex.h"
#include "drivers/hip/api.h"
#include "drivers/hip/error.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::hip {

// The arguments of one kernel node, which library and graph may refer to.
struct KernelNode {
  std::size_t size = 0;
  std::unique_ptr<std::byte[]> arguments;
  void* extra[5] = {};
  std::unique_ptr<KernelNode> next;
};

struct Graph {
  hipGraph_t handle = nullptr;
  std::unique_ptr<KernelNode> kernels;
};

namespace {

const void* source_at(std::uint64_t address) noexcept { return pointer_to(address); }

Status no_memory() {
  return Status(StatusCode::kResourceExhausted, "hip: no memory for a node of a graph");
}

// The nodes as HIP takes them.
class Handles {
 public:
  explicit Handles(std::span<const HipApi::GraphNode> nodes) noexcept
      : ok_(handles_.grow(nodes.size())) {
    for (std::size_t i = 0; ok_ && i < nodes.size(); ++i) handles_[i] = nodes[i].handle;
  }
  bool ok() const noexcept { return ok_; }
  const hipGraphNode_t* data() const noexcept { return handles_.data(); }

 private:
  base::Array<hipGraphNode_t> handles_;
  const bool ok_;
};

std::unique_ptr<KernelNode> make_kernel(std::span<const std::byte> arguments) noexcept {
  std::unique_ptr<KernelNode> kernel(new (std::nothrow) KernelNode);
  if (kernel == nullptr) return nullptr;
  kernel->size = arguments.size();
  kernel->arguments.reset(new (std::nothrow) std::byte[arguments.size() + 1]);
  if (kernel->arguments == nullptr) return nullptr;
  kernel->extra[0] = pointer_to(HIP_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
  kernel->extra[1] = kernel->arguments.get();
  kernel->extra[2] = pointer_to(HIP_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);
  kernel->extra[3] = &kernel->size;
  kernel->extra[4] = pointer_to(HIP_LAUNCH_PARAM_END_AS_INT);
  return kernel;
}

hipKernelNodeParams kernel_node(const HipApi::Function& function, const std::uint32_t (&groups)[3],
                                KernelNode& kernel, std::span<const std::byte> arguments) noexcept {
  if (!arguments.empty()) std::memcpy(kernel.arguments.get(), arguments.data(), arguments.size());
  const auto& items = function.workgroup_size;
  return {.blockDim = {items[0], items[1], items[2]},
          .extra = arguments.empty() ? nullptr : &kernel.extra[0],
          .func = static_cast<void*>(function.handle),
          .gridDim = {groups[0], groups[1], groups[2]},
          .kernelParams = nullptr,
          .sharedMemBytes = function.dynamic_shared_bytes};
}

// One row: the only shape whose size an executable graph lets change.
hipMemsetParams memset_node(std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                            std::uint64_t size) noexcept {
  return {.dst = pointer_to(target),
          .elementSize = pattern_size,
          .height = 1,
          .pitch = 0,
          .value = pattern & ~std::uint32_t{0} >> (32 - 8 * pattern_size),
          .width = size / pattern_size};
}

// Whether an executable graph runs with the parameters that it was given last. Libraries have
// launched updated nodes with their old ones, or hung (ROCm/clr#42, ROCm/rocm-systems#8776). A fill
// and a copy are asked: a kernel needs an image for the device.
class UpdateTest {
 public:
  explicit UpdateTest(const HipApi& api) noexcept : api_(api) { api_.updates_graphs = true; }
  // What hangs is kept for good.
  ~UpdateTest() {
    if (hangs_) return;
    if (executable_ != nullptr) api_.destroy(executable_);
    if (graph_ != nullptr) api_.destroy(graph_);
    if (stream_ != nullptr) api_.destroy(stream_);
    if (memory_.pointer != nullptr) api_.free_host(memory_.pointer);
  }
  UpdateTest(const UpdateTest&) = delete;
  UpdateTest& operator=(const UpdateTest&) = delete;

  // Of a status that is not ok nothing follows.
  Result<bool> passes() noexcept {
    HALYARD_RETURN_IF_ERROR(api_.allocate_host(memory_, kWords * sizeof(std::uint32_t)));
    HALYARD_RETURN_IF_ERROR(api_.create_stream(stream_, 0));
    HALYARD_RETURN_IF_ERROR(api_.create_graph(graph_));
    HipApi::GraphNode fill, copy;
    HALYARD_RETURN_IF_ERROR(api_.add_fill(graph_, {}, fill, at(0), 1, 4, 4));
    HALYARD_RETURN_IF_ERROR(api_.add_copy(graph_, {&fill, 1}, copy, at(1), at(2), 4));
    HALYARD_RETURN_IF_ERROR(api_.instantiate(graph_, executable_));
    HALYARD_ASSIGN_OR_RETURN(const bool first, launch({1, kFirst, kFirst, 0, 0, kSecond}));
    if (!first) return false;
    if (!api_.set_fill(executable_, fill, at(3), 2, 4, 4).ok()) return false;
    if (!api_.set_copy(executable_, copy, at(4), at(5), 4).ok()) return false;
    return launch({0, 0, kFirst, 2, kSecond, kSecond});
  }

 private:
  static constexpr std::uint32_t kWords = 6, kFirst = 0x11111111, kSecond = 0x22222222;
  static constexpr Nanoseconds kPatience = 2'000'000'000;

  std::uint32_t* words() const noexcept { return static_cast<std::uint32_t*>(memory_.pointer); }
  std::uint64_t at(std::uint32_t word) const noexcept {
    return memory_.address + word * sizeof(std::uint32_t);
  }

  Result<bool> launch(const std::uint32_t (&expected)[kWords]) noexcept {
    for (std::uint32_t i = 0; i < kWords; ++i) words()[i] = 0;
    words()[2] = kFirst;
    words()[5] = kSecond;
    HALYARD_RETURN_IF_ERROR(api_.launch(stream_, executable_));
    const Nanoseconds until = Clock::steady().now() + kPatience;
    for (;;) {
      const timeline::Abandoned end = api_.stop(stream_);
      if (end == timeline::Abandoned::kStopped) break;
      hangs_ = end == timeline::Abandoned::kStillRunning || Clock::steady().now() > until;
      if (hangs_) return false;
      base::spin_yield();
    }
    return std::memcmp(words(), &expected[0], sizeof expected) == 0;
  }

  HipApi api_;
  stream::HostMemory memory_;
  hipStream_t stream_ = nullptr;
  Graph* graph_ = nullptr;
  hipGraphExec_t executable_ = nullptr;
  bool hangs_ = false;
};

constinit base::Mutex update_test_mutex;

}  // namespace

Status HipApi::prepare_graphs() noexcept {
  base::LockGuard lock(update_test_mutex);
  if (device->graph_updates == GraphUpdates::kUnknown) {
    const Result<bool> passed = UpdateTest(*this).passes();
    if (passed.status().code() == StatusCode::kDeviceLost) return passed.status();
    // Out of memory, say: the next recording asks again.
    if (passed.ok()) device->graph_updates = *passed ? GraphUpdates::kWork : GraphUpdates::kFail;
  }
  updates_graphs = device->graph_updates == GraphUpdates::kWork;
  return {};
}

Status HipApi::create_graph(Graph& graph) const noexcept {
  std::unique_ptr<hip::Graph> fresh(new (std::nothrow) hip::Graph);
  if (fresh == nullptr) return no_memory();
  HALYARD_RETURN_IF_ERROR(HALYARD_HIP_CALL(hipGraphCreate, &fresh->handle, 0u));
  graph = fresh.release();
  return {};
}
void HipApi::destroy(Graph graph) const noexcept {
  (void)call(hip->hipGraphDestroy, graph->handle);
  while (graph->kernels != nullptr) graph->kernels = std::move(graph->kernels->next);
  delete graph;
}

Status HipApi::add_empty(Graph graph, std::span<const GraphNode> behind,
                         GraphNode& node) const noexcept {
  const Handles handles(behind);
  if (!handles.ok()) return no_memory();
  return HALYARD_HIP_CALL(hipGraphAddEmptyNode, &node.handle, graph->handle, handles.data(),
                          behind.size());
}
Status HipApi::add_fill(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                        std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                        std::uint64_t size) const noexcept {
  const Handles handles(behind);
  if (!handles.ok()) return no_memory();
  const hipMemsetParams parameters = memset_node(target, pattern, pattern_size, size);
  return HALYARD_HIP_CALL(hipGraphAddMemsetNode, &node.handle, graph->handle, handles.data(),
                          behind.size(), &parameters);
}
// A node takes other addresses only with the kind that it had: hipMemcpyDefault, always.
Status HipApi::add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                        std::uint64_t target, std::uint64_t source,
                        std::uint64_t size) const noexcept {
  const Handles handles(behind);
  if (!handles.ok()) return no_memory();
  return HALYARD_HIP_CALL(hipGraphAddMemcpyNode1D, &node.handle, graph->handle, handles.data(),
                          behind.size(), pointer_to(target), source_at(source), std::size_t{size},
                          hipMemcpyDefault);
}
Status HipApi::add_launch(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                          const Function& function, const std::uint32_t (&groups)[3],
                          std::span<const std::byte> arguments) const noexcept {
  const Handles handles(behind);
  std::unique_ptr<KernelNode> kernel = make_kernel(arguments);
  if (!handles.ok() || kernel == nullptr) return no_memory();
  node.kernel = kernel.get();
  kernel->next = std::move(graph->kernels);
  graph->kernels = std::move(kernel);
  const hipKernelNodeParams parameters = kernel_node(function, groups, *node.kernel, arguments);
  return HALYARD_HIP_CALL(hipGraphAddKernelNode, &node.handle, graph->handle, handles.data(),
                          behind.size(), &parameters);
}
Status HipApi::instantiate(Graph graph, ExecutableGraph& executable) const noexcept {
  return HALYARD_HIP_CALL(hipGraphInstantiateWithFlags, &executable, graph->handle, 0ull);
}

namespace {

Status no_updates() {
  return Status(StatusCode::kUnimplemented, "hip: graphs of this library keep their parameters");
}

}  // namespace

Status HipApi::set_fill(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                        std::uint32_t pattern, std::uint32_t pattern_size,
                        std::uint64_t size) const noexcept {
  if (!updates_graphs) return no_updates();
  const hipMemsetParams parameters = memset_node(target, pattern, pattern_size, size);
  return HALYARD_HIP_CALL(hipGraphExecMemsetNodeSetParams, executable, node.handle, &parameters);
}
Status HipApi::set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                        std::uint64_t source, std::uint64_t size) const noexcept {
  if (!updates_graphs) return no_updates();
  return HALYARD_HIP_CALL(hipGraphExecMemcpyNodeSetParams1D, executable, node.handle,
                          pointer_to(target), source_at(source), std::size_t{size},
                          hipMemcpyDefault);
}
Status HipApi::set_launch(ExecutableGraph executable, GraphNode node, const Function& function,
                          const std::uint32_t (&groups)[3],
                          std::span<const std::byte> arguments) const noexcept {
  if (!updates_graphs || arguments.size() != node.kernel->size) return no_updates();
  const hipKernelNodeParams parameters = kernel_node(function, groups, *node.kernel, arguments);
  return HALYARD_HIP_CALL(hipGraphExecKernelNodeSetParams, executable, node.handle, &parameters);
}

Status HipApi::launch(Stream stream, ExecutableGraph executable) const noexcept {
  return HALYARD_HIP_STREAM_CALL(stream, hipGraphLaunch, executable, stream);
}
void HipApi::destroy(ExecutableGraph executable) const noexcept {
  (void)call(hip->hipGraphExecDestroy, executable);
}

}  // namespace halyard::inline v0::hip
