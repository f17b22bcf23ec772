// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices, their two layouts of properties, contexts, peers and errors. Sources: files of ROCm/clr
// f9f995c hipamd/src, and, for HIP 7, of ROCm/rocm-systems projects/clr.
#include <cstring>
#include <set>
#include <thread>

#include "sim_hip/test_util.h"

namespace halyard_test {
namespace {

TEST(HipDevice, InitializesItselfAtTheFirstCall) {
  int count = 0;
  EXPECT_EQ(hipGetDeviceCount(&count), kOk);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(hipInit(0), kOk);
  EXPECT_EQ(hipInit(1), kInvalidValue);
}

// CHANGELOG.md of projects/clr: HIP_VERSION in both.
TEST(HipDevice, HasOneVersionForDriverAndRuntime) {
  int driver = 0, runtime = 0;
  EXPECT_EQ(hipDriverGetVersion(&driver), kOk);
  EXPECT_EQ(hipRuntimeGetVersion(&runtime), kOk);
  EXPECT_EQ(driver, runtime);
  EXPECT_GE(version(), 506);
}

// hip_context.cpp: tls.device_ is device 0 in every new thread.
TEST(HipDevice, ANewThreadHasDevice0) {
  ASSERT_EQ(hipSetDevice(1), kOk);
  int other = -1;
  std::thread([&] { EXPECT_EQ(hipGetDevice(&other), kOk); }).join();
  EXPECT_EQ(other, 0);
  int mine = -1;
  EXPECT_EQ(hipGetDevice(&mine), kOk);
  EXPECT_EQ(mine, 1);
  EXPECT_EQ(hipSetDevice(0), kOk);
  EXPECT_EQ(hipSetDevice(2), kInvalidDevice);
}

// H52, H72: sizes 792 and 1472; offsets of gcnArchName 396 and 1160.
TEST(HipDevice, PropertiesHaveTheLayoutOfTheirSymbol) {
  std::vector<char> old(4096, 0x5a), current(4096, 0x5a);
  ASSERT_EQ(hipGetDeviceProperties(old.data(), 0), kOk);
  EXPECT_STREQ(old.data() + 396, "gfx1100");
  EXPECT_EQ(old[792], 0x5a);
  int warp = 0, device = -1;
  std::memcpy(&warp, old.data() + 276, sizeof warp);
  EXPECT_EQ(warp, 32);
  ASSERT_EQ(hipGetDevicePropertiesR0600(current.data(), 0), kOk);
  EXPECT_STREQ(current.data() + 1160, "gfx1100");
  EXPECT_EQ(current[1472], 0x5a);
  std::memcpy(&warp, current.data() + 308, sizeof warp);
  EXPECT_EQ(warp, 32);
  char id[16];
  ASSERT_EQ(hipDeviceGetPCIBusId(id, sizeof id, 1), kOk);
  ASSERT_EQ(hipDeviceGetByPCIBusId(&device, id), kOk);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(hipDeviceGetPCIBusId(id, 12, 0), kInvalidValue);  // 13 bytes are needed
}

// hip_device.cpp:424: 16 hexadecimal digits, as characters.
TEST(HipDevice, UuidsAreCharacters) {
  char first[16], second[16];
  ASSERT_EQ(hipDeviceGetUuid(first, 0), kOk);
  ASSERT_EQ(hipDeviceGetUuid(second, 1), kOk);
  for (const char digit : first) EXPECT_TRUE(std::isxdigit(digit)) << digit;
  EXPECT_NE(std::memcmp(first, second, 16), 0);
}

// hip_device_runtime.cpp; H72: 69 and 89 to 91 were added in 6.0.
TEST(HipDevice, AttributesHaveHipsNumbers) {
  const auto attribute = [](int which) {
    int value = -1;
    EXPECT_EQ(hipDeviceGetAttribute(&value, which, 0), kOk) << which;
    return value;
  };
  EXPECT_EQ(attribute(56), 1024);   // MaxThreadsPerBlock
  EXPECT_EQ(attribute(74), 65536);  // MaxSharedMemoryPerBlock
  EXPECT_EQ(attribute(85), 1);      // UnifiedAddressing, always
  EXPECT_EQ(attribute(87), 32);     // WarpSize
  EXPECT_EQ(attribute(88), 1);      // MemoryPoolsSupported
  EXPECT_EQ(attribute(23), 11);     // ComputeCapabilityMajor
  int value = 0;
  EXPECT_EQ(hipDeviceGetAttribute(&value, 12345, 0), kInvalidValue);
  EXPECT_EQ(hipDeviceGetAttribute(&value, 90, 0), is_since(600) ? kOk : kInvalidValue);
}

// hip_stream.hpp: High -1, Normal 0, Low 1.
TEST(HipDevice, PrioritiesAreFrom1ToMinus1) {
  int least = 0, greatest = 0;
  ASSERT_EQ(hipDeviceGetStreamPriorityRange(&least, &greatest), kOk);
  EXPECT_EQ(least, 1);
  EXPECT_EQ(greatest, -1);
}

// hip_peer.cpp:27,171
TEST(HipDevice, PeersAreOfTheCurrentDevice) {
  int can = -1;
  EXPECT_EQ(hipDeviceCanAccessPeer(&can, 0, 0), kOk);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(hipDeviceCanAccessPeer(&can, 0, 1), kOk);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(hipDeviceEnablePeerAccess(0, 0), kInvalidDevice);  // in CUDA 217
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 1), kInvalidValue);
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), kOk);
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), kPeerAlreadyEnabled);
  EXPECT_EQ(hipDeviceDisablePeerAccess(1), kOk);
  EXPECT_EQ(hipDeviceDisablePeerAccess(1), kPeerNotEnabled);
}

