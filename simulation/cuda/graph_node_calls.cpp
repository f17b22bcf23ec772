// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of graphs: adding them, and reading and replacing their parameters.
#include "simulation/cuda/abi.h"
#include "simulation/cuda/graph_params.h"
#include "simulation/gpu/array.h"
#include "simulation/gpu/graph.h"
#include "simulation/gpu/graph_nodes.h"
#include "simulation/gpu/module.h"

namespace halyard::inline v0::sim::cuda {
namespace {

KernelParams with_context(const KernelParamsV1& params) {
  KernelParams whole{};
  static_cast<KernelParamsV1&>(whole) = params;
  return whole;
}

// The context of a copy or memset node: the given context, or the current context if that is null.
Result context_of(Context handle, ContextState*& context) {
  context = handle != nullptr ? resolve(handle) : this_thread().current();
  return context != nullptr ? kSuccess : kInvalidContext;
}

Result make_copy(const Copy3D* copy, Context handle, Work& work) {
  HALYARD_GPU_REQUIRE(copy != nullptr, kInvalidValue);
  ContextState* context = nullptr;
  const Result result = context_of(handle, context);
  return result == kSuccess ? work_of(*copy, context, work) : result;
}

Result make_fill(const FillParamsV1* fill, Context handle, Work& work) {
  HALYARD_GPU_REQUIRE(fill != nullptr, kInvalidValue);
  ContextState* context = nullptr;
  if (const Result result = context_of(handle, context); result != kSuccess) return result;
  FillParams whole{};
  static_cast<FillParamsV1&>(whole) = *fill;
  return work_of(whole, context, work);
}

Result make_kernel(const KernelParams* params, Work& work) {
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  return work_of(*params, this_thread().current(), work);
}

Result make_mem_ops(const MemOpNodeParams* params, Work& work) {
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  return gpu::make_mem_ops(params->operations, params->count, work);
}

Result make_any(const NodeParams* params, Work& work) {
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  return work_of(*params, this_thread().current(), work);
}

// The node owns the packed parameters. These pointers refer to them and are valid until the
// parameters are replaced.
Result read_kernel(GraphNode handle, KernelParams& params) {
  const auto* const work = work_of_node<KernelWork>(handle);
  HALYARD_GPU_REQUIRE(work != nullptr, kInvalidValue);
  KernelWork& kernel = *const_cast<KernelWork*>(work);
  kernel.pointers.clear();
  for (const Parameter& parameter : kernel.function->info().parameters) {
    kernel.pointers.push_back(kernel.parameters.data() + parameter.offset);
  }
  params = {};
  params.function = function_of(*kernel.function->module, kernel.function->entry);
  for (int i = 0; i < 3; ++i) {
    params.grid[i] = kernel.grid[i];
    params.block[i] = kernel.block[i];
  }
  params.shared_bytes = kernel.shared_bytes;
  params.parameters = kernel.pointers.data();
  params.context = kernel.context->handle;
  return kSuccess;
}

}  // namespace

#define HALYARD_CUDA_ADD(name, parameter, make)                                               \
  HALYARD_GPU_EXPORT Result name(GraphNode* node, Graph graph, const GraphNode* dependencies, \
                                 std::size_t count parameter) {                               \
    HALYARD_GPU_CALL(name, kInitialized);                                                     \
    Work work;                                                                                \
    const Result made = make;                                                                 \
    return add_to_graph(graph, dependencies, count, made, std::move(work), node);             \
  }
#define HALYARD_CUDA_COMMA ,
HALYARD_CUDA_ADD(cuGraphAddEmptyNode, , kSuccess)

HALYARD_CUDA_ADD(cuGraphAddKernelNode_v2, HALYARD_CUDA_COMMA const KernelParams* params,
                 make_kernel(params, work))

HALYARD_CUDA_ADD(cuGraphAddMemcpyNode,
                 HALYARD_CUDA_COMMA const Copy3D* copy HALYARD_CUDA_COMMA Context context,
                 make_copy(copy, context, work))

HALYARD_CUDA_ADD(cuGraphAddMemsetNode,
                 HALYARD_CUDA_COMMA const FillParamsV1* fill HALYARD_CUDA_COMMA Context context,
                 make_fill(fill, context, work))

HALYARD_CUDA_ADD(cuGraphAddHostNode, HALYARD_CUDA_COMMA const HostParams* params,
                 make_host(params, work))

HALYARD_CUDA_ADD(cuGraphAddEventRecordNode, HALYARD_CUDA_COMMA Event event,
                 make_event(event, true, work))

HALYARD_CUDA_ADD(cuGraphAddEventWaitNode, HALYARD_CUDA_COMMA Event event,
                 make_event(event, false, work))

HALYARD_CUDA_ADD(cuGraphAddChildGraphNode, HALYARD_CUDA_COMMA Graph child, make_child(child, work))

HALYARD_CUDA_ADD(cuGraphAddBatchMemOpNode, HALYARD_CUDA_COMMA const MemOpNodeParams* params,
                 make_mem_ops(params, work))

HALYARD_CUDA_ADD(cuGraphAddNode, HALYARD_CUDA_COMMA const NodeParams* params,
                 make_any(params, work))

HALYARD_GPU_EXPORT Result cuGraphAddKernelNode(GraphNode* node, Graph graph,
                                               const GraphNode* dependencies, std::size_t count,
                                               const KernelParamsV1* params) {
  HALYARD_GPU_CALL(cuGraphAddKernelNode, kInitialized);
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  const KernelParams whole = with_context(*params);
  Work work;
  const Result made = make_kernel(&whole, work);
  return add_to_graph(graph, dependencies, count, made, std::move(work), node);
}

HALYARD_GPU_EXPORT Result cuGraphAddNode_v2(GraphNode* node, Graph graph,
                                            const GraphNode* dependencies, const GraphEdge* edges,
                                            std::size_t count, const NodeParams* params) {
  HALYARD_GPU_CALL(cuGraphAddNode_v2, kInitialized);
  for (std::size_t i = 0; edges != nullptr && i < count; ++i) {
    HALYARD_GPU_REQUIRE(edges[i].type == 0, kNotSupported);
  }
  Work work;
  const Result made = make_any(params, work);
  return add_to_graph(graph, dependencies, count, made, std::move(work), node);
}

#define HALYARD_CUDA_SET(name, parameters, make)               \
  HALYARD_GPU_EXPORT Result name(GraphNode node, parameters) { \
    HALYARD_GPU_CALL(name, kInitialized);                      \
    Work work;                                                 \
    const Result made = make;                                  \
    return set_node(node, made, std::move(work));              \
  }
#define HALYARD_CUDA_SET_EXEC(name, parameters, make)                          \
  HALYARD_GPU_EXPORT Result name(GraphExec exec, GraphNode node, parameters) { \
    HALYARD_GPU_CALL(name, kInitialized);                                      \
    Work work;                                                                 \
    const Result made = make;                                                  \
    return set_in_exec(exec, node, made, std::move(work));                     \
  }
HALYARD_CUDA_SET(cuGraphKernelNodeSetParams_v2, const KernelParams* params,
                 make_kernel(params, work))

HALYARD_CUDA_SET(cuGraphMemcpyNodeSetParams, const Copy3D* copy, make_copy(copy, nullptr, work))

HALYARD_CUDA_SET(cuGraphMemsetNodeSetParams, const FillParamsV1* fill,
                 make_fill(fill, nullptr, work))

HALYARD_CUDA_SET(cuGraphHostNodeSetParams, const HostParams* params, make_host(params, work))

HALYARD_CUDA_SET(cuGraphEventRecordNodeSetEvent, Event event, make_event(event, true, work))

HALYARD_CUDA_SET(cuGraphEventWaitNodeSetEvent, Event event, make_event(event, false, work))

HALYARD_CUDA_SET(cuGraphBatchMemOpNodeSetParams, const MemOpNodeParams* params,
                 make_mem_ops(params, work))

HALYARD_CUDA_SET(cuGraphNodeSetParams, const NodeParams* params, make_any(params, work))

HALYARD_CUDA_SET_EXEC(cuGraphExecKernelNodeSetParams_v2, const KernelParams* params,
                      make_kernel(params, work))

HALYARD_CUDA_SET_EXEC(cuGraphExecHostNodeSetParams, const HostParams* params,
                      make_host(params, work))

HALYARD_CUDA_SET_EXEC(cuGraphExecEventRecordNodeSetEvent, Event event,
                      make_event(event, true, work))

HALYARD_CUDA_SET_EXEC(cuGraphExecEventWaitNodeSetEvent, Event event, make_event(event, false, work))

HALYARD_CUDA_SET_EXEC(cuGraphExecBatchMemOpNodeSetParams, const MemOpNodeParams* params,
                      make_mem_ops(params, work))

HALYARD_CUDA_SET_EXEC(cuGraphExecNodeSetParams, const NodeParams* params, make_any(params, work))

HALYARD_GPU_EXPORT Result cuGraphKernelNodeSetParams(GraphNode node, const KernelParamsV1* params) {
  HALYARD_GPU_CALL(cuGraphKernelNodeSetParams, kInitialized);
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  const KernelParams whole = with_context(*params);
  Work work;
  const Result made = make_kernel(&whole, work);
  return set_node(node, made, std::move(work));
}

HALYARD_GPU_EXPORT Result cuGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node,
                                                         const KernelParamsV1* params) {
  HALYARD_GPU_CALL(cuGraphExecKernelNodeSetParams, kInitialized);
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  const KernelParams whole = with_context(*params);
  Work work;
  const Result made = make_kernel(&whole, work);
  return set_in_exec(exec, node, made, std::move(work));
}

