// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules 10 and 20 to 25 of timelines.md: markers, retirement, checks for progress and faults.
#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

TEST(Rule20Markers, AreNotRecordedWithoutAWaiter) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  auto done = world.semaphore();
  for (std::uint64_t i = 1; i <= 20; ++i)
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), i}}).ok());
  EXPECT_EQ(queue.native().mark_calls, 0);
}

TEST(Rule20Markers, OneShowsThatAQueueWithoutWaitersIsIdle) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  EXPECT_TRUE(queue->in_flight());
  queue.native().run();
  EXPECT_FALSE(queue->in_flight());
  EXPECT_EQ(queue.native().mark_calls, 1);
}

TEST(Rule20Markers, AreRecordedAtTheTailOnFirstNeed) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  auto done = world.semaphore();
  for (std::uint64_t i = 1; i <= 20; ++i)
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), i}}).ok());
  queue.native().run();
  EXPECT_EQ(done->query().value(), 20u) << "the query made the lane's progress visible";
  EXPECT_EQ(queue.native().mark_calls, 1);
}

TEST(Rule20Markers, AreRecordedAtLeastEvery32Submissions) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(world.submit(queue, {}, {}, i).ok());
  queue.native().run();
  EXPECT_EQ(queue.native().poll().sequence, 64u);
  EXPECT_EQ(queue.native().mark_calls, 0) << "requested with the issue, not separately";
  EXPECT_EQ(queue.native().markers(), 2u);
}

TEST(Rule20Markers, AForeignWaiterGetsOneLate) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a", kMarkers);
  auto& b = world.queue(device, "b", kMarkers);
  auto semaphore = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(a, {}, {{semaphore.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(a, {}, {}, 2).ok());
  EXPECT_EQ(a.native().mark_calls, 0);
  EXPECT_TRUE(world.submit(b, {{semaphore.get(), 1}}, {{done.get(), 1}}, 3).ok());
  EXPECT_EQ(a.native().mark_calls, 1);
  EXPECT_EQ(b.native().last_waits.at(0).sequence, 2u)
      << "the tail: later than requested, never earlier";
  world.settle();
  EXPECT_EQ(done->query().value(), 1u);
}

// The progress of several threads: a number that each thread may advance or await.
class Steps {
 public:
  void reach(int value) {
    step_.store(value);
    step_.notify_all();
  }
  void await(int value) {
    for (int now = step_.load(); now < value; now = step_.load()) step_.wait(now);
  }

 private:
  std::atomic<int> step_ = 0;
};

// The kick finds the consumer's role held by the thread that has just put the work back.
TEST(Rule20Markers, OneRecordedWhileTheConsumerDrainsIsNotMissed) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a", kMarkers);
  auto& b = world.queue(device, "b", kMarkers);
  auto produced = world.semaphore(), start = world.semaphore(), done = world.semaphore();
  // The producer is another thread, because no thread drains two queues at once. It holds a's role,
  // so the consumer's drain finds no marker and continues with other work. Then the marker is
  // recorded.
  Steps steps;
  EXPECT_TRUE(world.submit(a, {}, {{produced.get(), 1}}, 1).ok());
  a.native().on_issue = [&] {
    steps.reach(1);  // a's role is held
    steps.await(2);
  };
  b.native().on_issue = [&] {
    steps.reach(2);  // b has put its first submission back
    steps.await(3);  // and the marker comes before b releases its role
  };
  std::jthread producer([&] {
    EXPECT_TRUE(world.submit(a, {}, {}, 2).ok());
    steps.reach(3);
  });
  steps.await(1);
  EXPECT_TRUE(world.submit(b, {{start.get(), 1}, {produced.get(), 1}}, {{done.get(), 1}}, 3).ok());
  EXPECT_TRUE(world.submit(b, {{start.get(), 1}}, {}, 4).ok());
  EXPECT_TRUE(start->signal(1).ok());
  producer.join();
  EXPECT_EQ(b.native().waiting(), 2u);
  world.settle();
  EXPECT_EQ(done->query().value(), 1u);
}

