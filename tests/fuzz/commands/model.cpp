// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model.h"

#include <algorithm>
#include <cstring>

#include "halyard/hal/command_buffer.h"

namespace halyard::fuzz {
namespace {

constexpr std::uint64_t kElement = 4;      // bytes; every binding is of uint
constexpr std::uint64_t kCountBytes = 12;  // of an indirect dispatch
constexpr std::uint64_t kGroupItems = 16;
constexpr std::uint64_t kMostGroups = 4096;  // that a program runs

using enum StatusCode;

// Resolves a slot with this table.
Place bound(const Place& place, std::span<const Place> table) {
  if (!place.is_slot) return place;
  const Place& entry = table[place.index];
  const std::uint64_t length =
      place.length == hal::kWholeSize ? entry.length - place.offset : place.length;
  return {false, entry.index, entry.offset + place.offset, length};
}

bool ranges_overlap(const Place& a, const Place& b) {
  if (a.length == 0 || b.length == 0) return false;
  return a.offset < b.offset ? b.offset - a.offset < a.length : a.offset - b.offset < b.length;
}

// True if no memory is that large.
bool overflows(const Place& slot) {
  return slot.length != hal::kWholeSize && slot.length > ~slot.offset;
}

// For two places in the same memory or slot, with known lengths.
bool copy_overlaps(const Place& a, const Place& b) {
  return a.is_slot == b.is_slot && a.index == b.index && ranges_overlap(a, b);
}

}  // namespace

std::string Codes::to_string() const {
  if (none()) return "Ok";
  std::string text;
  for (int code = 0; bits_ >> code != 0; ++code) {
    if ((bits_ >> code & 1) == 0) continue;
    text.append(text.empty() ? "" : ", ").append(halyard::to_string(static_cast<StatusCode>(code)));
  }
  return text;
}

bool same(const SetLayout& a, const SetLayout& b) {
  return std::ranges::equal(a, b, [](const Binding& x, const Binding& y) {
    return x.number == y.number && x.access == y.access;
  });
}

bool overlap(const Place& a, const Place& b) {
  return a.is_slot || b.is_slot || (a.index == b.index && ranges_overlap(a, b));
}

Codes Model::resolve(const Ref& ref, Place& place) const {
  if (ref.is_slot) {
    place = {true, ref.index, ref.offset, ref.length};
    Codes codes;
    codes.add_if(ref.index >= hal::kMaxSlots || overflows(place), kOutOfRange);
    return codes;
  }
  const Buffer& buffer = buffers[ref.index];
  if (buffer.kind == Buffer::Kind::kEmpty) return kInvalidArgument;
  Codes codes;
  codes.add_if(buffer.kind == Buffer::Kind::kForeign, kPermissionDenied);
  codes.add_if(buffer.kind == Buffer::Kind::kGood && memories[buffer.memory].deallocated,
               kFailedPrecondition);
  codes.add_if(ref.offset > buffer.size ||
                   (ref.length != hal::kWholeSize && ref.length > buffer.size - ref.offset),
               kOutOfRange);
  const std::uint64_t length =
      ref.length == hal::kWholeSize ? buffer.size - ref.offset : ref.length;
  place = {false, buffer.memory, buffer.offset + ref.offset, length};
  return codes;
}

Codes Model::fill(const Ref& target, Command& command) const {
  command.kind = Command::Kind::kFill;
  Place& place = command.places.emplace_back();
  Codes codes = resolve(target, place);
  const std::uint64_t size = command.pattern_size;
  if (size != 1 && size != 2 && size != 4) return codes |= kInvalidArgument;
  codes.add_if(place.offset % size != 0, kInvalidArgument);
  codes.add_if(place.length != hal::kWholeSize && place.length % size != 0, kInvalidArgument);
  return codes;
}

Codes Model::update(const Ref& target, Command& command) const {
  command.kind = Command::Kind::kUpdate;
  Ref exact = target;
  if (exact.length == hal::kWholeSize) exact.length = command.data.size();
  Codes codes = resolve(exact, command.places.emplace_back());
  codes.add_if(exact.length != command.data.size(), kInvalidArgument);
  return codes;
}

Codes Model::copy(const Ref& source, const Ref& target, Command& command) const {
  command.kind = Command::Kind::kCopy;
  command.places.resize(2);
  Place& to = command.places[0];
  Place& from = command.places[1];
  Codes codes = resolve(source, from);
  codes |= resolve(target, to);
  if (!codes.none()) return codes |= kInvalidArgument;  // lengths may differ, or be unknown
  if (from.length == hal::kWholeSize) from.length = to.length;
  if (to.length == hal::kWholeSize) to.length = from.length;
  codes.add_if(
      from.length != to.length || from.length == hal::kWholeSize || copy_overlaps(from, to),
      kInvalidArgument);
  codes.add_if(overflows(from) || overflows(to), kOutOfRange);
  return codes;
}

Codes Model::bindings(std::span<const Ref> refs, Command& command) const {
  command.kind = Command::Kind::kDispatch;
  const bool mix = command.kernel == KernelKind::kMix;
  Codes codes;
  codes.add_if(refs.size() != (mix ? 3 : 1), kInvalidArgument);
  for (const Ref& ref : refs) {
    Place& place = command.places.emplace_back();
    codes |= resolve(ref, place);
    codes.add_if(place.offset % kElement != 0, kInvalidArgument);
  }
  if (mix && codes.none())
    std::rotate(command.places.begin(), command.places.begin() + 2, command.places.end());
  return codes;
}

Codes Model::counts(const Ref& ref, Command& command) const {
  Place place;
  Codes codes = resolve(ref, place);
  codes.add_if(place.offset % sizeof(std::uint32_t) != 0, kInvalidArgument);
  codes.add_if(place.length < kCountBytes, kOutOfRange);
  place.length = kCountBytes;
  codes.add_if(place.is_slot && overflows(place), kOutOfRange);
  command.counts = place;
  return codes;
}

Codes Model::set(const SetLayout& layout, const Descriptors& descriptors,
                 std::vector<Ref>& refs) const {
  Codes codes;
  for (const Binding& binding : layout) {
    const auto given = [&](const auto& descriptor) { return descriptor.first == binding.number; };
    codes.add_if(std::ranges::count_if(descriptors, given) != 1, kInvalidArgument);
    const auto first = std::ranges::find_if(descriptors, given);
    if (first != descriptors.end()) refs.push_back(first->second);
  }
  for (const auto& [number, ref] : descriptors) {
    codes.add_if(std::ranges::find(layout, number, &Binding::number) == layout.end(),
                 kInvalidArgument);
    Place place;
    codes |= resolve(ref, place);
  }
  return codes;
}

Codes resolve_grid(const hal::Grid& grid, const std::uint32_t (&most)[3], Command& command) {
  if (grid.items.given == grid.groups.given) return kInvalidArgument;
  const hal::Grid::Extent& extent = grid.items.given ? grid.items : grid.groups;
  const std::uint64_t per_group = grid.items.given ? kGroupItems : 1;
  command.groups = {extent.x / per_group + (extent.x % per_group != 0), extent.y, extent.z};
  Codes codes;
  for (int i = 0; i < 3; ++i) codes.add_if(command.groups[i] > most[i], kOutOfRange);
  return codes;
}

bool Model::run(const Command& command, std::span<const Place> table,
                std::span<const std::uint32_t> numbers) {
  std::vector<Place> places = command.places;
  for (Place& place : places) place = bound(place, table);
  const auto bytes = [&](const Place& place) {
    return memories[place.index].bytes.data() + place.offset;
  };
  const Place& target = places[0];
  switch (command.kind) {
    case Command::Kind::kFill:
      for (std::uint64_t i = 0; i < target.length; ++i) {
        bytes(target)[i] =
            static_cast<std::uint8_t>(command.pattern >> 8 * (i % command.pattern_size));
      }
      return true;
    case Command::Kind::kUpdate:
      if (!command.data.empty()) {
        std::memcpy(bytes(target), command.data.data(), command.data.size());
      }
      return true;
    case Command::Kind::kCopy:
      if (target.length != 0) std::memmove(bytes(target), bytes(places[1]), target.length);
      return true;
    case Command::Kind::kDispatch:
      break;
  }

  std::array<std::uint64_t, 3> groups = command.groups;
  if (command.counts) {
    std::uint32_t read[3];
    std::memcpy(read, bytes(bound(*command.counts, table)), sizeof read);
    groups = {read[0], read[1], read[2]};
  }
  if (std::ranges::count(groups, 0u) != 0) return true;
  std::uint64_t total = 1;
  for (const std::uint64_t count : groups) {
    if (count > kMostGroups || (total *= count) > kMostGroups) return false;
  }
  const std::uint32_t amount = command.amount_slot ? numbers[*command.amount_slot] : command.amount;
  const std::uint32_t n = command.n_slot ? numbers[*command.n_slot] : command.n;
  const std::uint64_t items = std::min<std::uint64_t>(n, groups[0] * kGroupItems);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (items * kElement > places[i].length) return false;
    places[i].length = items * kElement;
    if (i != 0 && overlap(places[0], places[i])) return false;
  }
  const auto element = [&](std::size_t binding, std::uint64_t i) {
    std::uint32_t value;
    std::memcpy(&value, bytes(places[binding]) + i * kElement, sizeof value);
    return value;
  };
  for (std::uint64_t i = 0; i < items; ++i) {
    const std::uint32_t value = command.kernel == KernelKind::kAddEach
                                    ? element(0, i) + amount
                                    : 3 * element(1, i) + element(2, i);
    std::memcpy(bytes(target) + i * kElement, &value, sizeof value);
  }
  return true;
}

