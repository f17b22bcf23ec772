// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules 4, 7, 8 and 12 of timelines.md: submissions, how they park, and how they end.
#include "timeline/submission.h"

#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

TEST(Submission, WithoutWaitsIsIssuedInline) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
  EXPECT_EQ(queue.native().waiting(), 1u);
  EXPECT_EQ(done->query().value(), 0u) << "not before the work is done";
  queue.native().run();
  EXPECT_EQ(done->query().value(), 1u);
}

TEST(Submission, MayWaitBeforeTheSignalIsSubmitted) {
  World world;
  auto& queue = world.queue();
  auto start = world.semaphore(), done = world.semaphore(100);
  EXPECT_TRUE(world.submit(queue, {{start.get(), 2}}, {{done.get(), 101}}, 1).ok());
  world.settle();
  EXPECT_TRUE(start->signal(1).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 100u);
  EXPECT_TRUE(start->signal(5).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 101u);
}

TEST(Submission, NeedsEveryOneOfItsWaits) {
  World world;
  auto& queue = world.queue();
  std::vector<HandleRef<Semaphore>> semaphores;
  World::Points waits;
  for (int i = 0; i < 1000; ++i) {
    semaphores.push_back(world.semaphore());
    waits.push_back({semaphores.back().get(), 1});
  }
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, waits, {{done.get(), 1}}).ok());
  for (int i = 999; i > 0; --i) EXPECT_TRUE(semaphores[i]->signal(1).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 0u);
  EXPECT_TRUE(semaphores[0]->signal(1).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 1u);
}

TEST(Rule4Signals, DuplicatesKeepTheLargest) {
  World world;
  auto& queue = world.queue();
  auto start = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world
                  .submit(queue, {{start.get(), 3}, {start.get(), 1}},
                          {{done.get(), 2}, {done.get(), 7}, {done.get(), 4}})
                  .ok());
  EXPECT_TRUE(start->signal(2).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 0u);
  EXPECT_TRUE(start->signal(3).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 7u);
}

// Enough points to be sorted: each of 100 semaphores several times, the largest value anywhere.
TEST(Rule4Signals, ManyDuplicatesKeepTheLargest) {
  World world;
  auto& queue = world.queue();
  std::vector<HandleRef<Semaphore>> starts, ends;
  World::Points waits, signals;
  for (int i = 0; i < 100; ++i) {
    starts.push_back(world.semaphore());
    ends.push_back(world.semaphore());
  }
  for (std::uint64_t round = 0; round < 7; ++round) {
    for (std::size_t i = 0; i < 100; ++i) {
      const std::uint64_t value = (round * 3 + i) % 7 + 1;  // 1 to 7 in some order
      waits.push_back({starts[i].get(), value});
      signals.push_back({ends[99 - i].get(), value + 10});
    }
  }
  World::Points for_itself = signals;
  for_itself[350] = {starts[5].get(), 7};
  EXPECT_EQ(code(world.submit(queue, waits, for_itself)), StatusCode::kInvalidArgument);

  EXPECT_TRUE(world.submit(queue, waits, signals).ok());
  for (std::size_t i = 1; i < 100; ++i) EXPECT_TRUE(starts[i]->signal(7).ok());
  EXPECT_TRUE(starts[0]->signal(6).ok());
  world.settle();
  for (const auto& end : ends) EXPECT_EQ(end->query().value(), 0u);
  EXPECT_TRUE(starts[0]->signal(7).ok());
  world.settle();
  for (const auto& end : ends) EXPECT_EQ(end->query().value(), 17u);
}

TEST(Rule4Signals, AtOrBelowTheCurrentValueAreInvalidAndQueueNothing) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore(5), other = world.semaphore();
  EXPECT_EQ(code(world.submit(queue, {}, {{other.get(), 1}, {done.get(), 5}})),
            StatusCode::kInvalidArgument);
  world.settle();
  EXPECT_TRUE(world.log.empty());
  EXPECT_EQ(other->query().value(), 0u);
  EXPECT_TRUE(queue->idle());
}

TEST(Rule4Signals, LandingBelowTheValueStillComplete) {
  World world;
  auto& queue = world.queue();
  auto shared = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{shared.get(), 5}, {done.get(), 1}}).ok());
  EXPECT_TRUE(shared->signal(7).ok());
  world.settle();
  EXPECT_EQ(shared->query().value(), 7u);
  EXPECT_EQ(done->query().value(), 1u);
}

