// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/queue.h"

#include <limits>
#include <utility>

#include "base/format.h"
#include "hcq/command_list.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq {
namespace {

Status moved_from(const char* function) {
  return error(StatusCode::kFailedPrecondition, "queue: {} of one that was moved from", function);
}

// words[0] is a signal, words[1] its value.
void add(detail::CommandList& list, PacketKind kind, const SignalOperand& signal,
         const Operand& value, std::string_view what) {
  if (!signal.symbolic() && !signal.signal()) {
    return list.fail(error(StatusCode::kInvalidArgument, "queue: {} with an empty signal", what));
  }
  list.add({.kind = kind});
  list.set_signal(signal);
  list.set(1, value);
}

void change(detail::CommandList& list, PacketKind kind, std::size_t index, const Signal& signal,
            std::uint64_t value, std::string_view what) {
  detail::Command* command = list.find(index, kind, 0b11, what);
  if (command == nullptr) return;
  if (!signal) {
    return list.fail(error(StatusCode::kInvalidArgument, "queue: {} with an empty signal", what));
  }
  command->words[0] = word(signal.object());
  command->words[1] = value;
  command->keeps = Ref<RefCounted>(signal.object());
  list.note(index, 0);
  list.note(index, 1);
}

}  // namespace

CommandQueue::CommandQueue(QueueType type) : commands_(new detail::CommandList(type)) {}
CommandQueue::CommandQueue(CommandQueue&&) noexcept = default;
CommandQueue& CommandQueue::operator=(CommandQueue&&) noexcept = default;
CommandQueue::~CommandQueue() = default;

detail::CommandList& CommandQueue::commands() {
  if (!commands_) {
    commands_ = std::make_unique<detail::CommandList>(QueueType::kCompute);
    commands_->fail(moved_from("a command"));
  }
  return *commands_;
}

std::size_t CommandQueue::command_count() const noexcept {
  return commands_ ? commands_->commands.size() : 0;
}

Status CommandQueue::submit(Device& device) { return submit(device, 0, {}); }

Status CommandQueue::submit(Device& device, const SymbolTable& symbols) {
  return submit(device, symbols.id_, symbols.entries_);
}

Status CommandQueue::submit(Device& device, std::uint32_t table,
                            const std::vector<detail::SymbolEntry>& entries) {
  if (!commands_) return moved_from("submit");
  detail::CommandList& list = *commands_;
  HALYARD_RETURN_IF_ERROR(Status(list.status));
  if (list.commands.empty()) return {};
  HALYARD_RETURN_IF_ERROR(list.resolve(table, entries));
  if (list.bound_to != &device) return device.submit(list.type, list);
  if (!list.changed.empty() || list.all_changed) {
    if (list.bound->in_flight()) return device.submit(list.type, list);
    list.bound->update(list, 0, list.commands.size());
    list.changes_written();
  }
  return device.submit(list.type, *list.bound);
}

Status CommandQueue::bind(Device& device) {
  if (!commands_) return moved_from("bind");
  detail::CommandList& list = *commands_;
  HALYARD_RETURN_IF_ERROR(Status(list.status));
  HALYARD_ASSIGN_OR_RETURN(list.bound, device.bind(list));
  list.bound_to = &device;
  list.changes_written();
  return {};
}

Status CommandQueue::resolve(const SymbolTable& symbols) {
  return commands().resolve(symbols.id_, symbols.entries_);
}

void CommandQueue::set_profiling(bool on) noexcept { commands().profiled = on; }

std::vector<CommandTimes> CommandQueue::profile() const {
  std::vector<CommandTimes> result;
  if (!commands_ || !commands_->profile) return result;
  for (const auto& times : commands_->profile->times) {
    result.push_back({.command = times->command,
                      .name = times->name,
                      .begin = times->begin.load(std::memory_order_acquire),
                      .end = times->end.load(std::memory_order_acquire)});
  }
  return result;
}

