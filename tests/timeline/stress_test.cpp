// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many threads at once, under the sanitizers. The shells run as threads here.
#include <random>

#include "base/sanitizers.h"
#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

constexpr int kRounds = HALYARD_TSAN || HALYARD_ASAN ? 500 : 2000;

// A world whose native queues and shells run on threads until it is stopped.
class LiveWorld {
 public:
  explicit LiveWorld(int queue_count, QueueCapabilities capabilities = {},
                     std::uint32_t backlog = 1u << 20) {
    auto& device = world.device();
    for (int i = 0; i < queue_count; ++i) {
      queues.push_back(&world.queue(device, "q", capabilities, kDomain, backlog));
      // Operations run on several threads, so they do not write the log.
    }
    world.work_source.real_deadline = true;
    for (auto* queue : queues) {
      threads.emplace_back([queue](std::stop_token stop) {
        while (!stop.stop_requested()) {
          if (queue->native().run(7) == 0) std::this_thread::yield();
        }
      });
    }
    threads.emplace_back([this](std::stop_token stop) {
      while (!stop.stop_requested()) {
        if (!world.engine.step_completion()) std::this_thread::yield();
      }
    });
    threads.emplace_back([this](std::stop_token stop) {
      while (!stop.stop_requested()) {
        if (!world.engine.step_issue() && !world.engine.step_host()) std::this_thread::yield();
      }
    });
  }
  ~LiveWorld() {
    for (auto& thread : threads) thread.request_stop();
    threads.clear();
  }

  Status submit(int queue, World::Points waits, World::Points signals, Submission** out = nullptr) {
    QueueUnderTest& on = *queues[static_cast<std::size_t>(queue)];
    Submission* submission = on->allocate().value();
    submission->emplace<Operation>(nullptr, 0, world.resource);
    return on->submit(*submission, {.waits = waits, .signals = signals, .room = kForever}, out);
  }

  World world;
  std::vector<QueueUnderTest*> queues;
  std::vector<std::jthread> threads;
};

TEST(Stress, PingPongBetweenTwoQueuesAndTheHost) {
  LiveWorld live(2);
  auto ping = live.world.semaphore(), pong = live.world.semaphore();
  for (std::uint64_t i = 1; i <= kRounds / 4; ++i) {
    ASSERT_TRUE(live.submit(0, {{pong.get(), i - 1}}, {{ping.get(), i}}).ok());
    ASSERT_TRUE(live.submit(1, {{ping.get(), i}}, {{pong.get(), i}}).ok());
    if (i % 3 == 0) {
      ASSERT_TRUE(pong->wait(i, kForever).ok());
    }
  }
  EXPECT_TRUE(pong->wait(kRounds / 4, kForever).ok());
}

void many_submitters(QueueCapabilities capabilities, std::uint32_t backlog = 1u << 20) {
  LiveWorld live(2, capabilities, backlog);
  constexpr int kThreads = 4;
  // Each link of a chain needs every thread once, which takes a millisecond of yielding on two
  // processors.
  constexpr int kLinks = 500;
  std::vector<HandleRef<Semaphore>> done;
  for (int t = 0; t < kThreads; ++t) done.push_back(live.world.semaphore());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Semaphore* mine = done[static_cast<std::size_t>(t)].get();
        for (std::uint64_t i = 1; i <= kLinks; ++i) {
          ASSERT_TRUE(live.submit(static_cast<int>(i + t) % 2, {{mine, i - 1}}, {{mine, i}}).ok());
        }
        ASSERT_TRUE(mine->wait(kLinks, kForever).ok());
      });
    }
  }
  for (auto& semaphore : done) EXPECT_EQ(semaphore->value(), static_cast<std::uint64_t>(kLinks));
}

TEST(Stress, ManyThreadsSubmitChainsOverTwoQueues) { many_submitters({}); }

TEST(Stress, ManyThreadsSubmitChainsThroughNarrowLanes) { many_submitters({.max_in_flight = 4}); }

TEST(Stress, ManyThreadsSubmitChainsThroughAShortBacklog) {
  many_submitters({.max_in_flight = 4}, /*backlog=*/2);
}

TEST(Stress, ManyThreadsSubmitChainsOverLanesWithMarkers) {
  many_submitters({.marks_every_submission = false, .max_in_flight = 64});
}

