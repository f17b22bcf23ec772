// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs and instantiated graphs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {

struct NodeState {
  static constexpr Kind kKind = Kind::kNode;
  static constexpr const char* kName = "graph node";

  GraphState* graph = nullptr;
  std::uint64_t id = 0;      // shared with the node's copies in clones and instantiated graphs
  std::uint64_t serial = 0;  // unique to this node
  Work work;
  std::vector<NodeState*> dependencies;
  GraphNode handle = nullptr;
};

// The destructor calls the program's destroy function.
struct UserObjectState {
  static constexpr Kind kKind = Kind::kUserObject;
  static constexpr const char* kName = "user object";

  ~UserObjectState();

  HostFunction destroy = nullptr;
  void* data = nullptr;
  std::uint64_t references = 0;  // the program's
  UserObject handle = nullptr;
};

struct GraphState {
  static constexpr Kind kKind = Kind::kGraph;
  static constexpr const char* kName = "graph";

  ~GraphState();

  std::vector<std::shared_ptr<NodeState>> nodes;  // in the order in which they were added
  bool is_child = false;                          // a clone inside a node; its handle is borrowed
  std::map<std::shared_ptr<UserObjectState>, std::uint64_t> users;  // with the references it has
  Graph handle = nullptr;
};

struct ExecState {
  static constexpr Kind kKind = Kind::kExec;
  static constexpr const char* kName = "executable graph";

  std::uint64_t flags = 0;
  std::shared_ptr<const Plan> plan;  // replaced by an update, so launches in flight keep theirs
  std::map<std::uint64_t, std::size_t> index;  // of a node's id in plan->nodes
  std::vector<std::uint64_t> ids;              // of plan->nodes
  std::vector<std::size_t> order;              // plan index of the n-th node of the graph
  Wait latest;                                 // launch: launches of an exec never overlap
};

inline constexpr std::uint64_t kInstantiateAutoFree = 1, kInstantiateUpload = 2,
                               kInstantiateDeviceLaunch = 4;

NodeType type_of(const Work& work);

// Adds a node. Checks that the dependencies are nodes of the graph.
Result add_node(GraphState& graph, std::span<const GraphNode> dependencies, Work work,
                GraphNode* node);
NodeState& append_node(GraphState& graph, std::vector<NodeState*> dependencies, Work work);
// Called for a copy that becomes a node.
void note_pinned_ends(Work& work);

std::shared_ptr<GraphState> clone(const GraphState& graph);

// Sorts the nodes, and copies child graphs. Returns kInvalidValue if the edges have a cycle.
Result instantiate(GraphState& graph, std::uint64_t flags, std::shared_ptr<ExecState>& exec);
// Replaces the parameters of a node of an exec by those of `work`, if the update is permitted.
Result set_exec_node(ExecState& exec, const NodeState& node, Work work);
// New parameters of a kernel node leave its attributes as they are.
void keep_attributes(Work& from, Work& to);
UpdateResult update_exec(ExecState& exec, GraphState& graph, NodeState*& culprit);

Result launch_graph(ExecState& exec, StreamState& stream);

// Makes a free node for the graph. Returns kInvalidValue unless the memory belongs to an allocation
// node and the graph does not free it yet.
Result make_free_node(const GraphState& graph, DevicePointer address, Work& work);
// A free by a call. Afterwards the memory is available to the next launch of its node.
Result free_graph_memory(GraphMemory& memory);

// Checks the parameters of a node, and makes its work.
Result work_of(const Fill& params, ContextState* context, Work& work);
Result work_of(const Copy3D& copy, ContextState* context, Work& work);

}  // namespace halyard::inline v0::sim::gpu
