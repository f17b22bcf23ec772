// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/encoded_list.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "base/format.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq {
namespace {

using detail::Command;
using detail::CommandKind;

// The role of a field in words; none if words do not have it.
std::optional<FieldRole> role_of(const Command& command, detail::Field field) noexcept {
  constexpr FieldRole kExec[] = {FieldRole::kGridX,    FieldRole::kGridY,  FieldRole::kGridZ,
                                 FieldRole::kLocalX,   FieldRole::kLocalY, FieldRole::kLocalZ,
                                 FieldRole::kArguments};
  constexpr FieldRole kCopy[] = {FieldRole::kTarget, FieldRole::kSource, FieldRole::kSize};
  switch (command.kind) {
    case CommandKind::kSignal:
    case CommandKind::kWait:
      if (field == detail::kValue) return FieldRole::kSignal;
      [[fallthrough]];
    case CommandKind::kTimestamp:
      if (field == detail::kObject) return FieldRole::kSignalAddress;
      return {};
    case CommandKind::kExec:
      // Arguments in a block of the list stay there.
      if (field == detail::kArguments && command.args_count != 0) return {};
      if (field < std::size(kExec)) return kExec[field];
      return {};
    case CommandKind::kCopy:
      if (field < std::size(kCopy)) return kCopy[field];
      return {};
    default:
      return {};
  }
}

}  // namespace

Result<Ref<EncodedList>> EncodedList::create(const detail::CommandList& list, QueueEncoder& encoder,
                                             std::unique_ptr<WordList::BlockMemory> memory) {
  auto owned = Ref<Memory>::adopt(new (std::nothrow) Memory(std::move(memory)));
  auto encoded = Ref<EncodedList>::adopt(
      owned ? new (std::nothrow) EncodedList(encoder, std::move(owned)) : nullptr);
  if (!encoded) return error(StatusCode::kResourceExhausted, "queue: no memory to bind it");
  HALYARD_RETURN_IF_ERROR(encoded->encode(list));
  if (list.profile) encoded->show_times(list);
  return encoded;
}

Status EncodedList::encode(const detail::CommandList& list) {
  for (const Command& command : list.commands) {
    if (command.kind == CommandKind::kBound) words_.end_segment();
    const auto segment = static_cast<std::uint32_t>(words_.segment_count() - 1);
    entries_.push_back({.segment = segment,
                        .word = static_cast<std::uint32_t>(words_.segment(segment).size()),
                        .first_place = static_cast<std::uint32_t>(words_.places().size()),
                        .keeps = command.object});
    words_.begin_command();
    HALYARD_RETURN_IF_ERROR(encode(list, command));
  }
  std::size_t next = 0;  // command
  const auto add_bound_before = [&](std::size_t segment) {
    for (; next < entries_.size() && entries_[next].segment <= segment; ++next) {
      if (list.commands[next].kind != CommandKind::kBound) continue;
      const auto& bound = static_cast<const EncodedList&>(*entries_[next].keeps);
      segments_.insert(segments_.end(), bound.segments_.begin(), bound.segments_.end());
    }
  };
  for (std::size_t i = 0; i < words_.segment_count(); ++i) {
    add_bound_before(i);
    const std::span<const std::uint32_t> words = words_.segment(i);
    if (words.empty()) break;  // nothing follows the last end_segment()
    HALYARD_ASSIGN_OR_RETURN(DeviceSpan span,
                             memory_->blocks->allocate(words.size_bytes(), detail::kArgsBlock));
    std::memcpy(span.host, words.data(), words.size_bytes());
    span.size = words.size_bytes();
    own_.push_back(span);
    segments_.push_back(span);
  }
  return {};
}

