// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Possible replies of a GPU's lane: markers that cannot be recorded, work that cannot be stopped.
// Calls run within an entry guard. Failures that cannot be undone: started_failure_test.cpp.
#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

// ---- rule 20: a marker that cannot be recorded

TEST(Rule20NoMarker, OneThatWasWantedIsAskedForAgain) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  auto done = world.semaphore(), ended = world.semaphore();
  EXPECT_TRUE(
      world.host_call(queue, [] { return Status(); }, {{done.get(), 1}}, {{ended.get(), 1}}).ok());
  queue.native().fail_mark = kNoMemory;
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 0u) << "it has run, but nothing says so";
  EXPECT_TRUE(queue->device().status().ok()) << "no loss";
  queue.native().fail_mark = {};
  world.settle();
  world.settle();  // woken by the notice
  EXPECT_EQ(ended->query().value(), 1u);
}

// The missing marker is found at the submission, or later if the work was parked for `start`.
TEST(Rule20NoMarker, WorkThatWaitsForOneIsHeldAndAskedAgainLater) {
  for (const std::uint64_t start_at : {1, 0}) {
    World world;
    auto& device = world.device();
    auto& a = world.queue(device, "a", kMarkers);
    auto& b = world.queue(device, "b", kMarkers);
    auto start = world.semaphore(start_at), between = world.semaphore(), done = world.semaphore();
    a.native().fail_mark = kNoMemory;
    EXPECT_TRUE(world.submit(a, {}, {{between.get(), 1}}, 1).ok());
    EXPECT_TRUE(
        world.submit(b, {{start.get(), 1}, {between.get(), 1}}, {{done.get(), 1}}, 2).ok());
    if (start_at == 0) check(start->signal(1));
    for (int i = 0; i < 5; ++i) (void)world.step_shells();
    EXPECT_EQ(b.native().waiting(), 0u);
    EXPECT_LE(a.native().mark_calls, 8) << "not in a loop";
    a.native().fail_mark = {};
    world.work_source.clock_.time += 2 * Engine::kCheckInterval;
    world.settle();
    EXPECT_TRUE(b->wait_idle(kNow).ok());
    EXPECT_EQ(done->query().value(), 1u);
  }
}

TEST(Rule20NoMarker, OneThatCouldNotBeRecordedIsNotWaitedFor) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a", kMarkers);
  auto& b = world.queue(device, "b", kMarkers);
  auto first = world.semaphore(), second = world.semaphore();
  a.native().stopped = true;
  EXPECT_TRUE(world.submit(b, {{first.get(), 1}}, {}, 3).ok());
  EXPECT_TRUE(world.submit(b, {{second.get(), 1}, {first.get(), 2}}, {}, 4).ok());
  a.native().fail_mark = kNoMemory;
  EXPECT_TRUE(world.submit(a, {}, {{first.get(), 1}}, 1).ok());
  (void)world.step_shells();
  EXPECT_EQ(b.native().waiting(), 0u);
  a.native().fail_mark = {};
  EXPECT_TRUE(world.submit(a, {}, {{second.get(), 1}}, 2).ok());
  world.work_source.clock_.time += 2 * Engine::kCheckInterval;
  (void)world.step_shells();
  (void)world.step_shells();
  ASSERT_EQ(b.native().waiting(), 1u);
  EXPECT_EQ(b.native().last_waits[0].sequence, 2u) << "the marker behind both";
  a.native().stopped = false;
  world.settle();
}

TEST(Rule20NoMarker, AnyOtherErrorIsLossOfTheDevice) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  EXPECT_TRUE(world.submit(queue, {}, {}, 1).ok());
  queue.native().fail_mark = kIllegalAddress;
  (void)queue->in_flight();
  EXPECT_TRUE(queue->device().lost());
}

// ---- work that stops later, or cannot be stopped

