// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and events. Sources: cuda.h of CUDA 13.0 at the function that a case names, and NVIDIA's
// "CUDA Driver API: Stream synchronization behavior".
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

using SimCudaStream = DriverTest;

void set_flag(void* flag) { static_cast<std::atomic<int>*>(flag)->store(1); }

TEST_F(SimCudaStream, RunsWorkInItsOrder) {
  const Handle in = stream();
  const Address a = words(1);
  for (unsigned i = 1; i <= 50; ++i) ASSERT_EQ(cuMemsetD32Async(a, i, 1, in), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a), 50U);
}

TEST_F(SimCudaStream, RunsConcurrentlyWithOthers) {
  const Handle held = stream(), free = stream();
  const Address a = words(1);
  Gate gate;
  gate.hold(held);
  ASSERT_EQ(cuMemsetD32Async(a, 1, 1, free), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(free), kSuccess);
  EXPECT_EQ(cuStreamQuery(held), kNotReady);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(held), kSuccess);
}

// cuLaunchHostFunc: "Host functions without a mandated order ... may be serialized". On an H200
// they are.
TEST_F(SimCudaStream, HostFunctions_OfAllStreams_RunOneAtATime) {
  const Handle held = stream(), other = stream();
  Gate gate;
  std::atomic<int> ran = 0;
  gate.hold(held);
  gate.await();
  ASSERT_EQ(cuLaunchHostFunc(other, &set_flag, &ran), kSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ran, 0);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(other), kSuccess);
  EXPECT_EQ(ran, 1);
}

// cuEventQuery: an event that cuEventRecord was never called for is complete.
TEST_F(SimCudaStream, UnrecordedEvent_IsComplete_AndAWaitForItIsNone) {
  const Handle in = stream(), unrecorded = event();
  EXPECT_EQ(cuEventQuery(unrecorded), kSuccess);
  EXPECT_EQ(cuEventSynchronize(unrecorded), kSuccess);
  EXPECT_EQ(cuStreamWaitEvent(in, unrecorded, 0), kSuccess);
  EXPECT_EQ(cuStreamQuery(in), kSuccess);
}

// cuEventRecord: "Calls such as cuEventQuery() or cuStreamWaitEvent() will then examine or wait for
// completion of the work that was captured"; a later record does not move an earlier wait.
TEST_F(SimCudaStream, Wait_CapturesTheRecordAtItsCall) {
  const Handle producer = stream(), consumer = stream(), done = event();
  const Address a = words(1);
  Gate later;
  ASSERT_EQ(cuEventRecord(done, producer), kSuccess);
  ASSERT_EQ(cuStreamWaitEvent(consumer, done, 0), kSuccess);
  later.hold(producer);
  ASSERT_EQ(cuEventRecord(done, producer), kSuccess);
  ASSERT_EQ(cuMemsetD32Async(a, 1, 1, consumer), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(consumer), kSuccess);
  EXPECT_EQ(cuEventQuery(done), kNotReady);
  later.open();
  EXPECT_EQ(cuEventSynchronize(done), kSuccess);
}

TEST_F(SimCudaStream, Wait_OrdersAcrossStreams) {
  const Handle producer = stream(), consumer = stream(), done = event(kDisableTiming);
  const Address a = words(2);
  Gate gate;
  gate.hold(producer);
  ASSERT_EQ(cuMemsetD32Async(a, 7, 1, producer), kSuccess);
  ASSERT_EQ(cuEventRecord(done, producer), kSuccess);
  ASSERT_EQ(cuStreamWaitEvent(consumer, done, 0), kSuccess);
  ASSERT_EQ(cuMemcpyDtoDAsync_v2(a + 4, a, 4, consumer), kSuccess);
  EXPECT_EQ(cuStreamQuery(consumer), kNotReady);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(consumer), kSuccess);
  EXPECT_EQ(read(a + 4), 7U);
}

