// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host calls: when the callable runs, what it may do, when it is destroyed.
#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace host_call {
namespace {

using hal::Buffer;
using hal::HostCallMode;
using hal::Semaphore;
using hal::SubmitInfo;

void call_without_waits_runs(Context& t) {
  std::atomic<int> runs = 0;
  t.finish([&](const SubmitInfo& info) { return t.queue().host_call([&] { ++runs; }, info); });
  VERIFY_EQ(runs.load(), 1);
}

void call_runs_after_its_wait(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  std::atomic<bool> ran = false;
  VERIFY_OK(t.queue().host_call([&] { ran = true; }, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY(!ran);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(ran);
}

void signal_comes_after_the_call_has_returned(Context& t) {
  const Semaphore inside = t.semaphore();
  const Semaphore proceed = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().host_call(
      [&] {
        VERIFY_OK(inside.signal(1));
        VERIFY_OK(proceed.wait(1, kWatchdog));
      },
      {.signal = {{done, 1}}}));
  VERIFY_OK(inside.wait(1, kWatchdog));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(proceed.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void submitting_a_call_does_not_run_it(Context& t) {
  std::atomic<std::thread::id> ran_on = std::thread::id();
  t.finish([&](const SubmitInfo& info) {
    return t.queue().host_call([&] { ran_on = std::this_thread::get_id(); }, info);
  });
  VERIFY(ran_on.load() != std::this_thread::get_id());
}

void call_may_return_a_status(Context& t) {
  t.finish(
      [&](const SubmitInfo& info) { return t.queue().host_call([] { return Status(); }, info); });
}

void call_keeps_what_it_has_captured(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  std::atomic<std::uint64_t> sum = 0;
  std::array<std::uint64_t, 20> values;  // 160 bytes: stored without allocation
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * 1'000'003;
  VERIFY_OK(t.queue().host_call(
      [values, &sum] {
        for (const std::uint64_t value : values) sum += value;
      },
      {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  values.fill(0);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(sum.load(), 190u * 1'000'003u);
}

void large_callable_runs(Context& t) {
  std::array<std::uint64_t, 1000> values;
  values.fill(3);
  std::atomic<std::uint64_t> sum = 0;
  t.finish([&](const SubmitInfo& info) {
    return t.queue().host_call(
        [values, &sum] {
          for (const std::uint64_t value : values) sum += value;
        },
        info);
  });
  VERIFY_EQ(sum.load(), 3000u);
}

void move_only_callable_runs(Context& t) {
  std::atomic<int> seen = 0;
  t.finish([&](const SubmitInfo& info) {
    return t.queue().host_call([value = std::make_unique<int>(42), &seen] { seen = *value; }, info);
  });
  VERIFY_EQ(seen.load(), 42);
}

void callable_is_destroyed_after_it_has_run(Context& t) {
  const auto life = std::make_shared<int>(0);
  t.finish([&](const SubmitInfo& info) { return t.queue().host_call([life] {}, info); });
  VERIFY_UNTIL(life.use_count() == 1);
}

void callable_is_destroyed_when_its_wait_fails(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  const auto life = std::make_shared<std::atomic<int>>(0);
  VERIFY_OK(t.queue().host_call([life] { ++*life; }, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  gate.fail(Status(StatusCode::kDataLoss, "failed"));
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kDataLoss);
  VERIFY_UNTIL(life.use_count() == 1);
  VERIFY_EQ(life->load(), 0);
}

void callable_is_destroyed_when_the_submission_is_refused(Context& t) {
  const Semaphore reached = t.semaphore(5);
  const auto life = std::make_shared<std::atomic<int>>(0);
  VERIFY_CODE(t.queue().host_call([life] { ++*life; }, {.signal = {{reached, 5}}}),
              StatusCode::kInvalidArgument);
  VERIFY_EQ(life.use_count(), 1);
  VERIFY_CODE(hal::Queue().host_call([life] { ++*life; }, {}), StatusCode::kInvalidArgument);
  VERIFY_EQ(life.use_count(), 1);
  VERIFY_EQ(life->load(), 0);
}

void call_may_signal(Context& t) {
  const Semaphore a = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{a, 1}}, .signal = {{done, 1}}}));
  // The call has a handle of its own: the case may end before signal() has returned.
  VERIFY_OK(t.queue().host_call([a] { return a.signal(1); }, {}));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void call_may_submit_to_its_own_queue(Context& t) {
  const Buffer buffer = t.buffer(4);
  const Semaphore inner = t.semaphore();
  t.finish([&](const SubmitInfo& info) {
    return t.queue().host_call(
        [&] { VERIFY_OK(t.queue().fill(buffer, 77, 4, {.signal = {{inner, 1}}})); }, info);
  });
  VERIFY_OK(inner.wait(1, kWatchdog));
  VERIFY_EQ(buffer.map().value().as<std::uint32_t>()[0], 77u);
}

void call_may_submit_the_next_call(Context& t) {
  struct Next {
    hal::Queue queue;
    Semaphore done;
    int left;
    Status operator()() const {
      if (left == 0) return done.signal(1);
      return queue.host_call(Next{queue, done, left - 1}, {});
    }
  };
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().host_call(Next{t.queue(), done, 100}, {}));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void call_may_wait_for_device_work(Context& t) {
  const Buffer buffer = t.buffer(4);
  t.finish([&](const SubmitInfo& info) {
    return t.queue().host_call(
        [&] {
          const Semaphore inner = t.semaphore();
          VERIFY_OK(t.queue().fill(buffer, 78, 4, {.signal = {{inner, 1}}}));
          VERIFY_OK(inner.wait(1, kWatchdog));
          VERIFY_EQ(buffer.map().value().as<std::uint32_t>()[0], 78u);
        },
        info);
  });
}

void call_may_make_and_drop_objects(Context& t) {
  t.finish([&](const SubmitInfo& info) {
    return t.queue().host_call(
        [&] {
          const hal::Device other = hal::open(t.uri()).value();
          const Buffer buffer = other.allocate({.size = 100}).value();
          hal::Recorder recorder(other);
          recorder.fill(buffer, 1);
          VERIFY_OK(recorder.finish());
        },
        info);
  });
}

void call_sees_device_work_and_device_work_sees_the_call(Context& t) {
  const Buffer buffer = t.buffer(4096);
  const Buffer result = t.buffer(4096);
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.queue().fill(buffer, 1, 4, {.signal = {{s, 1}}}));
  VERIFY_OK(t.queue().host_call(
      [&] {
        for (std::uint32_t& each : buffer.map().value().as<std::uint32_t>()) each += 41;
      },
      {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(t.queue().copy(buffer, result, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(s.wait(3, kWatchdog));
  for (const std::uint32_t each : result.map().value().as<std::uint32_t>()) VERIFY_EQ(each, 42u);
}

void chain_of_calls_runs_in_order(Context& t) {
  const Semaphore s = t.semaphore();
  std::vector<int> order;
  for (int i = 29; i >= 0; --i) {
    const auto at = static_cast<std::uint64_t>(i);
    VERIFY_OK(t.queue().host_call([&order, i] { order.push_back(i); },
                                  {.wait = {{s, at + 1}}, .signal = {{s, at + 2}}}));
  }
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(31, kWatchdog));
  VERIFY_EQ(order.size(), 30u);
  for (int i = 0; i < 30; ++i) VERIFY_EQ(order[static_cast<std::size_t>(i)], i);
}

void many_calls_all_run_once(Context& t) {
  const std::vector<Semaphore> done = t.semaphores(500);
  std::vector<hal::Point> all;
  std::atomic<int> runs = 0;
  for (const Semaphore& each : done) {
    VERIFY_OK(t.queue().host_call([&] { ++runs; }, {.signal = {{each, 1}}}));
    all.emplace_back(each, 1);
  }
  VERIFY_OK(hal::wait_all(all, kWatchdog));
  VERIFY_EQ(runs.load(), 500);
}

void slow_call_does_not_stop_device_work(Context& t) {
  const Semaphore inside = t.semaphore();
  const Semaphore proceed = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().host_call(
      [&] {
        VERIFY_OK(inside.signal(1));
        VERIFY_OK(proceed.wait(1, kWatchdog));
      },
      {.signal = {{done, 1}}}));
  VERIFY_OK(inside.wait(1, kWatchdog));
  const Buffer buffer = t.buffer(4);
  t.finish([&](const SubmitInfo& info) { return t.queue().fill(buffer, 5, 4, info); });
  VERIFY_EQ(buffer.map().value().as<std::uint32_t>()[0], 5u);
  VERIFY_OK(proceed.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void calls_that_block_do_not_stop_others(Context& t) {
  const Semaphore inside = t.semaphore();
  const Semaphore proceed = t.semaphore();
  const std::vector<Semaphore> done = t.semaphores(8);
  std::vector<hal::Point> all;
  std::atomic<std::uint64_t> blocked = 0;
  for (const Semaphore& each : done) {
    VERIFY_OK(t.queue().host_call(
        [&] {
          if (++blocked == 8) VERIFY_OK(inside.signal(1));
          VERIFY_OK(proceed.wait(1, kWatchdog));
        },
        {.signal = {{each, 1}}}, HostCallMode::kMayBlock));
    all.emplace_back(each, 1);
  }
  VERIFY_OK(inside.wait(1, kWatchdog));
  for (const HostCallMode mode : {HostCallMode::kShort, HostCallMode::kMayBlock}) {
    std::atomic<bool> ran = false;
    t.finish([&](const SubmitInfo& info) {
      return t.queue().host_call([&] { ran = true; }, info, mode);
    });
    VERIFY(ran);
  }
  VERIFY_EQ(done[0].query().value(), 0u);
  VERIFY_OK(proceed.signal(1));
  VERIFY_OK(hal::wait_all(all, kWatchdog));
}

void call_that_may_block_may_wait_for_other_calls(Context& t) {
  const auto nest = [&t](const auto& self, int depth) -> Status {
    if (depth == 0) return {};
    const Semaphore inner = t.semaphore();
    check(t.queue().host_call([&] { return self(self, depth - 1); }, {.signal = {{inner, 1}}},
                              HostCallMode::kMayBlock));
    return inner.wait(1, kWatchdog);
  };
  VERIFY_OK(nest(nest, 5));
}

#define CASE(name) {"host_call", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(call_without_waits_runs),
    CASE(call_runs_after_its_wait),
    CASE(signal_comes_after_the_call_has_returned),
    CASE(submitting_a_call_does_not_run_it),
    CASE(call_may_return_a_status),
    CASE(call_keeps_what_it_has_captured),
    CASE(large_callable_runs),
    CASE(move_only_callable_runs),
    CASE(callable_is_destroyed_after_it_has_run),
    CASE(callable_is_destroyed_when_its_wait_fails),
    CASE(callable_is_destroyed_when_the_submission_is_refused),
    CASE(call_may_signal),
    CASE(call_may_submit_to_its_own_queue),
    CASE(call_may_submit_the_next_call),
    CASE(call_may_wait_for_device_work),
    CASE(call_may_make_and_drop_objects),
    CASE(call_sees_device_work_and_device_work_sees_the_call),
    CASE(chain_of_calls_runs_in_order),
    CASE(many_calls_all_run_once),
    CASE(slow_call_does_not_stop_device_work),
    CASE(calls_that_block_do_not_stop_others),
    CASE(call_that_may_block_may_wait_for_other_calls),
};
#undef CASE

}  // namespace
}  // namespace host_call

std::span<const Case> host_call_cases() noexcept { return host_call::kCases; }

}  // namespace halyard::inline v0::conformance
