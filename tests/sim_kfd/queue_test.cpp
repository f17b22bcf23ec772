// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim_kfd/kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class QueueTest : public KfdTest {
 protected:
  // CREATE_QUEUE fails with EINVAL and reports one rule.
  void expect_refused(abi::CreateQueue args, const char* rule) {
    EXPECT_EQ(request(abi::Request::kCreateQueue, 3, args), -EINVAL);
    EXPECT_THAT(rules(), ElementsAre(rule)) << texts_;
  }
};

TEST_F(QueueTest, Sizes_AreThoseOfTheKernel) {
  EXPECT_EQ(kfd::nodes()[0].control_stack_bytes(), 0xa000u);
  EXPECT_EQ(kfd::nodes()[0].save_bytes(), 0x2be0000u + 0xa000u);
  EXPECT_EQ(kfd::nodes()[0].debug_bytes(), 0x18000u);
  EXPECT_EQ(kfd::nodes()[0].save_area_bytes(), 46'145'536u);
  // 38 compute units of an XCC: 1,520 waves.
  EXPECT_EQ(kfd::nodes()[1].control_stack_bytes(), 0x3000u);
  EXPECT_EQ(kfd::nodes()[1].debug_bytes(), 48'640u);
}

TEST_F(QueueTest, Types_AreCreatedAndDestroyed) {
  for (const std::uint32_t type : {abi::kPm4, abi::kSdma, abi::kAql, abi::kSdmaByEngine}) {
    const KfdQueue queue = create(type);
    EXPECT_EQ(destroy(queue), 0);
    for (const KfdBuffer& buffer : {queue.ring, queue.pointers}) {
      EXPECT_EQ(unmap(buffer), 0);
      EXPECT_EQ(free(buffer), 0);
    }
  }
}

TEST_F(QueueTest, Doorbells_AreInThePageOfTheirDevice) {
  KfdQueue queue;
  abi::CreateQueue args = prepare(queue, abi::kPm4);
  ASSERT_EQ(request(abi::Request::kCreateQueue, 3, args), 0);
  EXPECT_EQ(args.doorbell_offset >> 62, 3u);
  EXPECT_EQ(args.doorbell_offset >> 46 & 0xffff, node().gpu_id);
  EXPECT_LT(args.doorbell_offset & 0x3fffffffffff, abi::kDoorbellBytes);
}

TEST_F(QueueTest, Properties_AreChecked) {
  KfdQueue queue;
  const abi::CreateQueue right = prepare(queue, abi::kPm4);
  abi::CreateQueue args = right;
  args.queue_type = 5;
  expect_refused(args, "queue-type");
  args = right;
  args.queue_percentage = 101;
  expect_refused(args, "queue-properties");
  args = right;
  args.queue_priority = 16;
  expect_refused(args, "queue-properties");
  args = right;
  args.ring_size = 3072;
  expect_refused(args, "queue-properties");
  args = right;
  args.ring_size = 512;
  expect_refused(args, "queue-properties");
  args = right;
  args.ring_base_address += 4;
  expect_refused(args, "queue-properties");
}

TEST_F(QueueTest, PointersNeedAPageOfTheirOwn) {
  KfdQueue queue;
  const abi::CreateQueue right = prepare(queue, abi::kPm4);
  const KfdBuffer two = allocate(8192);
  abi::CreateQueue args = right;
  args.write_pointer_address = two.address + 56;
  expect_refused(args, "queue-buffers");
  args = right;
  args.read_pointer_address = two.address + 128;
  expect_refused(args, "queue-buffers");
  args = right;
  args.write_pointer_address = 0x1000;
  expect_refused(args, "queue-buffers");
  args = right;
  args.write_pointer_address += 4;
  expect_refused(args, "unaligned");
}

TEST_F(QueueTest, PointersStartAt0) {
  KfdQueue queue;
  const abi::CreateQueue args = prepare(queue, abi::kPm4);
  queue.write_pointer() = 1;
  expect_refused(args, "queue-pointers");
}

TEST_F(QueueTest, RingNeedsABufferOfItsSize) {
  KfdQueue queue;
  abi::CreateQueue args = prepare(queue, abi::kSdma, 8192);
  args.ring_size = 4096;
  expect_refused(args, "queue-buffers");
  EXPECT_THAT(texts_, HasSubstr("the ring"));
}

TEST_F(QueueTest, EndOfPipeBufferIsChecked) {
  KfdQueue queue;
  const abi::CreateQueue right = prepare(queue, abi::kPm4);
  abi::CreateQueue args = right;
  args.eop_buffer_size = 8192;
  expect_refused(args, "queue-end-of-pipe");
  args = right;
  args.eop_buffer_address = allocate(8192).address;
  expect_refused(args, "queue-end-of-pipe");
  args = right;
  args.eop_buffer_address = 0;
  expect_refused(args, "queue-end-of-pipe");
}

TEST_F(QueueTest, SaveAreaIsChecked) {
  KfdQueue queue;
  const abi::CreateQueue right = prepare(queue, abi::kPm4);
  abi::CreateQueue args = right;
  args.ctl_stack_size += 4096;
  expect_refused(args, "queue-control-stack");
  args = right;
  args.ctx_save_restore_size -= 4096;
  expect_refused(args, "queue-save-area");
  args = right;
  args.ctx_save_restore_address = allocate(node().save_bytes()).address;
  expect_refused(args, "queue-save-area");  // without the debugger's part
}

TEST_F(QueueTest, AqlPointersAreThoseOfAmdQueue) {
  KfdQueue queue;
  abi::CreateQueue args = prepare(queue, abi::kAql);
  args.read_pointer_address += 64;
  expect_refused(args, "queue-amd-queue");
}

TEST_F(QueueTest, EngineIsChecked) {
  KfdQueue queue;
  abi::CreateQueue args = prepare(queue, abi::kSdmaByEngine);
  args.sdma_engine_id = 2;
  expect_refused(args, "queue-engine");
}

TEST_F(QueueTest, BuffersOfAQueue_StayMapped) {
  const KfdQueue queue = create(abi::kPm4);
  for (const KfdBuffer& buffer : {queue.ring, queue.pointers, queue.end_of_pipe, queue.save}) {
    EXPECT_EQ(unmap(buffer), -EBUSY);
    EXPECT_THAT(rules(), ElementsAre("unmap-of-queue"));
  }
  EXPECT_EQ(destroy(queue), 0);
  EXPECT_EQ(unmap(queue.ring), 0);
}

TEST_F(QueueTest, DestroyWithWork_IsReported) {
  KfdQueue queue = create(abi::kPm4);
  push(queue, {0xffff1000});
  EXPECT_EQ(destroy(queue), 0);
  EXPECT_THAT(rules(), ElementsAre("destroyed-with-work"));
  EXPECT_EQ(destroy(queue), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("unknown-queue"));
}

TEST_F(QueueTest, UpdateWithPercentage0_StopsTheQueue) {
  KfdQueue queue = create(abi::kPm4);
  abi::UpdateQueue args{queue.ring.address, queue.id, 4096, 0, 7};
  EXPECT_EQ(request(abi::Request::kUpdateQueue, 1, args), 0);
  push(queue, {0xffff1000});
  EXPECT_THAT(run(), ElementsAre(HasSubstr("switched off")));
  args.queue_percentage = 100;
  EXPECT_EQ(request(abi::Request::kUpdateQueue, 1, args), 0);
  EXPECT_THAT(run(), IsEmpty());
  args.queue_priority = 16;
  EXPECT_EQ(request(abi::Request::kUpdateQueue, 1, args), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("queue-properties"));
}

TEST_F(QueueTest, SdmaQueues_AreLimited) {
  for (int i = 0; i != 16; ++i) create(abi::kSdma, 1024 * 4);
  KfdQueue queue;
  abi::CreateQueue args = prepare(queue, abi::kSdma);
  EXPECT_EQ(request(abi::Request::kCreateQueue, 3, args), -ENOMEM);
}

}  // namespace
}  // namespace halyard::testing
