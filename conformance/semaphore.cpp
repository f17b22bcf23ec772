// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semaphores by themselves: values, failures, waits of the host, callbacks.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <random>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace semaphore {
namespace {

using namespace std::chrono_literals;
using hal::Point;
using hal::Semaphore;

constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << 63) - 1;

Status cause() { return Status(StatusCode::kDataLoss, "the cause of it", "E_NATIVE"); }

// ---- Values

void initial_value_is_queried_back(Context& t) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100},
                                    std::uint64_t{1} << 31, std::uint64_t{1} << 32, kMaxValue}) {
    VERIFY_VALUE(t.semaphore(value), value);
  }
}

void initial_value_beyond_the_greatest_is_refused(Context& t) {
  VERIFY_CODE(t.device().create_semaphore(kMaxValue + 1), StatusCode::kInvalidArgument);
}

void signalled_values_are_queried_back(Context& t) {
  const Semaphore s = t.semaphore(1);
  for (std::uint64_t value = 2; value < 50; ++value) {
    VERIFY_OK(s.signal(value));
    VERIFY_VALUE(s, value);
  }
}

void signal_may_skip_values(Context& t) {
  const Semaphore s = t.semaphore();
  VERIFY_OK(s.signal(std::uint64_t{1} << 40));
  VERIFY_VALUE(s, std::uint64_t{1} << 40);
}

void signal_of_the_current_value_is_refused(Context& t) {
  const Semaphore s = t.semaphore(7);
  VERIFY_CODE(s.signal(7), StatusCode::kInvalidArgument);
  VERIFY_VALUE(s, 7);
}

void signal_of_an_earlier_value_is_refused(Context& t) {
  const Semaphore s = t.semaphore(7);
  VERIFY_CODE(s.signal(6), StatusCode::kInvalidArgument);
  VERIFY_CODE(s.signal(0), StatusCode::kInvalidArgument);
  VERIFY_VALUE(s, 7);
  VERIFY_OK(s.signal(8));
}

void greatest_value_can_be_signalled(Context& t) {
  const Semaphore s = t.semaphore(kMaxValue - 1);
  VERIFY_OK(s.signal(kMaxValue));
  VERIFY_OK(s.wait(kMaxValue, kNow));
}

void signal_beyond_the_greatest_value_is_refused(Context& t) {
  const Semaphore s = t.semaphore();
  VERIFY_CODE(s.signal(kMaxValue + 1), StatusCode::kInvalidArgument);
  VERIFY_CODE(s.signal(~std::uint64_t{0}), StatusCode::kInvalidArgument);
  VERIFY_VALUE(s, 0);
}

// post() is for threads that may neither call a driver nor run a callback.
void posted_value_releases_what_waits_on_threads_of_the_runtime(Context& t) {
  const Semaphore s = t.semaphore();
  const Semaphore done = t.semaphore();
  std::atomic<bool> called = false;
  const std::thread::id self = std::this_thread::get_id();
  const auto registration = s.on_reach(3, [&](const Status& status) {
    VERIFY_OK(status);
    VERIFY(std::this_thread::get_id() != self);
    called = true;
  });
  VERIFY_OK(registration);
  for (const std::size_t device : {0u, 1u}) {
    VERIFY_OK(t.queue(device).barrier(
        {.wait = {{s, 2 + device}, {done, device}}, .signal = {{done, 1 + device}}}));
  }
  VERIFY_OK(s.post(3));
  VERIFY_VALUE(s, 3);
  VERIFY_UNTIL(called.load());
  VERIFY_OK(done.wait(2, kWatchdog));
}

void post_is_refused_as_a_signal_is(Context& t) {
  const Semaphore s = t.semaphore(7);
  for (const std::uint64_t value : {std::uint64_t{7}, std::uint64_t{6}, kMaxValue + 1}) {
    VERIFY_CODE(s.post(value), StatusCode::kInvalidArgument);
  }
  VERIFY_CODE(Semaphore().post(1), StatusCode::kInvalidArgument);
  s.fail(cause());
  VERIFY_CODE(s.post(8), StatusCode::kDataLoss);
}

void posts_and_signals_play_ping_pong(Context& t) {
  const Semaphore s = t.semaphore();
  const Semaphore back = t.semaphore();
  const std::uint64_t rounds = t.rounds(100);
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    VERIFY_OK(t.queue(i % 2).barrier({.wait = {{s, i}}, .signal = {{back, i}}}));
    VERIFY_OK(i % 3 != 0 ? s.post(i) : s.signal(i));
    VERIFY_OK(back.wait(i, kWatchdog));
  }
}

