// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work of streams and of graph nodes: one set of types for both.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "simulation/gpu/state.h"
#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::gpu {

// A recording of an event. Guarded by the State's lock.
struct Recording {
  bool is_done = false;
  Nanoseconds time = 0;
};

struct EmptyWork {};
struct KernelWork {
  std::shared_ptr<FunctionState> function;
  ContextState* context = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<std::byte> parameters;
  std::map<int, AttributeValue> attributes;  // of a node
  std::vector<void*> pointers;               // into parameters, for GetParams of a node
};
// The ends of a copy that are in memory of cuMemHostAlloc, as Allocation::id; 0 for other memory.
struct PinnedEnds {
  std::uint64_t source = 0, target = 0;
};
struct CopyWork {
  Copy3D copy{};
  ContextState* context = nullptr;         // null: that of the stream
  ContextState* source_context = nullptr;  // of a copy between peers
  std::vector<std::byte> staged;           // the bytes of pageable memory, instead of copy.src_host
  PinnedEnds pinned;                       // of a node of a graph
  int kind = 0;                            // HIP's hipMemcpyKind, which an update may not change
};
struct FillWork {
  Fill fill{};
  ContextState* context = nullptr;
};
struct HostWork {
  HostParams host{};
};
struct CallbackWork {
  StreamCallback callback = nullptr;
  Stream stream = nullptr;
  void* data = nullptr;
};
struct RecordWork {
  std::shared_ptr<EventState> event;
  std::shared_ptr<Recording> recording;  // made when the record is submitted
};
struct WaitWork {
  std::shared_ptr<EventState> event;
};
struct MemOpWork {
  std::uint64_t order = 0;  // of its submission among those of all streams
  std::vector<MemOp> operations;
};
struct GraphMemory;
struct FreeWork {
  DevicePointer address = 0;
  std::shared_ptr<GraphMemory> memory;  // of an allocation node, which keeps its bytes
};
// Memory of an allocation node: it has its address once the node is created, and its bytes until
// the last graph, executable graph and free in flight that name it have ended. If it is live at
// that point, it belongs to the program like other stream-ordered memory. Guarded by the State's
// lock.
struct GraphMemory {
  ~GraphMemory();
  bool is_live = false;  // from a launch of its node to the call that frees it
  DevicePointer address = 0;
  std::uint64_t id = 0;   // of the allocation; detects a reused address
  PoolProperties pool{};  // of the node
  std::vector<AccessDescription> access;
};
// Creates the GraphMemory of memory that was allocated for a node.
std::shared_ptr<GraphMemory> make_graph_memory(DevicePointer address);
// Returns null if `address` is not such memory.
std::shared_ptr<GraphMemory> graph_memory_at(DevicePointer address);
struct AllocNodeWork {
  std::shared_ptr<GraphMemory> memory;
  std::size_t size = 0;
};
struct FreeNodeWork {
  DevicePointer address = 0;
  std::shared_ptr<GraphMemory> memory;
};
struct Plan;
// A graph inside a graph, or a launch of a graph.
struct GraphWork {
  std::shared_ptr<const Plan> plan;   // in an instantiated graph
  std::shared_ptr<GraphState> graph;  // in a graph
};

using Work =
    std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, CallbackWork, RecordWork,
                 WaitWork, MemOpWork, FreeWork, GraphWork, AllocNodeWork, FreeNodeWork>;

// An instantiated graph: `nodes` in an order in which dependencies come first.
struct PlanNode {
  Work work;
  std::vector<std::size_t> dependencies;  // indices of earlier nodes
  bool is_enabled = true;
};
struct UserObjectState;
struct Plan {
  std::vector<PlanNode> nodes;
  std::vector<std::shared_ptr<UserObjectState>> users;  // kept until no launch is in flight
  bool only_computes = false;  // only kernels, copies, memsets: a no-op in null mode
};

// The context that the work names; null: that of its stream.
ContextState* context_of(const Work& work);

// Executes work of a stream, on the stream's thread, without the lock. After a fault of the context
// only records and frees take place, and in adversarial mode callbacks.
void execute(const Work& work, StreamState& stream);

// Fails the context, all other contexts of its device, and more if the library's rules require it.
// The State is locked.
void fail_context(ContextState& context, Result fault);

// Runs a copy whose checks have passed. Returns false if it exceeds the memory that it names.
bool run_copy(const CopyWork& work, ContextState& context);
bool run_fill(const FillWork& work, ContextState& context);
// True if the value has bits beyond an element; cuda.h does not define their effect.
bool exceeds_element(const Fill& fill);
Result run_kernel(const KernelWork& work, StreamState& stream);

}  // namespace halyard::inline v0::sim::gpu