TEST(Rule4Signals, LandingBelowTheValueAreCountedAndShown) {
  World world;
  auto& queue = world.queue();
  auto shared = world.semaphore(), failed = world.semaphore();
  for (const std::uint64_t value : {5, 6, 8}) {
    EXPECT_TRUE(world.submit(queue, {}, {{shared.get(), value}}).ok());
  }
  EXPECT_TRUE(world.submit(queue, {}, {{failed.get(), 1}}).ok());
  EXPECT_TRUE(shared->signal(7).ok());
  failed->fail(Status(StatusCode::kDataLoss, "not late: it has failed"));
  EXPECT_EQ(world.engine.dump_timelines().find("late"), std::string::npos);
  world.settle();
  EXPECT_EQ(shared->query().value(), 8u);
  const std::string dump = world.engine.dump_timelines();
  EXPECT_NE(dump.find("late signals: 2, the last one of semaphore 1, to 6\n"), std::string::npos)
      << dump;
  EXPECT_TRUE(queue->reopen("of another user"));
  EXPECT_EQ(world.engine.dump_timelines().find("late"), std::string::npos);
}

TEST(Rule4Signals, AWaitForTheOwnSignalIsInvalid) {
  World world;
  auto& queue = world.queue();
  auto semaphore = world.semaphore();
  EXPECT_EQ(code(world.submit(queue, {{semaphore.get(), 2}}, {{semaphore.get(), 2}})),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(world.submit(queue, {{semaphore.get(), 2}}, {{semaphore.get(), 3}}).ok());
}

TEST(Submission, RejectsEmptyAndForeignSemaphores) {
  World world, other;
  auto& queue = world.queue();
  auto foreign = other.semaphore();
  EXPECT_EQ(code(world.submit(queue, {{nullptr, 1}}, {})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(world.submit(queue, {{foreign.get(), 1}}, {})), StatusCode::kPermissionDenied);
}

TEST(Rule4Failure, AnAlreadyFailedWaitIsAcceptedAndEndsFailed) {
  World world;
  auto& queue = world.queue();
  auto start = world.semaphore(), done = world.semaphore();
  start->fail(Status(StatusCode::kDataLoss, "x"));
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{done.get(), 1}}, 1).ok());
  world.settle();
  EXPECT_EQ(code(done->query().status()), StatusCode::kDataLoss);
  EXPECT_TRUE(world.log.empty());
}

TEST(Failure, ReachesEveryDependentAndNoOther) {
  World world;
  auto& queue = world.queue();
  auto start = world.semaphore(), a = world.semaphore(), b = world.semaphore(),
       free = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{a.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {{a.get(), 1}}, {{b.get(), 1}}, 2).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{free.get(), 1}}, 3).ok());
  start->fail(Status(StatusCode::kDataLoss, "first cause"));
  world.settle();
  EXPECT_TRUE(a->query().status().same_as(b->query().status())) << "one record, not copies";
  EXPECT_EQ(b->query().status().message(), "first cause");
  EXPECT_EQ(free->query().value(), 1u);
  EXPECT_EQ(world.log, std::vector<int>{3});
  // The queue stays usable.
  EXPECT_TRUE(world.submit(queue, {}, {{free.get(), 2}}, 4).ok());
  world.settle();
  EXPECT_EQ(free->query().value(), 2u);
}

TEST(Rule7Ends, FailedOnOneWaitLeavesNothingOnTheOthers) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{a.get(), 1}, {b.get(), 1}}, {{done.get(), 1}}).ok());
  b->fail(Status(StatusCode::kInternal, "x"));
  EXPECT_EQ(code(done->query().status()), StatusCode::kInternal);
  EXPECT_EQ(world.resource.use_count(), 1) << "it has released its resources";
  EXPECT_TRUE(a->signal(1).ok());
  world.settle();
  EXPECT_TRUE(queue->idle());
}

