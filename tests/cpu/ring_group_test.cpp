// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/ring_group.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ring_test_util.h"

namespace halyard::cpu {
namespace {

TEST(RingGroup, DoorbellOfAnAttendedRingWakesNoWorker) {
  SteppedRing r;
  SignalObject gate(0);
  r.ring->push(PacketKind::kWait, 0, word(&gate), 1);
  drain(r.group);
  r.push_increment();
  r.group.bell(*r.ring);  // blocked: its signal will wake a worker
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

// Every published packet is executed although workers sleep and wake. Without the last check of the
// doorbell or of a searcher this test hangs.
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
        // Bursts of varying length, so that workers fall asleep at every point.
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
  // Never complete; yields after each visit.
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

// Rings, and a worker that the test steps. Each packet appends its letter.
class Priorities : public ::testing::Test {
 protected:
  ~Priorities() override {
    group_.release_held(worker_);
    for (auto& ring : rings_) ring->close();
  }

  Ring& add(RingPriority priority) {
    rings_.push_back(Ring::create(group_, nullptr, 128, nullptr, priority).value());
    return *rings_.back();
  }
  // A packet that takes a whole visit.
  void push(Ring& ring, char letter) {
    ring.push(PacketKind::kCustom, 0, word(+[](Ring&, const std::uint64_t* words, Slice& slice) {
                reinterpret_cast<std::string*>(words[1])->push_back(static_cast<char>(words[2]));
                while (!slice.spent()) slice.spend(slice.allowance());
                return Outcome::kDone;
              }),
              word(&log_), static_cast<std::uint64_t>(letter));
  }
  // One chunk per group; the first chunk calls between_.
  void push_job(Ring& ring, std::uint32_t groups) {
    ring.push(PacketKind::kExec, 0, word(+[](const Workgroup*, void* const* buffers, const void*) {
                auto& self = *static_cast<Priorities*>(buffers[0]);
                self.log_ += 'c';
                if (self.between_) std::exchange(self.between_, nullptr)();
              }),
              word(&self_), std::uint64_t{0}, std::uint64_t{1} << 32 | groups, std::uint64_t{1});
  }
  void run_all() {
    while (group_.serve_once(worker_)) {
    }
  }

  RingGroup group_{0};
  RingGroup::Worker worker_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::string log_;
  std::function<void()> between_;
  void* self_[1] = {this};
};

TEST_F(Priorities, HigherRingsGoFirstWhateverTheirPlace) {
  Ring& low = add(RingPriority::kLow);
  Ring& high = add(RingPriority::kHigh);
  Ring& normal = add(RingPriority::kNormal);
  for (int i = 0; i < 2; ++i) {
    push(low, 'l');
    push(normal, 'n');
    push(high, 'h');
  }
  run_all();
  EXPECT_EQ(log_, "hhnnll");
}

TEST_F(Priorities, RingsOfOnePriorityAreServedRoundRobin) {
  Ring& a = add(RingPriority::kHigh);
  Ring& b = add(RingPriority::kHigh);
  for (int i = 0; i < 3; ++i) {
    push(a, 'a');
    push(b, 'b');
  }
  run_all();
  EXPECT_EQ(log_, "ababab");
}

TEST_F(Priorities, ALowerRingGetsOneVisitAfterSixteenOfHigherOnes) {
  Ring& low = add(RingPriority::kLow);
  Ring& high = add(RingPriority::kHigh);
  for (int i = 0; i < 3; ++i) push(low, 'l');
  // There is always work of higher priority.
  for (unsigned i = 0; i < 2 * (RingGroup::kVisitsFromAbove + 1); ++i) {
    push(high, 'h');
    push(high, 'h');
    ASSERT_TRUE(group_.serve_once(worker_));
  }
  const std::string above(RingGroup::kVisitsFromAbove, 'h');
  EXPECT_EQ(log_, above + 'l' + above + 'l');
}

TEST_F(Priorities, AWorkerThatHoldsAnEmptyRingServesAHigherOne) {
  Ring& low = add(RingPriority::kLow);
  Ring& high = add(RingPriority::kHigh);
  push(low, 'l');
  run_all();
  push(low, 'l');
  push(high, 'h');
  run_all();
  EXPECT_EQ(log_, "lhl");
}

TEST_F(Priorities, AJobIsLeftBetweenTwoChunksForAHigherRing) {
  Ring& low = add(RingPriority::kLow);
  Ring& high = add(RingPriority::kHigh);
  push_job(low, 3);
  between_ = [&] { push(high, 'h'); };
  run_all();
  EXPECT_EQ(log_, "chcc");
}

TEST_F(Priorities, AJobIsNotLeftForARingOfItsOwnPriorityOrBelow) {
  Ring& normal = add(RingPriority::kNormal);
  Ring& other = add(RingPriority::kNormal);
  Ring& low = add(RingPriority::kLow);
  push_job(normal, 3);
  between_ = [&] {
    push(other, 'o');
    push(low, 'l');
  };
  run_all();
  EXPECT_EQ(log_, "cccol");
}

}  // namespace
}  // namespace halyard::cpu
