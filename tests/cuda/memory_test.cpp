// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alignment, and host memory that several imports share.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cuda/cuda_test_util.h"
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
