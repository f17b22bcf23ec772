// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/notify_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/failing_calls.h"

namespace halyard::timeline {
namespace {

using namespace std::chrono_literals;

struct CountingNotify final : base::Notify {
  void notify() noexcept override { ++count; }
  std::atomic<int> count{0};
};

struct CallingNotify final : base::Notify {
  void notify() noexcept override { call(); }
  std::function<void()> call;
};

TEST(NotifyList, NotifiesOnceWhenTheSequenceIsReached) {
  NotifyList list;
  CountingNotify notify;
  list.arm(2, notify);
  list.advance(1);
  EXPECT_EQ(notify.count, 0);
  list.advance(2);
  EXPECT_EQ(notify.count, 1);
  list.advance(3);
  EXPECT_EQ(notify.count, 1);
}

TEST(NotifyList, NotifiesAtOnceWhatIsReached) {
  NotifyList list;
  CountingNotify notify;
  list.advance(5);
  list.arm(5, notify);
  EXPECT_EQ(notify.count, 1);
  EXPECT_EQ(list.least(), NotifyList::kNothing);
}

TEST(NotifyList, OneThatIsClosedNotifiesOnlyWhoArmsIt) {
  NotifyList list;
  CountingNotify armed, late;
  list.arm(2, armed);
  list.close();
  EXPECT_EQ(armed.count, 1) << "early is allowed, late is not";
  EXPECT_EQ(list.least(), NotifyList::kNothing);
  list.advance(2);
  EXPECT_EQ(armed.count, 1);
  list.arm(3, late);
  EXPECT_EQ(late.count, 1);
  list.advance(3);
  EXPECT_EQ(late.count, 1);
}

TEST(NotifyList, CloseReturnsWhenTheCallsInProgressHave) {
  NotifyList list;
  std::atomic<bool> called{false}, go{false}, returned{false};
  CallingNotify slow;
  slow.call = [&] {
    called = true;
    while (!go) std::this_thread::yield();
    returned = true;
  };
  list.arm(1, slow);
  std::jthread advances([&] { list.advance(1); });
  while (!called) std::this_thread::yield();
  std::jthread opens([&] { go = true; });
  list.close();
  EXPECT_TRUE(returned);
}

TEST(NotifyList, NeverGoesBack) {
  NotifyList list;
  CountingNotify notify;
  list.advance(5);
  list.advance(2);
  list.arm(4, notify);
  EXPECT_EQ(notify.count, 1);
}

TEST(NotifyList, NotifiesAtTheLowestOfItsSequencesAndAtTheLast) {
  for (const bool lowest_first : {true, false}) {
    NotifyList list;
    CountingNotify notify;
    list.arm(lowest_first ? 2 : 9, notify);
    list.arm(5, notify);
    list.arm(lowest_first ? 9 : 2, notify);
    EXPECT_EQ(list.least(), 2u);
    list.advance(2);
    EXPECT_EQ(notify.count, 1);
    list.advance(8);
    EXPECT_EQ(notify.count, 1) << "the caller that armed for 5 has been notified, and arms again";
    list.advance(9);
    EXPECT_EQ(notify.count, lowest_first ? 2 : 1);
  }
}

// The caller has polled that 2 is reached.
TEST(NotifyList, KeepsAnArmingThatComesBeforeTheAdvanceOfTheOneBefore) {
  NotifyList list;
  CountingNotify notify;
  list.arm(2, notify);
  list.arm(5, notify);
  list.advance(3);
  EXPECT_EQ(notify.count, 1);
  EXPECT_EQ(list.least(), 5u);
  list.advance(5);
  EXPECT_EQ(notify.count, 2);
}

TEST(NotifyList, LeastIsTheSmallestArmedSequence) {
  NotifyList list;
  CountingNotify a, b;
  EXPECT_EQ(list.least(), NotifyList::kNothing);
  list.arm(7, a);
  list.arm(4, b);
  EXPECT_EQ(list.least(), 4u);
  list.advance(4);
  EXPECT_EQ(list.least(), 7u);
  EXPECT_EQ(a.count, 0);
  EXPECT_EQ(b.count, 1);
}

TEST(NotifyList, NotifiesAllThatAreReachedHoweverMany) {
  NotifyList list;
  std::vector<CountingNotify> all(100);
  for (std::size_t i = 0; i < all.size(); ++i) list.arm(i + 1, all[i]);
  list.advance(90);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].count, i < 90 ? 1 : 0) << i;
}

