// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules 9 to 19 of timelines.md: cover and reach, the issuer role, backpressure, effects.
#include "base/sanitizers.h"
#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

TEST(Rule9Cover, ADependentOnAnotherQueueIsIssuedBeforeItsProducerHasRun) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a");
  auto& b = world.queue(device, "b");
  auto between = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(b, {{between.get(), 1}}, {{done.get(), 1}}, 2).ok());
  EXPECT_EQ(b.native().waiting(), 0u) << "parked: no submission signals it yet";
  EXPECT_TRUE(world.submit(a, {}, {{between.get(), 1}}, 1).ok());
  EXPECT_EQ(b.native().waiting(), 1u) << "covered";
  ASSERT_EQ(b.native().last_waits.size(), 1u);
  EXPECT_EQ(b.native().last_waits[0].queue, &a.native());
  EXPECT_EQ(b.native().last_waits[0].sequence, 1u);
  EXPECT_EQ(b.native().run(), 0) << "the edge holds";
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 2}));
  EXPECT_EQ(done->query().value(), 1u);
}

TEST(Rule9Cover, AcrossDomainsOnlyWhereTheMatrixSaysSo) {
  DomainMatrix matrix = World::one_domain();
  matrix.allow(2, 2);
  matrix.allow(1, 2);  // domain 1 can wait for domain 2, but not the reverse
  World world(matrix);
  auto& one = world.queue(world.device("one"), "one", {}, 1);
  auto& two = world.queue(world.device("two"), "two", {}, 2);
  auto a = world.semaphore(), b = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(one, {{a.get(), 1}}, {}, 2).ok());
  EXPECT_TRUE(world.submit(two, {{b.get(), 1}}, {{done.get(), 1}}, 4).ok());
  EXPECT_TRUE(world.submit(two, {}, {{a.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(one, {}, {{b.get(), 1}}, 3).ok());
  EXPECT_EQ(one.native().waiting(), 2u) << "covered by two";
  EXPECT_EQ(two.native().waiting(), 1u) << "one cannot cover two: released when reached";
  world.settle();
  EXPECT_EQ(done->query().value(), 1u) << "the completion shell retired it";
}

// Uses all domains, each of which can wait for the previous domain.
TEST(Rule9Cover, ReachesThroughEveryDomain) {
  DomainMatrix matrix;
  for (Domain domain = 2; domain < kDomainCount; ++domain) {
    matrix.allow(domain, static_cast<Domain>(domain - 1));
  }
  World world(matrix);
  auto& device = world.device();
  auto shared = world.semaphore();
  std::vector<testing::QueueUnderTest*> queues;
  for (Domain domain = 1; domain < kDomainCount; ++domain) {
    const std::uint64_t value = domain;
    queues.push_back(&world.queue(device, "queue", {}, domain));
    EXPECT_TRUE(
        world.submit(*queues.back(), {{shared.get(), value}}, {{shared.get(), value + 1}}, domain)
            .ok());
  }
  EXPECT_TRUE(shared->signal(1).ok());
  for (auto* queue : queues) EXPECT_EQ(queue->native().waiting(), 1u);
  world.settle();
  EXPECT_EQ(shared->query().value(), kDomainCount);
  EXPECT_TRUE(std::ranges::is_sorted(world.log));
}

TEST(Rule9Cover, TakesTheSmallestSufficientValue) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a");
  auto& b = world.queue(device, "b");
  auto semaphore = world.semaphore();
  for (std::uint64_t value : {2u, 4u, 6u}) {
    EXPECT_TRUE(world.submit(a, {}, {{semaphore.get(), value}}).ok());
  }
  EXPECT_TRUE(world.submit(b, {{semaphore.get(), 3}}, {}).ok());
  EXPECT_EQ(b.native().last_waits.at(0).sequence, 2u);
}

TEST(Rule9Cover, TakesTheSmallestSufficientValueOfAllDomains) {
  DomainMatrix matrix = World::one_domain();
  matrix.allow(1, 2);
  matrix.allow(1, 3);
  World world(matrix);
  auto& device = world.device();
  auto& waiter = world.queue(device, "waiter", {}, 1);
  auto& sooner = world.queue(device, "sooner", {}, 2);
  auto& later = world.queue(device, "later", {}, 3);
  auto semaphore = world.semaphore();
  EXPECT_TRUE(world.submit(sooner, {}, {{semaphore.get(), 4}}).ok());
  EXPECT_TRUE(world.submit(later, {}, {{semaphore.get(), 6}}).ok());
  EXPECT_TRUE(world.submit(waiter, {{semaphore.get(), 3}}, {}).ok());
  EXPECT_EQ(waiter.native().last_waits.at(0).queue, &sooner.native());
}

TEST(Rule10Cover, AHostCallReleasesItsDependentsOnlyWhenReached) {
  World world;
  auto& queue = world.queue();
  auto between = world.semaphore();
  EXPECT_TRUE(world.host_call(queue, [] { return Status(); }, {}, {{between.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {{between.get(), 1}}, {}, 1).ok());
  EXPECT_EQ(queue.native().waiting(), 0u);
  world.settle();
  EXPECT_EQ(world.log, std::vector<int>{1});
}

TEST(Rule11Binding, ALaterFailureDoesNotTouchABoundWait) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a");
  auto& b = world.queue(device, "b");
  auto between = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(a, {}, {{between.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(b, {{between.get(), 1}}, {{done.get(), 1}}, 2).ok());
  between->fail(Status(StatusCode::kInternal, "too late"));
  world.settle();
  EXPECT_EQ(done->query().value(), 1u);
}

TEST(Rule12SameQueue, TheFifoCarriesTheEdge) {
  World world;
  auto& queue = world.queue();
  auto semaphore = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{semaphore.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {{semaphore.get(), 1}}, {{semaphore.get(), 2}}, 2).ok());
  EXPECT_TRUE(queue.native().last_waits.empty());
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 2}));
}

