// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <thread>

#include "sim_kfd/kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EventTest : public KfdTest {
 protected:
  EventTest() : page_(allocate(0x8000, abi::kGtt | abi::kUncached | abi::kWritable)) {}

  std::uint32_t create_event(std::uint32_t type, bool auto_reset = true) {
    abi::CreateEvent args{.event_page_offset = has_page_ ? 0 : page_.handle,
                          .event_type = type,
                          .auto_reset = auto_reset ? 1u : 0u};
    has_page_ = true;
    EXPECT_EQ(request(abi::Request::kCreateEvent, 3, args), 0);
    return args.event_id;
  }
  // Returns the wait's result, or the error.
  int wait(std::vector<abi::EventData>& events, std::uint32_t timeout, bool all = false) {
    abi::WaitEvents args{reinterpret_cast<std::uint64_t>(events.data()),
                         static_cast<std::uint32_t>(events.size()), all ? 1u : 0u, timeout, 7};
    const int error = request(abi::Request::kWaitEvents, 3, args);
    return error < 0 ? error : static_cast<int>(args.wait_result);
  }
  int wait_for(std::uint32_t event, std::uint32_t timeout = 1000) {
    std::vector<abi::EventData> events{abi::EventData{.memory = {}, .event_id = event}};
    return wait(events, timeout);
  }
  std::uint64_t slot(std::uint32_t event) const { return page_.address + 8ull * event; }
  // The packet that writes an event's slot and interrupts.
  std::vector<std::uint32_t> notify(std::uint32_t event) const {
    return {0xc0064900, 0x514, 0x22000000, low(slot(event)), high(slot(event)), event, 0, event};
  }

  KfdBuffer page_;
  bool has_page_ = false;
};

TEST_F(EventTest, ReleaseMem_SetsTheEvent) {
  const std::uint32_t event = create_event(abi::kSignalEvent);
  EXPECT_EQ(event, 1u);
  EXPECT_EQ(page_.quad(8 * event), ~0ull);
  KfdQueue queue = create(abi::kPm4);
  EXPECT_EQ(wait_for(event, 0), abi::kTimeout);
  push(queue, notify(event));
  EXPECT_EQ(wait_for(event), abi::kComplete);
  EXPECT_EQ(page_.quad(8 * event), ~0ull);
  EXPECT_EQ(wait_for(event), abi::kTimeout);  // it resets itself
}

TEST_F(EventTest, InterruptWithoutASlot_IsReported) {
  const std::uint32_t event = create_event(abi::kSignalEvent);
  KfdQueue queue = create(abi::kPm4);
  push(queue, {0xc0064900, 0x514, 0x02000000, 0, 0, 0, 0, event});
  run();
  EXPECT_THAT(rules(), ElementsAre("interrupt-without-slot"));
  push(queue, {0xc0064900, 0x514, 0x02000000, 0, 0, 0, 0, event + 1});
  run();
  EXPECT_THAT(rules(), ElementsAre("interrupt-without-event"));
}

TEST_F(EventTest, InterruptWithoutContext_ReadsAllSlots) {
  const std::uint32_t event = create_event(abi::kSignalEvent);
  KfdQueue queue = create(abi::kPm4);
  push(queue, {0xc0064900, 0x514, 0x22000000, low(slot(event)), high(slot(event)), event, 0, 0});
  EXPECT_EQ(wait_for(event), abi::kComplete);
}

TEST_F(EventTest, WaitForAll_NeedsAll) {
  const std::uint32_t first = create_event(abi::kSignalEvent, false);
  const std::uint32_t second = create_event(abi::kSignalEvent, false);
  std::vector<abi::EventData> events{abi::EventData{.memory = {}, .event_id = first},
                                     abi::EventData{.memory = {}, .event_id = second}};
  abi::EventId id{first};
  EXPECT_EQ(request(abi::Request::kSetEvent, 1, id), 0);
  EXPECT_EQ(wait(events, 0), abi::kComplete);
  EXPECT_EQ(wait(events, 0, true), abi::kTimeout);
  id = {second};
  EXPECT_EQ(request(abi::Request::kSetEvent, 1, id), 0);
  EXPECT_EQ(wait(events, 0, true), abi::kComplete);
  EXPECT_EQ(request(abi::Request::kResetEvent, 1, id), 0);
  EXPECT_EQ(wait(events, 0, true), abi::kTimeout);
}

TEST_F(EventTest, MisuseOfEvents_IsReported) {
  const std::uint32_t event = create_event(abi::kMemoryEvent);
  EXPECT_GE(event, abi::kEventLimit);
  abi::EventId id{event};
  EXPECT_EQ(request(abi::Request::kSetEvent, 1, id), -EINVAL);
  EXPECT_EQ(request(abi::Request::kDestroyEvent, 1, id), 0);
  EXPECT_EQ(request(abi::Request::kDestroyEvent, 1, id), -EINVAL);
  EXPECT_EQ(wait_for(event), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("unknown-event", "unknown-event", "unknown-event"));
  abi::CreateEvent second{.event_page_offset = page_.handle};
  EXPECT_EQ(request(abi::Request::kCreateEvent, 3, second), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("event-page"));
  EXPECT_EQ(unmap(page_), 0);
  EXPECT_EQ(free(page_), -EPERM);
  EXPECT_THAT(rules(), ElementsAre("free-event-page"));
}

