// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread that wakes waiters, over a library in this file.
#include "timeline/notifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace halyard::timeline {
namespace {

using namespace std::chrono_literals;

enum class Code { kOk, kTimeout, kNoMemory, kLoss };

// Values that grow, and waits for any of them.
struct Library {
  struct Counter {
    std::uint64_t value = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  Counter calling;
  Code fail_wait = Code::kOk;
  Code fail_call = Code::kOk;
  std::atomic<bool> is_open{false};
  std::atomic<int> waits{0};
  std::atomic<int> calls{0};
  std::atomic<int> lost{0};
  std::atomic<std::size_t> waited_for{0};  // how many counters the last wait is for
  // While a lane is removed, a read takes 20 ms, or until the lane has been removed.
  enum class Removal { kNone, kBegun, kEnded };
  std::atomic<Removal> removal{Removal::kNone};
  std::atomic<bool> read_too_late{false};

  void set(Counter& counter, std::uint64_t value) {
    std::lock_guard lock(mutex);
    counter.value = value;
    changed.notify_all();
  }
};

class Waits {
 public:
  using Point = Library::Counter*;
  using Result = Code;
  static constexpr const char* kDriver = "fake";
  static constexpr const char* kThread = "hy-fake";

  explicit Waits(Library& library) noexcept : library_(library) {}
  Status open() {
    library_.is_open = true;
    return {};
  }
  void close() noexcept { library_.is_open = false; }
  Point calling() const noexcept { return &library_.calling; }
  Code call(std::uint64_t value) noexcept {
    ++library_.calls;
    std::lock_guard lock(library_.mutex);
    if (library_.fail_call != Code::kOk) return library_.fail_call;
    EXPECT_GT(value, library_.calling.value) << "values grow";
    library_.calling.value = value;
    library_.changed.notify_all();
    return Code::kOk;
  }
  Code read(Point point, std::uint64_t& value) noexcept {
    using enum Library::Removal;
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (library_.removal == kBegun && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    if (library_.removal == kEnded) library_.read_too_late = true;
    std::lock_guard lock(library_.mutex);
    value = point->value;
    return Code::kOk;
  }
  Code wait(std::span<const Point> points, std::span<const std::uint64_t> values,
            std::uint64_t timeout) noexcept {
    EXPECT_EQ(points[0], calling());
    ++library_.waits;
    std::unique_lock lock(library_.mutex);
    library_.waited_for = points.size();
    if (library_.fail_wait != Code::kOk) return library_.fail_wait;
    const auto reached = [&] {
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i]->value >= values[i]) return true;
      }
      return library_.fail_wait != Code::kOk;
    };
    return library_.changed.wait_for(lock, std::chrono::nanoseconds(timeout), reached)
               ? library_.fail_wait
               : Code::kTimeout;
  }
  static WaitFailure failure(Code code) noexcept {
    return code == Code::kLoss       ? WaitFailure::kLoss
           : code == Code::kNoMemory ? WaitFailure::kNoMemory
                                     : WaitFailure::kNone;
  }
  Status check(Code code, WaitCall) noexcept {
    if (code == Code::kOk) return {};
    return Status(
        code == Code::kNoMemory ? StatusCode::kResourceExhausted : StatusCode::kDeviceLost, "fake");
  }
  void lose(Code) noexcept { ++library_.lost; }
  bool lost() const noexcept { return library_.lost != 0; }
  Status loss() const { return lost() ? Status(StatusCode::kDeviceLost, "fake") : Status(); }

 private:
  Library& library_;
};

struct ArmedNotify final : base::Notify {
  void notify() noexcept override { ++count; }
  bool wait_for(int least, std::chrono::milliseconds time = 20s) const {
    const auto end = std::chrono::steady_clock::now() + time;
    while (count < least && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(1ms);
    return count >= least;
  }
  std::atomic<int> count{0};
};

class NotifierThread : public ::testing::Test {
 protected:
  using Notifier = timeline::Notifier<Waits>;
  struct Lane {
    Lane(NotifierThread& world) : notifier(world.notifier) {
      shared.point = &counter;
      EXPECT_TRUE(notifier.add(shared).ok());
    }
    ~Lane() { notifier.remove(shared); }
    Notifier& notifier;
    Library::Counter counter;
    Notifier::Lane shared;
  };
  void SetUp() override { ASSERT_TRUE(notifier.start().ok()); }
  void TearDown() override {
    notifier.stop();
    EXPECT_FALSE(library.is_open);
  }
  // Returns when the thread waits for a call and for the only lane.
  void wait_for_watching() const {
    while (library.waited_for != 2) std::this_thread::yield();
  }