// hip_context.cpp:168: the stack is not the current device.
TEST(HipContext, SettingNoneUnsetsNothing) {
  ASSERT_EQ(hipSetDevice(0), kOk);
  hipCtx_t first = nullptr, current = nullptr;
  ASSERT_EQ(hipCtxGetCurrent(&first), kOk);
  EXPECT_NE(first, nullptr);  // never null
  ASSERT_EQ(hipCtxSetCurrent(nullptr), kOk);
  ASSERT_EQ(hipCtxGetCurrent(&current), kOk);
  EXPECT_EQ(current, first);
}

TEST(HipContext, PoppingLeavesTheDeviceThatWasPushed) {
  ASSERT_EQ(hipSetDevice(0), kOk);
  hipCtx_t other = nullptr, popped = nullptr;
  ASSERT_EQ(hipDevicePrimaryCtxRetain(&other, 1), kOk);
  ASSERT_EQ(hipCtxPushCurrent(other), kOk);
  int device = -1;
  ASSERT_EQ(hipGetDevice(&device), kOk);
  EXPECT_EQ(device, 1);
  ASSERT_EQ(hipCtxPopCurrent(&popped), kOk);
  EXPECT_EQ(popped, other);
  ASSERT_EQ(hipGetDevice(&device), kOk);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(hipCtxPopCurrent(&popped), kInvalidContext);  // empty
  ASSERT_EQ(hipSetDevice(0), kOk);
}

// hip_context.cpp:377
TEST(HipContext, RetainingCountsNothing) {
  hipCtx_t context = nullptr;
  EXPECT_EQ(hipDevicePrimaryCtxRetain(&context, 0), kOk);
  EXPECT_EQ(hipDevicePrimaryCtxRelease(0), kOk);
  EXPECT_EQ(hipDevicePrimaryCtxRelease(0), kOk);
  EXPECT_EQ(hipDevicePrimaryCtxRelease(7), kInvalidDevice);
  EXPECT_EQ(hipDevicePrimaryCtxSetFlags(0, 0), kContextInUse);
  EXPECT_EQ(hipDevicePrimaryCtxReset(0), kOk);
  void* memory = device_memory<int>(1);
  EXPECT_EQ(hipFree(memory), kOk);
  EXPECT_EQ(hipCtxSynchronize(), kNotSupported);
}

