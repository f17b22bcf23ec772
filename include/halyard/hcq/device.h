// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Device: two hardware queues, compute and copy, memory, and one timeline for the whole
// device. A submission waits for the point that was taken last, and signals the next:
//
//   q.wait(device.last_timeline()).exec(...).signal(device.next_timeline());
//   check(q.submit(device));
//
// Where several threads submit, or a submission may be refused, this is done in a TimelineTurn. A
// queue may wait for anything, also for a value nobody has queued yet; it then blocks, and no other
// queue of the device with it.
#pragma once

#include <cstdint>
#include <memory>

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

// kStaging: memory of the host that the device reads and writes.
enum class MemoryType : std::uint8_t { kDevice, kStaging };

// Functions are safe from any thread.
class HALYARD_EXPORT Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  // Drops what is queued and has not run; waits for the piece of work (a workgroup, a chunk of a
  // copy) that runs right now, never for queued work. To finish first: synchronize().
  virtual ~Device();

  // A signal this device and the host see, and all that it can_access(); kResourceExhausted. It may
  // outlive the device, which then raises it no more.
  Result<Signal> create_signal(std::uint64_t initial = 0) const;

  // The point that was taken last; all before it are reached before it is. A device whose hardware
  // compares 32 bits goes on with 1 of another signal after 2^31: the two signals of a wait and the
  // signal after it may differ, and a point that is kept stays true for ever.
  Point last_timeline() const noexcept;
  // Takes the next point. The caller submits a command that signals it, or else nothing that waits
  // for it ever runs. Waits for the turns of other threads. Allocates at most where the signal
  // changes; without memory for that, the old signal goes on, up to what 32 bits hold.
  Point next_timeline() noexcept;

  // The two halves of a point, which may change between the calls: take a pair by last_timeline()
  // or next_timeline(). timeline_value() is the next value to signal, the first is 1.
  Signal timeline_signal() const noexcept { return last_timeline().signal; }
  std::uint64_t timeline_value() const noexcept { return last_timeline().value + 1; }

  // Waits for last_timeline(). kDeadlineExceeded.
  Status synchronize(Deadline deadline = kForever) const { return last_timeline().wait(deadline); }

  // Whether the copy queue of this device reaches the memory and the signals of `other`.
  bool can_access(const Device& other) const noexcept {
    return &other == this || peer_group() == other.peer_group();
  }

 protected:
  explicit Device(std::unique_ptr<detail::Timeline> timeline) noexcept;
  // Frees the memory that was given up while work might use it. For the destructor of a derived
  // class, when nothing runs any more.
  void free_abandoned() noexcept;

 private:
  friend class CommandQueue;
  friend class TimelineTurn;
  friend class detail::MemoryPool;
  // In order, to the hardware queue of `type`; nothing is queued on error.
  virtual Status submit(QueueType type, const detail::CommandList& commands) = 0;
  // The same with a list that bind() made.
  virtual Status submit(QueueType type, detail::BoundList& commands) = 0;
  // `commands` in the form and the memory from which this device executes them.
  virtual Result<Ref<detail::BoundList>> bind(const detail::CommandList& commands) = 0;
  // An empty buffer when memory is exhausted.
  virtual Buffer allocate_memory(MemoryType type, std::uint64_t size) noexcept = 0;
  virtual void free_memory(MemoryType type, const Buffer& memory) noexcept = 0;
  // Devices of one group reach each other's memory.
  virtual const void* peer_group() const noexcept { return this; }

  // Frees `block` once its point is reached.
  void abandon(detail::Block* block) noexcept;
  void free(detail::Block* block) noexcept;

  const std::unique_ptr<detail::Timeline> timeline_;
};

// The timeline of a device, for one thread, while it makes a submission:
//
//   TimelineTurn turn(device);
//   q.wait(turn.last()).exec(...).signal(turn.next());
//   check(q.submit(device));
//   turn.commit();
//
// Points are so taken in the order in which hardware queues get the commands that signal them: no
// queue waits for a point that is signalled behind it. A submission that is refused takes none.
//
// A thread has one turn of a device at a time, and in it takes no point in another way (as
// Allocator's copies do). Of several devices it takes turns in ascending order of their addresses.
class HALYARD_EXPORT TimelineTurn {
 public:
  // Waits for the turns of other threads.
  explicit TimelineTurn(Device& device) noexcept;
  ~TimelineTurn();
  TimelineTurn(const TimelineTurn&) = delete;
  TimelineTurn& operator=(const TimelineTurn&) = delete;

  const Point& last() const noexcept { return last_; }
  const Point& next() const noexcept { return next_; }
  // next() is taken, for a command that signals it was queued. It then is last(), and next() empty:
  // a turn is for one point.
  void commit() noexcept;

 private:
  detail::Timeline& timeline_;
  Point last_;
  Point next_;
};

}  // namespace halyard::inline v0::hcq
