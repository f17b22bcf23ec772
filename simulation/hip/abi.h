// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types of the HIP API as the simulated library declares them: layouts and values of
// hip_runtime_api.h, under names of this project. Types that changed with HIP 6.0 are here in both
// versions. Sources: the headers of HIP 5.2.3 (Debian libamdhip64-dev), and cyhip.pxd of
// rocm-bindings-hip 10.0.0 for HIP 7.15. tests/sim_hip compares them with AMD's headers where these
// are installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulation/gpu/types.h"

namespace halyard::inline v0::sim::hip {

using gpu::AccessDescription;
using gpu::CaptureMode;
using gpu::CaptureStatus;
using gpu::Context;
using gpu::DeviceId;
using gpu::Event;
using gpu::Function;
using gpu::Graph;
using gpu::GraphEdge;
using gpu::GraphExec;
using gpu::GraphNode;
using gpu::HostFunction;
using gpu::HostParams;
using gpu::Location;
using gpu::MemOp;
using gpu::Module;
using gpu::Pool;
using gpu::Result;
using gpu::Stream;
using gpu::StreamCallback;
using gpu::UserObject;

// Values of hipError_t that CUDA's driver API lacks.
inline constexpr Result kInvalidConfiguration = static_cast<Result>(9);
inline constexpr Result kInvalidPitch = static_cast<Result>(12);
inline constexpr Result kInvalidSymbol = static_cast<Result>(13);
inline constexpr Result kInvalidDevicePointer = static_cast<Result>(17);
inline constexpr Result kInvalidDirection = static_cast<Result>(21);
inline constexpr Result kMissingConfiguration = static_cast<Result>(52);
inline constexpr Result kInvalidDeviceFunction = static_cast<Result>(98);
inline constexpr Result kUnsupportedLimit = static_cast<Result>(215);
inline constexpr Result kContextInUse = static_cast<Result>(216);
inline constexpr Result kInvalidKernelFile = static_cast<Result>(218);

struct Dim3 {
  std::uint32_t x, y, z;
};

// hipStreamLegacy since 6.2, hipStreamPerThread.
inline constexpr std::uintptr_t kStreamPerThread = 2;

// hipEvent flags beyond those of CUDA.
inline constexpr unsigned kEventDisableSystemFence = 0x20000000;
inline constexpr unsigned kEventReleaseToDevice = 0x40000000;
inline constexpr unsigned kEventReleaseToSystem = 0x80000000;

// hipHostMalloc
inline constexpr unsigned kHostPortable = 1, kHostMapped = 2, kHostWriteCombined = 4;
inline constexpr unsigned kHostNumaUser = 0x20000000, kHostCoherent = 0x40000000,
                          kHostNonCoherent = 0x80000000;

// hipExtMallocWithFlags
inline constexpr unsigned kMallocFineGrained = 1, kMallocSignal = 2, kMallocUncached = 3,
                          kMallocContiguous = 4;

// HIP_LAUNCH_PARAM_*; the end mark differs from CUDA's.
inline constexpr std::uintptr_t kLaunchBuffer = 1, kLaunchSize = 2, kLaunchEnd = 3;

enum CopyKind : int {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kDefaultKind = 4,
  kDeviceToDeviceNoCopyUnit = 1024,  // hipMemcpyDeviceToDeviceNoCU
};

// hipMemoryType of 6.0 and later, and of 5.x.
namespace memory_type {
enum New : unsigned {
  kUnregistered = 0,
  kHost = 1,
  kDevice = 2,
  kManaged = 3,
  kArray = 10,
  kUnified = 11,
};
enum Old : unsigned {
  kOldHost = 0,
  kOldDevice = 1,
  kOldArray = 2,
  kOldUnified = 3,
  kOldManaged = 4,
};
}  // namespace memory_type

// hipUUID: 16 characters, not 16 bytes of a number.
struct Uuid {
  char bytes[16];
};

// hipDeviceArch_t, a bit for each feature.
using ArchBits = unsigned;

// hipDeviceProp_t up to 5.x, of the symbol hipGetDeviceProperties.
struct PropertiesOld {
  char name[256];
  std::size_t total_memory;
  std::size_t shared_per_block;
  int registers_per_block, warp_size, max_threads_per_block, max_threads[3], max_grid[3];
  int clock_rate, memory_clock_rate, memory_bus_width;
  std::size_t constant_memory;
  int major, minor, multiprocessors, l2_bytes, max_threads_per_multiprocessor, compute_mode;
  int clock_instruction_rate;
  ArchBits arch;
  int concurrent_kernels, pci_domain, pci_bus, pci_device;
  std::size_t max_shared_per_multiprocessor;
  int is_multi_gpu_board, can_map_host, gcn_arch;
  char gcn_arch_name[256];
  int integrated, cooperative_launch, cooperative_multi_device;
  int texture_1d_linear, texture_1d, texture_2d[2], texture_3d[3];
  unsigned *hdp_mem_flush, *hdp_reg_flush;
  std::size_t pitch, texture_alignment, texture_pitch_alignment;
  int kernel_timeout, ecc, tcc, unmatched_function, unmatched_grid, unmatched_block,
      unmatched_shared, is_large_bar, asic_revision, managed_memory, direct_managed_access,
      concurrent_managed_access, pageable_access, pageable_uses_host_tables;
};
static_assert(sizeof(PropertiesOld) == 792);

// hipDeviceProp_tR0600, of the symbol hipGetDevicePropertiesR0600.
struct Properties {
  char name[256];
  Uuid uuid;
  char luid[8];
  unsigned luid_mask;
  std::size_t total_memory, shared_per_block;
  int registers_per_block, warp_size;
  std::size_t pitch;
  int max_threads_per_block, max_threads[3], max_grid[3], clock_rate;
  std::size_t constant_memory;
  int major, minor;
  std::size_t texture_alignment, texture_pitch_alignment;
  int device_overlap, multiprocessors, kernel_timeout, integrated, can_map_host, compute_mode;
  int texture_1d, texture_1d_mipmap, texture_1d_linear, texture_2d[2], texture_2d_mipmap[2],
      texture_2d_linear[3], texture_2d_gather[2], texture_3d[3], texture_3d_alternate[3],
      texture_cubemap, texture_1d_layered[2], texture_2d_layered[3], texture_cubemap_layered[2];
  int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3],
      surface_cubemap, surface_cubemap_layered[2];
  std::size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines,
      unified_addressing, memory_clock_rate, memory_bus_width, l2_bytes, persisting_l2_bytes,
      max_threads_per_multiprocessor, stream_priorities, global_l1, local_l1;
  std::size_t shared_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, is_multi_gpu_board, board_group,
      host_native_atomics, single_to_double_ratio, pageable_access, concurrent_managed_access,
      compute_preemption, can_use_host_pointer, cooperative_launch, cooperative_multi_device;
  std::size_t shared_per_block_optin;
  int pageable_uses_host_tables, direct_managed_access, max_blocks_per_multiprocessor,
      access_policy_window;
  std::size_t reserved_shared_per_block;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools,
      gpu_direct_rdma;
  unsigned gpu_direct_flush_options;
  int gpu_direct_ordering;
  unsigned pool_handle_types;
  int deferred_mapping, ipc_events, cluster_launch, unified_function_pointers;
  int reserved[63], hip_reserved[32];
  char gcn_arch_name[256];
  std::size_t max_shared_per_multiprocessor;
  int clock_instruction_rate;
  ArchBits arch;
  unsigned *hdp_mem_flush, *hdp_reg_flush;
  int unmatched_function, unmatched_grid, unmatched_block, unmatched_shared, is_large_bar,
      asic_revision;
};
static_assert(sizeof(Properties) == 1472);
static_assert(offsetof(Properties, gcn_arch_name) == 1160);

