// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuMemcpy and cuMemset in all their forms.
#include <cstring>

#include "simulation/cuda/array.h"
#include "simulation/cuda/launch.h"
#include "simulation/cuda/memory.h"
#include "simulation/cuda/options.h"
#include "simulation/cuda/per_thread.h"
#include "simulation/cuda/stream.h"

namespace halyard::inline v0::sim::cuda {

Result check_copy(Copy3D& copy) {
  HALYARD_CUDA_REQUIRE(copy.src_type >= kHost && copy.src_type <= kUnified, kInvalidValue);
  HALYARD_CUDA_REQUIRE(copy.dst_type >= kHost && copy.dst_type <= kUnified, kInvalidValue);
  if (const Result result = resolve_arrays(copy); result != kSuccess) return result;
  if (copy.src_pitch == 0) copy.src_pitch = copy.src_x + copy.width;
  if (copy.dst_pitch == 0) copy.dst_pitch = copy.dst_x + copy.width;
  if (copy.src_height == 0) copy.src_height = copy.src_y + copy.height;
  if (copy.dst_height == 0) copy.dst_height = copy.dst_y + copy.height;
  HALYARD_CUDA_REQUIRE(
      copy.src_pitch >= copy.src_x + copy.width && copy.dst_pitch >= copy.dst_x + copy.width,
      kInvalidValue);
  return kSuccess;
}

namespace {

struct Side {
  MemoryType type;
  const void* host;
  DevicePointer device;
  std::size_t offset, size;

