// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuGraph: graphs, their structure, instantiation, update and launch.
#include <algorithm>
#include <cstdio>

#include "simulation/cuda/abi.h"
#include "simulation/gpu/graph.h"
#include "simulation/gpu/graph_structure.h"
#include "simulation/gpu/per_thread.h"

namespace halyard::inline v0::sim::cuda {
namespace {}  // namespace

HALYARD_GPU_EXPORT Result cuGraphCreate(Graph* graph, unsigned flags) {
  HALYARD_GPU_CALL(cuGraphCreate, kInitialized);
  return create_graph(graph, flags);
}

HALYARD_GPU_EXPORT Result cuGraphDestroy(Graph handle) {
  HALYARD_GPU_CALL(cuGraphDestroy, kInitialized);
  return destroy_graph(handle);
}

HALYARD_GPU_EXPORT Result cuGraphClone(Graph* copy, Graph original) {
  HALYARD_GPU_CALL(cuGraphClone, kInitialized);
  return clone_graph(copy, original);
}

HALYARD_GPU_EXPORT Result cuGraphNodeFindInClone(GraphNode* node, GraphNode original, Graph copy) {
  HALYARD_GPU_CALL(cuGraphNodeFindInClone, kInitialized);
  return find_in_clone(node, original, copy);
}

HALYARD_GPU_EXPORT Result cuGraphDestroyNode(GraphNode handle) {
  HALYARD_GPU_CALL(cuGraphDestroyNode, kInitialized);
  return destroy_node(handle);
}

HALYARD_GPU_EXPORT Result cuGraphAddDependencies(Graph graph, const GraphNode* from,
                                                 const GraphNode* to, std::size_t count) {
  HALYARD_GPU_CALL(cuGraphAddDependencies, kInitialized);
  return change_edges(graph, from, to, nullptr, count, true);
}

HALYARD_GPU_EXPORT Result cuGraphAddDependencies_v2(Graph graph, const GraphNode* from,
                                                    const GraphNode* to, const GraphEdge* edges,
                                                    std::size_t count) {
  HALYARD_GPU_CALL(cuGraphAddDependencies_v2, kInitialized);
  return change_edges(graph, from, to, edges, count, true);
}

HALYARD_GPU_EXPORT Result cuGraphRemoveDependencies(Graph graph, const GraphNode* from,
                                                    const GraphNode* to, std::size_t count) {
  HALYARD_GPU_CALL(cuGraphRemoveDependencies, kInitialized);
  return change_edges(graph, from, to, nullptr, count, false);
}

HALYARD_GPU_EXPORT Result cuGraphRemoveDependencies_v2(Graph graph, const GraphNode* from,
                                                       const GraphNode* to, const GraphEdge* edges,
                                                       std::size_t count) {
  HALYARD_GPU_CALL(cuGraphRemoveDependencies_v2, kInitialized);
  return change_edges(graph, from, to, edges, count, false);
}

HALYARD_GPU_EXPORT Result cuGraphGetNodes(Graph handle, GraphNode* nodes, std::size_t* count) {
  HALYARD_GPU_CALL(cuGraphGetNodes, kInitialized);
  return graph_nodes(handle, nodes, count);
}

HALYARD_GPU_EXPORT Result cuGraphGetRootNodes(Graph handle, GraphNode* nodes, std::size_t* count) {
  HALYARD_GPU_CALL(cuGraphGetRootNodes, kInitialized);
  return root_nodes(handle, nodes, count);
}

HALYARD_GPU_EXPORT Result cuGraphGetEdges(Graph graph, GraphNode* from, GraphNode* to,
                                          std::size_t* count) {
  HALYARD_GPU_CALL(cuGraphGetEdges, kInitialized);
  return write_edges(graph, from, to, count);
}

HALYARD_GPU_EXPORT Result cuGraphGetEdges_v2(Graph graph, GraphNode* from, GraphNode* to,
                                             GraphEdge* edges, std::size_t* count) {
  HALYARD_GPU_CALL(cuGraphGetEdges_v2, kInitialized);
  const Result result = write_edges(graph, from, to, count);
  if (edges != nullptr && result == kSuccess) std::fill_n(edges, *count, GraphEdge{});
  return result;
}

HALYARD_GPU_EXPORT Result cuGraphNodeGetType(GraphNode handle, NodeType* type) {
  HALYARD_GPU_CALL(cuGraphNodeGetType, kInitialized);
  const NodeState* const node = resolve(handle);
  HALYARD_GPU_REQUIRE(node != nullptr && type != nullptr, kInvalidValue);
  *type = type_of(node->work);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuGraphNodeGetDependencies(GraphNode handle, GraphNode* nodes,
                                                     std::size_t* count) {
  HALYARD_GPU_CALL(cuGraphNodeGetDependencies, kInitialized);
  return node_dependencies(handle, nodes, count);
}

HALYARD_GPU_EXPORT Result cuGraphNodeGetDependencies_v2(GraphNode handle, GraphNode* nodes,
                                                        GraphEdge* edges, std::size_t* count) {
  HALYARD_GPU_CALL(cuGraphNodeGetDependencies_v2, kInitialized);
  const NodeState* const node = resolve(handle);
  HALYARD_GPU_REQUIRE(node != nullptr, kInvalidValue);
  const Result result = write_list(handles_of(node->dependencies), nodes, count);
  if (edges != nullptr && result == kSuccess) std::fill_n(edges, *count, GraphEdge{});
  return result;
}

HALYARD_GPU_EXPORT Result cuGraphNodeGetDependentNodes(GraphNode handle, GraphNode* nodes,
                                                       std::size_t* count) {
  HALYARD_GPU_CALL(cuGraphNodeGetDependentNodes, kInitialized);
  return node_dependents(handle, nodes, count);
}

HALYARD_GPU_EXPORT Result cuGraphNodeGetDependentNodes_v2(GraphNode handle, GraphNode* nodes,
                                                          GraphEdge* edges, std::size_t* count) {
  HALYARD_GPU_CALL(cuGraphNodeGetDependentNodes_v2, kInitialized);
  const NodeState* const node = resolve(handle);
  HALYARD_GPU_REQUIRE(node != nullptr, kInvalidValue);
  const Result result = write_list(dependents_of(*node), nodes, count);
  if (edges != nullptr && result == kSuccess) std::fill_n(edges, *count, GraphEdge{});
  return result;
}

HALYARD_GPU_EXPORT Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph,
                                                      unsigned long long flags) {
  HALYARD_GPU_CALL(cuGraphInstantiateWithFlags, kNamed | kUnsafeInCapture);
  return instantiate_graph(exec, graph, flags);
}

HALYARD_GPU_EXPORT Result cuGraphInstantiateWithParams(GraphExec* exec, Graph graph,
                                                       InstantiateParams* params) {
  HALYARD_GPU_CALL(cuGraphInstantiateWithParams, kNamed | kUnsafeInCapture);
  HALYARD_GPU_REQUIRE(params != nullptr, kInvalidValue);
  params->error_node = nullptr;
  const Result result = instantiate_graph(exec, graph, params->flags);
  params->result = result == kSuccess ? 0 : 1;
  if (result == kSuccess && (params->flags & kInstantiateUpload) != 0) {
    HALYARD_GPU_REQUIRE(find_stream(params->upload_stream) != nullptr,
                        stream_error(params->upload_stream));
  }
  return result;
}

#define HALYARD_CUDA_INSTANTIATE(name)                                                           \
  HALYARD_GPU_EXPORT Result name(GraphExec* exec, Graph graph, GraphNode* error_node, char* log, \
                                 std::size_t log_bytes) {                                        \
    HALYARD_GPU_CALL(name, kNamed | kUnsafeInCapture);                                           \
    if (error_node != nullptr) *error_node = nullptr;                                            \
    if (log != nullptr && log_bytes != 0) *log = '\0';                                           \
    return instantiate_graph(exec, graph, 0);                                                    \
  }
HALYARD_CUDA_INSTANTIATE(cuGraphInstantiate)

HALYARD_CUDA_INSTANTIATE(cuGraphInstantiate_v2)

HALYARD_GPU_EXPORT Result cuGraphExecGetFlags(GraphExec handle, std::uint64_t* flags) {
  HALYARD_GPU_CALL(cuGraphExecGetFlags, kInitialized);
  const ExecState* const exec = resolve(handle);
  HALYARD_GPU_REQUIRE(exec != nullptr && flags != nullptr, kInvalidValue);
  *flags = exec->flags;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuGraphUpload(GraphExec handle, Stream stream_handle) {
  HALYARD_GPU_CALL(cuGraphUpload, kNamed);
  return upload_graph(handle, stream_handle);
}

HALYARD_GPU_EXPORT Result cuGraphLaunch(GraphExec handle, Stream stream_handle) {
  HALYARD_GPU_CALL(cuGraphLaunch, kNamed);
  ExecState* const exec = resolve(handle);
  HALYARD_GPU_REQUIRE(exec != nullptr, kInvalidValue);
  StreamState* const stream = find_stream(stream_handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(stream_handle));
  return launch_graph(*exec, *stream);
}

HALYARD_GPU_EXPORT Result cuGraphExecDestroy(GraphExec handle) {
  HALYARD_GPU_CALL(cuGraphExecDestroy, kInitialized);
  return destroy_exec(handle);
}

HALYARD_GPU_EXPORT Result cuGraphExecUpdate_v2(GraphExec exec, Graph graph, UpdateInfo* info) {
  HALYARD_GPU_CALL(cuGraphExecUpdate_v2, kInitialized);
  HALYARD_GPU_REQUIRE(info != nullptr, kInvalidValue);
  return update_graph(exec, graph, *info);
}

HALYARD_GPU_EXPORT Result cuGraphExecUpdate(GraphExec exec, Graph graph, GraphNode* error_node,
                                            UpdateResult* reason) {
  HALYARD_GPU_CALL(cuGraphExecUpdate, kInitialized);
  UpdateInfo info{};
  const Result result = update_graph(exec, graph, info);
  if (error_node != nullptr) *error_node = info.error_node;
  if (reason != nullptr) *reason = info.result;
  return result;
}

HALYARD_GPU_EXPORT Result cuGraphNodeSetEnabled(GraphExec exec_handle, GraphNode node_handle,
                                                unsigned is_enabled) {
  HALYARD_GPU_CALL(cuGraphNodeSetEnabled, kInitialized);
  return set_node_enabled(exec_handle, node_handle, is_enabled);
}

HALYARD_GPU_EXPORT Result cuGraphNodeGetEnabled(GraphExec exec_handle, GraphNode node_handle,
                                                unsigned* is_enabled) {
  HALYARD_GPU_CALL(cuGraphNodeGetEnabled, kInitialized);
  return is_node_enabled(exec_handle, node_handle, is_enabled);
}

HALYARD_GPU_PER_THREAD(cuGraphInstantiateWithParams, _ptsz, 3)
HALYARD_GPU_PER_THREAD(cuGraphLaunch, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuGraphUpload, _ptsz, 2)
}  // namespace halyard::inline v0::sim::cuda
