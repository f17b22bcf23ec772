// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim_kfd/kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::uint32_t>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class Pm4Test : public KfdTest {
 protected:
  static constexpr std::uint64_t kEntry = 0x7200'0000'1100;

  Pm4Test() { begin(); }
  void begin() {
    queue_ = create(abi::kPm4);
    data_ = allocate(4096);
  }
  std::uint64_t at(std::uint64_t byte) const { return data_.address + byte; }

  static Words wait(std::uint64_t address, std::uint32_t value) {
    return {0xc0053c00, 0x15, low(address), high(address), value, 0xffffffff, 4};
  }
  static Words signal(std::uint64_t address, std::uint32_t value) {
    return {0xc0064900, 0x0070f514, 0x20000000, low(address), high(address), value, 0, 0};
  }
  static Words timestamp(std::uint64_t address) {
    return {0xc0064900, 0x514,        0x02000000,    0, 0, 0, 0, 0, 0xc0064900, 0x514,
            0x60000000, low(address), high(address), 0, 0, 0};
  }
  static Words barrier() {
    return {0xc0053c00, 0x45,       0xe26,      0xe27, 0xffffffff, 0xffffffff, 4,     0xc0065800,
            0,          0xffffffff, 0xffffffff, 0,     0,          0,          0xc3f1};
  }
  static Words write_data(std::uint64_t address, std::uint32_t value) {
    return {0xc0033700, 5u << 8 | 1u << 20, low(address), high(address), value};
  }
  static Words indirect(std::uint64_t address, std::uint32_t words) {
    return {0xc0023f00, low(address), high(address), words | 1u << 23};
  }
  static Words flush() { return {0xc0004600, 0x407}; }
  // A dispatch of 4 x 2 x 1 workgroups of 64 x 2 x 1.
  static Words dispatch(std::uint64_t code, std::uint32_t rsrc2 = 2u << 1) {
    return Words{0xc0027600, 0x20c,      low(code >> 8), high(code >> 8), 0xc0027600,
                 0x212,      0xbf0080,   rsrc2,          0xc0017600,      0x228,
                 0,          0xc0027600, 0x240,          0x100,           0x7300} +
           Words{0xc0087600, 0x204, 0, 0, 0, 64, 2, 1, 0, 0, 0xc0031500, 4, 2, 1, 0x8005};
  }

  KfdQueue queue_;
  KfdBuffer data_;
};

TEST_F(Pm4Test, WordsOfAnEncoder_AreExecutedInOrder) {
  std::vector<std::uint32_t> seen;
  kfd_->set_host_kernel(kEntry, [&](const kfd::HostLaunch& launch) {
    seen.assign(launch.user_data.begin(), launch.user_data.end());
    seen.insert(seen.end(), launch.groups.begin(), launch.groups.end());
    seen.insert(seen.end(), launch.block.begin(), launch.block.end());
  });
  // The registers of kernels are set in more packets than a dispatch needs.
  const Words rest = {0xc0017600, 0x218, 0x2c00, 0xc0027600, 0x210,      0,     0x71, 0xc0037600,
                      0x21b,      0,     0,      0,          0xc0017600, 0x215, 0};
  push(queue_, wait(at(0), 5) + barrier() + rest + dispatch(kEntry) + flush() + timestamp(at(16)) +
                   signal(at(0x20), 6));
  EXPECT_THAT(run(), ElementsAre(HasSubstr("waits for the word")));
  EXPECT_THAT(seen, IsEmpty());
  data_.word(0) = 5;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(seen, ElementsAre(0x100, 0x7300, 4, 2, 1, 64, 2, 1));
  EXPECT_NE(data_.quad(16), 0u);
  EXPECT_EQ(data_.word(0x20), 6u);
  EXPECT_EQ(queue_.read_pointer(), queue_.put);
}

TEST_F(Pm4Test, Timestamps_CountTheDevicesClock) {
  start({.now = [] { return std::uint64_t{123'456'789}; }});
  begin();
  push(queue_, timestamp(at(16)));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.quad(16), 12'345'678u);
}

TEST_F(Pm4Test, Signal_Writes4Bytes) {
  data_.quad(0) = ~0ull;
  push(queue_, signal(at(0), 6));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.quad(0), 0xffffffff'00000006u);
}

