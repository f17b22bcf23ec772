// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA driver API that the first run needs. libcuda is loaded at run time, and its
// declarations are here, so that this builds without CUDA.
// https://docs.nvidia.com/cuda/cuda-driver-api/
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace halyard::testing::cuda {

using Device = int;
using DevicePointer = std::uint64_t;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Graph = struct GraphTag*;
using GraphNode = struct GraphNodeTag*;
using GraphExec = struct GraphExecTag*;

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  Function function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;
  Context context;
};
// CUstreamBatchMemOpParams, as a wait or a write of a value
struct alignas(8) BatchMemOp {
  std::uint32_t operation;
  std::uint32_t reserved;
  DevicePointer address;
  std::uint64_t value;
  std::uint32_t flags;
  DevicePointer alias;
  std::uint64_t padding;
};
static_assert(sizeof(BatchMemOp) == 48);
// CUgraphEdgeData
struct GraphEdge {
  std::uint8_t from_port, to_port, type, reserved[5];
};
// CUgraphExecUpdateResultInfo
struct GraphUpdateResult {
  int result;
  GraphNode error_node, error_from_node;
};

inline constexpr unsigned kScheduleSpin = 1, kScheduleYield = 2, kScheduleBlocking = 4;
inline constexpr unsigned kNonBlockingStream = 1;
inline constexpr unsigned kEventWithoutTiming = 2;
inline constexpr unsigned kWaitGreaterOrEqual = 0;
inline constexpr std::uint32_t kWaitValue64 = 4, kWriteValue64 = 5;
inline constexpr unsigned kHostPortable = 1, kHostMapped = 2;
inline constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;
inline constexpr int kClockRate = 13;  // kHz
inline constexpr GraphEdge kProgrammaticEdge = {1, 0, 1, {}};

