// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event: the value of an MTLEvent or MTLSharedEvent, and its listeners. Fence: an MTLFence, which
// orders passes of one queue.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/atomic.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::sim::metal {

struct Device;

struct Event {
  // Called when an object of the event is deallocated. If it was the last object, reports command
  // buffers that still use the event.
  void free_object();

  bool is_shared = false;
  std::uint64_t number = 0;
  Device* device = nullptr;  // if not shared
  // Guarded by the State's lock.
  std::uint64_t value = 0;
  bool is_stored = false;  // the host has stored the value
  struct Listener {
    std::uint64_t value = 0;
    std::function<void(std::uint64_t value)> function;
  };
  std::vector<Listener> listeners;
  base::Atomic<std::uint32_t> objects{0};
  base::Atomic<std::uint32_t> in_flight{0};  // waits and signals of committed command buffers
};

// Functions that the caller runs once it holds no lock.
using Notifications = std::vector<std::function<void()>>;
inline void run(const Notifications& due) {
  for (const auto& function : due) function();
}

// Raises the value as a device does. A value that is not larger is ignored and reported. The caller
// holds State::mutex.
void signal_event(Event& event, std::uint64_t value, Notifications& due);
// Stores a value as setSignaledValue: does. Takes State::mutex, and runs the listeners' functions
// after its release.
void store_event(Event& event, std::uint64_t value);
std::uint64_t event_value(const Event& event);
// Calls `function` once the value is reached, on the signalling thread; at once if it is already
// reached.
void listen(Event& event, std::uint64_t value, std::function<void(std::uint64_t value)> function);
// False if `deadline` (of gpu::now()) passes first.
bool wait_for_event(const Event& event, std::uint64_t value, Nanoseconds deadline);

struct Fence {
  std::uint64_t number = 0;
  Device* device = nullptr;
  // The number of the only queue that uses the fence. Guarded by State::mutex.
  std::uint64_t queue = 0;
};

}  // namespace halyard::inline v0::sim::metal