TEST(Rule7Ends, CancellingWhileLinkingStopsTheLinking) {
  DomainMatrix matrix = World::one_domain();
  matrix.allow(2, 2);
  World world(matrix);
  auto& producer = world.queue(world.device(), "producer", {}, 2);
  auto& queue = world.queue();
  auto first = world.semaphore(), second = world.semaphore();
  EXPECT_TRUE(world.submit(producer, {}, {{first.get(), 1}}).ok());
  Submission* submission = nullptr;
  // The submission only reaches `first`, so linking to it makes the shell watch that lane.
  world.work_source.on_wake = [&] { std::jthread([&] { (void)submission->cancel(); }).join(); };
  EXPECT_TRUE(world.submit(queue, {{first.get(), 1}, {second.get(), 1}}, {}, 1, &submission).ok());
  world.work_source.on_wake = nullptr;
  EXPECT_EQ(submission->state(), Submission::State::kCancelled);
  EXPECT_FALSE(second->has_waiter_for(kMaxValue));
  submission->release_for_user();
}

TEST(Rule8Cancel, WinsOnlyWhileParked) {
  World world;
  auto& queue = world.queue();
  auto start = world.semaphore(), done = world.semaphore(), other = world.semaphore();
  Submission* parked = nullptr;
  Submission* issued = nullptr;
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{done.get(), 1}}, 1, &parked).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{other.get(), 1}}, 2, &issued).ok());
  EXPECT_FALSE(issued->cancel());
  EXPECT_TRUE(parked->cancel());
  EXPECT_FALSE(parked->cancel());
  EXPECT_TRUE(start->signal(1).ok());
  world.settle();
  EXPECT_EQ(code(done->query().status()), StatusCode::kCancelled);
  EXPECT_EQ(other->query().value(), 1u);
  EXPECT_EQ(world.log, std::vector<int>{2});
  parked->release_for_user();
  issued->release_for_user();
}

TEST(Rule8Cancel, WinsAlsoInTheInbox) {
  World world;
  auto& queue = world.queue(world.device(), "narrow", {.max_in_flight = 1});
  auto done = world.semaphore(), blocked = world.semaphore();
  Submission* second = nullptr;
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{blocked.get(), 1}}, 2, &second).ok());
  EXPECT_TRUE(second->cancel()) << "ready, but not issued";
  world.settle();
  EXPECT_EQ(world.log, std::vector<int>{1});
  EXPECT_EQ(code(blocked->query().status()), StatusCode::kCancelled);
  second->release_for_user();
}

TEST(Submission, KeepsItsResourcesUntilItEndsAndNoLonger) {
  World world;
  auto& queue = world.queue();
  auto start = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{done.get(), 1}}).ok());
  EXPECT_EQ(world.resource.use_count(), 2);
  EXPECT_TRUE(start->signal(1).ok());
  queue.native().run();
  EXPECT_EQ(world.resource.use_count(), 2) << "not retired yet";
  EXPECT_EQ(done->query().value(), 1u);
  EXPECT_EQ(world.resource.use_count(), 1);
}

TEST(HostCall, RunsAfterItsWaitsAreReachedNotCovered) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore();
  EXPECT_TRUE(world
                  .host_call(queue, [&] { return world.log.push_back(9), Status(); },
                             {{a.get(), 1}}, {{b.get(), 1}})
                  .ok());
  EXPECT_TRUE(world.submit(queue, {}, {{a.get(), 1}}, 1).ok());
  world.step_shells();
  EXPECT_TRUE(world.log.empty()) << "covered is not enough";
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 9}));
  EXPECT_EQ(b->query().value(), 1u);
}

TEST(HostCall, ItsErrorFailsEverySignal) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore();
  EXPECT_TRUE(world
                  .host_call(queue, [] { return Status(StatusCode::kDataLoss, "mine"); }, {},
                             {{a.get(), 1}, {b.get(), 1}})
                  .ok());
  world.settle();
  EXPECT_EQ(a->query().status().message(), "mine");
  EXPECT_EQ(b->query().status().message(), "mine");
}

TEST(HostCall, IsNotRunAfterAFailedWait) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore();
  EXPECT_TRUE(world
                  .host_call(queue, [&] { return world.log.push_back(9), Status(); },
                             {{a.get(), 1}}, {{b.get(), 1}})
                  .ok());
  a->fail(Status(StatusCode::kDataLoss, "x"));
  world.settle();
  EXPECT_TRUE(world.log.empty());
  EXPECT_EQ(code(b->query().status()), StatusCode::kDataLoss);
}

TEST(HostCall, MaySubmitAndSignal) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore(), c = world.semaphore();
  EXPECT_TRUE(world
                  .host_call(queue,
                             [&] {
                               EXPECT_TRUE(c->signal(5).ok());
                               return world.submit(queue, {{a.get(), 1}}, {{b.get(), 1}}, 1);
                             },
                             {}, {{a.get(), 1}})
                  .ok());
  world.settle();
  EXPECT_EQ(b->query().value(), 1u);
  EXPECT_EQ(c->query().value(), 5u);
}