std::span<const Binding> bindings_of(KernelKind kernel) {
  using enum kernel::Access;
  static constexpr Binding kAddEach[] = {{0, kReadWrite}};
  static constexpr Binding kMix[] = {{0, kRead}, {1, kRead}, {2, kWrite}};
  if (kernel == KernelKind::kMix) return kMix;
  return kAddEach;
}

// The header: "until one of these calls comes with a layout that differs from this one in this set
// or one below", "with another size of them".
void Bound::follow(const Layout& layout) {
  std::erase_if(sets_, [&](const auto& entry) {
    const std::vector<SetLayout>& under = entry.second.under;
    return layout.sets.size() < under.size() ||
           !std::ranges::equal(under, std::span(layout.sets).first(under.size()), same);
  });
  if (layout_ && layout_->push_size != layout.push_size) pushed_.clear();
  layout_ = layout;
}

void Bound::bind(const Layout& layout, std::size_t set, std::vector<Ref> refs) {
  follow(layout);
  const auto begin = layout.sets.begin();
  sets_[set] = {{begin, begin + static_cast<std::ptrdiff_t>(set) + 1}, std::move(refs)};
}

void Bound::push(const Layout& layout, std::size_t offset, std::span<const std::uint8_t> bytes) {
  follow(layout);
  for (std::size_t i = 0; i < bytes.size(); ++i) pushed_[offset + i] = bytes[i];
}

