// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of SdmaEncoder, executed by SDMA queues.
#include "amd_over_kfd/amd_over_kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SdmaOverKfdTest : public AmdOverKfdTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  SdmaOverKfdTest() {
    start({}, GetParam());
    begin();
    queue_ = create(abi::kSdma);
  }
  // Puts the words into the ring itself.
  void put(const hcq::WordList& list) {
    queue_.put = amd::write_sdma(queue_.put, ring_words(queue_), list.words()).value();
    ring(queue_);
  }

  KfdQueue queue_;
  CommandWords list_;
  amd::SdmaEncoder sdma_{list_, amd::generation_of(kfd::nodes()[GetParam()].name).value()};
};

INSTANTIATE_TEST_SUITE_P(Devices, SdmaOverKfdTest, ::testing::Values(0u, 1u),
                         [](const auto& test) { return kfd::nodes()[test.param].name; });

TEST_P(SdmaOverKfdTest, CommandsRunInOrder) {
  const amd::Mailbox event = create_event();
  check(sdma_.wait(signal(0), 5));
  check(sdma_.timestamp(signal(1)));
  check(sdma_.copy(output_.address + 4, input_.address, 13));
  check(sdma_.write(signal(3), 0xffff'fffe, 4));
  check(sdma_.write(signal(4), 0x1234'5678'9abc, 8));
  check(sdma_.signal(signal(2), 6, &event));
  submit(queue_, list_);

  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 5")));
  EXPECT_EQ(output_.word(4), 0u);
  EXPECT_FALSE(take_event(event));

  value(0) = 7;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_NE(time(1), 0u);
  EXPECT_EQ(std::memcmp(output_.host + 4, input_.host, 13), 0);
  EXPECT_EQ(output_.host[3], std::byte{0});
  EXPECT_EQ(output_.word(20), 0u);
  EXPECT_EQ(time(3), 0xffff'fffeu);
  EXPECT_EQ(time(4), 0x1234'5678'9abcu);
  EXPECT_EQ(value(2), 6u);
  EXPECT_TRUE(take_event(event));
  EXPECT_FALSE(take_event(event));
}

// The most that a packet of gfx942 copies, and some bytes: two packets there, one on gfx11.
TEST_P(SdmaOverKfdTest, ALongCopyIsWhole) {
  const std::uint64_t size = (4 << 20) + 4097, whole = 8 << 20;
  KfdBuffer source = allocate(whole), target = allocate(whole);
  for (std::uint64_t i = 0; i != whole / 4; ++i) source.word(4 * i) = static_cast<unsigned>(i);
  check(sdma_.copy(target.address, source.address, size));
  EXPECT_EQ(list_.words().size(), sdma_.max_copy() < size ? 14u : 7u);
  put(list_);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(std::memcmp(target.host, source.host, size), 0);
  EXPECT_EQ(target.host[size], std::byte{0});
}

TEST_P(SdmaOverKfdTest, AnUpdateBeforeTheFetchChangesWhatIsCopied) {
  check(sdma_.wait(signal(0), 1));
  check(sdma_.copy(output_.address, input_.address, 64));
  Segments segments = submit(queue_, list_);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 1")));
  // The packet has the size less 1.
  segments.write(place_of(list_, hcq::FieldRole::kSize), 32 - 1);
  segments.write(place_of(list_, hcq::FieldRole::kSource), input_.address + 8);
  value(0) = 1;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(output_.word(0), 102u);
  EXPECT_EQ(output_.word(28), 109u);
  EXPECT_EQ(output_.word(32), 0u);
}

// Rounds have two lengths, so that the packets before the ring's end differ from lap to lap.
TEST_P(SdmaOverKfdTest, PacketsInTheRingWrap) {
  for (std::uint32_t i = 1; i != 500; ++i) {
    CommandWords list;
    amd::SdmaEncoder sdma(list, generation());
    check(sdma.wait(signal(0), i - 1));
    if (i % 2 == 0) check(sdma.timestamp(signal(1)));
    check(sdma.copy(output_.address, input_.address + 4 * i, 4));
    check(sdma.signal(signal(0), i));
    put(list);
    EXPECT_THAT(run(), IsEmpty());
    ASSERT_EQ(output_.word(0), 100 + i);
    ASSERT_EQ(value(0), i);
  }
  EXPECT_GT(queue_.put, 5 * queue_.ring.size);
}

TEST_P(SdmaOverKfdTest, IndirectPacketsWrap) {
  check(sdma_.signal(signal(0), 1));
  Segments segments = submit(queue_, list_);
  CommandWords other;  // so that there are words of packets where zeros come in a later lap
  check(amd::SdmaEncoder(other, generation()).timestamp(signal(1)));
  for (std::uint32_t i = 2; i != 500; ++i) {
    EXPECT_THAT(run(), IsEmpty());
    segments.write(place_of(list_, hcq::FieldRole::kSignal), i);
    if (i % 5 == 0) put(other);
    append(queue_, list_.words(), segments.memory.address);
    ring(queue_);
    EXPECT_THAT(run(), IsEmpty());
    ASSERT_EQ(value(0), i);
  }
  EXPECT_GT(queue_.put, 3 * queue_.ring.size);
}

}  // namespace
}  // namespace halyard::testing
