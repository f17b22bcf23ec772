// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuStream and cuEvent.
#include <chrono>

#include "simulation/cuda/capture.h"
#include "simulation/cuda/managed.h"
#include "simulation/cuda/memory.h"
#include "simulation/cuda/options.h"
#include "simulation/cuda/per_thread.h"
#include "simulation/cuda/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

Result create_stream(Call& call, Stream* stream, unsigned flags, int priority) {
  HALYARD_CUDA_REQUIRE(stream != nullptr && flags <= kNonBlocking, kInvalidValue);
  *stream = make_handle(make_stream(call.context(), flags, clamp_priority(priority)));
  ++call.context().live_streams;
  return kSuccess;
}

Result end_stream(Stream handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  HALYARD_CUDA_REQUIRE(value > kPerThreadStream, kInvalidHandle);
  StreamState* const stream = resolve(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, kInvalidHandle);
  if (stream->capture != nullptr) stream->capture->is_broken = true;
  const ContextState& context = *stream->context;
  destroy_stream(handle);
  return context.sticky.load();  // it is gone all the same; an H200 answers alike
}

Result end_event(Event handle) {
  EventState* const event = resolve(handle);
  HALYARD_CUDA_REQUIRE(event != nullptr, kInvalidHandle);
  ContextState& context = *event->context;
  --context.live_events;
  end_handle(handle);
  return context.sticky.load();  // as end_stream()
}

Result record(Event handle, Stream stream_handle) {
  EventState* const event = resolve(handle);
  HALYARD_CUDA_REQUIRE(event != nullptr, kInvalidHandle);
  StreamState* const stream = find_stream(stream_handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(stream_handle));
  // cuda.h, cuEventRecord: "hEvent and hStream must be from the same context"
  if (event->context != stream->context) {
    report_misuse("record-across-contexts", "an event was recorded in a stream of another context");
    return kInvalidHandle;
  }
  return submit_record(*stream, handle->object);
}

// The event's error, if its last record was captured.
bool was_captured(const EventState& event) { return event.capture != nullptr; }

// Whether the host may ask for its end. That is potentially unsafe while another thread captures,
// also if the event was recorded before: PyTorch's watchdog met it (pytorch/pytorch, pull request
// 104555), and HIP has the same rule (ROCm/rocm-systems, pull request 3176).
Result check_awaited(const EventState* event) {
  HALYARD_CUDA_REQUIRE(event != nullptr, kInvalidHandle);
  if (was_captured(*event)) {
    event->capture->is_broken = true;  // as on an H200; cuda.h does not say
    return kCapturedEvent;
  }
  return Call::check_captures(this_thread());
}

float elapsed_milliseconds(const Recording& from, const Recording& to) {
  return static_cast<float>(static_cast<double>(to.time - from.time) * 1e-6);
}

