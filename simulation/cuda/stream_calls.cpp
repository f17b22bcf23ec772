// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuStream and cuEvent.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/per_thread.h"
#include "simulation/gpu/stream.h"
#include "simulation/gpu/stream_operations.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuStreamCreate(Stream* stream, unsigned flags) {
  HALYARD_GPU_CALL(cuStreamCreate, kCurrent);
  return create_stream(call, stream, flags, 0);
}

HALYARD_GPU_EXPORT Result cuStreamCreateWithPriority(Stream* stream, unsigned flags, int priority) {
  HALYARD_GPU_CALL(cuStreamCreateWithPriority, kCurrent);
  return create_stream(call, stream, flags, priority);
}

HALYARD_GPU_EXPORT Result cuStreamDestroy_v2(Stream stream) {
  HALYARD_GPU_CALL(cuStreamDestroy_v2, kInitialized);
  return end_stream(stream);
}

HALYARD_GPU_EXPORT Result cuStreamDestroy(Stream stream) {
  HALYARD_GPU_CALL(cuStreamDestroy, kInitialized);
  return end_stream(stream);
}

HALYARD_GPU_EXPORT Result cuStreamSynchronize(Stream handle) {
  HALYARD_GPU_CALL(cuStreamSynchronize, kNamed);
  return synchronize_stream(call, handle);
}

HALYARD_GPU_EXPORT Result cuStreamQuery(Stream handle) {
  HALYARD_GPU_CALL(cuStreamQuery, kNamed);
  return query_stream(handle);
}

HALYARD_GPU_EXPORT Result cuStreamWaitEvent(Stream handle, Event event_handle, unsigned flags) {
  HALYARD_GPU_CALL(cuStreamWaitEvent, kNamed);
  return wait_event(handle, event_handle, flags);
}

HALYARD_GPU_EXPORT Result cuLaunchHostFunc(Stream handle, HostFunction function, void* data) {
  HALYARD_GPU_CALL(cuLaunchHostFunc, kNamed);
  return launch_host_function(handle, function, data);
}

HALYARD_GPU_EXPORT Result cuStreamAddCallback(Stream handle, StreamCallback callback, void* data,
                                              unsigned flags) {
  HALYARD_GPU_CALL(cuStreamAddCallback, kInitialized);
  return add_callback(handle, callback, data, flags);
}