TEST(Stress, CancelRacesSignalAndEverySubmissionEndsOnce) {
  LiveWorld live(1);
  std::atomic<int> cancelled{0}, completed{0};
  for (int round = 0; round < kRounds / 4; ++round) {
    auto start = live.world.semaphore(), done = live.world.semaphore();
    Submission* submission = nullptr;
    ASSERT_TRUE(live.submit(0, {{start.get(), 1}}, {{done.get(), 1}}, &submission).ok());
    std::atomic<bool> go{false};
    bool won = false;
    {
      std::jthread canceller([&] {
        while (!go) std::this_thread::yield();
        won = submission->cancel();
      });
      go = true;
      ASSERT_TRUE(start->signal(1).ok());
    }
    const Status status = done->wait(1, kForever);
    ASSERT_EQ(status.ok(), !won);
    ASSERT_TRUE(won ? status.code() == StatusCode::kCancelled : true);
    ++(won ? cancelled : completed);
    submission->release_for_user();
  }
  EXPECT_EQ(cancelled + completed, kRounds / 4);
}

TEST(Stress, FailRacesSignalsWaitsAndParking) {
  LiveWorld live(2);
  for (int round = 0; round < kRounds / 20; ++round) {
    auto start = live.world.semaphore(), end = live.world.semaphore();
    std::vector<std::jthread> threads;
    threads.emplace_back([&] {
      for (std::uint64_t i = 1; i <= 20; ++i) {
        (void)live.submit(0, {{start.get(), i}}, {{end.get(), i}});
      }
    });
    threads.emplace_back([&] {
      for (std::uint64_t i = 1; i <= 10; ++i) (void)start->signal(i);
      start->fail(Status(StatusCode::kDataLoss, "first"));
    });
    threads.emplace_back([&] { start->fail(Status(StatusCode::kInternal, "second")); });
    const Status status = end->wait(20, kForever);
    threads.clear();
    ASSERT_FALSE(status.ok());
    const Status first = start->query().status();
    ASSERT_TRUE(status.same_as(first) || status.code() == StatusCode::kInvalidArgument)
        << status.to_string();
  }
}

TEST(Stress, WaitersAndCallbacksSeeEveryValueOnce) {
  LiveWorld live(1);
  auto semaphore = live.world.semaphore();
  std::atomic<int> called{0};
  std::vector<Registration*> registrations;
  constexpr int kCallbacks = 400;
  for (int i = 1; i <= kCallbacks; ++i) {
    registrations.push_back(Registration::create(*semaphore.get(), static_cast<std::uint64_t>(i),
                                                 {&called,
                                                  [](void* count, const Status& status) {
                                                    if (status.ok())
                                                      ++*static_cast<std::atomic<int>*>(count);
                                                  },
                                                  nullptr})
                                .value());
  }
  std::vector<std::jthread> waiters;
  for (int t = 0; t < 3; ++t) {
    waiters.emplace_back([&] {
      for (std::uint64_t i = 1; i <= kCallbacks; ++i)
        ASSERT_TRUE(semaphore->wait(i, kForever).ok());
    });
  }
  for (std::uint64_t i = 1; i <= kCallbacks; ++i) {
    ASSERT_TRUE(live.submit(0, {}, {{semaphore.get(), i}}).ok());
  }
  waiters.clear();
  // A wait may return before the callbacks of its value have run; they run nevertheless.
  while (called < kCallbacks) std::this_thread::yield();
  for (auto* registration : registrations) registration->drop();
  EXPECT_EQ(called, kCallbacks);
}

TEST(Stress, EveryHandleIsDroppedAtRandomMomentsAndNothingLeaks) {
  LiveWorld live(2);
  std::mt19937 random(7);
  for (int round = 0; round < kRounds / 10; ++round) {
    std::vector<HandleRef<Semaphore>> semaphores;
    for (int i = 0; i < 4; ++i) semaphores.push_back(live.world.semaphore());
    for (int i = 0; i < 6; ++i) {
      Semaphore* waits = semaphores[random() % 4].get();
      Semaphore* signals = semaphores[random() % 4].get();
      if (waits == signals) continue;
      (void)live.submit(static_cast<int>(random() % 2), {{waits, random() % 3}},
                        {{signals, 1 + random() % 3}});
      if (random() % 3 == 0) semaphores[random() % 4]->fail(Status(StatusCode::kInternal, "x"));
    }
  }
}

}  // namespace
}  // namespace halyard::timeline::testing