TEST(Rule13Parking, NeverDelaysALaterReadySubmission) {
  World world;
  auto& queue = world.queue();
  auto never = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{never.get(), 1}}, {}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 2).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 1u);
  EXPECT_EQ(world.log, std::vector<int>{2});
}

TEST(Rule14Deadlock, AReverseChainOverManyQueuesRunsInDependencyOrder) {
  World world;
  auto& device = world.device();
  std::vector<QueueUnderTest*> queues;
  for (int i = 0; i < 4; ++i) queues.push_back(&world.queue(device, "q"));
  auto semaphore = world.semaphore();
  constexpr int kLinks = 24;
  for (int i = kLinks; i >= 1; --i) {
    const auto value = static_cast<std::uint64_t>(i);
    EXPECT_TRUE(
        world.submit(*queues[i % 4], {{semaphore.get(), value}}, {{semaphore.get(), value + 1}}, i)
            .ok());
  }
  world.settle();
  EXPECT_TRUE(world.log.empty());
  EXPECT_TRUE(semaphore->signal(1).ok());
  world.settle();
  EXPECT_EQ(semaphore->query().value(), kLinks + 1u);
  EXPECT_TRUE(std::is_sorted(world.log.begin(), world.log.end()));
}

TEST(Rule15Issuer, ABurstIsIssuedInBatchesWithOneDoorbellEach) {
  World world;
  auto& queue = world.queue();
  auto start = world.semaphore(), done = world.semaphore();
  for (int i = 1; i <= 200; ++i) {
    EXPECT_TRUE(
        world.submit(queue, {{start.get(), 1}}, {{done.get(), static_cast<std::uint64_t>(i)}}, i)
            .ok());
  }
  EXPECT_TRUE(start->signal(1).ok());
  EXPECT_EQ(queue.native().issue_calls, 1) << "one batch by the signaller";
  EXPECT_EQ(queue.native().waiting(), 64u);
  EXPECT_TRUE(world.engine.step_issue()) << "the rest by the issue shell";
  EXPECT_EQ(queue.native().waiting(), 200u);
  EXPECT_EQ(queue.native().doorbells, 4);
  world.settle();
  EXPECT_EQ(world.log.size(), 200u);
  EXPECT_TRUE(std::is_sorted(world.log.begin(), world.log.end()));
}

