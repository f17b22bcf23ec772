// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/atomic.h"
#include "halyard/base/clock.h"
#include "ring_test_util.h"

namespace halyard::cpu {
namespace {

constexpr std::size_t kChunk = 256 * 1024;

TEST(Ring, ExecutesAPacketWithItsLaneValue) {
  SteppedRing r;
  r.push_increment(1);
  EXPECT_EQ(r.sequence.value(), 0u);
  EXPECT_EQ(drain(r.group), 1);
  EXPECT_EQ(r.counter, 1u);
  EXPECT_EQ(r.sequence.value(), 1u);
}

TEST(Ring, NeverOverwritesWorkInFlight) {
  SteppedRing r(8);
  SignalObject gate(0);
  r.ring->push(PacketKind::kWait, 0, word(&gate), 1);
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(r.ring->has_room(1));
    r.push_increment();
  }
  drain(r.group);
  EXPECT_FALSE(r.ring->has_room(1));
  EXPECT_EQ(r.counter, 0u);
  gate.advance(1);
  drain(r.group);
  EXPECT_EQ(r.counter, 7u);
  EXPECT_TRUE(r.ring->has_room(8));
  EXPECT_FALSE(r.ring->has_room(9));
}

TEST(Ring, WrapsAnyNumberOfTimesWithWorkInFlight) {
  SteppedRing r(8);
  std::uint64_t pushed = 0;
  while (pushed < 1000) {
    while (r.ring->has_room(1)) r.push_increment(++pushed);
    Slice slice(1);
    for (int i = 0; i < 3; ++i) slice.spend(1);  // so step() sometimes returns before the end
    r.ring->step(slice, false);
  }
  drain(r.group);
  EXPECT_EQ(r.counter, pushed);
  EXPECT_EQ(r.sequence.value(), pushed);
}

TEST(Ring, BlockedRingHasNothingToDoUntilItsSignalIsSet) {
  SteppedRing r;
  SignalObject gate(0);
  r.ring->push(PacketKind::kWait, 0, word(&gate), 2);
  r.push_increment(1);
  EXPECT_EQ(drain(r.group), 1);
  EXPECT_TRUE(r.ring->blocked());
  EXPECT_TRUE(r.ring->attended());
  EXPECT_FALSE(r.ring->ready());
  gate.advance(1);
  EXPECT_EQ(drain(r.group), 0);
  gate.advance(2);
  EXPECT_TRUE(r.ring->ready());
  EXPECT_EQ(drain(r.group), 1);
  EXPECT_EQ(r.counter, 1u);
}

TEST(Ring, BlockedRingDoesNotStopAnother) {
  SteppedRing r;
  auto other = Ring::create(r.group, nullptr, 8).value();
  SignalObject gate(0);
  r.ring->push(PacketKind::kWait, 0, word(&gate), 1);
  other->push(PacketKind::kExec, 0, word(&increment), word(&r.buffers), 0,
              std::uint64_t{1} << 32 | 1, 1);
  other->push(PacketKind::kSignal, 0, word(&gate), 1);
  r.push_increment(1);
  drain(r.group);
  EXPECT_EQ(r.counter, 2u);
  EXPECT_EQ(r.sequence.value(), 1u);
}

TEST(Ring, WaitListNeedsAllItsPoints) {
  SteppedRing r;
  SignalObject a(0), b(0), c(3);
  auto* points = new WaitPoint[3]{{&a, 1}, {&b, 2}, {&c, 3}};
  r.ring->push(PacketKind::kWaitList, 1, word(points), 3);
  drain(r.group);
  b.advance(2);
  drain(r.group);
  EXPECT_EQ(r.sequence.value(), 0u);
  a.advance(1);
  drain(r.group);
  EXPECT_EQ(r.sequence.value(), 1u);
}

TEST(Ring, RunsEveryWorkgroupOfAGridOnce) {
  for (const auto& [x, y, z] :
       {std::array{1u, 1u, 1u}, std::array{2u, 1u, 1u}, std::array{7u, 5u, 3u},
        std::array{1u, 100u, 1u}, std::array{1u, 1u, 9u}, std::array{1003u, 1u, 1u}}) {
    SteppedRing r;
    std::vector<std::uint32_t> marks(x * y * z, 0);
    void* buffers[] = {marks.data()};
    const std::uint32_t one = 1;
    r.ring->push(PacketKind::kExec, 1, word(&mark_group), word(&buffers), word(&one),
                 std::uint64_t{y} << 32 | x, std::uint64_t{z});
    drain(r.group);
    EXPECT_EQ(marks, std::vector<std::uint32_t>(x * y * z, 1));
    EXPECT_EQ(r.sequence.value(), 1u);
  }
}

TEST(Ring, EmptyGridRunsNothingAndCompletes) {
  SteppedRing r;
  r.ring->push(PacketKind::kExec, 1, word(&increment), word(&r.buffers), 0, std::uint64_t{1} << 32,
               1);
  drain(r.group);
  EXPECT_EQ(r.counter, 0u);
  EXPECT_EQ(r.sequence.value(), 1u);
}

TEST(Ring, HelperRunsOneChunkAtATimeAndTheLastFinisherGoesOn) {
  SteppedRing r;
  std::vector<std::uint32_t> marks(64, 0);
  void* buffers[] = {marks.data()};
  const std::uint32_t one = 1;
  r.ring->push(PacketKind::kExec, 1, word(&mark_group), word(&buffers), word(&one),
               std::uint64_t{1} << 32 | 64, 1);
  r.push_increment(2);
  std::vector<std::ptrdiff_t> chunks;
  std::ptrdiff_t before = 0;
  while (r.sequence.value() == 0) {
    Slice slice(1);
    ASSERT_TRUE(r.ring->step(slice, false));
    const auto done = std::count(marks.begin(), marks.end(), 1u);
    chunks.push_back(done - before);
    before = done;
  }
  // One thread, two chunks for each half of the rest.
  EXPECT_THAT(chunks, ::testing::ElementsAre(16, 16, 8, 8, 4, 4, 4, 4));
  EXPECT_EQ(r.counter, 0u);
  drain(r.group);
  EXPECT_EQ(r.counter, 1u);
}

TEST(Ring, CopiesAnyLengthAcrossChunkBoundaries) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, 2 * kChunk - 1, 2 * kChunk,
                                 2 * kChunk + 1, 3 * kChunk, 5 * kChunk - 1}) {
    SteppedRing r;
    std::vector<std::uint8_t> source(size + 1), target(size + 1, 0xee);
    for (std::size_t i = 0; i <= size; ++i)
      source[i] = static_cast<std::uint8_t>(i * 2654435761u >> 7);
    r.ring->push(PacketKind::kCopy, 1, word(target.data()), word(source.data()), size);
    drain(r.group);
    EXPECT_EQ(std::memcmp(source.data(), target.data(), size), 0);
    EXPECT_EQ(target[size], 0xee);
    EXPECT_EQ(r.sequence.value(), 1u);
  }
}

