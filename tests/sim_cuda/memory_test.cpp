// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory and copies. Sources: cuda.h of CUDA 13.0 at the function that a case names, and NVIDIA's
// "CUDA Driver API: API synchronization behavior".
#include <cstring>
#include <vector>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

using SimCudaMemory = DriverTest;
constexpr int kMemoryType = 2, kManagedAttribute = 8, kOrdinal = 9, kRangeSize = 12;

TEST_F(SimCudaMemory, Alloc_IsCountedAndReturned) {
  std::size_t free = 0, total = 0, after = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&free, &total), kSuccess);
  Address a = 0;
  ASSERT_EQ(cuMemAlloc_v2(&a, 1 << 20), kSuccess);
  EXPECT_EQ(a % 256, 0U);
  ASSERT_EQ(cuMemGetInfo_v2(&after, &total), kSuccess);
  EXPECT_GE(free - after, std::size_t{1} << 20);  // a GPU allocates 2 MiB or more at once
  EXPECT_EQ(cuMemFree_v2(a), kSuccess);
  EXPECT_EQ(cuMemFree_v2(a), kInvalidValue);
  EXPECT_EQ(cuMemAlloc_v2(&a, total + 1), kOutOfMemory);
  EXPECT_EQ(cuMemAlloc_v2(&a, 0), kInvalidValue);
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);  // out of memory is not sticky
}

TEST_F(SimCudaMemory, Copy_BeyondAnAllocation_IsRefused) {
  const Address a = words(4);
  std::uint32_t host[8] = {};
  EXPECT_EQ(cuMemcpyHtoD_v2(a, host, 32), kInvalidValue);
  EXPECT_EQ(cuMemcpyHtoD_v2(a + 12, host, 4), kSuccess);
  EXPECT_EQ(cuMemcpyDtoH_v2(host, a + 16, 4), kInvalidValue);
  EXPECT_EQ(cuMemsetD32_v2(a + 1, 0, 1), kInvalidValue);
}

// "For transfers from pageable host memory to device memory, ... the function will return once the
// pageable buffer has been copied to the staging memory".
TEST_F(SimCudaMemory, PageableBytes_MayChangeAfterAnAsynchronousCopyReturned) {
  const Handle in = stream();
  const Address a = words(1);
  Gate gate;
  gate.hold(in);
  std::uint32_t host = 5;
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(a, &host, 4, in), kSuccess);
  host = 6;
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a), 5U);
}

TEST_F(SimCudaMemory, PinnedBytes_AreReadWhenTheCopyRuns) {
  const Handle in = stream();
  const Address a = words(1);
  void* host = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&host, 4, 0), kSuccess);
  Gate gate;
  gate.hold(in);
  std::uint32_t value = 5;
  std::memcpy(host, &value, 4);
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(a, host, 4, in), kSuccess);
  value = 6;
  std::memcpy(host, &value, 4);
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(in), kSuccess);
  EXPECT_EQ(read(a), 6U);
  EXPECT_EQ(cuMemFreeHost(host), kSuccess);
}

// cuMemHostRegister: registering a registered range is an error.
TEST_F(SimCudaMemory, Register_TwiceIsAnError) {
  std::vector<std::byte> bytes(8192);
  EXPECT_EQ(cuMemHostRegister_v2(bytes.data(), 4096, 0), kSuccess);
  EXPECT_EQ(cuMemHostRegister_v2(bytes.data() + 100, 4096, 0), kAlreadyRegistered);
  Address address = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&address, bytes.data() + 8, 0), kSuccess);
  const Handle function = fill_function();
  EXPECT_EQ(launch_fill(function, address, 0x01010101, 2, nullptr), kSuccess);
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(bytes[8], std::byte{1});
  EXPECT_EQ(cuMemHostUnregister(bytes.data()), kSuccess);
  EXPECT_EQ(cuMemHostUnregister(bytes.data()), 713);
}

// As observed on an H200.
TEST_F(SimCudaMemory, Register_OfMemoryThatTheDriverGave_IsInvalid) {
  void* host = nullptr;
  Address managed = 0;
  ASSERT_EQ(cuMemHostAlloc(&host, 4096, 0), kSuccess);
  ASSERT_EQ(cuMemAllocManaged(&managed, 4096, 1), kSuccess);
  EXPECT_EQ(cuMemHostRegister_v2(host, 4096, 0), kInvalidValue);
  EXPECT_EQ(cuMemHostRegister_v2(reinterpret_cast<void*>(managed), 4096, 0), kInvalidValue);
  EXPECT_EQ(cuMemFreeHost(host), kSuccess);
}

