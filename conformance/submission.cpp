// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Submissions: their waits, their signals, and that only semaphores order them.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace submission {
namespace {

using namespace std::chrono_literals;
using hal::Buffer;
using hal::Point;
using hal::Queue;
using hal::Semaphore;

std::uint32_t word(const Buffer& buffer, std::size_t index = 0) {
  return buffer.map().value().as<std::uint32_t>()[index];
}

// ---- Signals

void submission_of_nothing_signals(Context& t) {
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.signal = {{done, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_VALUE(done, 1);
}

void submission_without_waits_or_signals_is_accepted(Context& t) {
  VERIFY_OK(t.queue().barrier({}));
  VERIFY_OK(t.queue().barrier_and_wait({}, kWatchdog));
}

void signal_may_skip_values(Context& t) {
  const Semaphore done = t.semaphore(3);
  // Values beyond 31, 32 and 62 bits too: each barrier waits for the value before, on a queue.
  std::uint64_t before = 3;
  for (const std::uint64_t value :
       {std::uint64_t{1'000'000}, (std::uint64_t{1} << 31) - 1, (std::uint64_t{1} << 31) + 5,
        (std::uint64_t{1} << 32) + 1, std::uint64_t{1} << 62}) {
    VERIFY_OK(t.queue().barrier({.wait = {{done, before}}, .signal = {{done, value}}}));
    before = value;
  }
  VERIFY_OK(done.wait(before, kWatchdog));
  VERIFY_VALUE(done, before);
}

void work_is_visible_when_its_signal_is_seen(Context& t) {
  const Buffer buffer = t.buffer(64 << 10);
  const Semaphore done = t.semaphore();
  for (std::uint32_t round = 1; round <= 50; ++round) {
    VERIFY_OK(t.queue().fill(buffer, round, 4, {.signal = {{done, round}}}));
    VERIFY_UNTIL(done.query().value() == round);
    const auto words = buffer.map().value();
    VERIFY(std::ranges::all_of(words.as<std::uint32_t>(), [&](auto w) { return w == round; }));
  }
}

void signal_does_not_appear_before_slow_work_is_done(Context& t) {
  const hal::Function busy = t.kernel("busy");
  const Buffer buffer = t.buffer(4, 1);
  const Semaphore done = t.semaphore();
  const std::uint32_t before = word(buffer);
  VERIFY_OK(t.compute().dispatch(busy, {.groups = {1}}, {buffer}, {std::uint32_t{3'000'000}},
                                 {.signal = {{done, 1}}}));
  VERIFY_UNTIL(done.query().value() == 1);
  VERIFY(word(buffer) != before);
}

void every_signal_of_a_submission_advances(Context& t) {
  const std::vector<Semaphore> s = t.semaphores(3);
  VERIFY_OK(t.queue().barrier({.signal = {{s[0], 1}, {s[1], 20}, {s[2], 300}}}));
  VERIFY_OK(hal::wait_all({{s[0], 1}, {s[1], 20}, {s[2], 300}}, kWatchdog));
}

void thousand_signals_of_one_submission_all_advance(Context& t) {
  const std::vector<Semaphore> s = t.semaphores(1000);
  std::vector<Point> points;
  for (const Semaphore& each : s) points.emplace_back(each, 1);
  VERIFY_OK(t.queue().barrier({.signal = points}));
  VERIFY_OK(hal::wait_all(points, kWatchdog));
}

void repeated_signals_keep_the_largest(Context& t) {
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.queue().barrier({.signal = {{s, 2}, {s, 9}, {s, 4}}}));
  VERIFY_OK(s.wait(9, kWatchdog));
  VERIFY_VALUE(s, 9);
}

void late_signal_of_a_lower_value_completes_and_changes_nothing(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore s = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{s, 5}, {done, 1}}}));
  VERIFY_OK(s.signal(7));
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_VALUE(s, 7);
}

// ---- Waits

void signal_stays_until_the_wait_is_reached(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore(100);
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{done, 101}}}));
  VERIFY_CODE(done.wait(101, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_VALUE(done, 100);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(101, kWatchdog));
}

