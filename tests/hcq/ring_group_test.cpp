// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/ring_group.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "hcq_test_util.h"

namespace halyard::hcq {
namespace {

TEST(RingGroup, DoorbellOfAnAttendedRingWakesNobody) {
  SteppedRing r;
  SignalObject gate(0);
  r.ring->push(PacketKind::kWait, 0, word(&gate), 1);
  drain(r.group);
  r.push_increment();
  r.group.bell(*r.ring);  // blocked: its signal will wake somebody
  EXPECT_EQ(r.group.wakes(), 0u);
  gate.advance(1);
  drain(r.group);
}

TEST(RingGroup, RefusesMoreRingsThanItHolds) {
  RingGroup group(0);
  std::vector<std::unique_ptr<Ring>> rings;
  for (unsigned i = 0; i < RingGroup::kMaxRings; ++i) {
    rings.push_back(Ring::create(group, nullptr, 2).value());
  }
  EXPECT_EQ(Ring::create(group, nullptr, 2).status().code(), StatusCode::kResourceExhausted);
}

// Everything published is executed although workers come and go: with the doorbell's last look left
// out, or the searcher's, this hangs.
TEST(RingGroup, NoPacketIsForgottenByWorkersThatGoToSleep) {
  RingGroup group(2);
  SignalObject sequences[2] = {SignalObject(0), SignalObject(0)};
  std::unique_ptr<Ring> rings[2];
  for (int i = 0; i < 2; ++i) rings[i] = Ring::create(group, &sequences[i], 64).value();
  std::thread workers[2];
  for (std::thread& worker : workers) worker = std::thread([&] { group.serve(); });
  std::thread producers[2];
  for (int p = 0; p < 2; ++p) {
    producers[p] = std::thread([&, p] {
      for (std::uint64_t value = 1; value <= 2000; ++value) {
        rings[p]->push(PacketKind::kNop, value);
        group.bell(*rings[p]);
        // In bursts of varying length, so that workers fall asleep at every point.
        if (value % (1 + value % 7) == 0) {
          ASSERT_TRUE(sequences[p].wait(value, kForever).ok());
        }
        while (!rings[p]->has_room(1)) std::this_thread::yield();
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  for (SignalObject& sequence : sequences) EXPECT_TRUE(sequence.wait(2000, kForever).ok());
  group.stop();
  for (std::thread& worker : workers) worker.join();
}

TEST(RingGroup, RingsOfAWorkerTakeTurns) {
  RingGroup group(1);
  SignalObject sequence(0);
  auto endless = Ring::create(group, nullptr, 2).value();
  auto other = Ring::create(group, &sequence, 2).value();
  // Never done; yields after each visit.
  endless->push(PacketKind::kCustom, 0,
                word(+[](Ring&, const std::uint64_t*, Slice&) { return Outcome::kYield; }));
  std::thread worker([&] { group.serve(); });
  other->push(PacketKind::kNop, 1);
  group.bell(*other);
  EXPECT_TRUE(sequence.wait(1, kForever).ok());
  group.stop();
  worker.join();
  endless->close();
}

}  // namespace
}  // namespace halyard::hcq