// cuEventRecord: "hEvent and hStream must be from the same context"; cuStreamWaitEvent: "hEvent may
// be from a different context or device".
TEST_F(SimCudaStream, Record_NeedsOneContext_WaitDoesNot) {
  const Handle here = stream(), mine = event();
  Handle other = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 1), kSuccess);
  const Handle there = stream();
  EXPECT_EQ(cuEventRecord(mine, there), kInvalidHandle);
  EXPECT_EQ(cuEventRecord(mine, here), kSuccess);
  EXPECT_EQ(cuStreamWaitEvent(there, mine, 0), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(there), kSuccess);
  EXPECT_EQ(cuCtxDestroy_v2(other), kSuccess);
}

// cuEventDestroy and cuStreamDestroy: work in flight continues, and the call does not block.
TEST_F(SimCudaStream, Destroy_NeitherBlocksNorCancels) {
  const Handle in = stream(), pending = event();
  Gate gate;
  std::atomic<int> ran = 0;
  gate.hold(in);
  ASSERT_EQ(cuLaunchHostFunc(in, &set_flag, &ran), kSuccess);
  ASSERT_EQ(cuEventRecord(pending, in), kSuccess);
  EXPECT_EQ(cuEventDestroy_v2(pending), kSuccess);
  EXPECT_EQ(cuStreamDestroy_v2(in), kSuccess);
  EXPECT_EQ(ran, 0);
  gate.open();
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(ran, 1);
}

struct CallInside {
  int result = -1;
};
void call_driver(void* data) {
  int count = 0;
  static_cast<CallInside*>(data)->result = cuDeviceGetCount(&count);
}

// cuLaunchHostFunc: "The host function must not make any CUDA API calls."
TEST_F(SimCudaStream, HostFunction_MayNotCallTheDriver) {
  const Handle in = stream();
  CallInside inside;
  ASSERT_EQ(cuLaunchHostFunc(in, &call_driver, &inside), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(inside.result, kNotPermitted);
}

// cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE without a record or with CU_EVENT_DISABLE_TIMING.
TEST_F(SimCudaStream, ElapsedTime_NeedsTimingAndRecords) {
  const Handle in = stream(), from = event(), to = event(), without = event(kDisableTiming);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, to), kInvalidHandle);
  ASSERT_EQ(cuEventRecord(from, in), kSuccess);
  ASSERT_EQ(cuEventRecord(without, in), kSuccess);
  Gate gate;
  gate.hold(in);
  ASSERT_EQ(cuEventRecord(to, in), kSuccess);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, to), kNotReady);
  gate.open();
  ASSERT_EQ(cuEventSynchronize(to), kSuccess);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, without), kInvalidHandle);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, to), kSuccess);
  EXPECT_GE(milliseconds, 0.0F);
}

// CU_STREAM_NON_BLOCKING: "Stream does not synchronize with stream 0 (the NULL stream)".
TEST_F(SimCudaStream, NullStream_WaitsForBlockingStreamsOnly) {
  const Handle blocking = stream(0), independent = stream(kNonBlocking);
  const Address a = words(2);
  Gate gate;
  gate.hold(blocking);
  ASSERT_EQ(cuStreamWaitValue32_v2(independent, a, 1, 0), kSuccess);
  ASSERT_EQ(cuMemsetD32Async(a + 4, 1, 1, nullptr), kSuccess);
  EXPECT_EQ(cuStreamQuery(nullptr), kNotReady);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
  EXPECT_EQ(cuStreamQuery(independent), kNotReady);
  ASSERT_EQ(cuStreamWriteValue32_v2(stream(), a, 1, 0), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(independent), kSuccess);
}

TEST_F(SimCudaStream, BlockingStream_WaitsForTheNullStream) {
  const Handle blocking = stream(0), independent = stream(kNonBlocking);
  const Address a = words(2);
  Gate gate;
  gate.hold(nullptr);
  ASSERT_EQ(cuMemsetD32Async(a, 1, 1, blocking), kSuccess);
  ASSERT_EQ(cuMemsetD32Async(a + 4, 1, 1, independent), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(independent), kSuccess);
  EXPECT_EQ(cuStreamQuery(blocking), kNotReady);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(blocking), kSuccess);
}