TEST(Rule32HostCall, OneThatMayBlockGetsAThreadOfItsOwn) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore(), c = world.semaphore();
  const auto note = [&](int number) {
    return [&world, number] { return world.log.push_back(number), Status(); };
  };
  EXPECT_TRUE(world.host_call(queue, note(1), {{a.get(), 1}}, {{b.get(), 1}}, true).ok());
  EXPECT_TRUE(world.host_call(queue, note(2), {{a.get(), 1}}, {{c.get(), 1}}).ok());
  EXPECT_TRUE(world.work_source.threads.empty()) << "none while it is parked";
  EXPECT_TRUE(a->signal(1).ok());
  EXPECT_EQ(world.work_source.threads.size(), 1u);
  world.step_shells();
  EXPECT_EQ(world.log, (std::vector<int>{2})) << "the other call ran, its own thread has not yet";
  EXPECT_TRUE(queue->in_flight()) << "the queue stays until the call has ended";
  EXPECT_TRUE(world.run_threads());
  EXPECT_EQ(world.log, (std::vector<int>{2, 1}));
  EXPECT_EQ(b->query().value(), 1u);
  world.settle();
  EXPECT_FALSE(queue->in_flight());
}

TEST(Rule32HostCall, OneThatMayBlockFailsWithoutAThread) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore();
  const auto call = [&] { return world.log.push_back(1), Status(); };
  world.work_source.refuse_threads = Status(StatusCode::kResourceExhausted, "no more", "EAGAIN");
  EXPECT_TRUE(world.host_call(queue, call, {}, {{a.get(), 1}}, true).ok());
  world.settle();
  const Status status = a->query().status();
  EXPECT_EQ(code(status), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "queue: host call that may block: no more");
  EXPECT_EQ(status.native_error(), "EAGAIN");
  EXPECT_TRUE(world.log.empty());
  EXPECT_FALSE(queue->in_flight());
  world.work_source.refuse_threads = {};
  EXPECT_TRUE(world.host_call(queue, call, {}, {{b.get(), 1}}, true).ok());
  world.settle();
  EXPECT_EQ(b->query().value(), 1u) << "a later call is unharmed";
}

// Host work that stores its submission where the test can end it.
struct Started {
  Submission** at;
};

Status host_work(QueueUnderTest& queue, Submission*& started, World::Points waits,
                 World::Points signals) {
  Submission* submission = queue->allocate().value();
  submission->emplace<Started>(&started);
  submission->set_host_work(
      [](Submission& self) noexcept { *static_cast<Started*>(self.payload())->at = &self; });
  return queue->submit(*submission, {waits, signals}, nullptr);
}

TEST(HostWork, StartsWhenItsWaitsAreReachedAndSignalsWhenItIsEnded) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore(), c = world.semaphore();
  Submission* started = nullptr;
  EXPECT_TRUE(host_work(queue, started, {{a.get(), 1}}, {{b.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {{b.get(), 1}}, {{c.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{a.get(), 1}}, 2).ok());
  world.step_shells();
  EXPECT_EQ(started, nullptr) << "covered is not enough";
  world.settle();
  ASSERT_NE(started, nullptr);
  EXPECT_EQ(world.log, (std::vector<int>{2}));
  EXPECT_FALSE(started->cancel());
  EXPECT_TRUE(queue->in_flight()) << "the queue stays until the work has ended";
  started->end_host_work({});
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{2, 1}));
  EXPECT_EQ(c->query().value(), 1u);
  EXPECT_FALSE(queue->in_flight());
}

TEST(HostWork, ItsFailureReachesItsDependentsOnly) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore(), c = world.semaphore();
  Submission* started = nullptr;
  EXPECT_TRUE(host_work(queue, started, {}, {{a.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {{a.get(), 1}}, {{b.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{c.get(), 1}}, 2).ok());
  ASSERT_NE(started, nullptr);
  started->end_host_work(Status(StatusCode::kDataLoss, "mine"));
  world.settle();
  EXPECT_EQ(b->query().status().message(), "mine");
  EXPECT_EQ(c->query().value(), 1u);
  EXPECT_EQ(world.log, (std::vector<int>{2}));
}

}  // namespace
}  // namespace halyard::timeline::testing