TEST(Rule20Markers, ManySubmissionsThatLackOneDoNotDelayReadyWork) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a", kMarkers);
  auto& b = world.queue(device, "b", kMarkers);
  auto produced = world.semaphore(), done = world.semaphore();
  Steps steps;
  EXPECT_TRUE(world.submit(a, {}, {{produced.get(), 1}}, 1).ok());
  a.native().on_issue = [&] {
    steps.reach(1);  // a's role is held: no marker can be recorded
    steps.await(2);
  };
  std::jthread producer([&] { EXPECT_TRUE(world.submit(a, {}, {}, 2).ok()); });
  steps.await(1);
  constexpr int kStuck = 100;
  for (int i = 1; i <= kStuck; ++i) {
    const std::uint64_t value = i;
    EXPECT_TRUE(world.submit(b, {{produced.get(), 1}}, {{done.get(), value}}, 3).ok());
  }
  EXPECT_EQ(b.native().waiting(), 0u);
  EXPECT_TRUE(world.submit(b, {}, {}, 4).ok());
  EXPECT_EQ(b.native().waiting(), 1u) << "work without waits";
  steps.reach(2);
  producer.join();
  world.settle();
  EXPECT_EQ(done->query().value(), std::uint64_t{kStuck});
}

TEST(Rule20Markers, AWaiterWithoutOneHasTheLaneWatched) {
  World world;
  auto& queue = world.queue(world.device(), "marked", {.marks_every_submission = false});
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  auto& wakes = world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)];
  int woken = 0;
  queue.native().on_issue = [&] {  // the role is held: no marker can be recorded
    const int before = wakes;
    WorkList* const issuers = std::exchange(active_list, nullptr);  // waits as another thread
    EXPECT_EQ(code(world.sleeping_wait(*done.get(), 1)), StatusCode::kDeadlineExceeded);
    active_list = issuers;
    woken = wakes - before;
  };
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  EXPECT_GT(woken, 0);
}

TEST(Rule20Markers, NoneIsRecordedOnALostDevice) {
  World world;
  auto& device = world.device();
  auto& queue = world.queue(device, "q", kMarkers);
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  device.lose(Status(StatusCode::kInternal, "gone"));
  world.settle();
  queue->flush();
  EXPECT_TRUE(queue.native().abandoned);
  EXPECT_EQ(queue.native().mark_calls, 0);
}

TEST(Rule20Markers, OneIsRecordedAtOnceWhenTheCoverReleasesAnotherLane) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a", kMarkers);
  auto& b = world.queue(device, "b", kMarkers);
  auto semaphore = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(b, {{semaphore.get(), 1}}, {{done.get(), 1}}, 2).ok());
  EXPECT_TRUE(world.submit(a, {}, {{semaphore.get(), 1}}, 1).ok());
  EXPECT_EQ(b.native().waiting(), 1u);
  EXPECT_EQ(b.native().last_waits.at(0).sequence, 1u);
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 2}));
}

TEST(Rule20Markers, HostWaitsWorkOnLanesWithMarkers) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  queue.native().helps = true;
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
  EXPECT_TRUE(done->wait(1, kForever).ok());
}

TEST(Rule20Markers, AWaitThatOnlyPollsMarksTheLaneAndDoesNotWorkOnIt) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  queue.native().helps = true;
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
  EXPECT_EQ(code(done->wait(1, kNow)), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(queue.native().run(1), 1);
  EXPECT_TRUE(done->wait(1, kNow).ok());
}

// Perhaps no thread ever waits for the first queue.
TEST(Retirement, CompletesWhatTheWorkWaitedForOnOtherQueues) {
  World world;
  auto& device = world.device();
  auto &first = world.queue(device, "first"), &second = world.queue(device, "second");
  auto between = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(first, {}, {{between.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(second, {{between.get(), 1}}, {{done.get(), 1}}, 2).ok());
  EXPECT_EQ(first.native().run(), 1);
  EXPECT_EQ(second.native().run(), 1);
  EXPECT_EQ(world.resource.use_count(), 3);
  EXPECT_EQ(done->query().value(), 1u);
  EXPECT_EQ(world.resource.use_count(), 1) << "neither of them keeps it";
}

// The payload of a lane's first submission, and of a submission in another lane that a gate orders
// after it.
struct Gated : Operation {
  LaneTracker** lane = nullptr;
  std::function<void()> between;  // runs between the gate's query and its wait

  static Status submit(QueueUnderTest& queue, const Gate& gate, const Gated& payload) {
    Submission* submission = queue->allocate().value();
    submission->emplace<Gated>(payload);
    submission->set_gate(gate);
    return queue->submit(*submission, {}, nullptr);
  }
};
constexpr Gate kTellsItsLane{
    .ask = [](void*, IssueSite&, Status&) noexcept { return Gate::Answer::kGo; },
    .issued = [](void* payload,
                 const LanePoint& at) noexcept { *static_cast<Gated*>(payload)->lane = at.lane; },
};
constexpr Gate kStandsBehind{
    .ask =
        [](void* payload, IssueSite& site, Status&) noexcept {
          auto& self = *static_cast<Gated*>(payload);
          EXPECT_EQ(site.order_after({*self.lane, 1}), IssueSite::Order::kEdge);
          self.between();
          site.wait_for({*self.lane, 1});
          return Gate::Answer::kGo;
        },
};

TEST(Rule20Markers, AThreadThatHelpsIsToldOfANewMarkerThoughNothingWasToRun) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  LaneTracker* lane = nullptr;
  EXPECT_TRUE(Gated::submit(queue, kTellsItsLane, {.lane = &lane}).ok());
  EXPECT_TRUE(lane->help(1));
  EXPECT_FALSE(lane->help(1)) << "it is marked";
  world.settle();
}

TEST(Rule20Markers, OneWithAReusedEntryIsNotWaitedFor) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a", {.marks_every_submission = false, .max_in_flight = 1});
  auto& b = world.queue(device, "b", kMarkers);
  LaneTracker* lane = nullptr;
  EXPECT_TRUE(Gated::submit(a, kTellsItsLane, {.lane = &lane}).ok());
  EXPECT_TRUE(a->in_flight()) << "its marker is recorded";
  const auto between = [&] {
    EXPECT_EQ(a.native().run(), 1);
    EXPECT_FALSE(a->in_flight());
    EXPECT_TRUE(world.submit(a, {}, {}).ok());
  };
  EXPECT_TRUE(Gated::submit(b, kStandsBehind, {.lane = &lane, .between = between}).ok());
  EXPECT_EQ(b.native().waiting(), 1u);
  EXPECT_TRUE(b.native().last_waits.empty()) << "the work that it waited for has ended";
}

