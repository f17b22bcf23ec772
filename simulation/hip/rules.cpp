// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's rules for the core that is shared with CUDA. Sources are files of ROCm/clr f9f995c (6.3)
// and of ROCm/rocm-systems projects/clr (7.x), unless noted.
#include "simulation/gpu/rules.h"

#include "simulation/hip/device.h"
#include "simulation/hip/errors.h"

namespace halyard::inline v0::sim::hip {
namespace {

constexpr gpu::DeviceLimits kLimits{
    .multiprocessors = 8,
    .warp = kWarpSize,
    .max_threads = kMaxThreads,
    .max_block = {kMaxThreads, kMaxThreads, kMaxThreads},
    .max_grid = {kMaxGridX, kMaxGridYZ, kMaxGridYZ},
    .max_total_threads = 0,  // launch.cpp checks only the first extent, as HIP does
    .shared_per_block = kLdsBytes,
    .shared_per_block_opt_in = kLdsBytes,
    .shared_per_multiprocessor = kLdsBytes,
    .reserved_shared = 0,
    .registers_per_multiprocessor = kVectorRegisters * kWarpSize * 2,  // two SIMD units
    .threads_per_multiprocessor = kThreadsPerMultiprocessor,
    .blocks_per_multiprocessor = 32,
    .least_priority = 1,
    .greatest_priority = -1};

// hip_module.cpp, ihipLaunchKernel_validate
Result beyond_limits(gpu::Beyond what) {
  switch (what) {
    case gpu::Beyond::kKernelThreads:
      return gpu::kLaunchFailed;  // a lost device in CUDA, a refused launch in HIP
    case gpu::Beyond::kEmptyBlock:
      return is_since(kVersion70) ? gpu::kInvalidValue : kInvalidConfiguration;
    case gpu::Beyond::kTotalThreads:
      return kInvalidConfiguration;
    default:
      return gpu::kInvalidValue;
  }
}

// rocvirtual.cpp:2896, rocdevice.cpp:3002; since 7.0 hip_internal.hpp, IsGPUInError
gpu::FaultReach fault_reach() {
  return settings().aborts_on_fault ? gpu::FaultReach::kAbort : gpu::FaultReach::kProcess;
}

}  // namespace
}  // namespace halyard::inline v0::sim::hip

namespace halyard::inline v0::sim::gpu {

constinit const Rules HALYARD_GPU_RULES(Hip){
    .product = "HIP",
    .variables = "HALYARD_SIM_HIP_",
    .stream_thread = "hip stream",
    .names = {.allocate = "hipMalloc",
              .free = "hipFree",
              .allocate_async = "hipMallocAsync",
              .free_async = "hipFreeAsync",
              .allocate_host = "hipHostMalloc",
              .free_host = "hipHostFree",
              .register_host = "hipHostRegister",
              .allocate_managed = "hipMallocManaged",
              .map_memory = "hipMemMap",
              .unload_module = "hipModuleUnload",
              .wait_value = "hipStreamWaitValue",
              .write_value = "hipStreamWriteValue"},
    .result_from_name = &hip::error_from_name,
    .read_options = [](Options&) {},  // settings.h has them
    .visible_devices = &hip::visible_devices,
    .limits = &hip::kLimits,
    .beyond_limits = &hip::beyond_limits,
    .parameters_end = hip::kLaunchEnd,
    .has_contexts = false,
    .fault_reach = &hip::fault_reach,
    .dead_stream =
        [] { return hip::is_since(hip::kVersion70) ? kInvalidHandle : kContextIsDestroyed; },
    .hardware_queues = [] { return static_cast<unsigned>(hip::settings().hardware_queues); },
    .has_host_thread = true,               // a handler thread of ROCr
    .waits_for_destroyed_streams = false,  // hip_stream.cpp:446
    .free_always_waits = true,             // hip_memory.cpp, ihipFree
    .free_waits_for_pool_memory = [] { return !hip::is_since(hip::kVersion70); },
    .copies_where_memory_is = true,    // hip_memory.cpp, ihipMemcpyCommand
    .masks_waits = true,               // hip_stream_ops.cpp
    .destroying_ends_captures = true,  // hip_stream.cpp, hipStreamDestroy
    .ends_own_captures_first = true,   // hip_internal.hpp, CHECK_STREAM_CAPTURE_SUPPORTED
};

}  // namespace halyard::inline v0::sim::gpu
