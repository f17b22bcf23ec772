// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Failure and cancellation: which signals fail, which do not, and that other work is unharmed.
#include <atomic>
#include <memory>
#include <stdexcept>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace failure {
namespace {

using hal::Buffer;
using hal::Queue;
using hal::Semaphore;
using hal::SubmitInfo;

Status cause() { return Status(StatusCode::kDataLoss, "the cause of it", "E_NATIVE"); }

void verify_is_cause(Context& t, const Status& status) {
  VERIFY_CODE(status, StatusCode::kDataLoss);
  VERIFY_EQ(status.message(), "the cause of it");
  VERIFY_EQ(status.native_error(), "E_NATIVE");
}

std::uint32_t word(const Buffer& buffer) { return buffer.map().value().as<std::uint32_t>()[0]; }

// ---- Waits that fail

void failed_wait_fails_the_signals_with_its_cause(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore(100);
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{done, 101}}}));
  gate.fail(cause());
  verify_is_cause(t, done.wait(101, kWatchdog));
  verify_is_cause(t, done.query().status());
  VERIFY_OK(done.wait(100, kNow));
}

void failed_wait_fails_every_signal(Context& t) {
  const Semaphore gate = t.semaphore();
  const std::vector<Semaphore> done = t.semaphores(40);
  std::vector<hal::Point> signals;
  for (const Semaphore& each : done) signals.emplace_back(each, 1);
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = signals}));
  gate.fail(cause());
  for (const Semaphore& each : done) verify_is_cause(t, each.wait(1, kWatchdog));
}

void wait_that_has_failed_already_is_accepted_and_fails_the_signals(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  gate.fail(cause());
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  verify_is_cause(t, done.wait(1, kWatchdog));
}

void wait_for_a_value_reached_before_the_failure_succeeds(Context& t) {
  const Semaphore gate = t.semaphore(3);
  gate.fail(cause());
  VERIFY_OK(t.queue().barrier_and_wait({.wait = {{gate, 3}}}, kWatchdog));
}

void one_failed_wait_of_forty_is_enough(Context& t) {
  const std::vector<Semaphore> gates = t.semaphores(40);
  const Semaphore done = t.semaphore();
  std::vector<hal::Point> waits;
  for (const Semaphore& each : gates) waits.emplace_back(each, 1);
  VERIFY_OK(t.queue().barrier({.wait = waits, .signal = {{done, 1}}}));
  gates[17].fail(cause());
  verify_is_cause(t, done.wait(1, kWatchdog));
  for (std::size_t i = 0; i < gates.size(); ++i) {
    if (i != 17) VERIFY_OK(gates[i].signal(1));
  }
}

void failure_travels_down_a_chain_over_all_queues(Context& t) {
  const std::vector<Queue> queues = t.queues();
  const std::vector<Semaphore> s = t.semaphores(13);
  for (std::size_t i = 12; i-- > 0;) {
    VERIFY_OK(queues[i % queues.size()].barrier({.wait = {{s[i], 1}}, .signal = {{s[i + 1], 1}}}));
  }
  s[0].fail(cause());
  for (const Semaphore& each : s) verify_is_cause(t, each.wait(1, kWatchdog));
}

