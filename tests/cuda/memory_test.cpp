// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alignment, and host memory that several imports share.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cuda/cuda_test_util.h"
#include "cuda/native_calls.h"
#include "drivers/cuda/device.h"

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
  // Zero in adversarial mode, which has no concurrent managed access: pinned there.
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
  EXPECT_EQ(code("cuda://0?async_allocations=1"), StatusCode::kUnimplemented);
  EXPECT_EQ(code("cuda://0?async_allocations=0"), StatusCode::kOk);
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