TEST(Rule15Issuer, WithoutAnIssueThreadTheSignallerIssuesTheWholeBurst) {
  World world;
  world.work_source.refuse_threads = Status(StatusCode::kResourceExhausted, "no more");
  auto& queue = world.queue();
  auto start = world.semaphore();
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {}, i).ok());
  EXPECT_TRUE(start->signal(1).ok());
  EXPECT_EQ(queue.native().waiting(), 200u);
  EXPECT_FALSE(world.engine.step_issue());
}

TEST(Rule16BackPressure, NoMoreThanTheLimitIsInFlightAndAllOfItRuns) {
  World world;
  auto& queue = world.queue(world.device(), "narrow", {.max_in_flight = 8});
  auto done = world.semaphore();
  for (int i = 1; i <= 1000; ++i) {
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), static_cast<std::uint64_t>(i)}}, i).ok());
    EXPECT_LE(queue.native().waiting(), 8u);
  }
  world.settle();
  EXPECT_EQ(world.log.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(world.log.begin(), world.log.end()));
  EXPECT_EQ(done->query().value(), 1000u);
}

TEST(Rule16BackPressure, ABusyNativeQueueGetsTheRestLater) {
  World world;
  auto& queue = world.queue();
  queue.native().capacity = 3;
  auto start = world.semaphore(), done = world.semaphore();
  for (int i = 1; i <= 50; ++i) {
    EXPECT_TRUE(
        world.submit(queue, {{start.get(), 1}}, {{done.get(), static_cast<std::uint64_t>(i)}}, i)
            .ok());
  }
  EXPECT_TRUE(start->signal(1).ok());
  world.settle();
  EXPECT_EQ(world.log.size(), 50u);
  EXPECT_TRUE(std::is_sorted(world.log.begin(), world.log.end()));
}

TEST(Rule16BackPressure, ABusyNativeQueueIsRetriedOnlyAfterWorkHasEnded) {
  World world;
  auto& queue = world.queue();
  queue.native().capacity = 1;
  EXPECT_TRUE(world.submit(queue, {}, {}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {}, {}, 2).ok());
  bool asked = false;
  queue.native().on_busy = [&] { asked = true; };
  int wakes = 0;
  world.work_source.on_wake = [&] { ++wakes; };
  for (int look = 0; look < 5; ++look) world.engine.step_completion();
  EXPECT_FALSE(asked);
  EXPECT_EQ(wakes, 0) << "the completion shell may sleep";
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 2}));
}

TEST(Rule16BackPressure, WorkMayEndBeforeTheIssuerSeesThatTheQueueIsBusy) {
  World world;
  QueueUnderTest& queue = world.queue();
  queue.native().capacity = 1;
  auto first = world.semaphore(), second = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{first.get(), 1}}, 1).ok());
  queue.native().on_busy = [&] {
    queue.native().run();
    EXPECT_EQ(first->query().value(), 1u);
  };
  EXPECT_TRUE(world.submit(queue, {}, {{second.get(), 1}}, 2).ok());
  world.settle();
  EXPECT_EQ(second->query().value(), 1u) << "it fits the lane, and was only late";
}

TEST(Rule16BackPressure, RoomThatAppearsWhileTheRoleIsHeldIsNotMissed) {
  // The lane drains between the holder's last check of the depth and its release of the role.
  World world;
  auto& queue = world.queue(world.device(), "narrow", {.max_in_flight = 2});
  auto done = world.semaphore();
  bool ran = false;
  world.work_source.on_wake = [&] {
    // The full lane wakes the completion shell. The device and the shell are faster than the
    // issuer.
    if (std::exchange(ran, true)) return;
    queue.native().run();
    EXPECT_EQ(done->query().value(), 2u);
    world.engine.step_completion();
  };
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), i}}, static_cast<int>(i)).ok());
  }
  EXPECT_TRUE(ran);
  queue.native().run();
  EXPECT_EQ(world.log, (std::vector<int>{1, 2, 3}));
}