// The target of each operation keeps its contents.
void operation_whose_wait_fails_does_not_run(Context& t) {
  const hal::Function increment = t.kernel("increment");
  const Buffer source = t.buffer(4, 0x77);
  const Buffer buffer = t.buffer(4, 0x11);
  hal::Recorder recorder(t.device());
  recorder.fill(buffer, 5);
  const hal::CommandBuffer commands = recorder.finish().value();
  const std::uint32_t update = 6;
  bool called = false;
  const auto attempt = [&](auto&& submit) {
    const Semaphore gate = t.semaphore();
    const Semaphore done = t.semaphore();
    VERIFY_OK(submit(hal::Point(gate, 1), hal::Point(done, 1)));
    gate.fail(cause());
    verify_is_cause(t, done.wait(1, kWatchdog));
    VERIFY_EQ(word(buffer), 0x11111111u);
  };
  const Queue queue = t.queue();
  attempt([&](auto wait, auto signal) {
    return queue.fill(buffer, 4, 4, {.wait = {wait}, .signal = {signal}});
  });
  attempt([&](auto wait, auto signal) {
    return queue.update(buffer, 0, std::as_bytes(std::span(&update, 1)),
                        {.wait = {wait}, .signal = {signal}});
  });
  attempt([&](auto wait, auto signal) {
    return queue.copy(source, buffer, {.wait = {wait}, .signal = {signal}});
  });
  attempt([&](auto wait, auto signal) {
    return t.compute().dispatch(increment, {.items = {1}}, {buffer}, {std::uint32_t{1}},
                                {.wait = {wait}, .signal = {signal}});
  });
  if (t.device().info().limits.indirect_dispatch) {
    const Buffer groups = t.buffer(12, 1);
    attempt([&](auto wait, auto signal) {
      return t.compute().dispatch_indirect(increment, groups, {buffer}, {std::uint32_t{1}},
                                           {.wait = {wait}, .signal = {signal}});
    });
  }
  attempt([&](auto wait, auto signal) {
    return queue.execute(commands, {.wait = {wait}, .signal = {signal}});
  });
  for (const hal::HostCallMode mode : {hal::HostCallMode::kShort, hal::HostCallMode::kMayBlock}) {
    attempt([&](auto wait, auto signal) {
      return queue.host_call([&called] { called = true; }, {.wait = {wait}, .signal = {signal}},
                             mode);
    });
  }
  VERIFY(!called);
}

void every_kind_of_waiter_is_told_the_first_cause(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  const Semaphore never = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  std::atomic<int> callback_runs = 0;
  const auto registration = done.on_reach(1, [&](const Status& status) {
    verify_is_cause(t, status);
    ++callback_runs;
  });
  Threads threads;
  threads.start([&] { verify_is_cause(t, done.wait(1, kWatchdog)); });
  threads.start([&] { verify_is_cause(t, hal::wait_all({{never, 1}, {done, 1}}, kWatchdog)); });
  threads.start([&] { verify_is_cause(t, hal::wait_any({{never, 1}, {done, 1}}, kWatchdog)); });
  threads.start(
      [&] { verify_is_cause(t, t.queue(1).barrier_and_wait({.wait = {{done, 1}}}, kWatchdog)); });
  gate.fail(cause());
  done.fail(Status(StatusCode::kInternal, "a later one"));
  threads.join();
  VERIFY_UNTIL(callback_runs == 1);
  verify_is_cause(t, done.query().status());
}

void failure_crosses_devices(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.device(1).create_semaphore().value();
  VERIFY_OK(t.queue(1).barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(t.queue(0).host_call([] { return cause(); }, {.signal = {{gate, 1}}}));
  verify_is_cause(t, done.wait(1, kWatchdog));
  VERIFY_OK(t.device(0).status());
  VERIFY_OK(t.device(1).status());
}

// ---- Work that failure does not reach

void failed_submission_leaves_its_queue_usable(Context& t) {
  const Buffer buffer = t.buffer(4);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    const Semaphore gate = t.semaphore();
    const Semaphore failed = t.semaphore();
    VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{failed, 1}}}));
    gate.fail(cause());
    VERIFY_CODE(failed.wait(1, kWatchdog), StatusCode::kDataLoss);
    t.finish([&](const SubmitInfo& info) { return t.queue().fill(buffer, round, 4, info); });
    VERIFY_EQ(word(buffer), round);
  }
}

