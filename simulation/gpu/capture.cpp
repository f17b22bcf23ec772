// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/capture.h"

#include <algorithm>

#include "simulation/gpu/graph.h"

namespace halyard::inline v0::sim::gpu {
namespace {

void add_to_frontier(StreamState& stream, const std::vector<NodeState*>& nodes) {
  for (NodeState* const node : nodes) {
    if (std::ranges::find(stream.frontier, node) == stream.frontier.end()) {
      stream.frontier.push_back(node);
    }
  }
}

void end_capture_of(StreamState& stream) {
  stream.capture = nullptr;
  stream.frontier.clear();
}

// Ends the capture of all its streams.
void close_capture(CaptureState& capture) {
  capture.is_ended = true;
  for (const std::weak_ptr<StreamState>& weak : capture.streams) {
    if (const std::shared_ptr<StreamState> stream = weak.lock()) end_capture_of(*stream);
  }
  --state().captures;
  if (capture.mode == kCaptureGlobal) --state().global_captures;
  if (capture.mode != kCaptureRelaxed && capture.thread == base::this_thread()) {
    --this_thread().local_captures;
  }
}

Result break_capture(CaptureState& capture, Result result) {
  capture.is_broken = true;
  return result;
}

}  // namespace

void leave_capture(StreamState& stream) {
  const std::shared_ptr<CaptureState> capture = stream.capture;
  if (capture->origin == &stream) return close_capture(*capture);
  end_capture_of(stream);
  std::erase_if(capture->streams, [&](const std::weak_ptr<StreamState>& weak) {
    return weak.lock().get() == &stream;
  });
}

Result join_capture(StreamState& stream, EventState& event) {
  const std::shared_ptr<CaptureState>& capture = event.capture;
  HALYARD_GPU_REQUIRE(!capture->is_broken, kCaptureInvalidated);
  if (stream.is_legacy) return break_capture(*capture, kCaptureImplicit);
  stream.capture = capture;
  stream.frontier = event.frontier;
  capture->streams.push_back(stream.weak_from_this());
  return kSuccess;
}

Result capture_work(StreamState& stream, Work work) {
  const std::shared_ptr<CaptureState> capture = stream.capture;
  HALYARD_GPU_REQUIRE(!capture->is_broken, kCaptureInvalidated);
  if (auto* const record = std::get_if<RecordWork>(&work)) {
    record->event->capture = capture;
    record->event->frontier = stream.frontier;
    return kSuccess;
  }
  if (auto* const wait = std::get_if<WaitWork>(&work)) {
    EventState& event = *wait->event;
    if (event.capture == nullptr) {
      // cuda.h, CUDA_ERROR_STREAM_CAPTURE_ISOLATION: "A dependency would have been created which
      // crosses the capture sequence boundary."
      HALYARD_GPU_REQUIRE(event.recording != nullptr, kSuccess);
      return break_capture(*capture, kCaptureIsolation);
    }
    if (event.capture != capture) return break_capture(*capture, kCaptureMerge);
    add_to_frontier(stream, event.frontier);
    return kSuccess;
  }
  // For the launch of a graph, cuda.h does not define the error; this is an H200's.
  if (std::holds_alternative<CallbackWork>(work) || std::holds_alternative<FreeWork>(work) ||
      std::holds_alternative<GraphWork>(work)) {
    return break_capture(*capture, kCaptureUnsupported);
  }
  if (auto* const copy = std::get_if<CopyWork>(&work)) copy->staged.clear();
  if (auto* const operations = std::get_if<MemOpWork>(&work)) operations->order = 0;
  note_pinned_ends(work);
  NodeState& node = append_node(*capture->graph, std::move(stream.frontier), std::move(work));
  stream.frontier = {&node};
  return kSuccess;
}

bool is_captured(ContextState& context) {
  return std::ranges::any_of(context.streams, [](const std::weak_ptr<StreamState>& weak) {
    const std::shared_ptr<StreamState> stream = weak.lock();
    return stream != nullptr && stream->is_blocking() && stream->capture != nullptr;
  });
}

void invalidate_captures(ContextState& context) {
  for (const std::weak_ptr<StreamState>& weak : context.streams) {
    const std::shared_ptr<StreamState> stream = weak.lock();
    if (stream != nullptr && stream->capture != nullptr) stream->capture->is_broken = true;
  }
}

void invalidate_captures(bool ends_global) {
  for (const std::shared_ptr<ContextState>& context : state().contexts) {
    for (const std::weak_ptr<StreamState>& weak : context->streams) {
      const std::shared_ptr<StreamState> stream = weak.lock();
      if (stream == nullptr || stream->capture == nullptr) continue;
      CaptureState& capture = *stream->capture;
      capture.is_broken |=
          (ends_global && capture.mode == kCaptureGlobal) ||
          (capture.mode != kCaptureRelaxed && capture.thread == base::this_thread());
    }
  }
}

Result begin_capture(Stream handle, CaptureMode mode, std::shared_ptr<GraphState> graph,
                     Graph graph_handle, std::vector<NodeState*> frontier) {
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  // cuda.h, cuStreamBeginCapture: "Capture must not be initiated on CU_STREAM_LEGACY."
  HALYARD_GPU_REQUIRE(!stream->is_legacy, kCaptureUnsupported);
  HALYARD_GPU_REQUIRE(stream->capture == nullptr, kIllegalState);
  HALYARD_GPU_REQUIRE(mode >= kCaptureGlobal && mode <= kCaptureRelaxed, kInvalidValue);
  auto capture = std::make_shared<CaptureState>();
  capture->mode = mode;
  capture->id = state().next_id++;
  capture->thread = base::this_thread();
  capture->owns_graph = graph == nullptr;
  capture->graph = graph != nullptr ? std::move(graph) : std::make_shared<GraphState>();
  capture->graph_handle = graph_handle;
  capture->origin = stream;
  capture->streams.push_back(stream->weak_from_this());
  stream->capture = std::move(capture);
  stream->frontier = std::move(frontier);
  ++state().captures;
  if (mode == kCaptureGlobal) ++state().global_captures;
  if (mode != kCaptureRelaxed) ++this_thread().local_captures;
  return kSuccess;
}

namespace {

CaptureStatus status_of(const StreamState& stream) {
  if (stream.capture == nullptr) return kCaptureNone;
  return stream.capture->is_broken ? kCaptureBroken : kCaptureActive;
}

}  // namespace

Result capture_info(Stream handle, CaptureStatus* status, std::uint64_t* id, Graph* graph,
                    const GraphNode** dependencies, std::size_t* count) {
  HALYARD_GPU_REQUIRE(status != nullptr, kInvalidValue);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  // cuda.h, cuStreamIsCapturing: the legacy stream, while a blocking stream is being captured
  if (stream->is_legacy && is_captured(*stream->context)) return kCaptureImplicit;
  *status = status_of(*stream);
  if (*status != kCaptureActive) return kSuccess;
  CaptureState& capture = *stream->capture;
  if (id != nullptr) *id = capture.id;
  if (graph != nullptr) {
    if (capture.graph_handle == nullptr) {
      capture.graph_handle = capture.graph->handle = make_handle(capture.graph);
    }
    *graph = capture.graph_handle;
  }
  capture.answer.clear();
  for (const NodeState* node : stream->frontier) capture.answer.push_back(node->handle);
  if (dependencies != nullptr) *dependencies = capture.answer.data();
  if (count != nullptr) *count = capture.answer.size();
  return kSuccess;
}

Result set_dependencies(Stream handle, GraphNode* nodes, std::size_t count, unsigned flags) {
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(status_of(*stream) == kCaptureActive, kIllegalState);
  HALYARD_GPU_REQUIRE(flags <= 1 && (count == 0 || nodes != nullptr), kInvalidValue);
  std::vector<NodeState*> list;
  for (std::size_t i = 0; i < count; ++i) {
    NodeState* const node = resolve(nodes[i]);
    HALYARD_GPU_REQUIRE(node != nullptr && node->graph == stream->capture->graph.get(),
                        kInvalidValue);
    list.push_back(node);
  }
  if (flags == 1) stream->frontier.clear();  // CU_STREAM_SET_CAPTURE_DEPENDENCIES
  add_to_frontier(*stream, list);
  return kSuccess;
}

Result begin_capture_to_graph(Stream stream, Graph graph, const GraphNode* dependencies,
                              std::size_t count, CaptureMode mode) {
  GraphState* const into = resolve(graph);
  HALYARD_GPU_REQUIRE(into != nullptr && (count == 0 || dependencies != nullptr), kInvalidValue);
  std::vector<NodeState*> frontier;
  for (std::size_t i = 0; i < count; ++i) {
    NodeState* const node = resolve(dependencies[i]);
    HALYARD_GPU_REQUIRE(node != nullptr && node->graph == into, kInvalidValue);
    frontier.push_back(node);
  }
  return begin_capture(stream, mode, graph->object, graph, std::move(frontier));
}

Result end_capture(Stream handle, Graph* graph) {
  HALYARD_GPU_REQUIRE(graph != nullptr, kInvalidValue);
  *graph = nullptr;
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  const std::shared_ptr<CaptureState> capture = stream->capture;
  HALYARD_GPU_REQUIRE(capture != nullptr, kIllegalState);
  // cuda.h, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: "not initiated in this stream"
  if (capture->origin != stream) return break_capture(*capture, kCaptureUnmatched);
  // cuda.h, cuStreamEndCapture: captures that are not relaxed must be ended by the thread that
  // began them.
  if (capture->mode != kCaptureRelaxed && capture->thread != base::this_thread()) {
    return break_capture(*capture, kCaptureWrongThread);
  }
  // Every node must be the origin's frontier or one of its predecessors.
  std::vector<NodeState*> reached = stream->frontier;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (NodeState* const before : reached[i]->dependencies) {
      if (std::ranges::find(reached, before) == reached.end()) reached.push_back(before);
    }
  }
  bool is_joined = true;
  for (const std::weak_ptr<StreamState>& weak : capture->streams) {
    const std::shared_ptr<StreamState> other = weak.lock();
    if (other == nullptr) continue;
    for (NodeState* const node : other->frontier) {
      is_joined &= std::ranges::find(reached, node) != reached.end();
    }
  }
  close_capture(*capture);
  HALYARD_GPU_REQUIRE(!capture->is_broken, kCaptureInvalidated);
  HALYARD_GPU_REQUIRE(is_joined, kCaptureUnjoined);
  if (capture->graph_handle == nullptr) {
    capture->graph_handle = capture->graph->handle = make_handle(capture->graph);
  }
  if (capture->owns_graph) ++state().live_graphs;
  *graph = capture->graph_handle;
  return kSuccess;
}

Result exchange_capture_mode(CaptureMode* mode) {
  HALYARD_GPU_REQUIRE(mode != nullptr && *mode >= kCaptureGlobal && *mode <= kCaptureRelaxed,
                      kInvalidValue);
  std::swap(*mode, this_thread().capture_mode);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
