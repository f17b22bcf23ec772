// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack tensors in the memory of GPUs, and memory of other users of CUDA.
#include "halyard/hal/dlpack.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <utility>

#include "cuda/cuda_test_util.h"
#include "drivers/cpu/driver.h"
#include "drivers/cuda/device.h"
#include "halyard/async.h"
#include "halyard/async/dlpack.h"
#include "halyard/hal/native.h"

namespace halyard::cuda {
namespace {

namespace dlpack = hal::dlpack;
using dlpack::DeviceType;
using ::testing::HasSubstr;

// A tensor of 4 words in memory that this program has allocated on GPU `ordinal`.
class Theirs {
 public:
  Theirs(const Functions& cuda, int ordinal) : cuda_(cuda), ordinal_(ordinal) {
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&context_, ordinal), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemAlloc(&address, std::size_t{4096}), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(CUcontext{}), CUDA_SUCCESS);
    managed.tensor.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    managed.tensor.device.ordinal = ordinal;
  }
  ~Theirs() {
    (void)cuda_.cuCtxSetCurrent(context_);
    (void)cuda_.cuMemFree(address);
    (void)cuda_.cuCtxSetCurrent(CUcontext{});
    (void)cuda_.cuDevicePrimaryCtxRelease(ordinal_);
  }

  CUdeviceptr address = 0;
  std::int64_t shape[1] = {4};
  std::atomic<int> deleted{0};
  dlpack::ManagedTensorVersioned managed{.version = {1, 0},
                                         .context = this,
                                         .deleter =
                                             [](dlpack::ManagedTensorVersioned* self) {
                                               auto& its = *static_cast<Theirs*>(self->context);
                                               ++its.deleted;
                                               its.deleted.notify_all();
                                             },
                                         .flags = 0,
                                         .tensor = {.data = nullptr,
                                                    .device = {DeviceType::kCuda, 0},
                                                    .rank = 1,
                                                    .type = {dlpack::TypeCode::kFloat, 32, 1},
                                                    .shape = shape,
                                                    .strides = nullptr,
                                                    .byte_offset = 0}};

 private:
  const Functions& cuda_;
  const int ordinal_;
  CUcontext context_ = nullptr;
};

class CudaDlpack : public CudaTest {
 protected:
  const Functions& cuda = library().functions();
};

TEST_F(CudaDlpack, ATensorOfAGpuComesInAndGoesOut) {
  Theirs theirs(cuda, 1);
  theirs.managed.tensor.byte_offset = 64;
  {
    const hal::Device device = registry.open("cuda://1").value();
    const hal::BufferView view = hal::from_dlpack(device, &theirs.managed).value();
    EXPECT_EQ(view.buffer().device_address(), theirs.address + 64);
    EXPECT_EQ(view.buffer().memory_type(), hal::MemoryType::kDeviceLocal);
    EXPECT_EQ(device.memory_statistics().imported_bytes, 16u);
    const hal::Buffer back =
        device.allocate({.size = 16, .memory = hal::MemoryType::kHostLocal}).value();
    const hal::Semaphore done = device.create_semaphore().value();
    check(device.queue().fill(view.buffer(), 0x3f800000, 4, {.signal = {{done, 1}}}));
    check(device.queue().copy(view.buffer(), back,
                              {.wait = {{done, 1}}, .signal = {{done, 2}}}));
    check(done.wait(2, kForever));
    EXPECT_EQ(back.map().value().as<float>()[3], 1.0f);

    dlpack::ManagedTensor* const out = hal::to_dlpack(view).value();
    EXPECT_EQ(out->tensor.device.type, DeviceType::kCuda);
    EXPECT_EQ(out->tensor.device.ordinal, 1);
    EXPECT_EQ(out->tensor.data, static_cast<char*>(theirs.managed.tensor.data) + 64);
    out->deleter(out);
    EXPECT_EQ(theirs.deleted, 0);
  }
  theirs.deleted.wait(0);
  EXPECT_EQ(theirs.deleted, 1);
}