void CommandQueue::add_signal(const SignalOperand& signal, const Operand& value) {
  add(commands(), PacketKind::kSignal, signal, value, "signal");
}

void CommandQueue::add_wait(const SignalOperand& signal, const Operand& value) {
  add(commands(), PacketKind::kWait, signal, value, "wait");
}

void CommandQueue::add_timestamp(const SignalOperand& signal) {
  add(commands(), PacketKind::kTimestamp, signal, 0, "timestamp");
}

void CommandQueue::add_custom(const CustomCommand& command, std::span<const Operand> words) {
  detail::CommandList& list = commands();
  if (command.run == nullptr || words.size() > kCallWords) {
    return list.fail(error(StatusCode::kInvalidArgument,
                           "queue: custom command '{}' with {}{}; it takes at most {}",
                           command.name, base::counted(words.size(), "word"),
                           command.run == nullptr ? " and no function" : "", kCallWords));
  }
  list.add({.kind = PacketKind::kCall}, command.name);
  list.set(0, word(command.run));
  std::uint8_t at = 1;
  for (const Operand& operand : words) list.set(at++, operand);
}

void CommandQueue::add_exec(const Program& program, const ArgsState& args,
                            const Size3Operand& global_size, Size3 local_size) {
  detail::CommandList& list = commands();
  const auto fail = [&](Status status) { list.fail(std::move(status)); };
  if (!program) return fail(error(StatusCode::kInvalidArgument, "queue: exec of an empty program"));
  if (!args.status().ok()) return fail(args.status());
  const ProgramInfo& info = program.object()->info();
  if (args.program_.get() != program.object()) {
    return fail(error(StatusCode::kInvalidArgument,
                      "queue: exec of '{}' with the arguments of another program", info.name));
  }
  if (local_size != info.local_size) {
    return fail(error(StatusCode::kInvalidArgument,
                      "queue: exec of '{}' with local size {}x{}x{}, the kernel has {}x{}x{}",
                      info.name, local_size.x, local_size.y, local_size.z, info.local_size.x,
                      info.local_size.y, info.local_size.z));
  }
  constexpr std::size_t kMostWords = std::numeric_limits<std::uint32_t>::max() / 2;
  if (list.args.size() + args.words_.size() > kMostWords) {
    return fail(error(StatusCode::kResourceExhausted,
                      "queue: {} words of kernel arguments; the most is {}",
                      list.args.size() + args.words_.size(), kMostWords));
  }
  detail::Command command{.kind = PacketKind::kExec};
  command.words[0] = reinterpret_cast<std::uintptr_t>(program.object()->kernel());
  command.keeps = args.program_;
  command.args_begin = static_cast<std::uint32_t>(list.args.size());
  command.args_count = static_cast<std::uint32_t>(args.words_.size());
  command.buffer_count = info.buffer_count;
  if (args.memory_ != nullptr) {
    command.words[1] = word(args.memory_);
    command.words[2] = word(args.memory_ + info.buffer_count);
  }
  list.add(std::move(command), info.name);
  list.set(3, global_size.x, 0, 32);
  list.set(3, global_size.y, 32, 32);
  list.set(4, global_size.z, 0, 32);
  for (const ArgsState::Patch& patch : args.patches_) {
    list.set_argument(patch.word, patch.operand, patch.shift, patch.width);
  }
  if (!list.status.ok()) return;
  list.add_args(args.words_);
  list.fail(detail::check_groups(list.commands.back().words[3], list.commands.back().words[4]));
}

void CommandQueue::add_copy(const BufferOperand& target, const BufferOperand& source,
                            std::uint64_t size) {
  detail::CommandList& list = commands();
  if (size > target.size || size > source.size) {
    list.fail(error(StatusCode::kOutOfRange, "queue: copy of {} from {} to {}",
                    base::counted(size, "byte"), source.size, base::counted(target.size, "byte")));
    return;
  }
  list.add({.kind = PacketKind::kCopy}, "copy");
  list.set(0, target.va_addr);
  list.set(1, source.va_addr);
  list.set(2, size);
}

