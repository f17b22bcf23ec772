// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The public handles Device, Buffer, Executable and Semaphore: results and errors.
#include "halyard/hal/device.h"

#include <thread>

#include "hal/fake_driver.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using testing::sample_hyx;

class DeviceTest : public testing::FakeWorld {};

TEST_F(DeviceTest, EmptyHandlesAnswerInvalidArgument) {
  const Device none;
  EXPECT_FALSE(none);
  EXPECT_ERROR(none.status(), StatusCode::kInvalidArgument, "device: status");
  EXPECT_ERROR(none.create_semaphore().status(), StatusCode::kInvalidArgument, "create_semaphore");
  EXPECT_ERROR(none.allocate({.size = 1}).status(), StatusCode::kInvalidArgument, "allocate");
  EXPECT_ERROR(none.load("x.hyx").status(), StatusCode::kInvalidArgument, "load");
  EXPECT_ERROR(none.load({}, "x").status(), StatusCode::kInvalidArgument, "load");
  EXPECT_EQ(none.queue(), Queue());
  EXPECT_EQ(none.dump_timelines(), "");

  EXPECT_EQ(Buffer().size(), 0u);
  EXPECT_ERROR(Buffer().map().status(), StatusCode::kInvalidArgument, "buffer: map");
  EXPECT_ERROR(Buffer().subspan(0).status(), StatusCode::kInvalidArgument, "buffer: subspan");

  const Semaphore semaphore;
  EXPECT_ERROR(semaphore.query().status(), StatusCode::kInvalidArgument, "semaphore: query");
  EXPECT_ERROR(semaphore.signal(1), StatusCode::kInvalidArgument, "semaphore: signal");
  EXPECT_ERROR(semaphore.wait(1), StatusCode::kInvalidArgument, "semaphore: wait");
  const auto token = std::make_shared<int>();
  EXPECT_ERROR(semaphore.on_reach(1, [token](const Status&) {}).status(),
               StatusCode::kInvalidArgument, "semaphore: on_reach");
  EXPECT_EQ(token.use_count(), 1);
  semaphore.fail(Status(StatusCode::kInternal, "no effect"));

  EXPECT_EQ(Executable().function_count(), 0u);
  EXPECT_ERROR(Executable().function(0).status(), StatusCode::kInvalidArgument, "executable");
  EXPECT_ERROR(Executable().function("f").status(), StatusCode::kInvalidArgument, "executable");
  EXPECT_EQ(Function().name(), "");
  EXPECT_EQ(Function().binding_count(), 0u);
  EXPECT_EQ(CommandBuffer().command_count(), 0u);
}

TEST_F(DeviceTest, HasOneQueueOfEachKind) {
  EXPECT_EQ(device.queue(), device.queue(QueueKind::kCompute));
  EXPECT_NE(device.queue(), device.queue(QueueKind::kCopy));
  EXPECT_EQ(device.queue(QueueKind::kCopy).kind(), QueueKind::kCopy);
  EXPECT_FALSE(device.queue(static_cast<QueueKind>(9)));
}

TEST_F(DeviceTest, AllocatesTheRequestedSizeAndType) {
  EXPECT_EQ(buffer(0).size(), 0u);
  const Buffer made = buffer(100, MemoryType::kHostLocal);
  EXPECT_EQ(made.size(), 100u);
  EXPECT_EQ(made.memory_type(), MemoryType::kHostLocal);
}

TEST_F(DeviceTest, RefusesImpossibleAllocations) {
  EXPECT_ERROR(device.allocate({.size = 1, .alignment = 48}).status(), StatusCode::kInvalidArgument,
               "alignment 48");
  EXPECT_ERROR(device.allocate({.size = 1, .alignment = 8192}).status(),
               StatusCode::kInvalidArgument, "alignment 8192");
  EXPECT_ERROR(device.allocate({.size = 1, .memory = static_cast<MemoryType>(7)}).status(),
               StatusCode::kInvalidArgument, "memory type 7");
  EXPECT_ERROR(device.allocate({.size = ~0ull}).status(), StatusCode::kResourceExhausted,
               "2^64 - 1 bytes, more than 1073741824");
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "no memory", "ENOMEM");
  const Status status = device.allocate({.size = 1}).status();
  EXPECT_ERROR(status, StatusCode::kResourceExhausted, "device fake://0: allocate: no memory");
  EXPECT_EQ(status.native_error(), "ENOMEM");
}

TEST_F(DeviceTest, SubspansNestAndStayInside) {
  const Buffer whole = buffer(100);
  const Buffer part = whole.subspan(10, 50).value();
  const Buffer inner = part.subspan(5).value();
  EXPECT_EQ(inner.size(), 45u);
  EXPECT_EQ(inner.map().value().bytes().data(), whole.map().value().bytes().data() + 15);
  EXPECT_EQ(part.subspan(50).value().size(), 0u);
  EXPECT_ERROR(part.subspan(51).status(), StatusCode::kOutOfRange, "offset 51");
  EXPECT_ERROR(part.subspan(10, 41).status(), StatusCode::kOutOfRange, "41 bytes at offset 10");
  EXPECT_ERROR(part.subspan(1, ~0ull - 1).status(), StatusCode::kOutOfRange,
               "2^64 - 2 bytes at offset 1 are beyond the end of 50 bytes");
  EXPECT_ERROR(part.subspan(50, 1).status(), StatusCode::kOutOfRange,
               "1 byte at offset 50 is beyond the end of 50 bytes");
}

