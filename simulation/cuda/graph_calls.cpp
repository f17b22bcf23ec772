// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuGraph: graphs, their structure, instantiation, update and launch.
#include <algorithm>
#include <cstdio>

#include "simulation/cuda/graph.h"
#include "simulation/cuda/per_thread.h"

namespace halyard::inline v0::sim::cuda {
namespace {

constexpr std::uint64_t kInstantiateUpload = 2, kInstantiateDeviceLaunch = 4;

Result instantiate_graph(GraphExec* exec, Graph handle, std::uint64_t flags) {
  GraphState* const graph = resolve(handle);
  HALYARD_CUDA_REQUIRE(exec != nullptr && graph != nullptr, kInvalidValue);
  HALYARD_CUDA_REQUIRE(flags <= 15, kInvalidValue);
  HALYARD_CUDA_REQUIRE((flags & kInstantiateDeviceLaunch) == 0, kNotSupported);
  std::shared_ptr<ExecState> made;
  const Result result = instantiate(*graph, flags, made);
  if (result != kSuccess) return result;
  *exec = make_handle(std::move(made));
  ++state().live_execs;
  return kSuccess;
}

void end_nodes(GraphState& graph) {
  for (const auto& node : graph.nodes) {
    if (auto* const child = std::get_if<GraphWork>(&node->work)) {
      end_nodes(*child->graph);
      if (child->graph->handle != nullptr) end_handle(child->graph->handle);
    }
    end_handle(node->handle);
  }
}

Result change_edges(Graph handle, const GraphNode* from, const GraphNode* to,
                    const GraphEdge* edges, std::size_t count, bool adds) {
  GraphState* const graph = resolve(handle);
  HALYARD_CUDA_REQUIRE(graph != nullptr, kInvalidValue);
  HALYARD_CUDA_REQUIRE(count == 0 || (from != nullptr && to != nullptr), kInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    if (edges != nullptr && edges[i].type != 0) return kNotSupported;  // programmatic launch
    NodeState* const first = resolve(from[i]);
    NodeState* const second = resolve(to[i]);
    HALYARD_CUDA_REQUIRE(first != nullptr && second != nullptr && first != second, kInvalidValue);
    HALYARD_CUDA_REQUIRE(first->graph == graph && second->graph == graph, kInvalidValue);
    const auto at = std::ranges::find(second->dependencies, first);
    HALYARD_CUDA_REQUIRE((at == second->dependencies.end()) == adds, kInvalidValue);
    if (adds) {
      second->dependencies.push_back(first);
    } else {
      second->dependencies.erase(at);
    }
  }
  return kSuccess;
}

// The protocol of all lists: null asks for the count; a longer array is filled up with zeros.
template <class T>
Result write_list(const std::vector<T>& from, T* to, std::size_t* count) {
  HALYARD_CUDA_REQUIRE(count != nullptr, kInvalidValue);
  if (to != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) to[i] = i < from.size() ? from[i] : T{};
    *count = std::min(*count, from.size());
  } else {
    *count = from.size();
  }
  return kSuccess;
}

Result write_edges(Graph handle, GraphNode* from, GraphNode* to, std::size_t* count) {
  GraphState* const graph = resolve(handle);
  HALYARD_CUDA_REQUIRE(graph != nullptr && count != nullptr, kInvalidValue);
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

Result update(GraphExec exec_handle, Graph graph_handle, UpdateInfo& info) {
  ExecState* const exec = resolve(exec_handle);
  GraphState* const graph = resolve(graph_handle);
  HALYARD_CUDA_REQUIRE(exec != nullptr && graph != nullptr, kInvalidValue);
  NodeState* culprit = nullptr;
  info = {update_exec(*exec, *graph, culprit), nullptr, nullptr};
  if (culprit != nullptr) info.error_node = culprit->handle;
  return info.result == kUpdateSuccess ? kSuccess : kGraphExecUpdateFailure;
}

}  // namespace

HALYARD_CUDA_EXPORT Result cuGraphCreate(Graph* graph, unsigned flags) {
  HALYARD_CUDA_CALL(cuGraphCreate, kInitialized);
  HALYARD_CUDA_REQUIRE(graph != nullptr && flags == 0, kInvalidValue);
  auto made = std::make_shared<GraphState>();
  GraphState& state_of = *made;
  *graph = state_of.handle = make_handle(std::move(made));
  ++state().live_graphs;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphDestroy(Graph handle) {
  HALYARD_CUDA_CALL(cuGraphDestroy, kInitialized);
  GraphState* const graph = resolve(handle);
  HALYARD_CUDA_REQUIRE(graph != nullptr && !graph->is_child, kInvalidValue);
  end_nodes(*graph);
  end_handle(handle);
  --state().live_graphs;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphClone(Graph* copy, Graph original) {
  HALYARD_CUDA_CALL(cuGraphClone, kInitialized);
  GraphState* const graph = resolve(original);
  HALYARD_CUDA_REQUIRE(copy != nullptr && graph != nullptr, kInvalidValue);
  std::shared_ptr<GraphState> made = clone(*graph);
  GraphState& state_of = *made;
  *copy = state_of.handle = make_handle(std::move(made));
  ++state().live_graphs;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphNodeFindInClone(GraphNode* node, GraphNode original, Graph copy) {
  HALYARD_CUDA_CALL(cuGraphNodeFindInClone, kInitialized);
  const NodeState* const of = resolve(original);
  const GraphState* const graph = resolve(copy);
  HALYARD_CUDA_REQUIRE(node != nullptr && of != nullptr && graph != nullptr, kInvalidValue);
  for (const auto& twin : graph->nodes) {
    if (twin->id == of->id && twin.get() != of) {
      *node = twin->handle;
      return kSuccess;
    }
  }
  return kInvalidValue;
}

HALYARD_CUDA_EXPORT Result cuGraphDestroyNode(GraphNode handle) {
  HALYARD_CUDA_CALL(cuGraphDestroyNode, kInitialized);
  NodeState* const node = resolve(handle);
  HALYARD_CUDA_REQUIRE(node != nullptr, kInvalidValue);
  GraphState& graph = *node->graph;
  for (const auto& other : graph.nodes) std::erase(other->dependencies, node);
  const std::shared_ptr<NodeState> ended = end_handle(handle);
  std::erase(graph.nodes, ended);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphAddDependencies(Graph graph, const GraphNode* from,
                                                  const GraphNode* to, std::size_t count) {
  HALYARD_CUDA_CALL(cuGraphAddDependencies, kInitialized);
  return change_edges(graph, from, to, nullptr, count, true);
}

HALYARD_CUDA_EXPORT Result cuGraphAddDependencies_v2(Graph graph, const GraphNode* from,
                                                     const GraphNode* to, const GraphEdge* edges,
                                                     std::size_t count) {
  HALYARD_CUDA_CALL(cuGraphAddDependencies_v2, kInitialized);
  return change_edges(graph, from, to, edges, count, true);
}

HALYARD_CUDA_EXPORT Result cuGraphRemoveDependencies(Graph graph, const GraphNode* from,
                                                     const GraphNode* to, std::size_t count) {
  HALYARD_CUDA_CALL(cuGraphRemoveDependencies, kInitialized);
  return change_edges(graph, from, to, nullptr, count, false);
}

HALYARD_CUDA_EXPORT Result cuGraphRemoveDependencies_v2(Graph graph, const GraphNode* from,
                                                        const GraphNode* to, const GraphEdge* edges,
                                                        std::size_t count) {
  HALYARD_CUDA_CALL(cuGraphRemoveDependencies_v2, kInitialized);
  return change_edges(graph, from, to, edges, count, false);
}

HALYARD_CUDA_EXPORT Result cuGraphGetNodes(Graph handle, GraphNode* nodes, std::size_t* count) {
  HALYARD_CUDA_CALL(cuGraphGetNodes, kInitialized);
  const GraphState* const graph = resolve(handle);
  HALYARD_CUDA_REQUIRE(graph != nullptr, kInvalidValue);
  std::vector<GraphNode> list;
  for (const auto& node : graph->nodes) list.push_back(node->handle);
  return write_list(list, nodes, count);
}

HALYARD_CUDA_EXPORT Result cuGraphGetRootNodes(Graph handle, GraphNode* nodes, std::size_t* count) {
  HALYARD_CUDA_CALL(cuGraphGetRootNodes, kInitialized);
  const GraphState* const graph = resolve(handle);
  HALYARD_CUDA_REQUIRE(graph != nullptr, kInvalidValue);
  std::vector<GraphNode> list;
  for (const auto& node : graph->nodes) {
    if (node->dependencies.empty()) list.push_back(node->handle);
  }
  return write_list(list, nodes, count);
}

HALYARD_CUDA_EXPORT Result cuGraphGetEdges(Graph graph, GraphNode* from, GraphNode* to,
                                           std::size_t* count) {
  HALYARD_CUDA_CALL(cuGraphGetEdges, kInitialized);
  return write_edges(graph, from, to, count);
}

HALYARD_CUDA_EXPORT Result cuGraphGetEdges_v2(Graph graph, GraphNode* from, GraphNode* to,
                                              GraphEdge* edges, std::size_t* count) {
  HALYARD_CUDA_CALL(cuGraphGetEdges_v2, kInitialized);
  const Result result = write_edges(graph, from, to, count);
  if (edges != nullptr && result == kSuccess) std::fill_n(edges, *count, GraphEdge{});
  return result;
}

HALYARD_CUDA_EXPORT Result cuGraphNodeGetType(GraphNode handle, NodeType* type) {
  HALYARD_CUDA_CALL(cuGraphNodeGetType, kInitialized);
  const NodeState* const node = resolve(handle);
  HALYARD_CUDA_REQUIRE(node != nullptr && type != nullptr, kInvalidValue);
  *type = type_of(node->work);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphNodeGetDependencies(GraphNode handle, GraphNode* nodes,
                                                      std::size_t* count) {
  HALYARD_CUDA_CALL(cuGraphNodeGetDependencies, kInitialized);
  const NodeState* const node = resolve(handle);
  HALYARD_CUDA_REQUIRE(node != nullptr, kInvalidValue);
  return write_list(handles_of(node->dependencies), nodes, count);
}

HALYARD_CUDA_EXPORT Result cuGraphNodeGetDependencies_v2(GraphNode handle, GraphNode* nodes,
                                                         GraphEdge* edges, std::size_t* count) {
  HALYARD_CUDA_CALL(cuGraphNodeGetDependencies_v2, kInitialized);
  const NodeState* const node = resolve(handle);
  HALYARD_CUDA_REQUIRE(node != nullptr, kInvalidValue);
  const Result result = write_list(handles_of(node->dependencies), nodes, count);
  if (edges != nullptr && result == kSuccess) std::fill_n(edges, *count, GraphEdge{});
  return result;
}

HALYARD_CUDA_EXPORT Result cuGraphNodeGetDependentNodes(GraphNode handle, GraphNode* nodes,
                                                        std::size_t* count) {
  HALYARD_CUDA_CALL(cuGraphNodeGetDependentNodes, kInitialized);
  const NodeState* const node = resolve(handle);
  HALYARD_CUDA_REQUIRE(node != nullptr, kInvalidValue);
  return write_list(dependents_of(*node), nodes, count);
}

HALYARD_CUDA_EXPORT Result cuGraphNodeGetDependentNodes_v2(GraphNode handle, GraphNode* nodes,
                                                           GraphEdge* edges, std::size_t* count) {
  HALYARD_CUDA_CALL(cuGraphNodeGetDependentNodes_v2, kInitialized);
  const NodeState* const node = resolve(handle);
  HALYARD_CUDA_REQUIRE(node != nullptr, kInvalidValue);
  const Result result = write_list(dependents_of(*node), nodes, count);
  if (edges != nullptr && result == kSuccess) std::fill_n(edges, *count, GraphEdge{});
  return result;
}

HALYARD_CUDA_EXPORT Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph,
                                                       unsigned long long flags) {
  HALYARD_CUDA_CALL(cuGraphInstantiateWithFlags, kNamed | kUnsafeInCapture);
  return instantiate_graph(exec, graph, flags);
}

HALYARD_CUDA_EXPORT Result cuGraphInstantiateWithParams(GraphExec* exec, Graph graph,
                                                        InstantiateParams* params) {
  HALYARD_CUDA_CALL(cuGraphInstantiateWithParams, kNamed | kUnsafeInCapture);
  HALYARD_CUDA_REQUIRE(params != nullptr, kInvalidValue);
  params->error_node = nullptr;
  const Result result = instantiate_graph(exec, graph, params->flags);
  params->result = result == kSuccess ? 0 : 1;
  if (result == kSuccess && (params->flags & kInstantiateUpload) != 0) {
    HALYARD_CUDA_REQUIRE(find_stream(params->upload_stream) != nullptr,
                         stream_error(params->upload_stream));
  }
  return result;
}

#define HALYARD_CUDA_INSTANTIATE(name)                                                            \
  HALYARD_CUDA_EXPORT Result name(GraphExec* exec, Graph graph, GraphNode* error_node, char* log, \
                                  std::size_t log_bytes) {                                        \
    HALYARD_CUDA_CALL(name, kNamed | kUnsafeInCapture);                                           \
    if (error_node != nullptr) *error_node = nullptr;                                             \
    if (log != nullptr && log_bytes != 0) *log = '\0';                                            \
    return instantiate_graph(exec, graph, 0);                                                     \
  }
HALYARD_CUDA_INSTANTIATE(cuGraphInstantiate)
HALYARD_CUDA_INSTANTIATE(cuGraphInstantiate_v2)

HALYARD_CUDA_EXPORT Result cuGraphExecGetFlags(GraphExec handle, std::uint64_t* flags) {
  HALYARD_CUDA_CALL(cuGraphExecGetFlags, kInitialized);
  const ExecState* const exec = resolve(handle);
  HALYARD_CUDA_REQUIRE(exec != nullptr && flags != nullptr, kInvalidValue);
  *flags = exec->flags;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphUpload(GraphExec handle, Stream stream_handle) {
  HALYARD_CUDA_CALL(cuGraphUpload, kNamed);
  HALYARD_CUDA_REQUIRE(resolve(handle) != nullptr, kInvalidValue);
  StreamState* const stream = find_stream(stream_handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(stream_handle));
  return submit(*stream, EmptyWork{});
}

HALYARD_CUDA_EXPORT Result cuGraphLaunch(GraphExec handle, Stream stream_handle) {
  HALYARD_CUDA_CALL(cuGraphLaunch, kNamed);
  ExecState* const exec = resolve(handle);
  HALYARD_CUDA_REQUIRE(exec != nullptr, kInvalidValue);
  StreamState* const stream = find_stream(stream_handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(stream_handle));
  return launch_graph(*exec, *stream);
}

HALYARD_CUDA_EXPORT Result cuGraphExecDestroy(GraphExec handle) {
  HALYARD_CUDA_CALL(cuGraphExecDestroy, kInitialized);
  HALYARD_CUDA_REQUIRE(resolve(handle) != nullptr, kInvalidValue);
  end_handle(handle);  // cuda.h: if it is running, it is freed when it has ended
  --state().live_execs;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphExecUpdate_v2(GraphExec exec, Graph graph, UpdateInfo* info) {
  HALYARD_CUDA_CALL(cuGraphExecUpdate_v2, kInitialized);
  HALYARD_CUDA_REQUIRE(info != nullptr, kInvalidValue);
  return update(exec, graph, *info);
}

HALYARD_CUDA_EXPORT Result cuGraphExecUpdate(GraphExec exec, Graph graph, GraphNode* error_node,
                                             UpdateResult* reason) {
  HALYARD_CUDA_CALL(cuGraphExecUpdate, kInitialized);
  UpdateInfo info{};
  const Result result = update(exec, graph, info);
  if (error_node != nullptr) *error_node = info.error_node;
  if (reason != nullptr) *reason = info.result;
  return result;
}

HALYARD_CUDA_EXPORT Result cuGraphNodeSetEnabled(GraphExec exec_handle, GraphNode node_handle,
                                                 unsigned is_enabled) {
  HALYARD_CUDA_CALL(cuGraphNodeSetEnabled, kInitialized);
  ExecState* const exec = resolve(exec_handle);
  const NodeState* const node = resolve(node_handle);
  HALYARD_CUDA_REQUIRE(exec != nullptr && node != nullptr, kInvalidValue);
  const NodeType type = type_of(node->work);
  // cuda.h, cuGraphNodeSetEnabled: "only kernel, memset and memcpy nodes are supported"
  HALYARD_CUDA_REQUIRE(type == kKernelNode || type == kCopyNode || type == kFillNode,
                       kInvalidValue);
  const auto at = exec->index.find(node->id);
  HALYARD_CUDA_REQUIRE(at != exec->index.end(), kInvalidValue);
  auto plan = std::make_shared<Plan>(*exec->plan);
  plan->nodes[at->second].is_enabled = is_enabled != 0;
  exec->plan = std::move(plan);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuGraphNodeGetEnabled(GraphExec exec_handle, GraphNode node_handle,
                                                 unsigned* is_enabled) {
  HALYARD_CUDA_CALL(cuGraphNodeGetEnabled, kInitialized);
  const ExecState* const exec = resolve(exec_handle);
  const NodeState* const node = resolve(node_handle);
  HALYARD_CUDA_REQUIRE(exec != nullptr && node != nullptr && is_enabled != nullptr, kInvalidValue);
  const auto at = exec->index.find(node->id);
  HALYARD_CUDA_REQUIRE(at != exec->index.end(), kInvalidValue);
  *is_enabled = exec->plan->nodes[at->second].is_enabled ? 1 : 0;
  return kSuccess;
}

HALYARD_CUDA_PER_THREAD(cuGraphInstantiateWithParams, _ptsz, 3)
HALYARD_CUDA_PER_THREAD(cuGraphLaunch, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuGraphUpload, _ptsz, 2)

}  // namespace halyard::inline v0::sim::cuda
