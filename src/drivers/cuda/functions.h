// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the CUDA driver API that this driver calls. They are loaded when it starts, and
// each is called through the seam base::native_call, with a call site named after the function.
//
//     if (CUresult result = cuda.cuMemAlloc(&address, size); ...)
//
// Names, parameters, values and results are those of cuda.h, which the build does not need:
// https://docs.nvidia.com/cuda/cuda-driver-api. tests/cuda/header_test.cpp compares them with
// cuda.h if a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/native_call.h"
#include "drivers/cuda/results.h"
#include "drivers/stream/native_function.h"

namespace halyard::inline v0::cuda {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUlinkState = struct CUlinkState_st*;
using CUhostFn = void (*)(void*);
using CUarray = struct CUarray_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
struct CUuuid {
  char bytes[16];
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
  CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
};
enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};
enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};
inline constexpr unsigned CU_MEMORYTYPE_DEVICE = 2;
enum CUjitInputType : int { CU_JIT_INPUT_PTX = 1 };
enum CUmemorytype : int { CU_MEMORYTYPE_UNIFIED = 4 };  // as the address says
enum CUmemAllocationType : int { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemAllocationHandleType : int {};
enum CUmemLocationType : int { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum CUmemAccess_flags : int { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 };
enum CUmemPool_attribute : int { CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4 };
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};
struct CUmemPoolProps {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  unsigned char reserved[64];  // a part of it has names since CUDA 12
};
// The first version of each structure, which matches the function versions below.
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};
struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  std::size_t pitch;  // unused if height is 1
  unsigned value;
  unsigned elementSize;  // 1, 2 or 4 bytes
  std::size_t width;     // in elements
  std::size_t height;
};
struct CUDA_MEMCPY3D {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void* reserved0;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void* reserved1;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};
enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum CUstreamCaptureStatus : int { CU_STREAM_CAPTURE_STATUS_NONE = 0 };
enum CUjit_option : int {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_STREAM_WRITE_VALUE_DEFAULT = 0;
inline constexpr unsigned CU_EVENT_BLOCKING_SYNC = 1;
inline constexpr std::uintptr_t CU_STREAM_PER_THREAD_AS_INT = 2;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
inline constexpr unsigned CU_MEM_ATTACH_GLOBAL = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTREGISTER_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTREGISTER_DEVICEMAP = 2;
inline constexpr std::uintptr_t CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT = 1;
inline constexpr std::uintptr_t CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT = 2;
inline constexpr std::uint64_t CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1;

// X(function, suffix of the symbol, first CUDA version with these parameters, an error that it may
// return, parameters)
#define HALYARD_CUDA_FUNCTIONS(X)                                                                \
  X(cuInit, "", 2000, CUDA_ERROR_NO_DEVICE, (unsigned))                                          \
  X(cuDriverGetVersion, "", 2020, CUDA_ERROR_INVALID_VALUE, (int*))                              \
  X(cuDeviceGetCount, "", 2000, CUDA_ERROR_NOT_INITIALIZED, (int*))                              \
  X(cuDeviceGet, "", 2000, CUDA_ERROR_INVALID_DEVICE, (CUdevice*, int))                          \
  X(cuDeviceGetName, "", 2000, CUDA_ERROR_INVALID_DEVICE, (char*, int, CUdevice))                \
  X(cuDeviceGetUuid, "_v2", 11040, CUDA_ERROR_INVALID_DEVICE, (CUuuid*, CUdevice))               \
  X(cuDeviceGetAttribute, "", 2000, CUDA_ERROR_INVALID_DEVICE,                                   \
    (int*, CUdevice_attribute, CUdevice))                                                        \
  X(cuDeviceTotalMem, "_v2", 3020, CUDA_ERROR_INVALID_DEVICE, (std::size_t*, CUdevice))          \
  X(cuDeviceCanAccessPeer, "", 4000, CUDA_ERROR_INVALID_DEVICE, (int*, CUdevice, CUdevice))      \
  X(cuCtxEnablePeerAccess, "", 4000, CUDA_ERROR_TOO_MANY_PEERS, (CUcontext, unsigned))           \
  X(cuDevicePrimaryCtxRetain, "", 7000, CUDA_ERROR_OUT_OF_MEMORY, (CUcontext*, CUdevice))        \
  X(cuCtxGetCurrent, "", 4000, CUDA_ERROR_DEINITIALIZED, (CUcontext*))                           \
  X(cuCtxSetCurrent, "", 4000, CUDA_ERROR_INVALID_CONTEXT, (CUcontext))                          \
  X(cuCtxGetStreamPriorityRange, "", 5050, CUDA_ERROR_INVALID_VALUE, (int*, int*))               \
  X(cuThreadExchangeStreamCaptureMode, "", 10010, CUDA_ERROR_INVALID_VALUE,                      \
    (CUstreamCaptureMode*))                                                                      \
  X(cuStreamCreateWithPriority, "", 5050, CUDA_ERROR_OUT_OF_MEMORY, (CUstream*, unsigned, int))  \
  X(cuStreamGetCtx, "", 9020, CUDA_ERROR_INVALID_HANDLE, (CUstream, CUcontext*))                 \
  X(cuStreamIsCapturing, "", 10000, CUDA_ERROR_INVALID_HANDLE,                                   \
    (CUstream, CUstreamCaptureStatus*))                                                          \
  X(cuStreamQuery, "", 2000, CUDA_ERROR_LAUNCH_FAILED, (CUstream))                               \
  X(cuStreamSynchronize, "", 2000, CUDA_ERROR_LAUNCH_FAILED, (CUstream))                         \
  X(cuStreamWaitEvent, "", 3020, CUDA_ERROR_OUT_OF_MEMORY, (CUstream, CUevent, unsigned))        \
  X(cuLaunchHostFunc, "", 10000, CUDA_ERROR_OUT_OF_MEMORY, (CUstream, CUhostFn, void*))          \
  X(cuEventCreate, "", 2000, CUDA_ERROR_OUT_OF_MEMORY, (CUevent*, unsigned))                     \
  X(cuEventRecord, "", 2000, CUDA_ERROR_OUT_OF_MEMORY, (CUevent, CUstream))                      \
  X(cuEventQuery, "", 2000, CUDA_ERROR_LAUNCH_FAILED, (CUevent))                                 \
  X(cuEventSynchronize, "", 2000, CUDA_ERROR_LAUNCH_FAILED, (CUevent))                           \
  X(cuMemAlloc, "_v2", 3020, CUDA_ERROR_OUT_OF_MEMORY, (CUdeviceptr*, std::size_t))              \
  X(cuMemAllocFromPoolAsync, "", 11020, CUDA_ERROR_OUT_OF_MEMORY,                                \
    (CUdeviceptr*, std::size_t, CUmemoryPool, CUstream))                                         \
  X(cuMemPoolCreate, "", 11020, CUDA_ERROR_OUT_OF_MEMORY, (CUmemoryPool*, const CUmemPoolProps*)) \
  X(cuMemPoolSetAttribute, "", 11020, CUDA_ERROR_INVALID_VALUE,                                  \
    (CUmemoryPool, CUmemPool_attribute, void*))                                                  \
  X(cuMemPoolSetAccess, "", 11020, CUDA_ERROR_INVALID_DEVICE,                                    \
    (CUmemoryPool, const CUmemAccessDesc*, std::size_t))                                         \
  X(cuMemAllocManaged, "", 6000, CUDA_ERROR_OUT_OF_MEMORY,                                       \
    (CUdeviceptr*, std::size_t, unsigned))                                                       \
  X(cuMemHostAlloc, "", 2020, CUDA_ERROR_OUT_OF_MEMORY, (void**, std::size_t, unsigned))         \
  X(cuMemHostRegister, "_v2", 6050, CUDA_ERROR_OUT_OF_MEMORY, (void*, std::size_t, unsigned))    \
  X(cuMemHostGetDevicePointer, "_v2", 3020, CUDA_ERROR_INVALID_VALUE,                            \
    (CUdeviceptr*, void*, unsigned))                                                             \
  X(cuPointerGetAttribute, "", 4000, CUDA_ERROR_INVALID_VALUE,                                   \
    (void*, CUpointer_attribute, CUdeviceptr))                                                   \
  X(cuMemsetD8Async, "", 3020, CUDA_ERROR_OUT_OF_MEMORY,                                         \
    (CUdeviceptr, unsigned char, std::size_t, CUstream))                                         \
  X(cuMemsetD16Async, "", 3020, CUDA_ERROR_OUT_OF_MEMORY,                                        \
    (CUdeviceptr, unsigned short, std::size_t, CUstream))                                        \
  X(cuMemsetD32Async, "", 3020, CUDA_ERROR_OUT_OF_MEMORY,                                        \
    (CUdeviceptr, unsigned, std::size_t, CUstream))                                              \
  X(cuMemcpyAsync, "", 4000, CUDA_ERROR_OUT_OF_MEMORY,                                           \
    (CUdeviceptr, CUdeviceptr, std::size_t, CUstream))                                           \
  X(cuModuleLoadDataEx, "", 2010, CUDA_ERROR_OUT_OF_MEMORY,                                      \
    (CUmodule*, const void*, unsigned, CUjit_option*, void**))                                   \
  X(cuModuleGetFunction, "", 2000, CUDA_ERROR_NOT_FOUND, (CUfunction*, CUmodule, const char*))   \
  X(cuLinkCreate, "_v2", 6050, CUDA_ERROR_OUT_OF_MEMORY,                                         \
    (unsigned, CUjit_option*, void**, CUlinkState*))                                             \
  X(cuLinkAddData, "_v2", 6050, CUDA_ERROR_OUT_OF_MEMORY,                                        \
    (CUlinkState, CUjitInputType, void*, std::size_t, const char*, unsigned, CUjit_option*,      \
     void**))                                                                                    \
  X(cuLinkComplete, "", 5050, CUDA_ERROR_OUT_OF_MEMORY, (CUlinkState, void**, std::size_t*))     \
  X(cuFuncGetAttribute, "", 2020, CUDA_ERROR_INVALID_HANDLE,                                     \
    (int*, CUfunction_attribute, CUfunction))                                                    \
  X(cuFuncSetAttribute, "", 9000, CUDA_ERROR_INVALID_VALUE,                                      \
    (CUfunction, CUfunction_attribute, int))                                                     \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "", 6050, CUDA_ERROR_INVALID_VALUE,             \
    (int*, CUfunction, int, std::size_t))                                                        \
  X(cuLaunchKernel, "", 4000, CUDA_ERROR_OUT_OF_MEMORY,                                          \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
     void**, void**))                                                                            \
  X(cuGraphCreate, "", 10000, CUDA_ERROR_OUT_OF_MEMORY, (CUgraph*, unsigned))                    \
  X(cuGraphAddEmptyNode, "", 10000, CUDA_ERROR_OUT_OF_MEMORY,                                    \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t))                                    \
  X(cuGraphAddKernelNode, "", 10000, CUDA_ERROR_OUT_OF_MEMORY,                                   \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_KERNEL_NODE_PARAMS*))    \
  X(cuGraphAddMemcpyNode, "", 10000, CUDA_ERROR_OUT_OF_MEMORY,                                   \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_MEMCPY3D*, CUcontext))   \
  X(cuGraphAddMemsetNode, "", 10000, CUDA_ERROR_OUT_OF_MEMORY,                                   \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_MEMSET_NODE_PARAMS*,     \
     CUcontext))                                                                                 \
  X(cuGraphInstantiateWithFlags, "", 11040, CUDA_ERROR_OUT_OF_MEMORY,                            \
    (CUgraphExec*, CUgraph, unsigned long long))                                                 \
  X(cuGraphExecKernelNodeSetParams, "", 10010, CUDA_ERROR_INVALID_VALUE,                         \
    (CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*))                                  \
  X(cuGraphExecMemcpyNodeSetParams, "", 10020, CUDA_ERROR_INVALID_VALUE,                         \
    (CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext))                                 \
  X(cuGraphExecMemsetNodeSetParams, "", 10020, CUDA_ERROR_INVALID_VALUE,                         \
    (CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*, CUcontext))                       \
  X(cuGraphLaunch, "", 10000, CUDA_ERROR_OUT_OF_MEMORY, (CUgraphExec, CUstream))