TEST_F(EventTest, EventPageOfTheKernel_IsMapped) {
  has_page_ = true;  // none of the program's
  const std::uint32_t event = create_event(abi::kSignalEvent);
  auto* const slots = static_cast<std::uint64_t*>(
      kfd_->map(nullptr, 0x8000, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                static_cast<std::int64_t>(abi::kMmapEvents))
          .value());
  EXPECT_EQ(slots[event], ~0ull);
}

TEST_F(EventTest, EndlessWait_IsReported) {
  const std::uint32_t event = create_event(abi::kSignalEvent);
  EXPECT_EQ(wait_for(event, ~0u), -EINTR);
  EXPECT_THAT(rules(), ElementsAre("wait-for-ever"));
}

TEST_F(EventTest, PageFaultOfAPacket_SetsMemoryEvents) {
  const std::uint32_t event = create_event(abi::kMemoryEvent);
  KfdQueue queue = create(abi::kPm4);
  push(queue, {0xc0053c00, 0x15, 0x1004, 0, 5, 0xffffffff, 4});
  std::vector<abi::EventData> events{abi::EventData{.memory = {}, .event_id = event}};
  EXPECT_EQ(wait(events, 1000), abi::kComplete);
  EXPECT_EQ(events[0].memory.va, 0x1000u);
  EXPECT_EQ(events[0].memory.not_present, 1u);
  EXPECT_EQ(events[0].memory.gpu_id, node().gpu_id);
  EXPECT_THAT(rules(), ElementsAre("access"));
}

TEST_F(EventTest, PageFaultOfAKernel_IsNoViolation) {
  const std::uint32_t event = create_event(abi::kMemoryEvent);
  KfdQueue queue = create(abi::kPm4);
  // s_load_b64 s[2:3], s[0:1], 0; s_waitcnt; s_endpgm, with an address that is not mapped.
  KfdBuffer kernel = allocate(4096);
  const std::vector<std::uint32_t> code = {0xf4040080, 0xf8000000, 0xbf89fc07, 0xbfb00000};
  for (std::size_t i = 0; i != code.size(); ++i) kernel.word(4 * i) = code[i];
  push(queue, {0xc0027600,
               0x240,
               0x5000,
               0,
               0xc0027600,
               0x20c,
               low(kernel.address >> 8),
               high(kernel.address >> 8),
               0xc0027600,
               0x212,
               0xaf0000,
               2u << 1,
               0xc0017600,
               0x228,
               0,
               0xc0037600,
               0x207,
               1,
               1,
               1,
               0xc0031500,
               1,
               1,
               1,
               0x8005});
  std::vector<abi::EventData> events{abi::EventData{.memory = {}, .event_id = event}};
  EXPECT_EQ(wait(events, 1000), abi::kComplete);
  EXPECT_EQ(events[0].memory.va, 0x5000u);
}

TEST_F(EventTest, InjectedFaults_StopTheDevice) {
  for (const kfd::Fault fault : {kfd::Fault::kMemory, kfd::Fault::kHang, kfd::Fault::kException}) {
    start({});
    has_page_ = false;
    page_ = allocate(0x8000, abi::kGtt | abi::kUncached | abi::kWritable);
    const std::uint32_t memory = create_event(abi::kMemoryEvent, false);
    const std::uint32_t exception = create_event(abi::kHwExceptionEvent, false);
    KfdQueue queue = create(abi::kPm4);
    kfd_->inject(0, fault, 0x12345678);
    push(queue, {0xffff1000});
    EXPECT_THAT(run(), ElementsAre(HasSubstr("faulted")));
    std::vector<abi::EventData> events{abi::EventData{.memory = {}, .event_id = memory}};
    EXPECT_EQ(wait(events, 0), fault == kfd::Fault::kMemory ? abi::kComplete : abi::kTimeout);
    if (fault == kfd::Fault::kMemory) {
      EXPECT_EQ(events[0].memory.va, 0x12345000u);
    }
    events[0].event_id = exception;
    EXPECT_EQ(wait(events, 0), fault == kfd::Fault::kException ? abi::kComplete : abi::kTimeout);
    if (fault == kfd::Fault::kException) {
      EXPECT_EQ(events[0].hardware.memory_lost, 1u);
    }
    KfdQueue other;
    abi::CreateQueue args = prepare(other, abi::kSdma);
    EXPECT_EQ(request(abi::Request::kCreateQueue, 3, args), -EIO);
    EXPECT_EQ(destroy(queue), 0);
  }
}

TEST_F(EventTest, ProcessorThread_RunsTheQueues) {
  const std::uint32_t event = create_event(abi::kSignalEvent);
  KfdQueue queue = create(abi::kPm4);
  const kfd::ProcessorThread processor(*kfd_);
  for (int i = 0; i != 50; ++i) {
    write(queue, notify(event));
    std::atomic_ref(queue.write_pointer()).store(queue.put, std::memory_order_release);
    std::atomic_ref(*queue.doorbell).store(queue.put, std::memory_order_release);
    ASSERT_EQ(wait_for(event, 60'000), abi::kComplete);
  }
  EXPECT_EQ(wait_for(event, 1), abi::kTimeout);
}

}  // namespace
}  // namespace halyard::testing
