// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, copies, memsets and pools. Sources: files of ROCm/clr f9f995c hipamd/src, and, for HIP 7,
// of ROCm/rocm-systems projects/clr.
#include <cstring>
#include <numeric>

#include "sim_hip/test_util.h"

namespace halyard_test {
namespace {

TEST(HipMemory, NothingIsAllocatedForSize0) {
  void* memory = &memory;
  EXPECT_EQ(hipMalloc(&memory, 0), kOk);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(hipMalloc(nullptr, 1), kInvalidValue);
  EXPECT_EQ(hipMallocManaged(&memory, 0, 1), kInvalidValue);  // hip_hmm.cpp:65
  EXPECT_EQ(hipFree(nullptr), kOk);
  std::size_t pitch = 0;
  EXPECT_EQ(hipMallocPitch(&memory, &pitch, 0, 10), kOk);
  EXPECT_EQ(memory, nullptr);
}

TEST(HipMemory, ADeviceHasAnEnd) {
  std::size_t free = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&free, &total), kOk);
  void* memory = nullptr;
  EXPECT_EQ(hipMalloc(&memory, total + 1), kOutOfMemory);
}

// hip_memory.cpp, ihipFree: waits for all streams of the device.
TEST(HipMemory, AFreeWaits) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 1), kOk);
  void* memory = device_memory<int>(4);
  Gate gate;
  gate.hold(stream);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  EXPECT_EQ(hipFree(memory), kOk);
  EXPECT_EQ(hipStreamQuery(stream), kOk);
  opener.join();
  EXPECT_EQ(hipStreamDestroy(stream), kOk);
}

// hip_memory.cpp:370
TEST(HipMemory, HostMemoryHasHipsFlags) {
  void* memory = nullptr;
  EXPECT_EQ(hipHostMalloc(&memory, 16, 0xc0000000), kInvalidValue);  // coherent and non-coherent
  EXPECT_EQ(hipHostMalloc(&memory, 16, 8), kInvalidValue);
  ASSERT_EQ(hipHostMalloc(&memory, 16, 0x40000003), kOk);
  unsigned flags = 0;
  EXPECT_EQ(hipHostGetFlags(&flags, memory), kOk);
  EXPECT_EQ(flags, 0x40000003u);
  std::memset(memory, 1, 16);
  EXPECT_EQ(hipHostFree(memory), kOk);
  ASSERT_EQ(hipHostMalloc(&memory, 0, 0), kOk);
  EXPECT_EQ(memory, nullptr);
}

// hip_memory.cpp:1304; a second registration is refused since June 2026 (rocm-systems 7498)
TEST(HipMemory, RegistrationIsCounted) {
  alignas(4096) static char bytes[8192];
  ASSERT_EQ(hipHostRegister(bytes, sizeof bytes, 0), kOk);
  EXPECT_EQ(hipHostRegister(bytes, sizeof bytes, 0), is_since(715) ? kAlreadyRegistered : kOk);
  void* device = nullptr;
  EXPECT_EQ(hipHostGetDevicePointer(&device, bytes + 5, 0), kOk);
  EXPECT_NE(device, nullptr);
  EXPECT_EQ(hipHostUnregister(bytes), kOk);
  EXPECT_EQ(hipHostUnregister(bytes), kNotRegistered);
}

// hip_memory.cpp:3764; H52 and H72: hipMemoryType was renumbered in 6.0.
TEST(HipMemory, TypesOfMemoryAreOfTheVersion) {
  int* device = device_memory<int>(4);
  void *host = nullptr, *managed = nullptr;
  ASSERT_EQ(hipHostMalloc(&host, 16, 0), kOk);
  ASSERT_EQ(hipMallocManaged(&managed, 16, 1), kOk);
  const auto type = [](const void* pointer) {
    hipPointerAttribute_t of{};
    EXPECT_EQ(hipPointerGetAttributes(&of, pointer), kOk);
    return of.type;
  };
  const bool is_new = is_since(600);
  EXPECT_EQ(type(device + 1), is_new ? 2 : 1);
  EXPECT_EQ(type(host), is_new ? 1 : 0);
  EXPECT_EQ(type(managed), is_new ? 3 : 4);
  unsigned number = 99;
  EXPECT_EQ(hipPointerGetAttribute(&number, 2, device), kOk);
  EXPECT_EQ(number, is_new ? 2u : 1u);
  EXPECT_EQ(hipFree(device), kOk);
  EXPECT_EQ(hipHostFree(host), kOk);
  EXPECT_EQ(hipFree(managed), kOk);
}

TEST(HipMemory, UnknownAddressesHaveAttributesSince6) {
  int local = 0;
  hipPointerAttribute_t of{1, 1, nullptr, nullptr, 1, 1};
  if (!is_since(600)) {
    EXPECT_EQ(hipPointerGetAttributes(&of, &local), kInvalidValue);
  } else {
    ASSERT_EQ(hipPointerGetAttributes(&of, &local), kOk);
    EXPECT_EQ(of.type, 0);
    EXPECT_EQ(of.device, -2);
  }
  EXPECT_EQ(hipPointerGetAttributes(&of, nullptr), is_since(700) ? kOk : kInvalidValue);
  std::size_t size = 0;
  void* base = nullptr;
  EXPECT_EQ(hipMemGetAddressRange(&base, &size, &local), kNotFound);
}

