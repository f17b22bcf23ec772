// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/capture.h"

#include <algorithm>

#include "simulation/cuda/graph.h"
#include "simulation/cuda/per_thread.h"

namespace halyard::inline v0::sim::cuda {
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

Result break_capture(CaptureState& capture, Result result) {
  capture.is_broken = true;
  return result;
}

}  // namespace

Result join_capture(StreamState& stream, EventState& event) {
  const std::shared_ptr<CaptureState>& capture = event.capture;
  HALYARD_CUDA_REQUIRE(!capture->is_broken, kCaptureInvalidated);
  if (stream.is_legacy) return break_capture(*capture, kCaptureImplicit);
  stream.capture = capture;
  stream.frontier = event.frontier;
  capture->streams.push_back(stream.weak_from_this());
  return kSuccess;
}

Result capture_work(StreamState& stream, Work work) {
  const std::shared_ptr<CaptureState> capture = stream.capture;
  HALYARD_CUDA_REQUIRE(!capture->is_broken, kCaptureInvalidated);
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
      HALYARD_CUDA_REQUIRE(event.recording != nullptr, kSuccess);
      return break_capture(*capture, kCaptureIsolation);
    }
    if (event.capture != capture) return break_capture(*capture, kCaptureMerge);
    add_to_frontier(stream, event.frontier);
    return kSuccess;
  }
  // The launch of a graph: as an H200 answers; cuda.h does not say.
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

namespace {

Result begin_capture(Stream handle, CaptureMode mode, std::shared_ptr<GraphState> graph,
                     Graph graph_handle, std::vector<NodeState*> frontier) {
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  // cuda.h, cuStreamBeginCapture: "Capture must not be initiated on CU_STREAM_LEGACY."
  HALYARD_CUDA_REQUIRE(!stream->is_legacy, kCaptureUnsupported);
  HALYARD_CUDA_REQUIRE(stream->capture == nullptr, kIllegalState);
  HALYARD_CUDA_REQUIRE(mode >= kCaptureGlobal && mode <= kCaptureRelaxed, kInvalidValue);
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

CaptureStatus status_of(const StreamState& stream) {
  if (stream.capture == nullptr) return kCaptureNone;
  return stream.capture->is_broken ? kCaptureBroken : kCaptureActive;
}

Result capture_info(Stream handle, CaptureStatus* status, std::uint64_t* id, Graph* graph,
                    const GraphNode** dependencies, std::size_t* count) {
  HALYARD_CUDA_REQUIRE(status != nullptr, kInvalidValue);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
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
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_CUDA_REQUIRE(status_of(*stream) == kCaptureActive, kIllegalState);
  HALYARD_CUDA_REQUIRE(flags <= 1 && (count == 0 || nodes != nullptr), kInvalidValue);
  std::vector<NodeState*> list;
  for (std::size_t i = 0; i < count; ++i) {
    NodeState* const node = resolve(nodes[i]);
    HALYARD_CUDA_REQUIRE(node != nullptr && node->graph == stream->capture->graph.get(),
                         kInvalidValue);
    list.push_back(node);
  }
  if (flags == 1) stream->frontier.clear();  // CU_STREAM_SET_CAPTURE_DEPENDENCIES
  add_to_frontier(*stream, list);
  return kSuccess;
}

}  // namespace

HALYARD_CUDA_EXPORT Result cuStreamBeginCapture_v2(Stream stream, CaptureMode mode) {
  HALYARD_CUDA_CALL(cuStreamBeginCapture_v2, kNamed);
  return begin_capture(stream, mode, nullptr, nullptr, {});
}

HALYARD_CUDA_EXPORT Result cuStreamBeginCapture(Stream stream) {
  HALYARD_CUDA_CALL(cuStreamBeginCapture, kNamed);
  return begin_capture(stream, kCaptureGlobal, nullptr, nullptr, {});
}

HALYARD_CUDA_EXPORT Result cuStreamBeginCaptureToGraph(Stream stream, Graph graph,
                                                       const GraphNode* dependencies,
                                                       const GraphEdge*, std::size_t count,
                                                       CaptureMode mode) {
  HALYARD_CUDA_CALL(cuStreamBeginCaptureToGraph, kNamed);
  GraphState* const into = resolve(graph);
  HALYARD_CUDA_REQUIRE(into != nullptr && (count == 0 || dependencies != nullptr), kInvalidValue);
  std::vector<NodeState*> frontier;
  for (std::size_t i = 0; i < count; ++i) {
    NodeState* const node = resolve(dependencies[i]);
    HALYARD_CUDA_REQUIRE(node != nullptr && node->graph == into, kInvalidValue);
    frontier.push_back(node);
  }
  return begin_capture(stream, mode, graph->object, graph, std::move(frontier));
}

HALYARD_CUDA_EXPORT Result cuStreamEndCapture(Stream handle, Graph* graph) {
  HALYARD_CUDA_CALL(cuStreamEndCapture, kNamed);
  HALYARD_CUDA_REQUIRE(graph != nullptr, kInvalidValue);
  *graph = nullptr;
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  const std::shared_ptr<CaptureState> capture = stream->capture;
  HALYARD_CUDA_REQUIRE(capture != nullptr, kIllegalState);
  // cuda.h, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: "not initiated in this stream"
  if (capture->origin != stream) return break_capture(*capture, kCaptureUnmatched);
  // cuda.h, cuStreamEndCapture: other modes than relaxed are ended by the thread that began.
  if (capture->mode != kCaptureRelaxed && capture->thread != base::this_thread()) {
    return break_capture(*capture, kCaptureWrongThread);
  }
  // Every node must be one that the origin's frontier follows.
  std::vector<NodeState*> reached = stream->frontier;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (NodeState* const before : reached[i]->dependencies) {
      if (std::ranges::find(reached, before) == reached.end()) reached.push_back(before);
    }
  }
  bool is_joined = true;
  capture->is_ended = true;
  for (const std::weak_ptr<StreamState>& weak : capture->streams) {
    const std::shared_ptr<StreamState> other = weak.lock();
    if (other == nullptr) continue;
    for (NodeState* const node : other->frontier) {
      is_joined &= std::ranges::find(reached, node) != reached.end();
    }
    end_capture_of(*other);
  }
  --state().captures;
  if (capture->mode == kCaptureGlobal) --state().global_captures;
  if (capture->mode != kCaptureRelaxed) --this_thread().local_captures;
  HALYARD_CUDA_REQUIRE(!capture->is_broken, kCaptureInvalidated);
  HALYARD_CUDA_REQUIRE(is_joined, kCaptureUnjoined);
  if (capture->graph_handle == nullptr) {
    capture->graph_handle = capture->graph->handle = make_handle(capture->graph);
  }
  if (capture->owns_graph) ++state().live_graphs;
  *graph = capture->graph_handle;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuStreamIsCapturing(Stream handle, CaptureStatus* status) {
  HALYARD_CUDA_CALL(cuStreamIsCapturing, kNamed);
  return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr);
}

