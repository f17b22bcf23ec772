// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/markers.h"

#include <new>

#include "timeline/lane_tracker.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

bool Markers::allocate() noexcept {
  if (marks_all_) return true;
  marked_.reset(new (std::nothrow) base::Atomic<bool>[mask_ + 1]);
  return marked_ != nullptr;
}

std::uint64_t Markers::first_from(std::uint64_t sequence) const noexcept {
  if (marks_all_) return sequence;
  const std::uint64_t last = through_.load(std::memory_order_acquire);
  for (std::uint64_t marked = sequence; marked <= last; ++marked) {
    if (!at(marked).load(std::memory_order_acquire)) continue;
    // A retired entry is reused: the mark may be its successor's.
    return lane_.retired() < sequence ? marked : 0;
  }
  return 0;
}

bool Markers::make(std::uint64_t sequence, Visit& visit) noexcept {
  if (cover(sequence)) return false;
  Queue& queue = lane_.queue();
  if (!queue.try_mark(visit)) queue.request_mark(Queue::kQuietMark, visit);
  return cover(sequence);
}

void Markers::make_for_shell(std::uint64_t sequence) noexcept {
  if (!cover(sequence)) lane_.queue().request_mark(Queue::kShellMark);
}

}  // namespace halyard::inline v0::timeline
