// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types that the simulated libraries share, under names of this project: results, handles, layouts
// and numbers. They are those of cuda.h of CUDA 13.0, with which hip_runtime_api.h mostly agrees; a
// library whose values differ converts them. tests/sim_cuda compares with cuda.h where a toolkit is
// installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace halyard::inline v0::sim::gpu {

enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kPeerAccessUnsupported = 217,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kFileNotFound = 301,
  kSymbolNotFound = 302,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kPrimaryContextActive = 708,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kGraphExecUpdateFailure = 910,
  kUnknown = 999,
};

using DevicePointer = std::uint64_t;
using DeviceId = int;
using HostFunction = void (*)(void*);
template <class T>
struct Shell;
using Context = Shell<struct ContextState>*;
using Stream = Shell<struct StreamState>*;
using Event = Shell<struct EventState>*;
using Module = Shell<struct ModuleState>*;
using Function = Shell<struct FunctionState>*;
using Library = Shell<struct LibraryState>*;
using Kernel = Shell<struct KernelState>*;
using Graph = Shell<struct GraphState>*;
using GraphNode = Shell<struct NodeState>*;
using GraphExec = Shell<struct ExecState>*;
using Pool = Shell<struct PoolState>*;
using Array = Shell<struct ArrayState>*;
using UserObject = Shell<struct UserObjectState>*;
using StreamCallback = void (*)(Stream, Result, void*);

inline constexpr std::size_t kMostDevices = 64;

// Values of CUstream that are not handles.
inline constexpr std::uintptr_t kLegacyStream = 1, kPerThreadStream = 2;
inline constexpr unsigned kNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2, kEventInterprocess = 4;
inline constexpr unsigned kHostPortable = 1, kHostDeviceMap = 2, kHostWriteCombined = 4;
inline constexpr unsigned kRegisterIoMemory = 4, kRegisterReadOnly = 8;
inline constexpr unsigned kAttachGlobal = 1, kAttachHost = 2;
// CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ALLOCATION_TYPE_PINNED
inline constexpr int kLocationDevice = 1, kPinned = 1;
// Keys of the list `extra` of a launch.
inline constexpr std::uintptr_t kParamBufferPointer = 1, kParamBufferSize = 2;

enum MemoryType : unsigned { kHost = 1, kDevice = 2, kArray = 3, kUnified = 4 };

// CUDA_MEMCPY3D; the reserved members are the contexts of CUDA_MEMCPY3D_PEER.
struct Copy3D {
  std::size_t src_x, src_y, src_z, src_lod;
  MemoryType src_type;
  const void* src_host;
  DevicePointer src_device;
  void* src_array;
  Context src_context;
  std::size_t src_pitch, src_height;
  std::size_t dst_x, dst_y, dst_z, dst_lod;
  MemoryType dst_type;
  void* dst_host;
  DevicePointer dst_device;
  void* dst_array;
  Context dst_context;
  std::size_t dst_pitch, dst_height;
  std::size_t width, height, depth;
};

// CUDA_ARRAY3D_DESCRIPTOR, HIP_ARRAY3D_DESCRIPTOR
struct Array3D {
  std::size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

// A memset of `height` rows of `width` elements. The value has the size of an element.
struct Fill {
  DevicePointer dst;
  std::size_t pitch;
  unsigned value;
  unsigned element_size;
  std::size_t width, height;
};
struct HostParams {
  HostFunction function;
  void* data;
};
struct MemOp {
  std::uint32_t operation;
  std::uint32_t reserved;
  DevicePointer address;
  std::uint64_t value;
  std::uint32_t flags;
  std::uint32_t padding;
  DevicePointer alias;
  std::uint64_t more;  // the mask of a wait, where waits have one
};
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
  kMemOpNode = 12,
};
struct GraphEdge {
  std::uint8_t from_port, to_port, type, reserved[5];
};
enum UpdateResult : int {
  kUpdateSuccess = 0,
  kUpdateError = 1,
  kTopologyChanged = 2,
  kNodeTypeChanged = 3,
  kFunctionChanged = 4,
  kParametersChanged = 5,
  kUpdateNotSupported = 6,
};
struct UpdateInfo {
  UpdateResult result;
  GraphNode error_node, error_from_node;
};
// CUlaunchAttributeID
enum LaunchAttributeId : int {
  kAccessPolicyWindow = 1,
  kCooperative = 2,
  kSynchronizationPolicy = 3,
  kClusterDimension = 4,
  kClusterPolicy = 5,
  kProgrammaticEvent = 7,
  kPriorityAttribute = 8,
  kMemSyncDomainMap = 9,
  kMemSyncDomain = 10,
  kPreferredCluster = 11,
  kCompletionEvent = 12,
  kDeviceUpdatable = 13,
  kSharedCarveout = 14,
};
using AttributeValue = std::array<std::uint64_t, 8>;
struct Location {
  int type, id;
};
struct AccessDescription {
  Location location;
  int flags;
};
struct AllocationProperties {
  int type, handle_types;
  Location location;
  void* win32;
  std::uint8_t compression, rdma;
  std::uint16_t usage;
  std::uint8_t reserved[4];
};
struct PoolProperties {
  int type, handle_types;
  Location location;
  void* security;
  std::size_t max_size;
  std::uint16_t usage;
  std::uint8_t reserved[54];
};
struct AllocNodeParams {
  PoolProperties pool;
  const AccessDescription* access;
  std::size_t access_count;
  std::size_t size;
  DevicePointer address;
};

enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureBroken = 2 };

}  // namespace halyard::inline v0::sim::gpu
