// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/graph_structure.h"

#include <algorithm>

#include "simulation/gpu/graph.h"

namespace halyard::inline v0::sim::gpu {

Result instantiate_graph(GraphExec* exec, Graph handle, std::uint64_t flags) {
  GraphState* const graph = resolve(handle);
  HALYARD_GPU_REQUIRE(exec != nullptr && graph != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(flags <= 15, kInvalidValue);
  HALYARD_GPU_REQUIRE((flags & kInstantiateDeviceLaunch) == 0, kNotSupported);
  std::shared_ptr<ExecState> made;
  const Result result = instantiate(*graph, flags, made);
  if (result != kSuccess) return result;
  *exec = make_handle(std::move(made));
  ++state().live_execs;
  return kSuccess;
}

namespace {

void end_nodes(GraphState& graph) {
  for (const auto& node : graph.nodes) {
    if (auto* const child = std::get_if<GraphWork>(&node->work)) {
      end_nodes(*child->graph);
      if (child->graph->handle != nullptr) end_handle(child->graph->handle);
    }
    end_handle(node->handle);
  }
}

}  // namespace

Result change_edges(Graph handle, const GraphNode* from, const GraphNode* to,
                    const GraphEdge* edges, std::size_t count, bool adds) {
  GraphState* const graph = resolve(handle);
  HALYARD_GPU_REQUIRE(graph != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(count == 0 || (from != nullptr && to != nullptr), kInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    if (edges != nullptr && edges[i].type != 0) return kNotSupported;  // programmatic launch
    NodeState* const first = resolve(from[i]);
    NodeState* const second = resolve(to[i]);
    HALYARD_GPU_REQUIRE(first != nullptr && second != nullptr && first != second, kInvalidValue);
    HALYARD_GPU_REQUIRE(first->graph == graph && second->graph == graph, kInvalidValue);
    const auto at = std::ranges::find(second->dependencies, first);
    HALYARD_GPU_REQUIRE((at == second->dependencies.end()) == adds, kInvalidValue);
    if (adds) {
      second->dependencies.push_back(first);
    } else {
      second->dependencies.erase(at);
    }
  }
  return kSuccess;
}

Result write_edges(Graph handle, GraphNode* from, GraphNode* to, std::size_t* count) {
  GraphState* const graph = resolve(handle);
  HALYARD_GPU_REQUIRE(graph != nullptr && count != nullptr, kInvalidValue);
  std::vector<GraphNode> first, second;
  for (const auto& node : graph->nodes) {
    for (const NodeState* before : node->dependencies) {
      first.push_back(before->handle);
      second.push_back(node->handle);
    }
  }
  std::size_t other = *count;
  write_list(first, from, count);
  return write_list(second, to, &other);
}

std::vector<GraphNode> handles_of(const std::vector<NodeState*>& nodes) {
  std::vector<GraphNode> handles;
  for (const NodeState* node : nodes) handles.push_back(node->handle);
  return handles;
}

std::vector<GraphNode> dependents_of(const NodeState& of) {
  std::vector<GraphNode> handles;
  for (const auto& node : of.graph->nodes) {
    if (std::ranges::find(node->dependencies, &of) != node->dependencies.end()) {
      handles.push_back(node->handle);
    }
  }
  return handles;
}

Result update_graph(GraphExec exec_handle, Graph graph_handle, UpdateInfo& info) {
  ExecState* const exec = resolve(exec_handle);
  GraphState* const graph = resolve(graph_handle);
  HALYARD_GPU_REQUIRE(exec != nullptr && graph != nullptr, kInvalidValue);
  NodeState* culprit = nullptr;
  info = {update_exec(*exec, *graph, culprit), nullptr, nullptr};
  if (culprit != nullptr) info.error_node = culprit->handle;
  return info.result == kUpdateSuccess ? kSuccess : kGraphExecUpdateFailure;
}

Result create_graph(Graph* graph, unsigned flags) {
  HALYARD_GPU_REQUIRE(graph != nullptr && flags == 0, kInvalidValue);
  auto made = std::make_shared<GraphState>();
  GraphState& state_of = *made;
  *graph = state_of.handle = make_handle(std::move(made));
  ++state().live_graphs;
  return kSuccess;
}

Result destroy_graph(Graph handle) {
  GraphState* const graph = resolve(handle);
  HALYARD_GPU_REQUIRE(graph != nullptr && !graph->is_child, kInvalidValue);
  end_nodes(*graph);
  end_handle(handle);
  --state().live_graphs;
  return kSuccess;
}

Result clone_graph(Graph* copy, Graph original) {
  GraphState* const graph = resolve(original);
  HALYARD_GPU_REQUIRE(copy != nullptr && graph != nullptr, kInvalidValue);
  std::shared_ptr<GraphState> made = clone(*graph);
  GraphState& state_of = *made;
  *copy = state_of.handle = make_handle(std::move(made));
  ++state().live_graphs;
  return kSuccess;
}

Result find_in_clone(GraphNode* node, GraphNode original, Graph copy) {
  const NodeState* const of = resolve(original);
  const GraphState* const graph = resolve(copy);
  HALYARD_GPU_REQUIRE(node != nullptr && of != nullptr && graph != nullptr, kInvalidValue);
  for (const auto& twin : graph->nodes) {
    if (twin->id == of->id && twin.get() != of) {
      *node = twin->handle;
      return kSuccess;
    }
  }
  return kInvalidValue;
}

Result destroy_node(GraphNode handle) {
  NodeState* const node = resolve(handle);
  HALYARD_GPU_REQUIRE(node != nullptr, kInvalidValue);
  GraphState& graph = *node->graph;
  for (const auto& other : graph.nodes) std::erase(other->dependencies, node);
  const std::shared_ptr<NodeState> ended = end_handle(handle);
  std::erase(graph.nodes, ended);
  return kSuccess;
}

Result graph_nodes(Graph handle, GraphNode* nodes, std::size_t* count) {
  const GraphState* const graph = resolve(handle);
  HALYARD_GPU_REQUIRE(graph != nullptr, kInvalidValue);
  std::vector<GraphNode> list;
  for (const auto& node : graph->nodes) list.push_back(node->handle);
  return write_list(list, nodes, count);
}

Result root_nodes(Graph handle, GraphNode* nodes, std::size_t* count) {
  const GraphState* const graph = resolve(handle);
  HALYARD_GPU_REQUIRE(graph != nullptr, kInvalidValue);
  std::vector<GraphNode> list;
  for (const auto& node : graph->nodes) {
    if (node->dependencies.empty()) list.push_back(node->handle);
  }
  return write_list(list, nodes, count);
}

Result node_dependencies(GraphNode handle, GraphNode* nodes, std::size_t* count) {
  const NodeState* const node = resolve(handle);
  HALYARD_GPU_REQUIRE(node != nullptr, kInvalidValue);
  return write_list(handles_of(node->dependencies), nodes, count);
}

Result node_dependents(GraphNode handle, GraphNode* nodes, std::size_t* count) {
  const NodeState* const node = resolve(handle);
  HALYARD_GPU_REQUIRE(node != nullptr, kInvalidValue);
  return write_list(dependents_of(*node), nodes, count);
}

Result upload_graph(GraphExec handle, Stream stream_handle) {
  HALYARD_GPU_REQUIRE(resolve(handle) != nullptr, kInvalidValue);
  StreamState* const stream = find_stream(stream_handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(stream_handle));
  return submit(*stream, EmptyWork{});
}

Result destroy_exec(GraphExec handle) {
  HALYARD_GPU_REQUIRE(resolve(handle) != nullptr, kInvalidValue);
  end_handle(handle);  // cuda.h: if it is running, it is freed when it has ended
  --state().live_execs;
  return kSuccess;
}

Result set_node_enabled(GraphExec exec_handle, GraphNode node_handle, unsigned is_enabled) {
  ExecState* const exec = resolve(exec_handle);
  const NodeState* const node = resolve(node_handle);
  HALYARD_GPU_REQUIRE(exec != nullptr && node != nullptr, kInvalidValue);
  const NodeType type = type_of(node->work);
  // cuda.h, cuGraphNodeSetEnabled: "only kernel, memset and memcpy nodes are supported"
  HALYARD_GPU_REQUIRE(type == kKernelNode || type == kCopyNode || type == kFillNode, kInvalidValue);
  const auto at = exec->index.find(node->id);
  HALYARD_GPU_REQUIRE(at != exec->index.end(), kInvalidValue);
  auto plan = std::make_shared<Plan>(*exec->plan);
  plan->nodes[at->second].is_enabled = is_enabled != 0;
  exec->plan = std::move(plan);
  return kSuccess;
}

Result is_node_enabled(GraphExec exec_handle, GraphNode node_handle, unsigned* is_enabled) {
  const ExecState* const exec = resolve(exec_handle);
  const NodeState* const node = resolve(node_handle);
  HALYARD_GPU_REQUIRE(exec != nullptr && node != nullptr && is_enabled != nullptr, kInvalidValue);
  const auto at = exec->index.find(node->id);
  HALYARD_GPU_REQUIRE(at != exec->index.end(), kInvalidValue);
  *is_enabled = exec->plan->nodes[at->second].is_enabled ? 1 : 0;
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
