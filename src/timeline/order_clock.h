// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OrderClock: the events that happened before an event, for the checking mode.
//
// A vector clock over chains instead of threads: a chain is a sequence of events, each ordered
// after the previous event, and an event joins a chain if it is ordered after the chain's last
// event. So the number of entries of a clock is the concurrency, however long the program runs.
// After A. Agarwal and V. K. Garg, "Efficient dependency tracking for relevant events in concurrent
// systems" (2005).
//
//     chain 0   A1 ──> A2 ──────> A3          clock of A3 = {0: 3, 1: 1}
//     chain 1   B1 ───────────────┘ └──> B2   clock of B2 = {0: 3, 1: 2}
//
// Not safe from several threads at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace halyard::inline v0::timeline {

// An event: the `index`-th of `chain`, counted from 1.
struct OrderEvent {
  std::uint32_t chain = 0;
  std::uint64_t index = 0;  // 0: no event
};

class OrderClock {
 public:
  bool includes(const OrderEvent& event) const noexcept {
    const auto at = find(event.chain);
    return at != entries_.end() && at->chain == event.chain && at->index >= event.index;
  }

  void add(const OrderEvent& event) {
    const auto at = find(event.chain);
    if (at == entries_.end() || at->chain != event.chain) {
      entries_.insert(at, event);
    } else {
      entries_[static_cast<std::size_t>(at - entries_.begin())].index =
          std::max(at->index, event.index);
    }
  }

  void add(const OrderClock& other) {
    for (const OrderEvent& event : other.entries_) add(event);
  }

  // Removes the entries for which `drop(event)` is true.
  template <class F>
  void drop_if(F&& drop) {
    std::erase_if(entries_, std::forward<F>(drop));
  }

  const std::vector<OrderEvent>& entries() const noexcept { return entries_; }

 private:
  std::vector<OrderEvent>::const_iterator find(std::uint32_t chain) const noexcept {
    return std::lower_bound(entries_.begin(), entries_.end(), chain,
                            [](const OrderEvent& e, std::uint32_t c) { return e.chain < c; });
  }

  std::vector<OrderEvent> entries_;  // by chain, one for each
};

// Puts events into chains.
class OrderChains {
 public:
  // Returns the next event of a chain whose last event comes before it: that event is in `clock`,
  // or `before(event)` is true. Adds it to `clock`. Starts a chain if no such chain exists.
  template <class F>
  OrderEvent extend(OrderClock& clock, F&& before) {
    for (const OrderEvent& event : clock.entries()) {
      if (last_[event.chain] == event.index) return next(event.chain, clock);
    }
    for (std::size_t tried = 0; tried < last_.size(); ++tried) {
      // The search begins where the last one ended: chains in use gather in front of it.
      if (++at_ >= last_.size()) at_ = 0;
      if (before(OrderEvent{at_, last_[at_]})) return next(at_, clock);
    }
    last_.push_back(0);
    return next(static_cast<std::uint32_t>(last_.size() - 1), clock);
  }

  // The last event of each chain.
  const std::vector<std::uint64_t>& last() const noexcept { return last_; }

 private:
  OrderEvent next(std::uint32_t chain, OrderClock& clock) {
    const OrderEvent event{chain, ++last_[chain]};
    clock.add(event);
    return event;
  }

  std::vector<std::uint64_t> last_;
  std::uint32_t at_ = 0;
};

}  // namespace halyard::inline v0::timeline