TEST_F(DeviceTest, MapsHostVisibleMemory) {
  Mapping mapping = buffer(64).map(8, 16).value();
  EXPECT_EQ(mapping.bytes().size(), 16u);
  EXPECT_EQ(mapping.as<double>().size(), 2u);
  mapping.bytes()[15] = std::byte{1};  // the mapping keeps its memory
  Mapping moved = std::move(mapping);
  EXPECT_EQ(moved.bytes()[15], std::byte{1});
  EXPECT_TRUE(mapping.bytes().empty());
  EXPECT_ERROR(buffer(64).map(65).status(), StatusCode::kOutOfRange, "offset 65");
  EXPECT_ERROR(buffer(64, MemoryType::kDeviceLocal).map().status(), StatusCode::kPermissionDenied,
               "device-local memory of fake://0");
}

TEST_F(DeviceTest, FunctionsShowTheirReflection) {
  const Executable executable = load(device);
  ASSERT_EQ(executable.function_count(), 2u);
  const Function wide = executable.function("wide").value();
  EXPECT_EQ(wide, executable.function(1).value());
  EXPECT_NE(wide, executable.function(0).value());
  EXPECT_EQ(wide.name(), "wide");
  EXPECT_EQ(wide.workgroup_size().x, 8u);
  EXPECT_EQ(wide.workgroup_size().y, 4u);
  EXPECT_EQ(wide.binding(0).name, "z");
  EXPECT_EQ(wide.binding(0).access, kernel::Access::kWrite);
  EXPECT_EQ(wide.binding(0).element, kernel::ElementType::kFloat64);
  EXPECT_EQ(wide.constant(0).name, "k");
  EXPECT_EQ(wide.constant(0).type, kernel::ElementType::kInt64);
  EXPECT_TRUE(wide.may_overlap());
  EXPECT_FALSE(executable.function(0).value().may_overlap());
  EXPECT_FALSE(Function().may_overlap());
  EXPECT_ERROR(executable.function("tall").status(), StatusCode::kNotFound, "tall");
  EXPECT_ERROR(executable.function(2).status(), StatusCode::kOutOfRange,
               "executable sample.hyx: function 2 of 2");
}

TEST_F(DeviceTest, OfAFileOnlyTheKernelsBeyondTheLimitsAreUnavailable) {
  control->limits.max_bindings = 1;
  const Executable file = load(registry.open("fake://").value());
  EXPECT_ERROR(file.function("saxpy").status(), StatusCode::kUnavailable,
               "sample.hyx: fake://0 #2: kernel saxpy needs 2 bindings; the device has 1");
  EXPECT_ERROR(file.function(0).status(), StatusCode::kUnavailable, "2 bindings");
  EXPECT_TRUE(file.function("wide").ok());

  const auto refused = [&](DeviceLimits limits) {
    control->limits = limits;
    return load(registry.open("fake://").value()).function("saxpy").status();
  };
  const DeviceLimits all = device.info().limits;
  DeviceLimits limits = all;
  limits.max_workgroup_items = 255;
  EXPECT_ERROR(refused(limits), StatusCode::kUnavailable, "256 items in a workgroup");
  limits = all;
  limits.max_constants_bytes = 7;
  EXPECT_ERROR(refused(limits), StatusCode::kUnavailable, "8 bytes of constants");
  EXPECT_TRUE(refused(all).ok());
}

TEST_F(DeviceTest, ABufferHasALimit) {
  control->limits.max_buffer_size = 4096;
  const Device small = registry.open("fake://").value();
  EXPECT_TRUE(small.allocate({.size = 4096}).ok());
  EXPECT_ERROR(small.allocate({.size = 4097}).status(), StatusCode::kResourceExhausted,
               "4097 bytes, more than 4096");
}

TEST_F(DeviceTest, BadFilesAreErrorsThatNameThem) {
  EXPECT_ERROR(device.load("/no/such.hyx").status(), StatusCode::kNotFound, "/no/such.hyx");
  std::vector<std::byte> damaged = sample_hyx();
  damaged.resize(damaged.size() / 2);
  EXPECT_ERROR(device.load(damaged, "half.hyx").status(), StatusCode::kDataLoss, "half.hyx");
  EXPECT_ERROR(device.load({}, "none.hyx").status(), StatusCode::kDataLoss, "none.hyx");
}

