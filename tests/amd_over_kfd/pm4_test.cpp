// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of Pm4Encoder, executed by PM4 queues.
#include "amd_over_kfd/amd_over_kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Pm4OverKfdTest : public AmdOverKfdTest {
 protected:
  KfdQueue queue_ = create(abi::kPm4);
  DeviceBlocks blocks_{allocate(4096)};
  CommandWords list_{&blocks_};
  amd::Pm4Encoder pm4_{list_, amd::Generation::kGfx11};
};

TEST_F(Pm4OverKfdTest, CommandsRunInOrder) {
  HALYARD_NEEDS_ASSEMBLER();
  const amd::Kernel kernel = load(exchange());
  const amd::Mailbox event = create_event();
  check(pm4_.wait(signal(0), 5));
  pm4_.barrier();
  check(pm4_.timestamp(signal(1)));
  check(pm4_.exec(kernel, launch(3), scratch()));
  check(pm4_.timestamp(signal(2)));
  check(pm4_.signal(signal(3), 6, &event));
  submit(queue_, list_);

  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 5")));
  expect_output(0);
  EXPECT_EQ(time(1), 0u);
  EXPECT_EQ(value(3), 0u);
  EXPECT_FALSE(take_event(event));

  value(0) = 4;  // less
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 5")));
  value(0) = 7;  // more
  EXPECT_THAT(run(), IsEmpty());
  expect_output(3);
  EXPECT_NE(time(1), 0u);
  EXPECT_GE(time(2), time(1));
  EXPECT_EQ(value(3), 6u);
  EXPECT_TRUE(take_event(event));
  EXPECT_FALSE(take_event(event));
}

TEST_F(Pm4OverKfdTest, AnotherQueueEndsAWait) {
  check(pm4_.wait(signal(0), 1));
  check(pm4_.signal(signal(1), 1));
  submit(queue_, list_);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 1")));

  CommandWords other;
  check(amd::Pm4Encoder(other, amd::Generation::kGfx11).signal(signal(0), 1));
  KfdQueue second = create(abi::kPm4);
  submit(second, other);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(value(1), 1u);
}

TEST_F(Pm4OverKfdTest, AnUpdateBeforeTheFetchChangesWhatRuns) {
  HALYARD_NEEDS_ASSEMBLER();
  const amd::Kernel kernel = load(exchange());
  check(pm4_.wait(signal(0), 1));
  check(pm4_.exec(kernel, launch(3), scratch()));
  Segments segments = submit(queue_, list_);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 1")));
  segments.write(place_of(list_, hcq::FieldRole::kGridX), 2);
  value(0) = 1;
  EXPECT_THAT(run(), IsEmpty());
  expect_output(2);
}

TEST_F(Pm4OverKfdTest, AnUpdateBetweenSubmissionsMovesTheArguments) {
  HALYARD_NEEDS_ASSEMBLER();
  const amd::Kernel kernel = load(exchange());
  check(pm4_.exec(kernel, launch(1), scratch()));
  Segments segments = submit(queue_, list_);
  EXPECT_THAT(run(), IsEmpty());
  expect_output(1);

  KfdBuffer target = allocate(4096);
  KfdBuffer arguments = allocate(4096);
  arguments.quad(0) = input_.address;
  arguments.quad(8) = target.address;
  segments.write(place_of(list_, hcq::FieldRole::kArguments), arguments.address);
  append(queue_, list_.segment(0), segments.memory.address);
  ring(queue_);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(target.word(0), 102u);
  EXPECT_EQ(target.word(4), 101u);
}

TEST_F(Pm4OverKfdTest, AKernelReadsItsDispatchPacket) {
  HALYARD_NEEDS_ASSEMBLER();
  const amd::Kernel kernel = load(packet_reader());
  check(pm4_.exec(kernel, launch(3), {}));
  submit(queue_, list_);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(input_.word(0), 3 * kLanes);
  EXPECT_EQ(input_.word(4), kLanes);
}

