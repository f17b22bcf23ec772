// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "hcq/memory_pool.h"
#include "hcq/signal_object.h"
#include "hcq/timeline.h"

namespace halyard::inline v0::hcq {
namespace {

class HostSignals final : public detail::SignalSource {
 public:
  Ref<SignalObject> make(std::uint64_t initial) noexcept override {
    return Ref<SignalObject>::adopt(new (std::nothrow) SignalObject(initial));
  }
};

}  // namespace

Nanoseconds DeviceClock::to_host(std::uint64_t time) const noexcept {
  if (time == 0) return 0;
  const auto elapsed = static_cast<std::int64_t>(time - ticks);
  const auto rate = static_cast<std::int64_t>(ticks_per_second);
  // In two parts, each of which fits 64 bits.
  constexpr std::int64_t kSecond = 1'000'000'000;
  return host + elapsed / rate * kSecond + elapsed % rate * kSecond / rate;
}

namespace detail {

SignalSource& host_signals() noexcept {
  static HostSignals signals;
  return signals;
}

Result<std::unique_ptr<Timeline>> Timeline::create(std::uint64_t limit, std::uint64_t start,
                                                   SignalSource& source) {
  Signal first(source.make(start));
  Signal shadow = limit == kNoLimit ? Signal() : Signal(source.make(0));
  if (first && (shadow || limit == kNoLimit)) {
    std::unique_ptr<Timeline> timeline(
        new (std::nothrow) Timeline(source, std::move(first), std::move(shadow), limit, start));
    if (timeline != nullptr) return timeline;
  }
  return error(StatusCode::kResourceExhausted, "device: no memory for a timeline");
}

Point Timeline::next() noexcept {
  if (last_.value < limit_) return {last_.signal, last_.value + 1};
  if (!shadow_) shadow_ = make_signal(0);
  return shadow_ ? Point{shadow_, 1} : Point{last_.signal, last_.value + 1};
}

void Timeline::take(const Point& next) noexcept {
  if (next.signal == shadow_) shadow_ = Signal();
  base::LockGuard lock(mutex_);
  last_ = next;
}

}  // namespace detail

Device::Device(std::unique_ptr<detail::Timeline> timeline, const DeviceTraits& traits) noexcept
    : timeline_(std::move(timeline)), traits_(traits) {}

Device::~Device() = default;

Result<Signal> Device::create_signal(std::uint64_t initial) const {
  Signal signal = timeline_->make_signal(initial);
  if (!signal) return error(StatusCode::kResourceExhausted, "device: no memory for a signal");
  return signal;
}

Point Device::last_timeline() const noexcept { return timeline_->last(); }

Point Device::next_timeline() noexcept {
  TimelineTurn turn(*this);
  turn.commit();
  return turn.last();
}

void Device::free(detail::Block* block) noexcept {
  free_memory(block->type, block->memory);
  delete block;
}

void Device::abandon(detail::Block* block) noexcept {
  // Frees earlier abandoned blocks whose point is reached, so that they do not accumulate.
  detail::Block* reached = nullptr;
  {
    base::LockGuard lock(timeline_->abandoned_mutex);
    block->next = std::exchange(timeline_->abandoned, block);
    for (detail::Block** at = &timeline_->abandoned; *at != nullptr;) {
      if ((*at)->free_from.reached()) {
        detail::Block* const next = (*at)->next;
        (*at)->next = std::exchange(reached, *at);
        *at = next;
      } else {
        at = &(*at)->next;
      }
    }
  }
  while (reached != nullptr) free(std::exchange(reached, reached->next));
}

void Device::free_abandoned() noexcept {
  while (timeline_->abandoned != nullptr) {
    free(std::exchange(timeline_->abandoned, timeline_->abandoned->next));
  }
}

TimelineTurn::TimelineTurn(Device& device) noexcept : timeline_(*device.timeline_) {
  timeline_.submit_mutex.lock();
  last_ = timeline_.last();
  next_ = timeline_.next();
}

TimelineTurn::~TimelineTurn() { timeline_.submit_mutex.unlock(); }

void TimelineTurn::commit() noexcept {
  timeline_.take(next_);
  last_ = std::exchange(next_, {});
}

}  // namespace halyard::inline v0::hcq
