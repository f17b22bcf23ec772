// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/allocator.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/pages.h"
#include "cpu_test_util.h"

namespace halyard::cpu {
namespace {

TEST(CpuAllocator, MemoryIsHostVisibleAndAligned) {
  for (const std::uint64_t size : {0ull, 1ull, 100ull, 4096ull, 1ull << 20, (1ull << 20) + 1}) {
    for (const std::uint64_t alignment : {std::uint64_t{0}, std::uint64_t{64}, std::uint64_t{1024},
                                          std::uint64_t{base::page_size()}}) {
      const auto memory = allocate(size, alignment, hal::MemoryType::kHostLocal).value();
      EXPECT_EQ(memory->size(), size);
      EXPECT_EQ(memory->type(), hal::MemoryType::kHostLocal);
      ASSERT_NE(memory->host_pointer(), nullptr);
      EXPECT_EQ(memory->device_address(), reinterpret_cast<std::uintptr_t>(memory->host_pointer()));
      EXPECT_EQ(memory->device_address() % std::max<std::uint64_t>(alignment, 64), 0u);
      std::memset(memory->host_pointer(), 0xff, size);
    }
  }
}

TEST(CpuAllocator, ImpossibleSizesAreResourceExhaustedWithTheSize) {
  for (const std::uint64_t size : {~0ull, 1ull << 62, 1ull << 47}) {
    const Status status = allocate(size, 0, hal::MemoryType::kDeviceLocal).status();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_NE(status.message().find(std::to_string(size)), std::string_view::npos);
  }
}

TEST(CpuAllocator, MemoryOutlivesItsDevice) {
  auto device = stepped_device();
  const Ref<hal::Memory> memory = allocate(*device, 100);
  device.reset();
  std::memset(memory->host_pointer(), 1, 100);
}

}  // namespace
}  // namespace halyard::cpu
