// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An Explorer's records of a thread, of a state, and of an address.
#pragma once

#include <memory>
#include <vector>

#include "simulation/explore/explorer.h"

namespace halyard::inline v0::timeline {
class WorkList;
}

namespace halyard::inline v0::sim {

struct Explorer::Thread {
  enum class State : std::uint8_t { kReady, kAsleep, kWoken, kEnded };
  struct Access {
    const void* address = nullptr;  // null: nothing shared
    Kind kind = Kind::kRead;
    const void* where = nullptr;
    bool conflicts_with(const Access& other) const noexcept {
      return address != nullptr && address == other.address &&
             (kind != Kind::kRead || other.kind != Kind::kRead);
    }
  };
  struct Condition {
    const void* address;
    base::Holds holds;
    std::uint64_t value;
  };

  std::uint8_t number = 0;
  const Program::Body* body = nullptr;
  std::unique_ptr<Fiber> fiber;
  timeline::WorkList* effects = nullptr;  // timeline::active_list, while it does not run
  State state = State::kReady;
  Access next;
  Condition condition{};  // of the next access
  Steps clock{};          // the last step of each thread that happened before the next access
  std::vector<const void*> seen;  // since the last pause
  bool paused = false;
  bool stirred = false;  // an address in `seen` was written to
  Nanoseconds time = 1'000'000'000;
  const void* asleep_on = nullptr;
  Nanoseconds deadline = 0;
  bool in_time = true;

  // Whether the thread can make `next` now or later, independent of other threads.
  bool stands_before_step() const noexcept {
    return state == State::kReady ||
           (state == State::kAsleep && deadline != Deadline::kForeverTime);
  }
};

struct Explorer::Node {
  Mask enabled = 0;
  Mask sleep = 0;      // need not be tried, as nothing dependent has happened since they were
  Mask backtrack = 0;  // to be tried
  Mask done = 0;       // tried, or being tried
  std::uint8_t chosen = 0;
  int preemptions = 0;  // on the way here
};

// The latest accesses to an address in this run.
struct Explorer::Touched {
  const void* address = nullptr;
  std::uint32_t run = 0;
  std::uint32_t write = 0;  // the step, from 1
  std::uint8_t writer = 0;
  Steps reads{};  // since that write, by thread
  Steps written_clock{}, read_clock{};
};

}  // namespace halyard::inline v0::sim
