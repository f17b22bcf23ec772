// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim_kfd/kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::uint32_t>;

class SdmaTest : public KfdTest {
 protected:
  SdmaTest() { begin(); }
  void begin() {
    queue_ = create(abi::kSdma);
    data_ = allocate(16384);
  }
  std::uint64_t at(std::uint64_t byte) const { return data_.address + byte; }

  Words poll(std::uint64_t byte, std::uint32_t value) const {
    return {0xd0000008, low(at(byte)), high(at(byte)), value, 0xffffffff, 0x0fff0004};
  }
  Words copy(std::uint64_t from, std::uint64_t to, std::uint32_t bytes) const {
    return {1, bytes - 1, 0, low(at(from)), high(at(from)), low(at(to)), high(at(to))};
  }
  Words fence(std::uint64_t byte, std::uint32_t value) const {
    return {0x30005, low(at(byte)), high(at(byte)), value};
  }

  KfdQueue queue_;
  KfdBuffer data_;
};

TEST_F(SdmaTest, WordsOfAnEncoder_AreExecutedInOrder) {
  data_.word(4096) = 77;
  write(queue_, poll(0, 5));
  write(queue_, copy(4096, 8192, 4096));
  write(queue_, {0x20d, low(at(16)), high(at(16))});
  push(queue_, fence(4, 6));
  EXPECT_THAT(run(), ElementsAre(HasSubstr("polls the word")));
  EXPECT_EQ(data_.word(8192), 0u);
  data_.word(0) = 5;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(8192), 77u);
  EXPECT_NE(data_.quad(16), 0u);
  EXPECT_EQ(data_.word(4), 6u);
  EXPECT_EQ(queue_.read_pointer(), queue_.put);
}

TEST_F(SdmaTest, Fence_Writes4Bytes) {
  data_.quad(0) = ~0ull;
  push(queue_, fence(0, 6));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.quad(0), 0xffffffff'00000006u);
}

TEST_F(SdmaTest, WritesAndFills) {
  write(queue_, {2, low(at(0)), high(at(0)), 1, 11, 22});
  push(queue_, {11 | 2u << 30, low(at(8)), high(at(8)), 0xabcdef01, 7});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(0), 11u);
  EXPECT_EQ(data_.word(4), 22u);
  EXPECT_EQ(data_.word(8), 0xabcdef01u);
  EXPECT_EQ(data_.word(12), 0xabcdef01u);
  EXPECT_EQ(data_.word(16), 0u);
}

TEST_F(SdmaTest, Trap_SetsTheEvent) {
  const KfdBuffer page = allocate(0x8000, abi::kGtt | abi::kWritable);
  abi::CreateEvent event{.event_page_offset = page.handle, .auto_reset = 1};
  ASSERT_EQ(request(abi::Request::kCreateEvent, 3, event), 0);
  const std::uint64_t slot = page.address + 8 * event.event_id;
  push(queue_, {0x30005, low(slot), high(slot), event.event_id, 6, event.event_id});
  abi::EventData data{.memory = {}, .event_id = event.event_id};
  abi::WaitEvents wait{reinterpret_cast<std::uint64_t>(&data), 1, 0, 100, 7};
  EXPECT_EQ(request(abi::Request::kWaitEvents, 3, wait), 0);
  EXPECT_EQ(wait.wait_result, abi::kComplete);
}

TEST_F(SdmaTest, Ring_WrapsAfterZeros) {
  for (std::uint32_t i = 1; i != 300; ++i) {
    const std::uint64_t left = queue_.ring.size - queue_.put % queue_.ring.size;
    if (left < 7 * 4) write(queue_, Words(left / 4));
    write(queue_, {2, low(at(0)), high(at(0)), 2, i, i, i});
    ring(queue_);
    EXPECT_THAT(run(), IsEmpty());
    ASSERT_EQ(data_.word(0), i);
  }
  EXPECT_GT(queue_.put, queue_.ring.size);
}

TEST_F(SdmaTest, PacketThatCrossesTheRingsEnd_IsReported) {
  push(queue_, Words(1022));
  EXPECT_THAT(run(), IsEmpty());
  push(queue_, fence(0, 1));
  run();
  EXPECT_THAT(rules(), ElementsAre("packet-crosses-ring-end"));
}

