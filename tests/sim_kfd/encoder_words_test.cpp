// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of another encoder, tinygrad's ops_amd.py at a9069c17, which runs on hardware: they are
// accepted as they are, at the addresses that they contain.
#include <sstream>

#include "sim_kfd/kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::uint32_t>;

Words parse(const std::string& text) {
  std::istringstream stream(text);
  stream >> std::hex;
  Words words;
  for (std::uint32_t word = 0; stream >> word;) words.push_back(word);
  return words;
}

class EncoderWordsTest : public KfdTest {
 protected:
  static constexpr std::uint64_t kCode = 0x7200'0000'1100;

  EncoderWordsTest() { begin(); }
  void begin() {
    // The mailbox of event 1 at 8, a signal at 0x1000, a timeline at 0x2000.
    signals_ = allocate(0x8000, abi::kGtt | abi::kUncached | abi::kWritable, 0x7000'0000'0000);
    abi::CreateEvent event{.event_page_offset = signals_.handle, .auto_reset = 1};
    ASSERT_EQ(request(abi::Request::kCreateEvent, 3, event), 0);
    ASSERT_EQ(event.event_id, 1u);
    signals_.quad(0x1000) = signals_.quad(0x1008) = 0;
    code_ = allocate(0x2000, kMemory, 0x7200'0000'0000);
    allocate(0x1000, kMemory, 0x7300'0000'0000);  // arguments
    copied_ = allocate(0x3000, kMemory, 0x7400'0000'1000);
    kfd_->set_host_kernel(kCode, [this](const kfd::HostLaunch& launch) {
      user_data_.assign(launch.user_data.begin(), launch.user_data.end());
      EXPECT_THAT(launch.groups, ElementsAre(4, 2, 1));
      EXPECT_THAT(launch.block, ElementsAre(64, 2, 1));
    });
  }
  // Runs to the wait for 5, which is then satisfied, and to the end.
  void run_past_the_wait() {
    EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 5")));
    signals_.word(0x1000) = 5;
    EXPECT_THAT(run(), IsEmpty());
    EXPECT_EQ(signals_.word(0x1000), 6u);
    EXPECT_NE(signals_.quad(0x1008), 0u);
  }
  bool is_event_set() {
    abi::EventData data{.memory = {}, .event_id = 1};
    abi::WaitEvents wait{reinterpret_cast<std::uint64_t>(&data), 1, 0, 0, 7};
    EXPECT_EQ(request(abi::Request::kWaitEvents, 3, wait), 0);
    return wait.wait_result == abi::kComplete;
  }

  KfdBuffer signals_, code_, copied_;
  Words user_data_;
};

TEST_F(EncoderWordsTest, Gfx1100Pm4) {
  KfdQueue queue = create(abi::kPm4);
  write(queue, parse("c0053c00 15 1000 7000 5 ffffffff 4"));
  write(queue, parse("c0053c00 45 e26 e27 ffffffff ffffffff 4"
                     " c0065800 0 ffffffff ffffffff 0 0 0 c3f1"));
  write(queue, parse("c0065800 0 ffffffff ffffffff 0 0 0 3f0 c0027600 20c 11 72"
                     " c0027600 212 bf0080 8084 c0017600 228 0 c0017600 218 2c00"
                     " c0027600 210 0 71 c0037600 21b 0 0 0 c0027600 240 100 7300"
                     " c0017600 215 0 c0087600 204 0 0 0 40 2 1 0 0 c0031500 4 2 1 8005"
                     " c0004600 407"));
  write(queue, parse("c0064900 514 2000000 0 0 0 0 0 c0064900 514 60000000 1008 7000 0 0 0"
                     " c0065800 0 ffffffff ffffffff 0 0 0 c3f1"));
  write(queue, parse("c0064900 70f514 20000000 1000 7000 6 0 0"));
  push(queue, parse("c0064900 514 22000000 8 7000 1 0 1"));
  run_past_the_wait();
  EXPECT_THAT(user_data_, ElementsAre(0x100, 0x7300));
  EXPECT_TRUE(is_event_set());
}

TEST_F(EncoderWordsTest, Gfx942Pm4) {
  start({}, 1);
  begin();
  KfdQueue queue = create(abi::kPm4);
  write(queue, parse("c0053c00 15 1000 7000 5 ffffffff 4"
                     " c0055800 28c40000 ffffffff ffffffff 0 0 a"));
  write(queue, parse("c0055800 8400000 ffffffff ffffffff 0 0 a c0027600 20c 11 72"
                     " c0027600 212 bf0080 8084 c0017600 22d 0 c0017600 218 2c00"
                     " c0037600 21b 0 0 0 c0027600 240 100 7300"
                     " c0017600 215 0 c0087600 204 0 0 0 40 2 1 0 0 c0031500 4 2 1 5"
                     " c0004600 407"));
  write(queue, parse("c0064900 88514 60000000 1008 7000 0 0 0"
                     " c0064900 88514 20000000 1000 7000 6 0 0"));
  push(queue, parse("c0064900 88514 22000000 8 7000 1 0 0"));  // without an event's number
  run_past_the_wait();
  EXPECT_TRUE(is_event_set());
}

TEST_F(EncoderWordsTest, Gfx1100Sdma) {
  KfdQueue queue = create(abi::kSdma);
  copied_.word(0xffc) = 77;
  write(queue, parse("d0000008 1000 7000 5 ffffffff fff0004"));
  write(queue, parse("1 fff 0 1000 7400 2000 7400"));
  write(queue, parse("20d 1008 7000 30005 1000 7000 6"));
  push(queue, parse("30005 8 7000 1 6 1"));
  run_past_the_wait();
  EXPECT_EQ(copied_.word(0x1ffc), 77u);
  EXPECT_TRUE(is_event_set());
}

TEST_F(EncoderWordsTest, Gfx1100Aql) {
  KfdQueue queue = create(abi::kAql);
  code_.quad(0x540 + 16) = 0x1100 - 0x540;
  code_.word(0x540) = 0x200;
  code_.word(0x540 + 4) = 16;
  code_.word(0x540 + 48) = 0xbf0080;
  code_.word(0x540 + 52) = 0x84;
  code_.word(0x540 + 56) = 0x408;
  const KfdBuffer scratch = allocate(1 << 20);
  queue.pointers.word(140) = 0x2c00;
  queue.pointers.quad(160) = scratch.address;
  queue.pointers.quad(168) = scratch.size;
  KfdBuffer body = allocate(0x1000, kMemory, 0x7500'0000'0000);
  const Words words = parse(
      "c0053c00 15 1000 7000 5 ffffffff 4"
      " c0064900 514 60000000 1008 7000 0 0 0 c0011000 0 0 80000000 80000000");
  ASSERT_EQ(words.size(), 0x14u);
  std::memcpy(body.host, words.data(), 4 * words.size());
  const Words packets = parse(
      "11500 c0023f00 0 7500 800014 a 0 0 0 0 0 0 0 0 0 0"
      " 31502 20040 1 100 4 1 10 200 540 7200 100 7300 0 0 0 0");
  ASSERT_EQ(packets.size(), 32u);
  std::memcpy(queue.ring.host, packets.data(), 128);
  queue.put = 2;
  ring(queue);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 5")));
  EXPECT_THAT(user_data_, IsEmpty());
  signals_.word(0x1000) = 5;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(user_data_, ElementsAre(0x100, 0x7300));
  EXPECT_NE(signals_.quad(0x1008), 0u);
  EXPECT_EQ(queue.read_pointer(), 2u);
}

}  // namespace
}  // namespace halyard::testing
