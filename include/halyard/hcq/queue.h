// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::ComputeQueue and hcq::CopyQueue: lists of hardware commands, built in a chain and submitted.
//
//   ComputeQueue q;
//   q.wait(signal, 1).exec(program, args, {64, 1, 1}, program.local_size()).signal(signal, 2);
//   check(q.submit(device));
//
// Commands of one hardware queue run in order, each after the one before it is complete. A list may
// be submitted any number of times. A wrong argument sticks: submit() returns the first error. A
// list is used by one thread at a time; different threads may submit different lists to a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "halyard/base/export.h"
#include "halyard/base/status.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/program.h"
#include "halyard/hcq/signal.h"

namespace halyard::inline v0::hcq {

class HALYARD_EXPORT CommandQueue {
 public:
  CommandQueue(CommandQueue&&) noexcept;
  CommandQueue& operator=(CommandQueue&&) noexcept;
  ~CommandQueue();

  std::size_t command_count() const noexcept;

  // Copies the commands to the device; never blocks. What does not fit its ring waits, in order, in
  // a backlog on the host. Nothing is queued on error: the list's own first error, or
  // kResourceExhausted when the backlog is full or memory is.
  Status submit(Device& device);

 protected:
  explicit CommandQueue(QueueType type);
  detail::CommandList& commands() noexcept { return *commands_; }
  void add_signal(const Signal& signal, std::uint64_t value);
  void add_wait(const Signal& signal, std::uint64_t value);
  void add_timestamp(const Signal& signal);

 private:
  std::unique_ptr<detail::CommandList> commands_;
};

// The commands that every queue has, returning Derived& for the chain.
template <class Derived>
class BasicQueue : public CommandQueue {
 public:
  // Raises `signal` to `value` once everything before is complete. See Signal::set.
  Derived& signal(const Signal& signal, std::uint64_t value) {
    add_signal(signal, value);
    return static_cast<Derived&>(*this);
  }
  Derived& signal(const Point& point) { return signal(point.signal, point.value); }
  // Halts this hardware queue until `signal` is at least `value`.
  Derived& wait(const Signal& signal, std::uint64_t value) {
    add_wait(signal, value);
    return static_cast<Derived&>(*this);
  }
  // An empty point is nothing to wait for.
  Derived& wait(const Point& point) {
    return point.signal ? wait(point.signal, point.value) : static_cast<Derived&>(*this);
  }
  // Stores the time at which everything before was complete in `signal`; its value is untouched.
  Derived& timestamp(const Signal& signal) {
    add_timestamp(signal);
    return static_cast<Derived&>(*this);
  }

 protected:
  using CommandQueue::CommandQueue;
};

class HALYARD_EXPORT ComputeQueue : public BasicQueue<ComputeQueue> {
 public:
  ComputeQueue() : BasicQueue(QueueType::kCompute) {}

  // Makes what the host and other devices wrote visible to the commands that follow.
  ComputeQueue& memory_barrier();

  // Runs global_size workgroups of `program`. `local_size` must be the program's. `args` must come
  // from `program` and is copied. Any zero in global_size runs nothing.
  ComputeQueue& exec(const Program& program, const ArgsState& args, Size3 global_size,
                     Size3 local_size);
};

class HALYARD_EXPORT CopyQueue : public BasicQueue<CopyQueue> {
 public:
  CopyQueue() : BasicQueue(QueueType::kCopy) {}

  // Copies `size` bytes. As memmove where the ranges overlap.
  CopyQueue& copy(const Buffer& target, const Buffer& source, std::uint64_t size);
};

}  // namespace halyard::inline v0::hcq