void CommandQueue::add_bound(const CommandQueue& queue) {
  detail::Command command{.kind = PacketKind::kIndirect};
  command.words[0] = word(queue.commands_->bound.get());
  command.keeps = queue.commands_->bound;
  commands().add(std::move(command));
}

void CommandQueue::change_signal(std::size_t command, const Signal& signal, std::uint64_t value) {
  change(commands(), PacketKind::kSignal, command, signal, value, "update_signal");
}

void CommandQueue::change_wait(std::size_t command, const Signal& signal, std::uint64_t value) {
  change(commands(), PacketKind::kWait, command, signal, value, "update_wait");
}

void CommandQueue::change_custom(std::size_t index, std::initializer_list<std::uint64_t> words) {
  detail::CommandList& list = commands();
  detail::Command* command = list.find(index, PacketKind::kCall, 0b11110, "update_custom");
  if (command == nullptr) return;
  if (words.size() > kCallWords) {
    return list.fail(error(StatusCode::kInvalidArgument,
                           "queue: update_custom with {} words; it takes at most {}", words.size(),
                           kCallWords));
  }
  std::uint8_t at = 1;
  for (const std::uint64_t value : words) {
    command->words[at] = value;
    list.note(index, at++);
  }
}

ComputeQueue& ComputeQueue::memory_barrier() {
  commands().add({.kind = PacketKind::kBarrier});
  return *this;
}

ComputeQueue& ComputeQueue::update_exec(std::size_t index, Size3 global_size) {
  detail::CommandList& list = commands();
  detail::Command* command = list.find(index, PacketKind::kExec, 0b11000, "update_exec");
  if (command == nullptr) return *this;
  command->words[3] = global_size.x | std::uint64_t{global_size.y} << 32;
  command->words[4] = global_size.z;
  list.note(index, 3);
  list.note(index, 4);
  list.fail(detail::check_groups(command->words[3], command->words[4]));
  return *this;
}

ComputeQueue& ComputeQueue::update_exec(std::size_t index, const ArgsState& args,
                                        Size3 global_size) {
  detail::CommandList& list = commands();
  detail::Command* command =
      list.find(index, PacketKind::kExec, detail::Command::kSymbolicArgs, "update_exec");
  if (command == nullptr) return *this;
  if (!args.status().ok()) return list.fail(args.status()), *this;
  const bool other_form = args.words_.size() != command->args_count || !args.patches_.empty();
  if (args.program_ != command->keeps || other_form) {
    list.fail(error(StatusCode::kInvalidArgument,
                    "queue: update_exec of command {} with arguments of another {}", index,
                    other_form ? "form" : "program"));
    return *this;
  }
  if (args.memory_ != nullptr) {
    command->words[1] = word(args.memory_);
    command->words[2] = word(args.memory_ + command->buffer_count);
    list.note(index, 1);
    list.note(index, 2);
  }
  for (std::uint32_t i = 0; i < command->args_count; ++i) {
    if (std::exchange(list.args[command->args_begin + i], args.words_[i]) != args.words_[i]) {
      list.note({command->args_begin + i, detail::Place::kArgs});
    }
  }
  return update_exec(index, global_size);
}

CopyQueue& CopyQueue::update_copy(std::size_t index, const Buffer& target, const Buffer& source) {
  detail::CommandList& list = commands();
  detail::Command* command = list.find(index, PacketKind::kCopy, 0b11, "update_copy");
  if (command == nullptr) return *this;
  const std::uint64_t size = command->words[2];
  if (size > target.size || size > source.size) {
    list.fail(error(StatusCode::kOutOfRange, "queue: update_copy of {} from {} to {}",
                    base::counted(size, "byte"), source.size, base::counted(target.size, "byte")));
    return *this;
  }
  command->words[0] = target.va_addr;
  command->words[1] = source.va_addr;
  list.note(index, 0);
  list.note(index, 1);
  return *this;
}

}  // namespace halyard::inline v0::hcq