TEST(Rule16Backlog, PastItsLimitSubmitAnswersResourceExhausted) {
  World world;
  auto& queue = world.queue(world.device(), "q", {.max_in_flight = 1}, kDomain, 4);
  auto done = world.semaphore(), never = world.semaphore();
  int accepted = 0;
  Status status;
  while (status.ok() && accepted < 100) {
    status = world.submit(queue, {}, {}, ++accepted);
  }
  EXPECT_EQ(code(status), StatusCode::kResourceExhausted);
  EXPECT_EQ(accepted, 6) << "one in flight, four ready, one refused";
  EXPECT_EQ(code(world.submit(queue, {{never.get(), 1}}, {})), StatusCode::kResourceExhausted);
  world.settle();
  EXPECT_EQ(world.log.size(), 5u);
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 7).ok()) << "usable again";
  world.settle();
  EXPECT_EQ(done->query().value(), 1u);
}

// A queue with one submission in flight, which is its capacity, and four ready submissions.
struct FullQueue {
  FullQueue() {
    for (int i = 1; i <= 5; ++i) EXPECT_TRUE(world.submit(queue, {}, {}, i).ok());
    EXPECT_EQ(code(submit(6, kNow)), StatusCode::kResourceExhausted);
  }
  Status submit(int number, Deadline room) {
    Submission* submission = queue->allocate().value();
    submission->emplace<Operation>(&world.log, number, nullptr);
    return queue->submit(*submission, {.room = room}, nullptr);
  }
  World world;
  QueueUnderTest& queue =
      world.queue(world.device(), "q", {.max_in_flight = 1}, kDomain, /*backlog=*/4);
};