void parked_work_touches_nothing_before_its_wait(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  const Buffer buffer = t.buffer(4096, 0x11);
  VERIFY_OK(t.queue().fill(buffer, 0x22, 1, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_EQ(word(buffer), 0x11111111u);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(word(buffer), 0x22222222u);
}

void reached_waits_hold_nothing_back(Context& t) {
  const Semaphore gate = t.semaphore(5);
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 0}, {gate, 5}}, .signal = {{done, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_VALUE(gate, 5);
}

// {0, 1, 2} waits x {0, 1, 2} signals.
void each_number_of_waits_and_signals_works(Context& t) {
  for (std::size_t wait_count = 0; wait_count <= 2; ++wait_count) {
    for (std::size_t signal_count = 0; signal_count <= 2; ++signal_count) {
      const std::vector<Semaphore> gates = t.semaphores(wait_count);
      const std::vector<Semaphore> done = t.semaphores(signal_count);
      std::vector<Point> waits;
      std::vector<Point> signals;
      for (const Semaphore& gate : gates) waits.emplace_back(gate, 1);
      for (const Semaphore& each : done) signals.emplace_back(each, 1);
      VERIFY_OK(t.queue().barrier({.wait = waits, .signal = signals}));
      for (const Semaphore& gate : gates) {
        for (const Semaphore& each : done) VERIFY_VALUE(each, 0);
        VERIFY_OK(gate.signal(1));
      }
      VERIFY_OK(hal::wait_all(signals, kWatchdog));
    }
  }
}

void wait_lists_of_any_length_are_kept(Context& t) {
  for (const std::size_t count : {1u, 2u, 31u, 32u, 33u, 40u, 64u, 65u, 1000u}) {
    const std::vector<Semaphore> gates = t.semaphores(count);
    const Semaphore done = t.semaphore();
    std::vector<Point> waits;
    for (const Semaphore& gate : gates) waits.emplace_back(gate, 1);
    VERIFY_OK(t.queue().barrier({.wait = waits, .signal = {{done, 1}}}));
    for (std::size_t i = count; i-- > 1;) VERIFY_OK(gates[i].signal(1));
    VERIFY_CODE(done.wait(1, kNow), StatusCode::kDeadlineExceeded);
    VERIFY_OK(gates[0].signal(1));
    VERIFY_OK(done.wait(1, kWatchdog));
  }
}

void repeated_waits_keep_the_largest(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  std::vector<Point> waits;
  for (std::uint64_t i = 1; i <= 100; ++i) waits.emplace_back(gate, i * 37 % 101);
  VERIFY_OK(t.queue().barrier({.wait = waits, .signal = {{done, 1}}}));
  VERIFY_OK(gate.signal(99));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(gate.signal(100));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void larger_signal_before_the_submission_releases_it(Context& t) {
  const Semaphore gate = t.semaphore();
  VERIFY_OK(gate.signal(10));
  VERIFY_OK(t.queue().barrier_and_wait({.wait = {{gate, 3}}}, kWatchdog));
}

void larger_signal_after_the_submission_releases_it(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 3}}, .signal = {{done, 1}}}));
  VERIFY_OK(gate.signal(10));
  VERIFY_OK(done.wait(1, kWatchdog));
}

// Either signal suffices; the contract does not say which of the two resolves the wait.
void either_of_two_pending_signals_beyond_the_value_releases_a_wait(Context& t) {
  for (const bool first : {true, false}) {
    const Semaphore s = t.semaphore();
    const Semaphore gates[2] = {t.semaphore(), t.semaphore()};
    const Semaphore done = t.semaphore();
    VERIFY_OK(t.queue().barrier({.wait = {{gates[0], 1}}, .signal = {{s, 5}}}));
    VERIFY_OK(t.queue().barrier({.wait = {{gates[1], 1}}, .signal = {{s, 7}}}));
    VERIFY_OK(t.queue().barrier({.wait = {{s, 3}}, .signal = {{done, 1}}}));
    VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
    VERIFY_OK(gates[first ? 0 : 1].signal(1));
    VERIFY_OK(done.wait(1, kWatchdog));
    VERIFY_VALUE(s, first ? 5 : 7);
    VERIFY_OK(gates[first ? 1 : 0].signal(1));
    VERIFY_OK(t.queue().wait_idle(kWatchdog));
    VERIFY_VALUE(s, 7);
  }
}

