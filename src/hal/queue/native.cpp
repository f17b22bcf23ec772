// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hal/native.h"

#include <utility>

#include "base/atomic.h"
#include "base/format.h"
#include "hal/device/device.h"
#include "hal/object.h"
#include "hal/queue/queue.h"
#include "timeline/submission.h"

namespace halyard::inline v0::hal {
namespace {

// A value that was promised a moment ago may not have reached this queue yet.
constexpr int kLooks = 64;

// Submits by submit(info), and returns once the submission is in its lane. It has no signals, so
// withdrawing it has no other effect.
template <class F>
Status issue_now(QueueObject& queue, const char* operation, Points waits, F&& submit) {
  Submission handle;
  HALYARD_RETURN_IF_ERROR(submit(SubmitInfo{.wait = waits, .submission = &handle}));
  using State = timeline::Submission::State;
  const timeline::Submission& submission = *handle.object();
  for (int looks = 0;;) {
    switch (submission.state()) {
      case State::kFailed:
      case State::kCancelled:
        return submission.cause();
      case State::kParked:
        if (++looks < kLooks) {
          HALYARD_RETURN_IF_ERROR(queue.flush());
        } else if (handle.cancel()) {
          return error(StatusCode::kFailedPrecondition,
                       "queue {}: {}: a value is neither reached nor promised by work that a device "
                       "of the same kind is to run, or the queue is full",
                       queue.name(), operation);
        }
        break;
      case State::kIssuing:  // by another thread
        base::spin_yield();
        break;
      default:
        return {};
    }
  }
}

}  // namespace

Result<Queue> import_stream(const Device& device, void* stream, std::string_view name) {
  HALYARD_RETURN_IF_ERROR(check_handle(device, "import_stream"));
  Result<Queue> queue = device.object()->import_stream(stream, name);
  if (!queue.ok()) return at(queue.status(), "device {}: import_stream", device.object()->name());
  return queue;
}

Status make_stream_wait(const Queue& queue, Points points) {
  HALYARD_RETURN_IF_ERROR(check_handle(queue, "make_stream_wait"));
  QueueObject& object = *queue.object();
  if (object.stream() == nullptr) {
    return error(StatusCode::kInvalidArgument,
                 "queue {}: make_stream_wait: it is on no imported stream", object.name());
  }
  return issue_now(object, "make_stream_wait", points,
                   [&](const SubmitInfo& info) { return object.barrier(info); });
}

Status wait_for_event(const Queue& queue, void* event, const SubmitInfo& info) {
  HALYARD_RETURN_IF_ERROR(check_handle(queue, "wait_for_event"));
  return queue.object()->native_event({event, NativeEvent::Use::kWait}, info);
}

Status record_event(const Queue& queue, void* event, Points waits) {
  HALYARD_RETURN_IF_ERROR(check_handle(queue, "record_event"));
  QueueObject& object = *queue.object();
  return issue_now(object, "record_event", waits, [&](const SubmitInfo& info) {
    return object.native_event({event, NativeEvent::Use::kRecord}, info);
  });
}

Status QueueObject::native_event(const NativeEvent& event, const SubmitInfo& info) {
  const char* const operation =
      event.use == NativeEvent::Use::kWait ? "wait_for_event" : "record_event";
  if (device_.driver()->native_interop() == nullptr) {
    return refused(Status(StatusCode::kUnimplemented, "the device has no native events"),
                   operation);
  }
  if (event.handle == nullptr) {
    return refused(Status(StatusCode::kInvalidArgument, "null is no event"), operation);
  }
  HALYARD_ASSIGN_OR_RETURN(timeline::Submission* const submission, queue_->allocate());
  submission->emplace<Operation>().event = event;
  submission->set_name(trace::kBarrier);
  if (device_.engine().checker() != nullptr) submission->declare().is_external = true;
  return send(*submission, info);
}

}  // namespace halyard::inline v0::hal
