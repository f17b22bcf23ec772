// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/explore/explore_scenarios.h"

#include <chrono>

#include "simulation/explore/explored_world.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::sim {
namespace {

using timeline::Point;
using timeline::Registration;
using timeline::Semaphore;
using timeline::Submission;
using namespace std::chrono_literals;

constexpr StatusCode kPlanted = StatusCode::kInternal;

// A world, two semaphores at 0, and the common actions of most programs.
struct World : ExploredWorld {
  HandleRef<Semaphore> s = semaphore(), t = semaphore();
  Plain data[2];  // written before s, or t, is signalled or fails, and read by the thread that has
                  // waited

  Plain& data_of(const Semaphore& semaphore) { return data[&semaphore == t.get()]; }
  void signal(Semaphore& semaphore) {
    data_of(semaphore).write(1);
    expect(semaphore.signal(1).ok(), "a signal is refused");
  }
  void fail(Semaphore& semaphore) {
    data_of(semaphore).write(1);
    semaphore.fail(Status(kPlanted, "planted"));
  }
  // Includes the resulting work of the completion shell.
  void lose(ExploredQueue& queue) {
    queue.device->lose(Status(kPlanted, "planted"));
    while (engine.step_completion()) {
    }
  }
  void wait(Semaphore& semaphore) {
    expect(semaphore.wait(1, kForever).ok(), "a wait for what was signalled fails");
    (void)data_of(semaphore).read();
  }
  // The final state, after all work is done and a thread has queried the semaphore (rule 21).
  Semaphore::ValueState end_of(Semaphore& semaphore) {
    settle();
    (void)semaphore.query();
    settle();
    return semaphore.value_state(1);
  }
  void expect_reached(Semaphore& semaphore) {
    expect(end_of(semaphore) == Semaphore::ValueState::kReached,
           "what was signalled is not reached");
  }
};

// --- waiting and signalling (rules 2, 3, 5, 6, 28) -----------------------------------------------

void wait_and_signal(Program& program) {
  auto& w = program.keep<World>();
  program.thread("waiter", [&w] { w.wait(*w.s.get()); });
  program.thread("signaller", [&w] { w.signal(*w.s.get()); });
}

void wait_and_fail(Program& program) {
  auto& w = program.keep<World>();
  program.thread("waiter", [&w] {
    expect(w.s->wait(1, kForever).code() == kPlanted, "a wait does not end as its semaphore fails");
    (void)w.data[0].read();
  });
  program.thread("failer", [&w] { w.fail(*w.s.get()); });
}

void two_waits_and_signal(Program& program) {
  auto& w = program.keep<World>();
  for (int i = 0; i < 2; ++i) program.thread("waiter", [&w] { w.wait(*w.s.get()); });
  program.thread("signaller", [&w] { w.signal(*w.s.get()); });
}

void deadline_and_signal(Program& program) {
  auto& w = program.keep<World>();
  program.thread("waiter", [&w] {
    const Status status = w.s->wait(1, 1ms);
    expect(status.ok() || status.code() == StatusCode::kDeadlineExceeded,
           "neither in time nor not");
    if (status.ok()) (void)w.data[0].read();
  });
  program.thread("signaller", [&w] { w.signal(*w.s.get()); });
  program.at_end([&w] { w.expect_reached(*w.s.get()); });
}

void signal_and_fail(Program& program) {
  auto& w = program.keep<World>();
  program.thread("waiter", [&w] {
    const bool ok = w.s->wait(1, kForever).ok();
    expect(ok == (w.s->value() == 1), "a wait ends otherwise than its value");
  });
  program.thread("signaller", [&w] {
    const bool ok = w.s->signal(1).ok();
    expect(ok == (w.s->value() == 1), "a signal that is refused advances, or one that is not");
  });
  program.thread("failer", [&w] { w.fail(*w.s.get()); });
}

void wait_any_and_two_signals(Program& program) {
  auto& w = program.keep<World>();
  program.thread("waiter", [&w] {
    const Point points[] = {{w.s.get(), 1}, {w.t.get(), 1}};
    expect(timeline::wait_any(w.engine, points, kForever).ok(), "no wait for any");
    expect(w.s->value() + w.t->value() != 0, "a wait for any ends before any");
    (void)w.data[w.s->value() == 0].read();
  });
  program.thread("first", [&w] { w.signal(*w.s.get()); });
  program.thread("second", [&w] { w.signal(*w.t.get()); });
}

void wait_all_and_two_signals(Program& program) {
  auto& w = program.keep<World>();
  program.thread("waiter", [&w] {
    const Point points[] = {{w.s.get(), 1}, {w.t.get(), 1}};
    expect(timeline::wait_all(w.engine, points, kForever).ok(), "no wait for all");
    expect(w.s->value() + w.t->value() == 2, "a wait for all ends before all");
    (void)(w.data[0].read() + w.data[1].read());
  });
  program.thread("first", [&w] { w.signal(*w.s.get()); });
  program.thread("second", [&w] { w.signal(*w.t.get()); });
}

void wait_and_drop_of_the_last_producer(Program& program) {
  auto& w = program.keep<World>();
  program.thread("waiter", [s = Ref<Semaphore>(w.s.get())] {
    expect(s->wait(1, kForever).code() == StatusCode::kCancelled, "no signaller is left");
  });
  program.thread("producer", [&w] { w.s = {}; });
}

// --- callbacks (rule 29) -------------------------------------------------------------------------

void registration_and_drop(Program& program) {
  struct State : World {
    Registration* registration = nullptr;
    base::Atomic<bool> running{false};
    bool dropped = false;
    int calls = 0;
  };
  auto& w = program.keep<State>();
  const auto call = [](void* at, const Status&) {
    auto& state = *static_cast<State*>(at);
    expect(!state.dropped, "a callback runs after its registration is gone");
    state.running.store(true);
    ++state.calls;
    state.running.store(false);
  };
  w.registration = Registration::create(*w.s.get(), 1, {&w, call, nullptr}).value();
  program.thread("signaller", [&w] { w.signal(*w.s.get()); });
  program.thread("owner", [&w] {
    w.registration->drop();
    w.dropped = true;
    expect(!w.running.load(), "a callback runs while its registration goes");
  });
  program.at_end([&w] { expect(w.calls <= 1, "a callback is called twice"); });
}

void registration_and_signal(Program& program) {
  struct State : World {
    Registration* registration = nullptr;
    int calls = 0;
  };
  auto& w = program.keep<State>();
  program.thread("owner", [&w] {
    const auto call = [](void* at, const Status& status) {
      expect(status.ok(), "a callback hears of a failure");
      ++static_cast<State*>(at)->calls;
    };
    w.registration = Registration::create(*w.s.get(), 1, {&w, call, nullptr}).value();
  });
  program.thread("signaller", [&w] { w.signal(*w.s.get()); });
  program.at_end([&w] {
    expect(w.calls == 1, "a callback is not called once");
    w.registration->drop();
  });
}

// --- submissions (rules 7, 8, 11) ----------------------------------------------------------------

void submit_and_signal(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  program.thread("submitter", [&] { w.submit(queue, {{w.s.get(), 1}}, {{w.t.get(), 1}}, w.data); });
  program.thread("signaller", [&w] { w.signal(*w.s.get()); });
  program.at_end([&] {
    expect(queue.native().issued() == 1, "ready work is not issued");
    w.expect_reached(*w.t.get());
  });
}

void submit_and_fail(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  program.thread("submitter", [&] { w.submit(queue, {{w.s.get(), 1}}, {{w.t.get(), 1}}); });
  program.thread("failer", [&w] { w.fail(*w.s.get()); });
  program.at_end([&] {
    expect(w.end_of(*w.t.get()) == Semaphore::ValueState::kFailed, "a failure is not passed on");
    expect(queue.native().issued() == 0, "work whose wait has failed is issued");
  });
}

void submit_signal_and_fail(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  program.thread("submitter", [&] { w.submit(queue, {{w.s.get(), 1}}, {{w.t.get(), 1}}); });
  program.thread("signaller", [&w] { (void)w.s->signal(1); });
  program.thread("failer", [&w] { w.fail(*w.s.get()); });
  program.at_end([&w] {
    const auto end = w.end_of(*w.t.get());
    expect(end == w.s->value_state(1), "a submission ends otherwise than its wait");
  });
}

template <bool kFails>
void cancel(Program& program) {
  struct State : World {
    Submission* parked = nullptr;
    bool cancelled = false;
  };
  auto& w = program.keep<State>();
  auto& queue = w.queue();
  w.parked = &w.submit(queue, {{w.s.get(), 1}}, {{w.t.get(), 1}}, w.data);
  program.thread("canceller", [&w] { w.cancelled = w.parked->cancel(); });
  program.thread("other", [&w] { kFails ? w.fail(*w.s.get()) : w.signal(*w.s.get()); });
  program.at_end([&w, &queue] {
    expect(w.end_of(*w.t.get()) != Semaphore::ValueState::kPending, "the end reaches no waiter");
    const bool is_cancelled = w.parked->state() == Submission::State::kCancelled;
    expect(is_cancelled == w.cancelled, "cancel() says otherwise than what has become of it");
    const bool is_issued = queue.native().issued() == 1;
    expect(is_issued == !(w.cancelled || kFails), "what was cancelled is issued, or other is not");
  });
}

// The semaphore may fail between the linking of the first wait and that of the second.
void submit_two_waits_and_fail(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  program.thread("submitter", [&] { w.submit(queue, {{w.s.get(), 1}, {w.t.get(), 1}}, {}); });
  program.thread("failer", [&w] { w.fail(*w.s.get()); });
  program.at_end([&w] {
    w.settle();
    expect(!w.t->has_waiter_for(1), "what has failed stays linked");
  });
}

void parked_signal_and_fail(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  auto& parked = w.submit(queue, {{w.s.get(), 1}}, {{w.t.get(), 1}});
  program.thread("signaller", [&w] { (void)w.s->signal(1); });
  program.thread("failer", [&w] { w.fail(*w.s.get()); });
  program.at_end([&w, &parked] {
    expect(w.end_of(*w.t.get()) != Semaphore::ValueState::kPending, "the end reaches no waiter");
    const bool reached = w.s->value() == 1;
    expect((parked.state() == Submission::State::kComplete) == reached, "not as its wait ended");
  });
}

// --- issuing (rules 10, 12, 15, 16) --------------------------------------------------------------

void two_submitters(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  program.thread("first", [&] { w.submit(queue, {}, {{w.s.get(), 1}}); });
  program.thread("second", [&] { w.submit(queue, {}, {{w.t.get(), 1}}); });
  program.at_end([&] { expect(queue.native().issued() == 2, "a submission stays in the inbox"); });
}

void three_submitters(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  for (int i = 0; i < 3; ++i) program.thread("submitter", [&] { w.submit(queue, {}, {}); });
  program.at_end([&] { expect(queue.native().issued() == 3, "a submission stays in the inbox"); });
}

void two_signallers_of_one_queue(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  w.submit(queue, {{w.s.get(), 1}}, {}, &w.data[0]);
  w.submit(queue, {{w.t.get(), 1}}, {}, &w.data[1]);
  program.thread("first", [&] { w.signal(*w.s.get()); });
  program.thread("second", [&] { w.signal(*w.t.get()); });
  program.at_end([&] { expect(queue.native().issued() == 2, "a submission stays in the inbox"); });
}

// The shell is a separate thread, or the submitter becomes the shell once it has submitted.
template <bool kOwnShell, bool kMarksAll>
void submit_and_wait(Program& program) {
  auto& w = program.keep<World>();
  w.work.has_shell = true;
  auto& queue = w.queue({.marks_every_submission = kMarksAll});
  const auto shell = [&w] { w.work.run_shell(w.engine); };
  const auto submit = [&w, &queue] { w.submit(queue, {}, {{w.s.get(), 1}}, nullptr, w.data); };
  program.thread("waiter", [&w] { w.wait(*w.s.get()); });
  if (kOwnShell) {
    program.thread("submitter", submit);
    program.shell("shell", shell);
  } else {
    program.shell("submitter", [=] { submit(), shell(); });
  }
}

// More submissions become ready at once than a turn issues (three, here), and a thread that enters
// for another reason takes the issuer's role before the next turn.
void turn_and_look(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  for (int i = 0; i < 4; ++i) w.submit(queue, {{w.s.get(), 1}}, {});
  program.thread("signaller", [&w] { w.signal(*w.s.get()), (void)w.engine.step_issue(); });
  program.thread("looker", [&queue] { (void)queue->wait_idle(kNow); });
  program.at_end([&] {
    w.settle();
    expect(queue.native().issued() == 4, "what is ready is not issued");
  });
}

template <bool kPolled>
void park_and_cover(Program& program) {
  auto& w = program.keep<World>();
  auto &producer = w.queue(), &consumer = w.queue();
  program.thread("producer", [&] { w.submit(producer, {}, {{w.s.get(), 1}}, nullptr, w.data); });
  program.thread("consumer", [&] {
    w.submit(consumer, {{w.s.get(), 1}}, {{w.t.get(), 1}}, w.data);
  });
  if (kPolled) program.thread("poller", [&w] { (void)w.s->query(); });
  program.at_end([&] {
    if (!kPolled) expect(consumer.native().issued() == 1, "covered work is not issued");
    w.expect_reached(*w.t.get());
  });
}

void cover_and_retirement(Program& program) {
  auto& w = program.keep<World>();
  auto &producer = w.queue(), &consumer = w.queue();
  w.submit(consumer, {{w.s.get(), 1}}, {{w.t.get(), 1}}, w.data);
  program.thread("producer", [&] { w.submit(producer, {}, {{w.s.get(), 1}}, nullptr, w.data); });
  program.thread("poller", [&w] { (void)w.s->query(); });
  program.at_end([&] { w.expect_reached(*w.t.get()); });
}

void full_lane_and_retirement(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue({.max_in_flight = 1}, true);
  w.submit(queue, {}, {{w.s.get(), 1}});
  program.thread("submitter", [&] { w.submit(queue, {}, {{w.t.get(), 1}}); });
  program.thread("device", [&] {
    expect(queue.native().step(), "work in the lane does not run");
    (void)w.s->query();
  });
  program.at_end([&] { w.expect_reached(*w.t.get()); });
}

void parts_and_retirement(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue({.max_in_flight = 1}, true);
  program.thread("submitter", [&] {
    expect(w.try_submit(queue, {}, {{w.t.get(), 1}}, 0, /*depth=*/2) != nullptr, "it is refused");
  });
  program.thread("device", [&] {
    for (int i = 0; i < 2; ++i) {
      while (!queue.native().step()) base::spin_pause();
    }
  });
  w.work.has_shell = true;
  program.shell("shell", [&w] { w.work.run_shell(w.engine); });
  program.at_end([&] { w.expect_reached(*w.t.get()); });
}

// --- markers (rule 20) ---------------------------------------------------------------------------

void marker_and_consumer(Program& program) {
  auto& w = program.keep<World>();
  auto &producer = w.queue({.marks_every_submission = false}), &consumer = w.queue();
  program.thread("producer", [&] { w.submit(producer, {}, {{w.s.get(), 1}}, nullptr, w.data); });
  program.thread("consumer", [&] {
    w.submit(consumer, {{w.s.get(), 1}}, {{w.t.get(), 1}}, w.data);
  });
  program.at_end([&] { w.expect_reached(*w.t.get()); });
}

// --- loss (rules 26, 27) -------------------------------------------------------------------------

void loss_and_submit(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue({}, true);
  program.thread("submitter", [&] {
    Submission* submission = queue->allocate().value();
    submission->emplace<Payload>();
    const Point signal{w.s.get(), 1};
    (void)queue->submit(*submission, {.signals = {&signal, 1}}, nullptr);
    w.s = {};
  });
  program.thread("loser", [&] { w.lose(queue); });
  program.at_end([s = Ref<Semaphore>(w.s.get()), &w] {
    expect(w.end_of(*s.get()) != Semaphore::ValueState::kPending,
           "work of a lost device does not end");
  });
}

// The consumer is bound to work that will never run, or finds its producer dead.
void loss_and_consumer(Program& program) {
  auto& w = program.keep<World>();
  auto &producer = w.queue({}, true), &consumer = w.queue({}, true);
  w.submit(producer, {}, {{w.s.get(), 1}});
  program.thread("consumer", [&] { w.submit(consumer, {{w.s.get(), 1}}, {{w.t.get(), 1}}); });
  program.thread("loser", [&] { w.lose(producer); });
  program.at_end([&w] {
    expect(w.end_of(*w.s.get()) == Semaphore::ValueState::kFailed,
           "work of a lost device is not failed");
    expect(w.end_of(*w.t.get()) == Semaphore::ValueState::kFailed, "its waiter does not fail");
  });
}

// As above, but the consumer's queue is drained as well: submit() reads the flag of a loss with
// ordering, because it releases the role, and drain() reads it without.
void loss_and_drained_consumer(Program& program) {
  auto& w = program.keep<World>();
  auto &producer = w.queue({}, true), &consumer = w.queue({}, true);
  auto& go = program.keep<HandleRef<Semaphore>>(w.semaphore());
  w.submit(producer, {}, {{w.s.get(), 1}});
  w.submit(consumer, {{go.get(), 1}}, {});
  program.thread("consumer", [&] {
    w.submit(consumer, {{w.s.get(), 1}}, {{w.t.get(), 1}});
    (void)go->signal(1);
  });
  program.thread("loser", [&w, &producer] { w.lose(producer); });
  program.at_end([&w] {
    expect(w.end_of(*w.t.get()) == Semaphore::ValueState::kFailed,
           "a waiter of a lost device's work does not fail");
  });
}

// The thread that checks the full lane of another device for losses may find room there.
void loss_and_full_lane(Program& program) {
  auto& w = program.keep<World>();
  auto &full = w.queue({.max_in_flight = 1}, true), &lost = w.queue({}, true);
  w.submit(full, {}, {});
  w.submit(full, {}, {{w.t.get(), 1}});
  w.submit(lost, {}, {});
  program.thread("submitter", [&] { w.submit(full, {}, {}); });
  program.thread("device", [&] { expect(full.native().step(), "work in the lane does not run"); });
  lost.device->lose(Status(kPlanted, "planted"));
  program.thread("shell", [&w] { (void)w.engine.step_completion(); });
  program.at_end([&w] { w.expect_reached(*w.t.get()); });
}

// An issuer that finds room for the next part, but also that its device was just lost, yields to
// the thread that reports the loss.
void loss_and_parts(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue({.max_in_flight = 1}, true);
  expect(w.try_submit(queue, {}, {{w.t.get(), 1}}, 0, /*depth=*/2) != nullptr, "it is refused");
  expect(queue.native().step(), "the first part does not run");
  program.thread("shell", [&w] { (void)w.engine.step_completion(); });
  program.thread("loser", [&] { w.lose(queue); });
  program.at_end([&w] {
    expect(w.end_of(*w.t.get()) == Semaphore::ValueState::kFailed,
           "a submission of which a part is left does not fail with its device");
  });
}

// --- armed notifications (rule 22) ---------------------------------------------------------------

// A lane whose own thread sees its progress, and threads that sleep until it has come far enough.
struct ArmedWorld {
  void advance(std::uint64_t to) {
    done.write(static_cast<int>(to));
    sequence.store(to, std::memory_order_release);
    list.advance(to);
  }
  void wait(std::uint64_t until, base::Parker& parker) {
    for (;;) {
      const std::uint32_t epoch = parker.prepare();
      if (sequence.load(std::memory_order_acquire) >= until) break;
      list.arm(until, parker);
      (void)parker.park(epoch, Deadline::kForeverTime);
    }
    if (until == kLast) (void)done.read();
  }

