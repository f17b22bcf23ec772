// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/queue.h"

#include <limits>
#include <optional>
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

Status check_copy(std::uint64_t size, std::uint64_t target, std::uint64_t source,
                  std::string_view what) {
  if (size <= target && size <= source) return {};
  return error(StatusCode::kOutOfRange, "queue: {} of {} from {} to {}", what,
               base::counted(size, "byte"), source, base::counted(target, "byte"));
}

// Null or no value: it stays.
void change(detail::CommandList& list, detail::CommandKind kind, std::size_t index,
            const Signal* signal, std::optional<std::uint64_t> value, std::string_view what) {
  unsigned changed = signal == nullptr ? 0 : detail::bits(detail::kObject);
  if (value) changed |= detail::bits(detail::kValue);
  detail::Command* command = list.find(index, kind, changed, what);
  if (command == nullptr) return;
  if (signal != nullptr) {
    if (!*signal) {
      return list.fail(error(StatusCode::kInvalidArgument, "queue: {} with an empty signal", what));
    }
    command->object = Ref<RefCounted>(signal->object());
    list.note(index, detail::kObject);
  }
  if (value) list.change(index, detail::kValue, *value);
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
  const QueueType type = device.traits_.has_copy_queue ? list.type : QueueType::kCompute;
  if (list.bound_to != &device) return submit_copy(device, type);
  if (!list.changed.empty() || list.all_changed) {
    if (list.bound->in_flight()) return submit_copy(device, type);
    list.bound->update(list, 0, list.commands.size());
    list.changes_written();
  }
  if (list.profile && list.profile->shown != list.bound.get()) {
    list.bound->show_times(list);
    list.profile->shown = list.bound.get();
  }
  return device.submit(type, *list.bound);
}

Status CommandQueue::submit_copy(Device& device, QueueType type) {
  detail::CommandList& list = *commands_;
  if (list.profile) {
    for (const auto& times : list.profile->times) times->cells = &times->own;
    list.profile->shown = nullptr;
  }
  return device.submit(type, list);
}

Status CommandQueue::bind(Device& device) {
  if (!commands_) return moved_from("bind");
  detail::CommandList& list = *commands_;
  HALYARD_RETURN_IF_ERROR(Status(list.status));
  HALYARD_RETURN_IF_ERROR(check_device(device));
  HALYARD_ASSIGN_OR_RETURN(list.bound, device.bind(list));
  list.bound_to = &device;
  list.changes_written();
  return {};
}

Status CommandQueue::check_device(const Device& device) const {
  const DeviceTraits& traits = device.traits_;
  if (!commands_->target.empty() && commands_->target != traits.target) {
    return error(StatusCode::kInvalidArgument,
                 "queue: its kernels are for {}, the device is for {}", commands_->target,
                 traits.target);
  }
  if (!commands_->raw.empty() && !traits.takes_raw_words) {
    return error(StatusCode::kUnimplemented, "queue: raw words, which the device does not take");
  }
  return {};
}

Status CommandQueue::resolve(const Device& device, const SymbolTable& symbols) {
  return resolve_symbols(device, symbols.id_, symbols.entries_);
}

Status CommandQueue::resolve_symbols(const Device& device, std::uint32_t table,
                                     const std::vector<detail::SymbolEntry>& entries) {
  detail::CommandList& list = commands();
  // bind() has checked it, and no command was added since.
  if (list.bound_to != &device) HALYARD_RETURN_IF_ERROR(check_device(device));
  if (list.profile) list.profile->clock = device.traits_.clock;
  HALYARD_RETURN_IF_ERROR(list.resolve(table, entries));
  return device.traits_.signal_bits == 64 ? Status()
                                          : list.check_values(device.traits_.signal_bits);
}

void CommandQueue::set_profiling(bool on) noexcept { commands().profiled = on; }

