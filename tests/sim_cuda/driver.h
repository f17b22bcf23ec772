// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA driver API that these tests call, declared independently, so that a mistake
// in the library's declarations is not repeated here.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace halyard::testing::driver {

using Handle = struct Opaque*;  // of any kind
using Address = unsigned long long;
using HostFunction = void (*)(void*);
using Callback = void (*)(Handle, int, void*);

struct KernelNode {
  Handle function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** parameters;
  void** extra;
  Handle kernel, context;
};
struct MemsetNode {
  Address destination;
  std::size_t pitch;
  unsigned value, element_size;
  std::size_t width, height;
};
struct HostNode {
  HostFunction function;
  void* data;
};
struct UpdateInfo {
  int result;
  Handle error_node, error_from_node;
};
struct AllocationProperties {
  int type, handle_types, location_type, device;
  void* win32;
  unsigned char flags[8];
};
struct Access {
  int location_type, device, flags;
};
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};
struct Copy2D {
  std::size_t source_x, source_y;
  unsigned source_type;
  const void* source_host;
  Address source_device;
  Handle source_array;
  std::size_t source_pitch;
  std::size_t x, y;
  unsigned type;
  void* host;
  Address device;
  Handle array;
  std::size_t pitch, width, height;
};

extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int*);
int cuGetErrorName(int, const char**);
int cuGetErrorString(int, const char**);
int cuGetProcAddress_v2(const char*, void**, int, std::uint64_t, int*);
int cuGetProcAddress(const char*, void**, int, std::uint64_t);
int cuGetExportTable(const void**, const void*);
int cuDeviceGetCount(int*);
int cuDeviceGet(int*, int);
int cuDeviceGetName(char*, int, int);
int cuDeviceGetAttribute(int*, int, int);
int cuDeviceGetUuid_v2(void*, int);
int cuDeviceTotalMem_v2(std::size_t*, int);
int cuDeviceCanAccessPeer(int*, int, int);
int cuDevicePrimaryCtxRetain(Handle*, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuDevicePrimaryCtxGetState(int, unsigned*, int*);
int cuCtxCreate_v2(Handle*, unsigned, int);
int cuCtxDestroy_v2(Handle);
int cuCtxPushCurrent_v2(Handle);
int cuCtxPopCurrent_v2(Handle*);
int cuCtxSetCurrent(Handle);
int cuCtxGetCurrent(Handle*);
int cuCtxGetDevice(int*);
int cuCtxSynchronize();
int cuCtxEnablePeerAccess(Handle, unsigned);
int cuCtxDisablePeerAccess(Handle);
int cuMemGetInfo_v2(std::size_t*, std::size_t*);
int cuMemAlloc_v2(Address*, std::size_t);
int cuMemAllocPitch_v2(Address*, std::size_t*, std::size_t, std::size_t, unsigned);
int cuMemFree_v2(Address);
int cuMemAllocManaged(Address*, std::size_t, unsigned);
int cuMemHostAlloc(void**, std::size_t, unsigned);
int cuMemFreeHost(void*);
int cuMemHostRegister_v2(void*, std::size_t, unsigned);
int cuMemHostUnregister(void*);
int cuMemHostGetDevicePointer_v2(Address*, void*, unsigned);
int cuMemAllocAsync(Address*, std::size_t, Handle);
int cuMemFreeAsync(Address, Handle);
int cuMemGetAddressRange_v2(Address*, std::size_t*, Address);
int cuPointerGetAttribute(void*, int, Address);
int cuMemcpy(Address, Address, std::size_t);
int cuMemcpyHtoD_v2(Address, const void*, std::size_t);
int cuMemcpyDtoH_v2(void*, Address, std::size_t);
int cuMemcpyHtoDAsync_v2(Address, const void*, std::size_t, Handle);
int cuMemcpyDtoHAsync_v2(void*, Address, std::size_t, Handle);
int cuMemcpyDtoDAsync_v2(Address, Address, std::size_t, Handle);
int cuMemcpyPeer(Address, Handle, Address, Handle, std::size_t);
int cuMemcpy2D_v2(const Copy2D*);
int cuMemsetD32_v2(Address, unsigned, std::size_t);
int cuMemsetD32Async(Address, unsigned, std::size_t, Handle);
int cuMemsetD8Async(Address, unsigned char, std::size_t, Handle);
int cuMemsetD32Async_ptsz(Address, unsigned, std::size_t, Handle);
int cuStreamCreate(Handle*, unsigned);
int cuStreamCreateWithPriority(Handle*, unsigned, int);
int cuStreamGetPriority(Handle, int*);
int cuStreamGetCtx(Handle, Handle*);
int cuStreamDestroy_v2(Handle);
int cuStreamSynchronize(Handle);
int cuStreamSynchronize_ptsz(Handle);
int cuStreamQuery(Handle);
int cuStreamQuery_ptsz(Handle);
int cuStreamWaitEvent(Handle, Handle, unsigned);
int cuStreamAddCallback(Handle, Callback, void*, unsigned);
int cuLaunchHostFunc(Handle, HostFunction, void*);
int cuLaunchHostFunc_ptsz(Handle, HostFunction, void*);
int cuStreamWaitValue32_v2(Handle, Address, std::uint32_t, unsigned);
int cuStreamWriteValue32_v2(Handle, Address, std::uint32_t, unsigned);
int cuStreamWriteValue64_v2(Handle, Address, std::uint64_t, unsigned);
int cuStreamBeginCapture_v2(Handle, int);
int cuStreamEndCapture(Handle, Handle*);
int cuStreamIsCapturing(Handle, int*);
int cuThreadExchangeStreamCaptureMode(int*);
int cuEventCreate(Handle*, unsigned);
int cuEventDestroy_v2(Handle);
int cuEventRecord(Handle, Handle);
int cuEventQuery(Handle);
int cuEventSynchronize(Handle);
int cuEventElapsedTime(float*, Handle, Handle);
int cuModuleLoad(Handle*, const char*);
int cuModuleLoadData(Handle*, const void*);
int cuModuleLoadDataEx(Handle*, const void*, unsigned, int*, void**);
int cuModuleUnload(Handle);
int cuModuleGetFunction(Handle*, Handle, const char*);
int cuFuncGetAttribute(int*, int, Handle);
int cuLibraryLoadData(Handle*, const void*, int*, void**, unsigned, int*, void**, unsigned);
int cuLibraryUnload(Handle);
int cuLibraryGetKernel(Handle*, Handle, const char*);
int cuKernelGetFunction(Handle*, Handle);
int cuLinkCreate_v2(unsigned, int*, void**, Handle*);
int cuLinkAddData_v2(Handle, int, void*, std::size_t, const char*, unsigned, int*, void**);
int cuLinkComplete(Handle, void**, std::size_t*);
int cuLinkDestroy(Handle);
int cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Handle, void**, void**);
int cuLaunchKernelEx(const LaunchConfig*, Handle, void**, void**);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int*, Handle, int, std::size_t);
int cuOccupancyMaxPotentialBlockSize(int*, int*, Handle, std::size_t (*)(int), std::size_t, int);
int cuGraphCreate(Handle*, unsigned);
int cuGraphDestroy(Handle);
int cuGraphAddEmptyNode(Handle*, Handle, const Handle*, std::size_t);
int cuGraphAddKernelNode_v2(Handle*, Handle, const Handle*, std::size_t, const KernelNode*);
int cuGraphAddMemsetNode(Handle*, Handle, const Handle*, std::size_t, const MemsetNode*, Handle);
int cuGraphAddHostNode(Handle*, Handle, const Handle*, std::size_t, const HostNode*);
int cuGraphAddChildGraphNode(Handle*, Handle, const Handle*, std::size_t, Handle);
int cuGraphAddEventRecordNode(Handle*, Handle, const Handle*, std::size_t, Handle);
int cuGraphClone(Handle*, Handle);
int cuUserObjectCreate(Handle*, void*, HostFunction, unsigned, unsigned);
int cuUserObjectRetain(Handle, unsigned);
int cuUserObjectRelease(Handle, unsigned);
int cuGraphRetainUserObject(Handle, Handle, unsigned, unsigned);
int cuGraphReleaseUserObject(Handle, Handle, unsigned);
int cuGraphAddMemFreeNode(Handle*, Handle, const Handle*, std::size_t, Address);
int cuGraphAddDependencies(Handle, const Handle*, const Handle*, std::size_t);
int cuGraphGetNodes(Handle, Handle*, std::size_t*);
int cuGraphGetEdges(Handle, Handle*, Handle*, std::size_t*);
int cuGraphNodeGetType(Handle, int*);
int cuGraphInstantiateWithFlags(Handle*, Handle, unsigned long long);
int cuGraphLaunch(Handle, Handle);
int cuGraphExecDestroy(Handle);
int cuGraphExecUpdate_v2(Handle, Handle, UpdateInfo*);
int cuGraphExecKernelNodeSetParams_v2(Handle, Handle, const KernelNode*);
int cuGraphExecMemsetNodeSetParams(Handle, Handle, const MemsetNode*, Handle);
int cuGraphNodeSetEnabled(Handle, Handle, unsigned);
int cuMemAddressReserve(Address*, std::size_t, std::size_t, Address, unsigned long long);
int cuMemAddressFree(Address, std::size_t);
int cuMemCreate(unsigned long long*, std::size_t, const AllocationProperties*, unsigned long long);
int cuMemRelease(unsigned long long);
int cuMemMap(Address, std::size_t, std::size_t, unsigned long long, unsigned long long);
int cuMemUnmap(Address, std::size_t);
int cuMemSetAccess(Address, std::size_t, const Access*, std::size_t);
int cuTexObjectCreate(void*, const void*, const void*, const void*);
}

