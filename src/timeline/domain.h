// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wait domains: within which queues can wait on each other's lanes natively (rule 9), and which
// others' lanes they can wait on. One for each group of equal devices, e.g. all cpu devices of a
// process; and the host, which no promise covers.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace halyard::inline v0::timeline {

using Domain = std::uint8_t;
inline constexpr Domain kHostDomain = 0;
// The host and 15 others: every driver of this project at once, with some devices each.
inline constexpr Domain kDomainCount = 16;

// A set of domains; iterates from the lowest.
class DomainSet {
 public:
  constexpr DomainSet() noexcept = default;
  static constexpr DomainSet of(Domain domain) noexcept {
    return DomainSet(static_cast<std::uint16_t>(1u << domain));
  }
  static constexpr DomainSet all() noexcept { return DomainSet(0xffff); }
  // Made from word().
  explicit constexpr DomainSet(std::uint16_t word) noexcept : word_(word) {}

  constexpr std::uint16_t word() const noexcept { return word_; }
  constexpr bool empty() const noexcept { return word_ == 0; }
  constexpr bool contains(Domain domain) const noexcept { return (word_ >> domain & 1) != 0; }
  constexpr void add(Domain domain) noexcept { word_ |= of(domain).word_; }
  constexpr void remove(Domain domain) noexcept {
    word_ = static_cast<std::uint16_t>(word_ & ~of(domain).word_);
  }
  constexpr DomainSet operator&(DomainSet other) const noexcept {
    return DomainSet(static_cast<std::uint16_t>(word_ & other.word_));
  }

  class Iterator {
   public:
    explicit constexpr Iterator(std::uint16_t left) noexcept : left_(left) {}
    constexpr Domain operator*() const noexcept {
      return static_cast<Domain>(std::countr_zero(left_));
    }
    constexpr Iterator& operator++() noexcept {
      left_ = static_cast<std::uint16_t>(left_ & (left_ - 1));
      return *this;
    }
    constexpr bool operator==(const Iterator& other) const noexcept = default;

   private:
    std::uint16_t left_;
  };
  constexpr Iterator begin() const noexcept { return Iterator(word_); }
  constexpr Iterator end() const noexcept { return Iterator(0); }

 private:
  std::uint16_t word_ = 0;
};
static_assert(kDomainCount == 16, "a DomainSet has as many bits");

// Which domain's queues can wait natively on which domain's lanes. Not symmetric: cpu queues can
// watch a word that a GPU writes, but not every GPU can watch a word that the cpu writes.
//
// It grows as domains open, beside threads that read it. The bits of a domain are set before a
// device of it is usable, so a thread that has work of that domain sees them. No memory order is
// needed here, and no schedule point of a simulation.
class DomainMatrix {
 public:
  DomainMatrix() noexcept = default;
  DomainMatrix(const DomainMatrix& other) noexcept {
    for (Domain domain = 0; domain < kDomainCount; ++domain) {
      waiters_[domain].store(other.waiters_of(domain).word(), std::memory_order_relaxed);
    }
  }
  DomainMatrix& operator=(const DomainMatrix&) = delete;

  DomainSet waiters_of(Domain producer) const noexcept {
    return DomainSet(waiters_[producer].load(std::memory_order_relaxed));
  }
  bool can_wait(Domain waiter, Domain producer) const noexcept {
    return waiters_of(producer).contains(waiter);
  }
  void allow(Domain waiter, Domain producer) noexcept {
    waiters_[producer].fetch_or(DomainSet::of(waiter).word(), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint16_t> waiters_[kDomainCount] = {};  // [producer]: the domains that can wait
};

}  // namespace halyard::inline v0::timeline