Codes Bound::use(KernelKind kernel, std::vector<Ref>& refs, Command& command) const {
  if (!layout_) return kFailedPrecondition;
  Codes codes;
  const std::span<const Binding> wanted = bindings_of(kernel);
  std::size_t count = 0;
  for (std::size_t i = 0; i < layout_->sets.size(); ++i) {
    const auto set = sets_.find(i);
    codes.add_if(set == sets_.end() && !layout_->sets[i].empty(), kFailedPrecondition);
    for (std::size_t b = 0; b < layout_->sets[i].size(); ++b, ++count) {
      if (set != sets_.end()) refs.push_back(set->second.refs[b]);
      const kernel::Access access = layout_->sets[i][b].access;
      codes.add_if(count < wanted.size() && access != kernel::Access::kReadWrite &&
                       access != wanted[count].access,
                   kPermissionDenied);
    }
  }
  codes.add_if(count != wanted.size(), kInvalidArgument);
  // amount and n, or n.
  const std::size_t size = kernel == KernelKind::kMix ? 4 : 8;
  codes.add_if(layout_->push_size < size, kInvalidArgument);
  std::uint8_t constants[8] = {};
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = pushed_.find(i);
    codes.add_if(byte == pushed_.end(), kFailedPrecondition);
    if (byte != pushed_.end()) constants[i] = byte->second;
  }
  std::memcpy(&command.amount, constants, 4);
  std::memcpy(&command.n, constants + size - 4, 4);
  return codes;
}

