// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DomainTreaps: the waiters or the promises of a semaphore, ordered by value, one treap for each
// domain. Not thread-safe; the semaphore's lock guards it.
#pragma once

#include <new>

#include "base/build.h"
#include "base/treap.h"
#include "timeline/domain.h"

namespace halyard::inline v0::timeline {

class DomainTreaps {
 public:
  // Domains below this need no allocation: the host and the devices that a program usually opens.
  static constexpr Domain kInPlace = base::kSmallBounds ? 2 : 4;

  DomainTreaps() noexcept = default;
  ~DomainTreaps() { delete[] others_; }
  DomainTreaps(const DomainTreaps&) = delete;
  DomainTreaps& operator=(const DomainTreaps&) = delete;

  // Before the first insert() of a domain that is not in place. False: no memory.
  [[nodiscard]] bool make_room() noexcept {
    if (others_ == nullptr) others_ = new (std::nothrow) base::Treap[kDomainCount - kInPlace];
    return others_ != nullptr;
  }

  // The domains that have nodes.
  DomainSet used() const noexcept { return used_; }
  bool empty() const noexcept { return used_.empty(); }

  const base::Treap& operator[](Domain domain) const noexcept {
    return domain < kInPlace ? in_place_[domain] : others_[domain - kInPlace];
  }
  void insert(Domain domain, base::TreapNode& node) noexcept {
    treap(domain).insert(node);
    used_.add(domain);
  }
  void erase(Domain domain, base::TreapNode& node) noexcept {
    base::Treap& its = treap(domain);
    its.erase(node);
    if (its.empty()) used_.remove(domain);
  }

 private:
  base::Treap& treap(Domain domain) noexcept {
    return domain < kInPlace ? in_place_[domain] : others_[domain - kInPlace];
  }

  base::Treap in_place_[kInPlace];
  base::Treap* others_ = nullptr;
  DomainSet used_;
};

}  // namespace halyard::inline v0::timeline
