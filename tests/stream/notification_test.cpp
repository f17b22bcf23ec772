// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waking the sleepers of a lane with markers.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "drivers/stream/marker_table.h"
#include "drivers/stream/notification.h"
#include "stream/opened_lane.h"

namespace halyard::stream {
namespace {

// A library that runs a host function, with all its effects, before call_host() returns.
struct AtOnceApi {
  enum class Stream : int {};
  enum class Event : int {};
  static constexpr std::string_view kDriver = "at once";

  Status create_stream(Stream&, int) const noexcept { return {}; }
  void finish(Stream) const noexcept {}
  timeline::Abandoned stop(Stream) const noexcept { return timeline::Abandoned::kStopped; }
  Status query(Stream) const noexcept { return {}; }
  Status create_event(Event&) const noexcept { return {}; }
  void destroy(Stream) const noexcept {}
  void destroy(Event) const noexcept {}
  Status record(Event, Stream) const noexcept { return {}; }
  Result<bool> query(Event) const noexcept { return true; }
  Status wait(Stream, Event) const noexcept { return {}; }
  Status call_host(Stream, HostFunction function, void* argument) const noexcept {
    function(argument);
    if (*then) std::exchange(*then, nullptr)();
    return {};
  }
  Status check_capture(Stream) const noexcept { return {}; }

  std::function<void()>* then;
};

void wait_for(const CountingNotify& notify, int count) {
  while (notify.count < count) base::spin_pause();
}

class StreamNotification : public ::testing::Test {
 protected:
  void arm(std::uint64_t sequence, base::Notify& notify) {
    EXPECT_TRUE(lane->arm(sequence, notify).ok());
  }
  // Waits until the lane's host functions have sent all notifications, by a further host function
  // after them.
  void settle(std::uint64_t sequence) {
    CountingNotify last;
    lane.issue(kBarrier, sequence);
    arm(sequence, last);
    wait_for(last, 1);
  }

