// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules 1 to 6 of timelines.md, and waits of host threads (28).
#include "timeline/semaphore.h"

#include "memory_queue.h"
#include "timeline/host_wait.h"

namespace halyard::timeline::testing {
namespace {

using namespace std::chrono_literals;

TEST(Rule1Lanes, MoveTheirOwnSequenceAndNeverAValue) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a");
  auto& b = world.queue(device, "b");
  auto between = world.semaphore();
  EXPECT_TRUE(world.submit(a, {}, {{between.get(), 1000}}).ok());
  EXPECT_TRUE(world.submit(b, {{between.get(), 1000}}, {}).ok());
  ASSERT_EQ(b.native().last_waits.size(), 1u);
  EXPECT_EQ(b.native().last_waits[0].sequence, 1u) << "a position in the lane, not the value";
  a.native().run();
  b.native().run();
  EXPECT_EQ(b.native().progress(), 1u) << "the devices are done";
  EXPECT_EQ(between->value(), 0u) << "the value is the one that the host set";
  EXPECT_EQ(between->query().value(), 1000u);
}

TEST(Rule1Lanes, TwoMaySignalOneSemaphoreInEitherOrder) {
  for (const bool larger_first : {false, true}) {
    World world;
    auto& small = world.queue("small");
    auto& large = world.queue("large");
    auto shared = world.semaphore(), end_of_small = world.semaphore();
    EXPECT_TRUE(world.submit(small, {}, {{shared.get(), 1}, {end_of_small.get(), 1}}).ok());
    EXPECT_TRUE(world.submit(large, {}, {{shared.get(), 2}}).ok());
    const std::uint64_t first = larger_first ? 2 : 1;
    (larger_first ? large : small).native().run();
    EXPECT_TRUE(shared->wait(first, kNow).ok());
    EXPECT_EQ(shared->value(), first);
    (larger_first ? small : large).native().run();
    EXPECT_TRUE(end_of_small->wait(1, kNow).ok());
    EXPECT_TRUE(shared->wait(2, kNow).ok());
    EXPECT_EQ(shared->value(), 2u);
    EXPECT_EQ(small.native().progress(), 1u);
    EXPECT_EQ(large.native().progress(), 1u);
  }
}

// A quick lane signals 2, so a wait for 1 ends while the lane that signals 1 is still running.
class Rule21Retire : public ::testing::Test {
 protected:
  Rule21Retire() {
    EXPECT_TRUE(world.submit(slow, {}, {{shared.get(), 1}}).ok());
    EXPECT_TRUE(world.submit(quick, {}, {{shared.get(), 2}}).ok());
  }
  World world;
  QueueUnderTest& slow = world.queue("slow");
  QueueUnderTest& quick = world.queue("quick");
  HandleRef<Semaphore> shared = world.semaphore();
};

TEST_F(Rule21Retire, AQuerySeesTheLargerValueOfAnotherLane) {
  quick.native().run();
  EXPECT_EQ(shared->query().value(), 2u);
}

TEST_F(Rule21Retire, AWaitEndsWithTheLargerValueOfAnotherLane) {
  quick.native().run();
  EXPECT_TRUE(shared->wait(1, kNow).ok());
}

TEST_F(Rule21Retire, ACallbackIsCalledForTheLargerValueOfAnotherLane) {
  int calls = 0;
  const auto call = [](void* count, const Status& status) {
    EXPECT_TRUE(status.ok());
    ++*static_cast<int*>(count);
  };
  Registration* registration =
      Registration::create(*shared.get(), 1, {&calls, call, nullptr}).value();
  quick.native().run();
  while (world.engine.step_completion()) {
  }
  EXPECT_EQ(calls, 1);
  registration->drop();
}

TEST(Rule2Values, StartAnywhereAndOnlyGrow) {
  World world;
  auto semaphore = world.semaphore(7);
  EXPECT_EQ(semaphore->query().value(), 7u);
  EXPECT_TRUE(semaphore->signal(9).ok());
  EXPECT_EQ(semaphore->query().value(), 9u);
  EXPECT_TRUE(semaphore->signal(kMaxValue).ok());
  EXPECT_EQ(semaphore->query().value(), kMaxValue);
}

TEST(Rule2Values, AboveTheLargestAreInvalid) {
  World world;
  EXPECT_EQ(code(Semaphore::create(world.engine, kFailedBit, "", nullptr).status()),
            StatusCode::kInvalidArgument);
  auto semaphore = world.semaphore();
  EXPECT_EQ(code(semaphore->signal(kFailedBit)), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(semaphore->wait(kFailedBit, kNow)), StatusCode::kInvalidArgument);
  EXPECT_EQ(semaphore->query().value(), 0u);
}

TEST(Rule4Signals, BackwardOrEqualChangeNothing) {
  World world;
  auto semaphore = world.semaphore(5, "five");
  for (std::uint64_t value : {0u, 4u, 5u}) {
    const Status status = semaphore->signal(value);
    EXPECT_EQ(code(status), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("'five'"), std::string::npos) << status.to_string();
  }
  EXPECT_EQ(semaphore->query().value(), 5u);
}

TEST(Rule2Failure, FirstWinsAndKeepsCodeAndMessage) {
  World world;
  auto semaphore = world.semaphore(3);
  semaphore->fail(Status(StatusCode::kDataLoss, "disk", "EIO"));
  semaphore->fail(Status(StatusCode::kInternal, "later"));
  const Status status = semaphore->query().status();
  EXPECT_EQ(status.to_string(), "DataLoss: disk [EIO]");
  EXPECT_TRUE(semaphore->signal(4).same_as(status));
  EXPECT_TRUE(semaphore->wait(4, kForever).same_as(status));
}

TEST(Rule2Failure, ValuesReachedBeforeItStaySatisfied) {
  World world;
  auto semaphore = world.semaphore(3);
  semaphore->fail(Status(StatusCode::kDataLoss, "disk"));
  EXPECT_TRUE(semaphore->wait(3, kNow).ok());
  EXPECT_EQ(code(semaphore->wait(4, kNow)), StatusCode::kDataLoss);
}

TEST(Rule2Failure, FailingWithOkChangesNothing) {
  World world;
  auto semaphore = world.semaphore();
  semaphore->fail(Status());
  EXPECT_TRUE(semaphore->query().ok());
}

// signal() takes the lock if has_waiter_for() is true.
TEST(Rule3Parking, NoWaiterIsLeftAfterAPassedDeadline) {
  World world;
  auto semaphore = world.semaphore();
  EXPECT_EQ(code(world.sleeping_wait(*semaphore.get(), 3)), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(semaphore->has_waiter_for(kMaxValue));
}

TEST(Rule3Parking, NoWaiterIsLeftForAReachedValue) {
  World world;
  auto semaphore = world.semaphore(3);
  auto& queue = world.queue();
  auto other = world.semaphore();
  // The first wait is not met, so the check of the second wait parks the submission there.
  EXPECT_TRUE(world.submit(queue, {{other.get(), 1}, {semaphore.get(), 3}}, {}).ok());
  EXPECT_FALSE(semaphore->has_waiter_for(kMaxValue));
}

TEST(Rule3Parking, NoWaiterIsLeftAfterTheSignal) {
  World world;
  auto semaphore = world.semaphore();
  EXPECT_TRUE(world.submit(world.queue(), {{semaphore.get(), 3}}, {}).ok());
  EXPECT_TRUE(semaphore->has_waiter_for(3));
  EXPECT_TRUE(semaphore->signal(3).ok());
  EXPECT_FALSE(semaphore->has_waiter_for(kMaxValue));
}

TEST(Rule5Signallers, WithoutThemASemaphoreFailsAndNamesTheAwaitedValue) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  {
    auto dropped = world.semaphore(0, "lost");
    EXPECT_TRUE(world.submit(queue, {{dropped.get(), 42}}, {{done.get(), 1}}).ok());
  }
  world.settle();  // dropping a handle leaves effects to the completion shell (rule 18)
  const Status status = done->query().status();
  EXPECT_EQ(code(status), StatusCode::kCancelled);
  EXPECT_NE(status.message().find("'lost': dropped before value 42"), std::string::npos)
      << status.to_string();
}

TEST(Rule5Signallers, AnUnfinishedSubmissionKeepsItAlive) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  {
    auto between = world.semaphore();
    EXPECT_TRUE(world.submit(queue, {}, {{between.get(), 1}}, 1).ok());
    EXPECT_TRUE(world.submit(queue, {{between.get(), 1}}, {{done.get(), 1}}, 2).ok());
  }
  world.settle();
  EXPECT_EQ(done->query().value(), 1u);
}