void values_never_go_back(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> queries = 0;
  Threads threads;
  threads.start([&] {
    std::uint64_t last = 0;
    for (; !done.load(); ++queries) {
      const std::uint64_t now = s.query().value();
      if (now < last) t.fail(__FILE__, __LINE__, fmt::format("{} after {}", now, last));
      last = now;
    }
  });
  // Large steps: two values may differ by any amount.
  constexpr std::uint64_t kStep = std::uint64_t{1} << 52;
  for (std::uint64_t value = kStep; value <= kMaxValue - kStep; value += kStep) {
    if (value / kStep % 128 == 1) {
      const std::uint64_t before = queries.load();
      VERIFY_UNTIL(queries.load() > before + 1);  // a whole query has run since
    }
    if (!s.signal(value).ok()) t.fail(__FILE__, __LINE__, fmt::format("signal({})", value));
  }
  done = true;
}

void concurrent_signals_leave_the_largest(Context& t) {
  const Semaphore s = t.semaphore();
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kRounds = 2000;
  Threads threads;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.start([&, i] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const Status status = s.signal(1 + round * kThreads + i);
        if (!status.ok()) VERIFY_CODE(status, StatusCode::kInvalidArgument);
      }
    });
  }
  threads.join();
  VERIFY_VALUE(s, kThreads * kRounds);
}

void observed_value_never_exceeds_the_signalled_one(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<std::uint64_t> next = 0;
  Threads threads;
  threads.start([&] {
    for (std::uint64_t value = 1; value <= 5000; ++value) {
      next = value;
      VERIFY_OK(s.signal(value));
    }
  });
  for (std::uint64_t seen = 0; seen < 5000;) {
    seen = s.query().value();
    if (seen > next) t.fail(__FILE__, __LINE__, fmt::format("{} beyond {}", seen, next.load()));
  }
}

void copies_share_one_value(Context& t) {
  const Semaphore s = t.semaphore();
  const Semaphore copy = s;
  VERIFY_OK(copy.signal(3));
  VERIFY_VALUE(s, 3);
  VERIFY(s == copy);
  VERIFY(!(s == t.semaphore(3)));
}

// ---- Waits

void reached_values_are_waited_for_at_once(Context& t) {
  const Semaphore s = t.semaphore(5);
  for (std::uint64_t value = 0; value <= 5; ++value) VERIFY_OK(s.wait(value, kNow));
}

void unreached_value_gives_deadline_exceeded(Context& t) {
  const Semaphore s = t.semaphore(5);
  VERIFY_CODE(s.wait(6, kNow), StatusCode::kDeadlineExceeded);
  VERIFY_VALUE(s, 5);
}

void relative_deadline_ends_a_wait(Context& t) {
  const Semaphore s = t.semaphore();
  const auto start = std::chrono::steady_clock::now();
  VERIFY_CODE(s.wait(1, 5ms), StatusCode::kDeadlineExceeded);
  VERIFY(std::chrono::steady_clock::now() - start >= 5ms);
}

void absolute_deadline_ends_a_wait(Context& t) {
  const Semaphore s = t.semaphore();
  const auto end = std::chrono::steady_clock::now() + 5ms;
  VERIFY_CODE(s.wait(1, end), StatusCode::kDeadlineExceeded);
  VERIFY(std::chrono::steady_clock::now() >= end);
  VERIFY_CODE(s.wait(1, end), StatusCode::kDeadlineExceeded);
}

void negative_deadline_is_now(Context& t) {
  VERIFY_CODE(t.semaphore().wait(1, -5s), StatusCode::kDeadlineExceeded);
  VERIFY_OK(t.semaphore(1).wait(1, -5s));
}

void passed_deadline_names_the_semaphore(Context& t) {
  const Semaphore s = t.device().create_semaphore(0, "the one I wait for").value();
  const Status status = s.wait(1, kNow);
  VERIFY(status.message().find("the one I wait for") != std::string_view::npos);
}

