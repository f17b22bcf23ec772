// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Signal: what hardware queues and the host synchronise on. One cache line with a 64-bit value
// that only grows and, apart from it, a timestamp.
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
  // Empty. Device::create_signal() makes one.
  Signal() noexcept = default;
  explicit Signal(Ref<SignalObject> object) noexcept;

  // Acquire: who sees a value sees everything written before it was set. Precondition: not empty.
  std::uint64_t value() const noexcept;

  // The time of the last timestamp command, in nanoseconds of Clock::steady(); 0 before the first.
  // Precondition: not empty.
  Nanoseconds timestamp() const noexcept;

  // Raises the value to `value` and releases whom it satisfies; a value that is not above the
  // current one changes nothing. No system call and no lock unless somebody waits. Precondition:
  // not empty.
  void set(std::uint64_t value) const noexcept;

  // Blocks until the value is at least `value`. kDeadlineExceeded; kInvalidArgument when empty.
  Status wait(std::uint64_t value, Deadline deadline = kForever) const;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Signal& a, const Signal& b) noexcept = default;
  SignalObject* object() const noexcept;

 private:
  Ref<RefCounted> object_;
};

// A value of a signal: what a queue signals, and what another waits for. An empty point (no signal,
// value 0) is nothing to wait for.
struct Point {
  Signal signal;
  std::uint64_t value = 0;

  bool reached() const noexcept { return !signal || signal.value() >= value; }
  // Blocks until it is reached. kDeadlineExceeded.
  Status wait(Deadline deadline = kForever) const {
    return signal ? signal.wait(value, deadline) : Status();
  }
};

}  // namespace halyard::inline v0::hcq
