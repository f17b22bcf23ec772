// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstddef>
#include <cstdint>

#include "drivers/cuda/api.h"
#include "drivers/cuda/error.h"

namespace halyard::inline v0::cuda {
namespace {

// to_status(cuda->name(...), "name")
#define HALYARD_CUDA_CALL(function, ...) to_status(cuda->function(__VA_ARGS__), #function)

// The parameters of a kernel node, which CUDA copies: valid while this and `arguments` live.
class KernelNode {
 public:
  KernelNode(const CudaApi::Function& function, const std::uint32_t (&groups)[3],
             std::span<const std::byte> arguments) noexcept
      : size_(arguments.size()) {
    extra_[0] = reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
    extra_[1] = const_cast<std::byte*>(arguments.data());
    extra_[2] = reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);
    extra_[3] = &size_;
    parameters_.func = function.handle;
    parameters_.gridDimX = groups[0];
    parameters_.gridDimY = groups[1];
    parameters_.gridDimZ = groups[2];
    parameters_.blockDimX = function.workgroup_size[0];
    parameters_.blockDimY = function.workgroup_size[1];
    parameters_.blockDimZ = function.workgroup_size[2];
    parameters_.sharedMemBytes = function.dynamic_shared_bytes;
    if (size_ != 0) parameters_.extra = extra_;
  }
  KernelNode(const KernelNode&) = delete;
  KernelNode& operator=(const KernelNode&) = delete;

  const CUDA_KERNEL_NODE_PARAMS* get() const noexcept { return &parameters_; }

 private:
  std::size_t size_;
  void* extra_[5] = {};  // ends with CU_LAUNCH_PARAM_END
  CUDA_KERNEL_NODE_PARAMS parameters_ = {};
};

// One row: the only shape whose parameters an executable graph lets change. CUDA does not say what
// the bits of a value beyond its element are, and an H200 writes them.
CUDA_MEMSET_NODE_PARAMS memset_node(std::uint64_t target, std::uint32_t pattern,
                                    std::uint32_t pattern_size, std::uint64_t size) noexcept {
  CUDA_MEMSET_NODE_PARAMS parameters = {};
  parameters.dst = target;
  parameters.value = pattern & ~std::uint32_t{0} >> (32 - 8 * pattern_size);
  parameters.elementSize = pattern_size;
  parameters.width = size / pattern_size;
  parameters.height = 1;
  return parameters;
}

// A pitch of 0 is none: it has a largest value, a row has not.
CUDA_MEMCPY3D memcpy_node(std::uint64_t target, std::uint64_t source, std::uint64_t size) noexcept {
  CUDA_MEMCPY3D parameters = {};
  parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  parameters.srcDevice = source;
  parameters.dstDevice = target;
  parameters.WidthInBytes = size;
  parameters.Height = parameters.Depth = 1;
  return parameters;
}

}  // namespace

Status CudaApi::prepare_graphs() noexcept { return current_context(graph_context); }

Status CudaApi::create_graph(Graph& graph) const noexcept {
  return HALYARD_CUDA_CALL(cuGraphCreate, &graph, 0u);
}
void CudaApi::destroy(Graph graph) const noexcept { (void)cuda->cuGraphDestroy(graph); }

Status CudaApi::add_empty(Graph graph, std::span<const GraphNode> behind,
                          GraphNode& node) const noexcept {
  return HALYARD_CUDA_CALL(cuGraphAddEmptyNode, &node, graph, behind.data(), behind.size());
}
Status CudaApi::add_fill(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                         std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                         std::uint64_t size) const noexcept {
  const CUDA_MEMSET_NODE_PARAMS parameters = memset_node(target, pattern, pattern_size, size);
  return HALYARD_CUDA_CALL(cuGraphAddMemsetNode, &node, graph, behind.data(), behind.size(),
                           &parameters, graph_context);
}
Status CudaApi::add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                         std::uint64_t target, std::uint64_t source,
                         std::uint64_t size) const noexcept {
  const CUDA_MEMCPY3D parameters = memcpy_node(target, source, size);
  return HALYARD_CUDA_CALL(cuGraphAddMemcpyNode, &node, graph, behind.data(), behind.size(),
                           &parameters, graph_context);
}
Status CudaApi::add_launch(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                           const Function& function, const std::uint32_t (&groups)[3],
                           std::span<const std::byte> arguments) const noexcept {
  const KernelNode parameters(function, groups, arguments);
  return HALYARD_CUDA_CALL(cuGraphAddKernelNode, &node, graph, behind.data(), behind.size(),
                           parameters.get());
}
Status CudaApi::instantiate(Graph graph, ExecutableGraph& executable) const noexcept {
  return HALYARD_CUDA_CALL(cuGraphInstantiateWithFlags, &executable, graph, 0ull);
}

Status CudaApi::set_fill(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                         std::uint32_t pattern, std::uint32_t pattern_size,
                         std::uint64_t size) const noexcept {
  const CUDA_MEMSET_NODE_PARAMS parameters = memset_node(target, pattern, pattern_size, size);
  return HALYARD_CUDA_CALL(cuGraphExecMemsetNodeSetParams, executable, node, &parameters,
                           graph_context);
}
Status CudaApi::set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                         std::uint64_t source, std::uint64_t size) const noexcept {
  const CUDA_MEMCPY3D parameters = memcpy_node(target, source, size);
  return HALYARD_CUDA_CALL(cuGraphExecMemcpyNodeSetParams, executable, node, &parameters,
                           graph_context);
}
Status CudaApi::set_launch(ExecutableGraph executable, GraphNode node, const Function& function,
                           const std::uint32_t (&groups)[3],
                           std::span<const std::byte> arguments) const noexcept {
  const KernelNode parameters(function, groups, arguments);
  return HALYARD_CUDA_CALL(cuGraphExecKernelNodeSetParams, executable, node, parameters.get());
}

Status CudaApi::launch(Stream stream, ExecutableGraph executable) const noexcept {
  return HALYARD_CUDA_CALL(cuGraphLaunch, executable, stream);
}
void CudaApi::destroy(ExecutableGraph executable) const noexcept {
  (void)cuda->cuGraphExecDestroy(executable);
}

}  // namespace halyard::inline v0::cuda