// The same for functions that a driver may lack.
#define HALYARD_CUDA_OPTIONAL(X)                                  \
  X(cuStreamWriteValue64, "_v2", 11070, CUDA_ERROR_OUT_OF_MEMORY, \
    (CUstream, CUdeviceptr, std::uint64_t, unsigned))

// X(function, suffix, version, why its failure does not matter, parameters)
#define HALYARD_CUDA_ENDING(X)                                                            \
  X(cuDevicePrimaryCtxRelease, "_v2", 11000, "the context was retained", (CUdevice))      \
  X(cuStreamDestroy, "_v2", 4000, "the stream is idle and is not used again", (CUstream)) \
  X(cuEventDestroy, "_v2", 4000, "no call with the event is under way", (CUevent))        \
  X(cuMemFree, "_v2", 3020, "the memory was allocated", (CUdeviceptr))                    \
  X(cuMemFreeAsync, "", 11020, "the memory was allocated", (CUdeviceptr, CUstream))       \
  X(cuMemPoolDestroy, "", 11020, "the pool was created", (CUmemoryPool))                  \
  X(cuMemFreeHost, "", 2000, "the memory was allocated", (void*))                         \
  X(cuMemHostUnregister, "", 4000, "the memory was registered", (void*))                  \
  X(cuModuleUnload, "", 2000, "the module was loaded", (CUmodule))                        \
  X(cuLinkDestroy, "", 5050, "the link was created", (CUlinkState))                       \
  X(cuGraphExecDestroy, "", 10000, "the graph was instantiated", (CUgraphExec))           \
  X(cuGraphDestroy, "", 10000, "the graph was created", (CUgraph))

