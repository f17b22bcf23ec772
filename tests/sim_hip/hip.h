// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the HIP API that these tests use, declared as in hip_runtime_api.h. The tests do not
// need ROCm.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
using hipError_t = int;
using hipDevice_t = int;
using hipDeviceptr_t = void*;
using hipCtx_t = struct ihipCtx_t*;
using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipModule_t = struct ihipModule_t*;
using hipFunction_t = struct ihipModuleSymbol_t*;
using hipGraph_t = struct ihipGraph*;
using hipGraphNode_t = struct hipGraphNode*;
using hipGraphExec_t = struct hipGraphExec*;
using hipMemPool_t = struct ihipMemPoolHandle_t*;
using hipHostFn_t = void (*)(void*);
using hipStreamCallback_t = void (*)(hipStream_t, hipError_t, void*);

struct dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};
struct hipPointerAttribute_t {
  int type, device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
};
struct hipMemLocation {
  int type, id;
};
struct hipMemPoolProps {
  int allocType, handleTypes;
  hipMemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned char reserved[56];
};
struct hipKernelNodeParams {
  dim3 blockDim;
  void** extra;
  void* func;
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};
struct hipMemsetParams {
  void* dst;
  unsigned elementSize;
  std::size_t height, pitch;
  unsigned value;
  std::size_t width;
};
struct hipHostNodeParams {
  hipHostFn_t fn;
  void* userData;
};
// HIP_MEMCPY3D of 6.0 and later.
struct HIP_MEMCPY3D {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  unsigned srcMemoryType;
  const void* srcHost;
  void *srcDevice, *srcArray;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  unsigned dstMemoryType;
  void *dstHost, *dstDevice, *dstArray;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};
// HIP_MEMCPY3D up to 5.x.
struct HIP_MEMCPY3D_old {
  unsigned srcXInBytes, srcY, srcZ, srcLOD, srcMemoryType;
  const void* srcHost;
  void *srcDevice, *srcArray;
  unsigned srcPitch, srcHeight;
  unsigned dstXInBytes, dstY, dstZ, dstLOD, dstMemoryType;
  void *dstHost, *dstDevice, *dstArray;
  unsigned dstPitch, dstHeight;
  unsigned WidthInBytes, Height, Depth;
};