TEST_F(SimCudaMemory, PointerAttributes_NameTheKindOfMemory) {
  const Address a = words(8);
  Address managed = 0;
  ASSERT_EQ(cuMemAllocManaged(&managed, 64, 1), kSuccess);
  unsigned type = 0;
  int flag = -1;
  std::size_t size = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, kMemoryType, a + 4), kSuccess);
  EXPECT_EQ(type, 2U);
  EXPECT_EQ(cuPointerGetAttribute(&size, kRangeSize, a + 4), kSuccess);
  EXPECT_EQ(size, 32U);
  EXPECT_EQ(cuPointerGetAttribute(&flag, kManagedAttribute, managed), kSuccess);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(cuPointerGetAttribute(&flag, kOrdinal, a), kSuccess);
  EXPECT_EQ(flag, 0);
  int here = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, kMemoryType, reinterpret_cast<Address>(&here)),
            kInvalidValue);
  Address base = 0;
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &size, a + 5), kSuccess);
  EXPECT_EQ(base, a);
}

// cuMemFreeAsync: the memory may be used by earlier work of the stream; attributes are undefined.
TEST_F(SimCudaMemory, FreeAsync_TakesPlaceInTheStream) {
  const Handle in = stream();
  Address a = 0;
  unsigned type = 0;
  ASSERT_EQ(cuMemAllocAsync(&a, 64, in), kSuccess);
  Gate gate;
  gate.hold(in);
  ASSERT_EQ(cuMemsetD32Async(a, 1, 16, in), kSuccess);
  ASSERT_EQ(cuMemFreeAsync(a, in), kSuccess);
  EXPECT_EQ(cuPointerGetAttribute(&type, kMemoryType, a), kInvalidValue);
  EXPECT_EQ(cuMemFreeAsync(a, in), kInvalidValue);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(in), kSuccess);
}

TEST_F(SimCudaMemory, Copy2D_UsesPitches) {
  Address a = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch_v2(&a, &pitch, 12, 3, 4), kSuccess);
  EXPECT_GE(pitch, 12U);
  const std::uint32_t host[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  Copy2D copy{};
  copy.source_type = 1;
  copy.source_host = host;
  copy.source_pitch = 12;
  copy.type = 2;
  copy.device = a;
  copy.pitch = pitch;
  copy.width = 12;
  copy.height = 3;
  ASSERT_EQ(cuMemcpy2D_v2(&copy), kSuccess);
  EXPECT_EQ(read(a + 2 * pitch + 4), 8U);
}

TEST_F(SimCudaMemory, ManagedMemory_IsTheHostsToo) {
  Address managed = 0;
  ASSERT_EQ(cuMemAllocManaged(&managed, 64, 1), kSuccess);
  auto* const host = reinterpret_cast<std::uint32_t*>(managed);
  host[0] = 4;
  EXPECT_EQ(launch_fill(fill_function(), managed + 4, 9, 1, nullptr), kSuccess);
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(host[1], 9U);
  EXPECT_EQ(read(managed), 4U);
}

// cuMemMap: the range "cannot be accessed until a call to cuMemSetAccess"; cuMemRelease: memory
// that is still mapped lives on.
TEST_F(SimCudaMemory, Mapping_NeedsAccess_AndOutlivesItsHandle) {
  constexpr std::size_t kSize = std::size_t{2} << 20;
  const AllocationProperties properties{1, 0, 1, 0, nullptr, {}};
  Address range = 0;
  unsigned long long handle = 0;
  ASSERT_EQ(cuMemAddressReserve(&range, 2 * kSize, 0, 0, 0), kSuccess);
  ASSERT_EQ(cuMemCreate(&handle, kSize, &properties, 0), kSuccess);
  EXPECT_EQ(cuMemCreate(&handle, 4096, &properties, 0), kInvalidValue);
  ASSERT_EQ(cuMemMap(range + kSize, kSize, 0, handle, 0), kSuccess);
  EXPECT_EQ(cuMemMap(range + kSize, kSize, 0, handle, 0), kInvalidValue);
  EXPECT_EQ(cuMemRelease(handle), kSuccess);
  const Access access{1, 0, 3};
  EXPECT_EQ(cuMemSetAccess(range, kSize, &access, 1), kInvalidValue);  // nothing is mapped there
  ASSERT_EQ(cuMemSetAccess(range + kSize, kSize, &access, 1), kSuccess);
  EXPECT_EQ(cuMemsetD32_v2(range + kSize, 5, kSize / 4), kSuccess);
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(read(range + 2 * kSize - 4), 5U);
  EXPECT_EQ(cuMemAddressFree(range, 2 * kSize), kInvalidValue);
  EXPECT_EQ(cuMemUnmap(range + kSize, kSize), kSuccess);
  EXPECT_EQ(cuMemAddressFree(range, 2 * kSize), kSuccess);
}

}  // namespace
}  // namespace halyard::testing::driver
