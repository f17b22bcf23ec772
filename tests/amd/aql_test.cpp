// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packets of AQL queues.
#include "drivers/amd/aql.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "amd/amd_test_util.h"
#include "drivers/amd/pm4.h"

namespace halyard::amd {
namespace {

const Words kGoldenDispatch = hex("31502 20040 1 100 4 1 10 200 540 7200 100 7300 0 0 0 0");

class Aql : public ::testing::Test {
 protected:
  Aql() { list.begin_command(); }
  Status dispatch(const Launch& launch) { return append_dispatch(list, golden_kernel(), launch); }
  hcq::WordList list;
  hcq::SymbolTable symbols;
};

TEST_F(Aql, DispatchIsGolden) {
  ASSERT_TRUE(dispatch(golden_launch()).ok());
  EXPECT_EQ(words_of(list), kGoldenDispatch);
  const std::array<std::uint8_t, 16> first_bytes{2, 0x15, 3, 0, 0x40, 0, 2, 0,
                                                 1, 0,    0, 0, 0,    1, 0, 0};
  EXPECT_EQ(std::memcmp(list.words().data(), first_bytes.data(), first_bytes.size()), 0);
}

TEST_F(Aql, IndirectPacketIsGolden) {
  const Result<AqlPacket> packet = indirect_packet(0x7500'0000'0000, 20);
  ASSERT_TRUE(packet.ok());
  EXPECT_EQ(words_of(*packet), hex("11500 c0023f00 0 7500 800014 a 0 0 0 0 0 0 0 0 0 0"));
  EXPECT_EQ(indirect_packet(0x7500'0000'0000, 0x100000).status().code(), StatusCode::kOutOfRange);
}

TEST_F(Aql, PacketsAreSegmentsBetweenThoseOfPm4) {
  Pm4Encoder pm4(list, Generation::kGfx942, 8);
  ASSERT_TRUE(pm4.wait(kSignal, 1).ok());
  ASSERT_TRUE(dispatch(golden_launch()).ok());
  append_barrier(list);
  ASSERT_TRUE(pm4.timestamp(kSignal + 8).ok());
  ASSERT_TRUE(pm4.signal(kSignal, 2).ok());
  ASSERT_TRUE(dispatch(golden_launch()).ok());
  std::vector<bool> is_packet;
  for (std::size_t i = 0; i < list.segment_count() && !list.segment(i).empty(); ++i)
    is_packet.push_back(is_aql_packet(list.segment(i)));
  EXPECT_EQ(is_packet, (std::vector<bool>{false, true, true, false, true}));
  EXPECT_EQ(words_of(list.segment(2)), hex("1503 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"));
  EXPECT_EQ(words_of(list.segment(4)), kGoldenDispatch);
  EXPECT_FALSE(
      is_aql_packet(hex("c0053c00 15 1000 7000 5 ffffffff 4 ffff1000 ffff1000 ffff1000 "
                        "ffff1000 ffff1000 ffff1000 ffff1000 ffff1000 ffff1000")));
}

TEST_F(Aql, APacketCountsItems) {
  Launch launch = golden_launch();
  launch.groups = {0xffff'ffff / 64, 1, 1};
  EXPECT_TRUE(dispatch(launch).ok());
  launch.groups = {0xffff'ffff / 64 + 1, 1, 1};
  EXPECT_EQ(dispatch(launch).to_string(),
            "OutOfRange: amd: exec: the number of work-items 4294967296 exceeds 4294967295");
  launch.groups = {1, 0, 1};
  EXPECT_EQ(dispatch(launch).to_string(),
            "InvalidArgument: amd: exec: a dispatch packet of no workgroups");
}

TEST_F(Aql, TheProductOfTwoSymbolsIsRefused) {
  Launch launch = golden_launch();
  launch.groups[1] = symbols.add();
  launch.group_size[1] = symbols.add();
  EXPECT_EQ(dispatch(launch).to_string(),
            "Unimplemented: amd: exec: axis 1 has a symbol both as the number of workgroups and as "
            "their size; a dispatch packet has the product of the two");
  EXPECT_TRUE(list.words().empty());
  // What a symbol adds is not its value, so it is not checked.
  launch.groups[1] = 2;
  launch.group_size[1] = symbols.add() - 1;
  EXPECT_TRUE(dispatch(launch).ok());
  launch.groups[1] = symbols.add() - 1;
  launch.group_size[1] = 2;
  EXPECT_TRUE(dispatch(launch).ok());
}

TEST_F(Aql, RefusedInputsOfALaunch) {
  Launch launch = golden_launch();
  launch.arguments = 0x7300'0000'0108;
  EXPECT_EQ(dispatch(launch).code(), StatusCode::kInvalidArgument);
  launch = golden_launch();
  launch.group_size = {1025, 1, 1};
  EXPECT_EQ(dispatch(launch).code(), StatusCode::kOutOfRange);
  Kernel kernel = golden_kernel();
  kernel.descriptor_address += 0x100 - 8;
  kernel.descriptor.entry_offset += 8;
  EXPECT_EQ(append_dispatch(list, kernel, golden_launch()).to_string(),
            "InvalidArgument: amd: exec: the kernel's descriptor 0x720000000638 is not a multiple "
            "of 64");
  EXPECT_TRUE(list.words().empty());
}

TEST(AqlRing, AReaderThatSeesTheHeaderSeesThePacket) {
  constexpr std::uint32_t rounds = 200;
  alignas(64) std::array<std::byte, 64> slot;
  invalidate_packet(slot.data());
  auto& words = *reinterpret_cast<std::array<std::uint32_t, 16>*>(slot.data());
  std::jthread device([&] {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      while (std::atomic_ref(words[0]).load(std::memory_order_acquire) == aql::kInvalid)
        std::this_thread::yield();
      for (std::uint32_t i = 1; i < words.size(); ++i) EXPECT_EQ(words[i], round + i);
      std::atomic_ref(words[0]).store(aql::kInvalid, std::memory_order_release);
    }
  });
  for (std::uint32_t round = 0; round < rounds; ++round) {
    while (std::atomic_ref(words[0]).load(std::memory_order_acquire) != aql::kInvalid)
      std::this_thread::yield();
    AqlPacket packet{aql::kKernelDispatch};
    for (std::uint32_t i = 1; i < packet.size(); ++i) packet[i] = round + i;
    publish_packet(slot.data(), packet);
  }
}

TEST(AqlRing, AQueueKnowsItsScratchMemory) {
  std::array<std::byte, 256> queue{};
  set_queue_scratch(queue, {.address = 0x7100'0000'0000,
                            .size = 0x1'2345'6000,
                            .lane_bytes = 128,
                            .tmpring_size = 0x20200});
  std::array<std::uint32_t, 64> expected{};
  expected[140 / 4] = 0x20200;
  expected[164 / 4] = 0x7100;
  expected[168 / 4] = 0x2345'6000;
  expected[172 / 4] = 1;
  expected[176 / 4] = 128;
  EXPECT_EQ(std::memcmp(queue.data(), expected.data(), queue.size()), 0);
}

}  // namespace
}  // namespace halyard::amd
