// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipGraph: graphs, their structure, instantiation, update and launch; user objects.
#include "simulation/gpu/graph_structure.h"
#include "simulation/gpu/user_object.h"
#include "simulation/hip/per_thread.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {
namespace {

// hip_graph.cpp:1363: AutoFreeOnLaunch, Upload (since 6.1), DeviceLaunch (refused), UseNodePriority
constexpr unsigned long long kAutoFree = 1, kUpload = 2, kDeviceLaunch = 4, kNodePriority = 8;

Result instantiate(GraphExec* exec, Graph graph, unsigned long long flags) {
  HALYARD_GPU_REQUIRE(exec != nullptr && gpu::resolve(graph) != nullptr, gpu::kInvalidValue);
  return gpu::instantiate_graph(exec, graph, flags);
}

Result launch(Call& call, GraphExec handle, Stream stream) {
  gpu::ExecState* const exec = gpu::resolve(handle);
  HALYARD_GPU_REQUIRE(exec != nullptr, gpu::kInvalidValue);
  HALYARD_HIP_HANDLE(stream);
  const Result result = gpu::launch_graph(*exec, *gpu::find_stream(stream));
  return after_launch(call, stream, result);
}

int type_of(const gpu::NodeState& node) {
  const gpu::NodeType type = gpu::type_of(node.work);
  return type == gpu::kMemOpNode ? kMemOpNode : static_cast<int>(type);
}

}  // namespace

HALYARD_HIP_EXPORT Result hipGraphCreate(Graph* graph, unsigned flags) {
  HALYARD_HIP_CALL(hipGraphCreate, gpu::kInitialized) { return gpu::create_graph(graph, flags); };
}

HALYARD_HIP_EXPORT Result hipGraphDestroy(Graph graph) {
  HALYARD_HIP_CALL(hipGraphDestroy, gpu::kInitialized) { return gpu::destroy_graph(graph); };
}

HALYARD_HIP_EXPORT Result hipGraphClone(Graph* copy, Graph original) {
  HALYARD_HIP_CALL(hipGraphClone, gpu::kInitialized) { return gpu::clone_graph(copy, original); };
}

HALYARD_HIP_EXPORT Result hipGraphNodeFindInClone(GraphNode* node, GraphNode original, Graph copy) {
  HALYARD_HIP_CALL(hipGraphNodeFindInClone, gpu::kInitialized) {
    return gpu::find_in_clone(node, original, copy);
  };
}

HALYARD_HIP_EXPORT Result hipGraphDestroyNode(GraphNode node) {
  HALYARD_HIP_CALL(hipGraphDestroyNode, gpu::kInitialized) { return gpu::destroy_node(node); };
}

HALYARD_HIP_EXPORT Result hipGraphAddDependencies(Graph graph, const GraphNode* from,
                                                  const GraphNode* to, std::size_t count) {
  HALYARD_HIP_CALL(hipGraphAddDependencies, gpu::kInitialized) {
    return gpu::change_edges(graph, from, to, nullptr, count, true);
  };
}

HALYARD_HIP_EXPORT Result hipGraphRemoveDependencies(Graph graph, const GraphNode* from,
                                                     const GraphNode* to, std::size_t count) {
  HALYARD_HIP_CALL(hipGraphRemoveDependencies, gpu::kInitialized) {
    return gpu::change_edges(graph, from, to, nullptr, count, false);
  };
}

HALYARD_HIP_EXPORT Result hipGraphGetNodes(Graph graph, GraphNode* nodes, std::size_t* count) {
  HALYARD_HIP_CALL(hipGraphGetNodes, gpu::kInitialized) {
    return gpu::graph_nodes(graph, nodes, count);
  };
}

HALYARD_HIP_EXPORT Result hipGraphGetRootNodes(Graph graph, GraphNode* nodes, std::size_t* count) {
  HALYARD_HIP_CALL(hipGraphGetRootNodes, gpu::kInitialized) {
    return gpu::root_nodes(graph, nodes, count);
  };
}

HALYARD_HIP_EXPORT Result hipGraphGetEdges(Graph graph, GraphNode* from, GraphNode* to,
                                           std::size_t* count) {
  HALYARD_HIP_CALL(hipGraphGetEdges, gpu::kInitialized) {
    return gpu::write_edges(graph, from, to, count);
  };
}