hipError_t hipInit(unsigned);
hipError_t hipDriverGetVersion(int*);
hipError_t hipRuntimeGetVersion(int*);
const char* hipGetErrorName(hipError_t);
const char* hipGetErrorString(hipError_t);
hipError_t hipDrvGetErrorName(hipError_t, const char**);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
hipError_t hipGetDeviceCount(int*);
hipError_t hipGetDevice(int*);
hipError_t hipSetDevice(int);
hipError_t hipDeviceGet(hipDevice_t*, int);
hipError_t hipDeviceGetName(char*, int, hipDevice_t);
hipError_t hipDeviceGetUuid(char*, hipDevice_t);
hipError_t hipDeviceTotalMem(std::size_t*, hipDevice_t);
hipError_t hipDeviceGetAttribute(int*, int, int);
hipError_t hipDeviceGetPCIBusId(char*, int, int);
hipError_t hipDeviceGetByPCIBusId(int*, const char*);
hipError_t hipGetDeviceProperties(void*, int);
hipError_t hipGetDevicePropertiesR0600(void*, int);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipDeviceGetLimit(std::size_t*, int);
hipError_t hipDeviceGetStreamPriorityRange(int*, int*);
hipError_t hipDeviceCanAccessPeer(int*, int, int);
hipError_t hipDeviceEnablePeerAccess(int, unsigned);
hipError_t hipDeviceDisablePeerAccess(int);
hipError_t hipCtxCreate(hipCtx_t*, unsigned, hipDevice_t);
hipError_t hipCtxDestroy(hipCtx_t);
hipError_t hipCtxGetCurrent(hipCtx_t*);
hipError_t hipCtxSetCurrent(hipCtx_t);
hipError_t hipCtxPushCurrent(hipCtx_t);
hipError_t hipCtxPopCurrent(hipCtx_t*);
hipError_t hipCtxSynchronize();
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t*, hipDevice_t);
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t);
hipError_t hipDevicePrimaryCtxReset(hipDevice_t);
hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t, unsigned);
hipError_t hipStreamCreate(hipStream_t*);
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamCreateWithPriority(hipStream_t*, unsigned, int);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamQuery_spt(hipStream_t);
hipError_t hipStreamGetFlags(hipStream_t, unsigned*);
hipError_t hipStreamGetPriority(hipStream_t, int*);
hipError_t hipStreamGetDevice(hipStream_t, hipDevice_t*);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned);
hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t, void*);
hipError_t hipStreamAddCallback(hipStream_t, hipStreamCallback_t, void*, unsigned);
hipError_t hipStreamWaitValue64(hipStream_t, void*, std::uint64_t, unsigned, std::uint64_t);
hipError_t hipStreamWriteValue64(hipStream_t, void*, std::uint64_t, unsigned);
hipError_t hipEventCreate(hipEvent_t*);
hipError_t hipEventCreateWithFlags(hipEvent_t*, unsigned);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipMalloc(void**, std::size_t);
hipError_t hipFree(void*);
hipError_t hipMemGetInfo(std::size_t*, std::size_t*);
hipError_t hipExtMallocWithFlags(void**, std::size_t, unsigned);
hipError_t hipMallocPitch(void**, std::size_t*, std::size_t, std::size_t);
hipError_t hipMallocManaged(void**, std::size_t, unsigned);
hipError_t hipHostMalloc(void**, std::size_t, unsigned);
hipError_t hipHostFree(void*);
hipError_t hipHostRegister(void*, std::size_t, unsigned);
hipError_t hipHostUnregister(void*);
hipError_t hipHostGetDevicePointer(void**, void*, unsigned);
hipError_t hipHostGetFlags(unsigned*, void*);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t*, const void*);
hipError_t hipPointerGetAttribute(void*, int, hipDeviceptr_t);
hipError_t hipMemGetAddressRange(hipDeviceptr_t*, std::size_t*, hipDeviceptr_t);
hipError_t hipMemcpy(void*, const void*, std::size_t, int);
hipError_t hipMemcpyAsync(void*, const void*, std::size_t, int, hipStream_t);
hipError_t hipMemcpyWithStream(void*, const void*, std::size_t, int, hipStream_t);
hipError_t hipMemcpyHtoD(hipDeviceptr_t, const void*, std::size_t);
hipError_t hipMemcpyDtoH(void*, hipDeviceptr_t, std::size_t);
hipError_t hipMemcpyPeer(void*, int, const void*, int, std::size_t);
hipError_t hipMemcpy2D(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int);
hipError_t hipDrvMemcpy3D(const void*);
hipError_t hipMemset(void*, int, std::size_t);
hipError_t hipMemsetAsync(void*, int, std::size_t, hipStream_t);
hipError_t hipMemsetD16(hipDeviceptr_t, unsigned short, std::size_t);
hipError_t hipMemsetD32(hipDeviceptr_t, int, std::size_t);
hipError_t hipMemsetD32Async(hipDeviceptr_t, int, std::size_t, hipStream_t);
hipError_t hipMemset2D(void*, std::size_t, int, std::size_t, std::size_t);
hipError_t hipMallocAsync(void**, std::size_t, hipStream_t);
hipError_t hipMallocFromPoolAsync(void**, std::size_t, hipMemPool_t, hipStream_t);
hipError_t hipFreeAsync(void*, hipStream_t);
hipError_t hipMemPoolCreate(hipMemPool_t*, const hipMemPoolProps*);
hipError_t hipMemPoolDestroy(hipMemPool_t);
hipError_t hipMemPoolSetAttribute(hipMemPool_t, int, void*);
hipError_t hipMemPoolGetAttribute(hipMemPool_t, int, void*);
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t*, int);
hipError_t hipModuleLoad(hipModule_t*, const char*);
hipError_t hipModuleLoadData(hipModule_t*, const void*);
hipError_t hipModuleLoadDataEx(hipModule_t*, const void*, unsigned, int*, void**);
hipError_t hipModuleUnload(hipModule_t);
hipError_t hipModuleGetFunction(hipFunction_t*, hipModule_t, const char*);
hipError_t hipModuleGetGlobal(hipDeviceptr_t*, std::size_t*, hipModule_t, const char*);
hipError_t hipFuncGetAttribute(int*, int, hipFunction_t);
hipError_t hipFuncSetAttribute(const void*, int, int);
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int*, hipFunction_t, int,
                                                              std::size_t);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, hipStream_t, void**, void**);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned,
                                            unsigned, unsigned, unsigned, hipStream_t, void**);
