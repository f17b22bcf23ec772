// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edge domains: within which queues can wait on each other natively (rule 9). One per driver's peer
// group, e.g. all cpu devices of a process; and the host, which nothing covers.
#pragma once

#include <cstdint>

namespace halyard::inline v0::timeline {

using Domain = std::uint8_t;
inline constexpr Domain kHostDomain = 0;
inline constexpr int kDomainCount = 6;  // host, cpu, cuda, hip, metal or vulkan, one to spare

// Row `producer`: the set of domains whose queues can wait natively on that domain's lanes.
// Not symmetric: cpu queues can watch a word that cuda writes.
struct DomainMatrix {
  std::uint8_t covers[kDomainCount] = {};

  bool can_wait(Domain waiter, Domain producer) const noexcept {
    return (covers[producer] >> waiter & 1) != 0;
  }
  void allow(Domain waiter, Domain producer) noexcept {
    covers[producer] = static_cast<std::uint8_t>(covers[producer] | 1u << waiter);
  }
};

}  // namespace halyard::inline v0::timeline
