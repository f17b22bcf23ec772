// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/recording/recorded_accesses.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "hal/recording/walk.h"
#include "timeline/access_table.h"

namespace halyard::inline v0::hal {

using timeline::Access;
using timeline::AccessTable;
using timeline::OrderEvent;

Result<std::unique_ptr<RecordedAccesses>> RecordedAccesses::create(
    const RecordedCommands& recording) {
  std::unique_ptr<RecordedAccesses> self(new RecordedAccesses(recording.commands));
  HALYARD_RETURN_IF_ERROR(self->order(recording));
  self->collect();
  HALYARD_RETURN_IF_ERROR(self->compare(nullptr));
  self->merge();
  return self;
}

Status RecordedAccesses::order(const RecordedCommands& recording) {
  places_.resize(commands_.size());
  timeline::OrderChains chains;
  std::vector<std::uint32_t> last;  // the last command of each chain
  OrderedPrefix prefix;
  if (!prefix.open(recording.event_count)) {
    return error(StatusCode::kResourceExhausted, "no memory for the order of {} commands",
                 commands_.size());
  }
  const auto edges = recording.edges;
  auto edge = edges.begin();
  for (std::uint32_t i = 0; i < commands_.size(); ++i) {
    const std::uint32_t after_all = prefix.pass(i, commands_[i]);
    if (!does_work(commands_[i].kind)) continue;
    Place& place = places_[i];
    place.after_all = after_all;
    for (; edge != edges.end() && edge->after == i; ++edge) {
      place.clock.add(places_[edge->before].clock);
      // All commands that precede the earlier command also precede this one.
      place.after_all = std::max(place.after_all, places_[edge->before].after_all);
    }
    place.clock.drop_if(
        [&](const OrderEvent& event) { return last[event.chain] < place.after_all; });
    place.event = chains.extend(
        place.clock, [&](const OrderEvent& event) { return last[event.chain] < place.after_all; });
    last.resize(chains.last().size());
    last[place.event.chain] = i;
  }
  return {};
}

void RecordedAccesses::collect() {
  for (std::uint32_t i = 0; i < commands_.size(); ++i) {
    for_each_access(commands_[i], [&](const CommandAccess& access) {
      const CommandRange& range = access.range;
      const bool to_the_end = range.length == kWholeSize;
      ranges_.push_back({range.memory, range.slot, range.offset,
                         to_the_end ? kWholeSize : range.offset + range.length, access.kind, i,
                         access.binding,
                         std::make_shared<const std::string>(base::format(
                             "command {} ({})", i, describe(commands_[i], access.binding)))});
    });
  }
}

Access RecordedAccesses::bind(const Range& range, const BoundRange* table) noexcept {
  // Marks a slot; greater than the serial numbers of memory.
  constexpr std::uint64_t kOfSlot = std::uint64_t{1} << 63;
  Access access{0, range.begin, range.end, range.kind, range.what};
  if (range.memory != nullptr) {
    access.memory = range.memory->serial();
  } else if (table == nullptr) {
    access.memory = kOfSlot | range.slot;
  } else if (const BoundRange& entry = table[range.slot]; entry.memory != nullptr) {
    access.memory = entry.memory->serial();
    access.begin = entry.offset + std::min(range.begin, entry.length);
    access.end = entry.offset + std::min(range.end, entry.length);
  }
  return access;
}

Status RecordedAccesses::compare(const BoundRange* table) const {
  AccessTable<std::uint32_t> accesses;  // by command
  std::vector<Access> bound;            // of `command` below
  for (std::size_t first = 0, end = 0; first < ranges_.size(); first = end) {
    const std::uint32_t command = ranges_[first].command;
    const Place& place = places_[command];
    const auto is_settled = [&](std::uint32_t other) { return other < place.after_all; };
    const auto is_before = [&](std::uint32_t other) {
      return other == command || is_settled(other) || place.clock.includes(places_[other].event);
    };
    bound.clear();
    while (end < ranges_.size() && ranges_[end].command == command) {
      bound.push_back(bind(ranges_[end++], table));
    }
    if (commands_[command].kind == CommandKind::kDispatch) {
      const DispatchCommand& dispatch = commands_[command].dispatch;
      Status status =
          check_bindings_apart(kernel_of(dispatch), bound.data(),
                               std::min<std::size_t>(bound.size(), dispatch.binding_count));
      if (!status.ok()) {
        return error(status.code(), "command {} ({})", command, status.message());
      }
    }
    for (const Access& access : bound) {
      const auto* const other =
          accesses.find_unordered(access, is_before, [](std::uint32_t) { return false; });
      if (other == nullptr) continue;
      const bool both_write = writes(access.kind) && writes(other->access.kind);
      return error(StatusCode::kFailedPrecondition,
                   "{} {} bytes {} to {} of what {} {}: nothing orders the two; put a barrier "
                   "between them, or order the later one by after()",
                   *access.what, writes(access.kind) ? "writes" : "reads",
                   std::max(access.begin, other->access.begin),
                   std::min(access.end, other->access.end), *other->access.what,
                   both_write            ? "writes too"
                   : writes(access.kind) ? "reads"
                                         : "writes");
    }
    for (const Access& access : bound) accesses.add(access, command, is_before);
  }
  return {};
}

void RecordedAccesses::merge() {
  const auto key = [](const Range& range) {
    return std::tuple(reinterpret_cast<std::uintptr_t>(range.memory), range.slot,
                      writes(range.kind), range.begin);
  };
  summary_ = ranges_;
  std::ranges::sort(summary_, {}, key);
  std::size_t kept = 0;
  for (Range& range : summary_) {
    Range* const last = kept != 0 ? &summary_[kept - 1] : nullptr;
    const bool touches = last != nullptr && last->memory == range.memory &&
                         last->slot == range.slot && writes(last->kind) == writes(range.kind) &&
                         range.begin <= last->end;
    if (touches) {
      last->end = std::max(last->end, range.end);
    } else {
      Range moved = std::move(range);
      summary_[kept++] = std::move(moved);
    }
  }
  summary_.erase(summary_.begin() + static_cast<std::ptrdiff_t>(kept), summary_.end());
}

Status RecordedAccesses::check(const BoundRange* table) const {
  for (std::size_t i = 0; i < summary_.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const Range &a = summary_[i], &b = summary_[k];
      if (a.memory == b.memory && a.slot == b.slot) continue;  // compared when recorded
      if (conflict(bind(a, table), bind(b, table))) return compare(table);
    }
  }
  return {};
}

void RecordedAccesses::declare(timeline::Submission& submission, const BoundRange* table) const {
  std::vector<Access>& accesses = submission.declare().accesses;
  for (const Range& range : summary_) {
    accesses.push_back(bind(range, table));
  }
}

}  // namespace halyard::inline v0::hal