  DevicePointer address() const {
    if (type == kHost) return reinterpret_cast<DevicePointer>(host) + offset;
    return (device != 0 ? device : reinterpret_cast<DevicePointer>(host)) + offset;
  }
};

Side source_of(const Copy3D& copy) {
  const std::size_t slice = copy.src_pitch * copy.src_height;
  return {copy.src_type, copy.src_host, copy.src_device,
          copy.src_z * slice + copy.src_y * copy.src_pitch + copy.src_x,
          (copy.depth - 1) * slice + (copy.height - 1) * copy.src_pitch + copy.width};
}

Side destination_of(const Copy3D& copy) {
  const std::size_t slice = copy.dst_pitch * copy.dst_height;
  return {copy.dst_type, copy.dst_host, copy.dst_device,
          copy.dst_z * slice + copy.dst_y * copy.dst_pitch + copy.dst_x,
          (copy.depth - 1) * slice + (copy.height - 1) * copy.dst_pitch + copy.width};
}

// Checks one side; says whether it is pageable memory of the host.
Result check_side(const Side& side, bool& is_pageable) {
  const Place& place = memory().place(side.address());
  if (place.is_freed) [[unlikely]] {
    report_misuse("use-after-free", "a copy was submitted for memory after cuMemFreeAsync");
  }
  is_pageable = !place.is_allocated && side.type != kDevice;
  if (!place.is_allocated) {
    HALYARD_CUDA_REQUIRE(side.type != kDevice && side.address() != side.offset, kInvalidValue);
    return kSuccess;
  }
  HALYARD_CUDA_REQUIRE(side.size <= place.end - side.address(), kInvalidValue);
  return kSuccess;
}

// In null mode: the checks that remain, and the wait for the stream that the call promises.
Result copy_nothing(Call& call, StreamState& stream, bool is_to_pageable, Waits waits) {
  if (const Result result = check_stream(stream); result != kSuccess) return result;
  return is_to_pageable || waits == Waits::kAlways ? wait_for(call.lock(), stream) : kSuccess;
}

}  // namespace

Result copy_memory(Call& call, Copy3D copy, Stream handle, Waits waits) {
  if (const Result result = check_copy(copy); result != kSuccess) return result;
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return kSuccess;
  bool is_from_pageable = false, is_to_pageable = false;
  Result result = check_side(source_of(copy), is_from_pageable);
  if (result == kSuccess) result = check_side(destination_of(copy), is_to_pageable);
  if (result != kSuccess) return result;
  const bool is_captured_now = stream->capture != nullptr;
  HALYARD_CUDA_REQUIRE(!is_captured_now || waits == Waits::kNever, kCaptureUnsupported);
  if (takes_nothing(*stream)) return copy_nothing(call, *stream, is_to_pageable, waits);
  const std::shared_ptr<StreamState> keep = stream->shared_from_this();  // over a wait
  CopyWork work;
  work.context = stream->context;
  // NVIDIA, "API synchronization behavior": bytes of pageable memory are staged before the call
  // returns, and it may wait for the stream; a copy to pageable memory has ended at the return.
  // "... but the DMA to final destination may not have completed", of the form without Async too.
  const bool is_staged = is_from_pageable && !is_captured_now && !is_to_pageable &&
                         (waits == Waits::kNever || options().adversarial);
  if (is_staged) {
    if (waits == Waits::kAlways ||
        (options().adversarial && choose(stream->number, stream->submitted, 2) == 0)) {
      if (result = wait_for(call.lock(), *stream); result != kSuccess) return result;
    }
    work.staged.resize(copy.width * copy.height * copy.depth);
    const auto* const first = reinterpret_cast<const std::byte*>(source_of(copy).address());
    for (std::size_t row = 0; row < copy.height * copy.depth; ++row) {
      const std::size_t z = row / copy.height, y = row % copy.height;
      std::memcpy(work.staged.data() + row * copy.width,
                  first + z * copy.src_pitch * copy.src_height + y * copy.src_pitch, copy.width);
    }
  }
  work.copy = copy;
  if (result = submit(*stream, std::move(work)); result != kSuccess) return result;
  if (is_captured_now) return kSuccess;
  // A copy between devices' memories does not wait for its end, even in the form without Async.
  const bool is_on_device =
      !is_from_pageable && !is_to_pageable && copy.src_type == kDevice && copy.dst_type == kDevice;
  const bool may_return = is_staged || (is_on_device && options().adversarial);
  if (is_to_pageable || (waits == Waits::kAlways && !may_return)) {
    return wait_for(call.lock(), *stream);
  }
  return kSuccess;
}

namespace {

// A copy of consecutive bytes.
struct Linear {
  MemoryType dst_type;
  DevicePointer dst;
  MemoryType src_type;
  DevicePointer src;
  std::size_t size;
};

Linear to_device(DevicePointer dst, const void* src, std::size_t size) {
  return {kDevice, dst, kHost, reinterpret_cast<DevicePointer>(src), size};
}

Linear to_host(void* dst, DevicePointer src, std::size_t size) {
  return {kHost, reinterpret_cast<DevicePointer>(dst), kDevice, src, size};
}

Linear on_device(DevicePointer dst, DevicePointer src, std::size_t size) {
  return {kDevice, dst, kDevice, src, size};
}

Linear unified(DevicePointer dst, DevicePointer src, std::size_t size) {
  return {kUnified, dst, kUnified, src, size};
}

const void* host_of(MemoryType type, DevicePointer address) {
  return type == kHost ? reinterpret_cast<const void*>(address) : nullptr;
}

Copy3D from_linear(const Linear& linear) {
  Copy3D copy{};
  copy.dst_type = linear.dst_type;
  copy.dst_host = const_cast<void*>(host_of(linear.dst_type, linear.dst));
  copy.dst_device = copy.dst_host == nullptr ? linear.dst : 0;
  copy.src_type = linear.src_type;
  copy.src_host = host_of(linear.src_type, linear.src);
  copy.src_device = copy.src_host == nullptr ? linear.src : 0;
  copy.width = linear.size;
  copy.height = copy.depth = 1;
  return copy;
}

Result copy_memory(Call& call, const Linear& linear, Stream handle, Waits waits) {
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  if (!takes_nothing(*stream) || linear.size == 0) {
    return copy_memory(call, from_linear(linear), handle, waits);
  }
  const auto side = [&](MemoryType type, DevicePointer address) {
    return Side{type, host_of(type, address), type == kHost ? 0 : address, 0, linear.size};
  };
  bool is_from_pageable = false, is_to_pageable = false;
  Result result = check_side(side(linear.src_type, linear.src), is_from_pageable);
  if (result == kSuccess) result = check_side(side(linear.dst_type, linear.dst), is_to_pageable);
  return result == kSuccess ? copy_nothing(call, *stream, is_to_pageable, waits) : result;
}

Copy3D from_2d(const Copy2D& flat) {
  Copy3D copy{};
  copy.src_x = flat.src_x;
  copy.src_y = flat.src_y;
  copy.src_type = flat.src_type;
  copy.src_host = flat.src_host;
  copy.src_device = flat.src_device;
  copy.src_array = flat.src_array;
  copy.src_pitch = flat.src_pitch;
  copy.dst_x = flat.dst_x;
  copy.dst_y = flat.dst_y;
  copy.dst_type = flat.dst_type;
  copy.dst_host = flat.dst_host;
  copy.dst_device = flat.dst_device;
  copy.dst_array = flat.dst_array;
  copy.dst_pitch = flat.dst_pitch;
  copy.width = flat.width;
  copy.height = flat.height;
  copy.depth = 1;
  return copy;
}

Result copy_peer(Call& call, DevicePointer dst, Context dst_context, DevicePointer src,
                 Context src_context, std::size_t size, Stream stream, Waits waits) {
  ContextState* const to = resolve(dst_context);
  ContextState* const from = resolve(src_context);
  HALYARD_CUDA_REQUIRE(to != nullptr && from != nullptr, kInvalidContext);
  // Ordered with all work of both contexts. cuda.h of 13.0 does not say so; cuMemcpyPeerAsync is
  // the form that is ordered by its stream only.
  if (waits == Waits::kAlways) {
    for (ContextState* const context : {to, from}) {
      if (const Result result = drain(call.lock(), *context); result != kSuccess) return result;
    }
  }
  const Result result = copy_memory(call, on_device(dst, src, size), stream, waits);
  return result == kSuccess && waits == Waits::kAlways ? drain(call.lock(), call.context())
                                                       : result;
}

// A memset of `height` rows of `width` elements.
Result fill_memory(Call& call, const FillParamsV1& fill, Stream handle, Waits waits) {
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  if (fill.width == 0 || fill.height == 0) return kSuccess;
  const std::size_t misaligned = fill.element_size - 1;  // bits; the size is 1, 2 or 4
  const std::size_t row = fill.width * fill.element_size;
  const std::size_t pitch = fill.height == 1 ? row : fill.pitch;
  HALYARD_CUDA_REQUIRE(((fill.dst | pitch) & misaligned) == 0 && pitch >= row, kInvalidValue);
  const Place& place = memory().place(fill.dst);
  if (place.is_freed) [[unlikely]] {
    report_misuse("use-after-free", "a memset was submitted for memory after cuMemFreeAsync");
  }
  HALYARD_CUDA_REQUIRE(
      place.is_allocated && (fill.height - 1) * pitch + row <= place.end - fill.dst, kInvalidValue);
  const bool is_on_device = place.allocation.is_on_device();
  HALYARD_CUDA_REQUIRE(stream->capture == nullptr || waits == Waits::kNever, kCaptureUnsupported);
  Result result = kSuccess;
  if (takes_nothing(*stream)) {
    result = check_stream(*stream);
  } else {
    FillWork work{fill, stream->context};
    work.fill.pitch = pitch;
    result = submit(*stream, std::move(work));
  }
  // NVIDIA, "API synchronization behavior": cuMemset is asynchronous except for host memory.
  if (result == kSuccess && waits == Waits::kAlways && (!options().adversarial || !is_on_device)) {
    return wait_for(call.lock(), *stream);
  }
  return result;
}

}  // namespace

#define HALYARD_CUDA_COPY(name, parameters, copy)            \
  HALYARD_CUDA_EXPORT Result name parameters {               \
    HALYARD_CUDA_CALL(name, kCurrent | kUnsafeInCapture);    \
    return copy_memory(call, copy, nullptr, Waits::kAlways); \
  }
#define HALYARD_CUDA_COPY_ASYNC(name, parameters, copy)    \
  HALYARD_CUDA_EXPORT Result name parameters {             \
    HALYARD_CUDA_CALL(name, kNamed);                       \
    return copy_memory(call, copy, stream, Waits::kNever); \
  }

HALYARD_CUDA_COPY(cuMemcpy, (DevicePointer dst, DevicePointer src, std::size_t size),
                  unified(dst, src, size))
HALYARD_CUDA_COPY(cuMemcpyHtoD_v2, (DevicePointer dst, const void* src, std::size_t size),
                  to_device(dst, src, size))
HALYARD_CUDA_COPY(cuMemcpyDtoH_v2, (void* dst, DevicePointer src, std::size_t size),
                  to_host(dst, src, size))
HALYARD_CUDA_COPY(cuMemcpyDtoD_v2, (DevicePointer dst, DevicePointer src, std::size_t size),
                  on_device(dst, src, size))
HALYARD_CUDA_COPY_ASYNC(cuMemcpyAsync,
                        (DevicePointer dst, DevicePointer src, std::size_t size, Stream stream),
                        unified(dst, src, size))
HALYARD_CUDA_COPY_ASYNC(cuMemcpyHtoDAsync_v2,
                        (DevicePointer dst, const void* src, std::size_t size, Stream stream),
                        to_device(dst, src, size))
HALYARD_CUDA_COPY_ASYNC(cuMemcpyDtoHAsync_v2,
                        (void* dst, DevicePointer src, std::size_t size, Stream stream),
                        to_host(dst, src, size))
HALYARD_CUDA_COPY_ASYNC(cuMemcpyDtoDAsync_v2,
                        (DevicePointer dst, DevicePointer src, std::size_t size, Stream stream),
                        on_device(dst, src, size))

#define HALYARD_CUDA_COPY_STRUCT(name, Type, needs, stream_parameter, stream, waits, convert) \
  HALYARD_CUDA_EXPORT Result name(const Type* copy stream_parameter) {                        \
    HALYARD_CUDA_CALL(name, needs);                                                           \
    HALYARD_CUDA_REQUIRE(copy != nullptr, kInvalidValue);                                     \
    return copy_memory(call, convert(*copy), stream, waits);                                  \
  }
#define HALYARD_CUDA_NO_STREAM
#define HALYARD_CUDA_STREAM , Stream stream
#define HALYARD_CUDA_AS_IS(copy) copy

HALYARD_CUDA_COPY_STRUCT(cuMemcpy2D_v2, Copy2D, kCurrent | kUnsafeInCapture, HALYARD_CUDA_NO_STREAM,
                         nullptr, Waits::kAlways, from_2d)
HALYARD_CUDA_COPY_STRUCT(cuMemcpy2DUnaligned_v2, Copy2D, kCurrent | kUnsafeInCapture,
                         HALYARD_CUDA_NO_STREAM, nullptr, Waits::kAlways, from_2d)
HALYARD_CUDA_COPY_STRUCT(cuMemcpy2DAsync_v2, Copy2D, kNamed, HALYARD_CUDA_STREAM, stream,
                         Waits::kNever, from_2d)
HALYARD_CUDA_COPY_STRUCT(cuMemcpy3D_v2, Copy3D, kCurrent | kUnsafeInCapture, HALYARD_CUDA_NO_STREAM,
                         nullptr, Waits::kAlways, HALYARD_CUDA_AS_IS)
HALYARD_CUDA_COPY_STRUCT(cuMemcpy3DAsync_v2, Copy3D, kNamed, HALYARD_CUDA_STREAM, stream,
                         Waits::kNever, HALYARD_CUDA_AS_IS)
HALYARD_CUDA_COPY_STRUCT(cuMemcpy3DPeer, Copy3D, kCurrent | kUnsafeInCapture,
                         HALYARD_CUDA_NO_STREAM, nullptr, Waits::kAlways, HALYARD_CUDA_AS_IS)
HALYARD_CUDA_COPY_STRUCT(cuMemcpy3DPeerAsync, Copy3D, kNamed, HALYARD_CUDA_STREAM, stream,
                         Waits::kNever, HALYARD_CUDA_AS_IS)

HALYARD_CUDA_EXPORT Result cuMemcpyPeer(DevicePointer dst, Context dst_context, DevicePointer src,
                                        Context src_context, std::size_t size) {
  HALYARD_CUDA_CALL(cuMemcpyPeer, kCurrent | kUnsafeInCapture);
  return copy_peer(call, dst, dst_context, src, src_context, size, nullptr, Waits::kAlways);
}

HALYARD_CUDA_EXPORT Result cuMemcpyPeerAsync(DevicePointer dst, Context dst_context,
                                             DevicePointer src, Context src_context,
                                             std::size_t size, Stream stream) {
  HALYARD_CUDA_CALL(cuMemcpyPeerAsync, kNamed);
  return copy_peer(call, dst, dst_context, src, src_context, size, stream, Waits::kNever);
}

#define HALYARD_CUDA_FILL(bits, Type, suffix)                                                    \
  HALYARD_CUDA_EXPORT Result cuMemsetD##bits##_v2(DevicePointer dst, Type value,                 \
                                                  std::size_t count) {                           \
    HALYARD_CUDA_CALL(cuMemsetD##bits##_v2, kCurrent | kUnsafeInCapture);                        \
    return fill_memory(call, {dst, 0, value, sizeof(Type), count, 1}, nullptr, Waits::kAlways);  \
  }                                                                                              \
  HALYARD_CUDA_EXPORT Result cuMemsetD##bits##Async(DevicePointer dst, Type value,               \
                                                    std::size_t count, Stream stream) {          \
    HALYARD_CUDA_CALL(cuMemsetD##bits##Async, kNamed);                                           \
    return fill_memory(call, {dst, 0, value, sizeof(Type), count, 1}, stream, Waits::kNever);    \
  }                                                                                              \
  HALYARD_CUDA_EXPORT Result cuMemsetD2D##bits##_v2(                                             \
      DevicePointer dst, std::size_t pitch, Type value, std::size_t width, std::size_t height) { \
    HALYARD_CUDA_CALL(cuMemsetD2D##bits##_v2, kCurrent | kUnsafeInCapture);                      \
    return fill_memory(call, {dst, pitch, value, sizeof(Type), width, height}, nullptr,          \
                       Waits::kAlways);                                                          \
  }                                                                                              \
  HALYARD_CUDA_EXPORT Result cuMemsetD2D##bits##Async(DevicePointer dst, std::size_t pitch,      \
                                                      Type value, std::size_t width,             \
                                                      std::size_t height, Stream stream) {       \
    HALYARD_CUDA_CALL(cuMemsetD2D##bits##Async, kNamed);                                         \
    return fill_memory(call, {dst, pitch, value, sizeof(Type), width, height}, stream,           \
                       Waits::kNever);                                                           \
  }

HALYARD_CUDA_FILL(8, unsigned char, )
HALYARD_CUDA_FILL(16, unsigned short, )
HALYARD_CUDA_FILL(32, unsigned, )

HALYARD_CUDA_PER_THREAD(cuMemcpy2DAsync_v2, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuMemcpy2DUnaligned_v2, _ptds, 1)
HALYARD_CUDA_PER_THREAD(cuMemcpy2D_v2, _ptds, 1)
HALYARD_CUDA_PER_THREAD(cuMemcpy3DAsync_v2, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuMemcpy3DPeerAsync, _ptsz, 2)
HALYARD_CUDA_PER_THREAD(cuMemcpy3DPeer, _ptds, 1)
HALYARD_CUDA_PER_THREAD(cuMemcpy3D_v2, _ptds, 1)
HALYARD_CUDA_PER_THREAD(cuMemcpyAsync, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuMemcpyDtoDAsync_v2, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuMemcpyDtoD_v2, _ptds, 3)
HALYARD_CUDA_PER_THREAD(cuMemcpyDtoHAsync_v2, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuMemcpyDtoH_v2, _ptds, 3)
HALYARD_CUDA_PER_THREAD(cuMemcpyHtoDAsync_v2, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuMemcpyHtoD_v2, _ptds, 3)
HALYARD_CUDA_PER_THREAD(cuMemcpyPeerAsync, _ptsz, 6)
HALYARD_CUDA_PER_THREAD(cuMemcpyPeer, _ptds, 5)
HALYARD_CUDA_PER_THREAD(cuMemcpy, _ptds, 3)
HALYARD_CUDA_PER_THREAD(cuMemsetD16Async, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuMemsetD16_v2, _ptds, 3)
HALYARD_CUDA_PER_THREAD(cuMemsetD2D16Async, _ptsz, 6)
HALYARD_CUDA_PER_THREAD(cuMemsetD2D16_v2, _ptds, 5)
HALYARD_CUDA_PER_THREAD(cuMemsetD2D32Async, _ptsz, 6)
HALYARD_CUDA_PER_THREAD(cuMemsetD2D32_v2, _ptds, 5)
HALYARD_CUDA_PER_THREAD(cuMemsetD2D8Async, _ptsz, 6)
HALYARD_CUDA_PER_THREAD(cuMemsetD2D8_v2, _ptds, 5)
HALYARD_CUDA_PER_THREAD(cuMemsetD32Async, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuMemsetD32_v2, _ptds, 3)
HALYARD_CUDA_PER_THREAD(cuMemsetD8Async, _ptsz, 4)
HALYARD_CUDA_PER_THREAD(cuMemsetD8_v2, _ptds, 3)

}  // namespace halyard::inline v0::sim::cuda
