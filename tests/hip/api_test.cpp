// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments that the driver passes to HIP where HIP differs from CUDA.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "hip_test_util.h"

namespace halyard::hip {
namespace {

using State = FakeTable::State;

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

TEST(HipLaunch, ArgumentsEndWithHipsOwnMark) {
  FakeTable hip;
  const std::byte arguments[12] = {};
  const HipApi::Function function{.handle = nullptr, .workgroup_size = {64, 1, 1}};
  ASSERT_TRUE(hip.api().launch(a_stream(), function, {1, 1, 1}, arguments).ok());
  const auto& extra = FakeTable::state.extra;
  EXPECT_EQ(number(extra[0]), 1u);
  EXPECT_EQ(extra[1], &arguments[0]);
  EXPECT_EQ(number(extra[2]), 2u);
  EXPECT_EQ(number(extra[4]), 3u);
}

TEST(HipEvents, AnEventThatIsSleptOnHasNoOtherFlag) {
  FakeTable hip;
  HipApi::Event event = nullptr;
  ASSERT_TRUE(hip.api(true).create_event(event).ok());
  EXPECT_EQ(FakeTable::state.event_flags, hipEventBlockingSync);
  ASSERT_TRUE(hip.api(false).create_event(event).ok());
  EXPECT_EQ(FakeTable::state.event_flags, hipEventDisableTiming);
}

// The call returns the previous mode of the thread, so the driver can restore it.
TEST(HipContext, TheCaptureModeBeforeIsGivenBack) {
  FakeTable hip;
  hip.table.hipThreadExchangeStreamCaptureMode.pointer = [](hipStreamCaptureMode* mode) {
    static hipStreamCaptureMode current{};
    std::swap(*mode, current);
    return hipSuccess;
  };
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  ASSERT_TRUE(hip.api().exchange_capture_mode(mode).ok());
  EXPECT_EQ(mode, hipStreamCaptureMode{});
  ASSERT_TRUE(hip.api().exchange_capture_mode(mode).ok());
  EXPECT_EQ(mode, hipStreamCaptureModeRelaxed);
}

// If a device cannot be set, device 0 remains current on the thread, and every call succeeds on it.
TEST(HipContext, NothingIsMadeOfAnotherDevice) {
  FakeTable hip;
  hip.device.handle = 1;
  const HipApi api = hip.api();
  std::uint64_t address = 0;
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  hipGraphExec_t executable = nullptr;
  hipGraph_t graph = nullptr;
  ASSERT_TRUE(api.create_graph(graph).ok());
  for (const Status& status :
       {api.allocate(address, 64), api.allocate_managed(address, 64), api.create_stream(stream, 0),
        api.create_event(event), api.instantiate(graph, executable)}) {
    EXPECT_EQ(status.native_error(), "hipErrorInvalidContext (201)");
  }
  EXPECT_EQ(State{}.allocations, FakeTable::state.allocations);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(executable, nullptr);
  api.destroy(graph);
}

TEST(HipMemory, PinnedMemoryIsCoherent) {
  FakeTable hip;
  stream::HostMemory memory;
  ASSERT_TRUE(hip.api().allocate_host(memory, 64).ok());
  EXPECT_EQ(FakeTable::state.host_flags, hipHostMallocPortable | hipHostMallocMapped);
  hip.api().free_host(memory.pointer);
}

TEST(HipMemory, DevicesMaySeePinnedMemoryElsewhere) {
  FakeTable hip;
  hip.table.hipHostGetDevicePointer.pointer = [](void** address, void* pointer, unsigned) {
    *address = static_cast<std::byte*>(pointer) + 0x100;
    return hipSuccess;
  };
  HipApi::Flag flag;
  ASSERT_TRUE(hip.api().create_flag(flag).ok());
  EXPECT_EQ(flag.address, number(flag.pointer) + 0x100);
  static std::uintptr_t written;
  hip.table.hipStreamWriteValue64.pointer = [](hipStream_t, void* address, std::uint64_t,
                                               unsigned) {
    return written = number(address), hipSuccess;
  };
  ASSERT_TRUE(hip.api().write(a_stream(), flag, 5).ok());
  EXPECT_EQ(written, flag.address);
  hip.api().destroy(flag);
}

TEST(HipMemory, RegisteredMemoryOfOthersIsNotRegisteredAgain) {
  FakeTable hip;
  std::byte bytes[16];
  EXPECT_EQ(hip.api().register_host(bytes, sizeof bytes).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(FakeTable::state.registrations, 0);
  FakeTable::state.knows_memory = false;
  EXPECT_TRUE(hip.api().register_host(bytes, sizeof bytes).ok());
  EXPECT_EQ(FakeTable::state.registrations, 1);
}

TEST(HipMemory, TypesOfMemoryHaveOtherNumbersSinceHip6) {
  FakeTable hip;
  int owner = 0;
  for (const auto& [version, type, expected] : {std::tuple{5'07'00000, 1, 3},
                                                {5'07'00000, 2, -1},
                                                {6'00'00000, 2, 3},
                                                {6'00'00000, 1, -1}}) {
    hip.table.version = version;
    FakeTable::state.memory_type = type;
    ASSERT_TRUE(hip.api().find_owner(0x7000, owner).ok());
    EXPECT_EQ(owner, expected) << version << " " << type;
  }
}

TEST(HipStreams, HandlesThatAreNoStreamsOfTheirOwnAreRefused) {
  FakeTable hip;
  hip.table.hipStreamGetDevice.pointer = [](hipStream_t, int* device) {
    return *device = 1, hipSuccess;
  };
  for (const std::uintptr_t handle : {0, 1, 2}) {
    EXPECT_EQ(hip.api().check_import(reinterpret_cast<hipStream_t>(handle)).code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(hip.api().check_import(a_stream()).code(), StatusCode::kPermissionDenied);
  hip.device.handle = 1;
  EXPECT_TRUE(hip.api().check_import(a_stream()).ok());
}

}  // namespace
}  // namespace halyard::hip
