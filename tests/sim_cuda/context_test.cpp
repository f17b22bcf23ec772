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

// Runs `body` on a separate thread, in which no context is current.
template <class Body>
void without_context(Body body) {
  std::thread([&] {
    Handle none = reinterpret_cast<Handle>(&none);
    ASSERT_EQ(cuCtxGetCurrent(&none), kSuccess);
    ASSERT_EQ(none, nullptr);
    body();
  }).join();
}

// cuMemFree: the address determines its context. An engineer of NVIDIA, in NVIDIA/cuda-python, pull
// request 2750: "The driver resolves the allocation from the pointer via unified addressing and
// frees it in its owning context, with any context or none current." Numba's tests free that way.
TEST_F(SimCudaContext, NoneCurrent_MemoryIsFreed) {
  Address plain = words(4), pitched = 0, managed = 0, pooled = 0, ordered = 0;
  std::size_t pitch = 0;
  void* host = nullptr;
  static std::uint32_t registered[4];
  const Handle in = stream();
  ASSERT_EQ(cuMemAllocPitch_v2(&pitched, &pitch, 16, 4, 4), kSuccess);
  ASSERT_EQ(cuMemAllocManaged(&managed, 64, 1), kSuccess);
  ASSERT_EQ(cuMemAllocAsync(&pooled, 64, in), kSuccess);
  ASSERT_EQ(cuMemAllocAsync(&ordered, 64, in), kSuccess);
  ASSERT_EQ(cuMemHostAlloc(&host, 64, 0), kSuccess);
  ASSERT_EQ(cuMemHostRegister_v2(registered, sizeof registered, 0), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  without_context([&] {
    for (const Address each : {plain, pitched, managed, pooled}) {
      EXPECT_EQ(cuMemFree_v2(each), kSuccess);
      EXPECT_EQ(cuMemFree_v2(each), kInvalidValue);
    }
    EXPECT_EQ(cuMemFree_v2(0), kSuccess);
    EXPECT_EQ(cuMemFreeHost(nullptr), kSuccess);  // lupinemachines/lupine, pull request 858
    EXPECT_EQ(cuMemFreeHost(host), kSuccess);
    EXPECT_EQ(cuMemHostUnregister(registered), kSuccess);
    // cuda.h, cuMemFreeAsync: CUDA_ERROR_INVALID_CONTEXT (default stream specified with no current
    // context)
    EXPECT_EQ(cuMemFreeAsync(ordered, nullptr), kInvalidContext);
    EXPECT_EQ(cuMemFreeAsync(ordered, in), kSuccess);
  });
}

// A handle identifies its context, so a thread can destroy another thread's object without knowing
// its context.
TEST_F(SimCudaContext, NoneCurrent_HandlesAreDestroyed) {
  const Handle in = stream(), done = event();
  Handle module = nullptr, library = nullptr, kernel = nullptr, graph = nullptr, exec = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kFillPtx), kSuccess);
  ASSERT_EQ(cuLibraryLoadData(&library, kFillPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
            kSuccess);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "fill"), kSuccess);
  ASSERT_EQ(cuKernelGetFunction(&kernel, kernel), kSuccess);
  ASSERT_EQ(cuGraphCreate(&graph, 0), kSuccess);
  without_context([&] {
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), kSuccess);
    EXPECT_EQ(cuStreamDestroy_v2(in), kSuccess);
    EXPECT_EQ(cuEventDestroy_v2(done), kSuccess);
    EXPECT_EQ(cuModuleUnload(module), kSuccess);
    EXPECT_EQ(cuLibraryUnload(library), kSuccess);
    EXPECT_EQ(cuGraphExecDestroy(exec), kSuccess);
    EXPECT_EQ(cuGraphDestroy(graph), kSuccess);
  });
}

