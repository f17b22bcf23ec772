// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipEvent.
#include <bit>

#include "simulation/gpu/stream_operations.h"
#include "simulation/hip/bugs.h"
#include "simulation/hip/device.h"
#include "simulation/hip/per_thread.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {
namespace {

constexpr unsigned kReleases =
    kEventDisableSystemFence | kEventReleaseToDevice | kEventReleaseToSystem;
constexpr unsigned kCoreFlags =
    gpu::kEventBlockingSync | gpu::kEventDisableTiming | gpu::kEventInterprocess;
constexpr unsigned kWaitExternal = 1;

Result create(Call& call, Event* event, unsigned flags) {
  HALYARD_GPU_REQUIRE(event != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE((flags & ~(kCoreFlags | kReleases)) == 0, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(std::popcount(flags & kReleases) <= 1, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(
      (flags & gpu::kEventInterprocess) == 0 || (flags & gpu::kEventDisableTiming) != 0,
      gpu::kInvalidValue);
  const Result result = gpu::create_event(call, event, flags & kCoreFlags);
  if (result == kSuccess) (*event)->object->flags = flags;
  return result;
}

Result record(Event event, Stream stream) {
  HALYARD_GPU_REQUIRE(event != nullptr, gpu::kInvalidHandle);
  HALYARD_HIP_HANDLE(stream);
  HALYARD_HIP_HANDLE(event);
  // The event has the device that was current at its creation; hip_event.cpp: a stream of another
  // device is error 400.
  return gpu::record_event(event, stream);
}

Result wait(Stream stream, Event event, unsigned flags) {
  HALYARD_GPU_REQUIRE(flags == 0 || (flags == kWaitExternal && is_since(kVersion64)),
                      gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(flags == 0, gpu::kNotSupported);
  HALYARD_HIP_HANDLE(stream, gpu::kInvalidHandle);
  HALYARD_HIP_HANDLE(event, gpu::kInvalidHandle);
  // hip_stream.cpp:446 assumes "meaning the event has been completed", which need not be true.
  const gpu::EventState& of = *event->object;
  const std::shared_ptr<gpu::StreamState> recorded_in = of.stream.lock();
  if (of.recording != nullptr && !of.recording->is_done &&
      (recorded_in == nullptr || recorded_in->is_destroyed)) {
    gpu::report_misuse("wait-for-event-of-destroyed-stream",
                       "hipStreamWaitEvent does not wait for an event whose stream was destroyed, "
                       "and the event was not complete");
  }
  return gpu::wait_event(stream, event, flags);
}

}  // namespace

HALYARD_HIP_EXPORT Result hipEventCreate(Event* event) {
  HALYARD_HIP_CALL(hipEventCreate, gpu::kCurrent) { return create(call, event, 0); };
}

HALYARD_HIP_EXPORT Result hipEventCreateWithFlags(Event* event, unsigned flags) {
  HALYARD_HIP_CALL(hipEventCreateWithFlags, gpu::kCurrent) { return create(call, event, flags); };
}

HALYARD_HIP_EXPORT Result hipEventDestroy(Event event) {
  HALYARD_HIP_CALL(hipEventDestroy, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(event != nullptr, gpu::kInvalidHandle);
    // hip_event.cpp: 709 in all versions, because the set of all events is searched.
    if (check_handle(event) != kSuccess) return gpu::kContextIsDestroyed;
    ContextState& context = *event->object->context;
    const Result result = gpu::end_event(event);
    if (has_bug(Bug::kEventWaitsForAll)) gpu::drain(call.lock(), context);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipEventRecord(Event event, Stream stream) {
  HALYARD_HIP_CALL(hipEventRecord, gpu::kCurrent) { return record(event, stream); };
}

HALYARD_HIP_EXPORT Result hipEventRecordWithFlags(Event event, Stream stream, unsigned flags) {
  HALYARD_HIP_CALL(hipEventRecordWithFlags, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(flags <= 1, gpu::kInvalidValue);
    // hipEventRecordExternal: a node of the graph of a capture.
    HALYARD_GPU_REQUIRE(flags == 0, gpu::kNotSupported);
    return record(event, stream);
  };
}

HALYARD_HIP_EXPORT Result hipStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  HALYARD_HIP_CALL(hipStreamWaitEvent, gpu::kCurrent) {
    await_waits(call, current_device());
    return wait(stream, event, flags);
  };
}

HALYARD_HIP_EXPORT Result hipEventQuery(Event event) {
  HALYARD_HIP_CALL(hipEventQuery, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(event, gpu::kInvalidHandle);
    return gpu::query_event(event);
  };
}

HALYARD_HIP_EXPORT Result hipEventSynchronize(Event event) {
  HALYARD_HIP_CALL(hipEventSynchronize, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(event, gpu::kInvalidHandle);
    const ContextState& context = *event->object->context;
    const Result result = gpu::synchronize_event(call, event);
    clear_pools(context);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipEventElapsedTime(float* milliseconds, Event from, Event to) {
  HALYARD_HIP_CALL(hipEventElapsedTime, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(milliseconds != nullptr, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(from, gpu::kInvalidHandle);
    HALYARD_HIP_HANDLE(to, gpu::kInvalidHandle);
    HALYARD_GPU_REQUIRE(from->object->context->device == to->object->context->device,
                        gpu::kInvalidHandle);
    return gpu::elapsed_time(milliseconds, from, to);
  };
}

HALYARD_HIP_PER_THREAD(hipEventRecord, 2)
HALYARD_HIP_PER_THREAD(hipStreamWaitEvent, 3)

}  // namespace halyard::inline v0::sim::hip
