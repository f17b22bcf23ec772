// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "threads/thread_shells.h"

#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <semaphore>
#include <thread>

#include "base/failing_calls.h"

namespace halyard::threads {
namespace {

using base::Shell;
using namespace std::chrono_literals;

// Counts down the remaining work and wakes `done` at zero.
class CountedWork final : public Work {
 public:
  ~CountedWork() { base::ParkerPool::release(done); }
  bool step(Shell shell) noexcept override {
    ++steps;
    if (on_step) return on_step(shell);
    int left = todo.load();
    while (left > 0 && !todo.compare_exchange_weak(left, left - 1)) {
    }
    if (left == 1) done.wake();
    return left > 0;
  }
  Nanoseconds next_step(Shell) noexcept override { return next; }

  void wait_until_done(ThreadShells& shells) {
    for (;;) {
      const std::uint32_t epoch = done.prepare();
      if (todo.load() == 0) return;
      ASSERT_TRUE(shells.park(done, epoch, Deadline(20s).resolve(shells.clock())))
          << "lost wake-up";
    }
  }

  std::atomic<int> todo{0};
  std::atomic<int> steps{0};
  std::atomic<Nanoseconds> next{Deadline::kForeverTime};
  std::function<bool(Shell)> on_step;  // before ensure(): a thread steps as soon as it has started
  base::Parker& done = base::ParkerPool::acquire();
};

TEST(ThreadShells, WhoWaitsSleepsOnceUntilItsDeadline) {
  ThreadShells shells;
  base::Parker& parker = base::ParkerPool::acquire();
  const testing::FailingCalls none;
  EXPECT_FALSE(shells.park(parker, parker.prepare(), Deadline(50ms).resolve(shells.clock())));
  EXPECT_EQ(none.sleeps(), 1);
  base::ParkerPool::release(parker);
}

TEST(ThreadShells, AShellThatIsNotEnsuredHasNoThread) {
  CountedWork work;
  work.todo = 1;
  {
    ThreadShells shells;
    shells.start(work);
  }
  EXPECT_EQ(work.steps, 0);
}

class EachShell : public ::testing::TestWithParam<Shell> {};

TEST_P(EachShell, StepsUntilNothingIsLeft) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  ASSERT_TRUE(shells.ensure(GetParam()).ok());
  work.todo = 100;
  shells.wake(GetParam());
  work.wait_until_done(shells);
  shells.shutdown();
}

// Each round publishes a piece of work at the moment when the shell goes to sleep after the
// previous piece.
TEST_P(EachShell, LosesNoWakeUp) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  ASSERT_TRUE(shells.ensure(GetParam()).ok());
  for (int round = 0; round < 2000; ++round) {
    work.todo.fetch_add(1);
    shells.wake(GetParam());
    work.wait_until_done(shells);
  }
  shells.shutdown();
}

TEST_P(EachShell, LosesNoWakeUpOfSeveralThreads) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  ASSERT_TRUE(shells.ensure(GetParam()).ok());
  constexpr int kEach = 2000;
  std::atomic<int> published{0};
  const auto publish = [&] {
    for (int i = 0; i < kEach; ++i) {
      work.todo.fetch_add(1);
      ++published;
      shells.wake(GetParam());
    }
  };
  std::thread other(publish);
  publish();
  other.join();
  work.wait_until_done(shells);
  EXPECT_EQ(published, 2 * kEach);
  shells.shutdown();
}

TEST_P(EachShell, WakesByItselfAtItsNextTime) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  ASSERT_TRUE(shells.ensure(GetParam()).ok());
  work.next = 0;  // always due
  shells.wake(GetParam());
  while (work.steps < 10) std::this_thread::yield();
  work.next = Deadline::kForeverTime;
  shells.shutdown();
}

TEST_P(EachShell, ShutdownJoinsAfterTheStepItIsIn) {
  CountedWork work;
  std::atomic<int> entered{0};
  std::atomic<int> left{0};
  work.on_step = [&](Shell) {
    ++entered;
    std::this_thread::yield();
    ++left;
    return false;
  };
  ThreadShells shells;
  shells.start(work);
  ASSERT_TRUE(shells.ensure(GetParam()).ok());
  shells.wake(GetParam());
  while (entered == 0) std::this_thread::yield();
  shells.shutdown();
  EXPECT_EQ(entered, left);
}