// hip_error.cpp; IREE's status_util.c compares the names.
TEST(HipError, HasNames) {
  EXPECT_STREQ(hipGetErrorName(1), "hipErrorInvalidValue");
  EXPECT_STREQ(hipGetErrorName(218), "hipErrorInvalidKernelFile");
  EXPECT_STREQ(hipGetErrorName(709), "hipErrorContextIsDestroyed");
  EXPECT_STREQ(hipGetErrorName(912), "hipErrorInvalidTexture");
  EXPECT_STREQ(hipGetErrorName(12345), "hipErrorUnknown");
  EXPECT_STREQ(hipGetErrorString(100), "no ROCm-capable device is detected");
  const char* name = nullptr;
  EXPECT_EQ(hipDrvGetErrorName(12345, &name), kInvalidValue);
  EXPECT_STREQ(name, "hipErrorUnknown");
}

// hip_internal.hpp, HIP_RETURN of 6.x and HIP_UPDATE_ERROR_STATE of 7.x
TEST(HipError, TheLastErrorIsThatOfTheLastCallUpTo6) {
  (void)hipGetLastError();
  int value = 0;
  EXPECT_EQ(hipDeviceGetAttribute(&value, 12345, 0), kInvalidValue);
  EXPECT_EQ(hipGetDevice(&value), kOk);
  EXPECT_EQ(hipPeekAtLastError(), is_since(700) ? kInvalidValue : kOk);
  EXPECT_EQ(hipGetLastError(), is_since(700) ? kInvalidValue : kOk);
  EXPECT_EQ(hipGetLastError(), kOk);
}

TEST(HipError, NotReadyIsNoLastErrorSince7) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), kOk);
  Gate gate;
  gate.hold(stream);
  const int expected = is_since(700) ? kOk : kNotReady;
  (void)hipGetLastError();
  EXPECT_EQ(hipStreamQuery(stream), kNotReady);
  EXPECT_EQ(hipGetLastError(), expected);
  gate.open();
  EXPECT_EQ(hipStreamSynchronize(stream), kOk);
  EXPECT_EQ(hipStreamDestroy(stream), kOk);
}

TEST(HipError, WhatIsNotBuiltIsNotSupported) {
  void* array = nullptr;
  EXPECT_EQ(hipMallocArray(&array, nullptr, 1, 1, 0), kNotSupported);
  EXPECT_EQ(hipIpcGetMemHandle(nullptr, nullptr), kNotSupported);
  EXPECT_EQ(hipPeekAtLastError(), kNotSupported);
  (void)hipGetLastError();
}

// hip_table_interface.cpp: the newer layout for callers of 6.0 and later.
TEST(HipProcAddress, FollowsTheCallersVersion) {
  void* function = nullptr;
  int status = -1;
  ASSERT_EQ(hipGetProcAddress("hipGetDeviceProperties", &function, 50'631'061, 0, &status), kOk);
  EXPECT_EQ(function, reinterpret_cast<void*>(&hipGetDeviceProperties));
  if (is_since(600)) {
    ASSERT_EQ(hipGetProcAddress("hipGetDeviceProperties", &function, 60'000'000, 0, &status), kOk);
    EXPECT_EQ(function, reinterpret_cast<void*>(&hipGetDevicePropertiesR0600));
  }
  EXPECT_EQ(hipGetProcAddress("hipNoSuchName", &function, 60'000'000, 0, &status), kInvalidValue);
  EXPECT_EQ(status, 1);
  // A name that was added in 6.4
  EXPECT_EQ(hipGetProcAddress("hipStreamBatchMemOp", &function, 0, 0, &status),
            is_since(604) ? kOk : kInvalidValue);
}

TEST(HipDevice, AResetEndsStreamsAndMemory) {
  ASSERT_EQ(hipSetDevice(1), kOk);
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), kOk);
  void* memory = device_memory<int>(100);
  ASSERT_EQ(hipDeviceReset(), kOk);
  EXPECT_EQ(hipFree(memory), kInvalidValue);
  std::size_t free = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&free, &total), kOk);
  EXPECT_EQ(free, total);
  void* again = device_memory<int>(100);
  EXPECT_EQ(hipFree(again), kOk);
  ASSERT_EQ(hipSetDevice(0), kOk);
}

}  // namespace
}  // namespace halyard_test
