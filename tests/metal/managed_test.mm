// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory on a device with its own memory. The simulated framework has two copies of it, so
// a transfer that is missing leaves stale bytes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/failing_calls.h"
#include "metal/metal_test_util.h"

namespace halyard::metal {
namespace {

using hal::MemoryType;

constexpr std::uint64_t kSize = 256;

class MetalManaged : public MetalTest {
 protected:
  void SetUp() override { open(sim::metal::DeviceKind::kDiscrete); }
  void TearDown() override {
    devices_.reset();
    MetalTest::TearDown();
  }
  void open(sim::metal::DeviceKind kind) {
    devices_.reset();
    sim::metal::Options options;
    options.devices = {kind};
    begin(options);
    devices_ =
        std::make_unique<Native>(DeviceOptions{.page = 16384, .managed = true, .split_after = 64});
  }
  Native& device() { return *devices_; }
  Ref<DeviceMemory> memory(MemoryType type = MemoryType::kHostVisible) {
    Ref<DeviceMemory> memory = device().memory(kSize, type);
    if (memory->host_pointer() != nullptr) write(memory, 0, kSize, 0xee);
    return memory;
  }
  static void write(const Ref<DeviceMemory>& memory, std::uint64_t offset, std::uint64_t length,
                    int value) {
    std::memset(memory->host_pointer() + offset, value, length);
  }
  // The bytes of a memory as runs, such as "3 x 0xee, 253 x 0x01".
  static std::string bytes_of(const Ref<DeviceMemory>& memory) {
    std::string text;
    for (std::uint64_t at = 0; at < memory->size();) {
      const auto value = static_cast<unsigned>(memory->host_pointer()[at]);
      std::uint64_t end = at;
      while (end < memory->size() && static_cast<unsigned>(memory->host_pointer()[end]) == value) {
        ++end;
      }
      text += (text.empty() ? "" : ", ") + std::to_string(end - at) + " x " + std::to_string(value);
      at = end;
    }
    return text;
  }
  static hal::Operation fill_part(const Ref<DeviceMemory>& memory, std::uint64_t offset,
                                  std::uint64_t length, std::uint8_t value) {
    return command(hal::Command(hal::FillCommand{range(memory, offset, length), value, 1}));
  }
  static hal::Operation copy(const Ref<DeviceMemory>& from, const Ref<DeviceMemory>& to) {
    return command(hal::Command(hal::CopyCommand{range(from, 0, kSize), range(to, 0, kSize)}));
  }

