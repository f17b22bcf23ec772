// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fences, and waits for whole queues.
#include <atomic>
#include <thread>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace fence {
namespace {

using hal::Fence;
using hal::Point;
using hal::Queue;
using hal::Semaphore;

void fence_of_no_points_is_reached(Context& t) {
  const Fence fence = Fence::create().value();
  VERIFY_EQ(fence.size(), 0u);
  VERIFY_OK(fence.wait(kNow));
  VERIFY(fence.query().value());
}

void fence_keeps_the_largest_value_of_a_semaphore(Context& t) {
  const Semaphore s = t.semaphore();
  const Fence fence = Fence::create({{s, 2}, {s, 5}, {s, 3}}).value();
  VERIFY_EQ(fence.size(), 1u);
  VERIFY_EQ(fence.points()[0].value(), 5u);
  check(s.signal(4));
  VERIFY(!fence.query().value());
  check(s.signal(5));
  VERIFY(fence.query().value());
}

void fence_waits_for_all_its_points(Context& t) {
  const auto s = t.semaphores(20);
  const Fence fence = Fence::create().value();
  for (const Semaphore& semaphore : s) check(fence.insert({semaphore, 1}));
  for (std::size_t i = 0; i < s.size(); ++i) {
    VERIFY_CODE(fence.wait(kNow), StatusCode::kDeadlineExceeded);
    check(t.queues()[i % 4].barrier({.signal = {{s[i], 1}}}));
    check(s[i].wait(1, kWatchdog));
  }
  VERIFY_OK(fence.wait(kNow));
}

void fence_wait_takes_the_points_there_are(Context& t) {
  const Semaphore first = t.semaphore(), second = t.semaphore();
  const Fence fence = Fence::create({{first, 1}}).value();
  check(first.signal(1));
  VERIFY_OK(fence.wait(kNow));
  check(fence.insert({second, 1}));
  VERIFY_CODE(fence.wait(kNow), StatusCode::kDeadlineExceeded);
}

void fence_extends_by_another(Context& t) {
  const Semaphore a = t.semaphore(), b = t.semaphore();
  const Fence fence = Fence::create({{a, 1}}).value();
  check(fence.extend(Fence::create({{a, 3}, {b, 2}}).value()));
  check(fence.extend(fence));
  VERIFY_EQ(fence.size(), 2u);
  VERIFY_EQ(fence.points()[0].value(), 3u);
  VERIFY_EQ(fence.points()[1].value(), 2u);
}

void fence_signals_what_is_not_reached(Context& t) {
  const Semaphore a = t.semaphore(), b = t.semaphore(7);
  const Fence fence = Fence::create({{a, 3}, {b, 2}}).value();
  VERIFY_OK(fence.signal());
  VERIFY_EQ(a.query().value(), 3u);
  VERIFY_EQ(b.query().value(), 7u);
  VERIFY_OK(fence.signal());
}

void fence_fails_every_semaphore(Context& t) {
  const Semaphore a = t.semaphore(), b = t.semaphore();
  const Fence fence = Fence::create({{a, 1}, {b, 1}}).value();
  fence.fail(Status(StatusCode::kDataLoss, "gone"));
  VERIFY_CODE(a.query(), StatusCode::kDataLoss);
  VERIFY_CODE(b.query(), StatusCode::kDataLoss);
  VERIFY_CODE(fence.wait(kWatchdog), StatusCode::kDataLoss);
  VERIFY_CODE(fence.query(), StatusCode::kDataLoss);
  VERIFY_CODE(fence.signal(), StatusCode::kDataLoss);
}

void point_reached_before_the_failure_is_reached(Context& t) {
  const Semaphore s = t.semaphore(5);
  const Fence fence = Fence::create({{s, 5}}).value();
  s.fail(Status(StatusCode::kDataLoss, "later"));
  VERIFY(fence.query().value());
  VERIFY_OK(fence.wait(kNow));
}

void points_of_a_fence_order_a_submission(Context& t) {
  const Semaphore a = t.semaphore(), b = t.semaphore(), done = t.semaphore();
  const Fence fence = Fence::create({{a, 1}, {b, 1}}).value();
  check(t.queue().barrier({.wait = fence.points(), .signal = {{done, 1}}}));
  check(a.signal(1));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  check(b.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void fence_keeps_its_semaphores(Context& t) {
  Semaphore s = t.semaphore();
  const Fence fence = Fence::create({{s, 1}}).value();
  check(t.queue().barrier({.signal = {{s, 1}}}));
  s = {};
  VERIFY_OK(fence.wait(kWatchdog));
}

void fence_refuses_what_is_no_point(Context& t) {
  const Fence fence = Fence::create().value();
  VERIFY_CODE(fence.insert(Point()), StatusCode::kInvalidArgument);
  VERIFY_CODE(fence.insert({t.semaphore(), ~std::uint64_t{0}}), StatusCode::kInvalidArgument);
  VERIFY_CODE(Fence::create({Point()}), StatusCode::kInvalidArgument);
  VERIFY_EQ(fence.size(), 0u);
}

void empty_fence_handle_is_an_error(Context& t) {
  const Fence nothing;
  VERIFY_CODE(nothing.wait(kNow), StatusCode::kInvalidArgument);
  VERIFY_CODE(nothing.query(), StatusCode::kInvalidArgument);
  VERIFY_CODE(nothing.signal(), StatusCode::kInvalidArgument);
  VERIFY_CODE(nothing.insert({t.semaphore(), 1}), StatusCode::kInvalidArgument);
  VERIFY_CODE(Fence::create().value().extend(nothing), StatusCode::kInvalidArgument);
  nothing.fail(Status(StatusCode::kInternal, "no effect"));
}

void fence_is_filled_by_many_threads(Context& t) {
  const auto s = t.semaphores(64);
  const Fence fence = Fence::create().value();
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < 4; ++k) {
      threads.emplace_back([&, k] {
        for (std::size_t i = 0; i < s.size(); ++i) check(fence.insert({s[i], k + 1}));
      });
    }
  }
  VERIFY_EQ(fence.size(), 64u);
  for (const Point& point : fence.points()) VERIFY_EQ(point.value(), 4u);
}

// ---- Waits for whole queues

void queue_without_work_is_idle(Context& t) {
  VERIFY_OK(t.queue().wait_idle(kNow));
  VERIFY_OK(t.queue().flush());
}

void wait_idle_waits_for_work_in_flight(Context& t) {
  const hal::Buffer buffer = t.buffer(1 << 20);
  for (std::uint8_t round = 1; round < 10; ++round) {
    check(t.queue().fill(buffer, round, 1, {}));
    check(t.queue().wait_idle(kWatchdog));
    VERIFY_EQ(buffer.map()->bytes()[(1 << 20) - 1], std::byte{round});
  }
}

void wait_idle_waits_for_what_is_parked(Context& t) {
  const Semaphore gate = t.semaphore(), done = t.semaphore();
  const hal::Buffer buffer = t.buffer(64);
  check(t.queue().fill(buffer, 7, 1, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  VERIFY_CODE(t.queue().wait_idle(kAWhile), StatusCode::kDeadlineExceeded);
  std::jthread opener([&] { check(gate.signal(1)); });
  VERIFY_OK(t.queue().wait_idle(kWatchdog));
  VERIFY_EQ(buffer.map()->bytes()[63], std::byte{7});
  VERIFY_EQ(done.query().value(), 1u);
}

void wait_idle_waits_for_host_calls_and_what_they_submit_before_they_end(Context& t) {
  std::atomic<int> ran{0};
  const Queue queue = t.queue();
  check(queue.host_call([&] { return queue.host_call([&] { ++ran; }, {}); }, {}));
  VERIFY_OK(queue.wait_idle(kWatchdog));
  VERIFY_EQ(ran.load(), 1);
}

void wait_idle_past_its_deadline_says_what_is_left(Context& t) {
  const Semaphore gate = t.device().create_semaphore(0, "the gate").value();
  const Semaphore done = t.semaphore();
  check(t.queue().barrier({.wait = {{gate, 3}}, .signal = {{done, 1}}}));
  const Status status = t.queue().wait_idle(kAWhile);
  VERIFY_CODE(status, StatusCode::kDeadlineExceeded);
  VERIFY(status.message().find("the gate") != std::string_view::npos);
  check(gate.signal(3));
  VERIFY_OK(t.queue().wait_idle(kWatchdog));
}

void wait_idle_ends_when_work_fails_or_is_cancelled(Context& t) {
  const Semaphore gate = t.semaphore();
  hal::Submission parked;
  check(t.queue().barrier({.wait = {{gate, 2}}, .submission = &parked}));
  check(t.queue().barrier({.wait = {{gate, 1}}}));
  std::jthread ender([&] {
    (void)parked.cancel();
    gate.fail(Status(StatusCode::kDataLoss, "no"));
  });
  VERIFY_OK(t.queue().wait_idle(kWatchdog));
}

void wait_idle_of_one_queue_ignores_the_others(Context& t) {
  const Semaphore gate = t.semaphore();
  check(t.copy_queue().barrier({.wait = {{gate, 1}}}));
  VERIFY_OK(t.compute().wait_idle(kWatchdog));
  check(gate.signal(1));
  VERIFY_OK(t.copy_queue().wait_idle(kWatchdog));
}

void wait_idle_of_one_thread_does_not_stop_another_that_submits(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  check(t.queue().barrier({.wait = {{gate, 1}}}));
  std::jthread waiter([&] { VERIFY_OK(t.queue().wait_idle(kWatchdog)); });
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  // This thread's submissions run without the other thread's, and open its gate.
  check(t.queue().barrier({.wait = {{done, 0}}, .signal = {{done, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  check(t.queue().barrier({.wait = {{done, 1}}, .signal = {{gate, 1}}}));
}

void many_threads_wait_for_one_queue(Context& t) {
  const Semaphore gate = t.semaphore();
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) {
    check(t.queue().host_call([&] { ++ran; }, {.wait = {{gate, 1 + static_cast<unsigned>(i)}}}));
  }
  std::vector<std::jthread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      VERIFY_OK(t.queue().wait_idle(kWatchdog));
      VERIFY_EQ(ran.load(), 50);
    });
  }
  for (unsigned value = 1; value <= 50; ++value) check(gate.signal(value));
}

void flushed_work_ends_without_a_waiter(Context& t) {
  const hal::Buffer buffer = t.buffer(64);
  std::atomic<bool> ran{false};
  const Semaphore done = t.semaphore();
  check(t.queue().barrier({.signal = {{done, 1}}}));
  check(t.queue().host_call([&] { ran = true; }, {.wait = {{done, 1}}}));
  VERIFY_OK(t.queue().flush());
  VERIFY_UNTIL(ran.load());
}

void empty_queue_handle_is_neither_idle_nor_flushed(Context& t) {
  VERIFY_CODE(Queue().wait_idle(kNow), StatusCode::kInvalidArgument);
  VERIFY_CODE(Queue().flush(), StatusCode::kInvalidArgument);
}

#define CASE(name) {"fence", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"fence", #name, name, Vary::kQueueKinds}
#define IDLE_ON_EVERY_QUEUE(name) {"idle", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(fence_of_no_points_is_reached),
    CASE(fence_keeps_the_largest_value_of_a_semaphore),
    CASE(fence_waits_for_all_its_points),
    CASE(fence_wait_takes_the_points_there_are),
    CASE(fence_extends_by_another),
    CASE(fence_signals_what_is_not_reached),
    CASE(fence_fails_every_semaphore),
    CASE(point_reached_before_the_failure_is_reached),
    CASE_ON_EVERY_QUEUE(points_of_a_fence_order_a_submission),
    CASE(fence_keeps_its_semaphores),
    CASE(fence_refuses_what_is_no_point),
    CASE(empty_fence_handle_is_an_error),
    CASE(fence_is_filled_by_many_threads),
    IDLE_ON_EVERY_QUEUE(queue_without_work_is_idle),
    IDLE_ON_EVERY_QUEUE(wait_idle_waits_for_work_in_flight),
    IDLE_ON_EVERY_QUEUE(wait_idle_waits_for_what_is_parked),
    IDLE_ON_EVERY_QUEUE(wait_idle_waits_for_host_calls_and_what_they_submit_before_they_end),
    IDLE_ON_EVERY_QUEUE(wait_idle_past_its_deadline_says_what_is_left),
    IDLE_ON_EVERY_QUEUE(wait_idle_ends_when_work_fails_or_is_cancelled),
    {"idle", "wait_idle_of_one_queue_ignores_the_others",
     wait_idle_of_one_queue_ignores_the_others},
    IDLE_ON_EVERY_QUEUE(wait_idle_of_one_thread_does_not_stop_another_that_submits),
    IDLE_ON_EVERY_QUEUE(many_threads_wait_for_one_queue),
    IDLE_ON_EVERY_QUEUE(flushed_work_ends_without_a_waiter),
    {"idle", "empty_queue_handle_is_neither_idle_nor_flushed",
     empty_queue_handle_is_neither_idle_nor_flushed},
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE
#undef IDLE_ON_EVERY_QUEUE

}  // namespace
}  // namespace fence

std::span<const Case> fence_cases() noexcept { return fence::kCases; }

}  // namespace halyard::inline v0::conformance