TEST(Rule16Backlog, TheDeadlineFormWaitsForRoom) {
  FullQueue full;
  // The caller sleeps until the device has run an entry and the completion shell has stepped.
  full.world.work_source.asleep = [&] {
    EXPECT_EQ(full.queue.native().run(1), 1);
    full.world.step_shells();
  };
  EXPECT_TRUE(full.submit(6, kForever).ok());
  EXPECT_EQ(full.world.log, (std::vector<int>{1})) << "no longer than necessary";
  EXPECT_EQ(full.world.work_source.parks, 1);
  full.world.settle();
  EXPECT_EQ(full.world.log, (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

TEST(Rule16Backlog, AThreadThatWaitsForRoomHelpsTheDevice) {
  FullQueue full;
  full.queue.native().helps = true;
  EXPECT_TRUE(full.submit(6, kForever).ok());
  EXPECT_EQ(full.world.log, (std::vector<int>{1}));
  EXPECT_EQ(full.world.work_source.parks, 0);
}

TEST(Rule16Backlog, NoRoomUntilTheDeadlineIsResourceExhaustedAndQueuesNothing) {
  FullQueue full;
  full.world.work_source.asleep = [&] { full.world.work_source.clock_.time += 400; };
  const Status status = full.submit(6, std::chrono::nanoseconds(1000));
  EXPECT_EQ(code(status), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "q: backlog of 4 ready submissions is full, and stayed so until the deadline");
  EXPECT_EQ(full.world.work_source.parks, 3);
  full.world.settle();
  EXPECT_EQ(full.world.log, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(Rule16Backlog, AWaitForRoomFailsWhenTheDeviceIsLost) {
  FullQueue full;
  full.world.work_source.asleep = [&] {
    full.queue->device().lose(Status(StatusCode::kInternal, "fault"));
  };
  EXPECT_EQ(code(full.submit(6, kForever)), StatusCode::kDeviceLost);
}

TEST(Rule16Backlog, ACallbackDoesNotWaitForRoom) {
  FullQueue full;
  auto s = full.world.semaphore();
  struct Call {
    FullQueue& full;
    Status answer;
  } call{full, {}};
  const Callback submits{&call,
                         [](void* at, const Status&) {
                           auto& own = *static_cast<Call*>(at);
                           own.answer = own.full.submit(6, kForever);
                         },
                         [](void*) {}};
  Registration* const registration = Registration::create(*s.get(), 1, submits).value();
  EXPECT_TRUE(s->signal(1).ok());
  EXPECT_EQ(code(call.answer), StatusCode::kResourceExhausted);
  registration->drop();
}

TEST(Rule16Backlog, TheDrainThatMakesRoomWakesItsWaiters) {
  FullQueue full;
  full.queue.native().lose_notices = true;  // the device wakes no waiter
  full.world.work_source.asleep = [&] {
    full.queue.native().run(1);
    EXPECT_FALSE(full.world.work_source.woken());
    full.world.step_shells();
    EXPECT_TRUE(full.world.work_source.woken());
  };
  EXPECT_TRUE(full.submit(6, kForever).ok());
  EXPECT_EQ(full.world.work_source.parks, 1);
}

TEST(Rule16Issue, ANativeErrorFailsThatSubmissionAndNoOther) {
  World world;
  auto& queue = world.queue();
  auto start = world.semaphore(), bad = world.semaphore(), good = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{bad.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{good.get(), 1}}, 2).ok());
  queue.native().fail_next = Status(StatusCode::kInternal, "launch refused", "CUDA_ERROR_1");
  EXPECT_TRUE(start->signal(1).ok());
  world.settle();
  EXPECT_EQ(bad->query().status().native_error(), "CUDA_ERROR_1");
  EXPECT_EQ(good->query().value(), 1u);
}

TEST(Rule17Effects, AChainOfAMillionNeedsConstantStack) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a");
  auto& b = world.queue(device, "b");
  auto semaphore = world.semaphore();
  constexpr std::uint64_t kLinks = HALYARD_TSAN || HALYARD_ASAN ? 100'000 : 1'000'000;
  for (std::uint64_t i = 1; i <= kLinks; ++i) {
    ASSERT_TRUE(
        world.submit(i % 2 ? a : b, {{semaphore.get(), i}}, {{semaphore.get(), i + 1}}).ok());
  }
  EXPECT_TRUE(semaphore->signal(1).ok());
  world.settle();
  EXPECT_EQ(semaphore->query().value(), kLinks + 1);
}

TEST(Rule17Effects, AMillionFailuresNeedConstantStackToo) {
  World world;
  auto& queue = world.queue();
  auto first = world.semaphore();
  HandleRef<Semaphore> last = first;
  constexpr int kLinks = HALYARD_TSAN || HALYARD_ASAN ? 20'000 : 200'000;
  for (int i = 0; i < kLinks; ++i) {
    auto next = world.semaphore();
    ASSERT_TRUE(world.submit(queue, {{last.get(), 1}}, {{next.get(), 1}}).ok());
    last = next;
  }
  first->fail(Status(StatusCode::kDataLoss, "at the root"));
  world.settle();
  EXPECT_EQ(last->query().status().message(), "at the root");
}

TEST(Rule18Query, LeavesEffectsToTheCompletionShell) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore();
  bool ran = false;
  auto* registration =
      Registration::create(
          *a.get(), 1,
          {&ran, [](void* state, const Status&) { *static_cast<bool*>(state) = true; }, nullptr})
          .value();
  EXPECT_TRUE(world.submit(queue, {}, {{a.get(), 1}}).ok());
  queue.native().run();
  EXPECT_EQ(a->query().value(), 1u);
  EXPECT_FALSE(ran) << "not on the thread that queried";
  world.settle();
  EXPECT_TRUE(ran);
  registration->drop();
}

TEST(SteadyState, ReusesSubmissionsInsteadOfAllocating) {
  World world;
  auto& queue = world.queue();
  auto semaphore = world.semaphore();
  Submission* first = nullptr;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    Submission* submission = queue->allocate().value();
    if (first == nullptr) first = submission;
    EXPECT_EQ(submission, first) << "the one that just ended";
    submission->emplace<Operation>();
    const Point signal{semaphore.get(), i};
    ASSERT_TRUE(queue->submit(*submission, {.signals = {&signal, 1}}, nullptr).ok());
    queue.native().run();
    ASSERT_EQ(semaphore->query().value(), i);
  }
}

}  // namespace
}  // namespace halyard::timeline::testing
