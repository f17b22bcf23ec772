// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/signal.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "hcq_test_util.h"

namespace halyard::hcq {
namespace {

using namespace std::chrono_literals;

Signal make_signal(std::uint64_t initial = 0) {
  return Signal(Ref<SignalObject>::adopt(new SignalObject(initial)));
}

TEST(Signal, OnlyGrows) {
  const Signal signal = make_signal(5);
  signal.set(3);
  EXPECT_EQ(signal.value(), 5u);
  signal.set(9);
  EXPECT_EQ(signal.value(), 9u);
}

TEST(Signal, HoldsValuesAcrossThe32BitBoundary) {
  const Signal signal = make_signal((std::uint64_t{1} << 32) - 20);
  for (int i = 0; i < 40; ++i) signal.set(signal.value() + 1);
  EXPECT_EQ(signal.value(), (std::uint64_t{1} << 32) + 20);
}

TEST(Signal, WaitForAReachedValueReturnsAtOnce) { EXPECT_TRUE(make_signal(2).wait(2, kNow).ok()); }

TEST(Signal, WaitEndsAtItsDeadlineAndNamesBothValues) {
  const Signal signal = make_signal(3);
  const auto start = std::chrono::steady_clock::now();
  const Status status = signal.wait(4, 20ms);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("wait for 4 ended at value 3"), std::string_view::npos);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
}

TEST(Signal, WaitIsWokenByALaterSet) {
  const Signal signal = make_signal();
  std::thread waiter([&] { EXPECT_TRUE(signal.wait(1).ok()); });
  signal.set(1);
  waiter.join();
}

TEST(Signal, EmptyHandleIsAnInvalidArgument) {
  EXPECT_EQ(Signal().wait(1).code(), StatusCode::kInvalidArgument);
}

TEST(Signal, NotifiesOnceWhenTheValueIsReached) {
  SignalObject signal(0);
  CountingNotify notify;
  SignalObject::Waiter waiter(notify);
  EXPECT_TRUE(signal.arm(waiter, 5));
  signal.advance(4);
  EXPECT_EQ(notify.count, 0);
  signal.advance(6);
  signal.advance(7);
  EXPECT_EQ(notify.count, 1);
}

TEST(Signal, ArmingForAReachedValueLinksNothing) {
  SignalObject signal(5);
  CountingNotify notify;
  SignalObject::Waiter waiter(notify);
  EXPECT_FALSE(signal.arm(waiter, 5));
  signal.advance(6);
  EXPECT_EQ(notify.count, 0);
}

TEST(Signal, AnArmedWaiterStaysForTheLowerValueAndMovesFromAReachedOne) {
  SignalObject signal(0);
  CountingNotify notify;
  SignalObject::Waiter waiter(notify);
  EXPECT_TRUE(signal.arm(waiter, 4));
  EXPECT_TRUE(signal.arm(waiter, 2));
  EXPECT_TRUE(signal.arm(waiter, 6));
  signal.advance(2);
  EXPECT_EQ(notify.count, 1);
  EXPECT_TRUE(signal.arm(waiter, 6));
  signal.advance(5);
  EXPECT_EQ(notify.count, 1);
  signal.advance(6);
  EXPECT_EQ(notify.count, 2);
}

TEST(Signal, NotifiesExactlyTheWaitersWhoseValueIsReached) {
  SignalObject signal(0);
  constexpr int kWaiters = 50;  // several batches of notifications
  CountingNotify notify[kWaiters];
  std::vector<std::unique_ptr<SignalObject::Waiter>> waiters;
  for (int i = 0; i < kWaiters; ++i) {
    waiters.push_back(std::make_unique<SignalObject::Waiter>(notify[i]));
    EXPECT_TRUE(signal.arm(*waiters[i], static_cast<std::uint64_t>((i * 7) % kWaiters + 1)));
  }
  signal.publish(40);
  for (int i = 0; i < kWaiters; ++i)
    EXPECT_EQ(notify[i].count, (i * 7) % kWaiters + 1 <= 40 ? 1 : 0);
  signal.publish(kWaiters);
  for (int i = 0; i < kWaiters; ++i) EXPECT_EQ(notify[i].count, 1);
}

TEST(Signal, UnlinkedWaiterIsNotNotified) {
  SignalObject signal(0);
  CountingNotify notify;
  SignalObject::Waiter waiter(notify);
  EXPECT_TRUE(signal.arm(waiter, 1));
  EXPECT_TRUE(signal.unlink(waiter));
  EXPECT_FALSE(signal.unlink(waiter));
  signal.advance(1);
  EXPECT_EQ(notify.count, 0);
}

TEST(Signal, NoArmedWaiterMissesAValueUnderConcurrency) {
  SignalObject signal(0);
  constexpr std::uint64_t kLast = 20'000;
  std::thread setter([&] {
    for (std::uint64_t i = 1; i <= kLast; ++i) signal.advance(i);
  });
  base::Parker parker;
  SignalObject::Waiter waiter(parker);
  for (std::uint64_t value = 1; value <= kLast; value = signal.value() + 1) {
    const std::uint32_t epoch = parker.prepare();
    // A lost notification would hang here.
    if (signal.arm(waiter, value)) parker.park(epoch, Deadline::kForeverTime);
    ASSERT_GE(signal.value(), value);
  }
  setter.join();
}

}  // namespace
}  // namespace halyard::hcq