hipError_t hipExtModuleLaunchKernel(hipFunction_t, std::uint32_t, std::uint32_t, std::uint32_t,
                                    std::uint32_t, std::uint32_t, std::uint32_t, std::size_t,
                                    hipStream_t, void**, void**, hipEvent_t, hipEvent_t,
                                    std::uint32_t);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, std::size_t, hipStream_t);
void** __hipRegisterFatBinary(const void*);
void __hipUnregisterFatBinary(void**);
void __hipRegisterFunction(void**, const void*, char*, const char*, unsigned, void*, void*, dim3*,
                           dim3*, int*);
void __hipRegisterVar(void**, void*, char*, char*, int, std::size_t, int, int);
hipError_t __hipPushCallConfiguration(dim3, dim3, std::size_t, hipStream_t);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, std::size_t*, hipStream_t*);
hipError_t hipMemcpyToSymbol(const void*, const void*, std::size_t, std::size_t, int);
hipError_t hipMemcpyFromSymbol(void*, const void*, std::size_t, std::size_t, int);
hipError_t hipGetSymbolSize(std::size_t*, const void*);
hipError_t hipStreamBeginCapture(hipStream_t, int);
hipError_t hipStreamEndCapture(hipStream_t, hipGraph_t*);
hipError_t hipStreamIsCapturing(hipStream_t, int*);
hipError_t hipThreadExchangeStreamCaptureMode(int*);
hipError_t hipGraphCreate(hipGraph_t*, unsigned);
hipError_t hipGraphDestroy(hipGraph_t);
hipError_t hipGraphInstantiate(hipGraphExec_t*, hipGraph_t, hipGraphNode_t*, char*, std::size_t);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t*, hipGraph_t, unsigned long long);
hipError_t hipGraphLaunch(hipGraphExec_t, hipStream_t);
hipError_t hipGraphExecDestroy(hipGraphExec_t);
hipError_t hipGraphGetNodes(hipGraph_t, hipGraphNode_t*, std::size_t*);
hipError_t hipGraphNodeGetType(hipGraphNode_t, int*);
hipError_t hipGraphAddEmptyNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t);
hipError_t hipGraphAddKernelNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t,
                                 const hipKernelNodeParams*);
hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t, hipKernelNodeParams*);
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t, hipGraphNode_t,
                                           const hipKernelNodeParams*);
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t,
                                   void*, const void*, std::size_t, int);
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t, hipGraphNode_t, void*, const void*,
                                             std::size_t, int);
hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t,
                                    const void*, hipCtx_t);
hipError_t hipGraphAddMemsetNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t,
                                 const hipMemsetParams*);
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t, hipGraphNode_t, const hipMemsetParams*);
hipError_t hipGraphAddHostNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t,
                               const hipHostNodeParams*);
hipError_t hipGetProcAddress(const char*, void**, int, std::uint64_t, int*);
hipError_t hipMemAddressReserve(void**, std::size_t, std::size_t, void*, unsigned long long);
hipError_t hipMemAddressFree(void*, std::size_t);
hipError_t hipMemCreate(std::uint64_t*, std::size_t, const void*, unsigned long long);
hipError_t hipMemRelease(std::uint64_t);
hipError_t hipMemMap(void*, std::size_t, std::size_t, std::uint64_t, unsigned long long);
hipError_t hipMemUnmap(void*, std::size_t);
hipError_t hipMemSetAccess(void*, std::size_t, const void*, std::size_t);
hipError_t hipMemGetAllocationGranularity(std::size_t*, const void*, int);
hipError_t hipLibraryLoadData(void**, const void*, int*, void**, unsigned, int*, void**, unsigned);
hipError_t hipLibraryUnload(void*);
hipError_t hipLibraryGetKernel(void**, void*, const char*);
hipError_t hipLibraryGetKernelCount(unsigned*, void*);
hipError_t hipKernelGetFunction(hipFunction_t*, void*);
hipError_t hipKernelGetName(const char**, void*);
hipError_t hipMallocArray(void**, const void*, std::size_t, std::size_t, unsigned);
hipError_t hipIpcGetMemHandle(void*, void*);
}