struct PointerAttributes {
  int type;  // hipMemoryType
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
};

struct FunctionAttributes {
  int binary_version, cache_mode;
  std::size_t constant_bytes, local_bytes;
  int max_dynamic_shared, max_threads, registers, carveout, ptx_version;
  std::size_t shared_bytes;
};

struct Extent {
  std::size_t width, height, depth;
};
struct Position {
  std::size_t x, y, z;
};
struct PitchedPointer {
  void* pointer;
  std::size_t pitch, width, height;
};

// hip_Memcpy2D
struct Copy2D {
  std::size_t src_x, src_y;
  unsigned src_type;
  const void* src_host;
  void* src_device;
  void* src_array;
  std::size_t src_pitch;
  std::size_t dst_x, dst_y;
  unsigned dst_type;
  void* dst_host;
  void* dst_device;
  void* dst_array;
  std::size_t dst_pitch;
  std::size_t width, height;
};

// hipMemcpy3DParms
struct Copy3D {
  void* src_array;
  Position src_at;
  PitchedPointer src;
  void* dst_array;
  Position dst_at;
  PitchedPointer dst;
  Extent extent;
  int kind;
};
static_assert(sizeof(Copy3D) == 160);

// hipMemcpy3DPeerParms
struct Copy3DPeer {
  void* src_array;
  Position src_at;
  PitchedPointer src;
  int src_device;
  void* dst_array;
  Position dst_at;
  PitchedPointer dst;
  int dst_device;
  Extent extent;
};