// Results, with their values in cuda.h.
inline constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3,
                     kInvalidContext = 201, kNoBinary = 209, kInvalidPtx = 218,
                     kInvalidHandle = 400, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700,
                     kPeerAlreadyEnabled = 704, kContextIsDestroyed = 709, kAlreadyRegistered = 712,
                     kNotPermitted = 800, kNotSupported = 801, kCaptureUnsupported = 900,
                     kCaptureInvalidated = 901, kCaptureUnjoined = 904, kCaptureIsolation = 905,
                     kCaptureImplicit = 906, kCapturedEvent = 907, kUpdateFailure = 910;
inline constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;

// fill(address, value, count): 32-bit words.
inline constexpr const char* kFillPtx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 a, .param .u32 value, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [a];
  ld.param.u32 %r1, [value];
  ld.param.u32 %r2, [count];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r6, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r1;
DONE:
  ret;
}
)";

// Blocks a stream in a host function until it is opened. Use only one at a time, and no other host
// function meanwhile, because a driver may serialize host functions.
class Gate {
 public:
  void hold(Handle stream) { ASSERT_EQ(cuLaunchHostFunc(stream, &wait, this), kSuccess); }
  // Waits until it blocks the stream.
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return holds_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  static void wait(void* gate) {
    Gate& self = *static_cast<Gate*>(gate);
    std::unique_lock lock(self.mutex_);
    self.holds_ = true;
    self.changed_.notify_all();
    self.changed_.wait(lock, [&] { return self.is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false;
  bool is_open_ = false;
};

// Each case has its own context on device 0, which is current.
class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), kSuccess);
    ASSERT_EQ(cuCtxCreate_v2(&context_, 0, 0), kSuccess);
  }
  void TearDown() override { EXPECT_EQ(cuCtxDestroy_v2(context_), kSuccess); }

  Handle stream(unsigned flags = kNonBlocking) {
    Handle made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, flags), kSuccess);
    return made;
  }
  Handle event(unsigned flags = 0) {
    Handle made = nullptr;
    EXPECT_EQ(cuEventCreate(&made, flags), kSuccess);
    return made;
  }
  Address words(std::size_t count) {
    Address address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, count * 4), kSuccess);
    EXPECT_EQ(cuMemsetD32_v2(address, 0, count), kSuccess);
    EXPECT_EQ(cuCtxSynchronize(), kSuccess);  // a memset may return before it has ended
    return address;
  }
  static std::uint32_t read(Address address) {
    std::uint32_t value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, address, 4), kSuccess);
    return value;
  }
  Handle fill_function() {
    Handle module = nullptr, function = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, kFillPtx), kSuccess);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "fill"), kSuccess);
    return function;
  }
  int launch_fill(Handle function, Address address, std::uint32_t value, std::uint32_t count,
                  Handle in) {
    void* parameters[] = {&address, &value, &count};
    return cuLaunchKernel(function, (count + 63) / 64, 1, 1, 64, 1, 1, 0, in, parameters, nullptr);
  }

  Handle context_ = nullptr;
};

}  // namespace halyard::testing::driver
