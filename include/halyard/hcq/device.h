// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Device: two hardware queues, compute and copy, and one timeline signal for the whole device.
//
// To follow all work submitted so far, wait for `last_timeline()`; to mark the end of a submission,
// signal `next_timeline()`:
//
//   q.wait(device.last_timeline()).exec(...).signal(device.next_timeline());
//
// A queue may wait for anything, also for a value nobody has
// queued yet; it then blocks, and no other queue of the device with it.
#pragma once

#include <atomic>
#include <cstdint>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hcq/signal.h"

namespace halyard::inline v0::hcq {

namespace detail {
class BoundList;
class CommandList;
}  // namespace detail

enum class QueueType : std::uint8_t { kCompute, kCopy };

// Functions are safe from any thread.
class HALYARD_EXPORT Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  // Drops what is queued and has not run; waits for the piece of work (a workgroup, a chunk of a
  // copy) that runs right now, never for queued work. To finish first: synchronize().
  virtual ~Device();

  // A signal this device and the host see; kResourceExhausted.
  Result<Signal> create_signal(std::uint64_t initial = 0) const;

  const Signal& timeline_signal() const noexcept { return timeline_signal_; }
  // The next value to signal. The first is 1.
  std::uint64_t timeline_value() const noexcept {
    return timeline_value_.load(std::memory_order_relaxed);
  }
  // The point that was taken last.
  Point last_timeline() const noexcept { return {timeline_signal_, timeline_value() - 1}; }
  // Takes the next point: the caller submits a command that signals it.
  Point next_timeline() noexcept {
    return {timeline_signal_, timeline_value_.fetch_add(1, std::memory_order_relaxed)};
  }

  // Waits for last_timeline(). kDeadlineExceeded.
  Status synchronize(Deadline deadline = kForever) const;

 protected:
  explicit Device(Signal timeline_signal) noexcept;

 private:
  friend class CommandQueue;
  // In order, to the hardware queue of `type`; nothing is queued on error.
  virtual Status submit(QueueType type, const detail::CommandList& commands) = 0;
  virtual Status submit(QueueType type, detail::BoundList& commands) = 0;
  virtual Result<Ref<detail::BoundList>> bind(const detail::CommandList& commands) = 0;

  const Signal timeline_signal_;
  std::atomic<std::uint64_t> timeline_value_{1};
};

}  // namespace halyard::inline v0::hcq