void later_signal_wakes_a_waiter(Context& t) {
  const Semaphore s = t.semaphore();
  Threads threads;
  threads.start([&] { VERIFY_OK(s.wait(1, kWatchdog)); });
  VERIFY_CODE(s.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(s.signal(1));
}

void signal_beyond_the_awaited_value_wakes(Context& t) {
  const Semaphore s = t.semaphore();
  Threads threads;
  threads.start([&] { VERIFY_OK(s.wait(3, kWatchdog)); });
  VERIFY_CODE(s.wait(3, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(s.signal(1000));
}

void all_waiters_of_one_value_wake(Context& t) {
  const Semaphore s = t.semaphore();
  std::atomic<int> woken = 0;
  Threads threads;
  for (int i = 0; i < 8; ++i) {
    threads.start([&] {
      VERIFY_OK(s.wait(4, kWatchdog));
      ++woken;
    });
  }
  VERIFY_OK(s.signal(3));
  VERIFY_CODE(s.wait(4, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_EQ(woken.load(), 0);
  VERIFY_OK(s.signal(4));
  threads.join();
  VERIFY_EQ(woken.load(), 8);
}

void waiter_sees_no_value_below_its_own(Context& t) {
  const Semaphore s = t.semaphore();
  Threads threads;
  for (std::uint64_t value = 1; value <= 8; ++value) {
    threads.start([&, value] {
      VERIFY_OK(s.wait(value, kWatchdog));
      VERIFY(s.query().value() >= value);
    });
  }
  for (std::uint64_t value = 1; value <= 8; ++value) VERIFY_OK(s.signal(value));
}

void two_threads_play_ping_pong(Context& t) {
  const Semaphore a = t.semaphore();
  const Semaphore b = t.semaphore();
  Threads threads;
  threads.start([&] {
    for (std::uint64_t i = 1; i <= 200; ++i) {
      VERIFY_OK(a.wait(i, kWatchdog));
      VERIFY_OK(b.signal(i));
    }
  });
  for (std::uint64_t i = 1; i <= 200; ++i) {
    VERIFY_OK(a.signal(i));
    VERIFY_OK(b.wait(i, kWatchdog));
  }
}

void lists_of_nothing_are_satisfied(Context& t) {
  VERIFY_OK(hal::wait_all({}, kNow));
  VERIFY_OK(hal::wait_any({}, kNow));
}

void wait_all_needs_every_point(Context& t) {
  const Semaphore a = t.semaphore(1);
  const Semaphore b = t.semaphore(0);
  VERIFY_CODE(hal::wait_all({{a, 1}, {b, 1}}, kNow), StatusCode::kDeadlineExceeded);
  VERIFY_OK(b.signal(2));
  VERIFY_OK(hal::wait_all({{a, 1}, {b, 1}}, kNow));
}

void wait_any_needs_one_point(Context& t) {
  const Semaphore a = t.semaphore(0);
  const Semaphore b = t.semaphore(0);
  VERIFY_CODE(hal::wait_any({{a, 1}, {b, 1}}, kNow), StatusCode::kDeadlineExceeded);
  VERIFY_OK(b.signal(1));
  VERIFY_OK(hal::wait_any({{a, 1}, {b, 1}}, kNow));
}

void one_signal_wakes_wait_any(Context& t) {
  const std::vector<Semaphore> s = t.semaphores(5);
  Threads threads;
  threads.start([&] {
    std::vector<Point> points;
    for (const Semaphore& each : s) points.emplace_back(each, 1);
    VERIFY_OK(hal::wait_any(points, kWatchdog));
  });
  VERIFY_CODE(s[0].wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(s[3].signal(1));
}

void last_signal_wakes_wait_all(Context& t) {
  const std::vector<Semaphore> s = t.semaphores(5);
  std::atomic<bool> woken = false;
  Threads threads;
  threads.start([&] {
    std::vector<Point> points;
    for (const Semaphore& each : s) points.emplace_back(each, 1);
    VERIFY_OK(hal::wait_all(points, kWatchdog));
    woken = true;
  });
  for (std::size_t i : {4u, 1u, 0u, 2u}) VERIFY_OK(s[i].signal(1));
  VERIFY_CODE(s[3].wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY(!woken);
  VERIFY_OK(s[3].signal(1));
}

void several_threads_wait_for_the_same_list(Context& t) {
  const Semaphore a = t.semaphore();
  const Semaphore b = t.semaphore();
  std::atomic<int> begun = 0;
  std::atomic<int> woken = 0;
  Threads threads;
  for (int i = 0; i < 6; ++i) {
    threads.start([&, i] {
      ++begun;
      if (i % 2 == 0) {
        VERIFY_OK(hal::wait_all({{a, 1}, {b, 1}}, kWatchdog));
      } else {
        VERIFY_OK(hal::wait_all({{b, 1}, {a, 1}}, kWatchdog));
      }
      ++woken;
    });
  }
  // The threads sleep when the first signal arrives, and again when the second does.
  VERIFY_UNTIL(begun.load() == 6);
  VERIFY_CODE(hal::wait_any({{a, 1}, {b, 1}}, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(a.signal(1));
  VERIFY_CODE(b.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_EQ(woken.load(), 0);
  VERIFY_OK(b.signal(1));
  threads.join();
  VERIFY_EQ(woken.load(), 6);
}

// The facts of the Vulkan suite's group `wait`.
void hundred_semaphores_at_random_values(Context& t, bool by_device, bool all) {
  std::mt19937 random(by_device ? 1 : 2);
  const std::vector<Semaphore> s = t.semaphores(100);
  std::vector<Point> points;
  for (const Semaphore& each : s) points.emplace_back(each, random() % 10000 + 1);
  const auto signal = [&](std::size_t i) {
    if (by_device) {
      VERIFY_OK(t.queue().barrier({.signal = {points[i]}}));
    } else {
      VERIFY_OK(s[i].signal(points[i].value()));
    }
  };
  if (all) {
    for (std::size_t i = 0; i < s.size(); ++i) signal(i);
    VERIFY_OK(hal::wait_all(points, kWatchdog));
    VERIFY_OK(hal::wait_all(points, kNow));
  } else {
    signal(random() % 100);
    VERIFY_OK(hal::wait_any(points, kWatchdog));
    VERIFY_OK(hal::wait_any(points, kNow));
    VERIFY_CODE(hal::wait_all(points, kNow), StatusCode::kDeadlineExceeded);
  }
}
void hundred_host_signals_satisfy_wait_all(Context& t) {
  hundred_semaphores_at_random_values(t, false, true);
}
void hundred_device_signals_satisfy_wait_all(Context& t) {
  hundred_semaphores_at_random_values(t, true, true);
}
void one_host_signal_of_a_hundred_satisfies_wait_any(Context& t) {
  hundred_semaphores_at_random_values(t, false, false);
}
void one_device_signal_of_a_hundred_satisfies_wait_any(Context& t) {
  hundred_semaphores_at_random_values(t, true, false);
}

// ---- Failure

void failure_keeps_code_message_and_origin(Context& t) {
  const Semaphore s = t.semaphore();
  s.fail(cause());
  for (const Status& status : {s.query().status(), s.wait(1, kNow), s.signal(1)}) {
    VERIFY_CODE(status, StatusCode::kDataLoss);
    VERIFY_EQ(status.message(), "the cause of it");
    VERIFY_EQ(status.native_error(), "E_NATIVE");
  }
}

void first_failure_wins(Context& t) {
  const Semaphore s = t.semaphore();
  s.fail(Status(StatusCode::kUnavailable, "first"));
  s.fail(Status(StatusCode::kInternal, "second"));
  VERIFY_CODE(s.query(), StatusCode::kUnavailable);
  VERIFY_EQ(s.query().status().message(), "first");
}

void ok_status_fails_nothing(Context& t) {
  const Semaphore s = t.semaphore(1);
  s.fail(Status());
  VERIFY_VALUE(s, 1);
  VERIFY_OK(s.signal(2));
}

void value_reached_before_the_failure_is_still_reached(Context& t) {
  const Semaphore s = t.semaphore(4);
  s.fail(cause());
  VERIFY_OK(s.wait(3, kNow));
  VERIFY_OK(s.wait(4, kNow));
  VERIFY_CODE(s.wait(5, kWatchdog), StatusCode::kDataLoss);
}

void failure_wakes_a_waiter(Context& t) {
  const Semaphore s = t.semaphore();
  Threads threads;
  threads.start([&] { VERIFY_CODE(s.wait(1, kWatchdog), StatusCode::kDataLoss); });
  VERIFY_CODE(s.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  s.fail(cause());
}

void failure_of_one_ends_wait_all(Context& t) {
  const Semaphore a = t.semaphore();
  const Semaphore b = t.semaphore(3);
  Threads threads;
  threads.start(
      [&] { VERIFY_CODE(hal::wait_all({{b, 4}, {a, 1}}, kWatchdog), StatusCode::kDataLoss); });
  VERIFY_CODE(a.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  a.fail(cause());
  threads.join();
  VERIFY_VALUE(b, 3);
}

void wait_any_takes_success_before_failure(Context& t) {
  const Semaphore failed = t.semaphore();
  const Semaphore reached = t.semaphore(1);
  failed.fail(cause());
  VERIFY_OK(hal::wait_any({{failed, 1}, {reached, 1}}, kNow));
}

void wait_any_without_success_returns_the_failure(Context& t) {
  const Semaphore failed = t.semaphore();
  const Semaphore open = t.semaphore();
  failed.fail(cause());
  VERIFY_CODE(hal::wait_any({{open, 1}, {failed, 1}}, kWatchdog), StatusCode::kDataLoss);
}

void signals_racing_a_failure_stay_below_it(Context& t) {
  for (int round = 0; round < 50; ++round) {
    const Semaphore s = t.semaphore();
    std::uint64_t signalled = 0;
    Threads threads;
    threads.start([&] {
      for (std::uint64_t value = 1; s.signal(value).ok(); ++value) signalled = value;
    });
    VERIFY_UNTIL(!s.query().ok() || *s.query() > 3);
    s.fail(cause());
    threads.join();
    VERIFY_OK(s.wait(signalled, kNow));
    VERIFY_CODE(s.wait(signalled + 1, kNow), StatusCode::kDataLoss);
  }
}

#define CASE(name) {"semaphore", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"semaphore", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(initial_value_is_queried_back),
    CASE(initial_value_beyond_the_greatest_is_refused),
    CASE(signalled_values_are_queried_back),
    CASE(signal_may_skip_values),
    CASE(signal_of_the_current_value_is_refused),
    CASE(signal_of_an_earlier_value_is_refused),
    CASE(greatest_value_can_be_signalled),
    CASE(signal_beyond_the_greatest_value_is_refused),
    CASE_ON_EVERY_QUEUE(posted_value_releases_what_waits_on_threads_of_the_runtime),
    CASE(post_is_refused_as_a_signal_is),
    CASE_ON_EVERY_QUEUE(posts_and_signals_play_ping_pong),
    CASE(values_never_go_back),
    CASE(concurrent_signals_leave_the_largest),
    CASE(observed_value_never_exceeds_the_signalled_one),
    CASE(copies_share_one_value),
    CASE(reached_values_are_waited_for_at_once),
    CASE(unreached_value_gives_deadline_exceeded),
    CASE(relative_deadline_ends_a_wait),
    CASE(absolute_deadline_ends_a_wait),
    CASE(negative_deadline_is_now),
    CASE(passed_deadline_names_the_semaphore),
    CASE(later_signal_wakes_a_waiter),
    CASE(signal_beyond_the_awaited_value_wakes),
    CASE(all_waiters_of_one_value_wake),
    CASE(waiter_sees_no_value_below_its_own),
    CASE(two_threads_play_ping_pong),
    CASE(lists_of_nothing_are_satisfied),
    CASE(wait_all_needs_every_point),
    CASE(wait_any_needs_one_point),
    CASE(one_signal_wakes_wait_any),
    CASE(last_signal_wakes_wait_all),
    CASE(several_threads_wait_for_the_same_list),
    CASE(hundred_host_signals_satisfy_wait_all),
    CASE_ON_EVERY_QUEUE(hundred_device_signals_satisfy_wait_all),
    CASE(one_host_signal_of_a_hundred_satisfies_wait_any),
    CASE_ON_EVERY_QUEUE(one_device_signal_of_a_hundred_satisfies_wait_any),
    CASE(failure_keeps_code_message_and_origin),
    CASE(first_failure_wins),
    CASE(ok_status_fails_nothing),
    CASE(value_reached_before_the_failure_is_still_reached),
    CASE(failure_wakes_a_waiter),
    CASE(failure_of_one_ends_wait_all),
    CASE(wait_any_takes_success_before_failure),
    CASE(wait_any_without_success_returns_the_failure),
    CASE(signals_racing_a_failure_stay_below_it),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace semaphore

std::span<const Case> semaphore_cases() noexcept { return semaphore::kCases; }

}  // namespace halyard::inline v0::conformance
