// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peers: which devices of a runtime can wait on each other's lanes, and use each other's memory.
// The drivers are asked when devices open; later queries read a table.
//
//     DeviceImpl::wait_domain()    ──>  a timeline::Domain, a row of the engine's DomainMatrix
//     DeviceImpl::memory_domain()  ──>  a MemoryDomain, a row of can_access()
//
// Devices of the same domain are peers. For two different domains the drivers are asked once, in
// both directions, as soon as both have an open device.
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

  // The domains of a device; adds them if they are new. Returns kResourceExhausted if the runtime
  // has no room for another domain.
  Result<Domains> domains_of(const DeviceImpl& device);
  // Asks the drivers about pairs with the device's domains that are not yet in the table. Called
  // before the device is used.
  void add(const DeviceImpl& device, const Domains& domains);
  // Called before the device closes.
  void remove(const DeviceImpl& device) noexcept;

  // Lock-free, from any thread. The result is constant once devices of both domains are open.
  bool can_access(MemoryDomain user, MemoryDomain owner) const noexcept {
    return (owners_[user].load(std::memory_order_relaxed) >> owner & 1) != 0;
  }

 private:
  struct Peer {
    const DeviceImpl* device;
    timeline::EntryGuard* guard;  // of the device; may be null
    Domains domains;
  };

  timeline::Engine& engine_;
  // [user]: bits of the domains whose memory it can use. A thread that has devices of both domains
  // sees their bits.
  std::atomic<std::uint64_t> owners_[kMemoryDomainCount] = {};

  base::Mutex mutex_;                                       // guards the rest
  std::vector<const void*> wait_domains_;                   // [i] is timeline domain i + 1
  std::vector<const void*> memory_domains_;                 // [i] is memory domain i
  std::uint64_t asked_waits_[timeline::kDomainCount] = {};  // [domain]: bits of the others
  std::uint64_t asked_memory_[kMemoryDomainCount] = {};
  std::vector<Peer> peers_;  // open devices
};

}  // namespace halyard::inline v0::hal
