// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shells/thread_shells.h"

#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <semaphore>
#include <thread>

#include "base/failing_calls.h"

namespace halyard::shells {
namespace {

using base::Shell;
using namespace std::chrono_literals;

// Counts down the pieces of work to do, and wakes `done` at zero.
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
  std::function<bool(Shell)> on_step;
  base::Parker& done = base::ParkerPool::acquire();
};

// A thread that waits until `done` is set and its parker woken.
class Sleeper {
 public:
  explicit Sleeper(ThreadShells& shells)
      : thread_([this, &shells] {
          id = std::this_thread::get_id();
          for (;;) {
            const std::uint32_t epoch = parker_.prepare();
            if (done) return;
            if (!shells.park(parker_, epoch, Deadline(20s).resolve(shells.clock()))) return;
          }
        }) {}
  ~Sleeper() { base::ParkerPool::release(parker_); }
  void wake() {
    done = true;
    parker_.wake();
  }
  void join() { thread_.join(); }
  std::atomic<bool> done{false};
  std::atomic<std::thread::id> id;

 private:
  base::Parker& parker_ = base::ParkerPool::acquire();
  std::thread thread_;
};

TEST(ThreadShells, AWaiterSleepsOnceUntilItsDeadline) {
  ThreadShells shells;
  base::Parker& parker = base::ParkerPool::acquire();
  const testing::FailingCalls none;
  EXPECT_FALSE(shells.park(parker, parker.prepare(), Deadline(50ms).resolve(shells.clock())));
  EXPECT_EQ(none.sleeps, 1);
  base::ParkerPool::release(parker);
}

TEST(ThreadShells, AShellThatIsNeverWokenHasNoThread) {
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
  work.todo = 100;
  shells.wake(GetParam());
  work.wait_until_done(shells);
  shells.shutdown();
}

// Each round publishes a piece of work when the shell goes to sleep after the one before.
TEST_P(EachShell, LosesNoWakeUp) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
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
  work.next = 0;  // the next step is always in the past
  shells.wake(GetParam());
  while (work.steps < 10) std::this_thread::yield();
  work.next = Deadline::kForeverTime;
  shells.shutdown();
}

TEST_P(EachShell, ShutdownJoinsAfterTheStepItIsIn) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  std::atomic<int> entered{0};
  std::atomic<int> left{0};
  work.on_step = [&](Shell) {
    ++entered;
    std::this_thread::yield();
    ++left;
    return false;
  };
  shells.wake(GetParam());
  while (entered == 0) std::this_thread::yield();
  shells.shutdown();
  EXPECT_EQ(entered, left);
}

TEST_P(EachShell, WakingAfterShutdownDoesNothing) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  shells.shutdown();
  shells.wake(GetParam());
  EXPECT_EQ(work.steps, 0);
}

TEST_P(EachShell, IsStoodInForByWhoWaitsWhereTheSystemRefusesAThread) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  const testing::FailingCalls refused("thread.start");
  for (int round = 0; round < 10; ++round) {
    work.todo = 10;
    shells.wake(GetParam());
    work.wait_until_done(shells);
  }
  EXPECT_GT(refused.failed, 0);
  shells.shutdown();
}

TEST_P(EachShell, IsStoodInForByWhoSleptBeforeTheSystemRefusedTheThread) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  testing::FailingCalls refused("thread.start");
  refused.on = false;
  Sleeper sleeper(shells);
  std::atomic<std::thread::id> by;
  work.on_step = [&](Shell) {
    if (work.todo.exchange(0) == 0) return false;
    by = std::this_thread::get_id();
    sleeper.wake();
    return true;
  };
  refused.wait_for_sleeps(1);
  refused.on = true;
  work.todo = 1;
  shells.wake(GetParam());
  sleeper.join();
  EXPECT_EQ(by.load(), sleeper.id.load()) << "lost wake-up";
  shells.shutdown();
}

// Each of two threads does one piece of work, which ends its own wait.
TEST_P(EachShell, IsStoodInForByAnotherOnceTheWaitOfTheFirstIsOver) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  testing::FailingCalls refused("thread.start");
  refused.on = false;
  Sleeper sleepers[2]{Sleeper(shells), Sleeper(shells)};
  work.on_step = [&](Shell) {
    if (work.todo == 0) return false;
    if (work.todo == 2) refused.wait_for_sleeps(3);  // the other has checked, and sleeps again
    --work.todo;
    for (Sleeper& sleeper : sleepers) {
      if (sleeper.id.load() == std::this_thread::get_id()) sleeper.wake();
    }
    return true;
  };
  refused.wait_for_sleeps(2);
  refused.on = true;
  work.todo = 2;
  shells.wake(GetParam());
  for (Sleeper& sleeper : sleepers) sleeper.join();
  EXPECT_EQ(work.todo, 0) << "left undone";
  shells.shutdown();
}

