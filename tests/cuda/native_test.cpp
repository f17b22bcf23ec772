// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and events that this program has made, between Halyard's queues.
#include "halyard/hal/native.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>

#include "cuda/cuda_test_util.h"
#include "cuda/native_calls.h"
#include "drivers/cpu/driver.h"
#include "drivers/cuda/device.h"

namespace halyard::cuda {
namespace {

class CudaNative : public CudaTest {
 protected:
  CudaNative() {
    // As in a CUDA program: the primary context is current on this thread.
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
    stream = make_stream();
    EXPECT_EQ(cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  }
  ~CudaNative() override {
    x = {};
    device = {};
    if (stream != nullptr) {
      (void)cuda.cuStreamSynchronize(stream);
      (void)cuda.cuStreamDestroy(stream);
    }
    (void)cuda.cuEventDestroy(event);
    (void)cuda.cuCtxSetCurrent(nullptr);
    (void)cuda.cuDevicePrimaryCtxRelease(0);
  }
  CUstream make_stream() const {
    CUstream made = nullptr;
    EXPECT_EQ(cuda.cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    return made;
  }
  void give_fill(std::uint32_t value) const {
    EXPECT_EQ(cuda.cuMemsetD32Async(x.device_address(), value, std::size_t{1}, stream),
              CUDA_SUCCESS);
  }
  std::uint32_t word() const { return x.map().value().as<std::uint32_t>()[0]; }
  // Submits x += `by` to a queue of Halyard, after `wait`.
  void add(std::uint32_t by, hal::Point wait, hal::Point signal) const {
    check(device.queue().dispatch(add_, {.items = {1}}, {x, x}, {by, std::uint32_t{1}},
                                  {.wait = {wait}, .signal = {signal}}));
  }

  // Takes long enough for unblocked work to run: work of another queue runs many times meanwhile.
  void give_time() const {
    const hal::Queue other = device.create_queue({}).value();
    const hal::Semaphore done = device.create_semaphore().value();
    for (std::uint64_t i = 1; i <= 100; ++i) {
      check(other.fill(y_, 1, 4, {.signal = {{done, i}}}));
      check(done.wait(i, kForever));
    }
  }

  const Functions& cuda = library().functions();
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  hal::Device device = registry.open("cuda://0").value();
  hal::Buffer x = device.allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
  hal::Semaphore s = device.create_semaphore().value();
  hal::Semaphore t = device.create_semaphore().value();

 private:
  hal::Buffer y_ = device.allocate({.size = 256}).value();
  hal::Function add_ = device.load(kernels()).value().function("add").value();
};

TEST_F(CudaNative, WorkOfAStreamPrecedesWhatWaitsForItsQueue) {
  hal::Queue theirs = hal::import_stream(device, stream, "theirs").value();
  {
    Gate gate(cuda, stream);
    give_fill(40);
    check(theirs.barrier({.signal = {{s, 1}}}));
    NativeCalls calls;
    add(2, {s, 1}, {t, 1});
    EXPECT_EQ(calls.take("cuLaunchKernel"), 1) << "the order is the device's";
    give_time();
    EXPECT_EQ(s.query().value(), 0u);
    EXPECT_EQ(t.query().value(), 0u);
    EXPECT_EQ(device.queue().wait_idle(kNow).code(), StatusCode::kDeadlineExceeded);
  }
  check(t.wait(1, kForever));
  EXPECT_EQ(word(), 42u);
  // Operations run in the stream itself.
  check(theirs.fill(x, 7, 4, {.wait = {{t, 1}}, .signal = {{s, 2}}}));
  give_fill(8);
  check(theirs.wait_idle());
  EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(word(), 8u);
}

TEST_F(CudaNative, AStreamWaitsForWhatADeviceHasPromised) {
  const CUstream other = make_stream();
  {
    const hal::Queue theirs = hal::import_stream(device, stream).value();
    const hal::Queue held = hal::import_stream(device, other).value();
    {
      Gate gate(cuda, other);
      check(held.fill(x, 1, 4, {.signal = {{s, 1}}}));
      check(hal::make_stream_wait(theirs, {{s, 1}}));
      give_fill(2);
      EXPECT_EQ(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    }
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(word(), 2u) << "the promised fill came first";
    check(hal::make_stream_wait(theirs, {{s, 1}}));  // reached
    check(theirs.wait_idle());
    check(held.wait_idle());
  }
  EXPECT_EQ(cuda.cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST_F(CudaNative, AValueThatNoDeviceHasPromisedIsRefused) {
  const hal::Queue theirs = hal::import_stream(device, stream).value();
  EXPECT_EQ(hal::make_stream_wait(theirs, {{s, 1}}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(hal::record_event(device.queue(), event, {{s, 1}}).code(),
            StatusCode::kFailedPrecondition);
  check(device.queue().barrier({.wait = {{s, 1}}, .signal = {{t, 1}}}));  // parked itself
  EXPECT_EQ(hal::make_stream_wait(theirs, {{t, 1}}).code(), StatusCode::kFailedPrecondition);
  check(s.signal(1));
  EXPECT_TRUE(hal::make_stream_wait(theirs, {{t, 1}}).ok());
  EXPECT_TRUE(hal::record_event(device.queue(), event, {{s, 1}, {t, 1}}).ok());
  t.fail(Status(StatusCode::kDataLoss, "enough"));
  EXPECT_EQ(hal::make_stream_wait(theirs, {{t, 2}}).code(), StatusCode::kDataLoss);
  EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
  check(theirs.wait_idle());
}

TEST_F(CudaNative, AnEventGivesAValueOnceItIsReached) {
  {
    Gate gate(cuda, stream);
    give_fill(40);
    EXPECT_EQ(cuda.cuEventRecord(event, stream), CUDA_SUCCESS);
    const hal::Queue waits = device.create_queue({}).value();
    check(hal::wait_for_event(waits, event, {.signal = {{s, 1}}}));
    NativeCalls calls;
    add(2, {s, 1}, {t, 1});
    EXPECT_EQ(calls.take("cuLaunchKernel"), 1);
    give_time();
    EXPECT_EQ(s.query().value(), 0u);
    EXPECT_EQ(t.query().value(), 0u);
  }
  check(t.wait(1, kForever));
  EXPECT_EQ(word(), 42u);
}

TEST_F(CudaNative, AnEventIsRecordedBehindAValue) {
  {
    const hal::Queue theirs = hal::import_stream(device, stream).value();
    const CUstream other = make_stream();
    {
      Gate gate(cuda, stream);
      check(theirs.fill(x, 5, 4, {.signal = {{s, 1}}}));
      check(hal::record_event(device.queue(), event, {{s, 1}}));
      EXPECT_EQ(cuda.cuEventQuery(event), CUDA_ERROR_NOT_READY);
      EXPECT_EQ(cuda.cuStreamWaitEvent(other, event, 0u), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuMemsetD32Async(x.device_address(), 6u, std::size_t{1}, other),
                CUDA_SUCCESS);
    }
    EXPECT_EQ(cuda.cuStreamSynchronize(other), CUDA_SUCCESS);
    EXPECT_EQ(word(), 6u);
    EXPECT_EQ(cuda.cuStreamDestroy(other), CUDA_SUCCESS);
    check(theirs.wait_idle());
  }
}

TEST_F(CudaNative, AStreamMayEndOnceItsQueueIsGoneAndComeAgainBefore) {
  for (int i = 0; i < 100; ++i) {  // more than a device has lanes
    const hal::Queue theirs = hal::import_stream(device, stream).value();
    check(theirs.fill(x, 3, 4, {.signal = {{s, static_cast<std::uint64_t>(i) + 1}}}));
    check(theirs.wait_idle());
  }
  EXPECT_EQ(cuda.cuStreamDestroy(stream), CUDA_SUCCESS);
  stream = nullptr;
  check(device.queue().fill(x, 4, 4, {.wait = {{s, 100}}, .signal = {{t, 1}}}));
  check(t.wait(1, kForever));
  EXPECT_EQ(word(), 4u);
}

TEST_F(CudaNative, AnIdleStreamIsNotTouchedAsItsDeviceCloses) {
  // Calls on streams as a device closes, by then without `stream`.
  const auto calls_of_closing = [&](bool imported) {
    hal::DriverRegistry own;
    check(register_cuda_driver(own));
    NativeCalls calls;
    {
      const hal::Device closing = own.open("cuda://0").value();
      const hal::Buffer y = closing.allocate({.size = 4}).value();
      const hal::Queue queue =
          imported ? hal::import_stream(closing, stream).value() : closing.create_queue({}).value();
      check(queue.fill(y, 3, 4, {}));
      check(queue.wait_idle());
      if (imported) {
        EXPECT_EQ(cuda.cuStreamDestroy(stream), CUDA_SUCCESS);
        stream = nullptr;
      }
      calls.reset();
    }
    check(own.shutdown(kForever));
    return calls.count("cuStream");
  };
  const int owned = calls_of_closing(false), imported = calls_of_closing(true);
  EXPECT_EQ(imported, owned - 3) << "cuStreamSynchronize, cuStreamQuery, cuStreamDestroy";
}

TEST_F(CudaNative, RefusesWhatIsNotOfTheDevice) {
  const auto code = [&](const hal::Device& on, void* what) {
    return hal::import_stream(on, what).status().code();
  };
  EXPECT_EQ(code(device, nullptr), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(device, reinterpret_cast<void*>(std::uintptr_t{2})),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code({}, stream), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(registry.open("cuda://1").value(), stream), StatusCode::kPermissionDenied);
  EXPECT_EQ(hal::make_stream_wait(device.queue(), {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(hal::make_stream_wait({}, {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(hal::record_event(device.queue(), nullptr, {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(hal::wait_for_event(device.queue(), nullptr, {}).code(),
            StatusCode::kInvalidArgument);
  hal::DriverRegistry others;
  check(cpu::register_cpu_driver(others));
  const hal::Device cpu = others.open("cpu://?workers=1").value();
  EXPECT_EQ(code(cpu, stream), StatusCode::kUnimplemented);
  EXPECT_EQ(hal::wait_for_event(cpu.queue(), event, {}).code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace halyard::cuda