HALYARD_GPU_EXPORT Result cuStreamGetFlags(Stream handle, unsigned* flags) {
  HALYARD_GPU_CALL(cuStreamGetFlags, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(flags != nullptr, kInvalidValue);
  *flags = stream->flags;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuStreamGetPriority(Stream handle, int* priority) {
  HALYARD_GPU_CALL(cuStreamGetPriority, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(priority != nullptr, kInvalidValue);
  *priority = stream->priority;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuStreamGetCtx(Stream handle, Context* context) {
  HALYARD_GPU_CALL(cuStreamGetCtx, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(context != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(!stream->context->is_destroyed.load(), kContextIsDestroyed);
  *context = stream->context->handle;
  return kSuccess;
}

// cuda.h: a stream of a green context has that; others have none.
HALYARD_GPU_EXPORT Result cuStreamGetCtx_v2(Stream handle, Context* context, void** green) {
  HALYARD_GPU_CALL(cuStreamGetCtx_v2, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(context != nullptr && green != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(!stream->context->is_destroyed.load(), kContextIsDestroyed);
  *context = stream->context->handle;
  *green = nullptr;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuStreamGetDevice(Stream handle, DeviceId* device) {
  HALYARD_GPU_CALL(cuStreamGetDevice, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(device != nullptr, kInvalidValue);
  *device = stream->context->device;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuStreamGetId(Stream handle, unsigned long long* id) {
  HALYARD_GPU_CALL(cuStreamGetId, kNamed);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  HALYARD_GPU_REQUIRE(id != nullptr, kInvalidValue);
  *id = stream->id;
  return kSuccess;
}

#define HALYARD_CUDA_MEM_OP(name, Type, operation)                                 \
  HALYARD_GPU_EXPORT Result name(Stream stream, DevicePointer address, Type value, \
                                 unsigned flags) {                                 \
    HALYARD_GPU_CALL(name, kNamed);                                                \
    return add_mem_op(stream, operation, address, value, flags);                   \
  }
HALYARD_CUDA_MEM_OP(cuStreamWaitValue32_v2, std::uint32_t, 1)

HALYARD_CUDA_MEM_OP(cuStreamWriteValue32_v2, std::uint32_t, 2)

HALYARD_CUDA_MEM_OP(cuStreamWaitValue64_v2, std::uint64_t, 4)

HALYARD_CUDA_MEM_OP(cuStreamWriteValue64_v2, std::uint64_t, 5)

HALYARD_CUDA_MEM_OP(cuStreamWaitValue32, std::uint32_t, 1)

HALYARD_CUDA_MEM_OP(cuStreamWriteValue32, std::uint32_t, 2)

HALYARD_CUDA_MEM_OP(cuStreamWaitValue64, std::uint64_t, 4)

HALYARD_CUDA_MEM_OP(cuStreamWriteValue64, std::uint64_t, 5)

HALYARD_GPU_EXPORT Result cuStreamBatchMemOp_v2(Stream stream, unsigned count,
                                                const MemOp* operations, unsigned flags) {
  HALYARD_GPU_CALL(cuStreamBatchMemOp_v2, kNamed);
  HALYARD_GPU_REQUIRE(operations != nullptr && count <= 256 && flags == 0, kInvalidValue);
  return add_mem_ops(stream, {operations, operations + count});
}

HALYARD_GPU_EXPORT Result cuStreamBatchMemOp(Stream stream, unsigned count, const MemOp* operations,
                                             unsigned flags) {
  HALYARD_GPU_CALL(cuStreamBatchMemOp, kNamed);
  HALYARD_GPU_REQUIRE(operations != nullptr && count <= 256 && flags == 0, kInvalidValue);
  return add_mem_ops(stream, {operations, operations + count});
}

HALYARD_GPU_EXPORT Result cuEventCreate(Event* event, unsigned flags) {
  HALYARD_GPU_CALL(cuEventCreate, kCurrent);
  return create_event(call, event, flags);
}

HALYARD_GPU_EXPORT Result cuEventDestroy_v2(Event event) {
  HALYARD_GPU_CALL(cuEventDestroy_v2, kInitialized);
  return end_event(event);
}

HALYARD_GPU_EXPORT Result cuEventDestroy(Event event) {
  HALYARD_GPU_CALL(cuEventDestroy, kInitialized);
  return end_event(event);
}

HALYARD_GPU_EXPORT Result cuEventRecord(Event event, Stream stream) {
  HALYARD_GPU_CALL(cuEventRecord, kNamed);
  return record_event(event, stream);
}

HALYARD_GPU_EXPORT Result cuEventRecordWithFlags(Event event, Stream stream, unsigned flags) {
  HALYARD_GPU_CALL(cuEventRecordWithFlags, kNamed);
  HALYARD_GPU_REQUIRE(flags <= 1, kInvalidValue);
  return record_event(event, stream);
}

HALYARD_GPU_EXPORT Result cuEventQuery(Event handle) {
  HALYARD_GPU_CALL(cuEventQuery, kInitialized);
  return query_event(handle);
}

HALYARD_GPU_EXPORT Result cuEventSynchronize(Event handle) {
  HALYARD_GPU_CALL(cuEventSynchronize, kInitialized);
  return synchronize_event(call, handle);
}

HALYARD_GPU_EXPORT Result cuEventElapsedTime(float* milliseconds, Event from, Event to) {
  HALYARD_GPU_CALL(cuEventElapsedTime, kInitialized);
  return elapsed_time(milliseconds, from, to);
}

HALYARD_GPU_EXPORT Result cuEventElapsedTime_v2(float* milliseconds, Event from, Event to) {
  HALYARD_GPU_CALL(cuEventElapsedTime_v2, kInitialized);
  return elapsed_time(milliseconds, from, to);
}

HALYARD_GPU_PER_THREAD(cuEventRecordWithFlags, _ptsz, 3)
HALYARD_GPU_PER_THREAD(cuEventRecord, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuLaunchHostFunc, _ptsz, 3)
HALYARD_GPU_PER_THREAD(cuStreamAddCallback, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamBatchMemOp, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamBatchMemOp_v2, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamGetCtx, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamGetCtx_v2, _ptsz, 3)
HALYARD_GPU_PER_THREAD(cuStreamGetDevice, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamGetFlags, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamGetId, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamGetPriority, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuStreamQuery, _ptsz, 1)
HALYARD_GPU_PER_THREAD(cuStreamSynchronize, _ptsz, 1)
HALYARD_GPU_PER_THREAD(cuStreamWaitEvent, _ptsz, 3)
HALYARD_GPU_PER_THREAD(cuStreamWaitValue32, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamWaitValue32_v2, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamWaitValue64, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamWaitValue64_v2, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamWriteValue32, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamWriteValue32_v2, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamWriteValue64, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuStreamWriteValue64_v2, _ptsz, 4)
}  // namespace halyard::inline v0::sim::cuda
