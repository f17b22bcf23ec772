// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The context and the capture mode of a thread are its user's, whatever is called.
#include <cstdint>

#include "cuda/cuda_test_util.h"

namespace halyard::cuda {
namespace {

constexpr auto kThreadLocalCapture = static_cast<CUstreamCaptureMode>(1);

class CudaContext : public CudaTest {
 protected:
  // A submission, memory, an executable and a recording, made and dropped.
  void use(const hal::Device& device) {
    const hal::Buffer x = device.allocate({.size = 256}).value();
    const hal::Buffer y =
        device.allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
    const hal::Semaphore done = device.create_semaphore().value();
    const hal::Executable executable = device.load(kernels()).value();
    check(device.queue().fill(x, 5, 4, {.signal = {{done, 1}}}));
    check(device.queue().dispatch(executable.function("add").value(), {.items = {64}}, {x, y},
                                  {std::uint32_t{2}, std::uint32_t{64}},
                                  {.wait = {{done, 1}}, .signal = {{done, 2}}}));
    check(done.wait(2, kForever));
    EXPECT_EQ(y.map().value().as<std::uint32_t>()[63], 7u);
  }
  CUcontext current() {
    CUcontext context = nullptr;
    EXPECT_EQ(library().functions().cuCtxGetCurrent(&context), CUDA_SUCCESS);
    return context;
  }
  CUstreamCaptureMode exchange(CUstreamCaptureMode mode) {
    EXPECT_EQ(library().functions().cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    return mode;
  }
};

TEST_F(CudaContext, AThreadWithoutOneHasNoneAfterwards) {
  EXPECT_EQ(current(), nullptr);
  use(registry.open("cuda://0").value());
  EXPECT_EQ(current(), nullptr);
}

TEST_F(CudaContext, TheUsersContextAndCaptureModeAreRestored) {
  const Functions& cuda = library().functions();
  CUcontext users = nullptr;
  ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&users, library().devices()[1].handle), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuCtxSetCurrent(users), CUDA_SUCCESS);
  const CUstreamCaptureMode before = exchange(kThreadLocalCapture);
  use(registry.open("cuda://0").value());
  EXPECT_EQ(current(), users);
  EXPECT_EQ(exchange(before), kThreadLocalCapture);
  EXPECT_EQ(cuda.cuCtxSetCurrent(CUcontext{}), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease(library().devices()[1].handle), CUDA_SUCCESS);
}

TEST_F(CudaContext, TheCaptureModeIsRestoredWhereTheContextIsTheDevices) {
  const hal::Device device = registry.open("cuda://0").value();
  const Functions& cuda = library().functions();
  CUcontext its = nullptr;
  ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&its, library().devices()[0].handle), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuCtxSetCurrent(its), CUDA_SUCCESS);
  const CUstreamCaptureMode before = exchange(kThreadLocalCapture);
  use(device);
  EXPECT_EQ(current(), its);
  EXPECT_EQ(exchange(before), kThreadLocalCapture);
  EXPECT_EQ(cuda.cuCtxSetCurrent(CUcontext{}), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease(library().devices()[0].handle), CUDA_SUCCESS);
}

TEST_F(CudaContext, DevicesOnOneGpuShareItsPrimaryContext) {
  const auto devices = registry.open_all("cuda://?devices=3").value();
  const hal::Buffer x =
      devices[0].allocate({.size = 4, .memory = hal::MemoryType::kDeviceLocal}).value();
  const hal::Buffer y =
      devices[2].allocate({.size = 4, .memory = hal::MemoryType::kHostVisible}).value();
  const hal::Semaphore done = devices[0].create_semaphore().value();
  check(devices[0].queue().fill(x, 9, 4, {.signal = {{done, 1}}}));
  check(devices[2].queue().copy(x, y, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  check(done.wait(2, kForever));
  EXPECT_EQ(y.map().value().as<std::uint32_t>()[0], 9u);
}

}  // namespace
}  // namespace halyard::cuda