TEST_F(Pm4Test, Code_RunsOnTheInterpreter) {
  // Stores its workgroup's number, in s4, in 64 words: s[0:1] are a pointer to a pointer.
  const Words code = {0xf4040080, 0xf8000000, 0x30020082, 0x7e040204,
                      0xbf89fc07, 0xdc6a0000, 0x00020201, 0xbfb00000};
  KfdBuffer kernel = allocate(4096);
  for (std::size_t i = 0; i != code.size(); ++i) kernel.word(4 * i) = code[i];
  data_.quad(0) = at(256);
  const std::uint32_t rsrc2 = 4u << 1 | 1u << 7;  // 4 user registers, the group's number after them
  push(queue_, Words{0xc0047600, 0x240, low(at(0)), high(at(0)), 0, 0} +
                   Words{0xc0027600,
                         0x20c,
                         low(kernel.address >> 8),
                         high(kernel.address >> 8),
                         0xc0027600,
                         0x212,
                         0xaf0000,
                         rsrc2,
                         0xc0017600,
                         0x228,
                         0,
                         0xc0037600,
                         0x207,
                         64,
                         1,
                         1,
                         0xc0031500,
                         1,
                         1,
                         1,
                         0x8005} +
                   signal(at(8), 1));
  data_.word(256) = data_.word(256 + 4 * 63) = data_.word(256 + 4 * 64) = 9;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(8), 1u);
  EXPECT_EQ(data_.word(256), 0u);
  EXPECT_EQ(data_.word(256 + 4 * 63), 0u);
  EXPECT_EQ(data_.word(256 + 4 * 64), 9u);
}

TEST_F(Pm4Test, CodeThatIsNone_IsReported) {
  KfdBuffer kernel = allocate(4096);
  kernel.word(0) = 0xffffffff;
  push(queue_, dispatch(kernel.address));
  run();
  EXPECT_THAT(rules(), ElementsAre("code"));
}

TEST_F(Pm4Test, SignalsComeAfterDispatches_WritesDoNot) {
  bool write_was_first = false;
  for (std::uint64_t seed = 0; seed != 20; ++seed) {
    start({.seed = seed});
    begin();
    bool has_run = false;
    kfd_->set_host_kernel(kEntry, [&](const auto&) {
      has_run = true;
      write_was_first = write_was_first || data_.word(0) == 1;
      EXPECT_EQ(data_.word(4), 0u);
    });
    push(queue_, dispatch(kEntry) + write_data(at(0), 1) + signal(at(4), 1));
    EXPECT_THAT(run(), IsEmpty());
    EXPECT_TRUE(has_run);
  }
  EXPECT_TRUE(write_was_first);
}

TEST_F(Pm4Test, PartialFlush_WaitsForDispatches) {
  for (std::uint64_t seed = 0; seed != 20; ++seed) {
    start({.seed = seed});
    begin();
    kfd_->set_host_kernel(kEntry, [&](const auto&) { EXPECT_EQ(data_.word(0), 0u); });
    push(queue_, dispatch(kEntry) + flush() + write_data(at(0), 1));
    EXPECT_THAT(run(), IsEmpty());
    EXPECT_EQ(data_.word(0), 1u);
  }
}

TEST_F(Pm4Test, Dispatches_RunInAnyOrder) {
  std::vector<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed != 20; ++seed) {
    start({.seed = seed});
    begin();
    std::vector<std::uint64_t> order;
    for (const std::uint64_t entry : {kEntry, kEntry + 0x1000}) {
      kfd_->set_host_kernel(entry, [&order, entry](const auto&) { order.push_back(entry); });
    }
    push(queue_, dispatch(kEntry) + dispatch(kEntry + 0x1000));
    EXPECT_THAT(run(), IsEmpty());
    ASSERT_EQ(order.size(), 2u);
    firsts.push_back(order[0]);
  }
  EXPECT_THAT(firsts, ::testing::Contains(kEntry));
  EXPECT_THAT(firsts, ::testing::Contains(kEntry + 0x1000));
}

TEST_F(Pm4Test, Ring_Wraps) {
  for (std::uint32_t i = 1; i != 400; ++i) {
    push(queue_, signal(at(0), i) + Words{0xffff1000});
    EXPECT_THAT(run(), IsEmpty());
    ASSERT_EQ(data_.word(0), i);
  }
  EXPECT_GT(queue_.put * 4, queue_.ring.size);
}