// Otherwise a thread that follows the list would loop until the other thread has notified.
TEST(NotifyList, AnAdvanceNotifiesWhatAnotherHasReachedButNotNotified) {
  NotifyList list;
  std::vector<CallingNotify> all(100);
  std::uint64_t least_after = 0;
  bool first = true;
  for (CallingNotify& each : all) {
    each.call = [&] {
      if (!std::exchange(first, false)) return;
      list.advance(5);  // as another thread, while the advance below has more to notify
      least_after = list.least();
    };
    list.arm(5, each);
  }
  list.advance(5);
  EXPECT_EQ(least_after, NotifyList::kNothing);
}

TEST(NotifyList, NotifyMayArmAgain) {
  NotifyList list;
  CallingNotify notify;
  int count = 0;
  notify.call = [&] {
    ++count;
    list.arm(2, notify);
  };
  list.arm(1, notify);
  list.advance(1);
  EXPECT_EQ(count, 1);
  notify.call = [&] { ++count; };
  list.advance(2);
  EXPECT_EQ(count, 2);
}

// This Notify is armed for 5 while the list has reached 2 and is notifying another Notify.
TEST(NotifyList, ArmingThatIsReachedButNotNotifiedHidesNoLaterOne) {
  NotifyList list;
  CountingNotify notify;
  CallingNotify first[16];  // the number that a round notifies
  int calls = 0;
  for (CallingNotify& each : first) {
    each.call = [&] {
      if (calls++ == 0) list.arm(5, notify);
    };
  }
  list.arm(2, notify);
  for (CallingNotify& each : first) list.arm(2, each);
  list.advance(2);
  const int early = notify.count;
  EXPECT_EQ(list.least(), 5u);
  list.advance(5);
  EXPECT_EQ(notify.count, early + 1);
}

TEST(NotifyList, NotifiesAtOnceWithoutMemory) {
  NotifyList list;
  CountingNotify notify;
  const halyard::testing::FailingCalls failing("array.resize");
  list.arm(1, notify);
  EXPECT_EQ(notify.count, 1);
}

// Threads wait for each multiple of a number, on their own parker or on a shared parker. Two other
// threads advance the sequence once all waiters wait for a higher value. If a notification is lost,
// a thread sleeps until its deadline.
TEST(NotifyList, WakesEveryThreadThatWaits) {
  constexpr std::uint64_t kLast = 6'000;
  constexpr std::uint64_t kSteps[] = {1, 2, 3};
  NotifyList list;
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<std::uint64_t> awaited[6] = {};
  const auto wait_for_all = [&](std::uint64_t step, std::atomic<std::uint64_t>& now,
                                base::Parker& parker) {
    const auto deadline = Clock::steady().now() + std::chrono::nanoseconds(60s).count();
    for (std::uint64_t next = step; next <= kLast; next += step) {
      now.store(next);
      for (;;) {
        const std::uint32_t epoch = parker.prepare();
        if (sequence.load() >= next) break;
        list.arm(next, parker);
        ASSERT_TRUE(parker.park(epoch, deadline)) << "no thread woke the waiter for " << next;
      }
    }
  };
  base::Parker& shared = base::ParkerPool::acquire();
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      const bool shares = i >= 3;
      base::Parker& parker = shares ? shared : base::ParkerPool::acquire();
      wait_for_all(kSteps[i % 3], awaited[i], parker);
      if (!shares) base::ParkerPool::release(parker);
      awaited[i] = kLast + 1;
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t reached = sequence; reached < kLast; reached = sequence) {
        const bool all_wait =
            std::ranges::all_of(awaited, [&](const auto& next) { return next > reached; });
        if (!all_wait || !sequence.compare_exchange_strong(reached, reached + 1)) {
          std::this_thread::yield();
          continue;
        }
        list.advance(reached + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  base::ParkerPool::release(shared);
}

}  // namespace
}  // namespace halyard::timeline
