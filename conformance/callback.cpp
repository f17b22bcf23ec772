// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callbacks of semaphores: when they run, how often, and what they may do.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace callback {
namespace {

using hal::Semaphore;

Status cause() { return Status(StatusCode::kDataLoss, "the cause of it", "E_NATIVE"); }

// ---- Callbacks

void callback_runs_once_when_the_value_is_reached(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<int> runs = 0;
  const auto registration = s.on_reach(2, [&](const Status& status) {
    VERIFY_OK(status);
    ++runs;
  });
  VERIFY_OK(registration);
  VERIFY_OK(s.signal(1));
  VERIFY_EQ(runs.load(), 0);
  VERIFY_OK(s.signal(2));
  VERIFY_UNTIL(runs == 1);
  VERIFY_OK(s.signal(3));
  VERIFY_EQ(runs.load(), 1);
}

void callback_of_a_reached_value_runs_before_on_reach_returns(Context& t) {
  const Semaphore s = t.semaphore(2);
  int runs = 0;
  const auto registration = s.on_reach(2, [&](const Status& status) {
    VERIFY_OK(status);
    ++runs;
  });
  VERIFY_EQ(runs, 1);
}

void callback_gets_the_failure(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<int> runs = 0;
  const auto expect = [&](const Status& status) {
    VERIFY_CODE(status, StatusCode::kDataLoss);
    ++runs;
  };
  const auto before = s.on_reach(1, expect);
  s.fail(cause());
  VERIFY_UNTIL(runs == 1);
  const auto after = s.on_reach(1, expect);
  VERIFY_EQ(runs.load(), 2);
}

void callback_of_a_destroyed_registration_does_not_run(Context& t) {
  const Semaphore s = t.semaphore();
  bool ran = false;
  auto destroyed = std::make_shared<int>(0);
  {
    const auto registration = s.on_reach(1, [&ran, destroyed](const Status&) { ran = true; });
    VERIFY_OK(registration);
  }
  VERIFY_EQ(destroyed.use_count(), 1);
  VERIFY_OK(s.signal(1));
  VERIFY(!ran);
}

void callback_does_not_run_after_its_registration_is_destroyed_in_a_race(Context& t) {
  for (std::uint64_t round = 1; round <= 200; ++round) {
    const Semaphore s = t.semaphore();
    std::atomic<bool> destroyed = false;
    Threads threads;
    {
      auto registration = s.on_reach(1, [&](const Status&) { VERIFY(!destroyed); }).value();
      threads.start([&] { VERIFY_OK(s.signal(1)); });
      registration.reset();
      destroyed = true;
    }
  }
}

void callback_may_signal(Context& t) {
  const std::vector<Semaphore> s = t.semaphores(10);
  std::vector<hal::Registration> registrations;
  for (std::size_t i = 0; i + 1 < s.size(); ++i) {
    registrations.push_back(
        s[i].on_reach(1, [&, i](const Status&) { VERIFY_OK(s[i + 1].signal(1)); }).value());
  }
  VERIFY_OK(s[0].signal(1));
  VERIFY_OK(s.back().wait(1, kWatchdog));
}

void callback_may_submit(Context& t) {
  const Semaphore s = t.semaphore();
  const Semaphore done = t.semaphore();
  const auto registration = s.on_reach(1, [&](const Status&) {
    VERIFY_OK(t.queue().barrier({.wait = {{s, 1}}, .signal = {{done, 1}}}));
  });
  VERIFY_OK(s.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void callback_may_destroy_its_registration(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<bool> ran = false;
  std::optional<hal::Registration> registration;
  registration = s.on_reach(1, [&](const Status&) {
                    registration.reset();
                    ran = true;
                  }).value();
  VERIFY_OK(s.signal(1));
  VERIFY_UNTIL(ran.load());
}

void callback_runs_when_a_device_signals(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<bool> ran = false;
  const auto registration = s.on_reach(1, [&](const Status& status) {
    VERIFY_OK(status);
    ran = true;
  });
  VERIFY_OK(t.queue().barrier({.signal = {{s, 1}}}));
  VERIFY_UNTIL(ran.load());
}

void every_callback_of_a_value_runs_once(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<int> runs = 0;
  std::vector<hal::Registration> registrations(16);
  Threads threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.start([&, i] {
      for (std::size_t n = i; n < registrations.size(); n += 4) {
        registrations[n] = s.on_reach(1, [&](const Status& status) {
                              VERIFY_OK(status);
                              ++runs;
                            }).value();
      }
    });
  }
  // Some callbacks are registered before the signal, some perhaps after it.
  VERIFY_OK(t.queue().barrier({.signal = {{s, 1}}}));
  threads.join();
  VERIFY_UNTIL(runs == 16);
  VERIFY_OK(s.signal(2));
  VERIFY_EQ(runs.load(), 16);
}

void callback_is_told_when_the_last_signaller_is_gone(Context& t) {
  std::atomic<int> runs = 0;
  Semaphore s = t.semaphore();
  const auto registration = s.on_reach(1, [&](const Status& status) {
    VERIFY_CODE(status, StatusCode::kCancelled);
    ++runs;
  });
  s = {};
  VERIFY_UNTIL(runs == 1);
}

// A readable descriptor signals a semaphore, and a callback makes a descriptor readable for a poll
// loop. Pipes exist on every POSIX system; an eventfd works the same way.
void descriptors_start_work_and_hear_of_its_end(Context& t) {
  struct Pipe {
    int end[2] = {-1, -1};
    Pipe() { (void)!::pipe(end); }
    ~Pipe() { ::close(end[0]), ::close(end[1]); }
  } start, ended;
  const Semaphore s = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{s, 1}}, .signal = {{done, 1}}}));
  const auto registration = done.on_reach(1, [&](const Status& status) {
    const auto code = static_cast<unsigned char>(status.code());
    VERIFY(::write(ended.end[1], &code, 1) == 1);
  });
  Threads threads;
  threads.start([&] {
    char byte;
    VERIFY(::read(start.end[0], &byte, 1) == 1);
    VERIFY_OK(s.signal(1));
  });
  ::pollfd readable{ended.end[0], POLLIN, 0};
  VERIFY_EQ(::poll(&readable, 1, 0), 0);
  VERIFY(::write(start.end[1], "", 1) == 1);
  constexpr auto kLimit = std::chrono::duration_cast<std::chrono::milliseconds>(kWatchdog);
  VERIFY_EQ(::poll(&readable, 1, static_cast<int>(kLimit.count())), 1);
  unsigned char code = 0xff;
  VERIFY(::read(ended.end[0], &code, 1) == 1);
  VERIFY_EQ(code, 0);
}

#define CASE(name) {"callback", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"callback", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(callback_runs_once_when_the_value_is_reached),
    CASE(callback_of_a_reached_value_runs_before_on_reach_returns),
    CASE(callback_gets_the_failure),
    CASE(callback_of_a_destroyed_registration_does_not_run),
    CASE(callback_does_not_run_after_its_registration_is_destroyed_in_a_race),
    CASE(callback_may_signal),
    CASE_ON_EVERY_QUEUE(callback_may_submit),
    CASE(callback_may_destroy_its_registration),
    CASE_ON_EVERY_QUEUE(callback_runs_when_a_device_signals),
    CASE_ON_EVERY_QUEUE(every_callback_of_a_value_runs_once),
    CASE(callback_is_told_when_the_last_signaller_is_gone),
    CASE_ON_EVERY_QUEUE(descriptors_start_work_and_hear_of_its_end),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace callback

std::span<const Case> callback_cases() noexcept { return callback::kCases; }

}  // namespace halyard::inline v0::conformance
