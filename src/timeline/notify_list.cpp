// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/notify_list.h"

#include <algorithm>

namespace halyard::inline v0::timeline {

void NotifyList::arm(std::uint64_t sequence, base::Notify& notify) noexcept {
  {
    base::LockGuard lock(mutex_);
    Armed* const entry = closed_ ? nullptr : link(sequence, notify);
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
      calling_.fetch_add(1, std::memory_order_relaxed);
    }
    for (int i = 0; i < count; ++i) batch[i]->notify();
    calling_.fetch_sub(1, std::memory_order_release);
  }
}

void NotifyList::close() noexcept {
  for (bool more = true; more;) {
    base::Notify* notify = nullptr;
    {
      base::LockGuard lock(mutex_);
      closed_ = true;
      more = !armed_.empty();
      if (more) {
        notify = armed_.back().notify;
        armed_.shrink(armed_.size() - 1);
      }
      update_least();
    }
    if (more) notify->notify();
  }
  // A later advance() finds nothing to notify.
  while (calling_.load(std::memory_order_acquire) != 0) base::spin_yield();
}

}  // namespace halyard::inline v0::timeline