TEST_F(DeviceTest, SemaphoresWorkFromTheHost) {
  EXPECT_ERROR(device.create_semaphore(1ull << 63).status(), StatusCode::kInvalidArgument,
               "2^63-1");
  const Semaphore s = device.create_semaphore(3, "three").value();
  EXPECT_EQ(s.query().value(), 3u);
  EXPECT_ERROR(s.signal(3), StatusCode::kInvalidArgument, "3");
  std::atomic<int> called{0};
  Registration four =
      s.on_reach(4, [&](const Status& status) { called += status.ok() ? 1 : 100; }).value();
  {
    const Registration dropped = s.on_reach(4, [&](const Status&) { called += 10; }).value();
  }
  std::thread other([&] { EXPECT_TRUE(s.wait(4, 20s).ok()); });
  EXPECT_TRUE(s.signal(4).ok());
  other.join();
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(wait_all({{s, 4}, {s, 1}}, kNow).ok());
  EXPECT_TRUE(wait_all({}, kNow).ok());
  EXPECT_TRUE(wait_any({}, kNow).ok());
  EXPECT_TRUE(wait_any({{s, 9}, {s, 2}}, kNow).ok());
  EXPECT_ERROR(wait_all({{s, 4}, {s, 5}}, kNow), StatusCode::kDeadlineExceeded, "three");
  s.fail(Status(StatusCode::kDataLoss, "torn"));
  EXPECT_ERROR(s.wait(5, 20s), StatusCode::kDataLoss, "torn");
  EXPECT_TRUE(s.wait(4, kNow).ok());
}

TEST_F(DeviceTest, ADumpNamesWaitsAndQueues) {
  const Semaphore gate = device.create_semaphore(0, "the gate").value();
  ASSERT_TRUE(queue.barrier({.wait = {{gate, 7}}}).ok());
  const std::string dump = device.dump_timelines();
  EXPECT_NE(dump.find("the gate"), std::string::npos) << dump;
  EXPECT_NE(dump.find("fake://0 compute"), std::string::npos) << dump;
  ASSERT_TRUE(gate.signal(7).ok());
}

TEST_F(DeviceTest, MemoryOfWorkThatHasEndedIsThereAgain) {
  control->automatic = false;
  ASSERT_TRUE(queue.fill(buffer(64), 1, 4, {}).ok());
  for (testing::FakeLane* lane : control->lanes) {
    if (lane != nullptr) lane->run();
  }
  control->most_memories = control->live_memories;
  EXPECT_TRUE(device.allocate({.size = 64}).ok()) << "no thread has waited for the work";
}

TEST_F(DeviceTest, ADumpListsNothingThatHasEnded) {
  control->automatic = false;
  ASSERT_TRUE(queue.barrier({}).ok());
  EXPECT_NE(device.dump_timelines().find("in flight as 1"), std::string::npos);
  for (testing::FakeLane* lane : control->lanes) {
    if (lane != nullptr) lane->run();
  }
  EXPECT_EQ(device.dump_timelines().find("in flight"), std::string::npos)
      << "no thread has waited for it";
}

TEST_F(DeviceTest, TwoThatAreOpenWithOneUriHaveNamesOfTheirOwn) {
  const Device second = registry.open("fake://").value();
  EXPECT_EQ(second.info().uri, device.info().uri);
  {
    const Device third = registry.open("fake://").value();
    EXPECT_ERROR(third.queue().fill(Buffer(), 0, 1, {}), StatusCode::kInvalidArgument,
                 "queue fake://0 #3 compute: fill");
  }
  const std::string dump = device.dump_timelines();
  EXPECT_NE(dump.find("fake://0 compute"), std::string::npos) << dump;
  EXPECT_NE(dump.find("fake://0 #2 compute"), std::string::npos) << dump;
  // Their names are free again.
  while (registry.open("fake://").value().queue().fill(Buffer(), 0, 1, {}).message().find("#3") ==
         std::string::npos) {
    std::this_thread::yield();  // the third one closes on a thread of the runtime
  }
}

TEST_F(DeviceTest, FlushAndInvalidateReachTheMemoryAtTheirOffset) {
  const Buffer part = buffer(256, MemoryType::kHostVisible).subspan(64, 128).value();
  const Mapping mapping = part.map(16, 32).value();
  ASSERT_TRUE(mapping.flush(8, 4).ok());
  ASSERT_TRUE(mapping.invalidate().ok());
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(control->flushed, (std::vector<Range>{{64 + 16 + 8, 4}}));
  EXPECT_EQ(control->invalidated, (std::vector<Range>{{64 + 16, 32}}));
}

TEST_F(DeviceTest, AnImportTheDriverRefusesReleasesNothing) {
  alignas(64) std::byte bytes[64];
  bool released = false;
  control->fail_allocate = Status(StatusCode::kUnimplemented, "no such memory");
  EXPECT_ERROR(device.import_memory(bytes, [&] { released = true; }).status(),
               StatusCode::kUnimplemented, "import_memory: no such memory");
  EXPECT_FALSE(released);
  control->fail_allocate = {};
  ASSERT_TRUE(device.import_memory(bytes, [&] { released = true; }).ok());
  EXPECT_TRUE(released) << "with the buffer, whose result the test drops";
}

}  // namespace
}  // namespace halyard::hal
