// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capture of streams into graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {

struct CaptureState {
  CaptureMode mode = kCaptureGlobal;
  std::uint64_t id = 0;
  std::uint64_t thread = 0;  // that began it
  std::shared_ptr<GraphState> graph;
  Graph graph_handle = nullptr;  // cuStreamBeginCaptureToGraph's, or made for queries
  bool is_broken = false;
  bool is_ended = false;
  bool owns_graph = true;  // false: cuStreamBeginCaptureToGraph's
  StreamState* origin = nullptr;
  std::vector<std::weak_ptr<StreamState>> streams;  // with the origin
  std::vector<GraphNode> answer;  // of cuStreamGetCaptureInfo, valid until the next call
};

// Adds work as a node after the stream's frontier, or joins captures for a wait.
Result capture_work(StreamState& stream, Work work);

// A wait, in a stream that is not captured, for an event that was recorded in a capture: the stream
// joins that capture.
Result join_capture(StreamState& stream, EventState& event);

// True if a blocking stream of the context is being captured.
bool is_captured(ContextState& context);
void invalidate_captures(ContextState& context);
// Invalidates the captures that an unsafe call of this thread ends, as observed on an H200: the
// thread's captures that are not relaxed and, if `ends_global`, the global captures of all threads.
void invalidate_captures(bool ends_global);

// The stream is destroyed: its capture ends, if the stream began it.
void leave_capture(StreamState& stream);

// --- operations of API calls; the State is locked ------------------------------------------------

// Captures into `graph`, after `frontier`, or into a new graph if it is null.
Result begin_capture(Stream handle, CaptureMode mode, std::shared_ptr<GraphState> graph,
                     Graph graph_handle, std::vector<NodeState*> frontier);
Result begin_capture_to_graph(Stream stream, Graph graph, const GraphNode* dependencies,
                              std::size_t count, CaptureMode mode);
Result end_capture(Stream handle, Graph* graph);
// Pass null for results that are not needed.
Result capture_info(Stream handle, CaptureStatus* status, std::uint64_t* id, Graph* graph,
                    const GraphNode** dependencies, std::size_t* count);
Result set_dependencies(Stream handle, GraphNode* nodes, std::size_t count, unsigned flags);
Result exchange_capture_mode(CaptureMode* mode);

}  // namespace halyard::inline v0::sim::gpu
