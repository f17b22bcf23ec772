// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipStream, host functions, and memory operations of streams.
#include <algorithm>
#include <cstring>

#include "simulation/gpu/allocation.h"
#include "simulation/gpu/capture.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream_operations.h"
#include "simulation/hip/bugs.h"
#include "simulation/hip/per_thread.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {
namespace {

constexpr int kHighest = -1, kLowest = 1;
// The key of hipExtStreamCreateWithCUMask's mask among the attributes of a stream.
constexpr int kComputeUnitMask = 0x10000;

bool is_special(Stream stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  return value <= gpu::kPerThreadStream;
}

template <class T>
bool is_or_report(gpu::Shell<T>* handle) {
  if (gpu::is_handle(handle)) return true;
  gpu::report_dead_handle(handle);
  return false;
}

Result create(Call& call, Stream* stream, unsigned flags, int priority) {
  HALYARD_GPU_REQUIRE(stream != nullptr && flags <= gpu::kNonBlocking, gpu::kInvalidValue);
  const Result result = gpu::create_stream(call, stream, flags, 0);
  if (result == kSuccess) (*stream)->object->priority = std::clamp(priority, kHighest, kLowest);
  return result;
}

}  // namespace

Result check_handle(Stream stream, Result before_7) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  // hipStreamLegacy was added in 6.2; before that, 1 is an address.
  if (value == gpu::kLegacyStream && !is_since(kVersion62)) return before_7;
  if (is_special(stream) || is_or_report(stream)) return kSuccess;
  return is_since(kVersion70) ? gpu::kInvalidHandle : before_7;
}

Result check_handle(Event event, Result before_7) {
  if (is_or_report(event)) return kSuccess;
  return event == nullptr || is_since(kVersion70) ? gpu::kInvalidHandle : before_7;
}

Result after_launch(Call& call, Stream stream, Result result) {
  const Settings& how = settings();
  if (result != kSuccess || (!how.serializes_calls && !how.serializes_kernels)) [[likely]] {
    return result;
  }
  gpu::StreamState* const of = gpu::find_stream(stream);
  return of != nullptr && of->capture == nullptr ? gpu::wait_for(call.lock(), *of) : result;
}

HALYARD_HIP_EXPORT Result hipStreamCreate(Stream* stream) {
  HALYARD_HIP_CALL(hipStreamCreate, gpu::kCurrent) { return create(call, stream, 0, 0); };
}

HALYARD_HIP_EXPORT Result hipStreamCreateWithFlags(Stream* stream, unsigned flags) {
  HALYARD_HIP_CALL(hipStreamCreateWithFlags, gpu::kCurrent) {
    return create(call, stream, flags, 0);
  };
}

HALYARD_HIP_EXPORT Result hipStreamCreateWithPriority(Stream* stream, unsigned flags,
                                                      int priority) {
  HALYARD_HIP_CALL(hipStreamCreateWithPriority, gpu::kCurrent) {
    return create(call, stream, flags, priority);
  };
}

