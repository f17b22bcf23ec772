// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/api.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "base/format.h"
#include "drivers/cuda/error.h"

namespace halyard::inline v0::cuda {
namespace {

// to_status(cuda->name(...), "name")
#define HALYARD_CUDA_CALL(function, ...) to_status(cuda->function(__VA_ARGS__), #function)

}  // namespace

Status CudaApi::create_stream(Stream& stream, int priority) const noexcept {
  return HALYARD_CUDA_CALL(cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, priority);
}
Status CudaApi::finish(Stream stream) const noexcept {
  return HALYARD_CUDA_CALL(cuStreamSynchronize, stream);
}
timeline::Abandoned CudaApi::stop(Stream stream) const noexcept {
  switch (cuda->cuStreamQuery(stream)) {
    case CUDA_SUCCESS:
      return timeline::Abandoned::kStopped;
    case CUDA_ERROR_NOT_READY:
      return timeline::Abandoned::kStopping;
    default:
      return timeline::Abandoned::kStillRunning;
  }
}
void CudaApi::destroy(Stream stream) const noexcept { (void)cuda->cuStreamDestroy(stream); }
Status CudaApi::query(Stream stream) const noexcept {
  const CUresult result = cuda->cuStreamQuery(stream);
  return result == CUDA_ERROR_NOT_READY ? Status() : to_status(result, "cuStreamQuery");
}
Status CudaApi::create_event(Event& event) const noexcept {
  // cudaEventCreateWithFlags: waits and queries are fastest without CU_EVENT_BLOCKING_SYNC.
  const unsigned sleeping = sleeps_on_events ? CU_EVENT_BLOCKING_SYNC : 0u;
  return HALYARD_CUDA_CALL(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING | sleeping);
}
void CudaApi::destroy(Event event) const noexcept { (void)cuda->cuEventDestroy(event); }
Status CudaApi::record(Event event, Stream stream) const noexcept {
  return HALYARD_CUDA_CALL(cuEventRecord, event, stream);
}
Result<bool> CudaApi::query(Event event) const noexcept {
  const CUresult result = cuda->cuEventQuery(event);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return result == CUDA_SUCCESS;
  return to_status(result, "cuEventQuery");
}
Status CudaApi::wait(Stream stream, Event event) const noexcept {
  return HALYARD_CUDA_CALL(cuStreamWaitEvent, stream, event, 0u);
}
Status CudaApi::call_host(Stream stream, stream::HostFunction function,
                          void* argument) const noexcept {
  return HALYARD_CUDA_CALL(cuLaunchHostFunc, stream, function, argument);
}
// cuda.h, cuStreamIsCapturing: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for the legacy stream while a
// blocking stream is captured, which is not invalidated.
Status CudaApi::check_capture(Stream stream) const noexcept {
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = cuda->cuStreamIsCapturing(stream, &status);
  const bool is_implicit = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (result != CUDA_SUCCESS && !is_implicit) return to_status(result, "cuStreamIsCapturing");
  if (!is_implicit && status == CU_STREAM_CAPTURE_STATUS_NONE) return {};
  const char* const message =
      is_implicit ? "cuda: the stream is being captured: it is the legacy stream, and a stream "
                    "that it waits for is; submit after cuStreamEndCapture"
                  : "cuda: the stream is being captured; submit after cuStreamEndCapture";
  return Status(StatusCode::kFailedPrecondition, message);
}

Status CudaApi::synchronize(Event event) const noexcept {
  return HALYARD_CUDA_CALL(cuEventSynchronize, event);
}
Status CudaApi::create_flag(Flag& flag) const noexcept {
  void* pointer = nullptr;
  HALYARD_RETURN_IF_ERROR(HALYARD_CUDA_CALL(cuMemHostAlloc, &pointer, sizeof *flag,
                                            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  flag = new (pointer) std::uint64_t{0};
  return {};
}
void CudaApi::destroy(Flag flag) const noexcept {
  (void)cuda->cuMemFreeHost(static_cast<void*>(flag));
}
// By default a write has a barrier before it, for what the host reads behind the value
// (CU_STREAM_WRITE_VALUE_DEFAULT).
Status CudaApi::write(Stream stream, Flag flag, std::uint64_t value) const noexcept {
  return HALYARD_CUDA_CALL(cuStreamWriteValue64, stream,
                           CUdeviceptr{reinterpret_cast<std::uintptr_t>(flag)}, value,
                           CU_STREAM_WRITE_VALUE_DEFAULT);
}
std::uint64_t CudaApi::read(Flag flag) const noexcept {
  return std::atomic_ref(*flag).load(std::memory_order_acquire);
}

Status CudaApi::retain_context(unsigned ordinal, Context& context) const noexcept {
  return HALYARD_CUDA_CALL(cuDevicePrimaryCtxRetain, &context, static_cast<CUdevice>(ordinal));
}
void CudaApi::release_context(unsigned ordinal) const noexcept {
  (void)cuda->cuDevicePrimaryCtxRelease(static_cast<CUdevice>(ordinal));
}
Status CudaApi::current_context(Context& context) const noexcept {
  return HALYARD_CUDA_CALL(cuCtxGetCurrent, &context);
}
Status CudaApi::set_current_context(Context context) const noexcept {
  return HALYARD_CUDA_CALL(cuCtxSetCurrent, context);
}
Status CudaApi::exchange_capture_mode(CaptureMode& mode) const noexcept {
  return HALYARD_CUDA_CALL(cuThreadExchangeStreamCaptureMode, &mode);
}

Status CudaApi::fill(Stream stream, std::uint64_t target, std::uint32_t pattern,
                     std::uint32_t pattern_size, std::uint64_t size) const noexcept {
  switch (pattern_size) {
    case 1:
      return HALYARD_CUDA_CALL(cuMemsetD8Async, target, static_cast<unsigned char>(pattern), size,
                               stream);
    case 2:
      return HALYARD_CUDA_CALL(cuMemsetD16Async, target, static_cast<unsigned short>(pattern),
                               size / 2, stream);
    default:
      return HALYARD_CUDA_CALL(cuMemsetD32Async, target, pattern, size / 4, stream);
  }
}
// Infers from the addresses which device, or the host, each side belongs to.
Status CudaApi::copy(Stream stream, std::uint64_t target, std::uint64_t source,
                     std::uint64_t size) const noexcept {
  return HALYARD_CUDA_CALL(cuMemcpyAsync, target, source, size, stream);
}
// Bytes of updates lie in pinned memory (Device::needs_host_blocks), whose address is the same for
// host and devices.
Status CudaApi::copy_in(Stream stream, std::uint64_t target, const std::byte* source,
                        std::uint64_t size) const noexcept {
  return copy(stream, target, reinterpret_cast<std::uintptr_t>(source), size);
}

void CudaApi::unload(Module module) const noexcept { (void)cuda->cuModuleUnload(module); }

Status CudaApi::find_function(Module module, const kernel::KernelInfo& kernel,
                              Function& function) const noexcept {
  const std::string name(kernel.name);
  const CUresult result = cuda->cuModuleGetFunction(&function.handle, module, name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    return Status(StatusCode::kDataLoss, base::format("cuda: the image has no entry {}", name),
                  native_name(result));
  }
  HALYARD_RETURN_IF_ERROR(to_status(result, "cuModuleGetFunction"));
  std::ranges::copy(kernel.workgroup_size, function.workgroup_size);
  function.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
  // Beyond the default a launch must have been allowed. A kernel beyond the device's limit is never
  // launched, and those beside it are.
  const std::uint64_t shared =
      std::uint64_t{kernel.static_shared_bytes} + kernel.dynamic_shared_bytes;
  if (shared <= device->default_shared_bytes || shared > device->limits.max_shared_bytes) return {};
  return HALYARD_CUDA_CALL(cuFuncSetAttribute, function.handle,
                           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                           static_cast<int>(kernel.dynamic_shared_bytes));
}

Result<hal::FunctionResources> CudaApi::resources(const Function& function) const noexcept {
  hal::FunctionResources found;
  Status status;
  const auto read = [&](CUfunction_attribute attribute) {
    int value = 0;
    if (status.ok()) {
      status = HALYARD_CUDA_CALL(cuFuncGetAttribute, &value, attribute, function.handle);
    }
    return static_cast<std::uint32_t>(std::max(0, value));
  };
  found.registers = read(CU_FUNC_ATTRIBUTE_NUM_REGS);
  found.shared_bytes = read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + function.dynamic_shared_bytes;
  found.local_bytes = read(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  HALYARD_RETURN_IF_ERROR(status);
  const auto& items = function.workgroup_size;
  int groups = 0;
  HALYARD_RETURN_IF_ERROR(HALYARD_CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &groups,
                                            function.handle,
                                            static_cast<int>(items[0] * items[1] * items[2]),
                                            std::size_t{function.dynamic_shared_bytes}));
  found.groups_per_worker = static_cast<std::uint32_t>(std::max(0, groups));
  return found;
}

Status CudaApi::launch(Stream stream, const Function& function, const std::uint32_t (&groups)[3],
                       std::span<const std::byte> arguments) const noexcept {
  std::size_t size = arguments.size();
  void* extra[] = {reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT),
                   const_cast<std::byte*>(arguments.data()),
                   reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT), &size,
                   nullptr};  // CU_LAUNCH_PARAM_END
  const auto& items = function.workgroup_size;
  return HALYARD_CUDA_CALL(cuLaunchKernel, function.handle, groups[0], groups[1], groups[2],
                           items[0], items[1], items[2], function.dynamic_shared_bytes, stream,
                           static_cast<void**>(nullptr),
                           size != 0 ? &extra[0] : static_cast<void**>(nullptr));
}

}  // namespace halyard::inline v0::cuda