TEST(Rule5Signallers, TheLastOneCancelsWaitsAboveItsValue) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  {
    auto dropped = world.semaphore();
    EXPECT_TRUE(world.submit(queue, {{dropped.get(), 5}}, {{done.get(), 1}}).ok());
    EXPECT_TRUE(world.submit(queue, {}, {{dropped.get(), 4}}).ok());
  }
  world.settle();  // no thread waits for 4, yet its submission is retired
  EXPECT_EQ(code(done->query().status()), StatusCode::kCancelled);
}

TEST(Rule5Signallers, TheOwnerIsReleasedAfterTheEffectsOfTheLastHandleArePosted) {
  // The owner is a device. The runtime may end after the device's destruction.
  struct Owner final : RefCounted {
    void on_last_handle() noexcept override { posted_before = posted->load(); }
    std::atomic<int>* posted = nullptr;
    int posted_before = -1;
  };
  World world;
  Owner owner;
  owner.posted = &world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)];
  auto semaphore = Semaphore::create(world.engine, 0, "", &owner).value();
  auto& queue = world.queue();
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{semaphore.get(), 1}}, {{done.get(), 1}}).ok());
  semaphore = {};
  EXPECT_EQ(owner.posted_before, 1) << "the failure of the dependents";
  world.settle();
  EXPECT_EQ(code(done->query().status()), StatusCode::kCancelled);
}