// The mask is stored and returned, but does not affect kernels.
HALYARD_HIP_EXPORT Result hipExtStreamCreateWithCUMask(Stream* stream, std::uint32_t size,
                                                       const std::uint32_t* mask) {
  HALYARD_HIP_CALL(hipExtStreamCreateWithCUMask, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(stream != nullptr && size != 0 && mask != nullptr, gpu::kInvalidValue);
    const Result result = create(call, stream, 0, 0);
    if (result != kSuccess) return result;
    gpu::AttributeValue value{};
    std::memcpy(value.data(), mask, std::min<std::size_t>(size * sizeof *mask, sizeof value));
    (*stream)->object->attributes[kComputeUnitMask] = value;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipExtStreamGetCUMask(Stream stream, std::uint32_t size,
                                                std::uint32_t* mask) {
  HALYARD_HIP_CALL(hipExtStreamGetCUMask, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(mask != nullptr && size != 0, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    gpu::AttributeValue value{};
    value[0] = (std::uint64_t{1} << gpu::rules().limits->multiprocessors) - 1;
    const gpu::StreamState& of = *gpu::find_stream(stream);
    const auto at = of.attributes.find(kComputeUnitMask);
    if (at != of.attributes.end()) value = at->second;
    std::memset(mask, 0, size * sizeof *mask);
    std::memcpy(mask, value.data(), std::min<std::size_t>(size * sizeof *mask, sizeof value));
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipStreamDestroy(Stream stream) {
  HALYARD_HIP_CALL(hipStreamDestroy, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(!is_special(stream), gpu::kInvalidHandle);
    HALYARD_HIP_HANDLE(stream);
    return gpu::end_stream(stream);  // work in flight still runs
  };
}

HALYARD_HIP_EXPORT Result hipStreamSynchronize(Stream stream) {
  HALYARD_HIP_CALL(hipStreamSynchronize, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(stream);
    const ContextState& context = *gpu::find_stream(stream)->context;
    const WaitScope scope(context.device);
    const Result result = gpu::synchronize_stream(call, stream);
    clear_pools(context);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipStreamQuery(Stream stream) {
  HALYARD_HIP_CALL(hipStreamQuery, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(stream);
    await_waits(call, gpu::find_stream(stream)->context->device);
    return gpu::query_stream(stream);
  };
}

HALYARD_HIP_EXPORT Result hipStreamGetFlags(Stream stream, unsigned* flags) {
  HALYARD_HIP_CALL(hipStreamGetFlags, gpu::kCurrent) {
    // Null is an invalid value, but in the _spt form it is the thread's stream.
    HALYARD_GPU_REQUIRE(
        flags != nullptr && (stream != nullptr || gpu::this_thread().uses_per_thread_stream),
        gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    *flags = gpu::find_stream(stream)->flags;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipStreamGetPriority(Stream stream, int* priority) {
  HALYARD_HIP_CALL(hipStreamGetPriority, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(priority != nullptr, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    *priority = gpu::find_stream(stream)->priority;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipStreamGetDevice(Stream stream, DeviceId* device) {
  HALYARD_HIP_CALL(hipStreamGetDevice, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(device != nullptr, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    *device = gpu::find_stream(stream)->context->device;
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipStreamGetId(Stream stream, unsigned long long* id) {
  HALYARD_HIP_CALL(hipStreamGetId, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(id != nullptr, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream, gpu::kInvalidHandle);
    *id = gpu::find_stream(stream)->id;
    return kSuccess;
  };
}

// Returns a device, not an error; -1 if the handle is not a stream.
HALYARD_HIP_EXPORT int hipGetStreamDeviceId(Stream stream) {
  static constinit gpu::Entry entry("hipGetStreamDeviceId", true);
  int device = -1;
  Running{entry, gpu::kCurrent} + [&](Call&) -> Result {
    HALYARD_HIP_HANDLE(stream);
    device = gpu::find_stream(stream)->context->device;
    return kSuccess;
  };
  return device;
}

HALYARD_HIP_EXPORT Result hipStreamAddCallback(Stream stream, StreamCallback callback, void* data,
                                               unsigned flags) {
  HALYARD_HIP_CALL(hipStreamAddCallback, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(callback != nullptr && flags == 0, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    return gpu::add_callback(stream, callback, data, flags);
  };
}

HALYARD_HIP_EXPORT Result hipLaunchHostFunc(Stream stream, HostFunction function, void* data) {
  HALYARD_HIP_CALL(hipLaunchHostFunc, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(function != nullptr, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    gpu::StreamState& of = *gpu::find_stream(stream);
    // Captured since 7.0.2.
    if (of.capture != nullptr && !is_since(kVersion71)) {
      of.capture->is_broken = true;
      return gpu::kCaptureUnsupported;
    }
    return gpu::launch_host_function(stream, function, data);
  };
}

HALYARD_HIP_EXPORT Result hipStreamAttachMemAsync(Stream stream, void* address, std::size_t,
                                                  unsigned flags) {
  HALYARD_HIP_CALL(hipStreamAttachMemAsync, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(address != nullptr, gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    return gpu::attach_memory(stream, address_of(address), flags);
  };
}

namespace {

// hipStreamWaitValue of 32 and of 64 bits.
constexpr std::uint32_t kWait32 = 1, kWrite32 = 2, kWait64 = 4, kWrite64 = 5;
constexpr unsigned kNor = 3;  // the last of hipStreamWaitValueGte, Eq, And, Nor

Result wait_value(Stream stream, std::uint32_t operation, void* address, std::uint64_t value,
                  unsigned flags, std::uint64_t mask) {
  HALYARD_GPU_REQUIRE(address != nullptr && flags <= kNor, gpu::kInvalidValue);
  HALYARD_HIP_HANDLE(stream);
  // hip_stream_ops.cpp. All streams of a device share a few hardware queues, so the work that would
  // end the wait may be queued after it (ROCm/rocm-systems, issue 9249).
  gpu::report_misuse("wait-for-a-value",
                     "hipStreamWaitValue can block streams that share its hardware queue");
  MemOp wait{};
  wait.operation = operation;
  wait.address = address_of(address);
  wait.value = value;
  wait.flags = flags;
  wait.more = mask;
  return gpu::add_mem_ops(stream, {wait});
}

Result write_value(Stream stream, std::uint32_t operation, void* address, std::uint64_t value,
                   unsigned flags) {
  HALYARD_GPU_REQUIRE(address != nullptr && flags == 0, gpu::kInvalidValue);
  HALYARD_HIP_HANDLE(stream);
  return gpu::add_mem_op(stream, operation, address_of(address), value, flags);
}

}  // namespace

HALYARD_HIP_EXPORT Result hipStreamWaitValue32(Stream stream, void* address, std::uint32_t value,
                                               unsigned flags, std::uint32_t mask) {
  HALYARD_HIP_CALL(hipStreamWaitValue32, gpu::kCurrent) {
    return wait_value(stream, kWait32, address, value, flags, mask);
  };
}

HALYARD_HIP_EXPORT Result hipStreamWaitValue64(Stream stream, void* address, std::uint64_t value,
                                               unsigned flags, std::uint64_t mask) {
  HALYARD_HIP_CALL(hipStreamWaitValue64, gpu::kCurrent) {
    return wait_value(stream, kWait64, address, value, flags, mask);
  };
}

HALYARD_HIP_EXPORT Result hipStreamWriteValue32(Stream stream, void* address, std::uint32_t value,
                                                unsigned flags) {
  HALYARD_HIP_CALL(hipStreamWriteValue32, gpu::kCurrent) {
    return write_value(stream, kWrite32, address, value, flags);
  };
}

HALYARD_HIP_EXPORT Result hipStreamWriteValue64(Stream stream, void* address, std::uint64_t value,
                                                unsigned flags) {
  HALYARD_HIP_CALL(hipStreamWriteValue64, gpu::kCurrent) {
    return write_value(stream, kWrite64, address, value, flags);
  };
}

HALYARD_HIP_EXPORT Result hipStreamBatchMemOp(Stream stream, unsigned count,
                                              const MemOp* operations, unsigned flags) {
  HALYARD_HIP_CALL(hipStreamBatchMemOp, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(count != 0 && count <= 256 && operations != nullptr && flags == 0,
                        gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream);
    std::vector<MemOp> list(operations, operations + count);
    for (MemOp& each : list) each.more = ~std::uint64_t{0};  // these have no mask
    return gpu::add_mem_ops(stream, std::move(list));
  };
}

namespace {

// hipLaunchAttributeAccessPolicyWindow, SynchronizationPolicy, Priority, MemSyncDomainMap and
// MemSyncDomain. All but the priority are stored and returned, but have no effect.
bool is_stream_attribute(int id) { return id == 1 || id == 3 || id == 8 || id == 9 || id == 10; }
constexpr int kPriority = 8;

}  // namespace

HALYARD_HIP_EXPORT Result hipStreamGetAttribute(Stream stream, int id, gpu::AttributeValue* value) {
  HALYARD_HIP_CALL(hipStreamGetAttribute, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(value != nullptr && is_stream_attribute(id), gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream, gpu::kInvalidHandle);
    const gpu::StreamState& of = *gpu::find_stream(stream);
    const auto at = of.attributes.find(id);
    *value = at != of.attributes.end() ? at->second : gpu::AttributeValue{};
    if (id == kPriority) (*value)[0] = static_cast<std::uint32_t>(of.priority);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipStreamSetAttribute(Stream stream, int id,
                                                const gpu::AttributeValue* value) {
  HALYARD_HIP_CALL(hipStreamSetAttribute, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(value != nullptr && is_stream_attribute(id), gpu::kInvalidValue);
    HALYARD_HIP_HANDLE(stream, gpu::kInvalidHandle);
    gpu::StreamState& of = *gpu::find_stream(stream);
    if (id == kPriority) {
      of.priority = std::clamp(static_cast<int>((*value)[0]), kHighest, kLowest);
    } else {
      of.attributes[id] = *value;
    }
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipStreamCopyAttributes(Stream to, Stream from) {
  HALYARD_HIP_CALL(hipStreamCopyAttributes, gpu::kCurrent) {
    HALYARD_HIP_HANDLE(to, gpu::kInvalidHandle);
    HALYARD_HIP_HANDLE(from, gpu::kInvalidHandle);
    gpu::StreamState& target = *gpu::find_stream(to);
    const gpu::StreamState& source = *gpu::find_stream(from);
    target.attributes = source.attributes;
    target.priority = source.priority;
    return kSuccess;
  };
}

HALYARD_HIP_PER_THREAD(hipStreamSynchronize, 1)
HALYARD_HIP_PER_THREAD(hipStreamQuery, 1)
HALYARD_HIP_PER_THREAD(hipStreamGetFlags, 2)
HALYARD_HIP_PER_THREAD(hipStreamGetPriority, 2)
HALYARD_HIP_PER_THREAD(hipStreamAddCallback, 4)
HALYARD_HIP_PER_THREAD(hipLaunchHostFunc, 3)

}  // namespace halyard::inline v0::sim::hip
