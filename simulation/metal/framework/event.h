// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event: the value of an MTLEvent or MTLSharedEvent, and who waits for it. Fence: an MTLFence, a
// name by which passes of one queue are ordered.
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
  // An object of it is deallocated. Reports a command buffer that still uses the last one.
  void free_object();

  bool is_shared = false;
  std::uint64_t number = 0;
  Device* device = nullptr;  // of an event that is not shared
  // Guarded by the State's lock.
  std::uint64_t value = 0;
  bool is_stored = false;  // the value is the host's
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

// Raises the value as a device does; a value that is not larger is ignored and reported. The State
// is locked.
void signal_event(Event& event, std::uint64_t value, Notifications& due);
// Stores a value as setSignaledValue: does. Takes the lock, runs the listeners' functions.
void store_event(Event& event, std::uint64_t value);
std::uint64_t event_value(const Event& event);
// Calls `function` once the value is reached, at once if it is already: by the thread that signals.
void listen(Event& event, std::uint64_t value, std::function<void(std::uint64_t value)> function);
// False if `deadline` (of gpu::now()) passes first.
bool wait_for_event(const Event& event, std::uint64_t value, Nanoseconds deadline);

struct Fence {
  std::uint64_t number = 0;
  Device* device = nullptr;
  // The only queue that uses it, by number. Guarded by the State's lock.
  std::uint64_t queue = 0;
};

}  // namespace halyard::inline v0::sim::metal