TEST(Ring, OverlappingCopyIsAMove) {
  for (const std::size_t size : {std::size_t{100}, 4 * kChunk}) {
    SteppedRing r;
    std::vector<std::uint8_t> bytes(size + 10);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i % 251);
    std::vector<std::uint8_t> expected = bytes;
    std::memmove(expected.data() + 10, expected.data(), size);
    r.ring->push(PacketKind::kCopy, 1, word(bytes.data() + 10), word(bytes.data()), size);
    drain(r.group);
    EXPECT_EQ(bytes, expected);
  }
}

TEST(Ring, FillsWithPatternsOfOneTwoAndFourBytes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{12}, 4 * kChunk + 8}) {
    for (const std::uint32_t pattern_size : {1u, 2u, 4u}) {
      SteppedRing r;
      constexpr std::uint32_t kPattern = 0x1234'5678u;
      std::vector<std::uint8_t> target(size + 1, 0xee);
      r.ring->push(PacketKind::kFill, 1, word(target.data()), size, std::uint64_t{kPattern},
                   std::uint64_t{pattern_size});
      drain(r.group);
      std::uint8_t pattern[4];
      std::memcpy(pattern, &kPattern, 4);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(target[i], pattern[i % pattern_size]);
      EXPECT_EQ(target[size], 0xee);
    }
  }
}