TEST_P(EachShell, WakingAfterShutdownDoesNothing) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  ASSERT_TRUE(shells.ensure(GetParam()).ok());
  shells.shutdown();
  const int steps = work.steps;
  shells.wake(GetParam());
  EXPECT_EQ(work.steps, steps);
}

TEST_P(EachShell, IsRefusedWithoutAThreadAndStartsOnceThereIsOne) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  testing::FailingCalls refused("thread.start");
  for (int i = 0; i < 3; ++i) {
    const Status status = shells.ensure(GetParam());
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(status.native_error(), "EAGAIN");
  }
  EXPECT_EQ(refused.failed(), 3);
  refused.turn(false);
  ASSERT_TRUE(shells.ensure(GetParam()).ok());
  work.todo = 1;
  shells.wake(GetParam());
  work.wait_until_done(shells);
  refused.turn(true);
  EXPECT_TRUE(shells.ensure(GetParam()).ok()) << "its thread runs";
  shells.shutdown();
}

TEST_P(EachShell, IsRefusedAfterShutdown) {
  ThreadShells shells;
  shells.shutdown();
  EXPECT_EQ(shells.ensure(GetParam()).code(), StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EachShell,
                         ::testing::Values(Shell::kIssue, Shell::kCompletion, Shell::kHost,
                                           Shell::kReclaim, Shell::kFile));

TEST(ThreadShells, TwoHostCallsRunAtOnce) {
  CountedWork work;
  std::barrier both(2);
  std::counting_semaphore<> ended{0};
  work.on_step = [&](Shell) {
    int left = work.todo.load();
    while (left > 0 && !work.todo.compare_exchange_weak(left, left - 1)) {
    }
    if (left <= 0) return false;
    both.arrive_and_wait();  // each waits for the other
    ended.release();
    return true;
  };
  ThreadShells shells;
  shells.start(work);
  ASSERT_TRUE(shells.ensure(Shell::kHost).ok());
  for (int round = 0; round < 50; ++round) {
    work.todo = 2;
    shells.wake(Shell::kHost);
    shells.wake(Shell::kHost);
    for (int call = 0; call < 2; ++call) ended.acquire();
  }
  shells.shutdown();
}

TEST(ThreadShells, ShutdownDoesWhatAThreadLeftToOneThatHadEnded) {
  static std::atomic<bool> issue_ended;
  issue_ended = false;
  CountedWork work;
  std::atomic<bool> posted{false};
  ThreadShells shells;
  work.on_step = [&](Shell shell) {
    if (shell == Shell::kIssue) {
      struct Ends {
        ~Ends() { issue_ended = true; }
      };
      thread_local const Ends ends;
      return posted.exchange(false);
    }
    if (shell != Shell::kHost || work.todo.exchange(0) == 0) return false;
    while (!issue_ended) std::this_thread::yield();
    posted = true;
    shells.wake(Shell::kIssue);
    return true;
  };
  shells.start(work);
  for (const Shell shell : {Shell::kIssue, Shell::kHost}) ASSERT_TRUE(shells.ensure(shell).ok());
  work.todo = 1;
  shells.wake(Shell::kHost);
  shells.shutdown();
  EXPECT_FALSE(posted) << "it was left undone";
}

// Separate threads that block until they are released.
struct Blocked {
  static void run(void* self) {
    auto& blocked = *static_cast<Blocked*>(self);
    blocked.inside.release();
    blocked.go.acquire();
    ++blocked.ran;
  }
  Status start(ThreadShells& shells) { return shells.start_thread(&run, this); }
  std::counting_semaphore<> inside{0};
  std::counting_semaphore<> go{0};
  std::atomic<int> ran{0};
};

TEST(OwnThreads, AllRunAtOnceUpToTheLimitWhichIsAnError) {
  ThreadShells shells;
  Blocked blocked;
  for (int i = 0; i < ThreadShells::kOwnThreads; ++i) ASSERT_TRUE(blocked.start(shells).ok()) << i;
  for (int i = 0; i < ThreadShells::kOwnThreads; ++i) blocked.inside.acquire();
  const Status status = blocked.start(shells);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("256 calls with a thread of their own"), std::string_view::npos)
      << status.message();

  blocked.go.release();
  while (!blocked.start(shells).ok()) std::this_thread::yield();  // once one has ended
  blocked.inside.acquire();
  blocked.go.release(ThreadShells::kOwnThreads);
  shells.shutdown();
  EXPECT_EQ(blocked.ran, ThreadShells::kOwnThreads + 1) << "shutdown joins";
  EXPECT_EQ(blocked.start(shells).code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace halyard::threads
