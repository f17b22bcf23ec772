// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Submission: {waits, operation, signals} on its way through a queue. SubmitInfo, ExecuteInfo: what
// one waits for and signals.
//
// It ends in exactly one way: complete (all signals advance), failed (all signals fail with the
// cause: a wait failed, the host call or the file failed, the device was lost) or cancelled (as
// failed). A failed submission harms nothing that does not wait on it.
#pragma once

#include <utility>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0 {

namespace timeline {
class Submission;
}

namespace hal {

// A look at one submission, for cancel(). Holding one keeps a little memory, nothing else: it may
// outlive the submission, its queue and its device. Move-only; one handle is filled, moved and
// destroyed by one thread at a time, cancel() is safe from any.
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

  // Withdraws it while it is parked: true, and its signals fail with kCancelled. False afterwards
  // (it ends, or has ended, as the device ends it), and for an empty handle. As Semaphore::fail(),
  // it may issue other work and run callbacks; it waits for nothing.
  bool cancel() const;

  timeline::Submission* object() const noexcept { return object_; }

 private:
  timeline::Submission* object_ = nullptr;
};

struct SubmitInfo {
  Points wait{};
  Points signal{};
  Submission* submission = nullptr;  // filled when the call succeeds
  // How long the call waits where the queue's backlog is full; in a callback it does not wait.
  Deadline room = kNow;
};

struct ExecuteInfo {
  View<BufferRange> bindings{};  // the binding table: slot i of the recording is bindings[i]
  Points wait{};
  Points signal{};
  Submission* submission = nullptr;
  Deadline room = kNow;

  operator SubmitInfo() const noexcept {  // without the bindings
    return {.wait = wait, .signal = signal, .submission = submission, .room = room};
  }
};

}  // namespace hal
}  // namespace halyard::inline v0