TEST(Ring, TimestampLeavesTheValueAlone) {
  SteppedRing r;
  SignalObject signal(7);
  const Nanoseconds before = Clock::steady().now();
  r.ring->push(PacketKind::kTimestamp, 0, word(&signal.words().time));
  drain(r.group);
  EXPECT_EQ(signal.value(), 7u);
  EXPECT_GE(signal.timestamp(), before);
  EXPECT_LE(signal.timestamp(), Clock::steady().now());
}

TEST(Ring, CustomPacketIsResumedWhereItYielded) {
  SteppedRing r;
  const CustomFunction function = [](Ring& ring, const std::uint64_t* words, Slice&) {
    ++*reinterpret_cast<std::uint64_t*>(words[1]);
    return ++ring.cursor() < 5 ? Outcome::kYield : Outcome::kDone;
  };
  r.ring->push(PacketKind::kCustom, 1, word(function), word(&r.counter));
  r.ring->push(PacketKind::kCustom, 2, word(function), word(&r.counter));
  EXPECT_EQ(drain(r.group), 9);  // the second packet's first visit is the fifth
  EXPECT_EQ(r.counter, 10u);
}

TEST(Ring, CustomPacketIsCalledAgainAfterItsJob) {
  SteppedRing r;
  static std::vector<std::uint32_t> marks;
  marks.assign(32, 0);
  const CustomFunction function = [](Ring& ring, const std::uint64_t* words, Slice&) {
    static const std::uint32_t one = 1;
    const std::uint32_t groups[3] = {32, 1, 1};
    ring.scratch()[0] = marks.data();
    if (ring.cursor()++ < 2) {
      EXPECT_FALSE(ring.start_groups(&mark_group, groups, ring.scratch(), &one));
      return Outcome::kJob;
    }
    *reinterpret_cast<std::uint64_t*>(words[1]) = marks[31];
    return Outcome::kDone;
  };
  r.ring->push(PacketKind::kCustom, 1, word(function), word(&r.counter));
  for (Slice slice(1); r.ring->step(slice, false); slice = Slice(1)) {
  }
  EXPECT_EQ(r.counter, 2u);
  EXPECT_EQ(r.sequence.value(), 1u);
  EXPECT_EQ(marks, std::vector<std::uint32_t>(32, 2));
}

TEST(Ring, VisitEndsWithItsSliceAndOtherRingsAreServed) {
  SteppedRing r(2048);
  for (int i = 0; i < 2000; ++i) r.push_increment();
  Slice slice;
  EXPECT_TRUE(r.ring->step(slice, false));
  EXPECT_GT(r.counter, 0u);
  EXPECT_LE(r.counter, 512u);
}

struct Kept final : RefCounted {
  explicit Kept(bool& gone) : gone_(gone) {}
  ~Kept() override { gone_ = true; }
  bool& gone_;
};

TEST(Ring, ReleasesWhatAPacketKeepsWhenItIsDone) {
  SteppedRing r;
  bool gone = false;
  Packet& packet = r.ring->next_slot();
  packet.words[5] = word(static_cast<RefCounted*>(new Kept(gone)));
  r.ring->publish(PacketKind::kNop, Packet::kKeeps);
  EXPECT_FALSE(gone);
  drain(r.group);
  EXPECT_TRUE(gone);
}