TEST_F(CudaDlpack, MemoryThatTheHostSeesIsTheHosts) {
  const hal::Device device = registry.open("cuda://0").value();
  const hal::Buffer pinned =
      device.allocate({.size = 16, .memory = hal::MemoryType::kHostVisible}).value();
  const auto view = hal::BufferView::create(pinned, hal::ElementType::kFloat32, {4}).value();
  dlpack::ManagedTensor* const out = hal::to_dlpack(view).value();
  EXPECT_EQ(out->tensor.device.type, DeviceType::kCpu);
  out->tensor.device.type = DeviceType::kCudaHost;  // as other libraries name it
  const hal::BufferView same = hal::from_dlpack(device, out).value();
  EXPECT_EQ(same.buffer().map().value().bytes().data(), pinned.map().value().bytes().data());
}

TEST_F(CudaDlpack, MemoryThatIsNotOfTheDeviceIsRefusedAndStaysItsOwners) {
  Theirs theirs(cuda, 0);
  const hal::Device device = registry.open("cuda://0").value();
  const auto refused = [&](const hal::Device& by, StatusCode code, const char* text) {
    const Status status = hal::from_dlpack(by, &theirs.managed).status();
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  refused(registry.open("cuda://1").value(), StatusCode::kPermissionDenied, "is device 1");
  hal::DriverRegistry others;
  check(cpu::register_cpu_driver(others));
  refused(others.open("cpu://?workers=1").value(), StatusCode::kUnimplemented, "device type 2");
  refused({}, StatusCode::kInvalidArgument, "");
  theirs.shape[0] = 2048;  // beyond the end
  refused(device, StatusCode::kInvalidArgument, "no memory of device 0");
  theirs.shape[0] = 4;
  theirs.managed.tensor.byte_offset = 4;
  refused(device, StatusCode::kInvalidArgument, "no multiple of 16");
  alignas(16) float host[4] = {};
  theirs.managed.tensor.byte_offset = 0;
  theirs.managed.tensor.data = host;
  refused(device, StatusCode::kInvalidArgument, "no memory of device 0");
  EXPECT_EQ(theirs.deleted, 0);
}

TEST_F(CudaDlpack, ABufferOfAPoolGoesOutOnceItHasMemory) {
  const hal::Device device = registry.open("cuda://0").value();
  const hal::Semaphore go = device.create_semaphore().value();
  const hal::Semaphore done = device.create_semaphore().value();
  const hal::Buffer buffer =
      device.queue()
          .allocate(device.default_pool(), {.size = 16},
                    {.wait = {{go, 1}}, .signal = {{done, 1}}})
          .value();
  const auto view = hal::BufferView::create(buffer, hal::ElementType::kFloat32, {4}).value();
  EXPECT_EQ(hal::to_dlpack(view).status().code(), StatusCode::kFailedPrecondition);
  check(go.signal(1));
  check(done.wait(1, kForever));
  dlpack::ManagedTensor* const out = hal::to_dlpack(view).value();
  EXPECT_EQ(out->tensor.device.type, DeviceType::kCuda);
  out->deleter(out);
}

TEST_F(CudaDlpack, TensorsOfTasksGoBothWays) {
  Theirs theirs(cuda, 0);
  {
    const async::Runtime runtime =
        async::Runtime::create({registry.open("cuda://0").value()}).value();
    const auto device = runtime.device();
    async::Tensor<float> in = async::sync_wait(
        async::from_dlpack<float>(async::Dlpack<>(&theirs.managed)) | async::on(device));
    const async::Dlpack<> out =
        async::sync_wait(async::to_dlpack(std::move(in)) | async::on(device));
    EXPECT_EQ(out->tensor.device.type, DeviceType::kCuda);
    EXPECT_EQ(out->tensor.data, theirs.managed.tensor.data);
  }
  theirs.deleted.wait(0);
}

}  // namespace
}  // namespace halyard::cuda
