// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::ComputeQueue and hcq::CopyQueue: lists of hardware commands, built in a chain and submitted.
//
//   ComputeQueue q;
//   q.wait(signal, 1).exec(program, args, {64, 1, 1}, program.local_size()).signal(signal, 2);
//   check(q.submit(device));
//
// Commands of a hardware queue run in order, each after the previous command is complete. A list
// may be submitted any number of times. Two means change it between submissions: symbols
// (symbol.h), whose values come with the submission, and update_...(), which names a command by its
// index. A change does not affect earlier submissions.
//
// submit() returns the error of the first wrong argument. One thread at a time uses a list;
// different threads may submit different lists to a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
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

// A user-defined command. A thread of the device calls `run` with four words when all earlier
// commands of the queue are complete. It must not block, throw or submit.
struct CustomCommand {
  std::string_view name;
  void (*run)(const std::uint64_t* words);
};

// When a profiled command ran, in nanoseconds of Clock::steady().
struct CommandTimes {
  std::size_t command;  // its index
  std::string name;     // the program's, the custom command's, or "copy"
  Nanoseconds begin;
  Nanoseconds end;  // at least begin; 0 until it has run
};

class HALYARD_EXPORT CommandQueue {
 public:
  // A moved-from queue ignores commands; submit() and bind() return kFailedPrecondition.
  CommandQueue(CommandQueue&&) noexcept;
  CommandQueue& operator=(CommandQueue&&) noexcept;
  ~CommandQueue();

  // Number of commands, and so the index of the next one. Submitting does not change it.
  std::size_t command_count() const noexcept;

  // Copies the commands to the device; never blocks. Commands that do not fit the device's ring
  // wait, in order, in a backlog on the host. Queues nothing on error:
  //   the list's own first error
  //   kInvalidArgument    a symbol's value is wrong
  //   kInvalidArgument    a program for another target than the device's
  //   kOutOfRange         a symbol's value is too large, or a signal's for the device
  //   kUnimplemented      raw words on a device that does not take them
  //   kResourceExhausted  the backlog is full, or memory is exhausted
  Status submit(Device& device);
  Status submit(Device& device, const SymbolTable& symbols);

  // Places the commands where `device` executes them without a copy: a submission to it then writes
  // one entry of the ring and the words that have changed. A submission is still copied if it
  // changes words while the previous one is in flight, or if it goes to another device. No command
  // can be added afterwards. `device` must outlive the queue. Errors: as submit(); kUnimplemented
  // if the device does not support it.
  Status bind(Device& device);

  // Switches profiling on or off for the kernels, copies and custom commands that are added later.
  // A profiled command takes three commands of the ring.
  void set_profiling(bool on) noexcept;
  // Times of the last execution of each profiled command; complete when the submission is. A later
  // submission overwrites them. Call it on the list's thread, even while a submission runs: for the
  // running command, begin may be of this execution and end of the previous execution.
  std::vector<CommandTimes> profile() const;

 protected:
  explicit CommandQueue(QueueType type);
  detail::CommandList& commands();
  Status resolve(const Device& device, const SymbolTable& symbols);
  void add_signal(const SignalOperand& signal, const Operand& value);
  void add_wait(const SignalOperand& signal, const Operand& value);
  void add_timestamp(const SignalOperand& signal);
  void add_custom(const CustomCommand& command, std::span<const Operand> words);
  void add_exec(const Program& program, const ArgsState& args, const Size3Operand& global_size,
                Size3 local_size);
  void add_raw(std::span<const std::uint32_t> words);
  void add_copy(const BufferOperand& target, const BufferOperand& source, std::uint64_t size);
  // Adds all commands of a bound queue, executed in place.
  void add_bound(const CommandQueue& queue);
  // Null or no value: the field stays.
  void change_signal(std::size_t command, const Signal* signal, std::optional<std::uint64_t> value);
  void change_wait(std::size_t command, const Signal* signal, std::optional<std::uint64_t> value);
  void change_timestamp(std::size_t command, const Signal& signal);
  void change_copy(std::size_t command, std::optional<std::uint64_t> size, const Buffer* target,
                   const Buffer* source);
  void change_custom(std::size_t command, std::size_t first, std::span<const std::uint64_t> words);

 private:
  friend class Device;
  Status check_device(const Device& device) const;
  Status resolve_symbols(const Device& device, std::uint32_t table,
                         const std::vector<detail::SymbolEntry>& entries);
  Status submit_copy(Device& device, QueueType type);
  Status submit(Device& device, std::uint32_t table,
                const std::vector<detail::SymbolEntry>& entries);
  std::unique_ptr<detail::CommandList> commands_;
};