void failure_harms_nothing_that_does_not_wait_for_it(Context& t) {
  const Semaphore bad = t.semaphore();
  const Semaphore good = t.semaphore();
  const std::vector<Semaphore> failed = t.semaphores(8);
  const std::vector<Semaphore> done = t.semaphores(8);
  for (std::size_t i = 0; i < 8; ++i) {
    VERIFY_OK(t.queue().barrier({.wait = {{bad, 1}}, .signal = {{failed[i], 1}}}));
    VERIFY_OK(t.queue().barrier({.wait = {{good, 1}}, .signal = {{done[i], 1}}}));
  }
  bad.fail(cause());
  for (const Semaphore& each : failed) VERIFY_CODE(each.wait(1, kWatchdog), StatusCode::kDataLoss);
  VERIFY_VALUE(done[0], 0);
  VERIFY_OK(good.signal(1));
  for (const Semaphore& each : done) VERIFY_OK(each.wait(1, kWatchdog));
}

void failed_semaphore_does_not_fail_its_other_waits(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore other = t.semaphore(2);
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}, {other, 2}}, .signal = {{done, 1}}}));
  gate.fail(cause());
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kDataLoss);
  VERIFY_VALUE(other, 2);
  VERIFY_OK(other.signal(3));
}

void failed_signal_semaphore_does_not_stop_the_work(Context& t) {
  const Buffer buffer = t.buffer(4);
  const Semaphore gate = t.semaphore();
  const Semaphore failed = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(
      t.queue().fill(buffer, 3, 4, {.wait = {{gate, 1}}, .signal = {{failed, 1}, {done, 1}}}));
  failed.fail(cause());
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(word(buffer), 3u);
  verify_is_cause(t, failed.wait(1, kNow));
}

// ---- Host calls that fail

void status_of_a_host_call_reaches_every_signal(Context& t) {
  const Semaphore a = t.semaphore();
  const Semaphore b = t.semaphore();
  VERIFY_OK(t.queue().host_call([] { return cause(); }, {.signal = {{a, 1}, {b, 1}}}));
  verify_is_cause(t, a.wait(1, kWatchdog));
  verify_is_cause(t, b.wait(1, kWatchdog));
}

void status_of_a_host_call_waits_for_its_wait(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(
      t.queue().host_call([] { return cause(); }, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_VALUE(done, 0);
  VERIFY_OK(gate.signal(1));
  verify_is_cause(t, done.wait(1, kWatchdog));
}

void exception_of_a_host_call_becomes_the_failure(Context& t) {
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().host_call([] { throw std::runtime_error("thrown text"); },
                                {.signal = {{done, 1}}}));
  const Status status = done.wait(1, kWatchdog);
  VERIFY_CODE(status, StatusCode::kInternal);
  VERIFY(status.message().find("thrown text") != std::string_view::npos);
}

void halyard_error_of_a_host_call_keeps_its_status(Context& t) {
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().host_call([] { check(cause()); }, {.signal = {{done, 1}}}));
  verify_is_cause(t, done.wait(1, kWatchdog));
}

void anything_thrown_by_a_host_call_becomes_a_failure(Context& t) {
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().host_call([] { throw 42; }, {.signal = {{done, 1}}}));
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kInternal);
}

void failed_host_call_leaves_its_queue_usable(Context& t) {
  for (int i = 0; i < 10; ++i) {
    const Semaphore failed = t.semaphore();
    const Semaphore done = t.semaphore();
    VERIFY_OK(t.queue().host_call([] { return cause(); }, {.signal = {{failed, 1}}}));
    VERIFY_CODE(failed.wait(1, kWatchdog), StatusCode::kDataLoss);
    VERIFY_OK(t.queue().host_call([] {}, {.signal = {{done, 1}}}));
    VERIFY_OK(done.wait(1, kWatchdog));
  }
}

// ---- Cancellation

void cancel_withdraws_a_parked_submission(Context& t) {
  const Buffer buffer = t.buffer(4, 0x11);
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  hal::Submission submission;
  VERIFY_OK(t.queue().fill(
      buffer, 5, 4, {.wait = {{gate, 1}}, .signal = {{done, 1}}, .submission = &submission}));
  VERIFY(submission.cancel());
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kCancelled);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(t.queue().barrier_and_wait({.wait = {{gate, 1}}}, kWatchdog));
  VERIFY_EQ(word(buffer), 0x11111111u);
}