TEST_F(SdmaTest, IndirectBuffer_IsExecuted) {
  KfdBuffer body = allocate(4096);
  const Words words = fence(0, 9);
  for (std::size_t i = 0; i != words.size(); ++i) body.word(4 * i) = words[i];
  write(queue_, {0, 0});
  push(queue_, {4, low(body.address), high(body.address), 4, 0, 0});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(0), 9u);
}

TEST_F(SdmaTest, WordsAfterAPoll_WereFetched) {
  write(queue_, poll(0, 1));
  push(queue_, fence(4, 1));
  run();
  queue_.ring.word(4 * (6 + 3)) = 2;
  data_.word(0) = 1;
  run();
  EXPECT_THAT(rules(), ElementsAre("patched-after-fetch"));
  EXPECT_EQ(data_.word(4), 1u);
}

struct Wrong {
  const char* rule;
  Words words;
};

std::vector<Wrong> wrong_packets(std::uint32_t lo, std::uint32_t hi) {
  return {
      {"unknown-opcode", {99}},
      {"read-past-write-pointer", {0x30005, lo, hi}},
      {"read-past-write-pointer", {2, lo, hi, 4, 1, 2}},
      {"sdma-copy", {0x101, 3, 0, lo, hi, lo, hi}},
      {"sdma-copy", {1, 1u << 30, 0, lo, hi, lo, hi}},
      {"access", {1, 3, 0, 16, 0, lo, hi}},
      {"access", {1, 16384, 0, lo, hi, lo, hi}},
      {"sdma-fence", {0x30005, lo + 2, hi, 1}},
      {"sdma-fence", {0x1030005, lo, hi, 1}},
      {"access", {0x30005, 16, 0, 1}},
      {"sdma-poll", {0x50000008, lo, hi, 5, 0xffffffff, 0x0fff0004}},
      {"sdma-poll", {0xd0000008, lo, hi, 5, 0xffffffff, 0x00100004}},
      {"sdma-timestamp", {0x20d, lo + 4, hi}},
      {"sdma-timestamp", {0x10d, lo, hi}},
      {"sdma-write", {2, lo + 1, hi, 0, 1}},
      {"sdma-fill", {11 | 3u << 30, lo, hi, 1, 3}},
      {"sdma-trap", {0x106, 1}},
      {"indirect-buffer", {4, lo, hi, 8, 0, 0}},            // does not end at 8 words
      {"indirect-buffer", {0, 0, 4, lo + 4, hi, 8, 0, 0}},  // unaligned
      {"indirect-buffer-unmapped", {0, 0, 4, 0x40, 0, 8, 0, 0}},
  };
}

TEST_F(SdmaTest, WrongPackets_AreReported) {
  for (std::size_t i = 0; i != wrong_packets(0, 0).size(); ++i) {
    start({});
    begin();
    const Wrong wrong = wrong_packets(low(at(0)), high(at(0)))[i];
    push(queue_, wrong.words);
    run();
    EXPECT_THAT(rules(), ElementsAre(wrong.rule)) << i << ": " << texts_;
  }
}

TEST_F(SdmaTest, HalfAWord_IsReported) {
  queue_.put = 6;
  ring(queue_);
  run();
  EXPECT_THAT(rules(), ElementsAre("unaligned"));
}

TEST_F(SdmaTest, Gfx942_HasItsOwnForms) {
  start({}, 1);
  begin();
  write(queue_, {5, low(at(0)), high(at(0)), 6});
  push(queue_, copy(0, 8, 4));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(8), 6u);
  push(queue_, fence(0, 1));  // memory types begin with SDMA 5
  run();
  EXPECT_THAT(rules(), ElementsAre("sdma-fence"));
  KfdQueue other = create(abi::kSdma);
  push(other, {1, 1u << 22, 0, low(at(0)), high(at(0)), low(at(8)), high(at(8))});
  run();
  EXPECT_THAT(rules(), ElementsAre("sdma-copy"));
}

TEST_F(SdmaTest, ComputeQueue_IsWaitedFor) {
  KfdQueue compute = create(abi::kPm4);
  push(queue_, poll(0, 1));
  EXPECT_THAT(run(), ::testing::SizeIs(1));
  push(compute, {0xc0064900, 0x514, 0x20000000, low(at(0)), high(at(0)), 1, 0, 0});
  EXPECT_THAT(run(), IsEmpty());
}

}  // namespace
}  // namespace halyard::testing