// The commands of both kinds of queue. They return Derived& for the chain.
template <class Derived>
class BasicQueue : public CommandQueue {
 public:
  // Raises `signal` to `value` once all earlier commands are complete. See Signal::set.
  Derived& signal(const SignalOperand& signal, const Operand& value) {
    return add_signal(signal, value), self();
  }
  Derived& signal(const Point& point) { return signal(point.signal, point.value); }
  // Halts this hardware queue until `signal` is at least `value`.
  Derived& wait(const SignalOperand& signal, const Operand& value) {
    return add_wait(signal, value), self();
  }
  // An empty point adds no wait.
  Derived& wait(const Point& point) {
    return point.signal ? wait(point.signal, point.value) : self();
  }
  // Stores the time at which all earlier commands were complete in `signal`; keeps its value.
  Derived& timestamp(const SignalOperand& signal) { return add_timestamp(signal), self(); }
  // Takes at most four words; missing ones are 0.
  Derived& custom(const CustomCommand& command, std::initializer_list<Operand> words) {
    return add_custom(command, std::span(words.begin(), words.size())), self();
  }
  // Words that the hardware executes as they are, at this place of the queue. It checks nothing.
  Derived& raw(std::span<const std::uint32_t> words) { return add_raw(words), self(); }

  // Changes the named parts of the command at index `command`; the others stay. The command must be
  // of that kind, and a changed part must not contain a symbol.
  Derived& update_signal(std::size_t command, const Signal& signal, std::uint64_t value) {
    return change_signal(command, &signal, value), self();
  }
  Derived& update_signal(std::size_t command, const Signal& signal) {
    return change_signal(command, &signal, {}), self();
  }
  Derived& update_signal(std::size_t command, std::uint64_t value) {
    return change_signal(command, nullptr, value), self();
  }
  Derived& update_wait(std::size_t command, const Signal& signal, std::uint64_t value) {
    return change_wait(command, &signal, value), self();
  }
  Derived& update_wait(std::size_t command, const Signal& signal) {
    return change_wait(command, &signal, {}), self();
  }
  Derived& update_wait(std::size_t command, std::uint64_t value) {
    return change_wait(command, nullptr, value), self();
  }
  Derived& update_timestamp(std::size_t command, const Signal& signal) {
    return change_timestamp(command, signal), self();
  }
  Derived& update_custom(std::size_t command, std::initializer_list<std::uint64_t> words) {
    return change_custom(command, 0, std::span(words.begin(), words.size())), self();
  }
  // One of the four words.
  Derived& update_custom_word(std::size_t command, std::size_t index, std::uint64_t word) {
    return change_custom(command, index, std::span(&word, 1)), self();
  }

 protected:
  using CommandQueue::CommandQueue;

 private:
  Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

class HALYARD_EXPORT ComputeQueue : public BasicQueue<ComputeQueue> {
 public:
  ComputeQueue() : BasicQueue(QueueType::kCompute) {}

  // Makes earlier writes of the host and of other devices visible to the following commands.
  ComputeQueue& memory_barrier();

  // Runs global_size workgroups of `program`, each of local_size work-items: the program's, unless
  // it has ProgramInfo::max_local_size. `args` must come from `program` and is copied. If a part of
  // global_size is zero nothing runs.
  ComputeQueue& exec(const Program& program, const ArgsState& args, const Size3Operand& global_size,
                     Size3 local_size) {
    return add_exec(program, args, global_size, local_size), *this;
  }

  // As update_signal(). The arguments must belong to the program that the command runs.
  ComputeQueue& update_exec(std::size_t command, Size3 global_size);
  ComputeQueue& update_exec(std::size_t command, Size3 global_size, Size3 local_size);
  ComputeQueue& update_exec(std::size_t command, const ArgsState& args);
  ComputeQueue& update_exec(std::size_t command, const ArgsState& args, Size3 global_size) {
    return update_exec(command, args).update_exec(command, global_size);
  }
};

class HALYARD_EXPORT CopyQueue : public BasicQueue<CopyQueue> {
 public:
  CopyQueue() : BasicQueue(QueueType::kCopy) {}

  // Copies `size` bytes; like memmove if the ranges overlap.
  CopyQueue& copy(const BufferOperand& target, const BufferOperand& source, std::uint64_t size) {
    return add_copy(target, source, size), *this;
  }

  // As update_signal(). Both buffers must be as large as the copy.
  CopyQueue& update_copy(std::size_t command, const Buffer& target, const Buffer& source) {
    return change_copy(command, {}, &target, &source), *this;
  }
  CopyQueue& update_copy_target(std::size_t command, const Buffer& target) {
    return change_copy(command, {}, &target, nullptr), *this;
  }
  CopyQueue& update_copy_source(std::size_t command, const Buffer& source) {
    return change_copy(command, {}, nullptr, &source), *this;
  }
  CopyQueue& update_copy_size(std::size_t command, std::uint64_t size) {
    return change_copy(command, size, nullptr, nullptr), *this;
  }
};

}  // namespace halyard::inline v0::hcq