TEST(Rule10Overtaking, ADeviceFasterThanItsIssuerLosesNothing) {
  // A native queue that runs every entry within issue().
  struct Eager final : NativeQueue {
    const QueueCapabilities& capabilities() const noexcept override { return caps; }
    IssueResult issue(std::span<const Issue> batch, Doorbell) noexcept override {
      sequence = batch.back().sequence;
      if (retire != nullptr) (void)retire->try_retire();  // a poller in between
      return {batch.size(), false, {}};
    }
    Progress poll() noexcept override { return {sequence, {}}; }
    Status arm(std::uint64_t, base::Notify& notify) noexcept override {
      notify.notify();
      return {};
    }
    Abandoned abandon(const Status&, Nanoseconds) noexcept override { return Abandoned::kStopped; }
    QueueCapabilities caps;
    std::uint64_t sequence = 0;
    LaneTracker* retire = nullptr;
  };
  struct Source final : LaneSource {
    Result<NativeQueue*> open_lane() override { return static_cast<NativeQueue*>(&native); }
    Eager native;
  };
  World world;
  Source source;
  Ref<Queue> queue = Queue::create(world.device(), source, {"eager", kDomain}).value();
  auto semaphore = world.semaphore();
  const auto submit = [&](std::uint64_t value) {
    Submission* submission = queue->allocate().value();
    submission->emplace<Operation>();
    const Point signal{semaphore.get(), value};
    return queue->submit(*submission, {.signals = {&signal, 1}}, nullptr);
  };
  EXPECT_TRUE(submit(1).ok());
  PinnedLanePoint lane = semaphore->find_promise(1, kHostDomain);
  ASSERT_TRUE(lane);
  source.native.retire = lane.lane();
  EXPECT_TRUE(submit(2).ok());
  EXPECT_EQ(semaphore->value(), 2u) << "the issuer retired the work that had overtaken it";
  lane.reset();
  queue->close(Status(StatusCode::kCancelled, "end"));
  EXPECT_TRUE(queue->idle());
  EXPECT_TRUE(queue->release_lanes(Status(StatusCode::kCancelled, "end")));
}

TEST(Rule10Overtaking, NothingIsRetiredBeforeAllItsPromisesArePublished) {
  World world;
  auto& queue = world.queue();
  auto first = world.semaphore(), second = world.semaphore();
  // The host call only reaches `first`, so the promise of `first` makes the shell watch the lane.
  EXPECT_TRUE(world.host_call(queue, [] { return Status(); }, {{first.get(), 1}}, {}).ok());
  world.work_source.on_wake = [&] {
    queue.native().run();
    EXPECT_EQ(first->query().value(), 0u) << "the promise of `second` is not published yet";
    world.work_source.on_wake = nullptr;
  };
  EXPECT_TRUE(world.submit(queue, {}, {{first.get(), 1}, {second.get(), 1}}).ok());
  EXPECT_FALSE(world.work_source.on_wake) << "it was woken";
  world.settle();
  EXPECT_EQ(second->query().value(), 1u);
}

