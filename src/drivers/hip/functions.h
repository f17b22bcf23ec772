// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of HIP that this driver calls. They are loaded when it starts, and each is called
// through the seam base::native_call, with a call site named after the function.
//
// Names, parameters, values and results are those of hip_runtime_api.h, which the build does not
// need: https://rocm.docs.amd.com/projects/HIP. tests/hip/header_test.cpp compares them with that
// header if it is installed. Functions with plain parameters are preferred, since HIP 6 changed
// structures.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/native_call.h"
#include "drivers/hip/results.h"
#include "drivers/stream/native_function.h"

namespace halyard::inline v0::hip {

using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipModule_t = struct ihipModule_t*;
using hipFunction_t = struct ihipModuleSymbol_t*;
using hipGraph_t = struct ihipGraph*;
using hipGraphNode_t = struct hipGraphNode*;
using hipGraphExec_t = struct hipGraphExec*;
using hipMemPool_t = struct ihipMemPoolHandle_t*;
using hipHostFn_t = void (*)(void*);

// The numbers are equal in HIP 5.2 and 7.2, except those added in HIP 6.
enum hipDeviceAttribute_t : int {
  hipDeviceAttributeCanMapHostMemory = 3,
  hipDeviceAttributeConcurrentManagedAccess = 9,
  hipDeviceAttributeMaxGridDimX = 29,
  hipDeviceAttributeMaxGridDimY = 30,
  hipDeviceAttributeMaxGridDimZ = 31,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
  hipDeviceAttributeHostRegisterSupported = 90,  // HIP 6
  hipDeviceAttributeCanUseStreamWaitValue = 10013,
};
enum hipFunction_attribute : int {
  HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  HIP_FUNC_ATTRIBUTE_NUM_REGS = 4,
};
enum hipPointer_attribute : int {
  HIP_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  HIP_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};
enum hipMemcpyKind : int { hipMemcpyDefault = 4 };
enum hipStreamCaptureMode : int { hipStreamCaptureModeRelaxed = 2 };
enum hipStreamCaptureStatus : int { hipStreamCaptureStatusNone = 0 };
enum hipMemAllocationType : int { hipMemAllocationTypePinned = 1 };
enum hipMemAllocationHandleType : int {};
enum hipMemLocationType : int { hipMemLocationTypeDevice = 1 };
enum hipMemAccessFlags : int { hipMemAccessFlagsProtReadWrite = 3 };
enum hipMemPoolAttr : int { hipMemPoolAttrReleaseThreshold = 4 };
struct hipMemLocation {
  hipMemLocationType type;
  int id;
};
struct hipMemAccessDesc {
  hipMemLocation location;
  hipMemAccessFlags flags;
};
struct hipMemPoolProps {
  hipMemAllocationType allocType;
  hipMemAllocationHandleType handleTypes;
  hipMemLocation location;
  void* win32SecurityAttributes;
  unsigned char reserved[64];  // a part of it has a name since HIP 6
};
struct dim3 {
  std::uint32_t x, y, z;
};
struct hipKernelNodeParams {  // not in CUDA's order
  dim3 blockDim;
  void** extra;
  void* func;
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};
struct hipMemsetParams {
  void* dst;
  unsigned elementSize;  // 1, 2 or 4 bytes
  std::size_t height;
  std::size_t pitch;  // unused if height is 1
  unsigned value;
  std::size_t width;  // in elements
};
inline constexpr unsigned hipStreamNonBlocking = 1;
inline constexpr std::uintptr_t hipStreamLegacy_AS_INT = 1;  // HIP 6.2
inline constexpr std::uintptr_t hipStreamPerThread_AS_INT = 2;
inline constexpr unsigned hipEventBlockingSync = 1;
inline constexpr unsigned hipEventDisableTiming = 2;
inline constexpr unsigned hipMemAttachGlobal = 1;
// Both flags together give coherent memory. With only the portable flag it is not coherent, unless
// HIP_HOST_COHERENT=1.
inline constexpr unsigned hipHostMallocPortable = 1;
inline constexpr unsigned hipHostMallocMapped = 2;
inline constexpr unsigned hipHostRegisterPortable = 1;
inline constexpr unsigned hipHostRegisterMapped = 2;
inline constexpr std::uintptr_t HIP_LAUNCH_PARAM_BUFFER_POINTER_AS_INT = 1;
inline constexpr std::uintptr_t HIP_LAUNCH_PARAM_BUFFER_SIZE_AS_INT = 2;
inline constexpr std::uintptr_t HIP_LAUNCH_PARAM_END_AS_INT = 3;  // null is refused

// X(function, an error that it may return, parameters). The newest functions, from HIP 5.6, come
// first.
#define HALYARD_HIP_NEWEST(X) X(hipStreamGetDevice, hipErrorInvalidHandle, (hipStream_t, int*))
#define HALYARD_HIP_FUNCTIONS(X)                                                                   \
  X(hipLaunchHostFunc, hipErrorOutOfMemory, (hipStream_t, hipHostFn_t, void*))                     \
  X(hipInit, hipErrorNoDevice, (unsigned))                                                         \
  X(hipRuntimeGetVersion, hipErrorInvalidValue, (int*))                                            \
  X(hipGetDeviceCount, hipErrorNotInitialized, (int*))                                             \
  X(hipDeviceGetName, hipErrorInvalidDevice, (char*, int, int))                                    \
  X(hipDeviceGetPCIBusId, hipErrorInvalidDevice, (char*, int, int))                                \
  X(hipDeviceTotalMem, hipErrorInvalidDevice, (std::size_t*, int))                                 \
  X(hipDeviceGetAttribute, hipErrorInvalidDevice, (int*, hipDeviceAttribute_t, int))               \
  X(hipDeviceCanAccessPeer, hipErrorInvalidDevice, (int*, int, int))                               \
  X(hipDeviceEnablePeerAccess, hipErrorInvalidDevice, (int, unsigned))                             \
  X(hipGetDevice, hipErrorDeinitialized, (int*))                                                   \
  X(hipSetDevice, hipErrorInvalidDevice, (int))                                                    \
  X(hipDeviceGetStreamPriorityRange, hipErrorInvalidValue, (int*, int*))                           \
  X(hipThreadExchangeStreamCaptureMode, hipErrorInvalidValue, (hipStreamCaptureMode*))             \
  X(hipStreamCreateWithPriority, hipErrorOutOfMemory, (hipStream_t*, unsigned, int))               \
  X(hipStreamIsCapturing, hipErrorInvalidHandle, (hipStream_t, hipStreamCaptureStatus*))           \
  X(hipStreamQuery, hipErrorLaunchFailure, (hipStream_t))                                          \
  X(hipStreamWaitEvent, hipErrorOutOfMemory, (hipStream_t, hipEvent_t, unsigned))                  \
  X(hipEventCreateWithFlags, hipErrorOutOfMemory, (hipEvent_t*, unsigned))                         \
  X(hipEventRecord, hipErrorOutOfMemory, (hipEvent_t, hipStream_t))                                \
  X(hipEventQuery, hipErrorLaunchFailure, (hipEvent_t))                                            \
  X(hipEventSynchronize, hipErrorLaunchFailure, (hipEvent_t))                                      \
  X(hipMalloc, hipErrorOutOfMemory, (void**, std::size_t))                                         \
  X(hipMallocManaged, hipErrorOutOfMemory, (void**, std::size_t, unsigned))                        \
  X(hipHostMalloc, hipErrorOutOfMemory, (void**, std::size_t, unsigned))                           \
  X(hipHostRegister, hipErrorOutOfMemory, (void*, std::size_t, unsigned))                          \
  X(hipHostGetDevicePointer, hipErrorInvalidValue, (void**, void*, unsigned))                      \
  X(hipPointerGetAttribute, hipErrorInvalidValue, (void*, hipPointer_attribute, void*))            \
  X(hipMemPoolCreate, hipErrorOutOfMemory, (hipMemPool_t*, const hipMemPoolProps*))                \
  X(hipMemPoolSetAttribute, hipErrorInvalidValue, (hipMemPool_t, hipMemPoolAttr, void*))           \
  X(hipMemPoolSetAccess, hipErrorInvalidDevice,                                                    \
    (hipMemPool_t, const hipMemAccessDesc*, std::size_t))                                          \
  X(hipMallocFromPoolAsync, hipErrorOutOfMemory, (void**, std::size_t, hipMemPool_t, hipStream_t)) \
  X(hipMemsetD8Async, hipErrorOutOfMemory, (void*, unsigned char, std::size_t, hipStream_t))       \
  X(hipMemsetD16Async, hipErrorOutOfMemory, (void*, unsigned short, std::size_t, hipStream_t))     \
  X(hipMemsetD32Async, hipErrorOutOfMemory, (void*, int, std::size_t, hipStream_t))                \
  X(hipMemcpyAsync, hipErrorOutOfMemory,                                                           \
    (void*, const void*, std::size_t, hipMemcpyKind, hipStream_t))                                 \
  X(hipModuleLoadData, hipErrorOutOfMemory, (hipModule_t*, const void*))                           \
  X(hipModuleGetFunction, hipErrorNotFound, (hipFunction_t*, hipModule_t, const char*))            \
  X(hipFuncGetAttribute, hipErrorInvalidHandle, (int*, hipFunction_attribute, hipFunction_t))      \
  X(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, hipErrorInvalidValue,                      \
    (int*, hipFunction_t, int, std::size_t))                                                       \
  X(hipModuleLaunchKernel, hipErrorOutOfMemory,                                                    \
    (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,          \
     hipStream_t, void**, void**))                                                                 \
  X(hipGraphCreate, hipErrorOutOfMemory, (hipGraph_t*, unsigned))                                  \
  X(hipGraphAddEmptyNode, hipErrorOutOfMemory,                                                     \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t))                             \
  X(hipGraphAddKernelNode, hipErrorOutOfMemory,                                                    \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, const hipKernelNodeParams*)) \
  X(hipGraphAddMemcpyNode1D, hipErrorOutOfMemory,                                                  \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, void*, const void*,          \
     std::size_t, hipMemcpyKind))                                                                  \
  X(hipGraphAddMemsetNode, hipErrorOutOfMemory,                                                    \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, const hipMemsetParams*))     \
  X(hipGraphInstantiateWithFlags, hipErrorOutOfMemory,                                             \
    (hipGraphExec_t*, hipGraph_t, unsigned long long))                                             \
  X(hipGraphExecKernelNodeSetParams, hipErrorInvalidValue,                                         \
    (hipGraphExec_t, hipGraphNode_t, const hipKernelNodeParams*))                                  \
  X(hipGraphExecMemcpyNodeSetParams1D, hipErrorInvalidValue,                                       \
    (hipGraphExec_t, hipGraphNode_t, void*, const void*, std::size_t, hipMemcpyKind))              \
  X(hipGraphExecMemsetNodeSetParams, hipErrorInvalidValue,                                         \
    (hipGraphExec_t, hipGraphNode_t, const hipMemsetParams*))                                      \
  X(hipGraphLaunch, hipErrorOutOfMemory, (hipGraphExec_t, hipStream_t))

