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

template <class T>
std::uint64_t address(T* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

void add(detail::CommandList& list, detail::CommandKind kind, const SignalOperand& signal,
         const Operand& value, std::string_view what) {
  if (!signal.symbolic() && !signal.signal()) {
    return list.fail(error(StatusCode::kInvalidArgument, "queue: {} with an empty signal", what));
  }
  list.add({.kind = kind});
  list.set_signal(signal);
  if (kind != detail::CommandKind::kTimestamp) list.set(detail::kValue, value);
}

void change(detail::CommandList& list, detail::CommandKind kind, std::size_t index,
            const Signal& signal, std::uint64_t value, std::string_view what) {
  detail::Command* command =
      list.find(index, kind, detail::bits(detail::kObject, detail::kValue), what);
  if (command == nullptr) return;
  if (!signal) {
    return list.fail(error(StatusCode::kInvalidArgument, "queue: {} with an empty signal", what));
  }
  command->object = Ref<RefCounted>(signal.object());
  list.note(index, detail::kObject);
  list.change(index, detail::kValue, value);
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
  HALYARD_RETURN_IF_ERROR(resolve_symbols(device, table, entries));
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

Status CommandQueue::resolve(const Device& device, const SymbolTable& symbols) {
  return resolve_symbols(device, symbols.id_, symbols.entries_);
}

Status CommandQueue::resolve_symbols(const Device& device, std::uint32_t table,
                                     const std::vector<detail::SymbolEntry>& entries) {
  detail::CommandList& list = commands();
  HALYARD_RETURN_IF_ERROR(list.resolve(table, entries));
  return device.traits_.signal_bits == 64 ? Status()
                                          : list.check_values(device.traits_.signal_bits);
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
  add(commands(), detail::CommandKind::kSignal, signal, value, "signal");
}

void CommandQueue::add_wait(const SignalOperand& signal, const Operand& value) {
  add(commands(), detail::CommandKind::kWait, signal, value, "wait");
}

void CommandQueue::add_timestamp(const SignalOperand& signal) {
  add(commands(), detail::CommandKind::kTimestamp, signal, 0, "timestamp");
}

void CommandQueue::add_custom(const CustomCommand& command, std::span<const Operand> words) {
  detail::CommandList& list = commands();
  if (command.run == nullptr || words.size() > detail::kCustomWords) {
    return list.fail(error(StatusCode::kInvalidArgument,
                           "queue: custom command '{}' with {}{}; it takes at most {}",
                           command.name, base::counted(words.size(), "word"),
                           command.run == nullptr ? " and no function" : "", detail::kCustomWords));
  }
  list.add({.kind = detail::CommandKind::kCustom}, command.name);
  list.set(detail::kFunction, address(command.run));
  for (std::size_t i = 0; i < words.size(); ++i) list.set(detail::custom_word(i), words[i]);
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
  detail::Command command{.kind = detail::CommandKind::kExec};
  command.object = args.program_;
  command.args_begin = static_cast<std::uint32_t>(list.args.size());
  command.args_count = static_cast<std::uint32_t>(args.words_.size());
  command.buffer_count = info.buffer_count;
  command.numbers[detail::kArguments] = address(args.memory_);
  list.add(std::move(command), info.name);
  list.set(detail::kX, global_size.x, 32);
  list.set(detail::kY, global_size.y, 32);
  list.set(detail::kZ, global_size.z, 32);
  for (const ArgsState::Patch& patch : args.patches_) {
    list.set_argument(patch.word, patch.operand, patch.shift, patch.width);
  }
  if (!list.status.ok()) return;
  list.add_args(args.words_);
  list.fail(detail::check_groups(list.commands.back()));
}

void CommandQueue::add_copy(const BufferOperand& target, const BufferOperand& source,
                            std::uint64_t size) {
  detail::CommandList& list = commands();
  if (size > target.size || size > source.size) {
    list.fail(error(StatusCode::kOutOfRange, "queue: copy of {} from {} to {}",
                    base::counted(size, "byte"), source.size, base::counted(target.size, "byte")));
    return;
  }
  list.add({.kind = detail::CommandKind::kCopy}, "copy");
  list.set(detail::kTarget, target.va_addr);
  list.set(detail::kSource, source.va_addr);
  list.set(detail::kBytes, size);
}

void CommandQueue::add_bound(const CommandQueue& queue) {
  detail::Command command{.kind = detail::CommandKind::kBound};
  command.object = queue.commands_->bound;
  commands().add(std::move(command));
}

void CommandQueue::change_signal(std::size_t command, const Signal& signal, std::uint64_t value) {
  change(commands(), detail::CommandKind::kSignal, command, signal, value, "update_signal");
}

void CommandQueue::change_wait(std::size_t command, const Signal& signal, std::uint64_t value) {
  change(commands(), detail::CommandKind::kWait, command, signal, value, "update_wait");
}

void CommandQueue::change_custom(std::size_t index, std::initializer_list<std::uint64_t> words) {
  detail::CommandList& list = commands();
  constexpr unsigned kAllWords = detail::bits(detail::kNumbers) - detail::bits(detail::kWords);
  detail::Command* command =
      list.find(index, detail::CommandKind::kCustom, kAllWords, "update_custom");
  if (command == nullptr) return;
  if (words.size() > detail::kCustomWords) {
    return list.fail(error(StatusCode::kInvalidArgument,
                           "queue: update_custom with {} words; it takes at most {}", words.size(),
                           detail::kCustomWords));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    list.change(index, detail::custom_word(i), words.begin()[i]);
  }
}

ComputeQueue& ComputeQueue::memory_barrier() {
  commands().add({.kind = detail::CommandKind::kBarrier});
  return *this;
}

ComputeQueue& ComputeQueue::update_exec(std::size_t index, Size3 global_size) {
  detail::CommandList& list = commands();
  detail::Command* command =
      list.find(index, detail::CommandKind::kExec, detail::bits(detail::kX, detail::kY, detail::kZ),
                "update_exec");
  if (command == nullptr) return *this;
  list.change(index, detail::kX, global_size.x);
  list.change(index, detail::kY, global_size.y);
  list.change(index, detail::kZ, global_size.z);
  list.fail(detail::check_groups(*command));
  return *this;
}

ComputeQueue& ComputeQueue::update_exec(std::size_t index, const ArgsState& args,
                                        Size3 global_size) {
  detail::CommandList& list = commands();
  detail::Command* command =
      list.find(index, detail::CommandKind::kExec, detail::bits(detail::kArgs), "update_exec");
  if (command == nullptr) return *this;
  if (!args.status().ok()) return list.fail(args.status()), *this;
  const bool other_form = args.words_.size() != command->args_count || !args.patches_.empty();
  if (args.program_ != command->object || other_form) {
    list.fail(error(StatusCode::kInvalidArgument,
                    "queue: update_exec of command {} with arguments of another {}", index,
                    other_form ? "form" : "program"));
    return *this;
  }
  if (args.memory_ != nullptr) list.change(index, detail::kArguments, address(args.memory_));
  for (std::uint32_t i = 0; i < command->args_count; ++i) {
    if (std::exchange(list.args[command->args_begin + i], args.words_[i]) != args.words_[i]) {
      list.note({command->args_begin + i, detail::kArgs});
    }
  }
  return update_exec(index, global_size);
}

CopyQueue& CopyQueue::update_copy(std::size_t index, const Buffer& target, const Buffer& source) {
  detail::CommandList& list = commands();
  detail::Command* command =
      list.find(index, detail::CommandKind::kCopy, detail::bits(detail::kTarget, detail::kSource),
                "update_copy");
  if (command == nullptr) return *this;
  const std::uint64_t size = command->numbers[detail::kBytes];
  if (size > target.size || size > source.size) {
    list.fail(error(StatusCode::kOutOfRange, "queue: update_copy of {} from {} to {}",
                    base::counted(size, "byte"), source.size, base::counted(target.size, "byte")));
    return *this;
  }
  list.change(index, detail::kTarget, target.va_addr);
  list.change(index, detail::kSource, source.va_addr);
  return *this;
}

}  // namespace halyard::inline v0::hcq
