// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipMemset in all its forms.
#include "simulation/gpu/copy.h"
#include "simulation/hip/per_thread.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {
namespace {

using gpu::Waits;

Result fill(Call& call, const gpu::Fill& fill, Stream stream, bool waits) {
  HALYARD_HIP_HANDLE(stream);
  if (fill.width == 0 || fill.height == 0) return kSuccess;
  HALYARD_GPU_REQUIRE(fill.dst != 0, gpu::kInvalidValue);
  if (waits) {
    const Result refusal = refuse_in_capture(call.context(), gpu::kCaptureImplicit);
    if (refusal != kSuccess) return refusal;
  }
  return gpu::fill_memory(call, fill, stream, waits ? Waits::kAlways : Waits::kNever);
}

Result fill_bytes(Call& call, void* dst, int value, std::size_t bytes, Stream stream, bool waits) {
  return fill(call, {address_of(dst), 0, static_cast<unsigned char>(value), 1, bytes, 1}, stream,
              waits);
}

Result fill_rows(Call& call, void* dst, std::size_t pitch, int value, std::size_t width,
                 std::size_t height, Stream stream, bool waits) {
  return fill(call, {address_of(dst), pitch, static_cast<unsigned char>(value), 1, width, height},
              stream, waits);
}

Result fill_box(Call& call, const PitchedPointer& dst, int value, const Extent& extent,
                Stream stream, bool waits) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return kSuccess;
  HALYARD_GPU_REQUIRE(extent.width <= dst.pitch, gpu::kInvalidValue);
  for (std::size_t z = 0; z < extent.depth; ++z) {
    auto* const slice = static_cast<char*>(dst.pointer) + z * dst.pitch * dst.height;
    const bool is_last = z + 1 == extent.depth;
    const Result result = fill_rows(call, slice, dst.pitch, value, extent.width, extent.height,
                                    stream, waits && is_last);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

}  // namespace

#define HALYARD_HIP_FILL(name, parameters, body)            \
  HALYARD_HIP_EXPORT Result name parameters {               \
    HALYARD_HIP_CALL(name, gpu::kCurrent) { return body; }; \
  }

HALYARD_HIP_FILL(hipMemset, (void* dst, int value, std::size_t bytes),
                 fill_bytes(call, dst, value, bytes, nullptr, true))
HALYARD_HIP_FILL(hipMemsetAsync, (void* dst, int value, std::size_t bytes, Stream stream),
                 fill_bytes(call, dst, value, bytes, stream, false))
HALYARD_HIP_FILL(hipMemset2D,
                 (void* dst, std::size_t pitch, int value, std::size_t width, std::size_t height),
                 fill_rows(call, dst, pitch, value, width, height, nullptr, true))
HALYARD_HIP_FILL(hipMemset2DAsync,
                 (void* dst, std::size_t pitch, int value, std::size_t width, std::size_t height,
                  Stream stream),
                 fill_rows(call, dst, pitch, value, width, height, stream, false))
HALYARD_HIP_FILL(hipMemset3D, (PitchedPointer dst, int value, Extent extent),
                 fill_box(call, dst, value, extent, nullptr, true))
HALYARD_HIP_FILL(hipMemset3DAsync, (PitchedPointer dst, int value, Extent extent, Stream stream),
                 fill_box(call, dst, value, extent, stream, false))

// The 32-bit value is an int here and unsigned in CUDA; counts are in elements.
#define HALYARD_HIP_FILL_ELEMENTS(bits, Type, Unsigned)                                        \
  HALYARD_HIP_FILL(                                                                            \
      hipMemsetD##bits, (void* dst, Type value, std::size_t count),                            \
      fill(call, {address_of(dst), 0, static_cast<Unsigned>(value), sizeof(Type), count, 1},   \
           nullptr, true))                                                                     \
  HALYARD_HIP_FILL(                                                                            \
      hipMemsetD##bits##Async, (void* dst, Type value, std::size_t count, Stream stream),      \
      fill(call, {address_of(dst), 0, static_cast<Unsigned>(value), sizeof(Type), count, 1},   \
           stream, false))                                                                     \
  HALYARD_HIP_FILL(                                                                            \
      hipMemsetD2D##bits,                                                                      \
      (void* dst, std::size_t pitch, Unsigned value, std::size_t width, std::size_t height),   \
      fill(call, {address_of(dst), pitch, value, sizeof(Type), width, height}, nullptr, true)) \
  HALYARD_HIP_FILL(                                                                            \
      hipMemsetD2D##bits##Async,                                                               \
      (void* dst, std::size_t pitch, Unsigned value, std::size_t width, std::size_t height,    \
       Stream stream),                                                                         \
      fill(call, {address_of(dst), pitch, value, sizeof(Type), width, height}, stream, false))
HALYARD_HIP_FILL_ELEMENTS(8, unsigned char, unsigned char)
HALYARD_HIP_FILL_ELEMENTS(16, unsigned short, unsigned short)
HALYARD_HIP_FILL_ELEMENTS(32, int, unsigned)

HALYARD_HIP_PER_THREAD(hipMemset, 3)
HALYARD_HIP_PER_THREAD(hipMemsetAsync, 4)
HALYARD_HIP_PER_THREAD(hipMemset2D, 5)
HALYARD_HIP_PER_THREAD(hipMemset2DAsync, 6)
HALYARD_HIP_PER_THREAD(hipMemset3D, 3)
HALYARD_HIP_PER_THREAD(hipMemset3DAsync, 4)

}  // namespace halyard::inline v0::sim::hip
