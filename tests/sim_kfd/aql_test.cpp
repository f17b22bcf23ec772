// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>

#include "sim_kfd/kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Packet = std::array<std::uint32_t, 16>;

constexpr std::uint32_t kBarrierBit = 1u << 8;

class AqlTest : public KfdTest {
 protected:
  AqlTest() { begin(); }
  void begin() {
    queue_ = create(abi::kAql);
    data_ = allocate(4096);
    // The descriptor of a kernel whose code is 256 bytes after it, and asks for its arguments'
    // address.
    descriptor_data_ = allocate(4096);
    descriptor_data_.quad(16) = 256;
    descriptor_data_.word(48) = 0xbf0080;
    descriptor_data_.word(52) = 2u << 1;
    descriptor_data_.word(56) = 1u << 10 | 1u << 3;
  }
  std::uint64_t at(std::uint64_t byte) const { return data_.address + byte; }
  std::uint64_t entry() const { return descriptor_data_.address + 256; }

  // Type 2 with fences of the system, 3 dimensions.
  Packet dispatch(std::uint32_t flags = kBarrierBit, std::uint64_t completion = 0) const {
    const std::uint64_t kernel = descriptor_data_.address;
    return {0x00031402 | flags,
            0x00020040,
            1,
            256,
            4,
            1,
            0,
            0,
            low(kernel),
            high(kernel),
            low(at(256)),
            high(at(256)),
            0,
            0,
            low(completion),
            high(completion)};
  }
  static Packet envelope(std::uint64_t address, std::uint32_t words) {
    return {0x11500, 0xc0023f00, low(address), high(address), words | 0x800000, 10};
  }
  Packet barrier(std::uint32_t type, const std::vector<std::uint64_t>& signals,
                 std::uint64_t completion) const {
    Packet packet{type | kBarrierBit};
    for (std::size_t i = 0; i != signals.size(); ++i) {
      packet[2 + 2 * i] = low(signals[i]);
      packet[3 + 2 * i] = high(signals[i]);
    }
    packet[14] = low(completion);
    packet[15] = high(completion);
    return packet;
  }
  void write(const Packet& packet) {
    std::memcpy(queue_.ring.host + queue_.put++ * 64 % queue_.ring.size, packet.data(), 64);
  }
  void push(const Packet& packet) {
    write(packet);
    ring(queue_);
  }

  KfdQueue queue_;
  KfdBuffer data_, descriptor_data_;
};

TEST_F(AqlTest, Dispatch_HasItsRegistersAndExtents) {
  std::vector<std::uint32_t> seen;
  kfd_->set_host_kernel(entry(), [&](const kfd::HostLaunch& launch) {
    seen.assign(launch.user_data.begin(), launch.user_data.end());
    seen.insert(seen.end(), launch.groups.begin(), launch.groups.end());
    seen.insert(seen.end(), launch.block.begin(), launch.block.end());
  });
  push(dispatch());
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(seen, ElementsAre(low(at(256)), high(at(256)), 4, 2, 1, 64, 2, 1));
  EXPECT_EQ(queue_.read_pointer(), 1u);
  EXPECT_EQ(queue_.ring.word(0) & 0xff, 1u);  // invalid again
}

TEST_F(AqlTest, Ring_Wraps) {
  int count = 0;
  kfd_->set_host_kernel(entry(), [&](const auto&) { ++count; });
  for (int i = 0; i != 150; ++i) {
    push(dispatch());
    EXPECT_THAT(run(), IsEmpty());
  }
  EXPECT_EQ(count, 150);
}

TEST_F(AqlTest, Completion_DecrementsTheSignal) {
  const KfdBuffer page = allocate(0x8000, abi::kGtt | abi::kWritable);
  abi::CreateEvent event{.event_page_offset = page.handle, .auto_reset = 1};
  ASSERT_EQ(request(abi::Request::kCreateEvent, 3, event), 0);
  kfd_->set_host_kernel(entry(), [](const auto&) {});
  data_.quad(8) = 3;
  data_.quad(16) = page.address + 8 * event.event_id;
  data_.word(24) = event.event_id;
  push(dispatch(kBarrierBit, at(0)));
  abi::EventData data{.memory = {}, .event_id = event.event_id};
  abi::WaitEvents wait{reinterpret_cast<std::uint64_t>(&data), 1, 0, 100, 7};
  EXPECT_EQ(request(abi::Request::kWaitEvents, 3, wait), 0);
  EXPECT_EQ(wait.wait_result, abi::kComplete);
  EXPECT_EQ(data_.quad(8), 2u);
}

TEST_F(AqlTest, BarrierBit_OrdersDispatches) {
  bool was_late = false;
  for (std::uint64_t seed = 0; seed != 20; ++seed) {
    for (const std::uint32_t flags : {0u, kBarrierBit}) {
      start({.seed = seed});
      begin();
      data_.quad(8) = 1;  // a signal at 0 that the second packet decrements, one at 64 of the first
      data_.quad(72) = 1;
      kfd_->set_host_kernel(entry(), [&](const auto&) {});
      write(dispatch(0, at(64)));
      push(dispatch(flags, at(0)));
      while (data_.quad(8) != 0) ASSERT_TRUE(kfd_->step());
      if (flags == kBarrierBit) {
        EXPECT_EQ(data_.quad(72), 0u);
      }
      was_late = was_late || data_.quad(72) != 0;
      EXPECT_THAT(run(), IsEmpty());
    }
  }
  EXPECT_TRUE(was_late);  // without the bit
}