// The call site of each; functions.cpp lists them.
namespace call_site {
#define HALYARD_CUDA_SITE(function, suffix, version, error, parameters) \
  inline constexpr base::CallSite function{"cuda." #function, error, base::Failing::kCode};
#define HALYARD_CUDA_SITE_ENDING(function, suffix, version, reason, parameters) \
  inline constexpr base::CallSite function{"cuda." #function, 0, base::Failing::kCode, reason};
HALYARD_CUDA_FUNCTIONS(HALYARD_CUDA_SITE)
HALYARD_CUDA_OPTIONAL(HALYARD_CUDA_SITE)
HALYARD_CUDA_ENDING(HALYARD_CUDA_SITE_ENDING)
#undef HALYARD_CUDA_SITE
#undef HALYARD_CUDA_SITE_ENDING
}  // namespace call_site

// The table of all functions. Loaded once, constant afterwards.
struct Functions {
#define HALYARD_CUDA_MEMBER(function, suffix, version, error, parameters) \
  stream::NativeFunction<CUresult(*) parameters, call_site::function> function;
  HALYARD_CUDA_FUNCTIONS(HALYARD_CUDA_MEMBER)
  HALYARD_CUDA_OPTIONAL(HALYARD_CUDA_MEMBER)
  HALYARD_CUDA_ENDING(HALYARD_CUDA_MEMBER)
#undef HALYARD_CUDA_MEMBER

  // Loads the functions from `library`, a handle of dlopen(3): with cuGetProcAddress, each in the
  // version named above, or with dlsym(3) if the driver lacks cuGetProcAddress. Returns the name of
  // a missing symbol, such as "cuDeviceGetUuid_v2", or null.
  const char* load(void* library) noexcept;
};

}  // namespace halyard::inline v0::cuda