TEST_F(Pm4Test, PointerWithoutDoorbell_IsWhatIsWaitedFor) {
  write(queue_, signal(at(0), 1));
  queue_.write_pointer() = queue_.put;
  EXPECT_THAT(run(), ElementsAre(HasSubstr("its doorbell announced only")));
  ring(queue_);
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(Pm4Test, DoorbellBeforeThePointer_IsReported) {
  write(queue_, signal(at(0), 1));
  *queue_.doorbell = queue_.put;
  run();
  EXPECT_THAT(rules(), ElementsAre("doorbell-before-write-pointer"));
}

TEST_F(Pm4Test, DoorbellBeforeTheWords_IsReported) {
  push(queue_, wait(at(0), 1) + Words(8));
  run();
  queue_.put -= 8;
  write(queue_, signal(at(4), 1));
  data_.word(0) = 1;
  run();
  EXPECT_THAT(rules(), ElementsAre("unknown-packet"));
}

TEST_F(Pm4Test, DoorbellBackwards_IsReported) {
  push(queue_, signal(at(0), 1));
  run();
  *queue_.doorbell = 4;
  run();
  EXPECT_THAT(rules(), ElementsAre("doorbell-backwards"));
}

TEST_F(Pm4Test, FullRing_IsReported) {
  push(queue_, wait(at(0), 1));
  run();
  push(queue_, Words(1024, 0xffff1000));
  run();
  EXPECT_THAT(rules(), ElementsAre("ring-overflow"));
}

TEST_F(Pm4Test, WordsAfterAWait_WereFetched) {
  push(queue_, wait(at(0), 1) + signal(at(4), 1));
  run();
  queue_.ring.word(4 * (7 + 5)) = 2;  // the signal's value
  data_.word(0) = 1;
  run();
  EXPECT_THAT(rules(), ElementsAre("patched-after-fetch"));
  EXPECT_THAT(texts_, HasSubstr("an indirect buffer of their own"));
  EXPECT_EQ(data_.word(4), 1u);  // what was fetched is executed
}

TEST_F(Pm4Test, WordsOfABufferAfterAWait_MayChange) {
  KfdBuffer body = allocate(4096);
  const Words words = signal(at(4), 1);
  for (std::size_t i = 0; i != words.size(); ++i) body.word(4 * i) = words[i];
  push(queue_, wait(at(0), 1) + indirect(body.address, 8));
  run();
  body.word(4 * 5) = 2;
  data_.word(0) = 1;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(4), 2u);
}

TEST_F(Pm4Test, WordsAfterTheFetchDepth_MayChange) {
  push(queue_, wait(at(0), 1) + Words(64, 0xffff1000) + signal(at(4), 1));
  run();
  queue_.ring.word(4 * (7 + 64 + 5)) = 2;
  data_.word(0) = 1;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(4), 2u);
}

TEST_F(Pm4Test, PacketPastTheWritePointer_IsReported) {
  push(queue_, {0xc0064900, 0x514});
  run();
  EXPECT_THAT(rules(), ElementsAre("read-past-write-pointer"));
}

TEST_F(Pm4Test, PacketPastItsBuffer_IsReported) {
  KfdBuffer body = allocate(4096);
  const Words words = signal(at(0), 1);
  for (std::size_t i = 0; i != words.size(); ++i) body.word(4 * i) = words[i];
  push(queue_, indirect(body.address, 7));
  run();
  EXPECT_THAT(rules(), ElementsAre("read-past-indirect-buffer"));
}

TEST_F(Pm4Test, BufferThatIsNotMapped_IsReported) {
  push(queue_, indirect(at(4092), 8));
  run();
  EXPECT_THAT(rules(), ElementsAre("indirect-buffer-unmapped"));
}

TEST_F(Pm4Test, BufferWithoutTheValidBit_IsReported) {
  push(queue_, {0xc0023f00, low(at(0)), high(at(0)), 8});
  run();
  EXPECT_THAT(rules(), ElementsAre("indirect-buffer"));
}

