// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices, contexts and entry points. Source: cuda.h of CUDA 13.0 at the function a case names.
#include <cstring>
#include <string>
#include <thread>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

using SimCudaContext = DriverTest;

TEST_F(SimCudaContext, Devices_AreTwoOfCapability80) {
  int count = 0, major = 0, minor = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), kSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cuDeviceGetAttribute(&major, 75, 1), kSuccess);
  EXPECT_EQ(cuDeviceGetAttribute(&minor, 76, 1), kSuccess);
  EXPECT_EQ(major * 10 + minor, 80);
  char first[16] = {}, second[16] = {};
  EXPECT_EQ(cuDeviceGetUuid_v2(first, 0), kSuccess);
  EXPECT_EQ(cuDeviceGetUuid_v2(second, 1), kSuccess);
  EXPECT_NE(std::memcmp(first, second, 16), 0);
  EXPECT_EQ(cuDeviceGetAttribute(&major, 0, 0), kInvalidValue);
  EXPECT_EQ(cuDeviceGet(&count, 2), 101);
}

// The current context is the top of a stack that each thread has.
TEST_F(SimCudaContext, Stack_IsPerThread) {
  Handle current = nullptr, popped = nullptr, second = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&second, 0, 1), kSuccess);
  EXPECT_EQ(cuCtxGetCurrent(&current), kSuccess);
  EXPECT_EQ(current, second);
  std::thread([&] {
    Handle none = second;
    EXPECT_EQ(cuCtxGetCurrent(&none), kSuccess);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(cuCtxSynchronize(), kInvalidContext);
    EXPECT_EQ(cuCtxPushCurrent_v2(context_), kSuccess);
    EXPECT_EQ(cuCtxSynchronize(), kSuccess);
  }).join();
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), kSuccess);
  EXPECT_EQ(popped, second);
  EXPECT_EQ(cuCtxGetCurrent(&current), kSuccess);
  EXPECT_EQ(current, context_);
  EXPECT_EQ(cuCtxDestroy_v2(second), kSuccess);
  EXPECT_EQ(cuCtxPushCurrent_v2(second), kInvalidContext);
}

// cuCtxSetCurrent: replaces the top of the stack.
TEST_F(SimCudaContext, SetCurrent_ReplacesTheTop) {
  Handle second = nullptr, popped = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&second, 0, 0), kSuccess);
  EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), kSuccess);
  EXPECT_EQ(popped, context_);
  EXPECT_EQ(cuCtxGetCurrent(&popped), kSuccess);
  EXPECT_EQ(popped, context_);
  EXPECT_EQ(cuCtxDestroy_v2(second), kSuccess);
}

// cuDevicePrimaryCtxRetain: counted; "does not push the context to the stack".
TEST_F(SimCudaContext, PrimaryContext_IsCountedAndNotPushed) {
  Handle first = nullptr, again = nullptr, current = nullptr;
  unsigned flags = 0;
  int is_active = 0;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&first, 1), kSuccess);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, 1), kSuccess);
  EXPECT_EQ(first, again);
  EXPECT_EQ(cuCtxGetCurrent(&current), kSuccess);
  EXPECT_EQ(current, context_);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), kSuccess);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(1, &flags, &is_active), kSuccess);
  EXPECT_EQ(is_active, 1);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), kSuccess);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(1, &flags, &is_active), kSuccess);
  EXPECT_EQ(is_active, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), kInvalidContext);
}

TEST_F(SimCudaContext, PeerAccess_IsNeededAndEnabledOnce) {
  Handle other = nullptr;
  int can = 0;
  ASSERT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), kSuccess);
  EXPECT_EQ(can, 1);
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 1), kSuccess);
  const Address there = words(4);
  ASSERT_EQ(cuMemsetD32_v2(there, 3, 4), kSuccess);
  ASSERT_EQ(cuCtxSetCurrent(context_), kSuccess);
  const Address here = words(4);
  EXPECT_EQ(cuMemcpyPeer(here, context_, there, other, 16), kSuccess);
  EXPECT_EQ(read(here), 3U);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), kSuccess);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), kPeerAlreadyEnabled);
  const Handle function = fill_function();
  EXPECT_EQ(launch_fill(function, there, 8, 4, nullptr), kSuccess);
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(read(there), 8U);
  EXPECT_EQ(cuCtxDisablePeerAccess(other), kSuccess);
  EXPECT_EQ(cuCtxDestroy_v2(other), kSuccess);
}

TEST_F(SimCudaContext, ErrorNames_AreThoseOfTheHeader) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(700, &text), kSuccess);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuGetErrorString(2, &text), kSuccess);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(12345, &text), kInvalidValue);
  EXPECT_EQ(text, nullptr);
}

// cuGetProcAddress: the newest form that the version has; an unknown name is success with null; a
// version above the driver's is invalid.
TEST_F(SimCudaContext, GetProcAddress_ChoosesByVersion) {
  void* function = nullptr;
  int status = -1;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 11030, 0, &status), kSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemsetD32Async", &function, 12000, 2, &status), kSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemsetD32Async_ptsz));
  EXPECT_EQ(cuGetProcAddress_v2("cuMemsetD32Async", &function, 12000, 1, &status), kSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemsetD32Async));
  EXPECT_EQ(cuGetProcAddress_v2("cuLibraryLoadData", &function, 11000, 0, &status), kSuccess);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, 2);
  EXPECT_EQ(cuGetProcAddress_v2("cuNoSuchFunction", &function, 12000, 0, &status), kSuccess);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(cuGetProcAddress("cuGetProcAddress", &function, 11030, 0), kSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuGetProcAddress));
  EXPECT_EQ(cuGetProcAddress("cuInit", &function, 99000, 0), kInvalidValue);
}

TEST_F(SimCudaContext, WhatIsNotBuilt_AnswersNotSupported) {
  EXPECT_EQ(cuTexObjectCreate(nullptr, nullptr, nullptr, nullptr), kNotSupported);
  EXPECT_EQ(cuGetExportTable(nullptr, nullptr), kNotSupported);
}

}  // namespace
}  // namespace halyard::testing::driver
