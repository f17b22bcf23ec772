// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/race_check.h"

#include <algorithm>

namespace halyard::inline v0::sim::msl {
namespace {

void add(std::vector<bool>& to, const std::vector<bool>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i]) to[i] = true;
  }
}
void add(std::vector<bool>& to, std::uint32_t group) {
  if (to.size() <= group) to.resize(group + 1);
  to[group] = true;
}

}  // namespace

RaceCheck::Page& RaceCheck::page(std::uint64_t number) {
  if (number == last_number_) return *last_;
  std::unique_ptr<Page>& slot = pages_[number];
  if (slot == nullptr) {
    slot = std::make_unique<Page>();
    slot->cells.resize(kPage / 4);
  }
  last_number_ = number;
  last_ = slot.get();
  return *last_;
}

void RaceCheck::split(Page& page) {
  std::vector<Cell> cells(kPage);
  for (std::size_t i = 0; i < kPage; ++i) cells[i] = page.cells[i / 4];
  page.cells = std::move(cells);
  page.bytes = true;
}

void RaceCheck::forget(std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t number = begin / kPage; number <= (end - 1) / kPage; ++number) {
    const auto found = pages_.find(number);
    if (found != pages_.end()) std::ranges::fill(found->second->cells, Cell{});
  }
}

bool RaceCheck::ordered(const Accessor& before, const Accessor& now) const {
  if (before.group != now.group) {
    const auto found = orders_.find(now.group);
    return found != orders_.end() && before.group < found->second.before.size() &&
           found->second.before[before.group];
  }
  if (before.thread == now.thread || before.epoch != now.epoch) return true;
  return before.simdgroup == now.simdgroup && before.simd_epoch != now.simd_epoch;
}

void RaceCheck::cell_access(Cell& cell, const Accessor& who, bool write, bool atomic,
                            std::uint64_t address, Conflict& conflict) {
  if (cell.written && !(atomic && cell.write_atomic) && !ordered(cell.writer, who) &&
      !conflict.found) {
    conflict = {true, cell.writer, false, true, address};
  }
  if (!write) {
    // Several readers can be replaced only after a barrier, not because one of them reads again.
    const bool after_barrier =
        cell.reader.group != who.group
            ? ordered(cell.reader, who)
            : cell.reader.epoch != who.epoch ||
                  (cell.readers != Readers::kGroup && cell.reader.simdgroup == who.simdgroup &&
                   cell.reader.simd_epoch != who.simd_epoch);
    const bool fresh = cell.readers == Readers::kNone || after_barrier ||
                       (cell.readers == Readers::kOne && ordered(cell.reader, who));
    if (fresh && cell.readers != Readers::kGroups) {
      // Readers of an earlier interval of the same threads no longer matter; a single reader stays
      // single.
      cell.readers = Readers::kOne;
      cell.reader = who;
      cell.read_atomic = atomic;
    } else {
      const Readers now = cell.reader.group != who.group           ? Readers::kGroups
                          : cell.reader.simdgroup != who.simdgroup ? Readers::kGroup
                                                                   : Readers::kSimdgroup;
      cell.readers = std::max(cell.readers, now);
      cell.read_atomic = cell.read_atomic && atomic;
    }
    return;
  }
  if (cell.readers != Readers::kNone && !(atomic && cell.read_atomic) && !conflict.found) {
    bool conflicts = false;
    switch (cell.readers) {
      case Readers::kNone:
        break;
      case Readers::kOne:
        conflicts = !ordered(cell.reader, who);
        break;
      case Readers::kSimdgroup:
        conflicts = cell.reader.group != who.group ? !ordered(cell.reader, who)
                                                   : cell.reader.epoch == who.epoch &&
                                                         (cell.reader.simdgroup != who.simdgroup ||
                                                          cell.reader.simd_epoch == who.simd_epoch);
        break;
      case Readers::kGroup:
        conflicts = cell.reader.group != who.group ? !ordered(cell.reader, who)
                                                   : cell.reader.epoch == who.epoch;
        break;
      case Readers::kGroups:
        conflicts = true;
        break;
    }
    if (conflicts) conflict = {true, cell.reader, cell.readers != Readers::kOne, false, address};
  }
  cell.written = true;
  cell.writer = who;
  cell.write_atomic = atomic;
}

Conflict RaceCheck::access(const Accessor& who, std::uint64_t address, std::uint64_t size,
                           bool write, bool atomic) {
  Conflict conflict;
  if (atomic) synchronize(who.group, address, write);
  std::uint64_t at = address;
  const std::uint64_t end = address + size;
  while (at < end) {
    Page& p = page(at / kPage);
    const bool whole = at % 4 == 0 && end - at >= 4;
    if (!whole && !p.bytes) split(p);
    if (!p.bytes) {
      cell_access(p.cells[at % kPage / 4], who, write, atomic, at, conflict);
      at += 4;
    } else {
      cell_access(p.cells[at % kPage], who, write, atomic, at, conflict);
      ++at;
    }
  }
  return conflict;
}

void RaceCheck::fence(std::uint32_t group) {
  Order& order = orders_[group];
  add(order.before, order.pending);
  order.fenced = true;
}

void RaceCheck::synchronize(std::uint32_t group, std::uint64_t address, bool write) {
  const auto found = released_.find(address);
  if (found != released_.end()) add(orders_[group].pending, found->second);
  if (!write) return;
  const auto order = orders_.find(group);
  if (order == orders_.end() || !order->second.fenced) return;
  std::vector<bool>& released = released_[address];
  add(released, group);
  add(released, order->second.before);
}

}  // namespace halyard::inline v0::sim::msl
