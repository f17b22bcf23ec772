// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Device: hardware queues (compute and, on most devices, copy), memory, and one timeline for
// the whole device. A submission waits for the latest point and signals the next:
//
//   q.wait(device.last_timeline()).exec(...).signal(device.next_timeline());
//   check(q.submit(device));
//
// A program whose threads submit concurrently, or that handles a refused submission, takes points
// in a TimelineTurn instead. A queue may wait for any value, even if no work that signals it has
// been queued yet. Such a wait blocks this queue only.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hcq/program.h"
#include "halyard/hcq/signal.h"

namespace halyard::inline v0::hcq {

namespace detail {
class BoundList;
class CommandList;
class MemoryPool;
class Timeline;
struct Block;
}  // namespace detail

enum class QueueType : std::uint8_t { kCompute, kCopy };

// kStaging: host memory that the device reads and writes.
enum class MemoryType : std::uint8_t { kDevice, kStaging };

// Times that a device writes, as those of Clock::steady().
struct DeviceClock {
  std::uint64_t ticks_per_second = 1'000'000'000;
  // One moment on both clocks.
  std::uint64_t ticks = 0;
  Nanoseconds host = 0;

  // 0 for 0 ticks: a time that was not written yet.
  HALYARD_EXPORT Nanoseconds to_host(std::uint64_t time) const noexcept;
};

struct DeviceTraits {
  // The programs that it runs: those that were loaded for this target.
  std::string_view target;
  // A submission cannot signal or wait for a larger value: kOutOfRange. 32 or 64.
  unsigned signal_bits = 64;
  // False: a CopyQueue's commands run on the compute queue, in order with the commands there.
  bool has_copy_queue = true;
  // Whether it takes BasicQueue::raw().
  bool takes_raw_words = false;
  DeviceClock clock;
};

// Functions are safe from any thread.
class HALYARD_EXPORT Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  // Drops queued work that has not started. Waits for the running piece of work (a workgroup, a
  // chunk of a copy), never for queued work. To finish the queued work first, call synchronize().
  virtual ~Device();

  // Creates a signal for this device, the host, and every device that this one can_access(). The
  // signal may outlive the device, which then no longer raises it. Errors: kResourceExhausted.
  Result<Signal> create_signal(std::uint64_t initial = 0) const;

  // The point that was taken last. It is reached only after all earlier ones. After 2^31 points a
  // device whose hardware compares 32 bits continues with value 1 of another signal. So the signals
  // of two successive points may differ; a stored point stays valid.
  Point last_timeline() const noexcept;
  // Takes the next point. The caller must submit a command that signals it, else work that waits
  // for it never runs. Blocks while another thread holds a TimelineTurn. Allocates only if the
  // signal changes; if that allocation fails, the old signal stays in use, up to 32 bits.
  Point next_timeline() noexcept;

  // The two halves of a point. They may change between two calls: last_timeline() and
  // next_timeline() return a consistent pair. timeline_value() is the next value to signal, at
  // first 1.
  Signal timeline_signal() const noexcept { return last_timeline().signal; }
  std::uint64_t timeline_value() const noexcept { return last_timeline().value + 1; }

  // Waits for last_timeline(). kDeadlineExceeded.
  Status synchronize(Deadline deadline = kForever) const { return last_timeline().wait(deadline); }

  const DeviceTraits& traits() const noexcept { return traits_; }

  // True if the copy queue of this device reaches the memory and the signals of `other`.
  bool can_access(const Device& other) const noexcept {
    return &other == this || peer_group() == other.peer_group();
  }

 protected:
  explicit Device(std::unique_ptr<detail::Timeline> timeline, const DeviceTraits& traits) noexcept;
  // Frees the memory that was abandoned while work might use it. Called by the destructor of a
  // derived class, when no work runs any more.
  void free_abandoned() noexcept;

 private:
  friend class CommandQueue;
  friend class TimelineTurn;
  friend class detail::MemoryPool;
  // Queues `commands` in order on the hardware queue of `type`. Queues nothing on error.
  virtual Status submit(QueueType type, const detail::CommandList& commands) = 0;
  // The same with a list that bind() returned.
  virtual Status submit(QueueType type, detail::BoundList& commands) = 0;
  // Converts `commands` to the form, and places them in the memory, from which this device
  // executes.
  virtual Result<Ref<detail::BoundList>> bind(const detail::CommandList& commands) = 0;
  // Returns an empty buffer when memory is exhausted.
  virtual Buffer allocate_memory(MemoryType type, std::uint64_t size) noexcept = 0;
  virtual void free_memory(MemoryType type, const Buffer& memory) noexcept = 0;
  // Devices of the same group can access each other's memory.
  virtual const void* peer_group() const noexcept { return this; }

  // Frees `block` once its point is reached.
  void abandon(detail::Block* block) noexcept;
  void free(detail::Block* block) noexcept;

  const std::unique_ptr<detail::Timeline> timeline_;
  const DeviceTraits traits_;
};

// Takes one point of a device's timeline for a submission, and excludes other threads meanwhile:
//
//   TimelineTurn turn(device);
//   q.wait(turn.last()).exec(...).signal(turn.next());
//   check(q.submit(device));
//   turn.commit();
//
// Points are thereby taken in the order in which the hardware queues receive the commands that
// signal them, so no queue waits for a point that is signalled later in the same queue. If the
// submission is refused, no point is taken.
//
// A thread holds at most one TimelineTurn per device. While it does, it must not take a point of
// that device in another way (Allocator's copies take one). To hold those of several devices, it
// constructs them in ascending order of the devices' addresses.
class HALYARD_EXPORT TimelineTurn {
 public:
  // Blocks while another thread holds a TimelineTurn of the device.
  explicit TimelineTurn(Device& device) noexcept;
  ~TimelineTurn();
  TimelineTurn(const TimelineTurn&) = delete;
  TimelineTurn& operator=(const TimelineTurn&) = delete;

  const Point& last() const noexcept { return last_; }
  const Point& next() const noexcept { return next_; }
  // Takes next(): call it once a command that signals next() has been queued. Afterwards last() is
  // that point and next() is empty; one TimelineTurn takes one point.
  void commit() noexcept;

 private:
  detail::Timeline& timeline_;
  Point last_;
  Point next_;
};

}  // namespace halyard::inline v0::hcq