  static constexpr std::uint64_t kLast = 2;
  timeline::NotifyList list;
  base::Atomic<std::uint64_t> sequence{0};
  Plain done;  // by the device, before each sequence
  base::Parker parkers[2];
};

void arm_and_advance(Program& program) {
  auto& w = program.keep<ArmedWorld>();
  program.thread("waiter", [&w] {
    for (std::uint64_t i = 1; i <= w.kLast; ++i) w.wait(i, w.parkers[0]);
  });
  program.thread("device", [&w] {
    for (std::uint64_t i = 1; i <= w.kLast; ++i) w.advance(i);
  });
}

// Each waiter has its own parker, or both share a parker, which has a single arming.
template <bool kShared>
void two_arm_and_advance(Program& program) {
  auto& w = program.keep<ArmedWorld>();
  program.thread("first", [&w] { w.wait(1, w.parkers[0]); });
  program.thread("second", [&w] { w.wait(2, w.parkers[kShared ? 0 : 1]); });
  program.thread("device", [&w] {
    for (std::uint64_t i = 1; i <= w.kLast; ++i) w.advance(i);
  });
}

// --- waiting until a queue is idle ---------------------------------------------------------------

void idle_and_parked_work(Program& program) {
  auto& w = program.keep<World>();
  w.work.has_shell = true;
  auto& queue = w.queue();
  w.submit(queue, {{w.s.get(), 1}}, {});
  program.thread("waiter", [&] {
    expect(queue->wait_idle(kForever).ok(), "no wait for an idle queue");
    expect(queue.native().issued() == 1, "a queue is idle with work parked");
  });
  program.shell("signaller", [&w] { w.signal(*w.s.get()), w.work.run_shell(w.engine); });
}

// Without a user the queue gets no submission, but the loss schedules it nevertheless.
void loss_and_reopening(Program& program) {
  auto& w = program.keep<World>();
  auto& queue = w.queue();
  program.thread("user", [&queue] { (void)queue->reopen("of another user"); });
  program.thread("loser", [&] { w.lose(queue); });
  program.at_end([&w, &queue] {
    w.settle();
    expect(w.try_submit(queue, {}, {}, 0) == nullptr, "a lost device takes work");
  });
}

constexpr Scenario kScenarios[] = {
    {"wait_and_signal", &wait_and_signal},
    {"wait_and_fail", &wait_and_fail},
    {"two_waits_and_signal", &two_waits_and_signal},
    {"deadline_and_signal", &deadline_and_signal},
    {"signal_and_fail", &signal_and_fail},
    {"wait_any_and_two_signals", &wait_any_and_two_signals},
    {"wait_all_and_two_signals", &wait_all_and_two_signals},
    {"wait_and_drop_of_the_last_producer", &wait_and_drop_of_the_last_producer},
    {"registration_and_drop", &registration_and_drop},
    {"registration_and_signal", &registration_and_signal},
    {"submit_and_signal", &submit_and_signal},
    {"submit_and_fail", &submit_and_fail},
    {"submit_two_waits_and_fail", &submit_two_waits_and_fail},
    {"submit_signal_and_fail", &submit_signal_and_fail},
    {"cancel_and_issue", &cancel<false>},
    {"cancel_and_fail", &cancel<true>},
    {"parked_signal_and_fail", &parked_signal_and_fail},
    {"two_submitters", &two_submitters},
    {"three_submitters", &three_submitters, 2},
    {"two_signallers_of_one_queue", &two_signallers_of_one_queue},
    {"turn_and_look", &turn_and_look, 2},
    {"overtaken_retirement", &submit_and_wait<false, true>},
    {"overtaken_retirement_and_shell", &submit_and_wait<true, true>, 2},
    {"park_and_cover", &park_and_cover<false>},
    {"park_and_cover_and_retirement", &park_and_cover<true>},
    {"cover_and_retirement", &cover_and_retirement},
    {"full_lane_and_retirement", &full_lane_and_retirement},
    {"parts_and_retirement", &parts_and_retirement, 2},
    {"marker_and_issue", &submit_and_wait<false, false>, 3},
    {"marker_and_issue_and_shell", &submit_and_wait<true, false>, 2},
    {"marker_and_consumer", &marker_and_consumer},
    {"loss_and_submit", &loss_and_submit},
    {"loss_and_consumer", &loss_and_consumer},
    {"loss_and_drained_consumer", &loss_and_drained_consumer},
    {"loss_and_full_lane", &loss_and_full_lane, 2},
    {"loss_and_parts", &loss_and_parts},
    {"loss_and_reopening", &loss_and_reopening},
    {"arm_and_advance", &arm_and_advance},
    {"two_arm_and_advance", &two_arm_and_advance<false>, 3},
    {"two_arm_and_advance_with_one_parker", &two_arm_and_advance<true>, 3},
    {"idle_and_parked_work", &idle_and_parked_work, 3},
};

}  // namespace

std::span<const Scenario> scenarios() noexcept { return kScenarios; }

}  // namespace halyard::inline v0::sim