void Recording::need(const Place& place, std::uint64_t alignment, std::uint64_t length_multiple) {
  if (!place.is_slot) return;
  const bool to_the_end = place.length == hal::kWholeSize;
  if (slots.size() <= place.index) slots.resize(place.index + 1);
  SlotNeed& need = slots[place.index];
  need.used = true;
  need.extent = std::max(need.extent, place.offset + (to_the_end ? 0 : place.length));
  need.alignment = std::max(need.alignment, alignment);
  if (to_the_end) need.length_multiple = std::max(need.length_multiple, length_multiple);
}

void Recording::add(Command command) {
  const bool fill = command.kind == Command::Kind::kFill;
  const std::uint64_t alignment = fill                                       ? command.pattern_size
                                  : command.kind == Command::Kind::kDispatch ? kElement
                                                                             : 1;
  for (const Place& place : command.places) {
    need(place, alignment, fill ? command.pattern_size : 1);
  }
  if (command.counts) need(*command.counts, sizeof(std::uint32_t), 1);
  for (const auto& slot : {command.amount_slot, command.n_slot}) {
    if (!slot) continue;
    if (constant_slots.size() <= *slot) constant_slots.resize(*slot + 1);
    constant_slots[*slot] = true;
  }
  commands.push_back(std::move(command));
}

Codes Recording::bind(const Model& model, std::span<const Ref> entries,
                      std::vector<Place>& table) const {
  if (entries.size() < slots.size()) return kOutOfRange;
  Codes codes;
  table.resize(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const SlotNeed& need = slots[i];
    if (!need.used) continue;
    if (const Codes refused = model.resolve(entries[i], table[i]); !refused.none()) {
      codes |= refused;
      continue;
    }
    codes.add_if(table[i].length < need.extent, kOutOfRange);
    codes.add_if(table[i].offset % need.alignment != 0, kInvalidArgument);
    codes.add_if(table[i].length % need.length_multiple != 0, kInvalidArgument);
  }
  for (const Command& command : commands) {
    for (const Place& place : command.places) {
      codes.add_if(!place.is_slot && model.memories[place.index].deallocated, kFailedPrecondition);
    }
    if (command.counts && !command.counts->is_slot) {
      codes.add_if(model.memories[command.counts->index].deallocated, kFailedPrecondition);
    }
  }
  if (!codes.none()) return codes;
  for (const Command& command : commands) {
    codes.add_if(
        command.kind == Command::Kind::kCopy &&
            copy_overlaps(bound(command.places[0], table), bound(command.places[1], table)),
        kInvalidArgument);
  }
  return codes;
}

bool Recording::dispatches() const {
  return std::ranges::any_of(commands,
                             [](const Command& c) { return c.kind == Command::Kind::kDispatch; });
}

}  // namespace halyard::fuzz
