// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/command_list.h"

#include <algorithm>

#include "base/format.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq::detail {
namespace {

constexpr std::uint64_t mask_of(unsigned width) noexcept {
  return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

// Arguments may be negative: their high bits are then those of the sign.
bool fits(std::uint64_t value, const Patch& patch) noexcept {
  const std::uint64_t mask = mask_of(patch.width);
  if (value <= mask) return true;
  const std::uint64_t sign = ~(mask >> 1);
  return patch.place.field == kArgs && (value & sign) == sign;
}

}  // namespace

void BoundList::show_times(const CommandList& list) const noexcept {
  for (const auto& times : list.profile->times) {
    times->cells = &times->own;
    times->keeps = {};
  }
}

void CommandList::add(Command command, std::string_view name) {
  if (bound) {
    return fail(error(StatusCode::kFailedPrecondition, "queue: a command after bind()"));
  }
  const bool works = command.kind == CommandKind::kExec || command.kind == CommandKind::kCopy ||
                     command.kind == CommandKind::kCustom;
  if (profiled && works) {
    if (!profile) profile = Ref<Profile>::adopt(new Profile);
    profile->times.push_back(std::make_unique<Profile::Times>());
    command.times = profile->times.back().get();
    command.times->command = commands.size();
    command.times->name = name;
  }
  steps += command.steps();
  commands.push_back(std::move(command));
}

void CommandList::add_args(const std::vector<std::uint64_t>& words) {
  args.insert(args.end(), words.begin(), words.end());
  args.resize((args.size() + kArgsBlockWords - 1) / kArgsBlockWords * kArgsBlockWords);
}

void CommandList::set(Field field, const Operand& operand, std::uint8_t width) {
  if (!status.ok()) return;
  Command& command = commands.back();
  if (!operand.symbolic()) {
    command.numbers[field] = operand.resolve() & mask_of(width);
    return;
  }
  command.symbolic |= static_cast<std::uint16_t>(bits(field));
  const auto index = static_cast<std::uint32_t>(commands.size() - 1);
  add_patch(operand.table(), {.symbol = operand.index(),
                              .operand = operand,
                              .place = {index, field},
                              .command = index,
                              .width = width});
}

void CommandList::set_signal(const SignalOperand& signal) {
  if (!status.ok()) return;
  Command& command = commands.back();
  if (!signal.symbolic()) {
    command.object = Ref<RefCounted>(signal.signal().object());
    return;
  }
  command.symbolic |= bits(kObject);
  const auto index = static_cast<std::uint32_t>(commands.size() - 1);
  add_patch(signal.table(),
            {.symbol = signal.index(), .place = {index, kObject}, .command = index});
}

void CommandList::set_argument(std::uint32_t word, const Operand& operand, std::uint8_t shift,
                               std::uint8_t width) {
  if (!status.ok()) return;
  const auto index = static_cast<std::uint32_t>(commands.size() - 1);
  commands.back().symbolic |= bits(kArgs);
  add_patch(operand.table(), {.symbol = operand.index(),
                              .operand = operand,
                              .place = {commands.back().args_begin + word, kArgs},
                              .command = index,
                              .shift = shift,
                              .width = width});
}

void CommandList::add_patch(std::uint32_t table, const Patch& patch) {
  if (table_ != 0 && table_ != table) {
    return fail(error(StatusCode::kInvalidArgument, "queue: symbols of two tables"));
  }
  table_ = table;
  patches_.push_back(patch);
  uses_.clear();
}

Command* CommandList::find(std::size_t index, CommandKind kind, unsigned fields,
                           std::string_view what) {
  if (index >= commands.size()) {
    fail(error(StatusCode::kOutOfRange, "queue: {} of command {} of {}", what, index,
               commands.size()));
    return nullptr;
  }
  Command& command = commands[index];
  if (command.kind != kind) {
    fail(error(StatusCode::kInvalidArgument, "queue: {} of command {}, which is of another kind",
               what, index));
    return nullptr;
  }
  if ((command.symbolic & fields) != 0) {
    fail(error(StatusCode::kFailedPrecondition, "queue: {} of command {}, which a symbol fills",
               what, index));
    return nullptr;
  }
  return &command;
}

void CommandList::note(Place place) {
  if (!bound || all_changed) return;
  // Bounds `changed`: repeated changes that cannot be written yet do not accumulate.
  all_changed = changed.size() == (kNumbers + 1) * commands.size() + args.size();
  if (!all_changed) changed.push_back(place);
}

void CommandList::sort_patches() {
  std::ranges::sort(patches_, {}, &Patch::symbol);
  for (std::uint32_t i = 0; i < patches_.size(); ++i) {
    if (uses_.empty() || uses_.back().symbol != patches_[i].symbol) {
      uses_.push_back({.symbol = patches_[i].symbol, .end = i});
    }
    ++uses_.back().end;
  }
}

Status CommandList::resolve(std::uint32_t table, const std::vector<SymbolEntry>& entries) {
  if (patches_.empty()) return {};
  if (table != table_) {
    return error(StatusCode::kInvalidArgument, "queue: it has symbols, {} given",
                 table == 0 ? "their values were not" : "those of another table were");
  }
  if (uses_.empty()) sort_patches();
  std::uint32_t begin = 0;
  for (Use& use : uses_) {
    const SymbolEntry& entry = entries[use.symbol];
    if (!use.known || use.value != entry.value) {
      use.known = false;
      for (std::uint32_t i = begin; i < use.end; ++i) {
        HALYARD_RETURN_IF_ERROR(apply(patches_[i], entry));
      }
      use.known = true;
      use.value = entry.value;
    }
    begin = use.end;
  }
  return {};
}

Status CommandList::apply(const Patch& patch, const SymbolEntry& entry) {
  Command& command = commands[patch.command];
  if (patch.place.field == kObject) {
    if (!entry.signal) {
      return error(StatusCode::kInvalidArgument, "queue: command {} has an empty signal",
                   patch.command);
    }
    command.object = Ref<RefCounted>(entry.signal.object());
    return note(patch.place), Status();
  }
  const std::uint64_t value = patch.operand.resolve(entry.value);
  if (!fits(value, patch)) {
    return error(StatusCode::kOutOfRange, "queue: {} does not fit the {} bits of command {}",
                 base::number(value), patch.width, patch.command);
  }
  std::uint64_t& word =
      patch.place.field == kArgs ? args[patch.place.index] : command.numbers[patch.place.field];
  const std::uint64_t mask = mask_of(patch.width) << patch.shift;
  const std::uint64_t before =
      std::exchange(word, (word & ~mask) | ((value << patch.shift) & mask));
  if (word != before) note(patch.place);
  if (command.kind == CommandKind::kExec && patch.place.field != kArgs) {
    return check_groups(command);
  }
  return {};
}

Status check_local_size(const ProgramInfo& info, Size3 local_size) {
  const auto [x, y, z] = local_size;
  const Size3& own = info.local_size;
  if (info.max_local_size == 0) {
    if (local_size == own) return {};
    return error(StatusCode::kInvalidArgument,
                 "queue: exec of '{}' with local size {}x{}x{}, the kernel has {}x{}x{}", info.name,
                 x, y, z, own.x, own.y, own.z);
  }
  std::uint64_t total = std::uint64_t{x} * y;
  const bool fits = !__builtin_mul_overflow(total, z, &total) && total <= info.max_local_size;
  if (fits && total != 0) return {};
  return error(StatusCode::kInvalidArgument,
               "queue: exec of '{}' with local size {}x{}x{}; it takes 1 to {} work-items",
               info.name, x, y, z, info.max_local_size);
}

Status CommandList::check_values(unsigned bits) const {
  for (const Command& command : commands) {
    const bool signals = command.kind == CommandKind::kSignal;
    if (!signals && command.kind != CommandKind::kWait) continue;
    if (command.numbers[kValue] <= mask_of(bits)) continue;
    return error(StatusCode::kOutOfRange, "queue: {} {} is beyond this device's {} bits",
                 signals ? "signal of" : "wait for", base::number(command.numbers[kValue]), bits);
  }
  return {};
}

Status check_groups(const Command& exec) {
  // Each of them has at most 32 bits.
  const std::uint64_t x = exec.numbers[kX], y = exec.numbers[kY], z = exec.numbers[kZ];
  std::uint64_t total;
  if (!__builtin_mul_overflow(x * y, z, &total)) return {};
  return error(StatusCode::kInvalidArgument, "queue: exec of {}x{}x{} workgroups", x, y, z);
}

}  // namespace halyard::inline v0::hcq::detail