std::vector<CommandTimes> CommandQueue::profile() const {
  std::vector<CommandTimes> result;
  if (!commands_ || !commands_->profile) return result;
  const DeviceClock& clock = commands_->profile->clock;
  for (const auto& times : commands_->profile->times) {
    result.push_back({.command = times->command,
                      .name = times->name,
                      .begin = clock.to_host(times->cells->begin.load(std::memory_order_acquire)),
                      .end = clock.to_host(times->cells->end.load(std::memory_order_acquire))});
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
  if (Status status = detail::check_local_size(info, local_size); !status.ok()) {
    return fail(std::move(status));
  }
  const std::string_view target = program.object()->image().target();
  if (!list.target.empty() && list.target != target) {
    return fail(error(StatusCode::kInvalidArgument,
                      "queue: '{}' is for {}, an earlier kernel for {}", info.name, target,
                      list.target));
  }
  list.target = target;
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
  list.set(detail::kLocalX, local_size.x);
  list.set(detail::kLocalY, local_size.y);
  list.set(detail::kLocalZ, local_size.z);
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
  if (Status status = check_copy(size, target.size, source.size, "copy"); !status.ok()) {
    return list.fail(std::move(status));
  }
  list.add({.kind = detail::CommandKind::kCopy}, "copy");
  list.set(detail::kTarget, target.va_addr);
  list.set(detail::kSource, source.va_addr);
  list.set(detail::kBytes, size);
  list.set(detail::kTargetSize, target.size);
  list.set(detail::kSourceSize, source.size);
}

void CommandQueue::add_raw(std::span<const std::uint32_t> words) {
  detail::CommandList& list = commands();
  list.add({.kind = detail::CommandKind::kRaw,
            .args_begin = static_cast<std::uint32_t>(list.raw.size()),
            .args_count = static_cast<std::uint32_t>(words.size())});
  list.raw.insert(list.raw.end(), words.begin(), words.end());
}

void CommandQueue::add_bound(const CommandQueue& queue) {
  detail::Command command{.kind = detail::CommandKind::kBound};
  command.object = queue.commands_->bound;
  commands().add(std::move(command));
}

void CommandQueue::change_signal(std::size_t command, const Signal* signal,
                                 std::optional<std::uint64_t> value) {
  change(commands(), detail::CommandKind::kSignal, command, signal, value, "update_signal");
}

void CommandQueue::change_wait(std::size_t command, const Signal* signal,
                               std::optional<std::uint64_t> value) {
  change(commands(), detail::CommandKind::kWait, command, signal, value, "update_wait");
}

void CommandQueue::change_copy(std::size_t index, std::optional<std::uint64_t> size,
                               const Buffer* target, const Buffer* source) {
  detail::CommandList& list = commands();
  unsigned changed = size ? detail::bits(detail::kBytes) : 0;
  if (target != nullptr) changed |= detail::bits(detail::kTarget);
  if (source != nullptr) changed |= detail::bits(detail::kSource);
  if (list.find(index, detail::CommandKind::kCopy, changed, "update_copy") == nullptr) return;
  std::uint64_t(&numbers)[detail::kNumbers] = list.commands[index].numbers;
  if (target != nullptr) {
    list.change(index, detail::kTarget, target->va_addr);
    numbers[detail::kTargetSize] = target->size;
  }
  if (source != nullptr) {
    list.change(index, detail::kSource, source->va_addr);
    numbers[detail::kSourceSize] = source->size;
  }
  if (size) list.change(index, detail::kBytes, *size);
  list.fail(check_copy(numbers[detail::kBytes], numbers[detail::kTargetSize],
                       numbers[detail::kSourceSize], "update_copy"));
}

void CommandQueue::change_timestamp(std::size_t command, const Signal& signal) {
  change(commands(), detail::CommandKind::kTimestamp, command, &signal, {}, "update_timestamp");
}

void CommandQueue::change_custom(std::size_t index, std::size_t first,
                                 std::span<const std::uint64_t> words) {
  detail::CommandList& list = commands();
  if (first > detail::kCustomWords || words.size() > detail::kCustomWords - first) {
    return list.fail(error(StatusCode::kInvalidArgument,
                           "queue: update_custom of {} from {} on; it takes at most {}",
                           base::counted(words.size(), "word"), first, detail::kCustomWords));
  }
  unsigned changed = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    changed |= detail::bits(detail::custom_word(first + i));
  }
  if (list.find(index, detail::CommandKind::kCustom, changed, "update_custom") == nullptr) return;
  for (std::size_t i = 0; i < words.size(); ++i) {
    list.change(index, detail::custom_word(first + i), words[i]);
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

ComputeQueue& ComputeQueue::update_exec(std::size_t index, Size3 global_size, Size3 local_size) {
  detail::CommandList& list = commands();
  detail::Command* command = list.find(index, detail::CommandKind::kExec, 0, "update_exec");
  if (command == nullptr) return *this;
  list.change(index, detail::kLocalX, local_size.x);
  list.change(index, detail::kLocalY, local_size.y);
  list.change(index, detail::kLocalZ, local_size.z);
  list.fail(detail::check_local_size(command->program().info(), local_size));
  return update_exec(index, global_size);
}

ComputeQueue& ComputeQueue::update_exec(std::size_t index, const ArgsState& args) {
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
  return *this;
}

}  // namespace halyard::inline v0::hcq
