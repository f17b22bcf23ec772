// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/api.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "base/format.h"
#include "drivers/cuda/error.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::cuda {
namespace {

// to_status(cuda->name(...), "name")
#define HALYARD_CUDA_CALL(function, ...) to_status(cuda->function(__VA_ARGS__), #function)

constexpr std::size_t kLogBytes = 4096;

// What the compiler wrote, in one line of the message.
std::string text_of(char (&log)[kLogBytes]) {
  log[kLogBytes - 1] = '\0';
  std::string text = log;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return text.empty() ? "the driver gives no reason" : text;
}

}  // namespace

Status CudaApi::create_stream(Stream& stream) const noexcept {
  return HALYARD_CUDA_CALL(cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, priority);
}
void CudaApi::finish(Stream stream) const noexcept { (void)cuda->cuStreamSynchronize(stream); }
bool CudaApi::stop(Stream stream) const noexcept {
  return cuda->cuStreamQuery(stream) == CUDA_SUCCESS;
}
void CudaApi::destroy(Stream stream) const noexcept { (void)cuda->cuStreamDestroy(stream); }
Status CudaApi::query(Stream stream) const noexcept {
  const CUresult result = cuda->cuStreamQuery(stream);
  return result == CUDA_ERROR_NOT_READY ? Status() : to_status(result, "cuStreamQuery");
}
Status CudaApi::create_event(Event& event) const noexcept {
  // Without sleeping, waits and queries are fastest, says cudaEventCreateWithFlags.
  return HALYARD_CUDA_CALL(
      cuEventCreate, &event,
      sleeps_on_events ? CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC : CU_EVENT_DISABLE_TIMING);
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
void CudaApi::destroy(Flag flag) const noexcept { (void)cuda->cuMemFreeHost(static_cast<void*>(flag)); }
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

Status CudaApi::load(const kernel::Hyx& file, Module& module) const noexcept {
  HALYARD_ASSIGN_OR_RETURN(const kernel::ImageInfo* const image,
                           file.image_for(device->targets, kernel::kKernargConvention));
  const std::unique_ptr<char[]> text(new (std::nothrow) char[image->bytes.size() + 1]);
  if (text == nullptr) {
    return error(StatusCode::kResourceExhausted, "cuda: {}: no memory for the image {}",
                 file.name(), image->target);
  }
  std::memcpy(text.get(), image->bytes.data(), image->bytes.size());
  text[image->bytes.size()] = '\0';  // where the driver's compiler stops
  char log[kLogBytes] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(std::uintptr_t{kLogBytes})};
  const CUresult result = cuda->cuModuleLoadDataEx(&module, static_cast<const void*>(text.get()),
                                                   2u, &options[0], &values[0]);
  if (result == CUDA_SUCCESS) return {};
  return Status(status_code(result),
                base::format("cuda: {}: the image {} cannot be loaded: {}", file.name(),
                             image->target, text_of(log)),
                native_name(result));
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
  std::ranges::copy(kernel.workgroup_size, function.workgroup_size);
  function.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
  return to_status(result, "cuModuleGetFunction");
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

Status CudaApi::launch_indirect(Stream, const Function&, std::uint64_t,
                                std::span<const std::byte>) const noexcept {
  return Status(StatusCode::kUnimplemented,
                "cuda: no call of a stream reads the counts of a dispatch from memory");
}

}  // namespace halyard::inline v0::cuda