// hip_memory.cpp, ihipMemcpy_validate
TEST(HipCopy, TheKindIsCheckedAndThenIgnored) {
  int* device = device_memory<int>(4);
  int host[4] = {1, 2, 3, 4}, back[4] = {};
  EXPECT_EQ(hipMemcpy(device, host, sizeof host, 7), kInvalidDirection);
  EXPECT_EQ(hipMemcpy(nullptr, host, sizeof host, kDefault), kInvalidValue);
  EXPECT_EQ(hipMemcpy(device, host, sizeof host + 1, kHtoD), kInvalidValue);  // beyond the end
  EXPECT_EQ(hipMemcpy(device, host, sizeof host, kDtoH), kOk);                // the wrong kind
  EXPECT_EQ(hipMemcpy(back, device, sizeof host, kDefault), kOk);
  EXPECT_EQ(back[3], 4);
  EXPECT_EQ(hipMemcpy(device, host, 0, kHtoD), kOk);
  EXPECT_EQ(hipFree(device), kOk);
}

TEST(HipCopy, PeersAndRowsAndStreams) {
  int* here = device_memory<int>(64);
  ASSERT_EQ(hipSetDevice(1), kOk);
  int* there = device_memory<int>(64);
  ASSERT_EQ(hipSetDevice(0), kOk);
  std::vector<int> host(64), back(64);
  std::iota(host.begin(), host.end(), 0);
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), kOk);
  ASSERT_EQ(hipMemcpyWithStream(here, host.data(), 256, kHtoD, stream), kOk);
  ASSERT_EQ(hipMemcpyPeer(there, 1, here, 0, 256), kOk);
  EXPECT_EQ(hipMemcpyPeer(there, 7, here, 0, 256), kInvalidDevice);
  ASSERT_EQ(hipMemcpy2D(back.data(), 16, there, 32, 16, 4, kDtoH), kOk);
  EXPECT_EQ(back[4], 8);
  EXPECT_EQ(hipMemcpy2D(back.data(), 16, there, 32, 17, 4, kDtoH), kInvalidPitch);
  EXPECT_EQ(hipStreamDestroy(stream), kOk);
  EXPECT_EQ(hipFree(here), kOk);
  EXPECT_EQ(hipFree(there), kOk);
}

// H52: 128 bytes with 32-bit fields; H72: 184 bytes
TEST(HipCopy, TheDriversStructureIsOfTheVersion) {
  int* device = device_memory<int>(16);
  int host[16], back[16] = {};
  std::iota(host, host + 16, 100);
  ASSERT_EQ(hipMemcpyHtoD(device, host, sizeof host), kOk);
  if (is_since(600)) {
    HIP_MEMCPY3D copy{};
    copy.srcMemoryType = 2;
    copy.srcDevice = device;
    copy.srcPitch = 16;
    copy.srcHeight = 4;
    copy.dstMemoryType = 1;
    copy.dstHost = back;
    copy.dstPitch = 16;
    copy.dstHeight = 4;
    copy.WidthInBytes = 8;
    copy.Height = 4;
    copy.Depth = 1;
    ASSERT_EQ(hipDrvMemcpy3D(&copy), kOk);
  } else {
    HIP_MEMCPY3D_old copy{};
    copy.srcMemoryType = 1;
    copy.srcDevice = device;
    copy.srcPitch = 16;
    copy.srcHeight = 4;
    copy.dstMemoryType = 0;
    copy.dstHost = back;
    copy.dstPitch = 16;
    copy.dstHeight = 4;
    copy.WidthInBytes = 8;
    copy.Height = 4;
    copy.Depth = 1;
    ASSERT_EQ(hipDrvMemcpy3D(&copy), kOk);
  }
  EXPECT_EQ(back[4], 104);
  EXPECT_EQ(back[6], 0);
  EXPECT_EQ(hipFree(device), kOk);
}

// CHANGELOG.md of projects/clr: since 6.4 a copy of less than 1 MB does not block
TEST(HipCopy, ACopyOfPageableMemoryBlocksUpTo64) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 1), kOk);
  auto* device = device_memory<int>(4);
  const int host[4] = {1, 2, 3, 4};
  Gate gate;
  gate.hold(stream);
  std::atomic<bool> has_returned = false;
  std::thread copier([&] {
    EXPECT_EQ(hipMemcpyAsync(device, host, sizeof host, kHtoD, stream), kOk);
    has_returned.store(true);
  });
  if (is_since(604)) {
    copier.join();
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(has_returned.load(), is_since(604));
  gate.open();
  if (copier.joinable()) copier.join();
  EXPECT_EQ(hipStreamSynchronize(stream), kOk);
  EXPECT_EQ(read(device, 4)[3], 4);
  EXPECT_EQ(hipStreamDestroy(stream), kOk);
  EXPECT_EQ(hipFree(device), kOk);
}

