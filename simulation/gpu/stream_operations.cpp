// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/stream_operations.h"

#include "simulation/gpu/capture.h"
#include "simulation/gpu/managed.h"
#include "simulation/gpu/memory.h"
#include "simulation/gpu/per_thread.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {

Result create_stream(Call& call, Stream* stream, unsigned flags, int priority) {
  HALYARD_GPU_REQUIRE(stream != nullptr && flags <= kNonBlocking, kInvalidValue);
  *stream = make_handle(make_stream(call.context(), flags, clamp_priority(priority)));
  ++call.context().live_streams;
  return kSuccess;
}

Result end_stream(Stream handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  HALYARD_GPU_REQUIRE(value > kPerThreadStream, kInvalidHandle);
  StreamState* const stream = resolve(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, kInvalidHandle);
  if (stream->capture != nullptr && rules().destroying_ends_captures) {
    leave_capture(*stream);
  } else if (stream->capture != nullptr) {
    stream->capture->is_broken = true;
  }
  const ContextState& context = *stream->context;
  destroy_stream(handle);
  return context.sticky.load();  // destroyed nevertheless, as on an H200
}

Result end_event(Event handle) {
  EventState* const event = resolve(handle);
  HALYARD_GPU_REQUIRE(event != nullptr, kInvalidHandle);
  ContextState& context = *event->context;
  --context.live_events;
  end_handle(handle);
  return context.sticky.load();  // as end_stream()
}

Result record_event(Event handle, Stream stream_handle) {
  EventState* const event = resolve(handle);
  HALYARD_GPU_REQUIRE(event != nullptr, kInvalidHandle);
  StreamState* const stream = find_stream(stream_handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(stream_handle));
  // cuda.h, cuEventRecord: "hEvent and hStream must be from the same context"
  if (event->context != stream->context) {
    report_misuse("record-across-contexts", "an event was recorded in a stream of another context");
    return kInvalidHandle;
  }
  return submit_record(*stream, handle->object);
}

namespace {

// The event's error, if its last record was captured.
bool was_captured(const EventState& event) { return event.capture != nullptr; }

// Whether the host may query or wait for the event. That is potentially unsafe while another thread
// captures, even if the event was recorded before: PyTorch's watchdog met it (pytorch/pytorch, pull
// request 104555), and HIP has the same rule (ROCm/rocm-systems, pull request 3176).
Result check_awaited(const EventState* event) {
  HALYARD_GPU_REQUIRE(event != nullptr, kInvalidHandle);
  if (was_captured(*event)) {
    event->capture->is_broken = true;  // as on an H200; cuda.h does not say
    return kCapturedEvent;
  }
  return Call::check_captures(this_thread());
}

float elapsed_milliseconds(const Recording& from, const Recording& to) {
  return static_cast<float>(static_cast<double>(to.time - from.time) * 1e-6);
}

}  // namespace

Result elapsed_time(float* milliseconds, Event from_handle, Event to_handle) {
  HALYARD_GPU_REQUIRE(milliseconds != nullptr, kInvalidValue);
  EventState* const from = resolve(from_handle);
  EventState* const to = resolve(to_handle);
  HALYARD_GPU_REQUIRE(from != nullptr && to != nullptr, kInvalidHandle);
  // cuda.h, cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE if either was never recorded, or was
  // created with CU_EVENT_DISABLE_TIMING.
  HALYARD_GPU_REQUIRE(((from->flags | to->flags) & kEventDisableTiming) == 0, kInvalidHandle);
  HALYARD_GPU_REQUIRE(from->recording != nullptr && to->recording != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(from->recording->is_done && to->recording->is_done, kNotReady);
  *milliseconds = elapsed_milliseconds(*from->recording, *to->recording);
  return kSuccess;
}

Result add_mem_ops(Stream handle, std::vector<MemOp> operations) {
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  for (const MemOp& op : operations) {
    if (op.operation == 3 || op.operation == 6) continue;  // flush, barrier
    const bool is_wait = op.operation == 1 || op.operation == 4;
    const bool is_write = op.operation == 2 || op.operation == 5;
    HALYARD_GPU_REQUIRE(is_wait || is_write, kInvalidValue);
    const std::size_t size = op.operation >= 4 ? 8 : 4;
    HALYARD_GPU_REQUIRE(op.address % size == 0, kInvalidValue);
    HALYARD_GPU_REQUIRE(is_wait || (op.flags & ~1U) == 0, kInvalidValue);
    const std::optional<Allocation> found = memory().find(op.address);
    HALYARD_GPU_REQUIRE(
        found && size <= found->end() - op.address && may_use(*stream->context, *found),
        kInvalidValue);
    // cuda.h, cuStreamWaitValue32: "cannot be used with managed memory"
    if (found->kind == MemoryKind::kManaged) {
      report_misuse("memory-operation-on-managed-memory", std::string(rules().names.wait_value) +
                                                              " or " + rules().names.write_value +
                                                              " was called for managed memory");
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

Result synchronize_stream(Call& call, Stream handle) {
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  if (stream->capture != nullptr) {
    stream->capture->is_broken = true;
    return kCaptureUnsupported;
  }
  return wait_for(call.lock(), *stream);
}

Result query_stream(Stream handle) {
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
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

Result wait_event(Stream handle, Event event_handle, unsigned flags) {
  HALYARD_GPU_REQUIRE(flags <= 1, kInvalidValue);
  EventState* const event = resolve(event_handle);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(event != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  if (stream->capture == nullptr && was_captured(*event)) {
    HALYARD_GPU_REQUIRE(!event->capture->is_ended, kCapturedEvent);
    return join_capture(*stream, *event);
  }
  return submit_wait(*stream, event_handle->object);
}

Result launch_host_function(Stream handle, HostFunction function, void* data) {
  HALYARD_GPU_REQUIRE(function != nullptr, kInvalidValue);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  return submit(*stream, HostWork{{function, data}});
}

Result add_callback(Stream handle, StreamCallback callback, void* data, unsigned flags) {
  HALYARD_GPU_REQUIRE(callback != nullptr && flags == 0, kInvalidValue);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  return submit(*stream, CallbackWork{callback, handle, data});
}

Result create_event(Call& call, Event* event, unsigned flags) {
  HALYARD_GPU_REQUIRE(event != nullptr && flags <= 7, kInvalidValue);
  HALYARD_GPU_REQUIRE((flags & kEventInterprocess) == 0, kNotSupported);
  auto made = std::make_shared<EventState>();
  made->context = &call.context();
  made->flags = flags;
  EventState& state_of = *made;
  *event = state_of.handle = make_handle(std::move(made));
  ++call.context().live_events;
  return kSuccess;
}

Result query_event(Event handle) {
  EventState* const event = resolve(handle);
  if (const Result refusal = check_awaited(event); refusal != kSuccess) return refusal;
  if (const Result fault = event->context->sticky.load(); fault != kSuccess) return fault;
  // cuda.h, cuEventQuery: an event that was never recorded is complete.
  if (event->recording != nullptr && !event->recording->is_done) return kNotReady;
  return_managed_memory();  // cuda.h: "equivalent to having called cuEventSynchronize()"
  return kSuccess;
}

Result synchronize_event(Call& call, Event handle) {
  EventState* const event = resolve(handle);
  if (const Result refusal = check_awaited(event); refusal != kSuccess) return refusal;
  ContextState& context = *event->context;
  if (const std::shared_ptr<Recording> recording = event->recording) {
    state().progress.wait(call.lock(), [&] { return recording->is_done; });
  }
  return_managed_memory();
  return context.sticky.load();
}

}  // namespace halyard::inline v0::sim::gpu