TEST(Rule6Poison, AFailureFailsLowerUnreachedWaitsToo) {
  World world;
  auto& queue = world.queue();
  auto semaphore = world.semaphore(), low = world.semaphore(), high = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{semaphore.get(), 1}}, {{low.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {{semaphore.get(), 9}}, {{high.get(), 1}}).ok());
  semaphore->fail(Status(StatusCode::kInternal, "x"));
  EXPECT_EQ(code(low->query().status()), StatusCode::kInternal);
  EXPECT_EQ(code(high->query().status()), StatusCode::kInternal);
}

TEST(Rule6WaitAll, EndsAtTheFirstFailureThoughOthersArePending) {
  World world;
  auto a = world.semaphore(), b = world.semaphore();
  b->fail(Status(StatusCode::kDataLoss, "x"));
  const Point points[] = {{a.get(), 1}, {b.get(), 1}};
  EXPECT_EQ(code(wait_all(world.engine, points, kForever)), StatusCode::kDataLoss);
}

TEST(Rule6WaitAny, PrefersSuccessToFailure) {
  World world;
  auto a = world.semaphore(), b = world.semaphore(1);
  a->fail(Status(StatusCode::kDataLoss, "x"));
  const Point points[] = {{a.get(), 1}, {b.get(), 1}};
  EXPECT_TRUE(wait_any(world.engine, points, kNow).ok());
  const Point failed[] = {{a.get(), 1}, {b.get(), 2}};
  EXPECT_EQ(code(wait_any(world.engine, failed, kNow)), StatusCode::kDataLoss);
}

TEST(Rule6Waits, EmptyListsAreSatisfied) {
  World world;
  EXPECT_TRUE(wait_all(world.engine, {}, kForever).ok());
  EXPECT_TRUE(wait_any(world.engine, {}, kForever).ok());
}

