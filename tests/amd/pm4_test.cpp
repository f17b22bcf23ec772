// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands as PM4 packets.
#include "drivers/amd/pm4.h"

#include <gtest/gtest.h>

#include <string>

#include "amd/amd_test_util.h"
#include "drivers/amd/packets.h"
#include "halyard/hcq/symbol.h"

namespace halyard::amd {
namespace {

const std::string kAcquireAll = "c0065800 0 ffffffff ffffffff 0 0 0 c3f1 ";
const std::string kHdpFlush = "c0053c00 45 e26 e27 ffffffff ffffffff 4 ";
// From the program's registers to the end, without user data.
const std::string kProgram = "c0027600 20c 11 72 c0027600 212 bf0080 8084 c0017600 228 0 ";
const std::string kScratchWords = "c0017600 218 2c00 c0027600 210 0 71 c0037600 21b 0 0 0 ";
const std::string kDispatch =
    "c0017600 215 0 c0087600 204 0 0 0 40 2 1 0 0 c0031500 4 2 1 8005 c0004600 407";

class Pm4 : public ::testing::Test {
 protected:
  Pm4() { list.begin_command(); }
  TestBlocks blocks;
  hcq::WordList list{&blocks};
  Pm4Encoder gfx11{list, Generation::kGfx11};
  Pm4Encoder gfx942{list, Generation::kGfx942};
};

TEST_F(Pm4, WaitIsGolden) {
  ASSERT_TRUE(gfx11.wait(kSignal, 5).ok());
  EXPECT_EQ(words_of(list), hex("c0053c00 15 1000 7000 5 ffffffff 4"));
}

TEST_F(Pm4, BarrierIsGolden) {
  gfx11.barrier();
  EXPECT_EQ(words_of(list), hex(kHdpFlush + kAcquireAll));
}

TEST_F(Pm4, SignalIsGolden) {
  ASSERT_TRUE(gfx11.signal(kSignal, 6).ok());
  EXPECT_EQ(words_of(list), hex("c0064900 0070f514 20000000 1000 7000 6 0 0"));
}

TEST_F(Pm4, SignalWithAnInterruptIsGolden) {
  ASSERT_TRUE(gfx11.signal(kTimeline, 6, &kMailbox).ok());
  EXPECT_EQ(words_of(list), hex("c0064900 0070f514 20000000 2000 7000 6 0 0 "
                                "c0064900 514 22000000 8 7000 1 0 1"));
}

TEST_F(Pm4, TimestampIsGolden) {
  ASSERT_TRUE(gfx11.timestamp(kSignal + 8).ok());
  EXPECT_EQ(words_of(list), hex("c0064900 514 02000000 0 0 0 0 0 "
                                "c0064900 514 60000000 1008 7000 0 0 0 " +
                                kAcquireAll));
}

TEST_F(Pm4, ExecIsGolden) {
  ASSERT_TRUE(gfx11.exec(golden_kernel(), golden_launch(), kScratch).ok());
  EXPECT_EQ(words_of(list), hex("c0065800 0 ffffffff ffffffff 0 0 0 3f0 " + kProgram +
                                kScratchWords + "c0027600 240 100 7300 " + kDispatch));
  EXPECT_EQ(list.words().size(), 55u);
}

TEST_F(Pm4, Gfx942IsGoldenWhereItDiffers) {
  ASSERT_TRUE(gfx942.signal(kTimeline, 6, &kMailbox).ok());
  EXPECT_EQ(words_of(list), hex("c0064900 00088514 20000000 2000 7000 6 0 0 "
                                "c0064900 514 22000000 8 7000 1 0 0"));
  hcq::WordList barrier;
  Pm4Encoder(barrier, Generation::kGfx942).barrier();
  EXPECT_EQ(words_of(barrier), hex(kHdpFlush + "c0055800 28c40000 ffffffff ffffffff 0 0 a"));

  hcq::WordList exec;
  exec.begin_command();
  Kernel kernel = golden_kernel();
  kernel.descriptor.properties = 0x8;  // 64 lanes
  ASSERT_TRUE(Pm4Encoder(exec, Generation::kGfx942).exec(kernel, golden_launch(), kScratch).ok());
  std::string dispatch = kDispatch;
  dispatch.replace(dispatch.find("8005"), 4, "5");
  EXPECT_EQ(words_of(exec), hex("c0055800 08400000 ffffffff ffffffff 0 0 a c0027600 20c 11 72 "
                                "c0027600 212 af0080 8084 c0017600 22d 0 " +
                                kScratchWords + "c0027600 240 100 7300 " + dispatch));
}

TEST_F(Pm4, AWaitEndsTheSegment) {
  ASSERT_TRUE(gfx11.signal(kSignal, 1).ok());
  ASSERT_TRUE(gfx11.wait(kSignal, 5).ok());
  gfx11.barrier();
  ASSERT_EQ(list.segment_count(), 2u);
  EXPECT_EQ(list.segment(0).size(), 15u);
  EXPECT_EQ(list.segment(1).size(), 15u);
}

TEST_F(Pm4, OfSeveralXccsTheFirstSignals) {
  Pm4Encoder encoder(list, Generation::kGfx942, 8);
  ASSERT_TRUE(encoder.signal(kSignal, 6).ok());
  ASSERT_TRUE(encoder.signal(kTimeline, 6, &kMailbox).ok());
  ASSERT_TRUE(encoder.write(kSignal, 1, 8).ok());
  const Words words = words_of(list);
  const Words signals =
      hex("c0002300 01000008 c0064900 00088514 20000000 1000 7000 6 0 0 "
          "c0002300 01000010 c0064900");
  EXPECT_EQ(Words(words.begin(), words.begin() + 13), signals);
  EXPECT_EQ(Words(words.end() - 8, words.end()),
            hex("c0002300 01000006 c0043700 100500 1000 7000 1 0"));
  EXPECT_EQ(encoder.exec(golden_kernel(), golden_launch(), kScratch).code(),
            StatusCode::kUnimplemented);
}

// The user values are in the order of the descriptor's bits.
TEST_F(Pm4, AKernelReadsItsDispatchPacket) {
  Kernel kernel = golden_kernel();
  kernel.descriptor.properties |= 1u << 1;
  kernel.descriptor.rsrc2 = 0x88;  // 4 user registers
  ASSERT_TRUE(gfx11.exec(kernel, golden_launch(), kScratch).ok());
  EXPECT_EQ(words_of(list), hex("c0065800 0 ffffffff ffffffff 0 0 0 3f0 c0027600 20c 11 72 "
                                "c0027600 212 bf0080 8088 c0017600 228 0 " +
                                kScratchWords + "c0047600 240 10000 7300 100 7300 " + kDispatch));
  EXPECT_EQ(blocks.block(0), hex("31502 20040 1 100 4 1 10 200 540 7200 100 7300 0 0 0 0"));
}

TEST_F(Pm4, SharedMemoryIsThatOfTheKernelAndOfTheLaunch) {
  const std::size_t rsrc2 = 15;
  Launch launch = golden_launch();
  launch.shared_bytes = 1;
  ASSERT_TRUE(gfx11.exec(golden_kernel(), launch, kScratch).ok());
  EXPECT_EQ(list.words()[rsrc2], 0x84u | 2u << 15);
  launch.shared_bytes = (64 << 10) - 512;
  ASSERT_TRUE(gfx11.exec(golden_kernel(), launch, kScratch).ok());
  EXPECT_EQ(list.words()[55 + rsrc2], 0x84u | 128u << 15);
  launch.shared_bytes += 1;
  EXPECT_EQ(gfx11.exec(golden_kernel(), launch, kScratch).code(), StatusCode::kOutOfRange);
}

TEST_F(Pm4, WriteHasFourOrEightBytes) {
  ASSERT_TRUE(gfx11.write(kSignal, 0x1'0000'0002, 8).ok());
  ASSERT_TRUE(gfx11.write(kSignal + 4, 3, 4).ok());
  EXPECT_EQ(words_of(list), hex("c0043700 100500 1000 7000 2 1 c0033700 100500 1004 7000 3"));
  EXPECT_EQ(gfx11.write(kSignal, 1, 2).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.write(kSignal, 0x1'0000'0000, 4).code(), StatusCode::kOutOfRange);
}

TEST_F(Pm4, RefusedCommandsAppendNothing) {
  EXPECT_EQ(gfx11.wait(kSignal + 2, 5).to_string(),
            "InvalidArgument: amd: wait: the signal's address 0x700000001002 is not a multiple of "
            "4");
  EXPECT_EQ(gfx11.wait(std::uint64_t{1} << 48, 5).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(gfx11.wait(kSignal, 0x1'0000'0000).to_string(),
            "OutOfRange: amd: wait: the value 4294967296 exceeds 4294967295");
  EXPECT_EQ(gfx11.signal(kSignal + 1, 5).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.signal(kSignal, 0x1'0000'0000).code(), StatusCode::kOutOfRange);
  const Mailbox mailbox{0x7000'0000'0009, 1};
  EXPECT_EQ(gfx11.signal(kSignal, 1, &mailbox).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.timestamp(kSignal + 4).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.write(kSignal + 2, 1, 4).code(), StatusCode::kInvalidArgument);

  const auto exec = [&](auto change) {
    Kernel kernel = golden_kernel();
    Launch launch = golden_launch();
    Scratch scratch = kScratch;
    change(kernel, launch, scratch);
    return gfx11.exec(kernel, launch, scratch);
  };
  EXPECT_EQ(exec([](auto&, Launch& l, auto&) { l.groups[1] = 0x1'0000'0000; }).to_string(),
            "OutOfRange: amd: exec: the number of workgroups 4294967296 exceeds 4294967295");
  EXPECT_EQ(exec([](auto&, Launch& l, auto&) { l.group_size = {32, 32, 2}; }).to_string(),
            "OutOfRange: amd: exec: the number of a workgroup's work-items 2048 exceeds 1024");
  EXPECT_EQ(exec([](auto&, Launch& l, auto&) {
              l.group_size = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}};
            }).code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(exec([](auto&, Launch& l, auto&) { l.group_size[2] = 0; }).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(exec([](auto&, Launch& l, auto&) { l.arguments = 0x108; }).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(exec([](Kernel& k, auto&, auto&) { k.descriptor.entry_offset += 4; }).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(exec([](auto&, auto&, Scratch& s) { s.address += 128; }).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(exec([](auto&, auto&, Scratch& s) { s.lane_bytes = 12; }).to_string(),
            "FailedPrecondition: amd: exec: the kernel needs 16 bytes of private memory for a "
            "lane, the scratch memory has 12");
  for (const unsigned bit : {0u, 2u, 4u, 5u, 6u}) {
    EXPECT_EQ(exec([&](Kernel& k, auto&, auto&) { k.descriptor.properties |= 1u << bit; }).code(),
              StatusCode::kUnimplemented)
        << bit;
  }
  EXPECT_EQ(exec([](Kernel& k, auto&, auto&) { k.descriptor.preload = 4; }).to_string(),
            "Unimplemented: amd: exec: the kernel wants its preloaded arguments in registers, "
            "which PM4 queues do not provide");
  hcq::WordList without_blocks;
  without_blocks.begin_command();
  Kernel reads_packet = golden_kernel();
  reads_packet.descriptor.properties |= 1u << 1;
  EXPECT_EQ(Pm4Encoder(without_blocks, Generation::kGfx11)
                .exec(reads_packet, golden_launch(), kScratch)
                .code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(without_blocks.words().empty());
  EXPECT_TRUE(list.words().empty());
  EXPECT_TRUE(list.places().empty());
}

TEST_F(Pm4, RawTakesWholePackets) {
  const Words packets = hex("c0053c00 15 1000 7000 5 ffffffff 4 ffff1000 c0004600 407");
  ASSERT_TRUE(gfx11.raw(packets).ok());
  EXPECT_EQ(words_of(list), packets);
  EXPECT_TRUE(list.places().empty());
  EXPECT_EQ(gfx11.raw(hex("c0004600 407 407")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.raw(hex("c0004600")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(words_of(list), packets);
}

TEST(Pm4Words, IndirectBufferPointsToWords) {
  const auto packet = indirect_buffer(0x7500'0000'0000, 20);
  ASSERT_TRUE(packet.ok());
  EXPECT_EQ(words_of(*packet), hex("c0023f00 0 7500 800014"));
  EXPECT_TRUE(indirect_buffer(0x7500'0000'0000, 0xfffff).ok());
  EXPECT_EQ(indirect_buffer(0x7500'0000'0000, 0x100000).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(indirect_buffer(0x7500'0000'0002, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(indirect_buffer(0x7500'0000'0000, 0).status().code(), StatusCode::kInvalidArgument);
}

TEST(Pm4Words, NopsFillAnyNumberOfWords) {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 0x3fffu, 0x4000u, 0x4001u, 0x8000u}) {
    Words words(count, 0xdead'beef);
    fill_with_nops(words);
    std::size_t at = 0;
    while (at < count) {
      EXPECT_EQ(words[at] >> 30, 3u);
      EXPECT_EQ(words[at] >> 8 & 0xff, pm4::kNop);
      const std::size_t body = words[at] >> 16 & 0x3fff;
      at += body == 0x3fff ? 1 : body + 2;
    }
    EXPECT_EQ(at, count);
  }
}

TEST(AmdGeneration, OtherProcessorsAreRefusedByName) {
  EXPECT_EQ(*generation_of("gfx1100"), Generation::kGfx11);
  EXPECT_EQ(*generation_of("gfx1103"), Generation::kGfx11);
  EXPECT_EQ(*generation_of("gfx942"), Generation::kGfx942);
  EXPECT_EQ(generation_of("gfx1030").status().to_string(),
            "Unimplemented: amd: no packets for gfx1030; there are those of gfx942 and of gfx1100 "
            "to gfx1103");
  for (const char* other : {"gfx90a", "gfx950", "gfx1150", "gfx1201", "gfx11", ""})
    EXPECT_EQ(generation_of(other).status().code(), StatusCode::kUnimplemented) << other;
}

}  // namespace
}  // namespace halyard::amd