void cancel_of_a_complete_submission_is_false(Context& t) {
  const Semaphore done = t.semaphore();
  hal::Submission submission;
  VERIFY_OK(t.queue().barrier({.signal = {{done, 1}}, .submission = &submission}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(!submission.cancel());
  VERIFY_VALUE(done, 1);
}

void cancel_of_a_failed_submission_is_false(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  hal::Submission submission;
  VERIFY_OK(
      t.queue().barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}, .submission = &submission}));
  gate.fail(cause());
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kDataLoss);
  VERIFY(!submission.cancel());
}

void second_cancel_is_false(Context& t) {
  const Semaphore gate = t.semaphore();
  hal::Submission submission;
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .submission = &submission}));
  VERIFY(submission.cancel());
  VERIFY(!submission.cancel());
}

void cancel_of_nothing_is_false(Context& t) { VERIFY(!hal::Submission().cancel()); }

void cancel_fails_those_who_wait_for_it(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore middle = t.semaphore();
  const Semaphore done = t.semaphore();
  hal::Submission submission;
  VERIFY_OK(t.copy_queue().barrier({.wait = {{middle, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(
      t.queue().barrier({.wait = {{gate, 1}}, .signal = {{middle, 1}}, .submission = &submission}));
  VERIFY(submission.cancel());
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kCancelled);
}

void cancel_leaves_others_of_the_same_wait(Context& t) {
  const Semaphore gate = t.semaphore();
  const std::vector<Semaphore> done = t.semaphores(10);
  std::vector<hal::Submission> submissions(10);
  for (std::size_t i = 0; i < 10; ++i) {
    VERIFY_OK(t.queue().barrier(
        {.wait = {{gate, 1}}, .signal = {{done[i], 1}}, .submission = &submissions[i]}));
  }
  for (std::size_t i = 0; i < 10; i += 2) VERIFY(submissions[i].cancel());
  VERIFY_OK(gate.signal(1));
  for (std::size_t i = 0; i < 10; ++i) {
    VERIFY_CODE(done[i].wait(1, kWatchdog), i % 2 == 0 ? StatusCode::kCancelled : StatusCode::kOk);
  }
}

void cancelled_host_call_is_destroyed_and_not_run(Context& t) {
  const Semaphore gate = t.semaphore();
  const auto life = std::make_shared<std::atomic<int>>(0);
  hal::Submission submission;
  VERIFY_OK(
      t.queue().host_call([life] { ++*life; }, {.wait = {{gate, 1}}, .submission = &submission}));
  VERIFY(submission.cancel());
  VERIFY_UNTIL(life.use_count() == 1);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(t.queue().barrier_and_wait({}, kWatchdog));
  VERIFY_EQ(life->load(), 0);
}

void handle_of_a_submission_may_outlive_its_end(Context& t) {
  hal::Submission submission;
  {
    const Semaphore done = t.semaphore();
    VERIFY_OK(t.queue().barrier({.signal = {{done, 1}}, .submission = &submission}));
    VERIFY_OK(done.wait(1, kWatchdog));
  }
  hal::Submission moved = std::move(submission);
  VERIFY(!moved.cancel());
  VERIFY(!submission.cancel());  // NOLINT(bugprone-use-after-move): empty, by contract
}

// ---- Semaphores without signallers

void wait_for_a_dropped_semaphore_fails_cancelled(Context& t) {
  const Semaphore done = t.semaphore();
  {
    const Semaphore dropped = t.semaphore();
    VERIFY_OK(t.queue().barrier({.wait = {{dropped, 1}}, .signal = {{done, 1}}}));
    VERIFY_VALUE(done, 0);
  }
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kCancelled);
}

void unfinished_submission_counts_as_a_signaller(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  hal::Submission submission;
  {
    const Semaphore dropped = t.semaphore();
    VERIFY_OK(t.queue().barrier({.wait = {{dropped, 1}}, .signal = {{done, 1}}}));
    VERIFY_OK(t.queue().barrier(
        {.wait = {{gate, 1}}, .signal = {{dropped, 1}}, .submission = &submission}));
  }
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void last_signaller_that_signals_too_little_cancels_the_rest(Context& t) {
  const Semaphore done = t.semaphore();
  {
    const Semaphore dropped = t.semaphore();
    VERIFY_OK(t.queue().barrier({.wait = {{dropped, 5}}, .signal = {{done, 1}}}));
    VERIFY_OK(t.queue().barrier({.signal = {{dropped, 4}}}));
  }
  VERIFY_CODE(done.wait(1, kWatchdog), StatusCode::kCancelled);
}

#define CASE(name) {"failure", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"failure", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE_ON_EVERY_QUEUE(failed_wait_fails_the_signals_with_its_cause),
    CASE_ON_EVERY_QUEUE(failed_wait_fails_every_signal),
    CASE_ON_EVERY_QUEUE(wait_that_has_failed_already_is_accepted_and_fails_the_signals),
    CASE_ON_EVERY_QUEUE(wait_for_a_value_reached_before_the_failure_succeeds),
    CASE_ON_EVERY_QUEUE(one_failed_wait_of_forty_is_enough),
    CASE(failure_travels_down_a_chain_over_all_queues),
    CASE_ON_EVERY_QUEUE(operation_whose_wait_fails_does_not_run),
    CASE_ON_EVERY_QUEUE(every_kind_of_waiter_is_told_the_first_cause),
    CASE_ON_EVERY_QUEUE(failure_crosses_devices),
    CASE_ON_EVERY_QUEUE(failed_submission_leaves_its_queue_usable),
    CASE_ON_EVERY_QUEUE(failure_harms_nothing_that_does_not_wait_for_it),
    CASE_ON_EVERY_QUEUE(failed_semaphore_does_not_fail_its_other_waits),
    CASE_ON_EVERY_QUEUE(failed_signal_semaphore_does_not_stop_the_work),
    CASE_ON_EVERY_QUEUE(status_of_a_host_call_reaches_every_signal),
    CASE_ON_EVERY_QUEUE(status_of_a_host_call_waits_for_its_wait),
    CASE_ON_EVERY_QUEUE(exception_of_a_host_call_becomes_the_failure),
    CASE_ON_EVERY_QUEUE(halyard_error_of_a_host_call_keeps_its_status),
    CASE_ON_EVERY_QUEUE(anything_thrown_by_a_host_call_becomes_a_failure),
    CASE_ON_EVERY_QUEUE(failed_host_call_leaves_its_queue_usable),
    CASE_ON_EVERY_QUEUE(cancel_withdraws_a_parked_submission),
    CASE_ON_EVERY_QUEUE(cancel_of_a_complete_submission_is_false),
    CASE_ON_EVERY_QUEUE(cancel_of_a_failed_submission_is_false),
    CASE_ON_EVERY_QUEUE(second_cancel_is_false),
    CASE(cancel_of_nothing_is_false),
    CASE_ON_EVERY_QUEUE(cancel_fails_those_who_wait_for_it),
    CASE_ON_EVERY_QUEUE(cancel_leaves_others_of_the_same_wait),
    CASE_ON_EVERY_QUEUE(cancelled_host_call_is_destroyed_and_not_run),
    CASE_ON_EVERY_QUEUE(handle_of_a_submission_may_outlive_its_end),
    CASE_ON_EVERY_QUEUE(wait_for_a_dropped_semaphore_fails_cancelled),
    CASE_ON_EVERY_QUEUE(unfinished_submission_counts_as_a_signaller),
    CASE_ON_EVERY_QUEUE(last_signaller_that_signals_too_little_cancels_the_rest),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace failure

std::span<const Case> failure_cases() noexcept { return failure::kCases; }

}  // namespace halyard::inline v0::conformance
