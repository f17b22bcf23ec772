// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs as calls see them: their nodes and edges, and their executable graphs. The State is
// locked.
#pragma once

#include <algorithm>
#include <vector>

#include "simulation/gpu/graph.h"

namespace halyard::inline v0::sim::gpu {

Result create_graph(Graph* graph, unsigned flags);
Result destroy_graph(Graph handle);
Result clone_graph(Graph* copy, Graph original);
Result find_in_clone(GraphNode* node, GraphNode original, Graph copy);
Result destroy_node(GraphNode handle);
// Writes a graph in the language of Graphviz.
Result print_graph(Graph handle, const char* path, unsigned flags);

Result change_edges(Graph handle, const GraphNode* from, const GraphNode* to,
                    const GraphEdge* edges, std::size_t count, bool adds);
// The protocol of all lists: a null array requests the count; excess elements are filled with
// zeros.
template <class T>
Result write_list(const std::vector<T>& from, T* to, std::size_t* count) {
  HALYARD_GPU_REQUIRE(count != nullptr, kInvalidValue);
  if (to != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) to[i] = i < from.size() ? from[i] : T{};
    *count = std::min(*count, from.size());
  } else {
    *count = from.size();
  }
  return kSuccess;
}
Result write_edges(Graph handle, GraphNode* from, GraphNode* to, std::size_t* count);
std::vector<GraphNode> handles_of(const std::vector<NodeState*>& nodes);
std::vector<GraphNode> dependents_of(const NodeState& of);
Result graph_nodes(Graph handle, GraphNode* nodes, std::size_t* count);
Result root_nodes(Graph handle, GraphNode* nodes, std::size_t* count);
Result node_dependencies(GraphNode handle, GraphNode* nodes, std::size_t* count);
Result node_dependents(GraphNode handle, GraphNode* nodes, std::size_t* count);

// `flags` has CUDA's values; HIP has some of them.
Result instantiate_graph(GraphExec* exec, Graph handle, std::uint64_t flags);
Result upload_graph(GraphExec handle, Stream stream_handle);
Result destroy_exec(GraphExec handle);
Result update_graph(GraphExec exec_handle, Graph graph_handle, UpdateInfo& info);
Result set_node_enabled(GraphExec exec_handle, GraphNode node_handle, unsigned is_enabled);
Result is_node_enabled(GraphExec exec_handle, GraphNode node_handle, unsigned* is_enabled);

}  // namespace halyard::inline v0::sim::gpu