TEST(Abandon, WhatRunsOnFailsAtOnceAndIsHeldUntilItHasStopped) {
  World world;
  auto& device = world.device("gpu");
  auto& queue = world.queue(device, "q");
  auto done = world.semaphore();
  queue.native().stopped = queue.native().stopping = true;
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {}, {}, 2).ok());
  const auto look = [&] {
    world.work_source.clock_.time += Engine::kCheckInterval;
    world.settle();
  };
  device.lose(kIllegalAddress);
  world.settle();
  EXPECT_EQ(queue.native().asked_for, 0);
  EXPECT_TRUE(failed_with(done, StatusCode::kDeviceLost));
  EXPECT_TRUE(queue->wait_idle(Deadline::now()).ok()) << "nothing of it is awaited any more";
  EXPECT_EQ(world.resource.use_count(), 3) << "the device may touch it still";
  EXPECT_NE(world.engine.dump_timelines().find("failed, and held as 1"), std::string::npos);
  look();
  EXPECT_EQ(queue.native().asked_for, Engine::kCheckInterval);
  EXPECT_EQ(world.engine.next_check(), world.work_source.clock_.now() + Engine::kCheckInterval);

  queue.native().stopping = false;
  look();
  EXPECT_EQ(world.resource.use_count(), 1);
  EXPECT_EQ(world.engine.next_check(), Deadline::kForeverTime) << "it is asked no more";
}

TEST(Abandon, WhatDoesNotStopInTimeIsKeptForGood) {
  std::weak_ptr<int> touched;
  {
    World world;
    touched = world.resource;
    auto& queue = world.queue(world.device("gpu"), "q");
    queue.native().stopped = queue.native().stopping = queue.native().still_running = true;
    EXPECT_TRUE(world.submit(queue, {}, {}, 1).ok());
    queue->device().lose(kIllegalAddress);
    world.settle();
    EXPECT_EQ(world.engine.dump_timelines().find("for good"), std::string::npos);
    queue.native().stopping = false;
    world.settle();
    EXPECT_NE(world.engine.dump_timelines().find("1 submission is kept for good"),
              std::string::npos);
  }
  EXPECT_EQ(touched.use_count(), 1);
}

TEST(Abandon, AQueueThatClosesKeepsItsLaneUntilThatHasStopped) {
  World world;
  auto& queue = world.queue();
  EXPECT_TRUE(world.submit(queue, {}, {}, 1).ok());
  world.settle();
  const Status closed(StatusCode::kCancelled, "closed");
  queue->close(closed);
  world.settle();
  EXPECT_TRUE(queue->idle());
  queue.native().stopping = true;
  EXPECT_FALSE(queue->release_lanes(closed));
  world.settle();
  EXPECT_FALSE(queue->release_lanes(closed));
  queue.native().stopping = false;
  EXPECT_FALSE(queue->release_lanes(closed)) << "the shell has not asked again";
  world.settle();
  EXPECT_TRUE(queue->release_lanes(closed));
}

TEST(Abandon, WhatIsTakenFromAFailedSubmissionIsTakenBeforeItsPayloadGoes) {
  World world;
  auto& queue = world.queue();
  queue.native().stopped = true;
  struct Payload : Operation {
    ~Payload() { *gone = true; }
    bool* gone = nullptr;
    bool* gone_before = nullptr;
  };
  bool gone = false, gone_before = true;
  Submission* submission = queue->allocate().value();
  auto& payload = submission->emplace<Payload>();
  payload.gone = &gone;
  payload.gone_before = &gone_before;
  submission->set_ended(
      [](void* memory, const Status&) noexcept {
        const auto& ended = *static_cast<Payload*>(memory);
        *ended.gone_before = *ended.gone;
      },
      false);
  EXPECT_TRUE(queue->submit(*submission, {}, nullptr).ok());
  queue->device().lose(kIllegalAddress);
  world.settle();
  EXPECT_FALSE(gone_before);
  EXPECT_TRUE(gone);
}

TEST(Abandon, WhatMayStillRunIsKeptForGoodAndCounted) {
  std::weak_ptr<int> touched;
  std::string dump;
  {
    World world;
    touched = world.resource;
    auto& device = world.device("gpu");
    auto& queue = world.queue(device, "q");
    auto done = world.semaphore();
    queue.native().stopped = queue.native().still_running = true;
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
    EXPECT_TRUE(world.submit(queue, {}, {}, 2).ok());
    device.lose(kIllegalAddress);
    world.settle();
    EXPECT_TRUE(failed_with(done, StatusCode::kDeviceLost)) << "it fails as any other";
    dump = world.engine.dump_timelines();
    EXPECT_EQ(world.resource.use_count(), 3);
  }
  EXPECT_NE(dump.find("2 submissions are kept for good"), std::string::npos) << dump;
  EXPECT_EQ(touched.use_count(), 2) << "also when everything else is gone";
}

