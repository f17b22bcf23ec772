// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events: order inside a recording, and from one recording to another.
#include <algorithm>
#include <atomic>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace event {
namespace {

using hal::Buffer;
using hal::CommandBuffer;
using hal::Event;
using hal::Recorder;
using hal::Semaphore;

constexpr StatusCode kFailedPrecondition = StatusCode::kFailedPrecondition;

// Recordings of one command: it sets, resets or waits for the event.
CommandBuffer setting(const Context& t, const Event& event) {
  return Recorder(t.device()).set_event(event).finish().value();
}
CommandBuffer resetting(const Context& t, const Event& event) {
  return Recorder(t.device()).reset_event(event).finish().value();
}
CommandBuffer waiting(const Context& t, const Event& event) {
  return Recorder(t.device()).wait_event(event).finish().value();
}

// ---- Within one recording

void what_follows_a_wait_comes_after_what_stands_before_its_set(Context& t) {
  const Event event = t.device().create_event().value();
  const ByteVector data = ramp(300000);
  const Buffer from = t.buffer(data.size());
  const Buffer to = t.buffer(data.size());
  Recording recording(t);
  recording->update(recording.ref(from), data).set_event(event);
  recording->wait_event(event).copy(recording.whole(from), recording.whole(to));
  recording.run();
  VERIFY(contents(to) == data);
}

void kernels_are_ordered_by_events(Context& t) {
  const Event event = t.device().create_event().value();
  const Buffer x = t.buffer(4000);
  Recording recording(t);
  for (int i = 0; i < 20; ++i) {
    recording->dispatch(t.kernel("increment"), {.items = {1000}}, {recording.ref(x)},
                        {std::uint32_t{1000}});
    recording->set_event(event).wait_event(event).reset_event(event);
  }
  recording.run();
  const hal::Mapping y = x.map().value();
  for (const std::uint32_t value : y.as<std::uint32_t>()) VERIFY_EQ(value, 20u);
}

void other_commands_between_set_and_wait_run(Context& t) {
  const Event first = t.device().create_event().value();
  const Event second = t.device().create_event().value();
  const Buffer a = t.buffer(64);
  const Buffer b = t.buffer(64);
  const Buffer out = t.buffer(128);
  Recording recording(t);
  recording->fill(recording.ref(a), 1, 1).set_event(first);
  recording->fill(recording.ref(b), 2, 1).set_event(second);
  recording->wait_event(second).copy(recording.whole(b), recording.ref(out, 64, 64));
  recording->wait_event(first).copy(recording.whole(a), recording.ref(out, 0, 64));
  recording.run();
  ByteVector expected(64, std::byte{1});
  expected.resize(128, std::byte{2});
  VERIFY(contents(out) == expected);
}

void one_set_serves_many_waits_and_executions(Context& t) {
  const Event event = t.device().create_event().value();
  const Buffer a = t.buffer(4);
  Recording recording(t);
  recording->fill(recording.ref(a), 5, 1).set_event(event);
  for (int i = 0; i < 100; ++i) recording->wait_event(event);
  const CommandBuffer commands = recording.finish();
  VERIFY_EQ(commands.command_count(), 102u);
  for (int i = 0; i < 10; ++i) {
    VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = recording.table()}, kWatchdog));
  }
  VERIFY(contents(a) == ByteVector(4, std::byte{5}));
}

void thousand_events_in_a_recording(Context& t) {
  const Buffer a = t.buffer(4000);
  std::vector<Event> events;
  Recording recording(t);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    events.push_back(t.device().create_event().value());
    recording->fill(recording.ref(a, 4 * i, 4), i).set_event(events.back());
  }
  for (const Event& event : events) recording->wait_event(event);
  recording.run();
  const hal::Mapping y = a.map().value();
  for (std::uint32_t i = 0; i < 1000; ++i) VERIFY_EQ(y.as<std::uint32_t>()[i], i);
}

