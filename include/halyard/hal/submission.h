// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Submission: {waits, operation, signals} on its way through a queue. SubmitInfo, ExecuteInfo: its
// waits and signals.
//
// A submission ends in exactly one way:
//   complete   all signals advance
//   failed     all signals fail with the cause: a wait failed, the host call or the file failed, or
//              the device was lost
//   cancelled  all signals fail with kCancelled
// A failed submission affects only the work that waits for it. Device loss also fails, with
// kUnavailable, other devices' work that is already queued after a native wait for the lost device.
#pragma once

#include <utility>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0 {

namespace timeline {
class Submission;
}

namespace hal {

// A reference to a submission, for cancel(). It keeps a little memory and may outlive the
// submission, its queue and its device. Move-only. One thread at a time fills, moves or destroys a
// handle; cancel() is safe from any thread.
class HALYARD_EXPORT Submission {
 public:
  Submission() noexcept = default;
  explicit Submission(timeline::Submission* adopted) noexcept : object_(adopted) {}
  Submission(Submission&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Submission& operator=(Submission&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Submission();

  // Withdraws the submission if it is parked: returns true, and its signals fail with kCancelled.
  // Otherwise returns false, as for an empty handle, and the submission ends as the device ends it.
  // Like Semaphore::fail(), it may issue other work and run callbacks. Never blocks.
  bool cancel() const;

  timeline::Submission* object() const noexcept { return object_; }

 private:
  timeline::Submission* object_ = nullptr;
};

// The waits and signals of a submission. It refers to its lists and does not keep them: a list in
// braces, or any other temporary, ends with the full expression. So write such lists in the call,
//   queue.fill(x, 0, 4, {.wait = {{start, 1}}, .signal = {{done, 1}}});
// and give an info that is a variable lists that are variables:
//   const Point waits[] = {{start, 1}};
//   const SubmitInfo info{.wait = waits};
// A submission checks its points. If they are obviously no semaphores any more, it returns
// kInvalidArgument, but it cannot detect every list that is gone.
struct SubmitInfo {
  Points wait{};
  Points signal{};
  Submission* submission = nullptr;  // filled if the call succeeds
  // How long the call waits while the queue's backlog is full. In a callback it does not wait.
  Deadline room = kNow;
};

// The same of an execution, with the tables of the recording's slots. It too refers to its lists.
struct ExecuteInfo {
  // The binding table: slot i of the recording is bindings[i]. It may have more entries.
  View<BufferRange> bindings{};
  View<Constant> constants{};  // constant slot i is constants[i]; as many as there are slots
  Points wait{};
  Points signal{};
  Submission* submission = nullptr;
  Deadline room = kNow;

  operator SubmitInfo() const noexcept {  // without the tables
    return {.wait = wait, .signal = signal, .submission = submission, .room = room};
  }
};

}  // namespace hal
}  // namespace halyard::inline v0
