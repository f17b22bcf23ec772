// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capture of streams into graphs.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/capture.h"
#include "simulation/gpu/graph.h"
#include "simulation/gpu/per_thread.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuStreamBeginCapture_v2(Stream stream, CaptureMode mode) {
  HALYARD_GPU_CALL(cuStreamBeginCapture_v2, kNamed);
  return begin_capture(stream, mode, nullptr, nullptr, {});
}

HALYARD_GPU_EXPORT Result cuStreamBeginCapture(Stream stream) {
  HALYARD_GPU_CALL(cuStreamBeginCapture, kNamed);
  return begin_capture(stream, kCaptureGlobal, nullptr, nullptr, {});
}

HALYARD_GPU_EXPORT Result cuStreamBeginCaptureToGraph(Stream stream, Graph graph,
                                                      const GraphNode* dependencies,
                                                      const GraphEdge*, std::size_t count,
                                                      CaptureMode mode) {
  HALYARD_GPU_CALL(cuStreamBeginCaptureToGraph, kNamed);
  return begin_capture_to_graph(stream, graph, dependencies, count, mode);
}

HALYARD_GPU_EXPORT Result cuStreamEndCapture(Stream handle, Graph* graph) {
  HALYARD_GPU_CALL(cuStreamEndCapture, kNamed);
  return end_capture(handle, graph);
}

HALYARD_GPU_EXPORT Result cuStreamIsCapturing(Stream handle, CaptureStatus* status) {
  HALYARD_GPU_CALL(cuStreamIsCapturing, kNamed);
  return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr);
}

HALYARD_GPU_EXPORT Result cuStreamGetCaptureInfo(Stream handle, CaptureStatus* status,
                                                 std::uint64_t* id) {
  HALYARD_GPU_CALL(cuStreamGetCaptureInfo, kNamed);
  return capture_info(handle, status, id, nullptr, nullptr, nullptr);
}

HALYARD_GPU_EXPORT Result cuStreamGetCaptureInfo_v2(Stream handle, CaptureStatus* status,
                                                    std::uint64_t* id, Graph* graph,
                                                    const GraphNode** dependencies,
                                                    std::size_t* count) {
  HALYARD_GPU_CALL(cuStreamGetCaptureInfo_v2, kNamed);
  return capture_info(handle, status, id, graph, dependencies, count);
}

HALYARD_GPU_EXPORT Result cuStreamGetCaptureInfo_v3(Stream handle, CaptureStatus* status,
                                                    std::uint64_t* id, Graph* graph,
                                                    const GraphNode** dependencies,
                                                    const GraphEdge** edges, std::size_t* count) {
  HALYARD_GPU_CALL(cuStreamGetCaptureInfo_v3, kNamed);
  if (edges != nullptr) *edges = nullptr;
  return capture_info(handle, status, id, graph, dependencies, count);
}

HALYARD_GPU_EXPORT Result cuStreamUpdateCaptureDependencies(Stream stream, GraphNode* nodes,
                                                            std::size_t count, unsigned flags) {
  HALYARD_GPU_CALL(cuStreamUpdateCaptureDependencies, kNamed);
  return set_dependencies(stream, nodes, count, flags);
}

HALYARD_GPU_EXPORT Result cuStreamUpdateCaptureDependencies_v2(Stream stream, GraphNode* nodes,
                                                               const GraphEdge*, std::size_t count,
                                                               unsigned flags) {
  HALYARD_GPU_CALL(cuStreamUpdateCaptureDependencies_v2, kNamed);
  return set_dependencies(stream, nodes, count, flags);
}

HALYARD_GPU_EXPORT Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  HALYARD_GPU_CALL(cuThreadExchangeStreamCaptureMode, kInitialized);
  return exchange_capture_mode(mode);
}

HALYARD_GPU_PER_THREAD(cuStreamBeginCaptureToGraph, _ptsz, 6)
HALYARD_GPU_PER_THREAD(cuStreamBeginCapture, _ptsz, 1)
HALYARD_GPU_PER_THREAD(cuStreamBeginCapture_v2, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamEndCapture, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamGetCaptureInfo, _ptsz, 3)
HALYARD_GPU_PER_THREAD(cuStreamGetCaptureInfo_v2, _ptsz, 6)
HALYARD_GPU_PER_THREAD(cuStreamGetCaptureInfo_v3, _ptsz, 7)
HALYARD_GPU_PER_THREAD(cuStreamIsCapturing, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamUpdateCaptureDependencies, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamUpdateCaptureDependencies_v2, _ptsz, 5)
}  // namespace halyard::inline v0::sim::cuda
