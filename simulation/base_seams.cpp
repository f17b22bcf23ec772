// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The system services of base/ in a simulation build: threads, futexes, time, spinning, the number
// of processors. Replaces base/clock.cpp, futex.cpp, thread.cpp and processor_count.cpp.
#include <algorithm>

#include "base/futex.h"
#include "base/machine.h"
#include "base/thread.h"
#include "halyard/base/clock.h"
#include "simulation/explore/explorer.h"
#include "simulation/scheduler.h"

namespace halyard::inline v0 {

using sim::Explorer;
using sim::Scheduler;

namespace {

constexpr Nanoseconds kSpuriousSleep = 500;  // until a wait ends without a wake-up

class VirtualClock final : public Clock {
 public:
  Nanoseconds now() noexcept override {
    if (Explorer* const explorer = Explorer::current()) return explorer->now();
    Scheduler* const scheduler = Scheduler::current();
    return scheduler != nullptr ? scheduler->now() : 0;
  }
};

}  // namespace

Clock& Clock::steady() noexcept {
  static VirtualClock clock;
  return clock;
}

namespace base {

unsigned processor_count() noexcept { return 2; }  // a seed is the same schedule on every machine

void decide_schedule(const void* address, Touch touch) noexcept {
  if (Explorer* const explorer = Explorer::current()) {
    const auto kind = touch == Touch::kRead ? Explorer::Kind::kRead : Explorer::Kind::kWrite;
    return explorer->access(address, kind, __builtin_return_address(0));
  }
  if (Scheduler* const scheduler = Scheduler::current()) scheduler->decide();
}

bool weak_exchange_fails() noexcept {
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr && scheduler->spurious();
}

void delay_next_access(const void* address, Holds holds, std::uint64_t value) noexcept {
  if (Explorer* const explorer = Explorer::current()) {
    explorer->delay_next_access(address, holds, value);
  }
}

void spin_pause() noexcept {
  if (Explorer* const explorer = Explorer::current()) return explorer->pause();
  if (Scheduler* const scheduler = Scheduler::current()) scheduler->pause();
}

// Comparing and going to sleep are a single step, as in the kernel. Outside a simulation no thread
// waits.
bool futex_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                Nanoseconds deadline) noexcept {
  if (Explorer* const explorer = Explorer::current()) {
    explorer->access(&word, Explorer::Kind::kSleep, __builtin_return_address(0));
    return word.peek() != expected || explorer->sleep(&word, deadline);
  }
  schedule_point(&word, Touch::kWrite);
  if (word.peek() != expected) return true;
  Scheduler& scheduler = *Scheduler::current();
  if (scheduler.spurious()) {
    (void)scheduler.sleep(&word, std::min(deadline, scheduler.now() + kSpuriousSleep));
    return true;
  }
  return scheduler.sleep(&word, deadline);
}

void futex_wake(const Atomic<std::uint32_t>& word, int count) noexcept {
  if (Explorer* const explorer = Explorer::current()) {
    explorer->access(&word, Explorer::Kind::kWake, __builtin_return_address(0));
    return explorer->wake(&word, count);
  }
  Scheduler* const scheduler = Scheduler::current();
  if (scheduler == nullptr) return;
  scheduler->wake(&word, count);
  schedule_point(&word, Touch::kWrite);
}

std::uint64_t this_thread() noexcept {
  if (Explorer* const explorer = Explorer::current()) return explorer->this_thread();
  Scheduler* const scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->this_thread() : 0;
}

int Thread::start(const char* name, void (*body)(void*), void* argument,
                  std::span<const unsigned>) noexcept {
  name_ = name;
  handle_ = reinterpret_cast<pthread_t>(&Scheduler::current()->start(name, body, argument));
  started_ = true;
  return 0;
}

void Thread::join() noexcept {
  Scheduler::current()->join(*reinterpret_cast<Scheduler::Thread*>(handle_));
  started_ = false;
}

bool Thread::try_join() noexcept {
  if (!Scheduler::current()->try_join(*reinterpret_cast<Scheduler::Thread*>(handle_))) return false;
  started_ = false;
  return true;
}

void Thread::detach() noexcept { started_ = false; }

}  // namespace base
}  // namespace halyard::inline v0