// The same for functions that a library may lack. hipGetDevicePropertiesR0600 is from HIP 6, with
// another structure; both properties functions fill theirs for an ordinal (physical_device.cpp).
#define HALYARD_HIP_OPTIONAL(X)                                       \
  X(hipGetDevicePropertiesR0600, hipErrorInvalidDevice, (void*, int)) \
  X(hipGetDeviceProperties, hipErrorInvalidDevice, (void*, int))      \
  X(hipStreamWriteValue64, hipErrorOutOfMemory, (hipStream_t, void*, std::uint64_t, unsigned))

// X(function, why its failure does not matter, parameters)
#define HALYARD_HIP_ENDING(X)                                                    \
  X(hipStreamDestroy, "the stream is idle and is not used again", (hipStream_t)) \
  X(hipEventDestroy, "no call with the event is under way", (hipEvent_t))        \
  X(hipFree, "the memory was allocated", (void*))                                \
  X(hipFreeAsync, "the memory was allocated", (void*, hipStream_t))              \
  X(hipMemPoolDestroy, "the pool was created", (hipMemPool_t))                   \
  X(hipHostFree, "the memory was allocated", (void*))                            \
  X(hipHostUnregister, "the memory was registered", (void*))                     \
  X(hipModuleUnload, "the module was loaded", (hipModule_t))                     \
  X(hipGraphExecDestroy, "the graph was instantiated", (hipGraphExec_t))         \
  X(hipGraphDestroy, "the graph was created", (hipGraph_t))

