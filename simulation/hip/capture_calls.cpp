// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capture of streams into graphs.
#include "simulation/gpu/capture.h"
#include "simulation/gpu/graph.h"
#include "simulation/hip/per_thread.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {

HALYARD_HIP_EXPORT Result hipStreamBeginCapture(Stream stream, CaptureMode mode) {
  HALYARD_HIP_CALL(hipStreamBeginCapture, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(stream);
    return gpu::begin_capture(stream, mode, nullptr, nullptr, {});
  };
}

HALYARD_HIP_EXPORT Result hipStreamBeginCaptureToGraph(Stream stream, Graph graph,
                                                       const GraphNode* dependencies,
                                                       const GraphEdge*, std::size_t count,
                                                       CaptureMode mode) {
  HALYARD_HIP_CALL(hipStreamBeginCaptureToGraph, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(stream);
    return gpu::begin_capture_to_graph(stream, graph, dependencies, count, mode);
  };
}

HALYARD_HIP_EXPORT Result hipStreamEndCapture(Stream stream, Graph* graph) {
  HALYARD_HIP_CALL(hipStreamEndCapture, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(graph != nullptr, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    return gpu::end_capture(stream, graph);
  };
}

HALYARD_HIP_EXPORT Result hipStreamIsCapturing(Stream stream, CaptureStatus* status) {
  HALYARD_HIP_CALL(hipStreamIsCapturing, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(stream);
    return gpu::capture_info(stream, status, nullptr, nullptr, nullptr, nullptr);
  };
}

HALYARD_HIP_EXPORT Result hipStreamGetCaptureInfo(Stream stream, CaptureStatus* status,
                                                  std::uint64_t* id) {
  HALYARD_HIP_CALL(hipStreamGetCaptureInfo, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(stream);
    return gpu::capture_info(stream, status, id, nullptr, nullptr, nullptr);
  };
}

HALYARD_HIP_EXPORT Result hipStreamGetCaptureInfo_v2(Stream stream, CaptureStatus* status,
                                                     std::uint64_t* id, Graph* graph,
                                                     const GraphNode** dependencies,
                                                     std::size_t* count) {
  HALYARD_HIP_CALL(hipStreamGetCaptureInfo_v2, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(stream);
    return gpu::capture_info(stream, status, id, graph, dependencies, count);
  };
}

HALYARD_HIP_EXPORT Result hipStreamUpdateCaptureDependencies(Stream stream, GraphNode* nodes,
                                                             std::size_t count, unsigned flags) {
  HALYARD_HIP_CALL(hipStreamUpdateCaptureDependencies, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(stream);
    return gpu::set_dependencies(stream, nodes, count, flags);
  };
}

HALYARD_HIP_EXPORT Result hipThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  HALYARD_HIP_CALL(hipThreadExchangeStreamCaptureMode, gpu::kInitialized) {
    return gpu::exchange_capture_mode(mode);
  };
}

HALYARD_HIP_PER_THREAD(hipStreamBeginCapture, 2)
HALYARD_HIP_PER_THREAD(hipStreamEndCapture, 2)
HALYARD_HIP_PER_THREAD(hipStreamIsCapturing, 2)
HALYARD_HIP_PER_THREAD(hipStreamGetCaptureInfo, 3)
HALYARD_HIP_PER_THREAD(hipStreamGetCaptureInfo_v2, 6)

}  // namespace halyard::inline v0::sim::hip