HALYARD_HIP_EXPORT Result hipGraphNodeGetType(GraphNode node, int* type) {
  HALYARD_HIP_CALL(hipGraphNodeGetType, gpu::kInitialized) {
    const gpu::NodeState* const of = gpu::resolve(node);
    HALYARD_GPU_REQUIRE(of != nullptr && type != nullptr, gpu::kInvalidValue);
    *type = type_of(*of);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGraphNodeGetDependencies(GraphNode node, GraphNode* nodes,
                                                      std::size_t* count) {
  HALYARD_HIP_CALL(hipGraphNodeGetDependencies, gpu::kInitialized) {
    return gpu::node_dependencies(node, nodes, count);
  };
}

HALYARD_HIP_EXPORT Result hipGraphNodeGetDependentNodes(GraphNode node, GraphNode* nodes,
                                                        std::size_t* count) {
  HALYARD_HIP_CALL(hipGraphNodeGetDependentNodes, gpu::kInitialized) {
    return gpu::node_dependents(node, nodes, count);
  };
}

HALYARD_HIP_EXPORT Result hipGraphInstantiate(GraphExec* exec, Graph graph, GraphNode* error_node,
                                              char* log, std::size_t log_bytes) {
  HALYARD_HIP_CALL(hipGraphInstantiate, gpu::kCurrent) {
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && log_bytes != 0) *log = '\0';
    return instantiate(exec, graph, 0);
  };
}

HALYARD_HIP_EXPORT Result hipGraphInstantiateWithFlags(GraphExec* exec, Graph graph,
                                                       unsigned long long flags) {
  HALYARD_HIP_CALL(hipGraphInstantiateWithFlags, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(flags == 0 || flags == kAutoFree || flags == kNodePriority,
                        gpu::kInvalidValue);
    return instantiate(exec, graph, flags);
  };
}

HALYARD_HIP_EXPORT Result hipGraphInstantiateWithParams(GraphExec* exec, Graph graph,
                                                        InstantiateParams* params) {
  HALYARD_HIP_CALL(hipGraphInstantiateWithParams, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(params != nullptr, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(
        (params->flags & ~(kAutoFree | kUpload | kNodePriority)) == 0,
        (params->flags & kDeviceLaunch) != 0 ? gpu::kNotSupported : gpu::kInvalidValue);
    params->error_node = nullptr;
    const Result result = instantiate(exec, graph, params->flags & ~kUpload);
    params->result = result == kSuccess ? 0 : 1;
    if (result == kSuccess && (params->flags & kUpload) != 0) {
      HALYARD_HIP_HANDLE(params->upload_stream);
      return gpu::upload_graph(*exec, params->upload_stream);
    }
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipGraphExecGetFlags(GraphExec exec, unsigned long long* flags) {
  HALYARD_HIP_CALL(hipGraphExecGetFlags, gpu::kInitialized) {
    const gpu::ExecState* const of = gpu::resolve(exec);
    HALYARD_GPU_REQUIRE(of != nullptr && flags != nullptr, gpu::kInvalidValue);
    *flags = of->flags;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipGraphUpload(GraphExec exec, Stream stream) {
  HALYARD_HIP_CALL(hipGraphUpload, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(gpu::resolve(exec) != nullptr, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    return gpu::upload_graph(exec, stream);
  };
}

HALYARD_HIP_EXPORT Result hipGraphLaunch(GraphExec exec, Stream stream) {
  HALYARD_HIP_CALL(hipGraphLaunch, gpu::kCurrent) { return launch(call, exec, stream); };
}

// An executable graph is reference-counted: launches in flight own it.
HALYARD_HIP_EXPORT Result hipGraphExecDestroy(GraphExec exec) {
  HALYARD_HIP_CALL(hipGraphExecDestroy, gpu::kInitialized) { return gpu::destroy_exec(exec); };
}

HALYARD_HIP_EXPORT Result hipGraphExecUpdate(GraphExec exec, Graph graph, GraphNode* error_node,
                                             int* reason) {
  HALYARD_HIP_CALL(hipGraphExecUpdate, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(error_node != nullptr && reason != nullptr, gpu::kInvalidValue);
    gpu::UpdateInfo info{};
    const Result result = gpu::update_graph(exec, graph, info);
    *error_node = info.error_node;
    *reason = info.result;
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipGraphNodeSetEnabled(GraphExec exec, GraphNode node,
                                                 unsigned is_enabled) {
  HALYARD_HIP_CALL(hipGraphNodeSetEnabled, gpu::kInitialized) {
    return gpu::set_node_enabled(exec, node, is_enabled);
  };
}

HALYARD_HIP_EXPORT Result hipGraphNodeGetEnabled(GraphExec exec, GraphNode node,
                                                 unsigned* is_enabled) {
  HALYARD_HIP_CALL(hipGraphNodeGetEnabled, gpu::kInitialized) {
    return gpu::is_node_enabled(exec, node, is_enabled);
  };
}

HALYARD_HIP_EXPORT Result hipGraphDebugDotPrint(Graph graph, const char* path, unsigned) {
  HALYARD_HIP_CALL(hipGraphDebugDotPrint, gpu::kInitialized) {
    return gpu::print_graph(graph, path, 0);
  };
}

HALYARD_HIP_EXPORT Result hipUserObjectCreate(UserObject* object, void* data, HostFunction destroy,
                                              unsigned references, unsigned flags) {
  HALYARD_HIP_CALL(hipUserObjectCreate, gpu::kInitialized) {
    return gpu::create_user_object(object, data, destroy, references, flags);
  };
}

HALYARD_HIP_EXPORT Result hipUserObjectRetain(UserObject object, unsigned count) {
  HALYARD_HIP_CALL(hipUserObjectRetain, gpu::kInitialized) {
    return gpu::retain_user_object(object, count);
  };
}

HALYARD_HIP_EXPORT Result hipUserObjectRelease(UserObject object, unsigned count) {
  HALYARD_HIP_CALL(hipUserObjectRelease, gpu::kInitialized) {
    return gpu::release_user_object(object, count);
  };
}

HALYARD_HIP_EXPORT Result hipGraphRetainUserObject(Graph graph, UserObject object, unsigned count,
                                                   unsigned flags) {
  HALYARD_HIP_CALL(hipGraphRetainUserObject, gpu::kInitialized) {
    return gpu::retain_in_graph(graph, object, count, flags);
  };
}

HALYARD_HIP_EXPORT Result hipGraphReleaseUserObject(Graph graph, UserObject object,
                                                    unsigned count) {
  HALYARD_HIP_CALL(hipGraphReleaseUserObject, gpu::kInitialized) {
    return gpu::release_in_graph(graph, object, count);
  };
}

HALYARD_HIP_PER_THREAD(hipGraphLaunch, 2)

}  // namespace halyard::inline v0::sim::hip
