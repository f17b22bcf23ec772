// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peers: which devices of a runtime can wait on each other's lanes, and use each other's memory.
// The drivers answer as devices open; afterwards the answers are read from a table.
//
//     DeviceImpl::wait_domain()    ──>  a timeline::Domain, a row of the engine's DomainMatrix
//     DeviceImpl::memory_domain()  ──>  a MemoryDomain, a row of can_access()
//
// Devices of one domain are peers. A pair of domains is asked once, in both directions, as soon as
// a device of each is open.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "halyard/base/result.h"
#include "timeline/domain.h"

namespace halyard::inline v0::timeline {
class Engine;
class EntryGuard;
}  // namespace halyard::inline v0::timeline

namespace halyard::inline v0::hal {

class DeviceImpl;

using MemoryDomain = std::uint8_t;
inline constexpr unsigned kMemoryDomainCount = 64;

class Peers {
 public:
  struct Domains {
    timeline::Domain wait;
    MemoryDomain memory;
  };

  explicit Peers(timeline::Engine& engine) noexcept : engine_(engine) {}

  // Those of a device, which may be the first one. kResourceExhausted: no more fit the runtime.
  Result<Domains> domains_of(const DeviceImpl& device);
  // Asks the drivers what is not known of the device's domains. Called before the device is used.
  void add(const DeviceImpl& device, const Domains& domains);
  // Before it closes.
  void remove(const DeviceImpl& device) noexcept;

  // Any thread, without a lock; constant from the moment when devices of both are open.
  bool can_access(MemoryDomain user, MemoryDomain owner) const noexcept {
    return (owners_[user].load(std::memory_order_relaxed) >> owner & 1) != 0;
  }

 private:
  struct Peer {
    const DeviceImpl* device;
    timeline::EntryGuard* guard;  // its; may be null
    Domains domains;
  };

  timeline::Engine& engine_;
  // [user]: the domains whose memory it can use. A thread that has devices of both sees their bits.
  std::atomic<std::uint64_t> owners_[kMemoryDomainCount] = {};

  base::Mutex mutex_;                                       // guards the rest
  std::vector<const void*> wait_domains_;                   // [i] is timeline domain i + 1
  std::vector<const void*> memory_domains_;                 // [i] is memory domain i
  std::uint64_t asked_waits_[timeline::kDomainCount] = {};  // [one]: with which others
  std::uint64_t asked_memory_[kMemoryDomainCount] = {};
  std::vector<Peer> peers_;  // that are open
};

}  // namespace halyard::inline v0::hal
