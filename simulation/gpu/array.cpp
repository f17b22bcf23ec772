// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/array.h"

#include "simulation/gpu/memory.h"
#include "simulation/gpu/pool.h"

namespace halyard::inline v0::sim::gpu {
namespace {

constexpr unsigned kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8;

constexpr std::size_t kMostElements = std::size_t{1} << 36;

// Bytes of a CUarray_format; 0 for unsupported formats.
std::size_t bytes_of_format(int format) {
  switch (format) {
    case 0x01:  // UNSIGNED_INT8
    case 0x08:  // SIGNED_INT8
      return 1;
    case 0x02:  // UNSIGNED_INT16
    case 0x09:  // SIGNED_INT16
    case 0x10:  // HALF
      return 2;
    case 0x03:  // UNSIGNED_INT32
    case 0x0a:  // SIGNED_INT32
    case 0x20:  // FLOAT
      return 4;
    default:
      return 0;
  }
}

}  // namespace

Result create_array(Call& call, Array* array, const Array3D& shape) {
  HALYARD_GPU_REQUIRE(array != nullptr && shape.width != 0, kInvalidValue);
  // cuda.h, cuArrayCreate: 1, 2 or 4 channels
  HALYARD_GPU_REQUIRE(shape.channels == 1 || shape.channels == 2 || shape.channels == 4,
                      kInvalidValue);
  const std::size_t bytes = bytes_of_format(shape.format);
  HALYARD_GPU_REQUIRE(bytes != 0, kNotSupported);
  HALYARD_GPU_REQUIRE((shape.flags & ~(kLayered | kSurface | kCubemap | kGather)) == 0,
                      kNotSupported);
  auto made = std::make_shared<ArrayState>();
  made->shape = shape;
  made->element_bytes = bytes * shape.channels;
  made->context = &call.context();
  HALYARD_GPU_REQUIRE(shape.width <= kMostElements && made->rows() <= kMostElements / shape.width &&
                          made->slices() <= kMostElements / shape.width / made->rows(),
                      kInvalidValue);
  Allocation allocation;
  allocation.size = made->row_bytes() * made->rows() * made->slices();
  allocation.kind = MemoryKind::kArray;
  allocation.device = call.context().device;
  allocation.context = &call.context();
  const Result result = allocate_memory(allocation, 512, made->address);
  if (result == kSuccess) *array = make_handle(std::move(made));
  return result;
}

namespace {

// Resolves a side of a copy.
Result resolve_side(void* handle, std::size_t x, std::size_t y, std::size_t z, const Copy3D& copy,
                    MemoryType& type, DevicePointer& device, std::size_t& pitch,
                    std::size_t& height) {
  const ArrayState* const array = resolve(static_cast<Array>(handle));
  HALYARD_GPU_REQUIRE(array != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(x % array->element_bytes == 0 && copy.width % array->element_bytes == 0,
                      kInvalidValue);
  HALYARD_GPU_REQUIRE(x <= array->row_bytes() && copy.width <= array->row_bytes() - x &&
                          y <= array->rows() && copy.height <= array->rows() - y &&
                          z <= array->slices() && copy.depth <= array->slices() - z,
                      kInvalidValue);
  type = kDevice;
  device = array->address;
  pitch = array->row_bytes();
  height = array->rows();
  return kSuccess;
}

}  // namespace

Result resolve_arrays(Copy3D& copy) {
  if (copy.src_type == kArray) {
    const Result result =
        resolve_side(copy.src_array, copy.src_x, copy.src_y, copy.src_z, copy, copy.src_type,
                     copy.src_device, copy.src_pitch, copy.src_height);
    if (result != kSuccess) return result;
  } else {
    copy.src_array = nullptr;
  }
  if (copy.dst_type != kArray) {
    copy.dst_array = nullptr;
    return kSuccess;
  }
  return resolve_side(copy.dst_array, copy.dst_x, copy.dst_y, copy.dst_z, copy, copy.dst_type,
                      copy.dst_device, copy.dst_pitch, copy.dst_height);
}

Copy3D with_arrays(Copy3D copy) {
  if (copy.src_array != nullptr) {
    copy.src_type = kArray;
    copy.src_device = copy.src_pitch = copy.src_height = 0;
  }
  if (copy.dst_array != nullptr) {
    copy.dst_type = kArray;
    copy.dst_device = copy.dst_pitch = copy.dst_height = 0;
  }
  return copy;
}

Result destroy_array(Call& call, Array handle) {
  const ArrayState* const array = resolve(handle);
  HALYARD_GPU_REQUIRE(array != nullptr, kInvalidHandle);
  const std::shared_ptr<ArrayState> ended = end_handle(handle);
  if (ended->context->is_destroyed.load()) return kSuccess;  // its end freed the memory
  drain(call.lock(), *ended->context);
  memory().remove(ended->address);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