// Submits without ringing the doorbell, as a thread does that waits for the work at once and helps.
LanePoint submit_silently(QueueUnderTest& queue, const std::vector<Point>& waits,
                          const std::vector<Point>& signals) {
  Submission* const submission = queue->allocate().value();
  submission->emplace<Operation>();
  LanePoint issued;
  check(queue->submit(*submission, {.waits = waits, .signals = signals}, nullptr, &issued));
  return issued;
}

// The doorbell was left out because the waiter was to help; arming the lane rings it.
TEST(Wait, SilentWorkIsNotLeftBehindByADeadline) {
  World world;
  QueueUnderTest& queue = world.queue();
  auto done = world.semaphore();
  const LanePoint issued = submit_silently(queue, {}, {{done.get(), 1}});
  ASSERT_EQ(issued.sequence, 1u);
  EXPECT_EQ(code(done->wait(1, kNow, issued)), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(queue.native().doorbells, 0);
  EXPECT_EQ(queue.native().armed(), 0u);
  (void)world.engine.step_completion();
  EXPECT_EQ(queue.native().armed(), 1u);
  world.settle();
  EXPECT_TRUE(done->wait(1, kNow).ok());
}

TEST(Wait, SilentWorkIsNotLeftBehindWhenAnotherSignalEndsTheWait) {
  World world;
  QueueUnderTest& queue = world.queue();
  auto done = world.semaphore();
  const LanePoint issued = submit_silently(queue, {}, {{done.get(), 1}});
  ASSERT_TRUE(done->signal(2).ok());
  EXPECT_TRUE(done->wait(1, kForever, issued).ok());
  (void)world.engine.step_completion();
  EXPECT_EQ(queue.native().armed(), 1u);
}

// The thread that issues the work later rings the doorbell. Its submitter may have stopped waiting,
// and cannot help.
TEST(Wait, SilentWorkThatHadToParkGetsItsDoorbell) {
  World world;
  QueueUnderTest& queue = world.queue();
  auto start = world.semaphore(), done = world.semaphore();
  EXPECT_EQ(submit_silently(queue, {{start.get(), 1}}, {{done.get(), 1}}).lane, nullptr);
  ASSERT_TRUE(start->signal(1).ok());
  EXPECT_EQ(queue.native().doorbells, 1);
}

// The submitter cannot help the lane that the work waits for.
TEST(Wait, SilentWorkThatIsCoveredGetsItsDoorbell) {
  World world;
  QueueUnderTest& queue = world.queue();
  auto start = world.semaphore(), done = world.semaphore();
  ASSERT_TRUE(world.submit(queue, {}, {{start.get(), 1}}, 1).ok());
  ASSERT_EQ(queue.native().doorbells, 1);
  const LanePoint issued = submit_silently(queue, {{start.get(), 1}}, {{done.get(), 1}});
  EXPECT_EQ(queue.native().doorbells, 2);
  EXPECT_EQ(issued.lane, nullptr);
}

TEST(Wait, AThreadHelpsFirstWhereItHasIssued) {
  World world;
  QueueUnderTest& queue = world.queue();
  queue.native().helps = true;
  auto done = world.semaphore();
  const Point signal{done.get(), 1};
  Submission* submission = queue->allocate().value();
  submission->emplace<Operation>(&world.log, 7, world.resource);
  LanePoint issued;
  ASSERT_TRUE(queue->submit(*submission, {.signals = {&signal, 1}}, nullptr, &issued).ok());
  EXPECT_TRUE(done->wait(1, kForever, issued).ok());
  EXPECT_EQ(world.log, std::vector{7});
  EXPECT_EQ(queue.native().poll_calls, 1);
}

TEST(Wait, PastDeadlineNamesTheSignaller) {
  World world;
  auto& queue = world.queue("compute");
  auto start = world.semaphore(0, "start"), done = world.semaphore(0, "done");
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{done.get(), 1}}).ok());
  const Status status = done->wait(1, Deadline::at(0));
  EXPECT_EQ(code(status), StatusCode::kDeadlineExceeded);
  for (const char* part : {"'done' waited for 1, is 0", "parked", "waits for semaphore",
                           "'start' >= 1", "no submission: the host"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part << "\n" << status.message();
  }
}