// cuMemAllocAsync: CUDA_ERROR_INVALID_CONTEXT (default stream specified with no current context). A
// stream that was created has a context: NVIDIA/cccl, pull request 9615, found that copies and
// memsets of such a stream succeed without a current one.
TEST_F(SimCudaContext, NoneCurrent_AStreamTakesWork) {
  const Handle in = stream(), done = event(), function = fill_function();
  const Address a = words(4);
  std::uint32_t read_back = 0;
  without_context([&] {
    Address pooled = 0;
    Handle context = nullptr;
    EXPECT_EQ(cuMemAllocAsync(&pooled, 64, in), kSuccess);
    EXPECT_EQ(cuMemsetD32Async(pooled, 4, 16, in), kSuccess);
    EXPECT_EQ(launch_fill(function, a, 7, 4, in), kSuccess);
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(a + 4, pooled, 4, in), kSuccess);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(&read_back, a + 4, 4, in), kSuccess);
    EXPECT_EQ(cuEventRecord(done, in), kSuccess);
    EXPECT_EQ(cuStreamWaitEvent(in, done, 0), kSuccess);
    EXPECT_EQ(cuLaunchHostFunc(in, [](void*) {}, nullptr), kSuccess);
    EXPECT_EQ(cuStreamWriteValue32_v2(in, a, 9, 0), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(in), kSuccess);
    EXPECT_EQ(cuStreamQuery(in), kSuccess);
    EXPECT_EQ(cuMemFreeAsync(pooled, in), kSuccess);
    EXPECT_EQ(cuStreamGetCtx(in, &context), kSuccess);
    EXPECT_EQ(context, context_);
  });
  EXPECT_EQ(read_back, 4U);
  EXPECT_EQ(read(a), 9U);
  EXPECT_EQ(read(a + 8), 7U);
}

// Calls with neither a handle nor an address require a current context, and so do the default
// streams: "the current context gives NULL stream its meaning" (NVIDIA/cccl, pull request 10889).
TEST_F(SimCudaContext, NoneCurrent_WhatNamesNoContextIsRefused) {
  const Handle done = event(), function = fill_function();
  const Address a = words(1);
  without_context([&] {
    Handle made = nullptr;
    Address b = 0;
    void* host = nullptr;
    std::uint32_t value = 0;
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cuMemAlloc_v2(&b, 4), kInvalidContext);
    EXPECT_EQ(cuMemHostAlloc(&host, 4, 0), kInvalidContext);
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), kInvalidContext);
    EXPECT_EQ(cuStreamCreate(&made, 0), kInvalidContext);
    EXPECT_EQ(cuEventCreate(&made, 0), kInvalidContext);
    EXPECT_EQ(cuModuleLoadData(&made, kFillPtx), kInvalidContext);
    EXPECT_EQ(cuCtxSynchronize(), kInvalidContext);
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, a, 4), kInvalidContext);
    EXPECT_EQ(cuMemAllocAsync(&b, 4, nullptr), kInvalidContext);
    EXPECT_EQ(cuMemsetD32Async(a, 1, 1, nullptr), kInvalidContext);
    EXPECT_EQ(cuStreamSynchronize(nullptr), kInvalidContext);
    EXPECT_EQ(cuStreamSynchronize_ptsz(nullptr), kInvalidContext);
    EXPECT_EQ(cuEventRecord(done, nullptr), kInvalidContext);
    EXPECT_EQ(launch_fill(function, a, 1, 1, nullptr), kInvalidContext);
  });
}

// The current context may be a different or a destroyed context.
TEST_F(SimCudaContext, AnotherOneCurrent_MemoryIsFreedInItsOwn) {
  const Handle in = stream();
  const Address a = words(4), b = words(4);
  Handle other = nullptr, destroyed = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 1), kSuccess);
  EXPECT_EQ(cuMemFree_v2(a), kSuccess);
  EXPECT_EQ(cuCtxDestroy_v2(other), kSuccess);
  ASSERT_EQ(cuCtxCreate_v2(&destroyed, 0, 1), kSuccess);
  std::thread([&] { ASSERT_EQ(cuCtxDestroy_v2(destroyed), kSuccess); }).join();
  EXPECT_EQ(cuCtxSynchronize(), kContextIsDestroyed);
  EXPECT_EQ(cuMemFree_v2(b), kSuccess);
  EXPECT_EQ(cuStreamDestroy_v2(in), kSuccess);
  EXPECT_EQ(cuCtxPopCurrent_v2(&destroyed), kSuccess);
}

// A thread_local object that was created before the thread's first call is destroyed after any
// thread_local object of the library.
struct FreedAtThreadEnd {
  Address memory = 0;
  int* result = nullptr;
  ~FreedAtThreadEnd() { *result = cuMemFree_v2(memory) + cuCtxSynchronize(); }
};
TEST_F(SimCudaContext, ThreadEnd_LeavesTheDriverToThreadLocalObjects) {
  const Address a = words(4);
  int result = -1;
  std::thread([&] {
    thread_local FreedAtThreadEnd last;
    last.result = &result;
    EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
    last.memory = a;
  }).join();
  EXPECT_EQ(result, kSuccess);
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

// cuGetProcAddress returns the newest form in the version. An unknown name succeeds with null; a
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
