// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::ComputeQueue and hcq::CopyQueue: lists of hardware commands, built in a chain and submitted.
//
//   ComputeQueue q;
//   q.wait(signal, 1).exec(program, args, {64, 1, 1}, program.local_size()).signal(signal, 2);
//   check(q.submit(device));
//
// Commands of one hardware queue run in order, each after the one before it is complete. A list may
// be submitted any number of times, and changed between submissions: by symbols (symbol.h), whose
// values come with the submission, or by update_...(), which names a command by its index. What was
// submitted before keeps what it was submitted with.
//
// A wrong argument sticks: submit() returns the first error. A list is used by one thread at a
// time; different threads may submit different lists to a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/status.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/program.h"
#include "halyard/hcq/signal.h"
#include "halyard/hcq/symbol.h"

namespace halyard::inline v0::hcq {

// A command of the user's own: `run` is called with four words when its turn comes, on a thread of
// the device. It must not block, throw or submit.
struct CustomCommand {
  std::string_view name;
  void (*run)(const std::uint64_t* words);
};

// When a profiled command ran, in nanoseconds of Clock::steady().
struct CommandTimes {
  std::size_t command;  // its index
  std::string name;     // the program's, the custom command's, or "copy"
  Nanoseconds begin;
  Nanoseconds end;  // at least begin; 0 while it has not run
};

class HALYARD_EXPORT CommandQueue {
 public:
  CommandQueue(CommandQueue&&) noexcept;
  CommandQueue& operator=(CommandQueue&&) noexcept;
  ~CommandQueue();

  // Also the index of the command that is added next. Submitting does not change it.
  std::size_t command_count() const noexcept;

  // Copies the commands to the device; never blocks. What does not fit its ring waits, in order, in
  // a backlog on the host. Nothing is queued on error: the list's own first error,
  // kInvalidArgument or kOutOfRange for a symbol's value, or kResourceExhausted when the backlog is
  // full or memory is.
  Status submit(Device& device);
  Status submit(Device& device, const SymbolTable& symbols);

  // Puts the commands where `device` can execute them without a copy: a submission to it is then
  // one entry of its ring and what has changed. (One that has changed while the one before it is
  // still in flight is copied, and so is one to another device.) No command can be added after it.
  // `device` must outlive the queue. kResourceExhausted; kUnimplemented where a device cannot.
  Status bind(Device& device);

  // From here on, the times of each kernel, copy and custom command that is added are kept: each
  // becomes three commands of the ring. What was added before stays as it is.
  void set_profiling(bool on) noexcept;
  // Of the last execution of each such command. Complete when the submission is; a submission that
  // follows before that writes over them. By the list's thread, also while a submission runs: of a
  // command that is just running, begin may be of this execution and end of the last.
  std::vector<CommandTimes> profile() const;

 protected:
  explicit CommandQueue(QueueType type);
  detail::CommandList& commands() noexcept { return *commands_; }
  Status resolve(const SymbolTable& symbols);
  void add_signal(const SignalOperand& signal, const Operand& value);
  void add_wait(const SignalOperand& signal, const Operand& value);
  void add_timestamp(const SignalOperand& signal);
  void add_custom(const CustomCommand& command, std::span<const Operand> words);
  void add_exec(const Program& program, const ArgsState& args, const Size3Operand& global_size,
                Size3 local_size);
  void add_copy(const BufferOperand& target, const BufferOperand& source, std::uint64_t size);
  // All commands of a bound queue, executed where they are.
  void add_bound(const CommandQueue& queue);
  void change_signal(std::size_t command, const Signal& signal, std::uint64_t value);
  void change_wait(std::size_t command, const Signal& signal, std::uint64_t value);
  void change_custom(std::size_t command, std::initializer_list<std::uint64_t> words);

 private:
  friend class Device;
  Status submit(Device& device, std::uint32_t table,
                const std::vector<detail::SymbolEntry>& entries);
  std::unique_ptr<detail::CommandList> commands_;
};

// The commands that every queue has, returning Derived& for the chain.
template <class Derived>
class BasicQueue : public CommandQueue {
 public:
  // Raises `signal` to `value` once everything before is complete. See Signal::set.
  Derived& signal(const SignalOperand& signal, const Operand& value) {
    return add_signal(signal, value), self();
  }
  Derived& signal(const Point& point) { return signal(point.signal, point.value); }
  // Halts this hardware queue until `signal` is at least `value`.
  Derived& wait(const SignalOperand& signal, const Operand& value) {
    return add_wait(signal, value), self();
  }
  // An empty point is nothing to wait for.
  Derived& wait(const Point& point) {
    return point.signal ? wait(point.signal, point.value) : self();
  }
  // Stores the time at which everything before was complete in `signal`; its value is untouched.
  Derived& timestamp(const SignalOperand& signal) { return add_timestamp(signal), self(); }
  // At most four words; those that are not given are 0.
  Derived& custom(const CustomCommand& command, std::initializer_list<Operand> words) {
    return add_custom(command, std::span(words.begin(), words.size())), self();
  }

  // Change the command at index `command`, which must be of that kind and have no symbol in what is
  // to change.
  Derived& update_signal(std::size_t command, const Signal& signal, std::uint64_t value) {
    return change_signal(command, signal, value), self();
  }
  Derived& update_wait(std::size_t command, const Signal& signal, std::uint64_t value) {
    return change_wait(command, signal, value), self();
  }
  Derived& update_custom(std::size_t command, std::initializer_list<std::uint64_t> words) {
    return change_custom(command, words), self();
  }

 protected:
  using CommandQueue::CommandQueue;

 private:
  Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

class HALYARD_EXPORT ComputeQueue : public BasicQueue<ComputeQueue> {
 public:
  ComputeQueue() : BasicQueue(QueueType::kCompute) {}

  // Makes what the host and other devices wrote visible to the commands that follow.
  ComputeQueue& memory_barrier();

  // Runs global_size workgroups of `program`. `local_size` must be the program's. `args` must come
  // from `program` and is copied. Any zero in global_size runs nothing.
  ComputeQueue& exec(const Program& program, const ArgsState& args, const Size3Operand& global_size,
                     Size3 local_size) {
    return add_exec(program, args, global_size, local_size), *this;
  }

  // As update_signal(). The arguments must be of the program that the command runs.
  ComputeQueue& update_exec(std::size_t command, Size3 global_size);
  ComputeQueue& update_exec(std::size_t command, const ArgsState& args, Size3 global_size);
};

class HALYARD_EXPORT CopyQueue : public BasicQueue<CopyQueue> {
 public:
  CopyQueue() : BasicQueue(QueueType::kCopy) {}

  // Copies `size` bytes. As memmove where the ranges overlap.
  CopyQueue& copy(const BufferOperand& target, const BufferOperand& source, std::uint64_t size) {
    return add_copy(target, source, size), *this;
  }

  // As update_signal(). The number of bytes stays; both buffers must have as many.
  CopyQueue& update_copy(std::size_t command, const Buffer& target, const Buffer& source);
};

}  // namespace halyard::inline v0::hcq