TEST(Wait, RetiresTheLaneItselfWithoutAnyShell) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  queue.native().run();
  EXPECT_TRUE(done->wait(1, kForever).ok());
  EXPECT_EQ(world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)], 0);
}

TEST(Wait, HelpsTheLaneThatWillSignal) {
  World world;
  auto& queue = world.queue();
  queue.native().helps = true;
  auto done = world.semaphore();
  for (int i = 1; i <= 5; ++i) {
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), static_cast<std::uint64_t>(i)}}, i).ok());
  }
  EXPECT_TRUE(done->wait(5, kForever).ok());
  EXPECT_EQ(world.log, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(Wait, SleepsArmedOnTheLaneAndIsWokenByIt) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  queue.native().stopped = true;
  std::jthread device([&] {
    while (world.work_source.parks == 0) std::this_thread::yield();
    queue.native().stopped = false;
    queue.native().run();
  });
  EXPECT_TRUE(done->wait(1, kForever).ok());
}

TEST(Wait, BeforeAnySignalIsWokenByALargerValue) {
  World world;
  auto semaphore = world.semaphore();
  std::jthread host([&] {
    while (world.work_source.parks == 0) std::this_thread::yield();
    EXPECT_TRUE(semaphore->signal(100).ok());
  });
  EXPECT_TRUE(semaphore->wait(3, kForever).ok());
}

TEST(Wait, BlockedThreadGetsTheFailure) {
  World world;
  auto a = world.semaphore(), b = world.semaphore(4);
  std::jthread host([&] {
    while (world.work_source.parks == 0) std::this_thread::yield();
    a->fail(Status(StatusCode::kUnavailable, "gone"));
  });
  const Point points[] = {{a.get(), 1}, {b.get(), 5}};
  EXPECT_EQ(code(wait_all(world.engine, points, kForever)), StatusCode::kUnavailable);
  EXPECT_EQ(b->query().value(), 4u);
}

TEST(Wait, AnyOfManyWakesForOne) {
  World world;
  std::vector<HandleRef<Semaphore>> semaphores;
  std::vector<Point> points;
  for (int i = 0; i < 40; ++i) {
    semaphores.push_back(world.semaphore());
    points.push_back({semaphores.back().get(), 1});
  }
  std::jthread host([&] {
    while (world.work_source.parks == 0) std::this_thread::yield();
    EXPECT_TRUE(semaphores[33]->signal(1).ok());
  });
  EXPECT_TRUE(wait_any(world.engine, points, kForever).ok());
}

TEST(Rule28Waiters, OneThatWasPoppedStaysUntilThePoppersFinalStore) {
  World world;
  auto semaphore = world.semaphore();
  base::Parker parker;
  HostWait wait;
  wait.node.semaphore = semaphore.get();  // not linked: another thread has popped it
  wait.parker = &parker;
  int turns = 0;
  world.work_source.on_pause = [&] {
    if (++turns == 3) wait.popped();
  };
  wait.leave(world.work_source);
  EXPECT_EQ(turns, 3);
}

