// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host threads of a simulated program.
#pragma once

#include <cstdint>
#include <deque>

#include "base/thread.h"

namespace halyard::inline v0::sim {

// Runs live(0) ... live(count - 1), each on its own thread. Returns when all have ended.
template <class F>
void run_hosts(std::uint32_t count, const F& live) {
  struct Host {
    const F& live;
    std::uint32_t index;
    base::Thread thread;
  };
  std::deque<Host> hosts;
  for (std::uint32_t i = 0; i < count; ++i) {
    Host& host = hosts.emplace_back(live, i);
    const auto body = [](void* argument) {
      const Host& self = *static_cast<Host*>(argument);
      self.live(self.index);
    };
    (void)host.thread.start("host", body, &host);
  }
  for (Host& host : hosts) host.thread.join();
}

}  // namespace halyard::inline v0::sim