  Library library;
  Notifier notifier{library};
};

TEST_F(NotifierThread, WakesTheWaiterOfTheLaneThatHasReachedItsSequence) {
  Lane a(*this), b(*this);
  ArmedNotify of_a, of_b;
  ASSERT_TRUE(notifier.arm(a.shared, 3, of_a).ok());
  ASSERT_TRUE(notifier.arm(b.shared, 5, of_b).ok());
  library.set(b.counter, 4);
  library.set(a.counter, 3);
  EXPECT_TRUE(of_a.wait_for(1));
  EXPECT_EQ(of_b.count, 0);
  library.set(b.counter, 5);
  EXPECT_TRUE(of_b.wait_for(1));
  EXPECT_EQ(of_a.count, 1);
}

TEST_F(NotifierThread, IsCalledForASequenceBelowTheOneThatItWaitsFor) {
  Lane lane(*this);
  ArmedNotify late, early;
  ASSERT_TRUE(notifier.arm(lane.shared, 9, late).ok());
  wait_for_watching();
  const int calls = library.calls;
  ASSERT_TRUE(notifier.arm(lane.shared, 2, early).ok());
  EXPECT_EQ(library.calls, calls + 1);
  library.set(lane.counter, 2);
  EXPECT_TRUE(early.wait_for(1, 200ms)) << "sooner than the thread's longest sleep";
  EXPECT_EQ(late.count, 0);
  library.set(lane.counter, 9);
  EXPECT_TRUE(late.wait_for(1));
}

TEST_F(NotifierThread, IsNotCalledForASequenceThatComesLater) {
  Lane lane(*this);
  ArmedNotify first, second;
  ASSERT_TRUE(notifier.arm(lane.shared, 2, first).ok());
  wait_for_watching();
  const int calls = library.calls;
  ASSERT_TRUE(notifier.arm(lane.shared, 3, second).ok());
  EXPECT_EQ(library.calls, calls);
  library.set(lane.counter, 3);
  EXPECT_TRUE(first.wait_for(1));
  EXPECT_TRUE(second.wait_for(1));
}

TEST_F(NotifierThread, NotifiesEarlyWithoutMemoryForTheCall) {
  Lane lane(*this);
  ArmedNotify notify;
  {
    std::lock_guard lock(library.mutex);
    library.fail_call = Code::kNoMemory;
  }
  EXPECT_TRUE(notifier.arm(lane.shared, 1, notify).ok());
  EXPECT_EQ(notify.count, 1);
  std::lock_guard lock(library.mutex);
  library.fail_call = Code::kOk;
}

TEST_F(NotifierThread, RestsWhileItsWaitsFindNoMemory) {
  Lane lane(*this);
  {
    std::lock_guard lock(library.mutex);
    library.fail_wait = Code::kNoMemory;
    library.changed.notify_all();
  }
  const int before = library.waits;
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(library.waits - before, 60) << "once in a millisecond";
  // Reads still succeed, so the thread polls.
  ArmedNotify notify;
  ASSERT_TRUE(notifier.arm(lane.shared, 1, notify).ok());
  library.set(lane.counter, 1);
  EXPECT_TRUE(notify.wait_for(1));
  std::lock_guard lock(library.mutex);
  library.fail_wait = Code::kOk;
}

TEST_F(NotifierThread, WakesAllAndEndsWhenTheDeviceIsLost) {
  Lane lane(*this);
  ArmedNotify notify, late;
  ASSERT_TRUE(notifier.arm(lane.shared, 1, notify).ok());
  {
    std::lock_guard lock(library.mutex);
    library.fail_wait = Code::kLoss;
    library.changed.notify_all();
  }
  EXPECT_TRUE(notify.wait_for(1));
  EXPECT_EQ(library.lost, 1);
  EXPECT_EQ(notifier.arm(lane.shared, 2, late).code(), StatusCode::kDeviceLost);
}

TEST_F(NotifierThread, UsesNoLaneThatWasRemoved) {
  for (int i = 0; i < 200; ++i) {
    ArmedNotify notify;
    Lane lane(*this);
    ASSERT_TRUE(notifier.arm(lane.shared, 1, notify).ok());
    if (i % 2 == 0) library.set(lane.counter, 1);
    // Its memory is freed after this: sanitizers detect a use.
  }
}

// The call in remove() ends the wait, and then the thread reads what it waited for.
TEST_F(NotifierThread, HasReadALaneBeforeItsRemovalEnds) {
  Lane lane(*this);
  ArmedNotify notify;
  ASSERT_TRUE(notifier.arm(lane.shared, 1, notify).ok());
  wait_for_watching();
  library.removal = Library::Removal::kBegun;
  notifier.remove(lane.shared);
  library.removal = Library::Removal::kEnded;
  notifier.stop();
  EXPECT_FALSE(library.read_too_late);
}

}  // namespace
}  // namespace halyard::timeline