TEST(Rule21Retirement, DoesNotHappenWithoutAWaiterOrQuery) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  for (std::uint64_t i = 1; i <= 100; ++i)
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), i}}).ok());
  queue.native().run();
  EXPECT_EQ(queue.native().poll_calls, 0);
  EXPECT_EQ(world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)], 0);
}

TEST(Rule22Watching, TheShellWakesAtTheFirstAwaitedCompletion) {
  World world;
  auto& queue = world.queue();
  auto sooner = world.semaphore(), later = world.semaphore();
  int calls = 0;
  const Callback count{&calls, [](void* at, const Status&) { ++*static_cast<int*>(at); },
                       [](void*) {}};
  EXPECT_TRUE(world.submit(queue, {}, {{sooner.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{later.get(), 1}}).ok());
  auto* one = Registration::create(*sooner.get(), 1, count).value();
  auto* two = Registration::create(*later.get(), 1, count).value();
  world.step_shells();
  const int wakes = world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)];
  EXPECT_EQ(queue.native().run(1), 1);
  EXPECT_GT(world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)], wakes);
  world.step_shells();
  EXPECT_EQ(calls, 1);
  one->drop();
  two->drop();
}

TEST(Rule23Looking, ProbesALaneThatDoesNotMove) {
  World world;
  world.work_source.clock_.time = 10 * Engine::kCheckInterval;
  auto& device = world.device("slow");
  auto& queue = world.queue(device, "q");
  queue.native().stopped = true;
  auto a = world.semaphore(), b = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{a.get(), 1}}).ok());
  EXPECT_TRUE(world.host_call(queue, [] { return Status(); }, {{a.get(), 1}}, {{b.get(), 1}}).ok());
  world.settle();
  EXPECT_EQ(world.engine.next_check(), world.work_source.clock_.time + Engine::kCheckInterval);
  // The shell does not probe this lane each time that it checks, for instance for the end of other
  // lanes' work.
  auto& other = world.queue(world.device("other"), "other");
  auto c = world.semaphore(), d = world.semaphore();
  EXPECT_TRUE(world.submit(other, {}, {{c.get(), 1}}).ok());
  EXPECT_TRUE(world.host_call(other, [] { return Status(); }, {{c.get(), 1}}, {{d.get(), 1}}).ok());
  world.settle();
  EXPECT_EQ(d->value(), 1u);
  EXPECT_EQ(queue.native().probes, 0);
  world.work_source.clock_.time += Engine::kCheckInterval;
  queue.native().probe_result = Status(StatusCode::kInternal, "MMU fault", "XID_31");
  world.settle();
  EXPECT_GE(queue.native().probes, 1);
  EXPECT_EQ(code(b->query().status()), StatusCode::kDeviceLost);
  EXPECT_EQ(b->query().status().native_error(), "XID_31");
}

TEST(Rule25Hang, NoProgressForTheTimeoutIsLossOfTheDevice) {
  World world;
  auto& device = world.device("hung");
  device.set_hang_timeout(50'000'000);
  auto& queue = world.queue(device, "q");
  queue.native().stopped = true;
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  world.settle();
  world.work_source.clock_.time += 49'000'000;
  world.settle();
  EXPECT_TRUE(device.status().ok());
  world.work_source.clock_.time += 2'000'000;
  world.settle();
  EXPECT_EQ(code(done->query().status()), StatusCode::kDeviceLost);
}

TEST(Rule25Hang, ALaneThatWaitsForAnotherIsNotHungUntilThatOneHasPassed) {
  World world;
  auto& patient = world.queue(world.device("patient"), "patient");
  auto& device = world.device("hung");
  device.set_hang_timeout(50'000'000);
  auto& queue = world.queue(device, "q");
  patient.native().stopped = true;
  auto first = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(patient, {}, {{first.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {{first.get(), 1}}, {{done.get(), 1}}).ok());
  EXPECT_EQ(queue.native().waiting(), 1u) << "it waits natively";
  for (int i = 0; i < 10; ++i) {
    world.settle();
    world.work_source.clock_.time += 20'000'000;
  }
  EXPECT_TRUE(device.status().ok());
  queue.native().stopped = true;
  patient.native().stopped = false;
  world.settle();
  world.work_source.clock_.time += 49'000'000;
  world.settle();
  EXPECT_TRUE(device.status().ok());
  world.work_source.clock_.time += 20'000'000;
  world.settle();
  EXPECT_EQ(code(done->query().status()), StatusCode::kDeviceLost);
}

}  // namespace
}  // namespace halyard::timeline::testing
