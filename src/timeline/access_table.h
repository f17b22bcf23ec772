// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AccessTable: which accesses to memory a new one must be ordered after, for the checking mode.
//
// Two accesses conflict if their ranges overlap and one of them writes. The table keeps an access
// until every later one that conflicts with it would also conflict with a later access, or until no
// unordered access can follow:
//
//     kept     read [0, 8) by A      then read [0, 8) by B, after A: A's is dropped, since work that
//                                    is not ordered after A is not ordered after B either
//     dropped  whatever `settled` says: ordered before all work that is still to come
//
// An Owner is a copyable value. Not safe from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace halyard::inline v0::timeline {

enum class AccessKind : std::uint8_t { kRead, kWrite, kAllocate, kFree };

inline bool writes(AccessKind kind) noexcept { return kind != AccessKind::kRead; }

// Bytes [begin, end) of a memory.
struct Access {
  std::uint64_t memory = 0;  // hal::Memory::serial()
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  AccessKind kind = AccessKind::kRead;
  std::shared_ptr<const std::string> what;  // "saxpy: binding 1 (y)", for messages
};

inline bool overlap(const Access& a, const Access& b) noexcept {
  const bool are_empty = a.begin == a.end || b.begin == b.end;
  return a.memory == b.memory && a.begin < b.end && b.begin < a.end && !are_empty;
}

inline bool conflict(const Access& a, const Access& b) noexcept {
  return overlap(a, b) && (writes(a.kind) || writes(b.kind));
}

template <class Owner>
class AccessTable {
 public:
  struct Entry {
    Access access;
    Owner owner;
  };

  // Returns an entry that conflicts with `access` and for which `before(owner)` is false; or null.
  // Drops those for which `settled(owner)` is true.
  template <class Before, class Settled>
  const Entry* find_unordered(const Access& access, Before&& before, Settled&& settled) {
    const auto at = memories_.find(access.memory);
    if (at == memories_.end()) return nullptr;
    drop(at->second.writes, [&](const Entry& entry) { return settled(entry.owner); });
    const Entry* found = find(at->second.writes, access, before);
    if (found != nullptr || !writes(access.kind)) return found;
    drop(at->second.reads, [&](const Entry& entry) { return settled(entry.owner); });
    return find(at->second.reads, access, before);
  }

  // Adds an access that conflicts with none that is not before it.
  template <class Before>
  void add(const Access& access, const Owner& owner, Before&& before) {
    Memory& memory = memories_[access.memory];
    const auto replaced = [&](const Entry& entry) {
      return entry.access.begin >= access.begin && entry.access.end <= access.end &&
             before(entry.owner);
    };
    drop(memory.reads, replaced);
    if (writes(access.kind)) drop(memory.writes, replaced);
    (writes(access.kind) ? memory.writes : memory.reads).push_back({access, owner});
    ++size_;
  }

  // Drops all entries for which `settled(owner)` is true, of every memory.
  template <class Settled>
  void drop_settled(Settled&& settled) {
    for (auto at = memories_.begin(); at != memories_.end();) {
      const auto is_settled = [&](const Entry& entry) { return settled(entry.owner); };
      drop(at->second.reads, is_settled);
      drop(at->second.writes, is_settled);
      at = at->second.reads.empty() && at->second.writes.empty() ? memories_.erase(at) : ++at;
    }
  }

  std::size_t size() const noexcept { return size_; }

 private:
  using Entries = std::vector<Entry>;
  // Apart, as reads are only compared with writes.
  struct Memory {
    Entries reads;
    Entries writes;
  };

  template <class F>
  void drop(Entries& entries, F&& is_dropped) {
    size_ -= std::erase_if(entries, std::forward<F>(is_dropped));
  }

  template <class Before>
  static const Entry* find(const Entries& entries, const Access& access, Before&& before) {
    for (const Entry& entry : entries) {
      if (overlap(entry.access, access) && !before(entry.owner)) return &entry;
    }
    return nullptr;
  }

  std::unordered_map<std::uint64_t, Memory> memories_;
  std::size_t size_ = 0;
};

}  // namespace halyard::inline v0::timeline