Result elapsed(float* milliseconds, Event from_handle, Event to_handle) {
  HALYARD_CUDA_REQUIRE(milliseconds != nullptr, kInvalidValue);
  EventState* const from = resolve(from_handle);
  EventState* const to = resolve(to_handle);
  HALYARD_CUDA_REQUIRE(from != nullptr && to != nullptr, kInvalidHandle);
  // cuda.h, cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE if either was never recorded, or was
  // created with CU_EVENT_DISABLE_TIMING.
  HALYARD_CUDA_REQUIRE(((from->flags | to->flags) & kEventDisableTiming) == 0, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(from->recording != nullptr && to->recording != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(from->recording->is_done && to->recording->is_done, kNotReady);
  *milliseconds = elapsed_milliseconds(*from->recording, *to->recording);
  return kSuccess;
}

Result add_mem_ops(Stream handle, std::vector<MemOp> operations) {
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  for (const MemOp& op : operations) {
    if (op.operation == 3 || op.operation == 6) continue;  // flush, barrier
    const bool is_wait = op.operation == 1 || op.operation == 4;
    const bool is_write = op.operation == 2 || op.operation == 5;
    HALYARD_CUDA_REQUIRE(is_wait || is_write, kInvalidValue);
    const std::size_t size = op.operation >= 4 ? 8 : 4;
    HALYARD_CUDA_REQUIRE(op.address % size == 0, kInvalidValue);
    HALYARD_CUDA_REQUIRE(is_wait || (op.flags & ~1U) == 0, kInvalidValue);
    const std::optional<Allocation> found = memory().find(op.address);
    HALYARD_CUDA_REQUIRE(
        found && size <= found->end() - op.address && may_use(*stream->context, *found),
        kInvalidValue);
    // cuda.h, cuStreamWaitValue32: "cannot be used with managed memory"
    if (found->kind == MemoryKind::kManaged) {
      report_misuse("memory-operation-on-managed-memory",
                    "cuStreamWaitValue or cuStreamWriteValue was called for managed memory");
      return kInvalidValue;
    }
  }
  return submit(*stream, MemOpWork{state().next_id++, std::move(operations)});
}

Result add_mem_op(Stream stream, std::uint32_t operation, DevicePointer address,
                  std::uint64_t value, unsigned flags) {
  MemOp op{};
  op.operation = operation;
  op.address = address;
  op.value = value;
  op.flags = flags;
  return add_mem_ops(stream, {op});
}

}  // namespace

HALYARD_CUDA_EXPORT Result cuStreamCreate(Stream* stream, unsigned flags) {
  HALYARD_CUDA_CALL(cuStreamCreate, kCurrent);
  return create_stream(call, stream, flags, 0);
}

HALYARD_CUDA_EXPORT Result cuStreamCreateWithPriority(Stream* stream, unsigned flags,
                                                      int priority) {
  HALYARD_CUDA_CALL(cuStreamCreateWithPriority, kCurrent);
  return create_stream(call, stream, flags, priority);
}

HALYARD_CUDA_EXPORT Result cuStreamDestroy_v2(Stream stream) {
  HALYARD_CUDA_CALL(cuStreamDestroy_v2, kInitialized);
  return end_stream(stream);
}

HALYARD_CUDA_EXPORT Result cuStreamDestroy(Stream stream) {
  HALYARD_CUDA_CALL(cuStreamDestroy, kInitialized);
  return end_stream(stream);
}

HALYARD_CUDA_EXPORT Result cuStreamSynchronize(Stream handle) {
  HALYARD_CUDA_CALL(cuStreamSynchronize, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  if (stream->capture != nullptr) {
    stream->capture->is_broken = true;
    return kCaptureUnsupported;
  }
  return wait_for(call.lock(), *stream);
}

HALYARD_CUDA_EXPORT Result cuStreamQuery(Stream handle) {
  HALYARD_CUDA_CALL(cuStreamQuery, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  if (stream->capture != nullptr) {
    stream->capture->is_broken = true;
    return kCaptureUnsupported;
  }
  if (const Result result = Call::check_captures(this_thread()); result != kSuccess) return result;
  if (const Result fault = stream->context->sticky.load(); fault != kSuccess) return fault;
  if (!is_complete(*stream)) return kNotReady;
  return_managed_memory();
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuStreamWaitEvent(Stream handle, Event event_handle, unsigned flags) {
  HALYARD_CUDA_CALL(cuStreamWaitEvent, kNamed);
  HALYARD_CUDA_REQUIRE(flags <= 1, kInvalidValue);
  EventState* const event = resolve(event_handle);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(event != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  if (stream->capture == nullptr && was_captured(*event)) {
    HALYARD_CUDA_REQUIRE(!event->capture->is_ended, kCapturedEvent);
    return join_capture(*stream, *event);
  }
  return submit_wait(*stream, event_handle->object);
}

HALYARD_CUDA_EXPORT Result cuLaunchHostFunc(Stream handle, HostFunction function, void* data) {
  HALYARD_CUDA_CALL(cuLaunchHostFunc, kNamed);
  HALYARD_CUDA_REQUIRE(function != nullptr, kInvalidValue);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  return submit(*stream, HostWork{{function, data}});
}

HALYARD_CUDA_EXPORT Result cuStreamAddCallback(Stream handle, StreamCallback callback, void* data,
                                               unsigned flags) {
  HALYARD_CUDA_CALL(cuStreamAddCallback, kInitialized);
  HALYARD_CUDA_REQUIRE(callback != nullptr && flags == 0, kInvalidValue);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  return submit(*stream, CallbackWork{callback, handle, data});
}

HALYARD_CUDA_EXPORT Result cuStreamGetFlags(Stream handle, unsigned* flags) {
  HALYARD_CUDA_CALL(cuStreamGetFlags, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_CUDA_REQUIRE(flags != nullptr, kInvalidValue);
  *flags = stream->flags;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuStreamGetPriority(Stream handle, int* priority) {
  HALYARD_CUDA_CALL(cuStreamGetPriority, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_CUDA_REQUIRE(priority != nullptr, kInvalidValue);
  *priority = stream->priority;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuStreamGetCtx(Stream handle, Context* context) {
  HALYARD_CUDA_CALL(cuStreamGetCtx, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_CUDA_REQUIRE(context != nullptr, kInvalidValue);
  HALYARD_CUDA_REQUIRE(!stream->context->is_destroyed.load(), kContextIsDestroyed);
  *context = stream->context->handle;
  return kSuccess;
}

// cuda.h: a stream of a green context has that; others have none.
HALYARD_CUDA_EXPORT Result cuStreamGetCtx_v2(Stream handle, Context* context, void** green) {
  HALYARD_CUDA_CALL(cuStreamGetCtx_v2, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_CUDA_REQUIRE(context != nullptr && green != nullptr, kInvalidValue);
  HALYARD_CUDA_REQUIRE(!stream->context->is_destroyed.load(), kContextIsDestroyed);
  *context = stream->context->handle;
  *green = nullptr;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuStreamGetDevice(Stream handle, DeviceId* device) {
  HALYARD_CUDA_CALL(cuStreamGetDevice, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_CUDA_REQUIRE(device != nullptr, kInvalidValue);
  *device = stream->context->device;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuStreamGetId(Stream handle, unsigned long long* id) {
  HALYARD_CUDA_CALL(cuStreamGetId, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_CUDA_REQUIRE(id != nullptr, kInvalidValue);
  *id = stream->id;
  return kSuccess;
}

#define HALYARD_CUDA_MEM_OP(name, Type, operation)                                  \
  HALYARD_CUDA_EXPORT Result name(Stream stream, DevicePointer address, Type value, \
                                  unsigned flags) {                                 \
    HALYARD_CUDA_CALL(name, kNamed);                                                \
    return add_mem_op(stream, operation, address, value, flags);                    \
  }
HALYARD_CUDA_MEM_OP(cuStreamWaitValue32_v2, std::uint32_t, 1)
HALYARD_CUDA_MEM_OP(cuStreamWriteValue32_v2, std::uint32_t, 2)
HALYARD_CUDA_MEM_OP(cuStreamWaitValue64_v2, std::uint64_t, 4)
HALYARD_CUDA_MEM_OP(cuStreamWriteValue64_v2, std::uint64_t, 5)
HALYARD_CUDA_MEM_OP(cuStreamWaitValue32, std::uint32_t, 1)
HALYARD_CUDA_MEM_OP(cuStreamWriteValue32, std::uint32_t, 2)
HALYARD_CUDA_MEM_OP(cuStreamWaitValue64, std::uint64_t, 4)
HALYARD_CUDA_MEM_OP(cuStreamWriteValue64, std::uint64_t, 5)

HALYARD_CUDA_EXPORT Result cuStreamBatchMemOp_v2(Stream stream, unsigned count,
                                                 const MemOp* operations, unsigned flags) {
  HALYARD_CUDA_CALL(cuStreamBatchMemOp_v2, kNamed);
  HALYARD_CUDA_REQUIRE(operations != nullptr && count <= 256 && flags == 0, kInvalidValue);
  return add_mem_ops(stream, {operations, operations + count});
}

HALYARD_CUDA_EXPORT Result cuStreamBatchMemOp(Stream stream, unsigned count,
                                              const MemOp* operations, unsigned flags) {
  HALYARD_CUDA_CALL(cuStreamBatchMemOp, kNamed);
  HALYARD_CUDA_REQUIRE(operations != nullptr && count <= 256 && flags == 0, kInvalidValue);
  return add_mem_ops(stream, {operations, operations + count});
}

HALYARD_CUDA_EXPORT Result cuEventCreate(Event* event, unsigned flags) {
  HALYARD_CUDA_CALL(cuEventCreate, kCurrent);
  HALYARD_CUDA_REQUIRE(event != nullptr && flags <= 7, kInvalidValue);
  HALYARD_CUDA_REQUIRE((flags & kEventInterprocess) == 0, kNotSupported);
  auto made = std::make_shared<EventState>();
  made->context = &call.context();
  made->flags = flags;
  EventState& state_of = *made;
  *event = state_of.handle = make_handle(std::move(made));
  ++call.context().live_events;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuEventDestroy_v2(Event event) {
  HALYARD_CUDA_CALL(cuEventDestroy_v2, kInitialized);
  return end_event(event);
}

HALYARD_CUDA_EXPORT Result cuEventDestroy(Event event) {
  HALYARD_CUDA_CALL(cuEventDestroy, kInitialized);
  return end_event(event);
}

HALYARD_CUDA_EXPORT Result cuEventRecord(Event event, Stream stream) {
  HALYARD_CUDA_CALL(cuEventRecord, kNamed);
  return record(event, stream);
}

HALYARD_CUDA_EXPORT Result cuEventRecordWithFlags(Event event, Stream stream, unsigned flags) {
  HALYARD_CUDA_CALL(cuEventRecordWithFlags, kNamed);
  HALYARD_CUDA_REQUIRE(flags <= 1, kInvalidValue);
  return record(event, stream);
}

HALYARD_CUDA_EXPORT Result cuEventQuery(Event handle) {
  HALYARD_CUDA_CALL(cuEventQuery, kInitialized);
  EventState* const event = resolve(handle);
  if (const Result refusal = check_awaited(event); refusal != kSuccess) return refusal;
  if (const Result fault = event->context->sticky.load(); fault != kSuccess) return fault;
  // cuda.h, cuEventQuery: an event that was never recorded is complete.
  if (event->recording != nullptr && !event->recording->is_done) return kNotReady;
  return_managed_memory();  // cuda.h: "equivalent to having called cuEventSynchronize()"
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuEventSynchronize(Event handle) {
  HALYARD_CUDA_CALL(cuEventSynchronize, kInitialized);
  EventState* const event = resolve(handle);
  if (const Result refusal = check_awaited(event); refusal != kSuccess) return refusal;
  ContextState& context = *event->context;
  if (const std::shared_ptr<Recording> recording = event->recording) {
    state().progress.wait(call.lock(), [&] { return recording->is_done; });
  }
  return_managed_memory();
  return context.sticky.load();
}

HALYARD_CUDA_EXPORT Result cuEventElapsedTime(float* milliseconds, Event from, Event to) {
  HALYARD_CUDA_CALL(cuEventElapsedTime, kInitialized);
  return elapsed(milliseconds, from, to);
}

HALYARD_CUDA_EXPORT Result cuEventElapsedTime_v2(float* milliseconds, Event from, Event to) {
  HALYARD_CUDA_CALL(cuEventElapsedTime_v2, kInitialized);
  return elapsed(milliseconds, from, to);
}

HALYARD_CUDA_PER_THREAD(cuEventRecordWithFlags, _ptsz, 3)
HALYARD_CUDA_PER_THREAD(cuEventRecord, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuLaunchHostFunc, _ptsz, 3)
HALYARD_CUDA_PER_THREAD(cuStreamAddCallback, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamBatchMemOp, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamBatchMemOp_v2, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamGetCtx, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuStreamGetCtx_v2, _ptsz, 3)
HALYARD_CUDA_PER_THREAD(cuStreamGetDevice, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuStreamGetFlags, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuStreamGetId, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuStreamGetPriority, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuStreamQuery, _ptsz, 1)
HALYARD_CUDA_PER_THREAD(cuStreamSynchronize, _ptsz, 1)
HALYARD_CUDA_PER_THREAD(cuStreamWaitEvent, _ptsz, 3)
HALYARD_CUDA_PER_THREAD(cuStreamWaitValue32, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamWaitValue32_v2, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamWaitValue64, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamWaitValue64_v2, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamWriteValue32, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamWriteValue32_v2, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamWriteValue64, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuStreamWriteValue64_v2, _ptsz, 4)

}  // namespace halyard::inline v0::sim::cuda