TEST_F(Pm4Test, UnmapOfABufferThatIsRead_IsReported) {
  KfdBuffer body = allocate(4096);
  const Words words = wait(at(0), 1) + signal(at(4), 1);
  for (std::size_t i = 0; i != words.size(); ++i) body.word(4 * i) = words[i];
  push(queue_, indirect(body.address, static_cast<std::uint32_t>(words.size())));
  run();
  EXPECT_EQ(unmap(body), -EBUSY);
  EXPECT_THAT(rules(), ElementsAre("unmap-in-flight"));
  data_.word(0) = 1;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(unmap(body), 0);
  EXPECT_EQ(free(body), 0);
}

struct Wrong {
  const char* rule;
  Words words;
};

std::vector<Wrong> wrong_packets(std::uint32_t lo, std::uint32_t hi) {
  return {
      {"unknown-packet", {0}},
      {"unknown-opcode", {0xc0009900, 0}},
      {"unknown-opcode", {0xc0002300, 1}},  // PRED_EXEC, which gfx11 lacks
      {"packet-length", {0xc0043c00, 0x15, lo, hi, 5, 0xffffffff}},
      {"packet-length", {0xc0055800, 0, 0xffffffff, 0xffffffff, 0, 0, 10}},  // of gfx9
      {"wait-reg-mem", {0xc0053c00, 0x17, lo, hi, 5, 0xffffffff, 4}},
      {"wait-reg-mem", {0xc0053c00, 0x15, lo + 2, hi, 5, 0xffffffff, 4}},
      {"wait-reg-mem", {0xc0053c00, 0x45, 0xe26, 0xe28, 1, 1, 4}},
      {"access", {0xc0053c00, 0x15, 16, 0, 5, 0xffffffff, 4}},
      {"release-without-end-of-pipe", {0xc0064900, 0x414, 0x20000000, lo, hi, 6, 0, 0}},
      {"release-without-end-of-pipe", {0xc0064900, 0x507, 0x20000000, lo, hi, 6, 0, 0}},
      {"release-mem", {0xc0064900, 0x514, 0xa0000000, lo, hi, 6, 0, 0}},
      {"unaligned", {0xc0064900, 0x514, 0x40000000, lo + 4, hi, 6, 0, 0}},
      {"access", {0xc0064900, 0x514, 0x20000000, 16, 0, 6, 0, 0}},
      {"write-data", {0xc0033700, 0, lo, hi, 1}},
      {"copy-data", {0xc0044000, 0x503, lo, hi, lo, hi}},
      {"event-write", {0xc0004600, 0x507}},
      {"set-sh-reg", {0xc0017600, 0x400, 1}},
      {"dispatch", {0xc0031500, 4, 2, 1, 0x8004}},
      {"register-not-set", {0xc0031500, 4, 2, 1, 0x8005}},
  };
}

TEST_F(Pm4Test, WrongPackets_AreReported) {
  for (std::size_t i = 0; i != wrong_packets(0, 0).size(); ++i) {
    start({});
    begin();
    const Wrong wrong = wrong_packets(low(at(0)), high(at(0)))[i];
    push(queue_, wrong.words);
    run();
    EXPECT_THAT(rules(), ElementsAre(wrong.rule)) << i << ": " << texts_;
  }
}

TEST_F(Pm4Test, WriteToReadOnlyMemory_IsReported) {
  const KfdBuffer constant = allocate(4096, kMemory & ~abi::kWritable);
  push(queue_, signal(constant.address, 1));
  run();
  EXPECT_THAT(rules(), ElementsAre("access"));
  EXPECT_THAT(texts_, HasSubstr("WRITABLE"));
}

TEST_F(Pm4Test, CodeInDataMemory_IsReported) {
  const KfdBuffer plain = allocate(4096, kMemory & ~abi::kExecutable);
  push(queue_, dispatch(plain.address));
  run();
  EXPECT_THAT(rules(), ElementsAre("access"));
  EXPECT_THAT(texts_, HasSubstr("EXECUTABLE"));
}

TEST_F(Pm4Test, ScratchThatIsMissing_IsReported) {
  kfd_->set_host_kernel(kEntry, [](const auto&) {});
  push(queue_, dispatch(kEntry, 2u << 1 | 1));
  run();
  EXPECT_THAT(rules(), ElementsAre("register-not-set"));
}