void wait_after_a_reset_fails_the_finish(Context& t) {
  const Event event = t.device().create_event().value();
  VERIFY_CODE(Recorder(t.device()).reset_event(event).wait_event(event).finish(),
              kFailedPrecondition);
  Recorder set_before(t.device());
  set_before.set_event(event).wait_event(event).reset_event(event).wait_event(event);
  const Status status = set_before.finish().status();
  VERIFY_CODE(status, kFailedPrecondition);
  VERIFY(status.message().find("command 3 (wait_event)") != std::string_view::npos);
  Recorder set_again(t.device());
  set_again.reset_event(event).set_event(event).wait_event(event);
  VERIFY_OK(t.compute().execute_and_wait(set_again.finish().value(), {}, kWatchdog));
}

// ---- Order between recordings

void waiting_recording_runs_after_the_setting_one(Context& t) {
  const Event event = t.device().create_event().value();
  const ByteVector data = ramp(300000);
  const Buffer from = t.buffer(data.size());
  const Buffer to = t.buffer(data.size());
  Recording produce(t);
  produce->update(produce.ref(from), data).set_event(event);
  Recording consume(t);
  consume->wait_event(event).copy(consume.whole(from), consume.whole(to)).reset_event(event);
  const CommandBuffer producing = produce.finish();
  const CommandBuffer consuming = consume.finish();
  const Semaphore s = t.semaphore();
  // Every pair of the device's queues.
  std::uint64_t value = 0;
  for (const hal::Queue& first : {t.compute(), t.copy_queue()}) {
    for (const hal::Queue& second : {t.compute(), t.copy_queue()}) {
      set_contents(from, ByteVector(data.size()));
      set_contents(to, ByteVector(data.size()));
      VERIFY_OK(
          first.execute(producing, {.bindings = produce.table(), .signal = {{s, value + 1}}}));
      VERIFY_OK(second.execute(
          consuming,
          {.bindings = consume.table(), .wait = {{s, value + 1}}, .signal = {{s, value + 2}}}));
      value += 2;
      VERIFY_OK(s.wait(value, kWatchdog));
      VERIFY(contents(to) == data);
    }
  }
}

