// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/graph_nodes.h"

#include "simulation/gpu/graph.h"
#include "simulation/gpu/pool.h"

namespace halyard::inline v0::sim::gpu {

Result add_to_graph(Graph handle, const GraphNode* dependencies, std::size_t count, Result made,
                    Work work, GraphNode* node) {
  HALYARD_GPU_REQUIRE(made == kSuccess, made);
  GraphState* const graph = resolve(handle);
  HALYARD_GPU_REQUIRE(graph != nullptr && (count == 0 || dependencies != nullptr), kInvalidValue);
  return add_node(*graph, {dependencies, count}, std::move(work), node);
}

Result set_node(GraphNode handle, Result made, Work work) {
  HALYARD_GPU_REQUIRE(made == kSuccess, made);
  NodeState* const node = resolve(handle);
  HALYARD_GPU_REQUIRE(node != nullptr && type_of(node->work) == type_of(work), kInvalidValue);
  keep_attributes(node->work, work);
  node->work = std::move(work);
  return kSuccess;
}

Result set_in_exec(GraphExec exec_handle, GraphNode handle, Result made, Work work) {
  HALYARD_GPU_REQUIRE(made == kSuccess, made);
  ExecState* const exec = resolve(exec_handle);
  const NodeState* const node = resolve(handle);
  HALYARD_GPU_REQUIRE(exec != nullptr && node != nullptr, kInvalidValue);
  return set_exec_node(*exec, *node, std::move(work));
}

Result make_host(const HostParams* params, Work& work) {
  HALYARD_GPU_REQUIRE(params != nullptr && params->function != nullptr, kInvalidValue);
  work = HostWork{*params};
  return kSuccess;
}

Result make_event(Event event, bool records, Work& work) {
  HALYARD_GPU_REQUIRE(resolve(event) != nullptr, kInvalidValue);
  if (records) {
    work = RecordWork{event->object, nullptr};
  } else {
    work = WaitWork{event->object};
  }
  return kSuccess;
}

Result make_child(Graph handle, Work& work) {
  const GraphState* const child = resolve(handle);
  HALYARD_GPU_REQUIRE(child != nullptr, kInvalidValue);
  std::shared_ptr<GraphState> copy = clone(*child);
  copy->is_child = true;
  work = GraphWork{nullptr, std::move(copy)};
  return kSuccess;
}

Result make_mem_ops(const MemOp* operations, std::size_t count, Work& work) {
  HALYARD_GPU_REQUIRE(operations != nullptr && count != 0, kInvalidValue);
  work = MemOpWork{0, {operations, operations + count}};
  return kSuccess;
}

Result set_exec_child(GraphExec exec_handle, GraphNode node, Graph child) {
  ExecState* const exec = resolve(exec_handle);
  GraphState* const graph = resolve(child);
  HALYARD_GPU_REQUIRE(exec != nullptr && graph != nullptr, kInvalidValue);
  std::shared_ptr<ExecState> inner;
  const Result made = instantiate(*graph, 0, inner);
  HALYARD_GPU_REQUIRE(made == kSuccess, made);
  return set_in_exec(exec_handle, node, made, GraphWork{inner->plan, nullptr});
}

Result add_alloc_node(Call& call, GraphNode* node, Graph graph, const GraphNode* dependencies,
                      std::size_t count, AllocNodeParams* params) {
  HALYARD_GPU_REQUIRE(params != nullptr && params->size != 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(params->pool.handle_types == 0, kInvalidValue);
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
  HALYARD_GPU_REQUIRE(made == kSuccess, made);
  std::shared_ptr<GraphMemory> owned = make_graph_memory(params->address);
  owned->pool = params->pool;
  owned->access.assign(params->access, params->access + params->access_count);
  return add_to_graph(graph, dependencies, count, made,
                      AllocNodeWork{std::move(owned), params->size}, node);
}

Result add_free_node(GraphNode* node, Graph graph, const GraphNode* dependencies, std::size_t count,
                     DevicePointer address) {
  const GraphState* const to = resolve(graph);
  HALYARD_GPU_REQUIRE(to != nullptr, kInvalidValue);
  Work work;
  const Result made = make_free_node(*to, address, work);
  return add_to_graph(graph, dependencies, count, made, std::move(work), node);
}

Result alloc_node_params(GraphNode node, AllocNodeParams* params) {
  const auto* const work = work_of_node<AllocNodeWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && params != nullptr, kInvalidValue);
  const GraphMemory& owned = *work->memory;
  *params = {owned.pool, owned.access.data(), owned.access.size(), work->size, owned.address};
  return kSuccess;
}

Result recorded_event(GraphNode node, Event* event) {
  const auto* const work = work_of_node<RecordWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && event != nullptr, kInvalidValue);
  *event = work->event->handle;
  return kSuccess;
}

Result awaited_event(GraphNode node, Event* event) {
  const auto* const work = work_of_node<WaitWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && event != nullptr, kInvalidValue);
  *event = work->event->handle;
  return kSuccess;
}

Result freed_address(GraphNode node, DevicePointer* address) {
  const auto* const work = work_of_node<FreeNodeWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && address != nullptr, kInvalidValue);
  *address = work->address;
  return kSuccess;
}

Result child_graph(GraphNode node, Graph* graph) {
  const auto* const work = work_of_node<GraphWork>(node);
  HALYARD_GPU_REQUIRE(work != nullptr && graph != nullptr, kInvalidValue);
  if (work->graph->handle == nullptr) work->graph->handle = make_handle(work->graph);
  *graph = work->graph->handle;
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