void one_signal_releases_waits_for_different_values(Context& t) {
  const Semaphore gate = t.semaphore();
  const std::vector<Semaphore> done = t.semaphores(3);
  for (std::size_t i = 0; i < 3; ++i) {
    VERIFY_OK(t.queue().barrier({.wait = {{gate, i + 1}}, .signal = {{done[i], 1}}}));
  }
  VERIFY_OK(t.queue().barrier({.signal = {{gate, 3}}}));
  for (const Semaphore& each : done) VERIFY_OK(each.wait(1, kWatchdog));
}

void waits_for_rising_values_are_released_one_by_one(Context& t) {
  const Semaphore gate = t.semaphore();
  const std::vector<Semaphore> done = t.semaphores(4);
  for (std::size_t i = 4; i-- > 0;) {
    VERIFY_OK(t.queue().barrier({.wait = {{gate, i + 1}}, .signal = {{done[i], 1}}}));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    VERIFY_OK(gate.signal(i + 1));
    VERIFY_OK(done[i].wait(1, kWatchdog));
    if (i + 1 < 4) VERIFY_CODE(done[i + 1].wait(1, kNow), StatusCode::kDeadlineExceeded);
  }
}

void fan_out_over_all_queues_waits_for_different_values(Context& t) {
  const Semaphore gate = t.semaphore();
  const std::vector<Queue> queues = t.queues();
  const std::vector<Semaphore> done = t.semaphores(queues.size() * 4);
  std::vector<Point> waiting[8];  // the index is the value that releases them
  for (std::size_t i = 0; i < done.size(); ++i) {
    const std::uint64_t value = i % 7 + 1;
    waiting[value].emplace_back(done[i], 1);
    VERIFY_OK(
        queues[i % queues.size()].barrier({.wait = {{gate, value}}, .signal = {{done[i], 1}}}));
  }
  for (std::uint64_t value = 1; value <= 7; ++value) {
    VERIFY_CODE(hal::wait_any(waiting[value], kAWhile), StatusCode::kDeadlineExceeded);
    VERIFY_OK(gate.signal(value));
    VERIFY_OK(hal::wait_all(waiting[value], kWatchdog));
    for (std::uint64_t larger = value + 1; larger <= 7; ++larger) {
      VERIFY_CODE(hal::wait_any(waiting[larger], kNow), StatusCode::kDeadlineExceeded);
    }
  }
}

// ---- Host and device

void wait_all_takes_host_and_device_signals(Context& t) {
  const Semaphore host = t.semaphore();
  const Semaphore device = t.semaphore();
  VERIFY_OK(t.queue().barrier({.signal = {{device, 1}}}));
  VERIFY_CODE(hal::wait_all({{host, 1}, {device, 1}}, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(host.signal(1));
  VERIFY_OK(hal::wait_all({{host, 1}, {device, 1}}, kWatchdog));
}

void wait_any_returns_when_the_device_signals(Context& t) {
  const Semaphore host = t.semaphore();
  const Semaphore device = t.semaphore();
  VERIFY_OK(t.queue().barrier({.signal = {{device, 1}}}));
  VERIFY_OK(hal::wait_any({{host, 1}, {device, 1}}, kWatchdog));
}

void wait_any_returns_when_the_host_signals(Context& t) {
  const Semaphore host = t.semaphore();
  const Semaphore device = t.semaphore();
  const Semaphore gate = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{device, 1}}}));
  VERIFY_OK(host.signal(1));
  VERIFY_OK(hal::wait_any({{device, 1}, {host, 1}}, kWatchdog));
}

