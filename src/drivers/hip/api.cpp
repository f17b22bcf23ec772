// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/hip/api.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "base/atomic.h"
#include "base/format.h"
#include "drivers/hip/error.h"

namespace halyard::inline v0::hip {
namespace {

// Results that may mean that nothing works any more. Each has another meaning: a launch that is
// refused (719), a bad handle (709, up to HIP 6), anything (999).
bool is_suspect(hipError_t result) noexcept {
  return status_code(result) == StatusCode::kDeviceLost || result == hipErrorContextIsDestroyed ||
         result == hipErrorUnknown;
}

// From HIP 7 on each function begins with the fault of any device (hip_internal.hpp of ROCm/clr).
bool is_shared(hipError_t result) noexcept {
  return result == hipErrorIllegalAddress || result == hipErrorLaunchFailure ||
         result == hipErrorUnknown;
}

}  // namespace

// A query of a stream that is being captured would end the capture.
bool HipApi::still_works(Stream stream) const noexcept {
  auto capture = hipStreamCaptureStatusNone;
  hipError_t result = call(hip->hipStreamIsCapturing, stream, &capture);
  if (result == hipErrorStreamCaptureImplicit) return true;
  if (result == hipSuccess && capture != hipStreamCaptureStatusNone) return true;
  if (result == hipSuccess) result = call(hip->hipStreamQuery, stream);
  if (result == hipSuccess || result == hipErrorNotReady) return true;
  if (hip->version >= kSharedFaults && is_shared(result)) {
    hip->fault.store(result, std::memory_order_seq_cst);
  }
  return false;
}

Status HipApi::status_of(hipError_t result, const char* name, Stream stream) const noexcept {
  if (result == hipSuccess) return {};
  if (!is_suspect(result)) return to_status(result, name);
  const bool works = still_works(stream);
  return Status(works ? StatusCode::kInvalidArgument : StatusCode::kDeviceLost,
                base::format("hip: {} failed{}", name, works ? "; the device works" : ""),
                native_name(result));
}

Status HipApi::create_stream(Stream& stream, int priority) const noexcept {
  return HALYARD_HIP_CALL(hipStreamCreateWithPriority, &stream, hipStreamNonBlocking, priority);
}
Status HipApi::finish(Stream stream) const noexcept {
  for (;;) {
    const hipError_t result = call(hip->hipStreamQuery, stream);
    if (result != hipErrorNotReady) return to_status(result, "hipStreamQuery");
    base::spin_yield();
  }
}
timeline::Abandoned HipApi::stop(Stream stream) const noexcept {
  switch (call(hip->hipStreamQuery, stream)) {
    case hipSuccess:
      return timeline::Abandoned::kStopped;
    case hipErrorNotReady:
      return timeline::Abandoned::kStopping;
    default:
      return timeline::Abandoned::kStillRunning;
  }
}
void HipApi::destroy(Stream stream) const noexcept { (void)call(hip->hipStreamDestroy, stream); }
Status HipApi::query(Stream stream) const noexcept {
  const hipError_t result = call(hip->hipStreamQuery, stream);
  return result == hipErrorNotReady ? Status() : status_of(result, "hipStreamQuery", stream);
}
// A wait sleeps only if hipEventBlockingSync stands alone (hip_event.cpp of ROCm/rocm-systems).
Status HipApi::create_event(Event& event) const noexcept {
  return HALYARD_HIP_CALL(hipEventCreateWithFlags, &event,
                          sleeps_on_events ? hipEventBlockingSync : hipEventDisableTiming);
}
void HipApi::destroy(Event event) const noexcept { (void)call(hip->hipEventDestroy, event); }
Status HipApi::record(Event event, Stream stream) const noexcept {
  return HALYARD_HIP_STREAM_CALL(stream, hipEventRecord, event, stream);
}
Result<bool> HipApi::query(Event event) const noexcept {
  const hipError_t result = call(hip->hipEventQuery, event);
  if (result == hipSuccess || result == hipErrorNotReady) return result == hipSuccess;
  return to_status(result, "hipEventQuery");
}
Status HipApi::wait(Stream stream, Event event) const noexcept {
  return HALYARD_HIP_STREAM_CALL(stream, hipStreamWaitEvent, stream, event, 0u);
}
Status HipApi::call_host(Stream stream, stream::HostFunction function,
                         void* argument) const noexcept {
  return HALYARD_HIP_STREAM_CALL(stream, hipLaunchHostFunc, stream, function, argument);
}
Status HipApi::check_capture(Stream stream) const noexcept {
  auto status = hipStreamCaptureStatusNone;
  const hipError_t result = call(hip->hipStreamIsCapturing, stream, &status);
  const bool is_implicit = result == hipErrorStreamCaptureImplicit;
  if (result != hipSuccess && !is_implicit) return to_status(result, "hipStreamIsCapturing");
  if (!is_implicit && status == hipStreamCaptureStatusNone) return {};
  return Status(StatusCode::kFailedPrecondition,
                is_implicit
                    ? "hip: the stream is being captured: it is the legacy stream, and a "
                      "stream that it waits for is; submit after hipStreamEndCapture"
                    : "hip: the stream is being captured; submit after hipStreamEndCapture");
}

Status HipApi::synchronize(Event event) const noexcept {
  return HALYARD_HIP_CALL(hipEventSynchronize, event);
}
Status HipApi::create_flag(Flag& flag) const noexcept {
  HALYARD_RETURN_IF_ERROR(allocate_host(flag, sizeof(std::uint64_t)));
  flag.pointer = new (flag.pointer) std::uint64_t{0};
  return {};
}
void HipApi::destroy(Flag flag) const noexcept { free_host(flag.pointer); }
Status HipApi::write(Stream stream, Flag flag, std::uint64_t value) const noexcept {
  return HALYARD_HIP_STREAM_CALL(stream, hipStreamWriteValue64, stream, pointer_to(flag.address),
                                 value, 0u);
}
std::uint64_t HipApi::read(Flag flag) const noexcept {
  return std::atomic_ref(*static_cast<std::uint64_t*>(flag.pointer))
      .load(std::memory_order_acquire);
}

// HIP counts no users of a device.
Status HipApi::retain_context(unsigned ordinal, Context& context) const noexcept {
  context = static_cast<int>(ordinal);
  return {};
}
Status HipApi::current_context(Context& context) const noexcept {
  return HALYARD_HIP_CALL(hipGetDevice, &context);
}
Status HipApi::set_current_context(Context context) const noexcept {
  return HALYARD_HIP_CALL(hipSetDevice, context);
}
Status HipApi::exchange_capture_mode(CaptureMode& mode) const noexcept {
  return HALYARD_HIP_CALL(hipThreadExchangeStreamCaptureMode, &mode);
}

Status HipApi::fill(Stream stream, std::uint64_t target, std::uint32_t pattern,
                    std::uint32_t pattern_size, std::uint64_t size) const noexcept {
  void* const pointer = pointer_to(target);
  switch (pattern_size) {
    case 1:
      return HALYARD_HIP_STREAM_CALL(stream, hipMemsetD8Async, pointer,
                                     static_cast<unsigned char>(pattern), size, stream);
    case 2:
      return HALYARD_HIP_STREAM_CALL(stream, hipMemsetD16Async, pointer,
                                     static_cast<unsigned short>(pattern), size / 2, stream);
    default:
      return HALYARD_HIP_STREAM_CALL(stream, hipMemsetD32Async, pointer, static_cast<int>(pattern),
                                     size / 4, stream);
  }
}
Status HipApi::copy(Stream stream, std::uint64_t target, std::uint64_t source,
                    std::uint64_t size) const noexcept {
  return HALYARD_HIP_STREAM_CALL(stream, hipMemcpyAsync, pointer_to(target),
                                 static_cast<const void*>(pointer_to(source)), size,
                                 hipMemcpyDefault, stream);
}
// Bytes of updates lie in pinned memory (Device::needs_host_blocks).
Status HipApi::copy_in(Stream stream, std::uint64_t target, const std::byte* source,
                       std::uint64_t size) const noexcept {
  return copy(stream, target, reinterpret_cast<std::uintptr_t>(source), size);
}

// No opt-in for more local memory: hipFuncSetAttribute takes functions of the host alone.
Status HipApi::find_function(Module module, const kernel::KernelInfo& kernel,
                             Function& function) const noexcept {
  const std::string name(kernel.name);
  const hipError_t result =
      call(hip->hipModuleGetFunction, &function.handle, module.handle, name.c_str());
  if (result == hipErrorNotFound) {
    return Status(StatusCode::kDataLoss, base::format("hip: the image has no entry {}", name),
                  native_name(result));
  }
  HALYARD_RETURN_IF_ERROR(to_status(result, "hipModuleGetFunction"));
  std::ranges::copy(kernel.workgroup_size, function.workgroup_size);
  function.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
  return {};
}

Result<hal::FunctionResources> HipApi::resources(const Function& function) const noexcept {
  hal::FunctionResources found;
  Status status;
  const auto read = [&](hipFunction_attribute attribute) {
    int value = 0;
    if (status.ok()) {
      status = HALYARD_HIP_CALL(hipFuncGetAttribute, &value, attribute, function.handle);
    }
    return static_cast<std::uint32_t>(std::max(0, value));
  };
  found.registers = read(HIP_FUNC_ATTRIBUTE_NUM_REGS);
  found.shared_bytes = read(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + function.dynamic_shared_bytes;
  found.local_bytes = read(HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  HALYARD_RETURN_IF_ERROR(status);
  const auto& items = function.workgroup_size;
  int groups = 0;
  HALYARD_RETURN_IF_ERROR(HALYARD_HIP_CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
                                           &groups, function.handle,
                                           static_cast<int>(items[0] * items[1] * items[2]),
                                           std::size_t{function.dynamic_shared_bytes}));
  found.groups_per_worker = static_cast<std::uint32_t>(std::max(0, groups));
  return found;
}

Status HipApi::launch(Stream stream, const Function& function, const std::uint32_t (&groups)[3],
                      std::span<const std::byte> arguments) const noexcept {
  std::size_t size = arguments.size();
  void* extra[] = {pointer_to(HIP_LAUNCH_PARAM_BUFFER_POINTER_AS_INT),
                   const_cast<std::byte*>(arguments.data()),
                   pointer_to(HIP_LAUNCH_PARAM_BUFFER_SIZE_AS_INT), &size,
                   pointer_to(HIP_LAUNCH_PARAM_END_AS_INT)};
  const auto& items = function.workgroup_size;
  return HALYARD_HIP_STREAM_CALL(
      stream, hipModuleLaunchKernel, function.handle, groups[0], groups[1], groups[2], items[0],
      items[1], items[2], function.dynamic_shared_bytes, stream, static_cast<void**>(nullptr),
      size != 0 ? &extra[0] : static_cast<void**>(nullptr));
}

}  // namespace halyard::inline v0::hip