TEST_P(EachShell, HasWhatIsDueLaterDoneWhereTheSystemRefusesAThread) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  const testing::FailingCalls refused("thread.start");
  work.next = 0;
  work.on_step = [&](Shell) {
    if (work.steps == 3) work.done.wake();  // no work is left, and no thread wakes this one
    return false;
  };
  shells.wake(GetParam());
  EXPECT_TRUE(shells.park(work.done, work.done.prepare(), Deadline(20s).resolve(shells.clock())));
  shells.shutdown();
}

TEST_P(EachShell, GetsItsThreadFromWhoWaitsOnceTheSystemAllowsOne) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  testing::FailingCalls refused("thread.start");
  work.todo = 1;
  std::atomic<std::thread::id> by;
  work.on_step = [&](Shell) {
    if (work.todo.exchange(0) == 0) return false;
    by = std::this_thread::get_id();
    work.done.wake();
    return true;
  };
  shells.wake(GetParam());
  refused.on = false;
  work.wait_until_done(shells);
  EXPECT_NE(by.load(), std::this_thread::get_id());
  shells.shutdown();
}

TEST_P(EachShell, HasNoThreadWhileItIsStoodInFor) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  testing::FailingCalls refused("thread.start");
  work.todo = 2;
  const std::thread::id who_waits = std::this_thread::get_id();
  std::atomic<bool> stood_in_for{false};
  std::atomic<bool> alone{true};
  work.on_step = [&](Shell shell) {
    const bool stands_in = std::this_thread::get_id() == who_waits;
    if (stood_in_for) alone = false;
    if (stands_in) stood_in_for = true;
    int left = work.todo;
    while (left > 0 && !work.todo.compare_exchange_weak(left, left - 1)) {
    }
    if (left > 0 && refused.on.exchange(false)) {
      shells.wake(shell);  // from here on a thread could start
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
    }
    if (left == 1) work.done.wake();
    if (stands_in) stood_in_for = false;
    return left > 0;
  };
  shells.wake(GetParam());
  work.wait_until_done(shells);
  shells.shutdown();
  EXPECT_TRUE(alone) << "a thread stepped it too";
}

TEST_P(EachShell, HasItsWorkDoneByShutdownWhereTheSystemRefusesAThread) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  const testing::FailingCalls refused("thread.start");
  work.todo = 10;
  shells.wake(GetParam());
  shells.shutdown();
  EXPECT_EQ(work.todo, 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EachShell,
                         ::testing::Values(Shell::kIssue, Shell::kCompletion, Shell::kHost,
                                           Shell::kReclaim, Shell::kFile));

TEST(ThreadShells, TwoHostCallsRunAtOnce) {
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
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
  // The first wake-up starts both threads, later ones find them asleep.
  for (int round = 0; round < 50; ++round) {
    work.todo = 2;
    shells.wake(Shell::kHost);
    shells.wake(Shell::kHost);
    for (int call = 0; call < 2; ++call) ended.acquire();
  }
  shells.shutdown();
}

TEST(ThreadShells, ShutdownDoesWorkPostedToAThreadThatHadEnded) {
  static std::atomic<bool> issue_ended;
  issue_ended = false;
  CountedWork work;
  ThreadShells shells;
  shells.start(work);
  std::atomic<bool> posted{false};
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
  shells.wake(Shell::kIssue);
  work.todo = 1;
  shells.wake(Shell::kHost);
  shells.shutdown();
  EXPECT_FALSE(posted) << "the work was left undone";
}

// Threads of their own that block until the test releases them.
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
  while (!blocked.start(shells).ok()) std::this_thread::yield();  // until one thread has ended
  blocked.inside.acquire();
  blocked.go.release(ThreadShells::kOwnThreads);
  shells.shutdown();
  EXPECT_EQ(blocked.ran, ThreadShells::kOwnThreads + 1) << "shutdown joins";
  EXPECT_EQ(blocked.start(shells).code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace halyard::shells
