// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of amdkfd in Linux 6.12: the structures of its requests, version 1.17, as
// include/uapi/linux/kfd_ioctl.h describes them. Declared here because headers of older systems
// lack parts of it.
#pragma once

#include <cstdint>

namespace halyard::inline v0::sim::kfd::abi {

inline constexpr std::uint32_t kMajor = 1, kMinor = 17;

// The low 8 bits of a request's number.
enum class Request : std::uint32_t {
  kGetVersion = 0x01,
  kCreateQueue = 0x02,
  kDestroyQueue = 0x03,
  kGetClockCounters = 0x05,
  kUpdateQueue = 0x07,
  kCreateEvent = 0x08,
  kDestroyEvent = 0x09,
  kSetEvent = 0x0a,
  kResetEvent = 0x0b,
  kWaitEvents = 0x0c,
  kSetScratchBackingVa = 0x11,
  kSetTrapHandler = 0x13,
  kGetProcessAperturesNew = 0x14,
  kAcquireVm = 0x15,
  kAllocMemory = 0x16,
  kFreeMemory = 0x17,
  kMapMemory = 0x18,
  kUnmapMemory = 0x19,
  kAvailableMemory = 0x23,
  kRuntimeEnable = 0x25,
};

struct GetVersion {
  std::uint32_t major = 0, minor = 0;
};

enum QueueType : std::uint32_t { kPm4 = 0, kSdma = 1, kAql = 2, kSdmaXgmi = 3, kSdmaByEngine = 4 };

struct CreateQueue {
  std::uint64_t ring_base_address = 0, write_pointer_address = 0, read_pointer_address = 0;
  std::uint64_t doorbell_offset = 0;  // from the kernel
  std::uint32_t ring_size = 0, gpu_id = 0, queue_type = 0, queue_percentage = 0, queue_priority = 0;
  std::uint32_t queue_id = 0;  // from the kernel
  std::uint64_t eop_buffer_address = 0, eop_buffer_size = 0, ctx_save_restore_address = 0;
  std::uint32_t ctx_save_restore_size = 0, ctl_stack_size = 0;
  std::uint32_t sdma_engine_id = 0, pad = 0;  // absent before version 1.16
};
inline constexpr std::uint32_t kOldCreateQueueBytes = 88;

struct DestroyQueue {
  std::uint32_t queue_id = 0, pad = 0;
};
struct UpdateQueue {
  std::uint64_t ring_base_address = 0;
  std::uint32_t queue_id = 0, ring_size = 0, queue_percentage = 0, queue_priority = 0;
};
struct GetClockCounters {
  std::uint64_t gpu_clock_counter = 0, cpu_clock_counter = 0, system_clock_counter = 0,
                system_clock_freq = 0;
  std::uint32_t gpu_id = 0, pad = 0;
};

enum EventType : std::uint32_t {
  kSignalEvent = 0,
  kHwExceptionEvent = 3,
  kDebugEvent = 5,
  kMemoryEvent = 8
};

struct CreateEvent {
  std::uint64_t event_page_offset = 0;
  std::uint32_t event_trigger_data = 0, event_type = 0, auto_reset = 0, node_id = 0, event_id = 0;
  std::uint32_t event_slot_index = 0;
};
struct EventId {
  std::uint32_t event_id = 0, pad = 0;
};
struct MemoryException {
  std::uint32_t not_present = 0, read_only = 0, no_execute = 0, imprecise = 0;
  std::uint64_t va = 0;
  std::uint32_t gpu_id = 0, error_type = 0;
};
struct HwException {
  std::uint32_t reset_type = 0, reset_cause = 0, memory_lost = 0, gpu_id = 0;
};
struct EventData {
  union {
    MemoryException memory;
    HwException hardware;
  };
  std::uint64_t extension = 0;
  std::uint32_t event_id = 0, pad = 0;
};
enum WaitResult : std::uint32_t { kComplete = 0, kTimeout = 1, kFail = 2 };
struct WaitEvents {
  std::uint64_t events_ptr = 0;
  std::uint32_t num_events = 0, wait_for_all = 0;
  std::uint32_t timeout = 0;  // in milliseconds; all bits set: none
  std::uint32_t wait_result = 0;
};

struct Address {  // SET_SCRATCH_BACKING_VA
  std::uint64_t va = 0;
  std::uint32_t gpu_id = 0, pad = 0;
};
struct SetTrapHandler {
  std::uint64_t tba = 0, tma = 0;
  std::uint32_t gpu_id = 0, pad = 0;
};
struct Apertures {
  std::uint64_t lds_base = 0, lds_limit = 0, scratch_base = 0, scratch_limit = 0, gpuvm_base = 0,
                gpuvm_limit = 0;
  std::uint32_t gpu_id = 0, pad = 0;
};
struct GetProcessAperturesNew {
  std::uint64_t apertures_ptr = 0;
  std::uint32_t num_of_nodes = 0, pad = 0;
};
struct AcquireVm {
  std::uint32_t drm_fd = 0, gpu_id = 0;
};

enum AllocFlags : std::uint32_t {
  kVram = 1u << 0,
  kGtt = 1u << 1,
  kUserptr = 1u << 2,
  kDoorbell = 1u << 3,
  kMmioRemap = 1u << 4,
  kUncached = 1u << 25,
  kCoherent = 1u << 26,
  kAqlQueueMemory = 1u << 27,
  kNoSubstitute = 1u << 28,
  kPublic = 1u << 29,
  kExecutable = 1u << 30,
  kWritable = 1u << 31,
};
struct AllocMemory {
  std::uint64_t va_addr = 0, size = 0, handle = 0, mmap_offset = 0;
  std::uint32_t gpu_id = 0, flags = 0;
};
struct FreeMemory {
  std::uint64_t handle = 0;
};
struct MapMemory {  // and UNMAP
  std::uint64_t handle = 0, device_ids_array_ptr = 0;
  std::uint32_t n_devices = 0, n_success = 0;
};
struct AvailableMemory {
  std::uint64_t available = 0;
  std::uint32_t gpu_id = 0, pad = 0;
};
struct RuntimeEnable {
  std::uint64_t r_debug = 0;
  std::uint32_t mode_mask = 0, capabilities_mask = 0;
};

// Offsets of mmap(2) on /dev/kfd: amdkfd/kfd_priv.h, KFD_MMAP_TYPE_SHIFT and KFD_MMAP_GPU_ID_SHIFT.
inline constexpr unsigned kMmapTypeShift = 62, kMmapGpuIdShift = 46;
inline constexpr std::uint64_t kMmapDoorbell = std::uint64_t{3} << kMmapTypeShift;
inline constexpr std::uint64_t kMmapEvents = std::uint64_t{2} << kMmapTypeShift;
// Doorbells of a process on one device: 1,024 of 8 bytes (amdkfd/kfd_doorbell.c).
inline constexpr std::uint64_t kDoorbellBytes = 0x2000;
inline constexpr std::uint32_t kEventLimit = 4096;  // KFD_SIGNAL_EVENT_LIMIT, slots of 8 bytes
inline constexpr std::uint64_t kUnsignaled = ~std::uint64_t{0};  // UNSIGNALED_EVENT_SLOT
inline constexpr std::uint64_t kPage = 4096;

static_assert(sizeof(GetVersion) == 8 && sizeof(CreateQueue) == 96 && sizeof(DestroyQueue) == 8);
static_assert(sizeof(UpdateQueue) == 24 && sizeof(GetClockCounters) == 40 &&
              sizeof(CreateEvent) == 32);
static_assert(sizeof(EventId) == 8 && sizeof(EventData) == 48 && sizeof(WaitEvents) == 24);
static_assert(sizeof(Address) == 16 && sizeof(SetTrapHandler) == 24 && sizeof(Apertures) == 56);
static_assert(sizeof(GetProcessAperturesNew) == 16 && sizeof(AcquireVm) == 8 &&
              sizeof(AllocMemory) == 40);
static_assert(sizeof(FreeMemory) == 8 && sizeof(MapMemory) == 24 && sizeof(AvailableMemory) == 16);
static_assert(sizeof(RuntimeEnable) == 16);

}  // namespace halyard::inline v0::sim::kfd::abi