  CountingNotify first, second;  // outlive the lane they are armed on
  OpenedContext context;
  GatedLane lane{context};
};

TEST_F(StreamNotification, ComesOnceTheSequenceIsReached) {
  lane.issue(kBarrier, 1);
  arm(1, first);
  wait_for(first, 1);
  lane.wait_until(1);
  arm(1, first);  // reached already: at once
  EXPECT_EQ(first.count, 2);
}

TEST_F(StreamNotification, ComesFromAMarkerBehindTheSequence) {
  EXPECT_EQ(lane.issue({.operation = &kBarrier, .sequence = 1, .want_marker = false}).count, 1u);
  lane.issue(kBarrier, 2);
  arm(1, first);
  wait_for(first, 1);
}

TEST_F(StreamNotification, ComesForWhoArmedBeforeThereWasAMarker) {
  EXPECT_EQ(lane.issue({.operation = &kBarrier, .sequence = 1, .want_marker = false}).count, 1u);
  arm(1, first);
  EXPECT_EQ(first.count, 0);
  EXPECT_TRUE(lane->mark().ok());
  wait_for(first, 1);
}

TEST_F(StreamNotification, ForAnEarlierSequenceDoesNotStandBehindALaterOne) {
  Gates gates;
  GatedLane other(context);
  other.issue(kGate, 1);
  lane.issue(kBarrier, 1);
  lane.issue(kBarrier, 2, {other.at(1)});
  arm(2, second);
  arm(1, first);
  wait_for(first, 1);
  EXPECT_EQ(second.count, 0);
  gates.open = true;
  wait_for(second, 1);
}

TEST_F(StreamNotification, IsOneForTheLowestOfSeveralArmings) {
  lane.issue(kBarrier, 1);
  arm(9, first);
  arm(1, first);
  wait_for(first, 1);
  settle(2);
  EXPECT_EQ(first.count, 1);
}

// A poll sees that the lane has passed 1, and the lane is armed for 2, before the host function for
// 1 runs.
TEST_F(StreamNotification, OfWhatHasPassedHidesNoLaterOne) {
  Gates gates;
  GatedLane other(context);
  other.issue(kHostGate, 1);
  while (gates.entered == 0) base::spin_pause();
  lane.issue(kBarrier, 1);
  arm(1, first);
  while (lane->poll().sequence != 1) base::spin_pause();
  lane.issue(kGate, 2);
  arm(2, first);
  const int early = first.count;
  gates.host_open = true;
  while (gates.entered == 1) base::spin_pause();
  gates.open = true;
  wait_for(first, early + 1);
}

TEST(StreamNotifier, NotifiesOfAMarkerThatAPollPassesWhileAnEarlierOneIsFollowed) {
  std::function<void()> then;
  const AtOnceApi api{&then};
  MarkerTable<AtOnceApi> markers(api, 4);
  Notifier<AtOnceApi> notifier(api, markers, CompletionMode::kHostCallback, nullptr);
  ASSERT_TRUE(markers.open().ok() && notifier.open().ok());
  CountingNotify second;
  for (const std::uint64_t sequence : {1, 2}) markers.add(*markers.take().value(), sequence);
  then = [&] { markers.pass(2); };
  EXPECT_TRUE(notifier.arm(2, second).ok());
  EXPECT_EQ(second.count, 1) << "no host function follows marker 2";
  (void)notifier.stop(timeline::Abandoned::kStopped);
}

TEST(StreamNotifier, FollowsAMarkerThatIsRecordedAgainBeforeCallHostReturns) {
  std::function<void()> then;
  const AtOnceApi api{&then};
  MarkerTable<AtOnceApi> markers(api, 4);
  Notifier<AtOnceApi> notifier(api, markers, CompletionMode::kHostCallback, nullptr);
  ASSERT_TRUE(markers.open().ok() && notifier.open().ok());
  CountingNotify first, second;
  auto* const marker = markers.take().value();
  markers.add(*marker, 1);
  then = [&] {
    markers.pass(marker->sequence());
    ASSERT_EQ(markers.take().value(), marker);
    markers.add(*marker, 5);
  };
  EXPECT_TRUE(notifier.arm(1, first).ok());
  EXPECT_EQ(first.count, 1);
  EXPECT_TRUE(notifier.arm(5, second).ok());
  EXPECT_EQ(second.count, 1);
  EXPECT_EQ(notifier.stop(timeline::Abandoned::kStopped), timeline::Abandoned::kStopped);
}

TEST_F(StreamNotification, ComesAtOnceWhereItCannotBeIssued) {
  lane.issue(kBarrier, 1);
  for (const char* site : {"stream.wait", "stream.call_host"}) {
    const FailingCalls failing(site);
    const int before = second.count;
    EXPECT_TRUE(lane->arm(1, second).ok());
    EXPECT_GT(second.count, before) << site;
  }
  arm(1, first);
  wait_for(first, 1);
}

TEST_F(StreamNotification, ComesAtOnceWithoutMemory) {
  lane.issue(kBarrier, 1);
  const FailingCalls failing("array.resize");
  arm(1, first);
  EXPECT_GE(first.count, 1);
}

TEST_F(StreamNotification, ThatFailsForLossIsLoss) {
  OpenedContext lost_context(4);
  OpenedLane<> lost(lost_context);
  lost.issue(kBarrier, 1);
  fake::fault(4);
  EXPECT_EQ(lost->arm(1, first).code(), StatusCode::kDeviceLost);
}

TEST_F(StreamNotification, MakesNoCallOfTheLibrary) {
  const std::uint64_t before = fake::violations();
  lane.issue(kBarrier, 1);
  arm(1, first);
  settle(2);
  EXPECT_EQ(fake::violations(), before) << fake::latest_violation();
}

}  // namespace
}  // namespace halyard::stream