// The call site of each; functions.cpp lists them.
namespace call_site {
#define HALYARD_HIP_SITE(function, error, parameters) \
  inline constexpr base::CallSite function{"hip." #function, error, base::Failing::kCode};
#define HALYARD_HIP_SITE_ENDING(function, reason, parameters) \
  inline constexpr base::CallSite function{"hip." #function, 0, base::Failing::kCode, reason};
HALYARD_HIP_NEWEST(HALYARD_HIP_SITE)
HALYARD_HIP_FUNCTIONS(HALYARD_HIP_SITE)
HALYARD_HIP_OPTIONAL(HALYARD_HIP_SITE)
HALYARD_HIP_ENDING(HALYARD_HIP_SITE_ENDING)
#undef HALYARD_HIP_SITE
#undef HALYARD_HIP_SITE_ENDING
}  // namespace call_site

// The table of all functions. Loaded once, constant afterwards.
struct Functions {
#define HALYARD_HIP_MEMBER(function, error, parameters) \
  stream::NativeFunction<hipError_t(*) parameters, call_site::function> function;
  HALYARD_HIP_NEWEST(HALYARD_HIP_MEMBER)
  HALYARD_HIP_FUNCTIONS(HALYARD_HIP_MEMBER)
  HALYARD_HIP_OPTIONAL(HALYARD_HIP_MEMBER)
  HALYARD_HIP_ENDING(HALYARD_HIP_MEMBER)
#undef HALYARD_HIP_MEMBER

  int version = 0;  // major * 10000000 + minor * 100000 + patch
  // The result of all later calls, which are then not made: from HIP 7 on, the fault of one device
  // is a fault of all. hipSuccess means no fault.
  mutable base::Atomic<int> fault{hipSuccess};
  // Returns `fault`, or hipErrorDeinitialized once main() has ended.
  hipError_t end() const noexcept;

  // Loads the functions from `library`, a handle of dlopen(3). Returns the name of a missing
  // symbol, such as "hipStreamGetDevice", or null.
  const char* load(void* library) noexcept;
};

}  // namespace halyard::inline v0::hip
