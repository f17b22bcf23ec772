// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands as packets of SDMA queues, and their rings.
#include "drivers/amd/sdma.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "amd/amd_test_util.h"

namespace halyard::amd {
namespace {

constexpr std::uint64_t kSource = 0x7400'0000'1000;
constexpr std::uint64_t kTarget = 0x7400'0000'2000;

class Sdma : public ::testing::Test {
 protected:
  Sdma() { list.begin_command(); }
  hcq::WordList list;
  SdmaEncoder gfx11{list, Generation::kGfx11};
  SdmaEncoder gfx942{list, Generation::kGfx942};
};

TEST_F(Sdma, WaitIsGolden) {
  ASSERT_TRUE(gfx11.wait(kSignal, 5).ok());
  EXPECT_EQ(words_of(list), hex("d0000008 1000 7000 5 ffffffff 0fff0004"));
}

TEST_F(Sdma, CopyIsGolden) {
  ASSERT_TRUE(gfx11.copy(kTarget, kSource, 4096).ok());
  EXPECT_EQ(words_of(list), hex("1 fff 0 1000 7400 2000 7400"));
}

TEST_F(Sdma, TimestampIsGolden) {
  ASSERT_TRUE(gfx11.timestamp(kSignal + 8).ok());
  EXPECT_EQ(words_of(list), hex("20d 1008 7000"));
}

TEST_F(Sdma, SignalIsGolden) {
  ASSERT_TRUE(gfx11.signal(kSignal, 6).ok());
  EXPECT_EQ(words_of(list), hex("30005 1000 7000 6"));
}

TEST_F(Sdma, SignalWithAnInterruptIsGolden) {
  ASSERT_TRUE(gfx11.signal(kTimeline, 6, &kMailbox).ok());
  EXPECT_EQ(words_of(list), hex("30005 2000 7000 6 30005 8 7000 1 6 1"));
}

TEST_F(Sdma, AFenceOfGfx942HasNoMemoryType) {
  ASSERT_TRUE(gfx942.signal(kSignal, 6, &kMailbox).ok());
  EXPECT_EQ(words_of(list), hex("5 1000 7000 6 5 8 7000 1 6 1"));
}

TEST_F(Sdma, WriteHasFourOrEightBytes) {
  ASSERT_TRUE(gfx11.write(kSignal, 7, 4).ok());
  ASSERT_TRUE(gfx942.write(kSignal, 0x1'0000'0002, 8).ok());
  EXPECT_EQ(words_of(list), hex("2 1000 7000 0 7 2 1000 7000 1 2 1"));
  EXPECT_EQ(gfx11.write(kSignal, 7, 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.write(kSignal, 0x1'0000'0000, 4).code(), StatusCode::kOutOfRange);
}

TEST_F(Sdma, AWaitEndsTheSegment) {
  ASSERT_TRUE(gfx11.wait(kSignal, 5).ok());
  ASSERT_TRUE(gfx11.signal(kSignal, 6).ok());
  ASSERT_EQ(list.segment_count(), 2u);
  EXPECT_EQ(words_of(list.segment(1)), hex("30005 1000 7000 6"));
}

TEST_F(Sdma, RefusedCommandsAppendNothing) {
  EXPECT_EQ(gfx11.wait(kSignal + 2, 5).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.wait(kSignal, 0x1'0000'0000).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(gfx11.signal(kSignal + 2, 5).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.signal(kSignal, 0x1'0000'0000).code(), StatusCode::kOutOfRange);
  const Mailbox mailbox{1, 1};
  EXPECT_EQ(gfx11.signal(kSignal, 5, &mailbox).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.timestamp(kSignal + 4).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.copy(std::uint64_t{1} << 48, kSource, 1).to_string(),
            "OutOfRange: amd: copy: the target 0x1000000000000 has more than 48 bits");
  EXPECT_EQ(gfx11.copy(kTarget, kSource, ~std::uint64_t{0}).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(gfx11.raw(hex("1 fff 0 1000 7400 2000")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gfx11.raw(hex("7f")).to_string(), "Unimplemented: amd: unknown SDMA packet 0x7f");
  EXPECT_TRUE(gfx11.copy(kTarget, kSource, 0).ok());
  EXPECT_TRUE(list.words().empty());
  EXPECT_TRUE(list.places().empty());
}

TEST_F(Sdma, RawTakesWholePackets) {
  const Words packets = hex("20000 0 0 6 1 2 1000 7000 1 5 6");
  ASSERT_TRUE(gfx11.raw(packets).ok());
  EXPECT_EQ(words_of(list), packets);
}

// Each byte is copied once, in order, by packets of at most the longest size.
TEST(SdmaCopy, PacketsCoverTheRange) {
  std::mt19937_64 random(1);
  for (const Generation generation : {Generation::kGfx942, Generation::kGfx11}) {
    hcq::WordList none;
    const std::uint64_t longest = SdmaEncoder(none, generation).max_copy();
    for (const std::uint64_t size :
         {std::uint64_t{1}, longest - 1, longest, longest + 1, 2 * longest, 5 * longest - 3,
          random() % (8 * longest) + 1, random() % (8 * longest) + 1}) {
      hcq::WordList list;
      list.begin_command();
      ASSERT_TRUE(SdmaEncoder(list, generation).copy(kTarget + 3, kSource + 1, size).ok());
      const Words words = words_of(list);
      ASSERT_EQ(words.size() % 7, 0u);
      EXPECT_EQ(words.size() / 7, (size + longest - 1) / longest);
      std::uint64_t done = 0;
      for (std::size_t at = 0; at < words.size(); at += 7) {
        EXPECT_EQ(words[at], 1u);
        EXPECT_EQ(words[at + 2], 0u);
        EXPECT_EQ(words[at + 3] | std::uint64_t{words[at + 4]} << 32, kSource + 1 + done);
        EXPECT_EQ(words[at + 5] | std::uint64_t{words[at + 6]} << 32, kTarget + 3 + done);
        const std::uint64_t count = std::uint64_t{words[at + 1]} + 1;
        EXPECT_LE(count, longest);
        done += count;
      }
      EXPECT_EQ(done, size);
      // The size is a field of the last packet.
      std::vector<std::size_t> sizes;
      for (const hcq::FieldPlace& place : list.places())
        if (place.field.role == hcq::FieldRole::kSize) sizes.push_back(place.offset);
      EXPECT_EQ(sizes, std::vector<std::size_t>{4 * (words.size() - 6)});
    }
  }
}

// Reads packets as the device does: it never reads beyond the ring's end within a packet.
std::vector<Words> read_ring(const Words& ring, std::uint64_t get, std::uint64_t put) {
  std::vector<Words> packets;
  for (std::uint64_t at = get / 4; at < put / 4;) {
    const std::size_t offset = at % ring.size();
    if (ring[offset] == 0) {
      ++at;
      continue;
    }
    const std::uint32_t operation = ring[offset] & 0xff;
    const std::size_t size = operation == 1    ? 7
                             : operation == 8  ? 6
                             : operation == 4  ? 6
                             : operation == 5  ? 4
                             : operation == 2  ? 5 + ring[(offset + 3) % ring.size()]
                             : operation == 13 ? 3
                                               : 2;
    EXPECT_LE(offset + size, ring.size()) << "a packet crosses the ring's end";
    if (offset + size > ring.size()) return packets;
    packets.emplace_back(ring.begin() + static_cast<std::ptrdiff_t>(offset),
                         ring.begin() + static_cast<std::ptrdiff_t>(offset + size));
    at += size;
    EXPECT_LE(at, put / 4);
  }
  return packets;
}

TEST(SdmaRing, NoPacketCrossesTheEnd) {
  const std::vector<Words> kinds{hex("1 fff 0 1000 7400 2000 7400"),
                                 hex("d0000008 1000 7000 5 ffffffff fff0004"),
                                 hex("30005 1000 7000 6"),
                                 hex("2 1000 7000 0 7"),
                                 hex("2 1000 7000 1 7 8"),
                                 hex("20d 1008 7000"),
                                 hex("6 1")};
  std::mt19937 random(2);
  Words ring(32, 0xdead'beef);
  std::uint64_t put = 0;
  unsigned paddings = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Words> packets;
    Words words;
    for (unsigned n = random() % 3 + 1; n != 0; --n) {
      packets.push_back(kinds[random() % kinds.size()]);
      words.insert(words.end(), packets.back().begin(), packets.back().end());
    }
    const Result<std::uint64_t> expected = sdma_end(put, ring.size(), words);
    const Result<std::uint64_t> end = write_sdma(put, ring, words);
    ASSERT_TRUE(end.ok() && expected.ok());
    EXPECT_EQ(*end, *expected);
    ASSERT_EQ(read_ring(ring, put, *end), packets);
    if (*end - put != 4 * words.size()) ++paddings;
    put = *end;
  }
  EXPECT_GT(paddings, 100u);
}

TEST(SdmaRing, WritesTheTailWithZerosAndContinuesAtTheBegin) {
  Words ring(8, 0xdead'beef);
  Result<std::uint64_t> put = write_sdma(4 * 13, ring, hex("30005 1000 7000 6"));
  ASSERT_TRUE(put.ok());
  EXPECT_EQ(*put, 4u * 20);
  EXPECT_EQ(ring, hex("30005 1000 7000 6 deadbeef 0 0 0"));
  EXPECT_EQ(write_sdma(0, ring, hex("2 1000 7000 4 0 1 2 3 4")).status().code(),
            StatusCode::kOutOfRange);
}

TEST(SdmaRing, APacketMayEndAtTheEnd) {
  Words ring(8, 0xdead'beef);
  Result<std::uint64_t> put = write_sdma(4 * 4, ring, hex("30005 1000 7000 6"));
  ASSERT_TRUE(put.ok());
  EXPECT_EQ(*put, 4u * 8);
  EXPECT_EQ(ring, hex("deadbeef deadbeef deadbeef deadbeef 30005 1000 7000 6"));
  put = write_sdma(*put, ring, hex("2 1000 7000 3 5 6 7 8"));
  ASSERT_TRUE(put.ok());
  EXPECT_EQ(*put, 4u * 16);
  EXPECT_EQ(ring, hex("2 1000 7000 3 5 6 7 8"));
}

TEST(SdmaRing, AnIndirectPacketEndsAtAMultipleOfEightWords) {
  for (std::uint64_t begin = 0; begin < 32; ++begin) {
    Words ring(16, 0xdead'beef);
    const Result<std::uint64_t> end = write_sdma_indirect(4 * begin, ring, 0x7500'0000'0040, 17);
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(*end % 32, 0u);
    EXPECT_LE(*end - 4 * begin, 4u * 13);
    EXPECT_EQ(read_ring(ring, 4 * begin, *end), std::vector<Words>{hex("4 40 7500 18 0 0")});
  }
  Words ring(16);
  EXPECT_EQ(write_sdma_indirect(0, ring, 0x7500'0000'0010, 8).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(write_sdma_indirect(0, ring, 0x7500'0000'0040, 0).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(write_sdma_indirect(0, ring, 0x7500'0000'0040, 0x100000).status().code(),
            StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace halyard::amd