TEST_F(Pm4Test, ScratchThatIsTooSmall_IsReported) {
  kfd_->set_host_kernel(kEntry, [](const auto&) {});
  KfdBuffer scratch = allocate(4096);
  const std::uint64_t base = scratch.address >> 8;
  // 2 waves of each of 6 engines, 512 bytes each: 6 KiB.
  push(queue_, Words{0xc0017600, 0x218, 2u << 12 | 2, 0xc0027600, 0x210, low(base), high(base)} +
                   dispatch(kEntry, 2u << 1 | 1));
  run();
  EXPECT_THAT(rules(), ElementsAre("access"));
}

TEST_F(Pm4Test, SlotThatTheHostWritesInFlight_IsReported) {
  bool is_seen = false;
  for (std::uint64_t seed = 0; seed != 20 && !is_seen; ++seed) {
    start({.seed = seed});
    begin();
    // Stands for the host, at a moment between the packet and its end of pipe.
    kfd_->set_host_kernel(kEntry, [&](const auto&) { data_.word(0) = 77; });
    push(queue_, dispatch(kEntry) + signal(at(0), 1));
    run();
    // Found only if the signal was begun before the write.
    const auto found = rules();
    is_seen = found == std::vector<std::string>{"slot-written-by-host-and-device"};
    EXPECT_TRUE(is_seen || found.empty());
  }
  EXPECT_TRUE(is_seen);
}

TEST_F(Pm4Test, Wait_Compares32Bits) {
  data_.quad(0) = 0x1'0000'0004;
  push(queue_, wait(at(0), 5));
  EXPECT_THAT(run(), ElementsAre(HasSubstr("which is 4")));
}

TEST_F(Pm4Test, Wait64_Compares64Bits) {
  data_.quad(0) = 0x1'0000'0004;
  push(queue_, Words{0xc0079300, 5 | 1u << 4, low(at(0)), high(at(0)), 5, 0, 0xffffffff, 0xffffffff,
                     4u | 1u << 31} +
                   signal(at(8), 1));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(8), 1u);
}

TEST_F(Pm4Test, CopyData_CopiesAndReadsTheClock) {
  data_.quad(0) = 0x1122334455667788;
  push(queue_,
       Words{0xc0044000, 2 | 5u << 8 | 1u << 16, low(at(0)), high(at(0)), low(at(8)), high(at(8)),
             0xc0044000, 9 | 5u << 8 | 1u << 16, 0, 0, low(at(16)), high(at(16))});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.quad(8), data_.quad(0));
  EXPECT_NE(data_.quad(16), 0u);
}

TEST_F(Pm4Test, Gfx942_HasItsOwnForms) {
  start({}, 1);
  begin();
  push(queue_, Words{0xc0055800, 0x08400000, 0xffffffff, 0xffffffff, 0, 0, 10} +
                   Words{0xc0027600, 0x20c, low(at(0x400) >> 8), high(at(0x400) >> 8), 0xc0027600,
                         0x212, 0, 0, 0xc0017600, 0x22d, 0, 0xc0037600, 0x207, 64, 1, 1} +
                   Words{0xc0031500, 1, 1, 1, 5} +
                   Words{0xc0064900, 0x00088514, 0x20000000, low(at(0)), high(at(0)), 6, 0, 0});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(0), 6u);
}

TEST_F(Pm4Test, TwoQueues_WaitForEachOther) {
  KfdQueue other = create(abi::kPm4);
  push(queue_, wait(at(0), 1) + signal(at(4), 1));
  push(other, signal(at(0), 1) + wait(at(4), 1) + signal(at(8), 1));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(data_.word(8), 1u);
}

TEST_F(Pm4Test, Seed_ChoosesTheOrder) {
  const auto order = [&](std::uint64_t seed) {
    start({.seed = seed});
    begin();
    KfdQueue other = create(abi::kPm4);
    std::vector<std::uint64_t> seen;
    for (const std::uint64_t entry : {kEntry, kEntry + 0x1000}) {
      kfd_->set_host_kernel(entry, [&seen, entry](const auto&) { seen.push_back(entry); });
    }
    for (int i = 0; i != 8; ++i) {
      push(queue_, dispatch(kEntry) + flush());
      push(other, dispatch(kEntry + 0x1000) + flush());
    }
    EXPECT_THAT(run(), IsEmpty());
    return seen;
  };
  const auto first = order(1);
  EXPECT_EQ(first, order(1));
  EXPECT_NE(first, order(2));
}

}  // namespace
}  // namespace halyard::testing