TEST_F(AqlTest, Envelope_ExecutesPm4) {
  KfdBuffer body = allocate(4096);
  const std::vector<std::uint32_t> words = {0xc0064900,  0x514, 0x20000000, low(at(0)),
                                            high(at(0)), 6,     0,          0};
  for (std::size_t i = 0; i != words.size(); ++i) body.word(4 * i) = words[i];
  push(envelope(body.address, 8));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(0), 6u);
}

TEST_F(AqlTest, Barriers_WaitForSignals) {
  data_.quad(8) = data_.quad(72) = data_.quad(136) = 1;
  push(barrier(5, {at(0), at(64)}, at(128)));
  EXPECT_THAT(run(), ElementsAre(HasSubstr("barrier packet 0")));
  data_.quad(8) = 0;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.quad(136), 0u);
  push(barrier(3, {at(0), at(64)}, 0));
  EXPECT_THAT(run(), ElementsAre(HasSubstr("barrier packet 1")));
  data_.quad(72) = 0;
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(AqlTest, HeaderThatIsInvalid_IsReported) {
  Packet packet = dispatch();
  packet[0] = (packet[0] & ~0xffu) | 1;
  push(packet);
  run();
  EXPECT_THAT(rules(), ElementsAre("doorbell-before-packet"));
}

TEST_F(AqlTest, SlotsThatWereNotWrittenAgain_AreReported) {
  kfd_->set_host_kernel(entry(), [](const auto&) {});
  for (int i = 0; i != 64; ++i) write(dispatch());
  ring(queue_);
  EXPECT_THAT(run(), IsEmpty());
  ++queue_.put;
  ring(queue_);
  run();
  EXPECT_THAT(rules(), ElementsAre("doorbell-before-packet"));
}

TEST_F(AqlTest, DoorbellPastTheWriteIndex_IsReported) {
  write(dispatch());
  queue_.write_pointer() = 1;
  *queue_.doorbell = 1;  // the index of the next packet, not of the last one
  run();
  EXPECT_THAT(rules(), ElementsAre("doorbell-before-write-pointer"));
}

struct Wrong {
  const char* rule;
  unsigned word;
  std::uint32_t value;
};

TEST_F(AqlTest, WrongDispatches_AreReported) {
  for (const Wrong& wrong : std::vector<Wrong>{{"unknown-packet", 0, 0x00031507},
                                               {"aql-dispatch", 0, 0x00001502},
                                               {"aql-dispatch", 0, 0x00041502},
                                               {"aql-dispatch", 0, 0x00011502},
                                               {"aql-dispatch", 1, 0x00020000},
                                               {"aql-dispatch", 3, 250},
                                               {"aql-dispatch", 12, 1},
                                               {"dispatch", 1, 0x00024000},
                                               {"unaligned", 8, 0x20},
                                               {"unaligned", 10, 8},
                                               {"access", 9, 0x1234},
                                               {"scratch", 6, 16}}) {
    start({});
    begin();
    kfd_->set_host_kernel(entry(), [](const auto&) {});
    Packet packet = dispatch();
    packet[wrong.word] = wrong.value;
    if (wrong.rule == std::string("dispatch")) packet[3] = 0x4000;
    push(packet);
    run();
    EXPECT_THAT(rules(), ElementsAre(wrong.rule)) << wrong.word << ": " << texts_;
  }
}

TEST_F(AqlTest, LessMemoryThanTheKernelNeeds_IsReported) {
  descriptor_data_.word(0) = 512;
  push(dispatch());
  run();
  EXPECT_THAT(rules(), ElementsAre("aql-dispatch"));
}

TEST_F(AqlTest, WrongEnvelopes_AreReported) {
  for (const Wrong& wrong : std::vector<Wrong>{{"pm4-envelope", 1, 0xc0033f00},
                                               {"pm4-envelope", 5, 11},
                                               {"pm4-envelope", 9, 1},
                                               {"indirect-buffer", 4, 8},
                                               {"unknown-packet", 0, 0x31500}}) {
    start({});
    begin();
    Packet packet = envelope(at(0), 8);
    packet[wrong.word] = wrong.value;
    push(packet);
    run();
    EXPECT_THAT(rules(), ElementsAre(wrong.rule)) << wrong.word << ": " << texts_;
  }
}

TEST_F(AqlTest, BarrierValue_IsOfGfx942) {
  const auto barrier_value = [&](std::uint32_t condition) {
    return Packet{0x00020100, 0, low(at(0)), high(at(0)), 5, 0, 0xffffffff, 0xffffffff, condition};
  };
  push(barrier_value(3));
  run();
  EXPECT_THAT(rules(), ElementsAre("unknown-packet"));
  start({}, 1);
  begin();
  data_.quad(8) = 4;
  push(barrier_value(3));
  EXPECT_THAT(run(), ElementsAre(HasSubstr("barrier packet")));
  data_.quad(8) = 5;
  EXPECT_THAT(run(), IsEmpty());
  push(barrier_value(4));
  run();
  EXPECT_THAT(rules(), ElementsAre("barrier-value"));
}

TEST_F(AqlTest, Gfx942_ChecksWordsOnly) {
  start({}, 1);
  begin();
  data_.quad(8) = 1;
  push(dispatch(kBarrierBit, at(0)));  // its code is zeros
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.quad(8), 0u);
  // ACQUIRE_MEM of gfx9, and PRED_EXEC, in an indirect buffer.
  const std::vector<std::uint32_t> words = {0xc0055800, 0x28c40000, 0xffffffff, 0xffffffff, 0, 0,
                                            10,         0xc0002300, 0x01000000, 0xffff1000};
  KfdBuffer body = allocate(4096);
  for (std::size_t i = 0; i != words.size(); ++i) body.word(4 * i) = words[i];
  push(envelope(body.address, 10));
  EXPECT_THAT(run(), IsEmpty());
}

}  // namespace
}  // namespace halyard::testing