TEST(Ring, CloseDropsWhatHasNotRun) {
  bool gone = false;
  SteppedRing r;
  SignalObject gate(0);
  r.push_increment(1);
  r.ring->push(PacketKind::kWait, 2, word(&gate), 1);
  r.push_increment(3);
  r.ring->push(PacketKind::kWaitList, 0, word(new WaitPoint[1]{{&gate, 1}}), 1);
  r.ring->next_slot().words[5] = word(static_cast<RefCounted*>(new Kept(gone)));
  r.ring->publish(PacketKind::kNop, Packet::kKeeps);
  drain(r.group);
  r.ring->close();
  EXPECT_TRUE(gone);
  gate.advance(1);  // no longer linked
  EXPECT_EQ(drain(r.group), 0);
  EXPECT_EQ(r.counter, 1u);
  EXPECT_EQ(r.sequence.value(), 1u);
}

// Like mark_group(), but takes longer than the slice of a helping thread.
void mark_slowly(const Workgroup* group, void* const* buffers, const void* constants) {
  const Nanoseconds until = Clock::steady().now() + 2 * Slice::kTime;
  mark_group(group, buffers, constants);
  while (Clock::steady().now() < until) base::spin_pause();
}

// A dispatch of 64 workgroups, in 8 chunks, the first ones of 16.
struct LongDispatch : SteppedRing {
  explicit LongDispatch(Kernel kernel = &mark_slowly) {
    ring->push(PacketKind::kExec, 1, word(kernel), word(&targets), word(&one),
               std::uint64_t{1} << 32 | marks.size(), 1);
  }
  // Helps as a waiting thread does. True if there was work to run.
  bool help() {
    Slice slice(1);
    return ring->step(slice, false);
  }
  auto marked() const { return std::count(marks.begin(), marks.end(), 1u); }

  const std::uint32_t one = 1;
  std::array<std::uint32_t, 64> marks{};
  void* targets[1] = {marks.data()};
};

TEST(Ring, AHelperLeavesWhatItDoesNotFinishInItsTime) {
  LongDispatch r;
  for (int groups = 1; groups <= 64; ++groups) {
    ASSERT_TRUE(r.help());
    EXPECT_EQ(r.marked(), groups);
    EXPECT_EQ(r.marks[groups - 1], 1u) << "it goes on where it has left";
    EXPECT_EQ(r.ring->has_chunk(), groups < 64);
  }
  EXPECT_EQ(r.sequence.value(), 1u);
  EXPECT_FALSE(r.help());
}

TEST(Ring, AWorkerFinishesWhatAHelperLeft) {
  LongDispatch r;
  ASSERT_TRUE(r.help());
  EXPECT_EQ(drain(r.group), 8) << "the rest, and seven chunks";
  EXPECT_EQ(r.marked(), 64);
  EXPECT_EQ(r.sequence.value(), 1u);
}

// Only one unfinished chunk can be left for another thread: a second helper whose time is up
// finishes its own chunk.
TEST(Ring, AHelperFinishesItsChunkWhileAnotherOneIsLeft) {
  static LongDispatch* r;
  LongDispatch ring([](const Workgroup* group, void* const* buffers, const void* constants) {
    mark_slowly(group, buffers, constants);
    if (group->group[0] == 0) r->help();
  });
  r = &ring;
  ASSERT_TRUE(ring.help());
  const auto chunk = ring.marked() - 1;
  EXPECT_GT(chunk, 1);
  EXPECT_EQ(std::count(ring.marks.begin(), ring.marks.begin() + chunk + 1, 1u), chunk + 1)
      << "all of its own, and the first one of the next";
  drain(ring.group);
  EXPECT_EQ(ring.marked(), 64);
  EXPECT_EQ(ring.sequence.value(), 1u);
}

TEST(Ring, CloseCutsAnOpenJobShort) {
  LongDispatch r;
  ASSERT_TRUE(r.help());
  r.ring->close();
  EXPECT_EQ(drain(r.group), 0);
  EXPECT_EQ(r.marked(), 1);
  EXPECT_EQ(r.sequence.value(), 0u);
}

}  // namespace
}  // namespace halyard::cpu