// Compilers do that for gfx1100 (LLVM, FeatureUserSGPRInit16Bug): no value is in the others.
TEST_F(Pm4OverKfdTest, AKernelMayHaveMoreUserRegistersThanValues) {
  HALYARD_NEEDS_ASSEMBLER();
  const amd::Kernel kernel = load({.body = R"(s_load_b64 s[4:5], s[0:1], 0
v_mov_b32 v0, 0
v_mov_b32 v1, 7
s_waitcnt lgkmcnt(0)
global_store_b32 v0, v1, s[4:5])",
                                   .directives = ".amdhsa_user_sgpr_count 15"});
  ASSERT_EQ(kernel.descriptor.user_registers(), 15u);
  check(pm4_.exec(kernel, launch(1), {}));
  submit(queue_, list_);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(input_.word(0), 7u);
}

TEST_F(Pm4OverKfdTest, ABarrierMakesNewCodeVisible) {
  HALYARD_NEEDS_ASSEMBLER();
  const amd::Kernel kernel = load(exchange());
  const amd::Scratch memory = scratch();
  pm4_.barrier();
  check(pm4_.exec(kernel, launch(1), memory));
  submit(queue_, list_);
  EXPECT_THAT(run(), IsEmpty());
  expect_output(1);
  code_.word(kernel.entry() - code_.address) = 0xbfb00000;  // s_endpgm
  std::memset(output_.host, 0, output_.size);
  submit(queue_, list_);
  EXPECT_THAT(run(), IsEmpty());
  expect_output(0);
}

TEST_F(Pm4OverKfdTest, WritesHaveTheirWidthAndNopsDoNothing) {
  std::array<std::uint32_t, 9> nops;
  amd::fill_with_nops(nops);
  check(pm4_.write(signal(0), 0xffff'fffe, 4));
  check(pm4_.raw(nops));
  amd::fill_with_nops(std::span(nops).first(1));
  check(pm4_.raw(std::span(nops).first(1)));
  check(pm4_.write(signal(1), 0x1234'5678'9abc, 8));
  submit(queue_, list_);
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(time(0), 0xffff'fffeu);
  EXPECT_EQ(time(1), 0x1234'5678'9abcu);
}

TEST_F(Pm4OverKfdTest, WordsInTheRingWrap) {
  check(pm4_.signal(signal(0), 1));
  const hcq::FieldPlace place = place_of(list_, hcq::FieldRole::kSignal);
  for (std::uint32_t i = 1; i != 1000; ++i) {
    list_.write(place, i);
    push(queue_, {list_.words().begin(), list_.words().end()});
    EXPECT_THAT(run(), IsEmpty());
    ASSERT_EQ(value(0), i);
  }
  EXPECT_GT(queue_.put, 4 * ring_words(queue_).size());
}

// As on a partition of one XCC: with several, kernels need AQL.
TEST_F(Pm4OverKfdTest, Gfx942) {
  start({}, 1);
  begin();
  unsigned launches = 0;
  const amd::Kernel kernel = host_kernel([&](const kfd::HostLaunch& launch) {
    ++launches;
    EXPECT_THAT(launch.groups, ElementsAre(2, 1, 1));
    EXPECT_THAT(launch.block, ElementsAre(kLanes, 1, 1));
    EXPECT_THAT(launch.user_data, ElementsAre(low(arguments_.address), high(arguments_.address)));
  });
  const amd::Mailbox event = create_event();
  CommandWords list;
  amd::Pm4Encoder pm4(list, generation());
  check(pm4.wait(signal(0), 5));
  pm4.barrier();
  check(pm4.exec(kernel, launch(2), scratch()));
  check(pm4.timestamp(signal(1)));
  check(pm4.signal(signal(2), 6, &event));
  KfdQueue queue = create(abi::kPm4);
  submit(queue, list);
  EXPECT_THAT(run(), ElementsAre(HasSubstr("reference 5")));
  EXPECT_EQ(launches, 0u);
  value(0) = 5;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(launches, 1u);
  EXPECT_NE(time(1), 0u);
  EXPECT_EQ(value(2), 6u);
  EXPECT_TRUE(take_event(event));
}

}  // namespace
}  // namespace halyard::testing