HALYARD_CUDA_EXPORT Result cuStreamGetCaptureInfo(Stream handle, CaptureStatus* status,
                                                  std::uint64_t* id) {
  HALYARD_CUDA_CALL(cuStreamGetCaptureInfo, kNamed);
  return capture_info(handle, status, id, nullptr, nullptr, nullptr);
}

HALYARD_CUDA_EXPORT Result cuStreamGetCaptureInfo_v2(Stream handle, CaptureStatus* status,
                                                     std::uint64_t* id, Graph* graph,
                                                     const GraphNode** dependencies,
                                                     std::size_t* count) {
  HALYARD_CUDA_CALL(cuStreamGetCaptureInfo_v2, kNamed);
  return capture_info(handle, status, id, graph, dependencies, count);
}

HALYARD_CUDA_EXPORT Result cuStreamGetCaptureInfo_v3(Stream handle, CaptureStatus* status,
                                                     std::uint64_t* id, Graph* graph,
                                                     const GraphNode** dependencies,
                                                     const GraphEdge** edges, std::size_t* count) {
  HALYARD_CUDA_CALL(cuStreamGetCaptureInfo_v3, kNamed);
  if (edges != nullptr) *edges = nullptr;
  return capture_info(handle, status, id, graph, dependencies, count);
}

HALYARD_CUDA_EXPORT Result cuStreamUpdateCaptureDependencies(Stream stream, GraphNode* nodes,
                                                             std::size_t count, unsigned flags) {
  HALYARD_CUDA_CALL(cuStreamUpdateCaptureDependencies, kNamed);
  return set_dependencies(stream, nodes, count, flags);
}

HALYARD_CUDA_EXPORT Result cuStreamUpdateCaptureDependencies_v2(Stream stream, GraphNode* nodes,
                                                                const GraphEdge*, std::size_t count,
                                                                unsigned flags) {
  HALYARD_CUDA_CALL(cuStreamUpdateCaptureDependencies_v2, kNamed);
  return set_dependencies(stream, nodes, count, flags);
}

HALYARD_CUDA_EXPORT Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  HALYARD_CUDA_CALL(cuThreadExchangeStreamCaptureMode, kInitialized);
  HALYARD_CUDA_REQUIRE(mode != nullptr && *mode >= kCaptureGlobal && *mode <= kCaptureRelaxed,
                       kInvalidValue);
  std::swap(*mode, this_thread().capture_mode);
  return kSuccess;
}

HALYARD_CUDA_PER_THREAD(cuStreamBeginCaptureToGraph, _ptsz, 6)
HALYARD_CUDA_PER_THREAD(cuStreamBeginCapture, _ptsz, 1)
HALYARD_CUDA_PER_THREAD(cuStreamBeginCapture_v2, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuStreamEndCapture, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuStreamGetCaptureInfo, _ptsz, 3)
HALYARD_CUDA_PER_THREAD(cuStreamGetCaptureInfo_v2, _ptsz, 6)
HALYARD_CUDA_PER_THREAD(cuStreamGetCaptureInfo_v3, _ptsz, 7)
HALYARD_CUDA_PER_THREAD(cuStreamIsCapturing, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuStreamUpdateCaptureDependencies, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamUpdateCaptureDependencies_v2, _ptsz, 5)

}  // namespace halyard::inline v0::sim::cuda
