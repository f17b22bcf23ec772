// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AQL packets, and PM4 segments in AMD's vendor packets, executed by AQL queues.
#include "amd_over_kfd/amd_over_kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AqlOverKfdTest : public AmdOverKfdTest {
 protected:
  CommandWords list_;
};

TEST_F(AqlOverKfdTest, PacketsAndSegmentsRunInOrder) {
  HALYARD_NEEDS_ASSEMBLER();
  KfdQueue queue = create_aql();
  const amd::Kernel kernel = load(exchange());
  const amd::Mailbox event = create_event();
  amd::set_queue_scratch(std::span<std::byte, 256>(queue.pointers.host, 256), scratch());
  amd::Pm4Encoder pm4(list_, generation());
  check(pm4.wait(signal(0), 5));
  amd::append_barrier(list_);
  check(amd::append_dispatch(list_, kernel, launch(3)));
  check(pm4.timestamp(signal(1)));
  check(pm4.signal(signal(2), 6, &event));
  submit(queue, list_);
  EXPECT_EQ(queue.put, 4u);

  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 5")));
  expect_output(0);
  EXPECT_FALSE(take_event(event));
  value(0) = 5;
  EXPECT_THAT(run(), IsEmpty());
  expect_output(3);
  EXPECT_NE(time(1), 0u);
  EXPECT_EQ(value(2), 6u);
  EXPECT_TRUE(take_event(event));
  EXPECT_EQ(queue.read_pointer(), queue.put);
}

TEST_F(AqlOverKfdTest, AKernelReadsItsDispatchPacket) {
  HALYARD_NEEDS_ASSEMBLER();
  KfdQueue queue = create_aql();
  check(amd::append_dispatch(list_, load(packet_reader()), launch(3)));
  submit(queue, list_);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(input_.word(0), 3 * kLanes);
  EXPECT_EQ(input_.word(4), kLanes);
}

TEST_F(AqlOverKfdTest, ABarrierOfPm4MakesNewCodeVisible) {
  HALYARD_NEEDS_ASSEMBLER();
  KfdQueue queue = create_aql();
  const amd::Kernel kernel = load(packet_reader());
  amd::Pm4Encoder(list_, generation()).barrier();
  check(amd::append_dispatch(list_, kernel, launch(3)));
  submit(queue, list_);
  EXPECT_THAT(run(), IsEmpty());
  input_.word(0) = 1;
  code_.word(kernel.entry() - code_.address) = 0xbfb00000;  // s_endpgm
  submit(queue, list_);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(input_.word(0), 1u);
}

// All of its XCCs execute PM4 words; only the first one signals.
TEST_F(AqlOverKfdTest, Gfx942) {
  start({}, 1);
  begin();
  ASSERT_GT(node().num_xcc, 1u);
  std::vector<std::uint32_t> groups;
  const amd::Kernel kernel = host_kernel([&](const kfd::HostLaunch& launch) {
    groups.push_back(launch.groups[0]);
    EXPECT_THAT(launch.block, ElementsAre(kLanes, 1, 1));
    EXPECT_THAT(launch.user_data, ElementsAre(low(arguments_.address), high(arguments_.address)));
  });
  const amd::Mailbox event = create_event();
  KfdQueue queue = create_aql();
  amd::Pm4Encoder pm4(list_, generation(), node().num_xcc);
  check(pm4.wait(signal(0), 5));
  pm4.barrier();
  check(amd::append_dispatch(list_, kernel, launch(2)));
  amd::append_barrier(list_);
  check(amd::append_dispatch(list_, kernel, launch(4)));
  check(pm4.write(signal(3), 9, 8));
  check(pm4.timestamp(signal(1)));
  check(pm4.signal(signal(2), 6, &event));
  submit(queue, list_);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 5")));
  EXPECT_THAT(groups, IsEmpty());
  value(0) = 5;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(groups, ElementsAre(2, 4));
  EXPECT_EQ(time(3), 9u);
  EXPECT_NE(time(1), 0u);
  EXPECT_EQ(value(2), 6u);
  EXPECT_TRUE(take_event(event));
}

// PM4 segments come after all dispatches before them, also when they only write.
TEST_F(AqlOverKfdTest, TheRingWraps) {
  std::uint32_t groups = 0;
  const amd::Kernel kernel = host_kernel([&](const kfd::HostLaunch& launch) {
    groups += launch.groups[0];
    EXPECT_EQ(value(0), 0u);
  });
  KfdQueue queue = create_aql();
  for (unsigned i = 0; i != 15; ++i) check(amd::append_dispatch(list_, kernel, launch(2)));
  check(amd::Pm4Encoder(list_, generation()).write(signal(0), 1, 4));
  for (unsigned i = 1; i != 40; ++i) {
    value(0) = 0;
    submit(queue, list_);
    EXPECT_THAT(run(), IsEmpty());
    ASSERT_EQ(groups, 30 * i);
    ASSERT_EQ(value(0), 1u);
  }
  EXPECT_GT(queue.put, 8 * queue.ring.size / 64);
}

}  // namespace
}  // namespace halyard::testing
