// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of graphs: adding them, and reading and replacing their work. The State is locked.
#pragma once

#include "simulation/gpu/call.h"
#include "simulation/gpu/graph.h"

namespace halyard::inline v0::sim::gpu {

// These take the result of making the work, and return it if it is an error.
Result add_to_graph(Graph handle, const GraphNode* dependencies, std::size_t count, Result made,
                    Work work, GraphNode* node);
Result set_node(GraphNode handle, Result made, Work work);
Result set_in_exec(GraphExec exec_handle, GraphNode handle, Result made, Work work);

// Returns null if the node is of another kind.
template <class T>
const T* work_of_node(GraphNode handle) {
  const NodeState* const node = resolve(handle);
  return node != nullptr ? std::get_if<T>(&node->work) : nullptr;
}

Result make_host(const HostParams* params, Work& work);
Result make_event(Event event, bool records, Work& work);
Result make_child(Graph handle, Work& work);
Result make_mem_ops(const MemOp* operations, std::size_t count, Work& work);

Result set_exec_child(GraphExec exec_handle, GraphNode node, Graph child);
Result add_alloc_node(Call& call, GraphNode* node, Graph graph, const GraphNode* dependencies,
                      std::size_t count, AllocNodeParams* params);
Result add_free_node(GraphNode* node, Graph graph, const GraphNode* dependencies, std::size_t count,
                     DevicePointer address);
Result alloc_node_params(GraphNode node, AllocNodeParams* params);
Result recorded_event(GraphNode node, Event* event);
Result awaited_event(GraphNode node, Event* event);
Result freed_address(GraphNode node, DevicePointer* address);
Result child_graph(GraphNode node, Graph* graph);

}  // namespace halyard::inline v0::sim::gpu