void submission_waits_for_host_and_device_together(Context& t) {
  const Semaphore host = t.semaphore();
  const Semaphore device = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{device, 1}, {host, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(t.queue().barrier({.signal = {{device, 1}}}));
  VERIFY_OK(device.wait(1, kWatchdog));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(host.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void one_signal_releases_a_submission_and_a_host_thread(Context& t) {
  const Semaphore first = t.semaphore();
  const Semaphore second = t.semaphore();
  Threads threads;
  threads.start([&] { VERIFY_OK(first.wait(1, kWatchdog)); });
  VERIFY_OK(t.queue().barrier({.wait = {{first, 1}}, .signal = {{second, 1}}}));
  VERIFY_OK(t.queue().barrier({.signal = {{first, 1}}}));
  VERIFY_OK(second.wait(1, kWatchdog));
}

void intermediate_semaphore_links_two_submissions(Context& t) {
  const Buffer a = t.buffer(1024, 1);
  const Buffer b = t.buffer(1024, 2);
  const Semaphore middle = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().fill(a, 0x77, 1, {.signal = {{middle, 1}}}));
  VERIFY_OK(t.queue().copy(a, b, {.wait = {{middle, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(word(b, 255), 0x77777777u);
}

void two_later_submissions_wait_for_one_of_two_former(Context& t) {
  const Semaphore gate = t.semaphore();
  const std::vector<Semaphore> former = t.semaphores(2);
  const std::vector<Semaphore> later = t.semaphores(2);
  VERIFY_OK(t.queue().barrier({.signal = {{former[0], 1}}}));
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{former[1], 1}}}));
  for (const Semaphore& each : later) {
    VERIFY_OK(t.queue().barrier({.wait = {{former[0], 1}}, .signal = {{each, 1}}}));
  }
  VERIFY_OK(hal::wait_all({{later[0], 1}, {later[1], 1}}, kWatchdog));
  VERIFY_VALUE(former[1], 0);
}

void device_and_host_take_turns(Context& t) {
  const Buffer device_side = t.buffer(256);
  const Buffer host_side = t.buffer(256);
  const Semaphore s = t.semaphore();
  for (std::uint64_t round = 0; round < 12; ++round) {
    const std::uint64_t base = 3 * round;
    VERIFY_OK(t.queue().fill(device_side, static_cast<std::uint32_t>(round + 1), 1,
                             {.wait = {{s, base}}, .signal = {{s, base + 1}}}));
    VERIFY_OK(t.queue().copy(device_side, host_side,
                             {.wait = {{s, base + 1}}, .signal = {{s, base + 2}}}));
    VERIFY_OK(s.wait(base + 2, kWatchdog));
    VERIFY_EQ(word(host_side), 0x01010101u * (round + 1));
    VERIFY_OK(s.signal(base + 3));
  }
}

void signal_is_waited_for_by_many(Context& t) {
  const Semaphore gate = t.semaphore();
  const std::vector<Semaphore> done = t.semaphores(200);
  std::vector<Point> all;
  for (const Semaphore& each : done) {
    all.emplace_back(each, 1);
    VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{each, 1}}}));
  }
  VERIFY_OK(t.queue().barrier({.signal = {{gate, 1}}}));
  VERIFY_OK(hal::wait_all(all, kWatchdog));
}

// ---- Lifetime

void parked_submission_keeps_its_memory(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  const Buffer result = t.buffer(4096);
  {
    const Buffer source = t.buffer(4096, 0x5a);
    VERIFY_OK(t.queue().copy(source, result, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  }
  const Buffer other = t.buffer(4096, 0x11);  // would reuse freed memory
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(word(result, 1023), 0x5a5a5a5au);
}

void parked_submission_keeps_its_semaphores(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  {
    const Semaphore middle = t.semaphore();
    VERIFY_OK(t.queue().barrier({.wait = {{middle, 1}}, .signal = {{done, 1}}}));
    VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{middle, 1}}}));
  }
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

// ---- Submit and wait

void submit_and_wait_returns_when_its_last_signal_is_reached(Context& t) {
  const Semaphore a = t.semaphore();
  const Semaphore b = t.semaphore();
  VERIFY_OK(t.queue().barrier_and_wait({.signal = {{a, 1}, {b, 1}}}, kWatchdog));
  VERIFY_VALUE(b, 1);
  VERIFY_OK(a.wait(1, kWatchdog));
}