void waiting_submission_parks_until_the_setting_one_may_run(Context& t) {
  const Event event = t.device().create_event().value();
  const Semaphore gate = t.semaphore();
  const Semaphore set = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().execute(setting(t, event), {.wait = {{gate, 1}}, .signal = {{set, 1}}}));
  VERIFY_OK(t.queue().execute(waiting(t, event), {.wait = {{set, 1}}, .signal = {{done, 1}}}));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void wait_lasts_until_the_set_though_another_signals_the_semaphore(Context& t) {
  const Event event = t.device().create_event().value();
  const Semaphore gate = t.semaphore();
  const Semaphore set = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().execute(setting(t, event), {.wait = {{gate, 1}}, .signal = {{set, 1}}}));
  VERIFY_OK(t.queue().execute(waiting(t, event), {.wait = {{set, 5}}, .signal = {{done, 1}}}));
  VERIFY_OK(set.signal(9));
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void wait_fails_with_the_submission_that_was_to_set(Context& t) {
  const Event event = t.device().create_event().value();
  const Semaphore gate = t.semaphore();
  const Semaphore set = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().execute(setting(t, event), {.wait = {{gate, 1}}, .signal = {{set, 1}}}));
  VERIFY_OK(t.queue().execute(waiting(t, event), {.wait = {{set, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(set.signal(1));
  gate.fail(Status(StatusCode::kDataLoss, "no input"));
  const Status status = done.wait(1, kWatchdog);
  VERIFY_CODE(status, StatusCode::kDataLoss);
  VERIFY(status.message().find("no input") != std::string_view::npos);
  // The event can be set again after the failure.
  const Semaphore again = t.semaphore();
  VERIFY_OK(t.queue().execute(setting(t, event), {.signal = {{again, 1}}}));
  VERIFY_OK(t.queue().execute_and_wait(waiting(t, event), {.wait = {{again, 1}}}, kWatchdog));
}

void wait_for_one_of_many_signals_or_a_later_value_will_do(Context& t) {
  const Event event = t.device().create_event().value();
  const std::vector<Semaphore> s = t.semaphores(12);
  std::vector<hal::Point> signals;
  for (const Semaphore& each : s) signals.emplace_back(each, 3);
  VERIFY_OK(t.queue().execute(setting(t, event), {.signal = signals}));
  for (const Semaphore& each : s) {
    VERIFY_OK(t.queue().execute_and_wait(waiting(t, event), {.wait = {{each, 3}}}, kWatchdog));
  }
  VERIFY_OK(t.queue().barrier({.wait = {{s[0], 3}}, .signal = {{s[0], 4}}}));
  VERIFY_OK(t.queue().execute_and_wait(waiting(t, event), {.wait = {{s[0], 4}}}, kWatchdog));
}

void chain_of_recordings_hands_an_event_on(Context& t) {
  const Event event = t.device().create_event().value();
  const Buffer x = t.buffer(4);
  Recorder recorder(t.device());
  recorder.wait_event(event).reset_event(event);
  recorder.dispatch(t.kernel("increment"), {.items = {1}}, {x}, {1u}).set_event(event);
  const CommandBuffer link = recorder.finish().value();
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.compute().execute(setting(t, event), {.signal = {{s, 1}}}));
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    VERIFY_OK(t.compute().execute(link, {.wait = {{s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_OK(s.wait(1001, kWatchdog));
  VERIFY_EQ(x.map().value().as<std::uint32_t>()[0], 1000u);
}

void event_may_be_dropped_before_its_recordings_run(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore set = t.semaphore();
  const Semaphore done = t.semaphore();
  {
    const Event event = t.device().create_event().value();
    VERIFY_OK(t.queue().execute(setting(t, event), {.wait = {{gate, 1}}, .signal = {{set, 1}}}));
    VERIFY_OK(t.queue().execute(waiting(t, event), {.wait = {{set, 1}}, .signal = {{done, 1}}}));
  }
  t.drop_devices();
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void threads_use_events_of_their_own_and_one_of_all(Context& t) {
  const Event shared = t.device().create_event().value();
  std::atomic<int> refused{0};
  Threads threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.start([&t, &shared, &refused, queue = thread % 2 == 0 ? t.compute() : t.copy_queue()] {
      const Event own = t.device().create_event().value();
      const CommandBuffer set =
          Recorder(t.device()).set_event(own).set_event(shared).finish().value();
      const CommandBuffer wait_own = waiting(t, own);
      const CommandBuffer wait_shared = waiting(t, shared);
      const Semaphore s = t.semaphore();
      for (std::uint64_t i = 1; i <= 200; ++i) {
        VERIFY_OK(queue.execute(set, {.signal = {{s, i}}}));
        VERIFY_OK(queue.execute_and_wait(wait_own, {.wait = {{s, i}}}, kWatchdog));
        // Usually another thread has set it last.
        const Status status = queue.execute_and_wait(wait_shared, {.wait = {{s, i}}}, kWatchdog);
        if (status.ok()) continue;
        VERIFY_CODE(status, kFailedPrecondition);
        ++refused;
      }
    });
  }
  threads.join();
  VERIFY(refused < 800);  // the thread that set it last finds it set
}

// Each execution has its own state of the event: no execution continues by another's set.
void threads_execute_one_recording_with_an_event_at_once(Context& t) {
  constexpr std::size_t kSize = 100000;
  const Event event = t.device().create_event().value();
  Recorder recorder(t.device());
  recorder.copy(hal::slot(0, 0, kSize), hal::slot(1, 0, kSize)).set_event(event);
  recorder.wait_event(event).copy(hal::slot(1, 0, kSize), hal::slot(2, 0, kSize));
  const CommandBuffer commands = recorder.finish().value();
  Threads threads;
  for (std::uint8_t thread = 0; thread < t.threads(4); ++thread) {
    threads.start([&t, &commands, thread, queue = thread % 2 == 0 ? t.compute() : t.copy_queue()] {
      const Buffer between = t.buffer(kSize);
      const Buffer to = t.buffer(kSize);
      for (std::uint8_t i = 1; i <= 50; ++i) {
        const auto byte = static_cast<std::uint8_t>(4 * i + thread);
        const Buffer from = t.buffer(kSize, byte);
        VERIFY_OK(queue.execute_and_wait(commands, {.bindings = {from, between, to}}, kWatchdog));
        VERIFY(contents(to) == ByteVector(kSize, std::byte{byte}));
      }
    });
  }
}

// ---- Misuse

// Verifies that a wait for the event is refused, and that the submission signals nothing.
void verify_refused(Context& t, const Event& event, hal::Points wait) {
  const Semaphore done = t.semaphore();
  VERIFY_CODE(t.queue().execute(waiting(t, event), {.wait = wait, .signal = {{done, 1}}}),
              kFailedPrecondition);
  VERIFY_CODE(t.queue().execute_and_wait(waiting(t, event), {.wait = wait}, kWatchdog),
              kFailedPrecondition);
  VERIFY_OK(t.queue().barrier_and_wait({}, kWatchdog));
  VERIFY_VALUE(done, 0);
}

void wait_for_what_nobody_has_set_is_refused(Context& t) {
  const Event event = t.device().create_event().value();
  verify_refused(t, event, {});
  verify_refused(t, event, {{t.semaphore(7), 7}});
  const Status status = t.queue().execute(waiting(t, event), {});
  for (const std::string_view part : {"queue", "execute", "command 0 (wait_event)"}) {
    VERIFY(status.message().find(part) != std::string_view::npos);
  }
  // A later set in the same recording does not serve an earlier wait.
  Recorder recorder(t.device());
  recorder.wait_event(event).set_event(event);
  const CommandBuffer late = recorder.finish().value();
  VERIFY_CODE(t.queue().execute(late, {}), kFailedPrecondition);
  verify_refused(t, event, {});
}

void wait_that_does_not_wait_on_the_setting_submission_is_refused(Context& t) {
  const Event event = t.device().create_event().value();
  const Semaphore set = t.semaphore();
  const Semaphore other = t.semaphore(100);
  VERIFY_OK(t.queue().execute(setting(t, event), {.signal = {{set, 5}}}));
  VERIFY_OK(set.wait(5, kWatchdog));  // a wait of the host, not of the submission
  verify_refused(t, event, {});
  verify_refused(t, event, {{set, 4}});
  verify_refused(t, event, {{other, 100}});
  VERIFY_OK(
      t.queue().execute_and_wait(waiting(t, event), {.wait = {{other, 100}, {set, 5}}}, kWatchdog));
}

void set_without_a_signal_serves_its_own_recording_only(Context& t) {
  const Event event = t.device().create_event().value();
  VERIFY_OK(t.queue().execute_and_wait(setting(t, event), {}, kWatchdog));
  verify_refused(t, event, {});
}

void wait_after_a_submission_that_resets_is_refused(Context& t) {
  const Event event = t.device().create_event().value();
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.queue().execute(setting(t, event), {.signal = {{s, 1}}}));
  VERIFY_OK(t.queue().execute(resetting(t, event), {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  verify_refused(t, event, {{s, 2}});
  VERIFY_OK(t.queue().execute(setting(t, event), {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(t.queue().execute_and_wait(waiting(t, event), {.wait = {{s, 3}}}, kWatchdog));
  // A recording that sets and then resets leaves the event reset.
  Recorder recorder(t.device());
  recorder.set_event(event).wait_event(event).reset_event(event);
  VERIFY_OK(t.queue().execute(recorder.finish().value(), {.signal = {{s, 4}}}));
  verify_refused(t, event, {{s, 4}});
}

void refused_submission_leaves_the_event_as_it_was(Context& t) {
  const Event event = t.device().create_event().value();
  const Semaphore s = t.semaphore();
  // A refused submission does not set the event: here its signal is not above the value; below, it
  // also waits for the point that it signals.
  VERIFY_CODE(t.queue().execute(setting(t, event), {.signal = {{s, 0}}}),
              StatusCode::kInvalidArgument);
  verify_refused(t, event, {{s, 0}});
  VERIFY_OK(t.queue().execute(setting(t, event), {.signal = {{s, 1}}}));
  VERIFY_OK(s.wait(1, kWatchdog));
  for (const CommandBuffer& commands : {setting(t, event), resetting(t, event)}) {
    VERIFY_CODE(t.queue().execute(commands, {.signal = {{s, 1}}}), StatusCode::kInvalidArgument);
    VERIFY_CODE(t.queue().execute(commands, {.wait = {{s, 2}}, .signal = {{s, 2}}}),
                StatusCode::kInvalidArgument);
    VERIFY_CODE(t.queue().execute(commands, {.signal = {{Semaphore(), 2}}}),
                StatusCode::kInvalidArgument);
    VERIFY_OK(t.queue().execute_and_wait(waiting(t, event), {.wait = {{s, 1}}}, kWatchdog));
  }
}

void empty_event_and_one_of_another_device_are_refused(Context& t) {
  const Event own = t.device().create_event().value();
  const Event other = t.device(1).create_event().value();
  VERIFY(own && other && !Event() && own != other && own == Event(own));
  VERIFY_CODE(hal::Device().create_event(), StatusCode::kInvalidArgument);
  const auto recorded = [&](auto&& record) {
    Recorder recorder(t.device());
    record(recorder);
    return recorder.finish().status();
  };
  for (const auto& [event, code] : {std::pair(Event(), StatusCode::kInvalidArgument),
                                    std::pair(other, StatusCode::kPermissionDenied)}) {
    VERIFY_CODE(recorded([&](Recorder& r) { r.set_event(event); }), code);
    VERIFY_CODE(recorded([&](Recorder& r) { r.reset_event(event); }), code);
    VERIFY_CODE(recorded([&](Recorder& r) { r.wait_event(event); }), code);
  }
}

#define CASE(name) {"event", #name, name}
#define CASE_BY_EVERY_BINDING(name) {"event", #name, name, Vary::kBindings}
#define CASE_ON_EVERY_QUEUE(name) {"event", #name, name, Vary::kQueueKinds}
#define CASE_IN_EVERY_WAY(name) {"event", #name, name, Vary::kQueueKinds | Vary::kBindings}
constexpr Case kCases[] = {
    CASE_IN_EVERY_WAY(what_follows_a_wait_comes_after_what_stands_before_its_set),
    CASE_BY_EVERY_BINDING(kernels_are_ordered_by_events),
    CASE_IN_EVERY_WAY(other_commands_between_set_and_wait_run),
    CASE_BY_EVERY_BINDING(one_set_serves_many_waits_and_executions),
    CASE(thousand_events_in_a_recording),
    CASE(wait_after_a_reset_fails_the_finish),
    CASE_BY_EVERY_BINDING(waiting_recording_runs_after_the_setting_one),
    CASE_ON_EVERY_QUEUE(waiting_submission_parks_until_the_setting_one_may_run),
    CASE_ON_EVERY_QUEUE(wait_lasts_until_the_set_though_another_signals_the_semaphore),
    CASE_ON_EVERY_QUEUE(wait_fails_with_the_submission_that_was_to_set),
    CASE_ON_EVERY_QUEUE(wait_for_one_of_many_signals_or_a_later_value_will_do),
    CASE(chain_of_recordings_hands_an_event_on),
    CASE_ON_EVERY_QUEUE(event_may_be_dropped_before_its_recordings_run),
    CASE(threads_use_events_of_their_own_and_one_of_all),
    CASE(threads_execute_one_recording_with_an_event_at_once),
    CASE_ON_EVERY_QUEUE(wait_for_what_nobody_has_set_is_refused),
    CASE_ON_EVERY_QUEUE(wait_that_does_not_wait_on_the_setting_submission_is_refused),
    CASE_ON_EVERY_QUEUE(set_without_a_signal_serves_its_own_recording_only),
    CASE_ON_EVERY_QUEUE(wait_after_a_submission_that_resets_is_refused),
    CASE_ON_EVERY_QUEUE(refused_submission_leaves_the_event_as_it_was),
    CASE(empty_event_and_one_of_another_device_are_refused),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING
#undef CASE_IN_EVERY_WAY
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace event

std::span<const Case> event_cases() noexcept { return event::kCases; }

}  // namespace halyard::inline v0::conformance
