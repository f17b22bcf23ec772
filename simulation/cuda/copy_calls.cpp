// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuMemcpy and cuMemset in all their forms.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/copy.h"
#include "simulation/gpu/per_thread.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

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

}  // namespace

#define HALYARD_CUDA_COPY(name, parameters, copy)            \
  HALYARD_GPU_EXPORT Result name parameters {                \
    HALYARD_GPU_CALL(name, kCurrent | kUnsafeInCapture);     \
    return copy_memory(call, copy, nullptr, Waits::kAlways); \
  }
#define HALYARD_CUDA_COPY_ASYNC(name, parameters, copy)    \
  HALYARD_GPU_EXPORT Result name parameters {              \
    HALYARD_GPU_CALL(name, kNamed);                        \
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
  HALYARD_GPU_EXPORT Result name(const Type* copy stream_parameter) {                         \
    HALYARD_GPU_CALL(name, needs);                                                            \
    HALYARD_GPU_REQUIRE(copy != nullptr, kInvalidValue);                                      \
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

HALYARD_GPU_EXPORT Result cuMemcpyPeer(DevicePointer dst, Context dst_context, DevicePointer src,
                                       Context src_context, std::size_t size) {
  HALYARD_GPU_CALL(cuMemcpyPeer, kCurrent | kUnsafeInCapture);
  return copy_peer(call, dst, dst_context, src, src_context, size, nullptr, Waits::kAlways);
}

HALYARD_GPU_EXPORT Result cuMemcpyPeerAsync(DevicePointer dst, Context dst_context,
                                            DevicePointer src, Context src_context,
                                            std::size_t size, Stream stream) {
  HALYARD_GPU_CALL(cuMemcpyPeerAsync, kNamed);
  return copy_peer(call, dst, dst_context, src, src_context, size, stream, Waits::kNever);
}

#define HALYARD_CUDA_FILL(bits, Type, suffix)                                                    \
  HALYARD_GPU_EXPORT Result cuMemsetD##bits##_v2(DevicePointer dst, Type value,                  \
                                                 std::size_t count) {                            \
    HALYARD_GPU_CALL(cuMemsetD##bits##_v2, kCurrent | kUnsafeInCapture);                         \
    return fill_memory(call, {dst, 0, value, sizeof(Type), count, 1}, nullptr, Waits::kAlways);  \
  }                                                                                              \
  HALYARD_GPU_EXPORT Result cuMemsetD##bits##Async(DevicePointer dst, Type value,                \
                                                   std::size_t count, Stream stream) {           \
    HALYARD_GPU_CALL(cuMemsetD##bits##Async, kNamed);                                            \
    return fill_memory(call, {dst, 0, value, sizeof(Type), count, 1}, stream, Waits::kNever);    \
  }                                                                                              \
  HALYARD_GPU_EXPORT Result cuMemsetD2D##bits##_v2(                                              \
      DevicePointer dst, std::size_t pitch, Type value, std::size_t width, std::size_t height) { \
    HALYARD_GPU_CALL(cuMemsetD2D##bits##_v2, kCurrent | kUnsafeInCapture);                       \
    return fill_memory(call, {dst, pitch, value, sizeof(Type), width, height}, nullptr,          \
                       Waits::kAlways);                                                          \
  }                                                                                              \
  HALYARD_GPU_EXPORT Result cuMemsetD2D##bits##Async(DevicePointer dst, std::size_t pitch,       \
                                                     Type value, std::size_t width,              \
                                                     std::size_t height, Stream stream) {        \
    HALYARD_GPU_CALL(cuMemsetD2D##bits##Async, kNamed);                                          \
    return fill_memory(call, {dst, pitch, value, sizeof(Type), width, height}, stream,           \
                       Waits::kNever);                                                           \
  }
HALYARD_CUDA_FILL(8, unsigned char, )

HALYARD_CUDA_FILL(16, unsigned short, )

HALYARD_CUDA_FILL(32, unsigned, )

HALYARD_GPU_PER_THREAD(cuMemcpy2DAsync_v2, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuMemcpy2DUnaligned_v2, _ptds, 1)
HALYARD_GPU_PER_THREAD(cuMemcpy2D_v2, _ptds, 1)
HALYARD_GPU_PER_THREAD(cuMemcpy3DAsync_v2, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuMemcpy3DPeerAsync, _ptsz, 2)
HALYARD_GPU_PER_THREAD(cuMemcpy3DPeer, _ptds, 1)
HALYARD_GPU_PER_THREAD(cuMemcpy3D_v2, _ptds, 1)
HALYARD_GPU_PER_THREAD(cuMemcpyAsync, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemcpyDtoDAsync_v2, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemcpyDtoD_v2, _ptds, 3)
HALYARD_GPU_PER_THREAD(cuMemcpyDtoHAsync_v2, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemcpyDtoH_v2, _ptds, 3)
HALYARD_GPU_PER_THREAD(cuMemcpyHtoDAsync_v2, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemcpyHtoD_v2, _ptds, 3)
HALYARD_GPU_PER_THREAD(cuMemcpyPeerAsync, _ptsz, 6)
HALYARD_GPU_PER_THREAD(cuMemcpyPeer, _ptds, 5)
HALYARD_GPU_PER_THREAD(cuMemcpy, _ptds, 3)
HALYARD_GPU_PER_THREAD(cuMemsetD16Async, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemsetD16_v2, _ptds, 3)
HALYARD_GPU_PER_THREAD(cuMemsetD2D16Async, _ptsz, 6)
HALYARD_GPU_PER_THREAD(cuMemsetD2D16_v2, _ptds, 5)
HALYARD_GPU_PER_THREAD(cuMemsetD2D32Async, _ptsz, 6)
HALYARD_GPU_PER_THREAD(cuMemsetD2D32_v2, _ptds, 5)
HALYARD_GPU_PER_THREAD(cuMemsetD2D8Async, _ptsz, 6)
HALYARD_GPU_PER_THREAD(cuMemsetD2D8_v2, _ptds, 5)
HALYARD_GPU_PER_THREAD(cuMemsetD32Async, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemsetD32_v2, _ptds, 3)
HALYARD_GPU_PER_THREAD(cuMemsetD8Async, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemsetD8_v2, _ptds, 3)
}  // namespace halyard::inline v0::sim::cuda
