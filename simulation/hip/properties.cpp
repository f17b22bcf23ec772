// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipDeviceProp_t in both layouts, and hipDeviceGetAttribute, which reads it.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>

#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"
#include "simulation/hip/device.h"

namespace halyard::inline v0::sim::hip {
namespace {

// hipDeviceArch_t: all but funnel shift, __syncthreads_count and its kin, surfaces and dynamic
// parallelism (hip_device.cpp).
constexpr ArchBits kArch = 0x97ff;
constexpr int kPciDevice = 0x744c;  // Navi 31
constexpr std::size_t kPitch = 2147483647, kConstantBytes = 2147483647;
constexpr int kClock = 2482000, kMemoryClock = 1249000, kBusWidth = 384;  // kHz, kHz, bits
constexpr int kL2Bytes = 6 << 20;
constexpr int kTextureAlignment = 256;
constexpr int kRegisters = 65536;
constexpr int kImage1D = 16384, kImage2D = 16384, kImage3D = 8192;

struct Processor {
  int major = 0, minor = 0;
};

// hip_device.cpp: 11 and 0 for "gfx1100", 9 and 0 for "gfx90a".
Processor processor() {
  const std::string& arch = settings().arch;
  const std::string digits =
      arch.substr(3, arch.find(':') == std::string::npos ? std::string::npos : arch.find(':') - 3);
  if (digits.size() < 3) return {};
  Processor result;
  for (const char digit : digits.substr(0, digits.size() - 2)) {
    if (digit < '0' || digit > '9') return {};
    result.major = result.major * 10 + (digit - '0');
  }
  result.minor = digits[digits.size() - 2] - '0';
  return result;
}

int warp_size() { return processor().major >= 10 ? kWarpSize : 64; }

}  // namespace

Properties properties_of(DeviceId device) {
  Properties of{};
  const int index = state().devices[static_cast<std::size_t>(device)].index;
  std::snprintf(of.name, sizeof of.name, "Halyard simulated GPU %d", index);
  const std::string id = has_bug(Bug::kNoUuid) ? "XX" : unique_id(index);
  std::copy_n(id.data(), std::min(id.size(), sizeof of.uuid.bytes), of.uuid.bytes);
  of.total_memory = gpu::options().memory_bytes;
  of.shared_per_block = of.shared_per_multiprocessor = of.max_shared_per_multiprocessor = kLdsBytes;
  of.shared_per_block_optin = kLdsBytes;
  of.registers_per_block = of.registers_per_multiprocessor = kRegisters;
  of.warp_size = warp_size();
  of.pitch = kPitch;
  of.max_threads_per_block = kMaxThreads;
  std::fill_n(of.max_threads, 3, kMaxThreads);
  of.max_grid[0] = kMaxGridX;
  of.max_grid[1] = of.max_grid[2] = kMaxGridYZ;
  of.clock_rate = kClock;
  of.constant_memory = kConstantBytes;
  of.major = processor().major;
  of.minor = processor().minor;
  of.texture_alignment = of.texture_pitch_alignment = of.surface_alignment = kTextureAlignment;
  of.device_overlap = 1;
  of.multiprocessors = gpu::rules().limits->multiprocessors;
  of.can_map_host = 1;
  of.texture_1d = of.texture_1d_linear = of.texture_1d_mipmap = of.surface_1d = kImage1D;
  of.texture_2d[0] = of.texture_2d[1] = of.surface_2d[0] = of.surface_2d[1] = kImage2D;
  std::fill_n(of.texture_3d, 3, kImage3D);
  std::fill_n(of.surface_3d, 3, kImage3D);
  of.texture_cubemap = of.surface_cubemap = kImage2D;
  of.concurrent_kernels = 1;
  of.pci_bus = index + 1;
  of.async_engines = 1;
  of.unified_addressing = 1;
  of.memory_clock_rate = kMemoryClock;
  of.memory_bus_width = kBusWidth;
  of.l2_bytes = kL2Bytes;
  of.max_threads_per_multiprocessor = kThreadsPerMultiprocessor;
  of.stream_priorities = of.global_l1 = of.local_l1 = 1;
  of.managed_memory = 1;
  of.single_to_double_ratio = 32;
  of.concurrent_managed_access = gpu::options().adversarial ? 0 : 1;
  of.cooperative_launch = of.cooperative_multi_device = 1;
  of.max_blocks_per_multiprocessor = 32;
  of.host_register = 1;
  of.memory_pools = settings().has_pools ? 1 : 0;
  std::snprintf(of.gcn_arch_name, sizeof of.gcn_arch_name, "%s", settings().arch.c_str());
  of.clock_instruction_rate = 100000;
  of.arch = kArch;
  of.unmatched_function = of.unmatched_grid = of.unmatched_block = of.unmatched_shared = 1;
  of.is_large_bar = 1;
  return of;
}

namespace {

PropertiesOld old_form(const Properties& of) {
  PropertiesOld old{};
  std::memcpy(old.name, of.name, sizeof old.name);
  old.total_memory = of.total_memory;
  old.shared_per_block = of.shared_per_block;
  old.registers_per_block = of.registers_per_block;
  old.warp_size = of.warp_size;
  old.max_threads_per_block = of.max_threads_per_block;
  std::copy_n(of.max_threads, 3, old.max_threads);
  std::copy_n(of.max_grid, 3, old.max_grid);
  old.clock_rate = of.clock_rate;
  old.memory_clock_rate = of.memory_clock_rate;
  old.memory_bus_width = of.memory_bus_width;
  old.constant_memory = of.constant_memory;
  old.major = of.major;
  old.minor = of.minor;
  old.multiprocessors = of.multiprocessors;
  old.l2_bytes = of.l2_bytes;
  old.max_threads_per_multiprocessor = of.max_threads_per_multiprocessor;
  old.compute_mode = of.compute_mode;
  old.clock_instruction_rate = of.clock_instruction_rate;
  old.arch = of.arch;
  old.concurrent_kernels = of.concurrent_kernels;
  old.pci_domain = of.pci_domain;
  old.pci_bus = of.pci_bus;
  old.pci_device = of.pci_device;
  old.max_shared_per_multiprocessor = of.max_shared_per_multiprocessor;
  old.can_map_host = of.can_map_host;
  std::memcpy(old.gcn_arch_name, of.gcn_arch_name, sizeof old.gcn_arch_name);
  old.cooperative_launch = of.cooperative_launch;
  old.cooperative_multi_device = of.cooperative_multi_device;
  old.texture_1d = of.texture_1d;
  old.texture_1d_linear = of.texture_1d_linear;
  std::copy_n(of.texture_2d, 2, old.texture_2d);
  std::copy_n(of.texture_3d, 3, old.texture_3d);
  old.pitch = of.pitch;
  old.texture_alignment = of.texture_alignment;
  old.texture_pitch_alignment = of.texture_pitch_alignment;
  old.unmatched_function = of.unmatched_function;
  old.unmatched_grid = of.unmatched_grid;
  old.unmatched_block = of.unmatched_block;
  old.unmatched_shared = of.unmatched_shared;
  old.is_large_bar = of.is_large_bar;
  old.managed_memory = of.managed_memory;
  old.concurrent_managed_access = of.concurrent_managed_access;
  return old;
}

template <class T>
Result write_properties(T* properties, int device) {
  HALYARD_GPU_REQUIRE(properties != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
  const Properties of = properties_of(device);
  if constexpr (std::is_same_v<T, Properties>) {
    *properties = of;
  } else {
    *properties = old_form(of);
  }
  return kSuccess;
}

// hipDeviceAttribute_t: equal in 5.2 and 7.x except for later additions.
Result attribute(int* value, int which, int device) {
  HALYARD_GPU_REQUIRE(value != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
  const Properties of = properties_of(device);
  const auto clamped = [](std::size_t bytes) {
    return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
  };
  const auto answer = [&](int answered) {
    *value = answered;
    return kSuccess;
  };
  switch (which) {
    case 0:  // EccEnabled
      return answer(of.ecc);
    case 1:  // AccessPolicyMaxWindowSize
      return answer(of.access_policy_window);
    case 2:  // AsyncEngineCount
      return answer(of.async_engines);
    case 3:  // CanMapHostMemory
      return answer(of.can_map_host);
    case 4:  // CanUseHostPointerForRegisteredMem
      return answer(of.can_use_host_pointer);
    case 5:  // ClockRate
      return answer(of.clock_rate);
    case 6:  // ComputeMode
      return answer(of.compute_mode);
    case 7:  // ComputePreemptionSupported
      return answer(of.compute_preemption);
    case 8:  // ConcurrentKernels
      return answer(of.concurrent_kernels);
    case 9:  // ConcurrentManagedAccess
      return answer(of.concurrent_managed_access);
    case 10:  // CooperativeLaunch
      return answer(of.cooperative_launch);
    case 11:  // CooperativeMultiDeviceLaunch
      return answer(of.cooperative_multi_device);
    case 12:  // DeviceOverlap
      return answer(of.device_overlap);
    case 13:  // DirectManagedMemAccessFromHost
      return answer(of.direct_managed_access);
    case 14:  // GlobalL1CacheSupported
      return answer(of.global_l1);
    case 15:  // HostNativeAtomicSupported
      return answer(of.host_native_atomics);
    case 16:  // Integrated
      return answer(of.integrated);
    case 17:  // IsMultiGpuBoard
      return answer(of.is_multi_gpu_board);
    case 18:  // KernelExecTimeout
      return answer(of.kernel_timeout);
    case 19:  // L2CacheSize
      return answer(of.l2_bytes);
    case 20:  // LocalL1CacheSupported
      return answer(of.local_l1);
    case 22:  // LuidDeviceNodeMask
      return answer(static_cast<int>(of.luid_mask));
    case 23:  // ComputeCapabilityMajor
      return answer(of.major);
    case 24:  // ManagedMemory
      return answer(of.managed_memory);
    case 25:  // MaxBlocksPerMultiProcessor
      return answer(of.max_blocks_per_multiprocessor);
    case 26:  // MaxBlockDimX, Y, Z
    case 27:
    case 28:
      return answer(of.max_threads[which - 26]);
    case 29:  // MaxGridDimX, Y, Z
    case 30:
    case 31:
      return answer(of.max_grid[which - 29]);
    case 32:  // MaxSurface1D
      return answer(of.surface_1d);
    case 39:  // MaxTexture1DWidth
      return answer(of.texture_1d);
    case 41:  // MaxTexture1DLinear
      return answer(of.texture_1d_linear);
    case 42:  // MaxTexture1DMipmap
      return answer(of.texture_1d_mipmap);
    case 43:  // MaxTexture2DWidth, Height
    case 44:
      return answer(of.texture_2d[which - 43]);
    case 49:  // MaxTexture3DWidth, Height, Depth
    case 50:
    case 51:
      return answer(of.texture_3d[which - 49]);
    case 53:  // MaxTextureCubemap
      return answer(of.texture_cubemap);
    case 56:  // MaxThreadsPerBlock
      return answer(of.max_threads_per_block);
    case 57:  // MaxThreadsPerMultiProcessor
      return answer(of.max_threads_per_multiprocessor);
    case 58:  // MaxPitch
      return answer(clamped(of.pitch));
    case 59:  // MemoryBusWidth
      return answer(of.memory_bus_width);
    case 60:  // MemoryClockRate
      return answer(of.memory_clock_rate);
    case 61:  // ComputeCapabilityMinor
      return answer(of.minor);
    case 62:  // MultiGpuBoardGroupID
      return answer(of.board_group);
    case 63:  // MultiprocessorCount
      return answer(of.multiprocessors);
    case 65:  // PageableMemoryAccess
      return answer(of.pageable_access);
    case 66:  // PageableMemoryAccessUsesHostPageTables
      return answer(of.pageable_uses_host_tables);
    case 67:  // PciBusId
      return answer(of.pci_bus);
    case 68:  // PciDeviceId
      return answer(of.pci_device);
    case 69:  // PciDomainID, since 6.0
      HALYARD_GPU_REQUIRE(is_since(kVersion60), gpu::kInvalidValue);
      return answer(of.pci_domain);
    case 70:  // PersistingL2CacheMaxSize
      return answer(of.persisting_l2_bytes);
    case 71:  // MaxRegistersPerBlock
      return answer(of.registers_per_block);
    case 72:  // MaxRegistersPerMultiprocessor
      return answer(of.registers_per_multiprocessor);
    case 73:  // ReservedSharedMemPerBlock
      return answer(clamped(of.reserved_shared_per_block));
    case 74:  // MaxSharedMemoryPerBlock
      return answer(clamped(of.shared_per_block));
    case 75:  // SharedMemPerBlockOptin
      return answer(clamped(of.shared_per_block_optin));
    case 76:  // SharedMemPerMultiprocessor
      return answer(clamped(of.shared_per_multiprocessor));
    case 78:  // StreamPrioritiesSupported
      return answer(of.stream_priorities);
    case 79:  // SurfaceAlignment
      return answer(clamped(of.surface_alignment));
    case 81:  // TextureAlignment
      return answer(clamped(of.texture_alignment));
    case 82:  // TexturePitchAlignment
      return answer(clamped(of.texture_pitch_alignment));
    case 83:  // TotalConstantMemory
      return answer(clamped(of.constant_memory));
    case 84:  // TotalGlobalMem
      return answer(clamped(of.total_memory));
    case 85:  // UnifiedAddressing: "always uses SVM" (hip_device_runtime.cpp)
      return answer(1);
    case 87:  // WarpSize
      return answer(of.warp_size);
    case 88:  // MemoryPoolsSupported
      return answer(of.memory_pools);
    case 89:  // VirtualMemoryManagementSupported, since 6.0
      HALYARD_GPU_REQUIRE(is_since(kVersion60), gpu::kInvalidValue);
      return answer(1);
    case 90:  // HostRegisterSupported, since 6.0
      HALYARD_GPU_REQUIRE(is_since(kVersion60), gpu::kInvalidValue);
      return answer(1);
    case 91:  // MemoryPoolSupportedHandleTypes, since 6.0; not built
      HALYARD_GPU_REQUIRE(is_since(kVersion60), gpu::kInvalidValue);
      return answer(0);
    case 10000:  // ClockInstructionRate
      return answer(of.clock_instruction_rate);
    case 10002:  // MaxSharedMemoryPerMultiprocessor
      return answer(clamped(of.max_shared_per_multiprocessor));
    case 10007:  // CooperativeMultiDeviceUnmatched*
    case 10008:
    case 10009:
    case 10010:
      return answer(1);
    case 10011:  // IsLargeBar
      return answer(of.is_large_bar);
    case 10012:  // AsicRevision
      return answer(of.asic_revision);
    case 10013:  // CanUseStreamWaitValue
      return answer(1);
    case 10014:  // ImageSupport: not built
      return answer(0);
    case 10015:  // PhysicalMultiProcessorCount
      return answer(of.multiprocessors);
    case 10016:  // FineGrainSupport
      return answer(1);
    case 10017:  // WallClockRate, kHz
      return answer(100000);
    case 10018:  // NumberOfXccs
      return answer(1);
    case 10019:  // MaxAvailableVgprsPerThread
      return answer(256);
    case 10020:  // PciChipId
      return answer(kPciDevice);
    default:
      return gpu::kInvalidValue;
  }
}

// hip_device_runtime.cpp, ihipChooseDevice: the device that meets most of the properties that are
// not 0.
template <class T>
Result choose_device(int* device, const T* wanted) {
  HALYARD_GPU_REQUIRE(device != nullptr && wanted != nullptr, gpu::kInvalidValue);
  *device = 0;
  int best = 0;
  for (int i = 0; gpu::is_device(i); ++i) {
    const Properties of = properties_of(i);
    int asked = 0, met = 0;
    const auto match = [&](auto wish, auto has) {
      if (wish == 0) return;
      ++asked;
      if (static_cast<std::uint64_t>(has) >= static_cast<std::uint64_t>(wish)) ++met;
    };
    match(wanted->major, of.major);
    match(wanted->minor, of.minor);
    match(wanted->total_memory, of.total_memory);
    match(wanted->shared_per_block, of.shared_per_block);
    match(wanted->max_threads_per_block, of.max_threads_per_block);
    match(wanted->constant_memory, of.constant_memory);
    match(wanted->multiprocessors, of.multiprocessors);
    match(wanted->max_threads_per_multiprocessor, of.max_threads_per_multiprocessor);
    match(wanted->memory_clock_rate, of.memory_clock_rate);
    match(wanted->memory_bus_width, of.memory_bus_width);
    match(wanted->l2_bytes, of.l2_bytes);
    match(wanted->registers_per_block, of.registers_per_block);
    match(wanted->max_shared_per_multiprocessor, of.max_shared_per_multiprocessor);
    match(wanted->warp_size, of.warp_size);
    if (met == asked && met > best) {
      best = met;
      *device = i;
    }
  }
  return kSuccess;
}

}  // namespace

// The name without a suffix has the old layout in every version of the library; headers of 6.0 and
// later select the other function by a macro.
HALYARD_HIP_EXPORT Result hipGetDeviceProperties(PropertiesOld* properties, int device) {
  HALYARD_HIP_CALL(hipGetDeviceProperties, gpu::kInitialized) {
    return write_properties(properties, device);
  };
}

HALYARD_HIP_EXPORT Result hipGetDevicePropertiesR0000(PropertiesOld* properties, int device) {
  HALYARD_HIP_CALL(hipGetDevicePropertiesR0000, gpu::kInitialized) {
    return write_properties(properties, device);
  };
}

HALYARD_HIP_EXPORT Result hipGetDevicePropertiesR0600(Properties* properties, int device) {
  HALYARD_HIP_CALL(hipGetDevicePropertiesR0600, gpu::kInitialized) {
    return write_properties(properties, device);
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetAttribute(int* value, int which, int device) {
  HALYARD_HIP_CALL(hipDeviceGetAttribute, gpu::kInitialized) {
    return attribute(value, which, device);
  };
}

HALYARD_HIP_EXPORT Result hipChooseDevice(int* device, const PropertiesOld* wanted) {
  HALYARD_HIP_CALL(hipChooseDevice, gpu::kInitialized) { return choose_device(device, wanted); };
}

HALYARD_HIP_EXPORT Result hipChooseDeviceR0000(int* device, const PropertiesOld* wanted) {
  HALYARD_HIP_CALL(hipChooseDeviceR0000, gpu::kInitialized) {
    return choose_device(device, wanted);
  };
}

HALYARD_HIP_EXPORT Result hipChooseDeviceR0600(int* device, const Properties* wanted) {
  HALYARD_HIP_CALL(hipChooseDeviceR0600, gpu::kInitialized) {
    return choose_device(device, wanted);
  };
}

}  // namespace halyard::inline v0::sim::hip
