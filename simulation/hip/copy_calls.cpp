// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipMemcpy in all its forms, except those of arrays, which are not implemented.
#include "simulation/hip/copy.h"

#include "simulation/gpu/copy.h"
#include "simulation/hip/per_thread.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {

using gpu::Waits;

bool is_copy_kind(int kind) {
  return (kind >= kHostToHost && kind <= kDefaultKind) || kind == kDeviceToDeviceNoCopyUnit;
}

namespace {

// hip_memory.cpp, ihipMemcpy_validate. The kind is checked and then ignored, because the addresses
// determine it.
Result check_linear(const void* dst, const void* src, int kind) {
  HALYARD_GPU_REQUIRE(dst != nullptr && src != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(is_copy_kind(kind), kInvalidDirection);
  // IsHtoHMemcpyValid: both ends are memory that HIP does not know
  const bool knows = gpu::memory().place(address_of(dst)).is_allocated ||
                     gpu::memory().place(address_of(src)).is_allocated;
  HALYARD_GPU_REQUIRE(knows || kind == kHostToHost || kind == kDefaultKind, gpu::kInvalidValue);
  return kSuccess;
}

// Whether an asynchronous copy from pageable memory blocks: it does, except for less than 1 MB
// since 6.4 (CHANGELOG.md of projects/clr).
bool is_blocking(const void* src, std::size_t size, Stream stream) {
  constexpr std::size_t kStaged = std::size_t{1} << 20;
  if (is_since(kVersion64) && size < kStaged) return false;
  return !gpu::memory().place(address_of(src)).is_allocated &&
         gpu::find_stream(stream)->capture == nullptr;
}

gpu::Linear linear(const void* dst, const void* src, std::size_t size) {
  return {gpu::kUnified, address_of(dst), gpu::kUnified, address_of(src), size};
}

}  // namespace

Result copy_linear(Call& call, void* dst, const void* src, std::size_t size, int kind,
                   Stream stream, bool waits) {
  HALYARD_HIP_HANDLE(stream);
  if (size == 0) return kSuccess;
  if (const Result result = check_linear(dst, src, kind); result != kSuccess) return result;
  if (waits) {
    const Result refusal = refuse_in_capture(call.context(), gpu::kCaptureImplicit);
    if (refusal != kSuccess) return refusal;
  }
  return gpu::copy_memory(call, linear(dst, src, size), stream,
                          waits || is_blocking(src, size, stream) ? Waits::kAlways : Waits::kNever);
}

namespace {

Result copy_rows(Call& call, void* dst, std::size_t dst_pitch, const void* src,
                 std::size_t src_pitch, std::size_t width, std::size_t height, int kind,
                 Stream stream, bool waits) {
  HALYARD_HIP_HANDLE(stream);
  HALYARD_GPU_REQUIRE(is_copy_kind(kind), kInvalidDirection);
  if (width == 0 || height == 0) return kSuccess;
  HALYARD_GPU_REQUIRE(width <= dst_pitch && width <= src_pitch, kInvalidPitch);
  HALYARD_GPU_REQUIRE(dst != nullptr && src != nullptr, gpu::kInvalidValue);
  if (waits) {
    const Result refusal = refuse_in_capture(call.context(), gpu::kCaptureImplicit);
    if (refusal != kSuccess) return refusal;
  }
  gpu::Copy3D copy = gpu::from_linear(linear(dst, src, width));
  copy.dst_pitch = dst_pitch;
  copy.src_pitch = src_pitch;
  copy.height = height;
  return gpu::copy_memory(call, copy, stream, waits ? Waits::kAlways : Waits::kNever);
}

// A side of a copy whose memory is described by a hipMemoryType.
Result convert_type(unsigned type, void* array, gpu::MemoryType& to) {
  HALYARD_GPU_REQUIRE(array == nullptr, gpu::kNotSupported);
  if (is_since(kVersion60)) {
    switch (type) {
      case memory_type::kHost:
        to = gpu::kHost;
        return kSuccess;
      case memory_type::kDevice:
        to = gpu::kDevice;
        return kSuccess;
      case memory_type::kUnregistered:
      case memory_type::kManaged:
      case memory_type::kUnified:
        to = gpu::kUnified;
        return kSuccess;
      default:
        return type == memory_type::kArray ? gpu::kNotSupported : gpu::kInvalidValue;
    }
  }
  switch (type) {
    case memory_type::kOldHost:
      to = gpu::kHost;
      return kSuccess;
    case memory_type::kOldDevice:
      to = gpu::kDevice;
      return kSuccess;
    case memory_type::kOldUnified:
    case memory_type::kOldManaged:
      to = gpu::kUnified;
      return kSuccess;
    default:
      return type == memory_type::kOldArray ? gpu::kNotSupported : gpu::kInvalidValue;
  }
}

// The core accepts host memory, or memory of unified type, which it looks up.
template <class T>
Result convert_sides(const T& from, gpu::Copy3D& to) {
  Result result = convert_type(from.src_type, from.src_array, to.src_type);
  if (result == kSuccess) result = convert_type(from.dst_type, from.dst_array, to.dst_type);
  if (result != kSuccess) return result;
  const void* const source = to.src_type == gpu::kHost ? from.src_host : from.src_device;
  void* const target = to.dst_type == gpu::kHost ? from.dst_host : from.dst_device;
  HALYARD_GPU_REQUIRE(source != nullptr && target != nullptr, gpu::kInvalidValue);
  // hip_memory.cpp, ihipCopyMemParamSet: the memory's own type decides, not the given type.
  to.src_type = to.dst_type = gpu::kUnified;
  to.src_device = address_of(source);
  to.dst_device = address_of(target);
  to.src_x = from.src_x;
  to.src_y = from.src_y;
  to.src_pitch = from.src_pitch;
  to.dst_x = from.dst_x;
  to.dst_y = from.dst_y;
  to.dst_pitch = from.dst_pitch;
  to.width = from.width;
  to.height = from.height;
  return kSuccess;
}

template <class T>
Result convert_layout(const T& from, gpu::Copy3D& to) {
  to = {};
  const Result result = convert_sides(from, to);
  to.src_z = from.src_z;
  to.src_height = from.src_height;
  to.dst_z = from.dst_z;
  to.dst_height = from.dst_height;
  to.depth = from.depth;
  return result;
}

}  // namespace

Result convert(const Copy3D& from, gpu::Copy3D& to) {
  HALYARD_GPU_REQUIRE(is_copy_kind(from.kind), kInvalidDirection);
  HALYARD_GPU_REQUIRE(from.src_array == nullptr && from.dst_array == nullptr, gpu::kNotSupported);
  HALYARD_GPU_REQUIRE(from.src.pointer != nullptr && from.dst.pointer != nullptr,
                      gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(from.extent.width <= from.src.pitch && from.extent.width <= from.dst.pitch,
                      kInvalidPitch);
  to = gpu::from_linear(linear(from.dst.pointer, from.src.pointer, from.extent.width));
  to.src_x = from.src_at.x;
  to.src_y = from.src_at.y;
  to.src_z = from.src_at.z;
  to.src_pitch = from.src.pitch;
  to.src_height = from.src.height;
  to.dst_x = from.dst_at.x;
  to.dst_y = from.dst_at.y;
  to.dst_z = from.dst_at.z;
  to.dst_pitch = from.dst.pitch;
  to.dst_height = from.dst.height;
  to.height = from.extent.height;
  to.depth = from.extent.depth;
  return kSuccess;
}

Result convert_driver_copy(const void* from, gpu::Copy3D& to) {
  HALYARD_GPU_REQUIRE(from != nullptr, gpu::kInvalidValue);
  return is_since(kVersion60) ? convert_layout(*static_cast<const DriverCopy*>(from), to)
                              : convert_layout(*static_cast<const DriverCopyOld*>(from), to);
}

namespace {

Result copy_box(Call& call, const gpu::Copy3D& copy, Stream stream, bool waits) {
  HALYARD_HIP_HANDLE(stream);
  if (waits) {
    const Result refusal = refuse_in_capture(call.context(), gpu::kCaptureImplicit);
    if (refusal != kSuccess) return refusal;
  }
  return gpu::copy_memory(call, copy, stream, waits ? Waits::kAlways : Waits::kNever);
}

Result copy_3d(Call& call, const Copy3D* copy, Stream stream, bool waits) {
  HALYARD_GPU_REQUIRE(copy != nullptr, gpu::kInvalidValue);
  const Extent& extent = copy->extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return kSuccess;
  gpu::Copy3D whole{};
  const Result result = convert(*copy, whole);
  return result == kSuccess ? copy_box(call, whole, stream, waits) : result;
}

Result copy_driver(Call& call, const void* copy, Stream stream, bool waits) {
  gpu::Copy3D whole{};
  const Result result = convert_driver_copy(copy, whole);
  return result == kSuccess ? copy_box(call, whole, stream, waits) : result;
}

Result copy_param_2d(Call& call, const Copy2D* copy, Stream stream, bool waits) {
  HALYARD_GPU_REQUIRE(copy != nullptr, gpu::kInvalidValue);
  if (copy->width == 0 || copy->height == 0) return kSuccess;
  gpu::Copy3D whole{};
  const Result result = convert_sides(*copy, whole);
  whole.depth = 1;
  return result == kSuccess ? copy_box(call, whole, stream, waits) : result;
}

Result copy_3d_peer(Call& call, const Copy3DPeer* copy, Stream stream, bool waits) {
  HALYARD_GPU_REQUIRE(copy != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(gpu::is_device(copy->src_device) && gpu::is_device(copy->dst_device),
                      gpu::kInvalidDevice);
  const Copy3D plain{copy->src_array, copy->src_at, copy->src,    copy->dst_array,
                     copy->dst_at,    copy->dst,    copy->extent, kDeviceToDevice};
  return copy_3d(call, &plain, stream, waits);
}

// hip_peer.cpp: a plain copy, in the null stream of the current device or in the given stream.
Result copy_peer(Call& call, void* dst, int dst_device, const void* src, int src_device,
                 std::size_t size, Stream stream, bool waits) {
  HALYARD_GPU_REQUIRE(gpu::is_device(src_device) && gpu::is_device(dst_device),
                      gpu::kInvalidDevice);
  return copy_linear(call, dst, src, size, kDeviceToDevice, stream, waits);
}

}  // namespace

#define HALYARD_HIP_COPY(name, parameters, body)            \
  HALYARD_HIP_EXPORT Result name parameters {               \
    HALYARD_HIP_CALL(name, gpu::kCurrent) { return body; }; \
  }

HALYARD_HIP_COPY(hipMemcpy, (void* dst, const void* src, std::size_t size, int kind),
                 copy_linear(call, dst, src, size, kind, nullptr, true))
HALYARD_HIP_COPY(hipMemcpyAsync,
                 (void* dst, const void* src, std::size_t size, int kind, Stream stream),
                 copy_linear(call, dst, src, size, kind, stream, false))
HALYARD_HIP_COPY(hipMemcpyWithStream,
                 (void* dst, const void* src, std::size_t size, int kind, Stream stream),
                 copy_linear(call, dst, src, size, kind, stream, true))
HALYARD_HIP_COPY(hipMemcpyHtoD, (void* dst, const void* src, std::size_t size),
                 copy_linear(call, dst, src, size, kHostToDevice, nullptr, true))
HALYARD_HIP_COPY(hipMemcpyDtoH, (void* dst, void* src, std::size_t size),
                 copy_linear(call, dst, src, size, kDeviceToHost, nullptr, true))
HALYARD_HIP_COPY(hipMemcpyDtoD, (void* dst, void* src, std::size_t size),
                 copy_linear(call, dst, src, size, kDeviceToDevice, nullptr, true))
HALYARD_HIP_COPY(hipMemcpyHtoDAsync, (void* dst, const void* src, std::size_t size, Stream stream),
                 copy_linear(call, dst, src, size, kHostToDevice, stream, false))
HALYARD_HIP_COPY(hipMemcpyDtoHAsync, (void* dst, void* src, std::size_t size, Stream stream),
                 copy_linear(call, dst, src, size, kDeviceToHost, stream, false))
HALYARD_HIP_COPY(hipMemcpyDtoDAsync, (void* dst, void* src, std::size_t size, Stream stream),
                 copy_linear(call, dst, src, size, kDeviceToDevice, stream, false))
HALYARD_HIP_COPY(hipMemcpyPeer,
                 (void* dst, int dst_device, const void* src, int src_device, std::size_t size),
                 copy_peer(call, dst, dst_device, src, src_device, size, nullptr, true))
HALYARD_HIP_COPY(hipMemcpyPeerAsync,
                 (void* dst, int dst_device, const void* src, int src_device, std::size_t size,
                  Stream stream),
                 copy_peer(call, dst, dst_device, src, src_device, size, stream, false))
HALYARD_HIP_COPY(hipMemcpy2D,
                 (void* dst, std::size_t dst_pitch, const void* src, std::size_t src_pitch,
                  std::size_t width, std::size_t height, int kind),
                 copy_rows(call, dst, dst_pitch, src, src_pitch, width, height, kind, nullptr,
                           true))
HALYARD_HIP_COPY(hipMemcpy2DAsync,
                 (void* dst, std::size_t dst_pitch, const void* src, std::size_t src_pitch,
                  std::size_t width, std::size_t height, int kind, Stream stream),
                 copy_rows(call, dst, dst_pitch, src, src_pitch, width, height, kind, stream,
                           false))
HALYARD_HIP_COPY(hipMemcpyParam2D, (const Copy2D* copy), copy_param_2d(call, copy, nullptr, true))
HALYARD_HIP_COPY(hipMemcpyParam2DAsync, (const Copy2D* copy, Stream stream),
                 copy_param_2d(call, copy, stream, false))
HALYARD_HIP_COPY(hipDrvMemcpy2DUnaligned, (const Copy2D* copy),
                 copy_param_2d(call, copy, nullptr, true))
HALYARD_HIP_COPY(hipMemcpy3D, (const Copy3D* copy), copy_3d(call, copy, nullptr, true))
HALYARD_HIP_COPY(hipMemcpy3DAsync, (const Copy3D* copy, Stream stream),
                 copy_3d(call, copy, stream, false))
HALYARD_HIP_COPY(hipMemcpy3DPeer, (const Copy3DPeer* copy), copy_3d_peer(call, copy, nullptr, true))
HALYARD_HIP_COPY(hipMemcpy3DPeerAsync, (const Copy3DPeer* copy, Stream stream),
                 copy_3d_peer(call, copy, stream, false))
// The layout of the structure depends on the version.
HALYARD_HIP_COPY(hipDrvMemcpy3D, (const void* copy), copy_driver(call, copy, nullptr, true))
HALYARD_HIP_COPY(hipDrvMemcpy3DAsync, (const void* copy, Stream stream),
                 copy_driver(call, copy, stream, false))

HALYARD_HIP_PER_THREAD(hipMemcpy, 4)
HALYARD_HIP_PER_THREAD(hipMemcpyAsync, 5)
HALYARD_HIP_PER_THREAD(hipMemcpy2D, 7)
HALYARD_HIP_PER_THREAD(hipMemcpy2DAsync, 8)
HALYARD_HIP_PER_THREAD(hipMemcpy3D, 1)
HALYARD_HIP_PER_THREAD(hipMemcpy3DAsync, 2)

}  // namespace halyard::inline v0::sim::hip
