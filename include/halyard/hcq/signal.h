// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Signal: synchronizes hardware queues and the host. One cache line with a 64-bit value that
// only grows and, independent of it, a timestamp.
//
// A handle: copies share the signal. Queued commands keep the signals they name, so a handle may be
// dropped while work that uses it is still queued. All functions are safe from any thread.
#pragma once

#include <cstdint>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hcq {

class SignalObject;

class HALYARD_EXPORT Signal {
 public:
  // An empty handle. Device::create_signal() makes a signal.
  Signal() noexcept = default;
  explicit Signal(Ref<SignalObject> object) noexcept;

  // Acquire: a thread that reads a value sees everything written before that value was set.
  // Precondition: not empty.
  std::uint64_t value() const noexcept;

  // The time of the last timestamp command, in nanoseconds of Clock::steady(); 0 before the first.
  // Precondition: not empty.
  Nanoseconds timestamp() const noexcept;

  // Raises the value to `value` and releases the waits that it satisfies. A value that is not above
  // the current one changes nothing. No system call and no lock unless a thread or queue waits.
  // Precondition: not empty.
  void set(std::uint64_t value) const noexcept;

  // Blocks until the value is at least `value`. Errors: kDeadlineExceeded; kInvalidArgument if
  // empty.
  Status wait(std::uint64_t value, Deadline deadline = kForever) const;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Signal& a, const Signal& b) noexcept = default;
  SignalObject* object() const noexcept;

 private:
  Ref<RefCounted> object_;
};

// A value of a signal, to signal or to wait for. A wait for an empty point (no signal, value 0)
// returns at once.
struct Point {
  Signal signal;
  std::uint64_t value = 0;

  bool reached() const noexcept { return !signal || signal.value() >= value; }
  // Blocks until the point is reached. Errors: kDeadlineExceeded.
  Status wait(Deadline deadline = kForever) const {
    return signal ? signal.wait(value, deadline) : Status();
  }
};

}  // namespace halyard::inline v0::hcq
