// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/framework/event.h"

#include <string>
#include <utility>

#include "simulation/metal/framework/device.h"
#include "simulation/metal/framework/report.h"

namespace halyard::inline v0::sim::metal {
namespace {

// The delay of a listener's notification after a store by the host.
constexpr Nanoseconds kListenerDelay = 20'000'000;

// The caller holds State::mutex.
bool raise(Event& event, std::uint64_t value, const char* by, Notifications& due) {
  if (value <= event.value) {
    report("event-not-larger", "a " + std::string(by) + " of event " +
                                   std::to_string(event.number) + " with value " +
                                   std::to_string(value) + " is ignored: its value is already " +
                                   std::to_string(event.value));
    return false;
  }
  event.value = value;
  std::erase_if(event.listeners, [&](Event::Listener& listener) {
    if (listener.value > value) return false;
    due.push_back([function = std::move(listener.function), value] { function(value); });
    return true;
  });
  note_progress();
  return true;
}

// Moves the delayed notifications of host stores to `due`. The caller holds State::mutex.
void take_late(Notifications& due) {
  for (auto& function : std::exchange(state().late_notifications, {})) {
    due.push_back(std::move(function));
  }
}

}  // namespace

void Event::free_object() {
  if (objects.fetch_sub(1) != 1 || in_flight.load() == 0) return;
  report_tolerated("freed-in-flight",
                   "event " + std::to_string(number) +
                       " was deallocated while a command buffer that waits for it or signals it "
                       "had not completed (status < MTLCommandBufferStatusCompleted)");
}

void signal_event(Event& event, std::uint64_t value, Notifications& due) {
  if (raise(event, value, "signal", due)) event.is_stored = false;
  take_late(due);
}

void store_event(Event& event, std::uint64_t value) {
  Notifications due;
  {
    const gpu::Lock lock(state().mutex);
    if (raise(event, value, "store by the host", due)) event.is_stored = true;
    if (options().adversities.late_listeners && !due.empty()) {
      auto& late = state().late_notifications;
      for (auto& function : due) late.push_back(std::move(function));
      due.clear();
      run_later(kListenerDelay, [] {
        Notifications now_due;
        {
          const gpu::Lock inner(state().mutex);
          take_late(now_due);
        }
        run(now_due);
      });
    }
  }
  run(due);
}

std::uint64_t event_value(const Event& event) {
  const gpu::Lock lock(state().mutex);
  return event.value;
}

void listen(Event& event, std::uint64_t value, std::function<void(std::uint64_t value)> function) {
  std::uint64_t reached = 0;
  {
    const gpu::Lock lock(state().mutex);
    if (event.value < value) {
      event.listeners.push_back({value, std::move(function)});
      return;
    }
    reached = event.value;
  }
  function(reached);
}

bool wait_for_event(const Event& event, std::uint64_t value, Nanoseconds deadline) {
  gpu::Lock lock(state().mutex);
  return state().progress.wait_until(lock, deadline, [&] { return event.value >= value; });
}

}  // namespace halyard::inline v0::sim::metal
