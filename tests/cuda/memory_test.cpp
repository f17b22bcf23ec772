// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alignment, and host memory that several imports share.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cuda/cuda_test_util.h"
#include "cuda/native_calls.h"
#include "drivers/cuda/device.h"
#include "drivers/stream/context.h"

namespace halyard::cuda {
namespace {

class CudaMemory : public CudaTest {
 protected:
  hal::Device device = registry.open("cuda://0").value();
  ~CudaMemory() override { device = {}; }

  hal::Buffer import(std::byte* data, std::size_t size) {
    return device.import_memory({data, size}, [] {}).value();
  }
  void fill(const hal::Buffer& buffer, std::uint8_t value) {
    const hal::Semaphore done = device.create_semaphore().value();
    check(device.queue().fill(buffer, value, 1, {.signal = {{done, 1}}}));
    check(done.wait(1, kForever));
  }
};

TEST_F(CudaMemory, HasTheAlignmentThatIsAskedFor) {
  for (const hal::MemoryType type :
       {hal::MemoryType::kDeviceLocal, hal::MemoryType::kHostVisible}) {
    for (const std::uint64_t alignment : {256, 512, 4096}) {
      const auto driver_device = Device::create({.uri = "cuda://0"}, library(), 0, {}).value();
      const Ref<hal::Memory> memory = driver_device->allocate(100, alignment, type).value();
      EXPECT_EQ(memory->device_address() % alignment, 0u);
    }
  }
}

TEST_F(CudaMemory, AFillEndsWithItsRangeWhateverThePattern) {
  const hal::Buffer x =
      device.allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
  const hal::Semaphore done = device.create_semaphore().value();
  std::uint64_t value = 0;
  for (const std::uint32_t size : {1u, 2u, 4u}) {
    check(device.queue().fill(x, 0, 4, {.wait = {{done, value}}, .signal = {{done, value + 1}}}));
    check(device.queue().fill({x, 8, 16}, 0x01010101, size,
                              {.wait = {{done, value + 1}}, .signal = {{done, value + 2}}}));
    check(done.wait(value += 2, kForever));
    const auto mapping = x.map().value();
    const auto bytes = mapping.as<std::uint8_t>();
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(bytes[i], i >= 8 && i < 24 ? 1 : 0) << i << ", patterns of " << size;
    }
  }
}

TEST_F(CudaMemory, ThatTheHostSeesMayBeManaged) {
  NativeCalls calls;
  const hal::Device other = registry.open("cuda://0?host_visible=managed").value();
  const auto make = [&](const hal::Device& by, hal::MemoryType type) {
    (void)by.allocate({.size = 64, .memory = type}).value();
    return calls.take("cuMemAllocManaged");
  };
  EXPECT_EQ(make(device, hal::MemoryType::kHostVisible), 0);
  EXPECT_EQ(make(other, hal::MemoryType::kHostLocal), 0);
  EXPECT_EQ(make(other, hal::MemoryType::kDeviceLocal), 0);
  const hal::Buffer x =
      other.allocate({.size = 4096, .memory = hal::MemoryType::kHostVisible}).value();
  // Zero in adversarial mode, which has no concurrent managed access, so the memory is pinned.
  EXPECT_EQ(calls.take("cuMemAllocManaged"), library().devices()[0].concurrent_managed ? 1 : 0);
  const hal::Mapping mapping = x.map().value();
  mapping.as<std::uint32_t>()[1] = 7;
  const hal::Semaphore done = other.create_semaphore().value();
  check(other.queue().fill({x, 0, 4}, 5, 4, {.signal = {{done, 1}}}));
  mapping.as<std::uint32_t>()[2] = 8;  // while the device works
  check(done.wait(1, kForever));
  EXPECT_EQ(mapping.as<std::uint32_t>()[0], 5u);
  EXPECT_EQ(mapping.as<std::uint32_t>()[1], 7u);
  EXPECT_EQ(mapping.as<std::uint32_t>()[2], 8u);
  const auto code = [&](const char* uri) { return registry.open(uri).status().code(); };
  EXPECT_EQ(code("cuda://0?host_visible=both"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("cuda://0?host_visible=managed&completion_mode=flag"),
            StatusCode::kUnimplemented);
}

class CudaAsyncAllocations : public CudaTest {
 protected:
  static Result<std::unique_ptr<Device>> create(std::uint64_t release_threshold = 0) {
    return Device::create({.uri = "cuda://0"}, library(), 0,
                          {.async_allocations = true, .release_threshold = release_threshold});
  }
};

TEST_F(CudaAsyncAllocations, MemoryOfTheDeviceIsOfACudaPool) {
  NativeCalls calls;
  const auto device = create().value();
  Ref<hal::Memory> memory = device->allocate(100, 4096, hal::MemoryType::kDeviceLocal).value();
  EXPECT_EQ(memory->device_address() % 4096, 0u);
  EXPECT_EQ(calls.count("cuMemAllocFromPoolAsync"), 1);
  EXPECT_EQ(calls.count("cuStreamSynchronize"), 1);
  EXPECT_EQ(calls.count("cuMemAlloc"), 1) << "cuMemAllocFromPoolAsync only";
  memory = {};
  EXPECT_EQ(calls.count("cuMemFreeAsync"), 1);
  EXPECT_EQ(calls.count("cuMemFree"), 1) << "cuMemFreeAsync only";
  memory = device->allocate(100, 256, hal::MemoryType::kHostVisible).value();
  EXPECT_EQ(calls.count("cuMemHostAlloc"), 1);
  EXPECT_EQ(calls.count("cuMemAllocFromPoolAsync"), 1);
}

TEST_F(CudaAsyncAllocations, ThePoolLivesAsLongAsItsMemory) {
  auto device = create().value();
  Ref<hal::Memory> memory = device->allocate(100, 256, hal::MemoryType::kDeviceLocal).value();
  NativeCalls calls;
  device = {};
  EXPECT_EQ(calls.count("cuMemPoolDestroy"), 0);
  memory = {};
  EXPECT_EQ(calls.count("cuMemFreeAsync"), 1);
  EXPECT_EQ(calls.count("cuMemPoolDestroy"), 1);
}

TEST_F(CudaAsyncAllocations, ThePoolKeepsWhatTheReleaseThresholdSays) {
  const auto device = create(std::uint64_t{64} << 20).value();
  const Ref<hal::Memory> memory =
      device->allocate(100, 256, hal::MemoryType::kDeviceLocal).value();
  void* const cuda = dlopen(HALYARD_SIM_CUDA_LIBRARY, RTLD_NOW);
  const auto pool_of = reinterpret_cast<CUresult (*)(void*, int, CUdeviceptr)>(
      dlsym(cuda, "cuPointerGetAttribute"));
  const auto attribute_of = reinterpret_cast<CUresult (*)(CUmemoryPool, int, void*)>(
      dlsym(cuda, "cuMemPoolGetAttribute"));
  constexpr int kPoolHandle = 17;  // CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
  const timeline::Visit inside(*device->entry_guard());
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(pool_of(static_cast<void*>(&pool), kPoolHandle, memory->device_address()),
            CUDA_SUCCESS);
  std::uint64_t threshold = 0;
  ASSERT_EQ(attribute_of(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), CUDA_SUCCESS);
  EXPECT_EQ(threshold, std::uint64_t{64} << 20);
  dlclose(cuda);
}

TEST_F(CudaAsyncAllocations, PeersUseThePool) {
  const auto devices = registry.open_all("cuda://?devices=2&async_allocations=1").value();
  const hal::Buffer memory = devices[0].allocate({.size = 64}).value();
  const hal::Buffer seen =
      devices[0].allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
  ASSERT_TRUE(devices[1].can_access(devices[0]));
  const hal::Semaphore done = devices[1].create_semaphore().value();
  check(devices[1].queue().fill(memory, 5, 1, {.signal = {{done, 1}}}));
  check(devices[1].queue().copy(memory, seen, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  check(done.wait(2, kForever));
  EXPECT_EQ(seen.map().value().as<std::uint8_t>()[63], 5u);
}

TEST_F(CudaAsyncAllocations, WithoutPoolsTheDeviceIsUnavailable) {
  NativeCalls calls;
  calls.fail("cuMemPoolCreate", CUDA_ERROR_NOT_SUPPORTED, 1);
  const Status status = create().status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.native_error(), "CUDA_ERROR_NOT_SUPPORTED (801)");
}

TEST_F(CudaAsyncAllocations, WhatTheAllocationsStreamRefusesIsFreed) {
  const auto device = create().value();
  NativeCalls calls;
  calls.fail("cuStreamSynchronize", CUDA_ERROR_LAUNCH_FAILED, 1);
  EXPECT_EQ(device->allocate(100, 256, hal::MemoryType::kDeviceLocal).status().code(),
            StatusCode::kDeviceLost);
  EXPECT_EQ(calls.count("cuMemFreeAsync"), 1);
}

TEST_F(CudaAsyncAllocations, WaitForFreesWhereMemoryIsMissing) {
  const auto device = create().value();
  NativeCalls calls;
  calls.fail("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY, 1);
  check(device->allocate(100, 256, hal::MemoryType::kDeviceLocal).status());
  EXPECT_EQ(calls.count("cuStreamSynchronize"), 2);
  calls.fail("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY, 2);
  EXPECT_EQ(device->allocate(100, 256, hal::MemoryType::kDeviceLocal).status().code(),
            StatusCode::kResourceExhausted);
}

TEST_F(CudaAsyncAllocations, AreChosenByTheUri) {
  NativeCalls calls;
  const auto pools = [&](const char* uri) {
    check(registry.open(uri).status());
    return calls.take("cuMemPoolCreate");
  };
  EXPECT_EQ(pools("cuda://0"), 0);
  EXPECT_EQ(pools("cuda://0?async_allocations=0"), 0);
  EXPECT_EQ(pools("cuda://0?async_allocations=1&release_threshold=64"), 1);
  const auto code = [&](const char* uri) { return registry.open(uri).status().code(); };
  EXPECT_EQ(code("cuda://0?async_allocations=2"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("cuda://0?release_threshold=-1"), StatusCode::kInvalidArgument);
}

TEST_F(CudaMemory, ImportsMayLieInOnePageAndInEachOther) {
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  const std::unique_ptr<std::byte, Free> pages(
      static_cast<std::byte*>(std::aligned_alloc(4096, 8192)));
  std::memset(pages.get(), 0, 8192);
  {
    const hal::Buffer first = import(pages.get() + 64, 100);
    hal::Buffer second = import(pages.get() + 1024, 512);
    hal::Buffer within = import(pages.get() + 64, 100);
    fill(second, 2);
    second = {};
    within = {};  // the first still needs the registration
    fill(first, 1);
    EXPECT_EQ(device.import_memory({pages.get(), 8192}, [] {}).status().code(),
              StatusCode::kResourceExhausted)
        << "half of it is pinned already";
  }
  EXPECT_EQ(pages.get()[64], std::byte{1});
  EXPECT_EQ(pages.get()[163], std::byte{1});
  EXPECT_EQ(pages.get()[164], std::byte{0});
  EXPECT_EQ(pages.get()[1535], std::byte{2});
}

TEST_F(CudaMemory, PinnedMemoryOfAnotherDeviceIsImportedAsItIs) {
  const hal::Device other = registry.open("cuda://1").value();
  const hal::Buffer theirs =
      other.allocate({.size = 4096, .memory = hal::MemoryType::kHostLocal}).value();
  std::byte* const data = theirs.map().value().bytes().data();
  fill(import(data, 4096), 3);
  EXPECT_EQ(data[4095], std::byte{3});
}

}  // namespace
}  // namespace halyard::cuda