Status EncodedList::encode(const detail::CommandList& list, const Command& command) {
  if (command.kind == CommandKind::kBound) return {};
  if (command.kind == CommandKind::kRaw) {
    words_.words(std::span(list.raw).subspan(command.args_begin, command.args_count));
    return {};
  }
  std::uint64_t address = 0;
  if (command.kind != CommandKind::kExec) {
    address = command.object ? command.signal()->address() : 0;
  } else if (command.args_count == 0) {
    address = command.numbers[detail::kArguments];
  } else {
    HALYARD_ASSIGN_OR_RETURN(
        const DeviceSpan span,
        block(command.args_count * sizeof(std::uint64_t), encoder_.arguments_alignment()));
    std::memcpy(span.host, &list.args[command.args_begin],
                command.args_count * sizeof(std::uint64_t));
    arguments_.push_back({command.args_begin, span});
    address = span.address;
  }
  if (command.times == nullptr) return encoder_.encode(words_, command, address);
  HALYARD_ASSIGN_OR_RETURN(const DeviceSpan times,
                           block(sizeof(detail::Profile::Cells), alignof(detail::Profile::Cells)));
  times_.push_back(new (times.host) detail::Profile::Cells);
  HALYARD_RETURN_IF_ERROR(encoder_.encode_time(words_, times.address));
  HALYARD_RETURN_IF_ERROR(encoder_.encode(words_, command, address));
  return encoder_.encode_time(words_, times.address + offsetof(detail::Profile::Cells, end));
}

Result<DeviceSpan> EncodedList::block(std::size_t size, std::size_t alignment) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint32_t number, words_.block(size, alignment));
  return words_.block_span(number);
}

void EncodedList::update(const detail::CommandList& list, std::size_t begin,
                         std::size_t end) noexcept {
  const bool last = end == list.commands.size();
  if (list.all_changed) {
    for (std::size_t i = begin; i < end; ++i) {
      for (int field = 0; field <= detail::kObject; ++field) {
        write(list, i, static_cast<detail::Field>(field));
      }
    }
    for (std::uint32_t i = 0; last && i < list.args.size(); ++i) write_argument(list, i);
    return;
  }
  for (const detail::Place& place : list.changed) {
    if (place.field == detail::kArgs) {
      if (last) write_argument(list, place.index);
    } else if (place.index >= begin && place.index < end) {
      write(list, place.index, place.field);
    }
  }
}

void EncodedList::write(const detail::CommandList& list, std::size_t index,
                        detail::Field field) noexcept {
  const Command& command = list.commands[index];
  const std::optional<FieldRole> role = role_of(command, field);
  if (!role) return;
  Entry& entry = entries_[index];
  if (field == detail::kObject) entry.keeps = command.object;
  const std::uint64_t value =
      field == detail::kObject ? command.signal()->address() : command.numbers[field];
  const std::span<const FieldPlace> places = words_.places();
  const std::size_t end =
      index + 1 < entries_.size() ? entries_[index + 1].first_place : places.size();
  for (const FieldPlace& place : places.subspan(entry.first_place, end - entry.first_place)) {
    if (place.field.role != *role) continue;
    words_.write(place, place.field.value(value));
    if (!place.in_block) copy_out(place.part, place.offset, place.bytes);
  }
}

// Copies bytes of a segment to the device's memory.
void EncodedList::copy_out(std::size_t segment, std::size_t offset, std::size_t size) noexcept {
  const auto* words = reinterpret_cast<const std::byte*>(words_.segment(segment).data());
  std::memcpy(own_[segment].host + offset, words + offset, size);
}

void EncodedList::write_argument(const detail::CommandList& list, std::uint32_t index) noexcept {
  auto at = std::ranges::upper_bound(arguments_, index, {}, &Arguments::begin);
  if (at == arguments_.begin()) return;
  --at;
  const std::size_t offset = (index - at->begin) * sizeof(std::uint64_t);
  if (offset < at->block.size) {  // else it is only there to align the next command's
    std::memcpy(at->block.host + offset, &list.args[index], sizeof(std::uint64_t));
  }
}

void EncodedList::show_times(const detail::CommandList& list) const noexcept {
  for (std::size_t i = 0; i < times_.size(); ++i) {
    list.profile->times[i]->cells = times_[i];
    list.profile->times[i]->keeps = memory_;
  }
}

void EncodedList::set_end(std::size_t end) noexcept {
  for (std::size_t i = 0; i < own_.size(); ++i) copy_out(i, 0, own_[i].size);
  if (end == entries_.size()) return;
  std::size_t word = entries_[end].word;
  for (std::size_t i = entries_[end].segment; i < own_.size(); ++i, word = 0) {
    auto* words = reinterpret_cast<std::uint32_t*>(own_[i].host);
    encoder_.fill(std::span(words, own_[i].size / sizeof *words).subspan(word));
  }
}

}  // namespace halyard::inline v0::hcq
