// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No call changes the user's context or capture mode of a thread.
#include <dlfcn.h>

#include <cstdint>
#include <thread>

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
    hal::Recorder recorder(device);
    recorder.fill(hal::slot(0, 0, 256), 1).barrier().fill(hal::slot(0, 0, 4), 2);
    const hal::CommandBuffer commands = recorder.finish().value();
    std::uint64_t value = 2;
    for (const hal::Buffer& target : {x, y, x}) {
      check(device.queue().execute(
          commands, {.bindings = {target}, .wait = {{done, value}}, .signal = {{done, value + 1}}}));
      ++value;
    }
    check(device.queue().copy(x, y, {.wait = {{done, value}}, .signal = {{done, value + 1}}}));
    check(done.wait(value + 1, kForever));
    EXPECT_EQ(y.map().value().as<std::uint32_t>()[0], 2u);
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

// With the mode CU_STREAM_CAPTURE_MODE_GLOBAL, calls of every thread that might be unsafe fail, and
// end the capture.
TEST_F(CudaContext, ACaptureOfItsUserSurvives) {
  using CreateStream = int(void**, unsigned);
  using BeginCapture = int(void*, int);
  using EndCapture = int(void*, void**);
  using Fill = int(CUdeviceptr, unsigned, std::size_t, void*);
  using GetNodes = int(void*, void**, std::size_t*);
  void* const handle = dlopen(HALYARD_SIM_CUDA_LIBRARY, RTLD_NOW);
  const auto function = [&]<class F>(F*& f, const char* name) {
    f = reinterpret_cast<F*>(dlsym(handle, name));
    ASSERT_NE(f, nullptr) << name;
  };
  CreateStream* create_stream;
  BeginCapture* begin_capture;
  EndCapture* end_capture;
  Fill* fill;
  GetNodes* get_nodes;
  function(create_stream, "cuStreamCreate");
  function(begin_capture, "cuStreamBeginCapture_v2");
  function(end_capture, "cuStreamEndCapture");
  function(fill, "cuMemsetD32Async");
  function(get_nodes, "cuGraphGetNodes");
  const Functions& cuda = library().functions();
  CUcontext users = nullptr;
  ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&users, library().devices()[0].handle), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuCtxSetCurrent(users), CUDA_SUCCESS);
  void* stream = nullptr;
  ASSERT_EQ(create_stream(&stream, 1 /* CU_STREAM_NON_BLOCKING */), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuda.cuMemAlloc(&memory, 4), CUDA_SUCCESS);

  for (const char* uri : {"cuda://0?completion_mode=flag", "cuda://0?completion_mode=host_callback",
                          "cuda://0?completion_mode=event", "cuda://0?command_buffer_mode=graph",
                          "cuda://0?async_allocations=1"}) {
    ASSERT_EQ(begin_capture(stream, 0 /* CU_STREAM_CAPTURE_MODE_GLOBAL */), CUDA_SUCCESS);
    ASSERT_EQ(fill(memory, 1, 1, stream), CUDA_SUCCESS);
    {
      const hal::Device device = registry.open(uri).value();
      use(device);
      std::thread([&] { use(device); }).join();
    }
    void* graph = nullptr;
    std::size_t nodes = 0;
    EXPECT_EQ(end_capture(stream, &graph), CUDA_SUCCESS) << uri;
    EXPECT_EQ(get_nodes(graph, nullptr, &nodes), CUDA_SUCCESS);
    EXPECT_EQ(nodes, 1u) << uri;
  }

  EXPECT_EQ(cuda.cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuStreamDestroy(static_cast<CUstream>(stream)), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuCtxSetCurrent(CUcontext{}), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease(library().devices()[0].handle), CUDA_SUCCESS);
  dlclose(handle);
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