HALYARD_GPU_EXPORT Result cuGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node,
                                                         const Copy3D* copy, Context context) {
  HALYARD_GPU_CALL(cuGraphExecMemcpyNodeSetParams, kInitialized);
  Work work;
  const Result made = make_copy(copy, context, work);
  return set_in_exec(exec, node, made, std::move(work));
}

HALYARD_GPU_EXPORT Result cuGraphExecMemsetNodeSetParams(GraphExec exec, GraphNode node,
                                                         const FillParamsV1* fill,
                                                         Context context) {
  HALYARD_GPU_CALL(cuGraphExecMemsetNodeSetParams, kInitialized);
  Work work;
  const Result made = make_fill(fill, context, work);
  return set_in_exec(exec, node, made, std::move(work));
}

HALYARD_GPU_EXPORT Result cuGraphExecChildGraphNodeSetParams(GraphExec exec_handle, GraphNode node,
                                                             Graph child) {
  HALYARD_GPU_CALL(cuGraphExecChildGraphNodeSetParams, kInitialized);
  return set_exec_child(exec_handle, node, child);
}

HALYARD_GPU_EXPORT Result cuGraphKernelNodeGetParams_v2(GraphNode node, KernelParams* params) {
  HALYARD_GPU_CALL(cuGraphKernelNodeGetParams_v2, kInitialized);
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  return read_kernel(node, *params);
}

