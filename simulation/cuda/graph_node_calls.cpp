// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of graphs: adding them, and reading and replacing their parameters.
#include "simulation/cuda/array.h"
#include "simulation/cuda/graph.h"
#include "simulation/cuda/module.h"
#include "simulation/cuda/pool.h"

namespace halyard::inline v0::sim::cuda {
namespace {

Result add(Graph handle, const GraphNode* dependencies, std::size_t count, Result made, Work work,
           GraphNode* node) {
  HALYARD_CUDA_REQUIRE(made == kSuccess, made);
  GraphState* const graph = resolve(handle);
  HALYARD_CUDA_REQUIRE(graph != nullptr && (count == 0 || dependencies != nullptr), kInvalidValue);
  return add_node(*graph, {dependencies, count}, std::move(work), node);
}

Result set(GraphNode handle, Result made, Work work) {
  HALYARD_CUDA_REQUIRE(made == kSuccess, made);
  NodeState* const node = resolve(handle);
  HALYARD_CUDA_REQUIRE(node != nullptr && type_of(node->work) == type_of(work), kInvalidValue);
  keep_attributes(node->work, work);
  node->work = std::move(work);
  return kSuccess;
}

Result set_in_exec(GraphExec exec_handle, GraphNode handle, Result made, Work work) {
  HALYARD_CUDA_REQUIRE(made == kSuccess, made);
  ExecState* const exec = resolve(exec_handle);
  const NodeState* const node = resolve(handle);
  HALYARD_CUDA_REQUIRE(exec != nullptr && node != nullptr, kInvalidValue);
  return set_exec_node(*exec, *node, std::move(work));
}

template <class T>
const T* work_of_node(GraphNode handle) {
  const NodeState* const node = resolve(handle);
  return node != nullptr ? std::get_if<T>(&node->work) : nullptr;
}

KernelParams with_context(const KernelParamsV1& params) {
  KernelParams whole{};
  static_cast<KernelParamsV1&>(whole) = params;
  return whole;
}

// The context of a copy or memset node: the one given, else the current one.
Result context_of(Context handle, ContextState*& context) {
  context = handle != nullptr ? resolve(handle) : this_thread().current();
  return context != nullptr ? kSuccess : kInvalidContext;
}

Result make_copy(const Copy3D* copy, Context handle, Work& work) {
  HALYARD_CUDA_REQUIRE(copy != nullptr, kInvalidValue);
  ContextState* context = nullptr;
  const Result result = context_of(handle, context);
  return result == kSuccess ? work_of(*copy, context, work) : result;
}

Result make_fill(const FillParamsV1* fill, Context handle, Work& work) {
  HALYARD_CUDA_REQUIRE(fill != nullptr, kInvalidValue);
  ContextState* context = nullptr;
  if (const Result result = context_of(handle, context); result != kSuccess) return result;
  FillParams whole{};
  static_cast<FillParamsV1&>(whole) = *fill;
  return work_of(whole, context, work);
}

Result make_kernel(const KernelParams* params, Work& work) {
  HALYARD_CUDA_REQUIRE(params != nullptr, kInvalidValue);
  return work_of(*params, this_thread().current(), work);
}

Result make_host(const HostParams* params, Work& work) {
  HALYARD_CUDA_REQUIRE(params != nullptr && params->function != nullptr, kInvalidValue);
  work = HostWork{*params};
  return kSuccess;
}

Result make_event(Event event, bool records, Work& work) {
  HALYARD_CUDA_REQUIRE(resolve(event) != nullptr, kInvalidValue);
  if (records) {
    work = RecordWork{event->object, nullptr};
  } else {
    work = WaitWork{event->object};
  }
  return kSuccess;
}

Result make_child(Graph handle, Work& work) {
  const GraphState* const child = resolve(handle);
  HALYARD_CUDA_REQUIRE(child != nullptr, kInvalidValue);
  std::shared_ptr<GraphState> copy = clone(*child);
  copy->is_child = true;
  work = GraphWork{nullptr, std::move(copy)};
  return kSuccess;
}

Result make_mem_ops(const MemOpNodeParams* params, Work& work) {
  HALYARD_CUDA_REQUIRE(params != nullptr && params->operations != nullptr && params->count != 0,
                       kInvalidValue);
  work = MemOpWork{0, {params->operations, params->operations + params->count}};
  return kSuccess;
}

Result make_any(const NodeParams* params, Work& work) {
  HALYARD_CUDA_REQUIRE(params != nullptr, kInvalidValue);
  return work_of(*params, this_thread().current(), work);
}

// The node keeps the packed parameters; these pointers are into it, valid until they are replaced.
Result read_kernel(GraphNode handle, KernelParams& params) {
  const auto* const work = work_of_node<KernelWork>(handle);
  HALYARD_CUDA_REQUIRE(work != nullptr, kInvalidValue);
  KernelWork& kernel = *const_cast<KernelWork*>(work);
  kernel.pointers.clear();
  for (const ptx::Parameter& parameter : kernel.function->info().parameters) {
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

#define HALYARD_CUDA_ADD(name, parameter, make)                                                \
  HALYARD_CUDA_EXPORT Result name(GraphNode* node, Graph graph, const GraphNode* dependencies, \
                                  std::size_t count parameter) {                               \
    HALYARD_CUDA_CALL(name, kInitialized);                                                     \
    Work work;                                                                                 \
    const Result made = make;                                                                  \
    return add(graph, dependencies, count, made, std::move(work), node);                       \
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

HALYARD_CUDA_EXPORT Result cuGraphAddKernelNode(GraphNode* node, Graph graph,
                                                const GraphNode* dependencies, std::size_t count,
                                                const KernelParamsV1* params) {
  HALYARD_CUDA_CALL(cuGraphAddKernelNode, kInitialized);
  HALYARD_CUDA_REQUIRE(params != nullptr, kInvalidValue);
  const KernelParams whole = with_context(*params);
  Work work;
  const Result made = make_kernel(&whole, work);
  return add(graph, dependencies, count, made, std::move(work), node);
}

HALYARD_CUDA_EXPORT Result cuGraphAddNode_v2(GraphNode* node, Graph graph,
                                             const GraphNode* dependencies, const GraphEdge* edges,
                                             std::size_t count, const NodeParams* params) {
  HALYARD_CUDA_CALL(cuGraphAddNode_v2, kInitialized);
  for (std::size_t i = 0; edges != nullptr && i < count; ++i) {
    HALYARD_CUDA_REQUIRE(edges[i].type == 0, kNotSupported);
  }
  Work work;
  const Result made = make_any(params, work);
  return add(graph, dependencies, count, made, std::move(work), node);
}

#define HALYARD_CUDA_SET(name, parameters, make)                \
  HALYARD_CUDA_EXPORT Result name(GraphNode node, parameters) { \
    HALYARD_CUDA_CALL(name, kInitialized);                      \
    Work work;                                                  \
    const Result made = make;                                   \
    return set(node, made, std::move(work));                    \
  }
#define HALYARD_CUDA_SET_EXEC(name, parameters, make)                           \
  HALYARD_CUDA_EXPORT Result name(GraphExec exec, GraphNode node, parameters) { \
    HALYARD_CUDA_CALL(name, kInitialized);                                      \
    Work work;                                                                  \
    const Result made = make;                                                   \
    return set_in_exec(exec, node, made, std::move(work));                      \
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

HALYARD_CUDA_EXPORT Result cuGraphKernelNodeSetParams(GraphNode node,
                                                      const KernelParamsV1* params) {
  HALYARD_CUDA_CALL(cuGraphKernelNodeSetParams, kInitialized);
  HALYARD_CUDA_REQUIRE(params != nullptr, kInvalidValue);
  const KernelParams whole = with_context(*params);
  Work work;
  const Result made = make_kernel(&whole, work);
  return set(node, made, std::move(work));
}

HALYARD_CUDA_EXPORT Result cuGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node,
                                                          const KernelParamsV1* params) {
  HALYARD_CUDA_CALL(cuGraphExecKernelNodeSetParams, kInitialized);
  HALYARD_CUDA_REQUIRE(params != nullptr, kInvalidValue);
  const KernelParams whole = with_context(*params);
  Work work;
  const Result made = make_kernel(&whole, work);
  return set_in_exec(exec, node, made, std::move(work));
}

HALYARD_CUDA_EXPORT Result cuGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node,
                                                          const Copy3D* copy, Context context) {
  HALYARD_CUDA_CALL(cuGraphExecMemcpyNodeSetParams, kInitialized);
  Work work;
  const Result made = make_copy(copy, context, work);
  return set_in_exec(exec, node, made, std::move(work));
}

HALYARD_CUDA_EXPORT Result cuGraphExecMemsetNodeSetParams(GraphExec exec, GraphNode node,
                                                          const FillParamsV1* fill,
                                                          Context context) {
  HALYARD_CUDA_CALL(cuGraphExecMemsetNodeSetParams, kInitialized);
  Work work;
  const Result made = make_fill(fill, context, work);
  return set_in_exec(exec, node, made, std::move(work));
}

HALYARD_CUDA_EXPORT Result cuGraphExecChildGraphNodeSetParams(GraphExec exec_handle, GraphNode node,
                                                              Graph child) {
  HALYARD_CUDA_CALL(cuGraphExecChildGraphNodeSetParams, kInitialized);
  ExecState* const exec = resolve(exec_handle);
  GraphState* const graph = resolve(child);
  HALYARD_CUDA_REQUIRE(exec != nullptr && graph != nullptr, kInvalidValue);
  std::shared_ptr<ExecState> inner;
  const Result made = instantiate(*graph, 0, inner);
  HALYARD_CUDA_REQUIRE(made == kSuccess, made);
  return set_in_exec(exec_handle, node, made, GraphWork{inner->plan, nullptr});
}

HALYARD_CUDA_EXPORT Result cuGraphKernelNodeGetParams_v2(GraphNode node, KernelParams* params) {
  HALYARD_CUDA_CALL(cuGraphKernelNodeGetParams_v2, kInitialized);
  HALYARD_CUDA_REQUIRE(params != nullptr, kInvalidValue);
  return read_kernel(node, *params);
}

HALYARD_CUDA_EXPORT Result cuGraphKernelNodeGetParams(GraphNode node, KernelParamsV1* params) {
  HALYARD_CUDA_CALL(cuGraphKernelNodeGetParams, kInitialized);
  HALYARD_CUDA_REQUIRE(params != nullptr, kInvalidValue);
  KernelParams whole{};
  const Result result = read_kernel(node, whole);
  *params = whole;
  return result;
}

HALYARD_CUDA_EXPORT Result cuGraphMemcpyNodeGetParams(GraphNode node, Copy3D* copy) {
  HALYARD_CUDA_CALL(cuGraphMemcpyNodeGetParams, kInitialized);
  const auto* const work = work_of_node<CopyWork>(node);
  HALYARD_CUDA_REQUIRE(work != nullptr && copy != nullptr, kInvalidValue);
  *copy = with_arrays(work->copy);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphMemsetNodeGetParams(GraphNode node, FillParamsV1* fill) {
  HALYARD_CUDA_CALL(cuGraphMemsetNodeGetParams, kInitialized);
  const auto* const work = work_of_node<FillWork>(node);
  HALYARD_CUDA_REQUIRE(work != nullptr && fill != nullptr, kInvalidValue);
  *fill = work->fill;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphHostNodeGetParams(GraphNode node, HostParams* params) {
  HALYARD_CUDA_CALL(cuGraphHostNodeGetParams, kInitialized);
  const auto* const work = work_of_node<HostWork>(node);
  HALYARD_CUDA_REQUIRE(work != nullptr && params != nullptr, kInvalidValue);
  *params = work->host;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphAddMemAllocNode(GraphNode* node, Graph graph,
                                                  const GraphNode* dependencies, std::size_t count,
                                                  AllocNodeParams* params) {
  HALYARD_CUDA_CALL(cuGraphAddMemAllocNode, kNamed);
  HALYARD_CUDA_REQUIRE(params != nullptr && params->size != 0, kInvalidValue);
  HALYARD_CUDA_REQUIRE(params->pool.handle_types == 0, kInvalidValue);
  Allocation allocation;
  allocation.size = params->size;
  allocation.kind = MemoryKind::kPool;
  allocation.device = params->pool.location.id;
  allocation.context = call.context_or_null();
  allocation.access = std::uint64_t{1} << allocation.device;
  for (std::size_t i = 0; i < params->access_count; ++i) {
    allocation.access |= std::uint64_t{1} << params->access[i].location.id;
  }
  Result made = allocate_memory(allocation, 512, params->address);
  HALYARD_CUDA_REQUIRE(made == kSuccess, made);
  std::shared_ptr<GraphMemory> owned = make_graph_memory(params->address);
  owned->pool = params->pool;
  owned->access.assign(params->access, params->access + params->access_count);
  return add(graph, dependencies, count, made, AllocNodeWork{std::move(owned), params->size}, node);
}

HALYARD_CUDA_EXPORT Result cuGraphAddMemFreeNode(GraphNode* node, Graph graph,
                                                 const GraphNode* dependencies, std::size_t count,
                                                 DevicePointer address) {
  HALYARD_CUDA_CALL(cuGraphAddMemFreeNode, kNamed);
  const GraphState* const to = resolve(graph);
  HALYARD_CUDA_REQUIRE(to != nullptr, kInvalidValue);
  Work work;
  const Result made = make_free_node(*to, address, work);
  return add(graph, dependencies, count, made, std::move(work), node);
}

HALYARD_CUDA_EXPORT Result cuGraphMemAllocNodeGetParams(GraphNode node, AllocNodeParams* params) {
  HALYARD_CUDA_CALL(cuGraphMemAllocNodeGetParams, kInitialized);
  const auto* const work = work_of_node<AllocNodeWork>(node);
  HALYARD_CUDA_REQUIRE(work != nullptr && params != nullptr, kInvalidValue);
  const GraphMemory& owned = *work->memory;
  *params = {owned.pool, owned.access.data(), owned.access.size(), work->size, owned.address};
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphEventRecordNodeGetEvent(GraphNode node, Event* event) {
  HALYARD_CUDA_CALL(cuGraphEventRecordNodeGetEvent, kInitialized);
  const auto* const work = work_of_node<RecordWork>(node);
  HALYARD_CUDA_REQUIRE(work != nullptr && event != nullptr, kInvalidValue);
  *event = work->event->handle;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphEventWaitNodeGetEvent(GraphNode node, Event* event) {
  HALYARD_CUDA_CALL(cuGraphEventWaitNodeGetEvent, kInitialized);
  const auto* const work = work_of_node<WaitWork>(node);
  HALYARD_CUDA_REQUIRE(work != nullptr && event != nullptr, kInvalidValue);
  *event = work->event->handle;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphMemFreeNodeGetParams(GraphNode node, DevicePointer* address) {
  HALYARD_CUDA_CALL(cuGraphMemFreeNodeGetParams, kInitialized);
  const auto* const work = work_of_node<FreeNodeWork>(node);
  HALYARD_CUDA_REQUIRE(work != nullptr && address != nullptr, kInvalidValue);
  *address = work->address;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphChildGraphNodeGetGraph(GraphNode node, Graph* graph) {
  HALYARD_CUDA_CALL(cuGraphChildGraphNodeGetGraph, kInitialized);
  const auto* const work = work_of_node<GraphWork>(node);
  HALYARD_CUDA_REQUIRE(work != nullptr && graph != nullptr, kInvalidValue);
  if (work->graph->handle == nullptr) work->graph->handle = make_handle(work->graph);
  *graph = work->graph->handle;
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