void submit_and_wait_that_times_out_stays_submitted(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_CODE(t.queue().barrier_and_wait({.wait = {{gate, 1}}, .signal = {{done, 1}}}, kAWhile),
              StatusCode::kDeadlineExceeded);
  VERIFY_CODE(t.queue().barrier_and_wait({.wait = {{gate, 1}}}, kNow),
              StatusCode::kDeadlineExceeded);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void submit_and_wait_may_be_released_by_another_thread(Context& t) {
  const Semaphore gate = t.semaphore();
  Threads threads;
  threads.start([&] { VERIFY_OK(t.queue().barrier_and_wait({.wait = {{gate, 1}}}, kWatchdog)); });
  VERIFY_CODE(gate.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(gate.signal(1));
}

#define CASE(name) {"submission", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"submission", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE_ON_EVERY_QUEUE(submission_of_nothing_signals),
    CASE_ON_EVERY_QUEUE(submission_without_waits_or_signals_is_accepted),
    CASE_ON_EVERY_QUEUE(signal_may_skip_values),
    CASE_ON_EVERY_QUEUE(work_is_visible_when_its_signal_is_seen),
    CASE(signal_does_not_appear_before_slow_work_is_done),
    CASE_ON_EVERY_QUEUE(every_signal_of_a_submission_advances),
    CASE_ON_EVERY_QUEUE(thousand_signals_of_one_submission_all_advance),
    CASE_ON_EVERY_QUEUE(repeated_signals_keep_the_largest),
    CASE_ON_EVERY_QUEUE(late_signal_of_a_lower_value_completes_and_changes_nothing),
    CASE_ON_EVERY_QUEUE(signal_stays_until_the_wait_is_reached),
    CASE_ON_EVERY_QUEUE(parked_work_touches_nothing_before_its_wait),
    CASE_ON_EVERY_QUEUE(reached_waits_hold_nothing_back),
    CASE_ON_EVERY_QUEUE(each_number_of_waits_and_signals_works),
    CASE_ON_EVERY_QUEUE(wait_lists_of_any_length_are_kept),
    CASE_ON_EVERY_QUEUE(repeated_waits_keep_the_largest),
    CASE_ON_EVERY_QUEUE(larger_signal_before_the_submission_releases_it),
    CASE_ON_EVERY_QUEUE(larger_signal_after_the_submission_releases_it),
    CASE_ON_EVERY_QUEUE(either_of_two_pending_signals_beyond_the_value_releases_a_wait),
    CASE_ON_EVERY_QUEUE(one_signal_releases_waits_for_different_values),
    CASE_ON_EVERY_QUEUE(waits_for_rising_values_are_released_one_by_one),
    CASE(fan_out_over_all_queues_waits_for_different_values),
    CASE_ON_EVERY_QUEUE(wait_all_takes_host_and_device_signals),
    CASE_ON_EVERY_QUEUE(wait_any_returns_when_the_device_signals),
    CASE_ON_EVERY_QUEUE(wait_any_returns_when_the_host_signals),
    CASE_ON_EVERY_QUEUE(submission_waits_for_host_and_device_together),
    CASE_ON_EVERY_QUEUE(one_signal_releases_a_submission_and_a_host_thread),
    CASE_ON_EVERY_QUEUE(intermediate_semaphore_links_two_submissions),
    CASE_ON_EVERY_QUEUE(two_later_submissions_wait_for_one_of_two_former),
    CASE_ON_EVERY_QUEUE(device_and_host_take_turns),
    CASE_ON_EVERY_QUEUE(signal_is_waited_for_by_many),
    CASE_ON_EVERY_QUEUE(parked_submission_keeps_its_memory),
    CASE_ON_EVERY_QUEUE(parked_submission_keeps_its_semaphores),
    CASE_ON_EVERY_QUEUE(submit_and_wait_returns_when_its_last_signal_is_reached),
    CASE_ON_EVERY_QUEUE(submit_and_wait_that_times_out_stays_submitted),
    CASE_ON_EVERY_QUEUE(submit_and_wait_may_be_released_by_another_thread),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace submission

std::span<const Case> submission_cases() noexcept { return submission::kCases; }

}  // namespace halyard::inline v0::conformance