// The waiter reads the clock between its last check and the moment from which wake-ups are stored.
void come_just_before_sleep(const std::function<void(Semaphore&)>& end, StatusCode outcome) {
  World world;
  auto semaphore = world.semaphore();
  int sleeps = 0;
  world.work_source.asleep = [&] {
    ++sleeps;
    world.work_source.clock_.on_now = [&] { end(*semaphore.get()); };
  };
  const Deadline far = Deadline::at(world.work_source.clock_.now() + 1'000'000'000);
  EXPECT_EQ(code(semaphore->wait(1, far)), outcome);
  EXPECT_EQ(sleeps, 1) << "it sleeps on although the value or failure has come";
}

TEST(Rule3Parking, AValueJustBeforeTheSleepIsSeen) {
  come_just_before_sleep([](Semaphore& it) { EXPECT_TRUE(it.signal(1).ok()); }, StatusCode::kOk);
}

TEST(Rule3Parking, AFailureJustBeforeTheSleepIsSeen) {
  come_just_before_sleep([](Semaphore& it) { it.fail(Status(StatusCode::kDataLoss, "disk")); },
                         StatusCode::kDataLoss);
}

// The reports of long waits.
std::vector<std::string> told;
void tell(const Status& why) noexcept { told.emplace_back(why.message()); }

TEST(Wait, ThatSleepsForLongSaysOnceWhy) {
  World world;
  told.clear();
  world.engine.report_long_waits(10'000'000'000, tell);
  auto done = world.semaphore(0, "done");
  int sleeps = 0;
  world.work_source.asleep = [&] {
    EXPECT_EQ(told.size(), sleeps < 3 ? 0u : 1u) << sleeps;
    world.work_source.clock_.time += 4'000'000'000;
    if (++sleeps == 6) {
      EXPECT_TRUE(done->signal(1).ok());
    }
  };
  EXPECT_TRUE(done->wait(1, kForever).ok());
  EXPECT_EQ(sleeps, 6);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("'done' waited for 1, is 0, to come from no submission: the host"),
            std::string::npos)
      << told[0];
}

TEST(Wait, WithADeadlineOrForAQueueSaysItsOwn) {
  World world;
  told.clear();
  world.engine.report_long_waits(10'000'000'000, tell);
  auto& queue = world.queue("busy");
  auto gate = world.semaphore(0, "gate");
  world.work_source.asleep = [&] { world.work_source.clock_.time += 11'000'000'000; };
  const Deadline far = Deadline::at(world.work_source.clock_.now() + 100'000'000'000);
  EXPECT_EQ(code(gate->wait(1, far)), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(world.submit(queue, {{gate.get(), 1}}, {}).ok());
  int sleeps = 0;
  world.work_source.asleep = [&] {
    world.work_source.clock_.time += 11'000'000'000;
    if (++sleeps == 3) {
      EXPECT_TRUE(gate->signal(1).ok());
      world.settle();
    }
  };
  EXPECT_TRUE(queue->wait_idle(kForever).ok());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].rfind("busy: still waited for\n", 0), 0u) << told[0];
}

// With fixed thread priorities, the thread that would end the wait runs only then.
TEST(Wait, ThatIsNotifiedTooEarlyLetsOtherThreadsRun) {
  World world;
  auto& a = world.queue("a");
  auto done = world.semaphore();
  a.native().stopped = a.native().arms_early = true;
  EXPECT_TRUE(world.submit(a, {}, {{done.get(), 1}}, 1).ok());
  const auto release_payload = [&] {
    a.native().stopped = false;
    a.native().run();
  };
  int calls = 0;
  a.native().inside = [&] {
    if (++calls == 10'000) release_payload();  // 10,000 calls have ended nothing
  };
  world.work_source.on_pause = [&] {
    if (calls > 200) release_payload();
  };
  EXPECT_TRUE(done->wait(1, kForever).ok());
  EXPECT_LT(calls, 10'000);
  EXPECT_EQ(world.work_source.parks, 0);
  a.native().inside = nullptr;
}

TEST(Wait, SurvivesALostNotice) {
  World world;
  world.work_source.real_deadline = true;
  auto& queue = world.queue();
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  queue.native().stopped = true;
  queue.native().lose_notices = true;
  world.work_source.asleep = [&] {  // the device finishes, and its wake-up is lost
    queue.native().stopped = false;
    queue.native().run();
    world.work_source.asleep = nullptr;
  };
  EXPECT_TRUE(done->wait(1, kForever).ok());
}

}  // namespace
}  // namespace halyard::timeline::testing