// X(member, exported name, parameters). If a name has two versions, the later one.
#define HALYARD_CUDA_FUNCTIONS(X)                                                            \
  X(init, cuInit, (unsigned))                                                                \
  X(driver_version, cuDriverGetVersion, (int*))                                              \
  X(error_name, cuGetErrorName, (int, const char**))                                         \
  X(device_count, cuDeviceGetCount, (int*))                                                  \
  X(device_get, cuDeviceGet, (Device*, int))                                                 \
  X(device_name, cuDeviceGetName, (char*, int, Device))                                      \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, Device))                             \
  X(set_context_flags, cuDevicePrimaryCtxSetFlags_v2, (Device, unsigned))                    \
  X(retain_context, cuDevicePrimaryCtxRetain, (Context*, Device))                            \
  X(release_context, cuDevicePrimaryCtxRelease_v2, (Device))                                 \
  X(set_context, cuCtxSetCurrent, (Context))                                                 \
  X(synchronize_context, cuCtxSynchronize, ())                                               \
  X(load_module, cuModuleLoadData, (Module*, const void*))                                   \
  X(unload_module, cuModuleUnload, (Module))                                                 \
  X(get_function, cuModuleGetFunction, (Function*, Module, const char*))                     \
  X(launch, cuLaunchKernel,                                                                  \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, \
     void**, void**))                                                                        \
  X(launch_host, cuLaunchHostFunc, (Stream, void (*)(void*), void*))                         \
  X(allocate, cuMemAlloc_v2, (DevicePointer*, std::size_t))                                  \
  X(free, cuMemFree_v2, (DevicePointer))                                                     \
  X(allocate_async, cuMemAllocAsync, (DevicePointer*, std::size_t, Stream))                  \
  X(free_async, cuMemFreeAsync, (DevicePointer, Stream))                                     \
  X(allocate_host, cuMemHostAlloc, (void**, std::size_t, unsigned))                          \
  X(free_host, cuMemFreeHost, (void*))                                                       \
  X(host_pointer, cuMemHostGetDevicePointer_v2, (DevicePointer*, void*, unsigned))           \
  X(copy_in, cuMemcpyHtoD_v2, (DevicePointer, const void*, std::size_t))                     \
  X(copy_out, cuMemcpyDtoH_v2, (void*, DevicePointer, std::size_t))                          \
  X(copy_in_async, cuMemcpyHtoDAsync_v2, (DevicePointer, const void*, std::size_t, Stream))  \
  X(copy_out_async, cuMemcpyDtoHAsync_v2, (void*, DevicePointer, std::size_t, Stream))       \
  X(copy_on_device_async, cuMemcpyDtoDAsync_v2,                                              \
    (DevicePointer, DevicePointer, std::size_t, Stream))                                     \
  X(create_stream, cuStreamCreate, (Stream*, unsigned))                                      \
  X(destroy_stream, cuStreamDestroy_v2, (Stream))                                            \
  X(synchronize, cuStreamSynchronize, (Stream))                                              \
  X(wait_event, cuStreamWaitEvent, (Stream, Event, unsigned))                                \
  X(write_value, cuStreamWriteValue64_v2, (Stream, DevicePointer, std::uint64_t, unsigned))  \
  X(wait_value, cuStreamWaitValue64_v2, (Stream, DevicePointer, std::uint64_t, unsigned))    \
  X(batch, cuStreamBatchMemOp_v2, (Stream, unsigned, BatchMemOp*, unsigned))                 \
  X(create_event, cuEventCreate, (Event*, unsigned))                                         \
  X(destroy_event, cuEventDestroy_v2, (Event))                                               \
  X(record_event, cuEventRecord, (Event, Stream))                                            \
  X(query_event, cuEventQuery, (Event))                                                      \
  X(synchronize_event, cuEventSynchronize, (Event))                                          \
  X(elapsed, cuEventElapsedTime, (float*, Event, Event))                                     \
  X(create_graph, cuGraphCreate, (Graph*, unsigned))                                         \
  X(destroy_graph, cuGraphDestroy, (Graph))                                                  \
  X(add_kernel_node, cuGraphAddKernelNode_v2,                                                \
    (GraphNode*, Graph, const GraphNode*, std::size_t, const KernelNodeParams*))             \
  X(add_edges, cuGraphAddDependencies_v2,                                                    \
    (Graph, const GraphNode*, const GraphNode*, const GraphEdge*, std::size_t))              \
  X(instantiate, cuGraphInstantiateWithFlags, (GraphExec*, Graph, unsigned long long))       \
  X(update_graph, cuGraphExecUpdate_v2, (GraphExec, Graph, GraphUpdateResult*))              \
  X(set_node_params, cuGraphExecKernelNodeSetParams_v2,                                      \
    (GraphExec, GraphNode, const KernelNodeParams*))                                         \
  X(launch_graph, cuGraphLaunch, (GraphExec, Stream))                                        \
  X(destroy_exec, cuGraphExecDestroy, (GraphExec))

// A function that an old driver lacks is null.
struct Api {
#define HALYARD_CUDA_MEMBER(member, name, parameters) int(*member) parameters = nullptr;
  HALYARD_CUDA_FUNCTIONS(HALYARD_CUDA_MEMBER)
#undef HALYARD_CUDA_MEMBER
};

// The API and the first device of this machine, with its primary context current in this thread.
struct Gpu {
  Api api;
  Device device = 0;
  Context context = nullptr;
  std::string name;
  int driver_version = 0;       // 1000 * major + 10 * minor, of the driver's CUDA
  unsigned compute_capability;  // 90 for sm_90
};

// Finds the NVIDIA GPU of this machine and writes it to `gpu`. Returns an empty string, or the
// reason if there is no GPU. HALYARD_LIBCUDA names a library to load instead of libcuda.so.1.
std::string find_gpu(Gpu& gpu);

// The GPU of this process; the first call finds it. Throws std::runtime_error if there is none.
const Gpu& gpu();

// Throws std::runtime_error with `what` and CUDA's error if `result` is an error.
void check(int result, const char* what);

}  // namespace halyard::testing::cuda