// HIP_MEMCPY3D up to 5.x, and of 6.0 and later.
struct DriverCopyOld {
  unsigned src_x, src_y, src_z, src_lod, src_type;
  const void* src_host;
  void* src_device;
  void* src_array;
  unsigned src_pitch, src_height;
  unsigned dst_x, dst_y, dst_z, dst_lod, dst_type;
  void* dst_host;
  void* dst_device;
  void* dst_array;
  unsigned dst_pitch, dst_height;
  unsigned width, height, depth;
};
static_assert(sizeof(DriverCopyOld) == 128 && offsetof(DriverCopyOld, width) == 112);
struct DriverCopy {
  std::size_t src_x, src_y, src_z, src_lod;
  unsigned src_type;
  const void* src_host;
  void* src_device;
  void* src_array;
  std::size_t src_pitch, src_height;
  std::size_t dst_x, dst_y, dst_z, dst_lod;
  unsigned dst_type;
  void* dst_host;
  void* dst_device;
  void* dst_array;
  std::size_t dst_pitch, dst_height;
  std::size_t width, height, depth;
};
static_assert(sizeof(DriverCopy) == 184 && offsetof(DriverCopy, width) == 160);

// hipMemPoolProps; `max_size` is reserved before 6.0.
struct PoolProperties {
  int type, handle_types;
  Location location;
  void* security;
  std::size_t max_size;
  std::uint8_t reserved[56];
};
static_assert(sizeof(PoolProperties) == 88);

struct KernelNodeParams {
  Dim3 block;
  void** extra;
  void* function;  // hipFunction_t, or the host's address of a registered kernel
  Dim3 grid;
  void** parameters;
  unsigned shared_bytes;
};
static_assert(sizeof(KernelNodeParams) == 64 && offsetof(KernelNodeParams, parameters) == 48);

struct FillNodeParams {
  void* dst;
  unsigned element_size;
  std::size_t height, pitch;
  unsigned value;
  std::size_t width;
};
static_assert(sizeof(FillNodeParams) == 48);

struct AllocNodeParams {
  PoolProperties pool;
  const AccessDescription* access;
  std::size_t access_count, bytes;
  void* address;
};

struct CopyNodeParams {
  int flags, reserved[3];
  Copy3D copy;
};

// hipGraphNodeParams
struct NodeParams {
  int type;
  int reserved[3];
  union {
    long long words[29];
    KernelNodeParams kernel;
    CopyNodeParams copy;
    FillNodeParams fill;
    HostParams host;
    Graph graph;
    Event event;
    AllocNodeParams allocation;
    void* free_address;
  };
  long long reserved2;
};
static_assert(sizeof(NodeParams) == 256);

// hipGraphNodeType of 6.0 and later. In 5.2 the first values are greater by 1.
enum NodeType : int {
  kKernelNode = 0,
  kCopyNode = 1,
  kFillNode = 2,
  kHostNode = 3,
  kGraphNode = 4,
  kEmptyNode = 5,
  kWaitEventNode = 6,
  kRecordEventNode = 7,
  kAllocNode = 10,
  kFreeNode = 11,
  kMemOpNode = 14,
};

struct InstantiateParams {
  GraphNode error_node;
  unsigned long long flags;
  int result;
  Stream upload_stream;
};

// hipLaunchAttribute and the two configurations.
struct LaunchAttribute {
  int id;
  char padding[4];
  std::uint64_t value[8];
};
inline constexpr int kCooperativeAttribute = 2, kPriorityAttribute = 8;
struct LaunchConfig {
  Dim3 grid, block;
  std::size_t shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
struct DriverLaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

}  // namespace halyard::inline v0::sim::hip
