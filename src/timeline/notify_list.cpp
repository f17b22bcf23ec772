// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/notify_list.h"

#include <algorithm>

namespace halyard::inline v0::timeline {

void NotifyList::arm(std::uint64_t sequence, base::Notify& notify) noexcept {
  {
    base::LockGuard lock(mutex_);
    Armed* const entry = link(sequence, notify);
    if (entry != nullptr) {
      update_least();
      const std::uint64_t reached = reached_.load(std::memory_order_seq_cst);
      if (reached < entry->sequence) return;
      take(*entry, reached);
      update_least();
    }
  }
  notify.notify();
}

NotifyList::Armed* NotifyList::link(std::uint64_t sequence, base::Notify& notify) noexcept {
  for (Armed& armed : armed_) {
    if (armed.notify != &notify) continue;
    armed.sequence = std::min(armed.sequence, sequence);
    armed.last = sequence;
    return &armed;
  }
  return armed_.push_back({&notify, sequence, sequence}) ? &armed_.back() : nullptr;
}

// Removes an entry that is notified, or keeps it for its last sequence.
void NotifyList::take(Armed& entry, std::uint64_t reached) noexcept {
  entry.sequence = entry.last;
  if (entry.last > reached) return;
  entry = armed_.back();
  armed_.shrink(armed_.size() - 1);
}

void NotifyList::update_least() noexcept {
  std::uint64_t least = kNothing;
  for (const Armed& armed : armed_) least = std::min(least, armed.sequence);
  least_.store(least, std::memory_order_seq_cst);
}

void NotifyList::notify_reached() noexcept {
  constexpr int kBatch = 16;
  for (int count = kBatch; count == kBatch;) {
    base::Notify* batch[kBatch];
    count = 0;
    {
      base::LockGuard lock(mutex_);
      const std::uint64_t reached = reached_.load(std::memory_order_seq_cst);
      for (std::size_t i = armed_.size(); i-- != 0 && count != kBatch;) {
        if (armed_[i].sequence > reached) continue;
        batch[count++] = armed_[i].notify;
        take(armed_[i], reached);
      }
      update_least();
    }
    for (int i = 0; i < count; ++i) batch[i]->notify();
  }
}

}  // namespace halyard::inline v0::timeline