TEST(Abandon, AQuarantinedLaneThatStillRunsKeepsWhatItHolds) {
  World world;
  auto& lost = world.device("lost");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(world.device("alive"), "b");
  auto between = world.semaphore();
  a.native().stopped = true;
  EXPECT_TRUE(world.submit(a, {}, {{between.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(b, {{between.get(), 1}}, {}, 2).ok());
  b.native().still_running = true;
  lost.lose(kIllegalAddress);
  while (world.step_shells()) {
  }
  b->close(Status(StatusCode::kCancelled, "closed"));
  for (int i = 0; i < 3 && !b->idle(); ++i) world.settle();
  EXPECT_TRUE(b->idle()) << "it does not wait for what does not end";
  EXPECT_EQ(world.resource.use_count(), 2);
}

// ---- entry guards

// Counts, and checks that calls happen within.
struct CountingGuard final : EntryGuard {
  void enter(Saved& saved, timeline::Calls calls) noexcept override {
    saved.words[0] = this;
    latest = calls;
    ++depth;
    ++entered;
  }
  void leave(const Saved& saved) noexcept override {
    EXPECT_EQ(saved.words[0], this);
    --depth;
  }
  int depth = 0, entered = 0;
  timeline::Calls latest{};
};

TEST(EntryGuards, EveryCallToALaneIsMadeWithin) {
  World world;
  const auto guard = Ref<CountingGuard>::adopt(new CountingGuard);
  auto& device = world.device();
  auto& made = *world.queues.emplace_back(std::make_unique<QueueUnderTest>());
  made.capabilities = kMarkers;
  made.guard = guard;
  made.queue = Queue::create(device, made, {.name = "q", .domain = kDomain}).value();
  MemoryQueue& native = made.native();
  native.inside = [&] { EXPECT_EQ(guard->depth, 1); };
  auto done = world.semaphore();
  native.stopped = true;
  EXPECT_TRUE(world.submit(made, {}, {{done.get(), 1}}, 1).ok());
  const Status status = world.sleeping_wait(*done.get(), 1);
  EXPECT_EQ(code(status), StatusCode::kDeadlineExceeded);
  made->watch();
  world.work_source.clock_.time += 2 * Engine::kCheckInterval;
  world.step_shells();
  native.stopped = false;
  world.settle();
  (void)done->query();
  made->close(Status(StatusCode::kCancelled, "closed"));
  world.settle();
  EXPECT_TRUE(made->idle());
  EXPECT_TRUE(made->release_lanes(Status(StatusCode::kCancelled, "closed")));
  EXPECT_EQ(native.seen,
            (std::set<std::string>{"issue", "mark", "poll", "probe", "arm", "help", "abandon"}));
  EXPECT_EQ(guard->depth, 0);
  native.inside = nullptr;
}

struct GuardedWorld : World {
  ~GuardedWorld() { a.native().inside = nullptr; }
  QueueUnderTest& guarded_queue() {
    guard = counted.get();
    return queue("guarded");
  }

  const Ref<CountingGuard> counted = Ref<CountingGuard>::adopt(new CountingGuard);
  QueueUnderTest& a = guarded_queue();
  HandleRef<Semaphore> done = semaphore();
};

TEST(EntryGuards, AWaitEntersOnceHoweverOftenItPolls) {
  GuardedWorld world;
  world.a.native().inside = [&] { EXPECT_EQ(world.counted->depth, 1); };
  world.a.native().stopped = true;
  EXPECT_TRUE(world.submit(world.a, {}, {{world.done.get(), 1}}, 1).ok());
  const int entered = world.counted->entered, polls = world.a.native().poll_calls;
  world.work_source.asleep = [&] {
    EXPECT_EQ(world.counted->depth, 0) << "a thread that sleeps has left";
    EXPECT_GE(world.a.native().poll_calls, polls + 64);
    EXPECT_LE(world.counted->entered, entered + 2) << "to poll, and to arm";
    world.a.native().stopped = false;
    world.a.native().run();
  };
  EXPECT_TRUE(world.done->wait(1, kForever).ok());
  EXPECT_EQ(world.counted->depth, 0);
}

TEST(EntryGuards, WorkThatTakesNoNativeCallsIsIssuedOutside) {
  GuardedWorld world;
  const int entered = world.counted->entered;
  world.a.native().empty = true;
  EXPECT_TRUE(world.submit(world.a, {}, {}, 1).ok());
  EXPECT_EQ(world.counted->entered, entered);
  world.a.native().empty = false;
  EXPECT_TRUE(world.submit(world.a, {}, {}, 2).ok());
  EXPECT_EQ(world.counted->entered, entered + 1);
  EXPECT_EQ(world.a.native().issue_calls, 2);
}

TEST(EntryGuards, AChainThatIsReleasedIsIssuedWithinOneEntry) {
  GuardedWorld world;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    EXPECT_TRUE(world.submit(world.a, {{world.done.get(), i}}, {{world.done.get(), i + 1}}).ok());
  }
  world.a.native().inside = [&] { EXPECT_EQ(world.counted->depth, 1); };
  EXPECT_TRUE(world.done->signal(1).ok());
  EXPECT_EQ(world.a.native().issue_calls, 20);
  EXPECT_EQ(world.counted->entered, 1);
  EXPECT_EQ(world.counted->depth, 0);
}

// Lanes of the same guard whose progress is visible only at markers.
struct MarkedWorld : GuardedWorld {
  QueueUnderTest& b = queue(*devices.front(), "b", kMarkers);
  QueueUnderTest& c = queue(*devices.front(), "c", kMarkers);
};

TEST(EntryGuards, AMarkerOnAnotherLaneIsRecordedWithinTheEntryOfTheIssue) {
  MarkedWorld world;
  auto between = world.semaphore();
  EXPECT_TRUE(world.submit(world.b, {}, {{between.get(), 1}}).ok());
  const int entered = world.counted->entered;
  EXPECT_TRUE(world.submit(world.c, {{between.get(), 1}}, {{world.done.get(), 1}}).ok());
  EXPECT_EQ(world.b.native().mark_calls, 1);
  EXPECT_EQ(world.c.native().issue_calls, 1);
  EXPECT_EQ(world.counted->entered, entered + 1);
}

TEST(EntryGuards, AWaitRecordsItsMarkerWithinTheEntryOfItsPolls) {
  MarkedWorld world;
  EXPECT_TRUE(world.submit(world.b, {}, {{world.done.get(), 1}}).ok());
  const int entered = world.counted->entered;
  world.work_source.on_pause = [&] { world.b.native().run(); };
  EXPECT_TRUE(world.done->wait(1, kForever).ok());
  EXPECT_EQ(world.b.native().mark_calls, 1);
  EXPECT_EQ(world.counted->entered, entered + 1);
  EXPECT_EQ(world.counted->depth, 0);
}

TEST(EntryGuards, AnEntryToIssueOrMarkDoesNotDoForAPoll) {
  MarkedWorld world;
  EXPECT_TRUE(world.submit(world.b, {}, {}).ok());
  EXPECT_EQ(world.counted->latest, timeline::Calls::kEnqueue);
  const int entered = world.counted->entered;
  EXPECT_TRUE(world.b->in_flight());
  EXPECT_EQ(world.b.native().mark_calls, 1);
  EXPECT_EQ(world.counted->entered, entered + 2);
  EXPECT_EQ(world.counted->latest, timeline::Calls::kAny);
  EXPECT_EQ(world.counted->depth, 0);
}

TEST(EntryGuards, WorkOfTheHostStartsOutside) {
  static GuardedWorld* its = nullptr;
  GuardedWorld world;
  its = &world;
  Submission* const host_work = world.a->allocate().value();
  host_work->emplace<Operation>();
  host_work->set_host_work([](Submission& submission) noexcept {
    EXPECT_EQ(its->counted->depth, 0) << "it may end at once";
    submission.end_host_work({});
  });
  const Point ready{world.done.get(), 1};
  auto ended = world.semaphore();
  const Point end{ended.get(), 1};
  const SubmitOptions options{.waits = {&ready, 1}, .signals = {&end, 1}};
  EXPECT_TRUE(world.a->submit(*host_work, options, nullptr).ok());
  world.a.native().on_issue = [&] { EXPECT_TRUE(world.done->signal(1).ok()); };
  EXPECT_TRUE(world.submit(world.a, {}, {}).ok());
  EXPECT_EQ(ended->value(), 1u) << "by the thread that had the role";
}

// Releases work that another lane has passed while a submission waits to be issued.
TEST(EntryGuards, WhatAGateRetiresIsLetGoOutside) {
  static CountingGuard* guard = nullptr;
  static LanePoint ended;
  MarkedWorld world;
  guard = world.counted.get();
  bool gone = false;
  Submission* const first = world.a->allocate().value();
  first->emplace<Operation>(&world.log, 1, std::shared_ptr<int>(new int(0), [&](int* number) {
                              EXPECT_EQ(guard->depth, 0) << "perhaps a user's destructor";
                              gone = true;
                              delete number;
                            }));
  EXPECT_TRUE(world.a->submit(*first, {}, nullptr, &ended).ok());
  EXPECT_EQ(world.a.native().run(), 1);
  auto between = world.semaphore();
  EXPECT_TRUE(world.submit(world.b, {}, {{between.get(), 1}}).ok());
  static constexpr Gate kRetires{.ask = [](void*, IssueSite& site, Status&) noexcept {
    EXPECT_EQ(guard->depth, 1) << "a marker was recorded just now";
    site.retire(*ended.lane);
    return Gate::Answer::kGo;
  }};
  Submission* const gated = world.c->allocate().value();
  gated->emplace<Operation>();
  gated->set_gate(kRetires);
  const Point ready{between.get(), 1};
  EXPECT_TRUE(world.c->submit(*gated, {.waits = {&ready, 1}}, nullptr).ok());
  EXPECT_TRUE(gone);
  EXPECT_EQ(world.counted->depth, 0);
}

// The device is lost while a submission is issued after work that failed after native calls.
TEST(EntryGuards, WhatALossLetsGoIsLetGoOutside) {
  GuardedWorld world;
  bool gone = false;
  world.resource = std::shared_ptr<int>(new int(0), [&](int* number) {
    EXPECT_EQ(world.counted->depth, 0) << "perhaps a user's destructor";
    gone = true;
    delete number;
  });
  MemoryQueue& native = world.a.native();
  native.stopped = true;
  native.fail_next = kNoMemory;
  native.fails_started = true;
  EXPECT_TRUE(world.submit(world.a, {}, {{world.done.get(), 1}}).ok());
  world.resource.reset();
  EXPECT_FALSE(gone) << "the device may still touch it";
  native.on_issue = [&] {
    EXPECT_EQ(world.counted->depth, 1);
    world.devices.front()->lose(kIllegalAddress);
  };
  EXPECT_TRUE(world.submit(world.a, {}, {}).ok());
  EXPECT_TRUE(gone);
}

TEST(EntryGuards, WhatEndsDuringAWaitIsLetGoOutside) {
  GuardedWorld world;
  bool gone = false;
  world.resource = std::shared_ptr<int>(new int(0), [&](int* number) {
    EXPECT_EQ(world.counted->depth, 0) << "perhaps a user's destructor";
    gone = true;
    delete number;
  });
  world.a.native().stopped = true;
  EXPECT_TRUE(world.submit(world.a, {}, {{world.done.get(), 1}}, 1).ok());
  world.resource.reset();
  world.log.clear();
  int turns = 0;
  world.work_source.on_pause = [&] {
    if (++turns != 3) return;
    EXPECT_EQ(world.counted->depth, 1) << "between two polls it stays";
    world.a.native().stopped = false;
    world.a.native().run();
  };
  EXPECT_TRUE(world.done->wait(1, kForever).ok());
  EXPECT_TRUE(gone);
  EXPECT_EQ(world.counted->depth, 0);
}

TEST(EntryGuards, ALaneWithoutAGuardIsPolledOutsideOfThatOfAnother) {
  GuardedWorld world;
  world.guard = nullptr;
  QueueUnderTest& plain = world.queue("plain");
  auto ready = world.semaphore();
  world.a.native().inside = [&] { EXPECT_EQ(world.counted->depth, 1); };
  // The call may run user code.
  plain.native().inside = [&] { EXPECT_EQ(world.counted->depth, 0); };
  world.a.native().stopped = plain.native().stopped = true;
  EXPECT_TRUE(world.submit(world.a, {}, {{world.done.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(plain, {}, {{ready.get(), 1}}, 2).ok());
  int turns = 0;
  world.work_source.on_pause = [&] {
    if (++turns != 3) return;
    for (QueueUnderTest* const queue : {&world.a, &plain}) {
      queue->native().stopped = false;
      queue->native().run();
    }
  };
  const Point both[] = {{world.done.get(), 1}, {ready.get(), 1}};
  EXPECT_TRUE(wait_all(world.engine, both, kForever).ok());
  EXPECT_EQ(world.counted->depth, 0);
  plain.native().inside = nullptr;
}

}  // namespace
}  // namespace halyard::timeline::testing