HALYARD_GPU_EXPORT Result cuGraphKernelNodeGetParams(GraphNode node, KernelParamsV1* params) {
  HALYARD_GPU_CALL(cuGraphKernelNodeGetParams, kInitialized);
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  KernelParams whole{};
  const Result result = read_kernel(node, whole);
  *params = whole;
  return result;
}

HALYARD_GPU_EXPORT Result cuGraphMemcpyNodeGetParams(GraphNode node, Copy3D* copy) {
  HALYARD_GPU_CALL(cuGraphMemcpyNodeGetParams, kInitialized);
  const auto* const work = work_of_node<CopyWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && copy != nullptr, kInvalidValue);
  *copy = with_arrays(work->copy);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuGraphMemsetNodeGetParams(GraphNode node, FillParamsV1* fill) {
  HALYARD_GPU_CALL(cuGraphMemsetNodeGetParams, kInitialized);
  const auto* const work = work_of_node<FillWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && fill != nullptr, kInvalidValue);
  *fill = work->fill;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuGraphHostNodeGetParams(GraphNode node, HostParams* params) {
  HALYARD_GPU_CALL(cuGraphHostNodeGetParams, kInitialized);
  const auto* const work = work_of_node<HostWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && params != nullptr, kInvalidValue);
  *params = work->host;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuGraphAddMemAllocNode(GraphNode* node, Graph graph,
                                                 const GraphNode* dependencies, std::size_t count,
                                                 AllocNodeParams* params) {
  HALYARD_GPU_CALL(cuGraphAddMemAllocNode, kNamed);
  return add_alloc_node(call, node, graph, dependencies, count, params);
}

HALYARD_GPU_EXPORT Result cuGraphAddMemFreeNode(GraphNode* node, Graph graph,
                                                const GraphNode* dependencies, std::size_t count,
                                                DevicePointer address) {
  HALYARD_GPU_CALL(cuGraphAddMemFreeNode, kNamed);
  return add_free_node(node, graph, dependencies, count, address);
}

HALYARD_GPU_EXPORT Result cuGraphMemAllocNodeGetParams(GraphNode node, AllocNodeParams* params) {
  HALYARD_GPU_CALL(cuGraphMemAllocNodeGetParams, kInitialized);
  return alloc_node_params(node, params);
}

HALYARD_GPU_EXPORT Result cuGraphEventRecordNodeGetEvent(GraphNode node, Event* event) {
  HALYARD_GPU_CALL(cuGraphEventRecordNodeGetEvent, kInitialized);
  return recorded_event(node, event);
}

HALYARD_GPU_EXPORT Result cuGraphEventWaitNodeGetEvent(GraphNode node, Event* event) {
  HALYARD_GPU_CALL(cuGraphEventWaitNodeGetEvent, kInitialized);
  return awaited_event(node, event);
}

HALYARD_GPU_EXPORT Result cuGraphMemFreeNodeGetParams(GraphNode node, DevicePointer* address) {
  HALYARD_GPU_CALL(cuGraphMemFreeNodeGetParams, kInitialized);
  return freed_address(node, address);
}

HALYARD_GPU_EXPORT Result cuGraphChildGraphNodeGetGraph(GraphNode node, Graph* graph) {
  HALYARD_GPU_CALL(cuGraphChildGraphNodeGetGraph, kInitialized);
  return child_graph(node, graph);
}

}  // namespace halyard::inline v0::sim::cuda