 private:
  std::unique_ptr<Native> devices_;
};

TEST_F(MetalManaged, IsWhatTheHostSeesOfTheDevicesMemory) {
  EXPECT_EQ([memory()->buffer() storageMode], MTLStorageModeManaged);
  EXPECT_EQ([memory()->buffer() hazardTrackingMode], MTLHazardTrackingModeUntracked);
  EXPECT_EQ([memory(MemoryType::kHostLocal)->buffer() storageMode], MTLStorageModeShared);
  EXPECT_EQ([memory(MemoryType::kDeviceLocal)->buffer() storageMode], MTLStorageModePrivate);
}

TEST_F(MetalManaged, IsSharedWhereMemoryIsUnified) {
  open(sim::metal::DeviceKind::kUnified);
  EXPECT_EQ([memory()->buffer() storageMode], MTLStorageModeShared);
}

TEST_F(MetalManaged, WhatTheHostWritesReachesTheDevice) {
  const auto source = memory(), target = memory(MemoryType::kHostLocal);
  const auto lane = device().lane();
  for (std::uint64_t n = 1; n <= 3; ++n) {
    write(source, 0, kSize, static_cast<int>(n));
    ASSERT_EQ(issue(*lane, copy(source, target), n).count, 1u);
    wait_until(*lane, n);
    EXPECT_EQ(bytes_of(target), "256 x " + std::to_string(n));
  }
}

TEST_F(MetalManaged, WhatTheDeviceWritesReachesTheHost) {
  const auto target = memory();
  const auto lane = device().lane();
  ASSERT_EQ(issue(*lane, fill_part(target, 0, kSize, 5), 1).count, 1u);
  wait_until(*lane, 1);
  EXPECT_EQ(bytes_of(target), "256 x 5");
  ASSERT_EQ(issue(*lane, fill_part(target, 3, 98, 6), 2).count, 1u);
  wait_until(*lane, 2);
  EXPECT_EQ(bytes_of(target), "3 x 5, 98 x 6, 155 x 5");
}

// As in a pool's slab: each submission uses one part, while the host fills the next part.
TEST_F(MetalManaged, TheHostMayWriteBesideWhatASubmissionInFlightWrites) {
  const auto both = memory(), seen = memory(MemoryType::kHostLocal);
  const auto lane = device().lane();
  Gate gate(device());
  ASSERT_EQ(issue(*lane, fill_part(both, 0, 101, 1), 1, {gate.at(1)}).count, 1u);
  write(both, 101, 155, 2);
  gate.open(1);
  wait_until(*lane, 1);
  EXPECT_EQ(bytes_of(both), "101 x 1, 155 x 2");
  ASSERT_EQ(issue(*lane, copy(both, seen), 2).count, 1u);
  wait_until(*lane, 2);
  EXPECT_EQ(bytes_of(seen), "101 x 1, 155 x 2");
}

// The host's copy is older than the device's until the lane has seen the submission end.
TEST_F(MetalManaged, AnEarlierSubmissionsResultIsNotOverwrittenByTheHostsCopy) {
  const auto middle = memory(), target = memory(MemoryType::kHostLocal);
  const auto lane = device().lane();
  ASSERT_EQ(issue(*lane, fill_part(middle, 8, 16, 7), 1).count, 1u);
  sim::metal::drain_process();
  ASSERT_EQ(issue(*lane, copy(middle, target), 2).count, 1u);
  wait_until(*lane, 2);
  EXPECT_EQ(bytes_of(target), "8 x 238, 16 x 7, 232 x 238");
  EXPECT_EQ(bytes_of(middle), "8 x 238, 16 x 7, 232 x 238");
}

// The first submission is reported while the second, which writes some of the same bytes, is in
// flight.
TEST_F(MetalManaged, TheHostSeesWhatTheLastSubmissionWrote) {
  const auto target = memory();
  const auto lane = device().lane();
  Gate gate(device());
  for (const bool last_is_whole : {false, true}) {
    const std::uint64_t first = last_is_whole ? 3 : 1;
    write(target, 0, kSize, 0);
    ASSERT_EQ(issue(*lane, fill_part(target, 0, 64, 1), first).count, 1u);
    const hal::Operation last =
        last_is_whole ? fill_part(target, 0, kSize, 2) : fill_part(target, 32, 64, 2);
    ASSERT_EQ(issue(*lane, last, first + 1, {gate.at(first)}).count, 1u);
    wait_until(*lane, first);
    EXPECT_EQ(target->host_pointer()[0],
              std::byte{last_is_whole ? std::uint8_t{0} : std::uint8_t{1}});
    gate.open(first);
    wait_until(*lane, first + 1);
    EXPECT_EQ(bytes_of(target), last_is_whole ? "256 x 2" : "32 x 1, 64 x 2, 160 x 0");
  }
}

// The cost of equal copies: a submission that writes needs one more encoder, and one command for
// each range; a submission that only reads needs no more commands.
TEST_F(MetalManaged, ASubmissionThatWritesHasOneEncoderMore) {
  struct Counter final : base::CallObserver {
    int before(const base::CallSite& site) noexcept override {
      if (site.name == "metal.blitCommandEncoder") ++encoders;
      return 0;
    }
    std::atomic<int> encoders = 0;
  };
  const auto encoders_of = [&](MemoryType source, MemoryType target) {
    const auto from = memory(source), to = memory(target);
    const auto lane = device().lane();
    Counter counter;
    base::observe_calls(&counter);
    EXPECT_EQ(issue(*lane, copy(from, to), 1).count, 1u);
    base::observe_calls(nullptr);
    wait_until(*lane, 1);
    return counter.encoders.load();
  };
  EXPECT_EQ(encoders_of(MemoryType::kHostLocal, MemoryType::kHostLocal), 1);
  EXPECT_EQ(encoders_of(MemoryType::kHostVisible, MemoryType::kHostLocal), 1);
  EXPECT_EQ(encoders_of(MemoryType::kHostVisible, MemoryType::kHostVisible), 2);
}

TEST_F(MetalManaged, LanesHandOverToEachOther) {
  const auto memory = this->memory(), target = this->memory(MemoryType::kHostLocal);
  const auto one = device().lane(), two = device().lane();
  Gate gate(device());
  ASSERT_EQ(issue(*one, fill_part(memory, 0, 100, 1), 1, {gate.at(1)}).count, 1u);
  ASSERT_EQ(issue(*two, fill_part(memory, 100, 100, 2), 1, {{one.get(), 1}}).count, 1u);
  ASSERT_EQ(issue(*one, copy(memory, target), 2, {{two.get(), 1}}).count, 1u);
  gate.open(1);
  wait_until(*one, 2);
  EXPECT_EQ(bytes_of(target), "100 x 1, 100 x 2, 56 x 238");
  EXPECT_EQ(bytes_of(memory), "100 x 1, 100 x 2, 56 x 238");
}

TEST_F(MetalManaged, ASubmissionThatCannotBeEncodedLeavesItToTheOneBefore) {
  const auto target = memory();
  const auto lane = device().lane();
  Gate gate(device());
  ASSERT_EQ(issue(*lane, fill_part(target, 0, 64, 1), 1, {gate.at(1)}).count, 1u);
  {
    const halyard::testing::FailingCalls failing("metal.blitCommandEncoder");
    EXPECT_EQ(issue(*lane, fill_part(target, 0, 64, 2), 2).status.code(),
              StatusCode::kResourceExhausted);
    EXPECT_GT(failing.failed(), 0);
  }
  gate.open(1);
  wait_until(*lane, 1);
  EXPECT_EQ(bytes_of(target), "64 x 1, 192 x 238");
}

TEST_F(MetalManaged, WithoutMemoryForAPartOfItASubmissionIsRefused) {
  const auto target = memory();
  const auto lane = device().lane();
  const halyard::testing::FailingCalls failing("metal.newBufferWithLength");
  const Status status = issue(*lane, fill_part(target, 4, 8, 2), 1).status;
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("256 bytes beside managed memory"), std::string_view::npos)
      << status.message();
}

}  // namespace
}  // namespace halyard::metal