TEST(HipVirtualMemory, StorageIsMapped) {
  struct {
    int type = 1, handle_types = 0;
    hipMemLocation location{1, 0};
    void* win32 = nullptr;
    unsigned char flags[8] = {};
  } properties;
  const struct {
    hipMemLocation location{1, 0};
    int flags = 3;
  } access;
  std::size_t size = 0;
  void* pointer = nullptr;
  std::uint64_t handle = 0;
  ASSERT_EQ(hipMemGetAllocationGranularity(&size, &properties, 0), kOk);
  ASSERT_EQ(hipMemAddressReserve(&pointer, size, 0, nullptr, 0), kOk);
  ASSERT_EQ(hipMemCreate(&handle, size, &properties, 0), kOk);
  ASSERT_EQ(hipMemMap(pointer, size, 0, handle, 0), kOk);
  ASSERT_EQ(hipMemSetAccess(pointer, size, &access, 1), kOk);
  ASSERT_EQ(hipMemset(pointer, 5, size), kOk);
  EXPECT_EQ(read(static_cast<unsigned char*>(pointer), 8)[7], 5);
  ASSERT_EQ(hipMemUnmap(pointer, size), kOk);
  EXPECT_EQ(hipMemRelease(handle), kOk);
  EXPECT_EQ(hipMemAddressFree(pointer, size), kOk);
  properties.type = 0;
  EXPECT_EQ(hipMemCreate(&handle, size, &properties, 0), kInvalidValue);
}

TEST(HipFill, CountsAreInElements) {
  auto* words = device_memory<std::uint32_t>(8);
  ASSERT_EQ(hipMemset(words, 0x1ab, 32), kOk);  // the low byte
  EXPECT_EQ(read(words, 1)[0], 0xababababU);
  ASSERT_EQ(hipMemsetD16(words, 0x1234, 4), kOk);
  EXPECT_EQ(read(words, 3)[1], 0x12341234U);
  EXPECT_EQ(read(words, 3)[2], 0xababababU);
  ASSERT_EQ(hipMemsetD32(words, -1, 8), kOk);
  EXPECT_EQ(read(words, 8)[7], 0xffffffffU);
  EXPECT_EQ(hipMemset(words, 0, 33), kInvalidValue);
  int local = 0;
  EXPECT_EQ(hipMemset(&local, 0, 4), kInvalidValue);  // memory that HIP does not know
  ASSERT_EQ(hipMemset2D(words, 16, 7, 4, 2), kOk);
  EXPECT_EQ(read(words, 8)[4], 0x07070707U);
  EXPECT_EQ(read(words, 8)[5], 0xffffffffU);
  EXPECT_EQ(hipFree(words), kOk);
}

TEST(HipPool, MemoryIsStreamOrdered) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), kOk);
  void* memory = nullptr;
  EXPECT_EQ(hipMallocAsync(&memory, 0, stream), kOk);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(hipFreeAsync(nullptr, stream), kInvalidValue);  // hip_mempool.cpp; CUDA has no error
  ASSERT_EQ(hipMallocAsync(&memory, 64, stream), kOk);
  ASSERT_EQ(hipMemsetAsync(memory, 3, 64, stream), kOk);
  EXPECT_EQ(read(static_cast<unsigned char*>(memory), 64)[63], 3);
  EXPECT_EQ(hipFreeAsync(memory, stream), kOk);
  EXPECT_EQ(hipStreamSynchronize(stream), kOk);
  EXPECT_EQ(hipStreamDestroy(stream), kOk);
}

// hip_mempool.cpp:294
TEST(HipPool, PropertiesAreChecked) {
  hipMemPoolProps of{};
  hipMemPool_t pool = nullptr;
  EXPECT_EQ(hipMemPoolCreate(&pool, &of), kInvalidValue);
  of.allocType = 1;
  of.location = {1, 7};
  EXPECT_EQ(hipMemPoolCreate(&pool, &of), kInvalidValue);  // in CUDA an invalid device
  of.location = {1, 0};
  ASSERT_EQ(hipMemPoolCreate(&pool, &of), kOk);
  std::uint64_t threshold = ~std::uint64_t{0}, seen = 0;
  EXPECT_EQ(hipMemPoolSetAttribute(pool, 4, &threshold), kOk);
  EXPECT_EQ(hipMemPoolGetAttribute(pool, 4, &seen), kOk);
  EXPECT_EQ(seen, threshold);
  void* memory = nullptr;
  ASSERT_EQ(hipMallocFromPoolAsync(&memory, 64, pool, nullptr), kOk);
  EXPECT_EQ(hipFreeAsync(memory, nullptr), kOk);
  EXPECT_EQ(hipDeviceSynchronize(), kOk);
  EXPECT_EQ(hipMemPoolDestroy(pool), kOk);
}

}  // namespace
}  // namespace halyard_test
