// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/signal_pool.h"

#include <new>
#include <utility>

namespace halyard::inline v0::hcq {

class SignalPool::DeviceSignal final : public SignalObject {
 public:
  // The pool's lock is held.
  DeviceSignal(SignalPool& pool, const Slot& slot) noexcept
      : SignalObject(*slot.words), pool_(&pool), slot_(slot), next_(pool.first_) {
    if (next_ != nullptr) next_->at_ = &next_;
    pool.first_ = this;
  }
  ~DeviceSignal() override {
    base::LockGuard lock(pool_->mutex_);
    *at_ = next_;
    if (next_ != nullptr) next_->at_ = at_;
    pool_->free_.push_back(slot_);
  }

  DeviceSignal* next() const noexcept { return next_; }
  std::uint64_t address() const noexcept override { return slot_.address; }
  Nanoseconds timestamp() const noexcept override {
    return pool_->clock_.to_host(slot_.words->time.load(std::memory_order_acquire));
  }

 private:
  const Ref<SignalPool> pool_;
  const Slot slot_;
  DeviceSignal* next_;
  DeviceSignal** at_ = &pool_->first_;  // what points to it
};

Ref<SignalObject> SignalPool::make(std::uint64_t initial) noexcept {
  base::LockGuard lock(mutex_);
  if (free_.empty() && !add_page()) return {};
  const Slot slot = free_.back();
  auto* signal = new (std::nothrow) DeviceSignal(*this, slot);
  if (signal == nullptr) return {};
  free_.pop_back();
  slot.words->value.store(initial, std::memory_order_relaxed);
  slot.words->time.store(0, std::memory_order_relaxed);
  return Ref<SignalObject>::adopt(signal);
}

bool SignalPool::add_page() noexcept {
  Result<DeviceSpan> page = memory_->allocate(kPage, kPage);
  if (!page.ok()) return false;
  slots_ += kPage / sizeof(SignalWords);
  free_.reserve(slots_);
  for (std::size_t at = 0; at < kPage; at += sizeof(SignalWords)) {
    free_.push_back({new (page->host + at) SignalWords(0), page->address + at});
  }
  return true;
}

void SignalPool::look() noexcept {
  base::LockGuard lock(mutex_);
  for (DeviceSignal* signal = first_; signal != nullptr; signal = signal->next()) signal->look();
}

}  // namespace halyard::inline v0::hcq
