// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/peers.h"

#include <algorithm>

#include "hal/device/driver.h"
#include "hal/object.h"
#include "timeline/engine.h"

namespace halyard::inline v0::hal {
namespace {

// The index of `domain`, which is added if it is new. Returns `limit` if the table is full.
std::size_t index_of(std::vector<const void*>& domains, const void* domain, std::size_t limit) {
  const auto index = static_cast<std::size_t>(std::ranges::find(domains, domain) - domains.begin());
  if (index == domains.size() && index != limit) domains.push_back(domain);
  return index;
}

// Marks the pair as asked. True if it was not marked before.
bool is_new(std::uint64_t* asked, unsigned one, unsigned other) noexcept {
  if (one == other || (asked[one] >> other & 1) != 0) return false;
  asked[one] |= std::uint64_t{1} << other;
  asked[other] |= std::uint64_t{1} << one;
  return true;
}

}  // namespace

Result<Peers::Domains> Peers::domains_of(const DeviceImpl& device) {
  constexpr std::size_t kWaitDomains = timeline::kDomainCount - 1;  // without the host
  base::LockGuard lock(mutex_);
  const std::size_t wait = index_of(wait_domains_, device.wait_domain(), kWaitDomains);
  if (wait == kWaitDomains) {
    return error(StatusCode::kResourceExhausted,
                 "registry: a runtime has at most {} groups of devices that wait on each other",
                 kWaitDomains);
  }
  const std::size_t memory = index_of(memory_domains_, device.memory_domain(), kMemoryDomainCount);
  if (memory == kMemoryDomainCount) {
    return error(StatusCode::kResourceExhausted,
                 "registry: a runtime has at most {} groups of devices that share memory",
                 kMemoryDomainCount);
  }
  const Domains domains{static_cast<timeline::Domain>(wait + 1), static_cast<MemoryDomain>(memory)};
  engine_.domains().allow(domains.wait, domains.wait);
  owners_[memory].fetch_or(std::uint64_t{1} << memory, std::memory_order_relaxed);
  return domains;
}

void Peers::add(const DeviceImpl& device, const Domains& domains) {
  base::LockGuard lock(mutex_);
  const auto allow_wait = [&](const Peer& waiter, const Peer& producer) {
    if (!timeline::Entered(*waiter.device, waiter.guard)->can_wait_on(*producer.device)) return;
    engine_.domains().allow(waiter.domains.wait, producer.domains.wait);
  };
  const auto allow_access = [&](const Peer& user, const Peer& owner) {
    if (!timeline::Entered(*user.device, user.guard)->can_access(*owner.device)) return;
    owners_[user.domains.memory].fetch_or(std::uint64_t{1} << owner.domains.memory,
                                          std::memory_order_relaxed);
  };
  const Peer fresh{&device, device.entry_guard(), domains};
  for (const Peer& peer : peers_) {
    if (is_new(asked_waits_, fresh.domains.wait, peer.domains.wait)) {
      allow_wait(fresh, peer);
      allow_wait(peer, fresh);
    }
    if (is_new(asked_memory_, fresh.domains.memory, peer.domains.memory)) {
      allow_access(fresh, peer);
      allow_access(peer, fresh);
    }
  }
  peers_.push_back(fresh);
}

void Peers::remove(const DeviceImpl& device) noexcept {
  base::LockGuard lock(mutex_);
  std::erase_if(peers_, [&](const Peer& peer) { return peer.device == &device; });
}

}  // namespace halyard::inline v0::hal
