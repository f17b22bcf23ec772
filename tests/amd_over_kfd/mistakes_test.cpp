// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a driver could do wrong with right words: each is seen.
#include "amd_over_kfd/amd_over_kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MistakesOverKfdTest : public AmdOverKfdTest {
 protected:
  KfdQueue queue_ = create(abi::kPm4);
  CommandWords list_;
  amd::Pm4Encoder pm4_{list_, amd::Generation::kGfx11};
  std::vector<std::uint32_t> words() const { return {list_.words().begin(), list_.words().end()}; }
};

TEST_F(MistakesOverKfdTest, NoDoorbell_Hangs) {
  check(pm4_.signal(signal(0), 1));
  write(queue_, words());
  queue_.write_pointer() = queue_.put;
  EXPECT_THAT(run(), ElementsAre(HasSubstr("its doorbell announced only 0")));
  EXPECT_EQ(value(0), 0u);
  *queue_.doorbell = queue_.put;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(value(0), 1u);
}

TEST_F(MistakesOverKfdTest, DoorbellBeforeThePointer_IsReported) {
  check(pm4_.signal(signal(0), 1));
  write(queue_, words());
  *queue_.doorbell = queue_.put;
  run();
  EXPECT_THAT(rules(), ElementsAre("doorbell-before-write-pointer"));
  EXPECT_EQ(value(0), 0u);
}

TEST_F(MistakesOverKfdTest, PointerBeforeTheWords_IsReported) {
  check(pm4_.signal(signal(0), 1));
  queue_.put = list_.words().size();
  ring(queue_);
  run();
  EXPECT_THAT(rules(), ElementsAre("unknown-packet"));
}

TEST_F(MistakesOverKfdTest, AqlPointerBeforeThePacket_IsReported) {
  KfdQueue queue = create_aql();
  ++queue.put;
  ring(queue);
  run();
  EXPECT_THAT(rules(), ElementsAre("doorbell-before-packet"));
}

// Both segments in one buffer, as if they were one.
TEST_F(MistakesOverKfdTest, AnUpdateAfterTheFetch_IsReported) {
  check(pm4_.wait(signal(0), 1));
  check(pm4_.signal(signal(1), 1));
  ASSERT_EQ(list_.segment_count(), 2u);
  Segments segments{allocate(4096), {0, list_.segment(0).size_bytes()}};
  std::memcpy(segments.memory.host, list_.words().data(), list_.words().size_bytes());
  append(queue_, list_.words(), segments.memory.address);
  ring(queue_);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 1")));
  for (const hcq::FieldPlace& place : list_.places()) {
    if (place.part == 1 && place.field.role == hcq::FieldRole::kSignal) segments.write(place, 2);
  }
  value(0) = 1;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(rules(), ElementsAre("patched-after-fetch"));
  EXPECT_EQ(value(1), 1u);  // as it was fetched
}

// In the ring, where the words after a poll are fetched as well.
TEST_F(MistakesOverKfdTest, AnUpdateOfSdmaWordsInTheRing_IsReported) {
  KfdQueue queue = create(abi::kSdma);
  CommandWords list;
  amd::SdmaEncoder sdma(list, generation());
  check(sdma.wait(signal(0), 1));
  check(sdma.copy(output_.address, input_.address, 64));
  queue.put = amd::write_sdma(queue.put, ring_words(queue), list.words()).value();
  ring(queue);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 1")));
  Segments in_ring{queue.ring, {0, list.segment(0).size_bytes()}};
  in_ring.write(place_of(list, hcq::FieldRole::kSize), 31);
  value(0) = 1;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(rules(), ElementsAre("patched-after-fetch"));
  EXPECT_EQ(output_.word(60), 115u);
}

TEST_F(MistakesOverKfdTest, SdmaPacketsAcrossTheEndOfTheRing_AreReported) {
  KfdQueue queue = create(abi::kSdma);
  CommandWords list;
  amd::SdmaEncoder sdma(list, generation());
  check(sdma.copy(output_.address, input_.address, 64));
  for (std::uint64_t words = 0; words <= ring_words(queue).size(); words += 7) {
    push(queue, {list.words().begin(), list.words().end()});
    run();
  }
  EXPECT_THAT(rules(), ElementsAre("packet-crosses-ring-end"));
}

}  // namespace
}  // namespace halyard::testing