// "Per-thread default stream": each thread has one of its own; it is a blocking stream.
TEST_F(SimCudaStream, PerThreadStreams_AreOnePerThread) {
  Gate gate;
  ASSERT_EQ(cuLaunchHostFunc_ptsz(nullptr, &Gate::wait, &gate), kSuccess);
  EXPECT_EQ(cuStreamQuery_ptsz(nullptr), kNotReady);
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
    EXPECT_EQ(cuStreamQuery_ptsz(nullptr), kSuccess);
  }).join();
  gate.open();
  EXPECT_EQ(cuStreamSynchronize_ptsz(nullptr), kSuccess);
}

TEST_F(SimCudaStream, WaitValue_WaitsForAWriteOfAnotherStream) {
  const Handle consumer = stream(), producer = stream();
  const Address a = words(2);
  ASSERT_EQ(cuStreamWaitValue32_v2(consumer, a, 5, 0), kSuccess);  // at least 5, cyclic
  ASSERT_EQ(cuMemsetD32Async(a + 4, 9, 1, consumer), kSuccess);
  EXPECT_EQ(cuStreamQuery(consumer), kNotReady);
  ASSERT_EQ(cuStreamWriteValue32_v2(producer, a, 6, 0), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(consumer), kSuccess);
  EXPECT_EQ(read(a + 4), 9U);
}

// cuStreamWaitValue32: not for memory of cuMemAllocManaged.
TEST_F(SimCudaStream, WaitValue_RefusesManagedMemory) {
  Address managed = 0;
  ASSERT_EQ(cuMemAllocManaged(&managed, 64, 1), kSuccess);
  EXPECT_EQ(cuStreamWriteValue32_v2(stream(), managed, 1, 0), kInvalidValue);
  EXPECT_EQ(cuStreamWaitValue32_v2(stream(), 12345, 1, 0), kInvalidValue);
}

TEST_F(SimCudaStream, Priority_IsClamped) {
  Handle made = nullptr;
  int priority = 0;
  ASSERT_EQ(cuStreamCreateWithPriority(&made, kNonBlocking, -100), kSuccess);
  ASSERT_EQ(cuStreamGetPriority(made, &priority), kSuccess);
  EXPECT_EQ(priority, -5);
}

struct CallbackSeen {
  std::atomic<int> status = -1;
  std::atomic<int> host = 0;
};

// cuLaunchHostFunc: not called after an error in the context. cuStreamAddCallback says that it is
// called, with the error as status; an H200 does not call it. CUDA_ERROR_ILLEGAL_ADDRESS: every
// later call of the process answers it. The last case: nothing works on the device after it.
TEST_F(SimCudaStream, Fault_IsSticky_SkipsHostFunctionsAndCallbacks) {
  const Handle in = stream(), unused = event(), function = fill_function();
  Handle module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kFillPtx), kSuccess);
  CallbackSeen seen;
  Gate gate;
  gate.hold(in);
  ASSERT_EQ(launch_fill(function, 8, 1, 1, in), kSuccess);  // no address of any memory
  ASSERT_EQ(cuLaunchHostFunc(
                in, [](void* data) { static_cast<CallbackSeen*>(data)->host = 1; }, &seen),
            kSuccess);
  ASSERT_EQ(
      cuStreamAddCallback(
          in,
          [](Handle, int status, void* data) { static_cast<CallbackSeen*>(data)->status = status; },
          &seen, 0),
      kSuccess);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(in), kIllegalAddress);
  EXPECT_EQ(seen.host, 0);
  EXPECT_EQ(seen.status, -1);
  Address more = 0;
  Handle other = nullptr;
  EXPECT_EQ(cuMemAlloc_v2(&more, 4), kIllegalAddress);
  EXPECT_EQ(cuStreamQuery(in), kIllegalAddress);
  EXPECT_EQ(cuCtxSynchronize(), kIllegalAddress);
  EXPECT_EQ(cuCtxCreate_v2(&other, 0, 0), kIllegalAddress);
  EXPECT_EQ(cuModuleUnload(module), kIllegalAddress);
  EXPECT_EQ(cuStreamDestroy_v2(in), kIllegalAddress);
  EXPECT_EQ(cuEventDestroy_v2(unused), kIllegalAddress);
  EXPECT_EQ(cuEventDestroy_v2(unused), kInvalidHandle) << "it is gone";
}

}  // namespace
}  // namespace halyard::testing::driver
