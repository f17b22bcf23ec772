// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/array.h"

#include "simulation/cuda/launch.h"
#include "simulation/cuda/memory.h"
#include "simulation/cuda/per_thread.h"
#include "simulation/cuda/pool.h"
#include "simulation/cuda/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

constexpr unsigned kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8;
constexpr std::size_t kMostElements = std::size_t{1} << 36;

// CUarray_format; 0 for those that are not built.
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

Result create(Call& call, Array* array, const Array3D& shape) {
  HALYARD_CUDA_REQUIRE(array != nullptr && shape.width != 0, kInvalidValue);
  // cuda.h, cuArrayCreate: 1, 2 or 4 channels
  HALYARD_CUDA_REQUIRE(shape.channels == 1 || shape.channels == 2 || shape.channels == 4,
                       kInvalidValue);
  const std::size_t bytes = bytes_of_format(shape.format);
  HALYARD_CUDA_REQUIRE(bytes != 0, kNotSupported);
  HALYARD_CUDA_REQUIRE((shape.flags & ~(kLayered | kSurface | kCubemap | kGather)) == 0,
                       kNotSupported);
  auto made = std::make_shared<ArrayState>();
  made->shape = shape;
  made->element_bytes = bytes * shape.channels;
  made->context = &call.context();
  HALYARD_CUDA_REQUIRE(shape.width <= kMostElements &&
                           made->rows() <= kMostElements / shape.width &&
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

Result create_flat(Call& call, Array* array, const Array2D* shape) {
  HALYARD_CUDA_REQUIRE(shape != nullptr, kInvalidValue);
  return create(call, array, {shape->width, shape->height, 0, shape->format, shape->channels, 0});
}

// One side of a copy.
Result resolve_side(void* handle, std::size_t x, std::size_t y, std::size_t z, const Copy3D& copy,
                    MemoryType& type, DevicePointer& device, std::size_t& pitch,
                    std::size_t& height) {
  const ArrayState* const array = resolve(static_cast<Array>(handle));
  HALYARD_CUDA_REQUIRE(array != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(x % array->element_bytes == 0 && copy.width % array->element_bytes == 0,
                       kInvalidValue);
  HALYARD_CUDA_REQUIRE(x <= array->row_bytes() && copy.width <= array->row_bytes() - x &&
                           y <= array->rows() && copy.height <= array->rows() - y &&
                           z <= array->slices() && copy.depth <= array->slices() - z,
                       kInvalidValue);
  type = kDevice;
  device = array->address;
  pitch = array->row_bytes();
  height = array->rows();
  return kSuccess;
}

// A copy of consecutive bytes of an array of one dimension.
struct ArrayPart {
  Array array = nullptr;
  std::size_t offset = 0;
};

Copy3D part_copy(std::size_t size) {
  Copy3D copy{};
  copy.width = size;
  copy.height = copy.depth = 1;
  return copy;
}

void read_array(Copy3D& copy, const ArrayPart& part) {
  copy.src_type = kArray;
  copy.src_array = part.array;
  copy.src_x = part.offset;
}

void write_array(Copy3D& copy, const ArrayPart& part) {
  copy.dst_type = kArray;
  copy.dst_array = part.array;
  copy.dst_x = part.offset;
}

Copy3D from_host(const ArrayPart& to, const void* host, std::size_t size) {
  Copy3D copy = part_copy(size);
  write_array(copy, to);
  copy.src_type = kHost;
  copy.src_host = host;
  return copy;
}

Copy3D to_host(void* host, const ArrayPart& from, std::size_t size) {
  Copy3D copy = part_copy(size);
  read_array(copy, from);
  copy.dst_type = kHost;
  copy.dst_host = host;
  return copy;
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

HALYARD_CUDA_EXPORT Result cuArrayCreate_v2(Array* array, const Array2D* shape) {
  HALYARD_CUDA_CALL(cuArrayCreate_v2, kCurrent | kUnsafeInCapture);
  return create_flat(call, array, shape);
}

HALYARD_CUDA_EXPORT Result cuArray3DCreate_v2(Array* array, const Array3D* shape) {
  HALYARD_CUDA_CALL(cuArray3DCreate_v2, kCurrent | kUnsafeInCapture);
  HALYARD_CUDA_REQUIRE(shape != nullptr, kInvalidValue);
  return create(call, array, *shape);
}

HALYARD_CUDA_EXPORT Result cuArrayDestroy(Array handle) {
  HALYARD_CUDA_CALL(cuArrayDestroy, kInitialized | kUnsafeInCapture);
  const ArrayState* const array = resolve(handle);
  HALYARD_CUDA_REQUIRE(array != nullptr, kInvalidHandle);
  const std::shared_ptr<ArrayState> ended = end_handle(handle);
  if (ended->context->is_destroyed.load()) return kSuccess;  // which freed the memory
  drain(call.lock(), *ended->context);
  memory().remove(ended->address);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuArray3DGetDescriptor_v2(Array3D* shape, Array handle) {
  HALYARD_CUDA_CALL(cuArray3DGetDescriptor_v2, kNamed);
  const ArrayState* const array = resolve(handle);
  HALYARD_CUDA_REQUIRE(array != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(shape != nullptr, kInvalidValue);
  *shape = array->shape;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuArrayGetDescriptor_v2(Array2D* shape, Array handle) {
  HALYARD_CUDA_CALL(cuArrayGetDescriptor_v2, kNamed);
  const ArrayState* const array = resolve(handle);
  HALYARD_CUDA_REQUIRE(array != nullptr, kInvalidHandle);
  HALYARD_CUDA_REQUIRE(shape != nullptr, kInvalidValue);
  *shape = {array->shape.width, array->shape.height, array->shape.format, array->shape.channels};
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuMemcpyHtoA_v2(Array array, std::size_t offset, const void* host,
                                           std::size_t size) {
  HALYARD_CUDA_CALL(cuMemcpyHtoA_v2, kCurrent | kUnsafeInCapture);
  return copy_memory(call, from_host({array, offset}, host, size), nullptr, Waits::kAlways);
}

HALYARD_CUDA_EXPORT Result cuMemcpyAtoH_v2(void* host, Array array, std::size_t offset,
                                           std::size_t size) {
  HALYARD_CUDA_CALL(cuMemcpyAtoH_v2, kCurrent | kUnsafeInCapture);
  return copy_memory(call, to_host(host, {array, offset}, size), nullptr, Waits::kAlways);
}

HALYARD_CUDA_EXPORT Result cuMemcpyHtoAAsync_v2(Array array, std::size_t offset, const void* host,
                                                std::size_t size, Stream stream) {
  HALYARD_CUDA_CALL(cuMemcpyHtoAAsync_v2, kNamed);
  return copy_memory(call, from_host({array, offset}, host, size), stream, Waits::kNever);
}

HALYARD_CUDA_EXPORT Result cuMemcpyAtoHAsync_v2(void* host, Array array, std::size_t offset,
                                                std::size_t size, Stream stream) {
  HALYARD_CUDA_CALL(cuMemcpyAtoHAsync_v2, kNamed);
  return copy_memory(call, to_host(host, {array, offset}, size), stream, Waits::kNever);
}

HALYARD_CUDA_EXPORT Result cuMemcpyDtoA_v2(Array array, std::size_t offset, DevicePointer from,
                                           std::size_t size) {
  HALYARD_CUDA_CALL(cuMemcpyDtoA_v2, kCurrent | kUnsafeInCapture);
  Copy3D copy = part_copy(size);
  write_array(copy, {array, offset});
  copy.src_type = kDevice;
  copy.src_device = from;
  return copy_memory(call, copy, nullptr, Waits::kAlways);
}

HALYARD_CUDA_EXPORT Result cuMemcpyAtoD_v2(DevicePointer to, Array array, std::size_t offset,
                                           std::size_t size) {
  HALYARD_CUDA_CALL(cuMemcpyAtoD_v2, kCurrent | kUnsafeInCapture);
  Copy3D copy = part_copy(size);
  read_array(copy, {array, offset});
  copy.dst_type = kDevice;
  copy.dst_device = to;
  return copy_memory(call, copy, nullptr, Waits::kAlways);
}

HALYARD_CUDA_EXPORT Result cuMemcpyAtoA_v2(Array to, std::size_t to_offset, Array from,
                                           std::size_t from_offset, std::size_t size) {
  HALYARD_CUDA_CALL(cuMemcpyAtoA_v2, kCurrent | kUnsafeInCapture);
  Copy3D copy = part_copy(size);
  read_array(copy, {from, from_offset});
  write_array(copy, {to, to_offset});
  return copy_memory(call, copy, nullptr, Waits::kAlways);
}

HALYARD_CUDA_PER_THREAD(cuMemcpyAtoA_v2, _ptds, 5)
HALYARD_CUDA_PER_THREAD(cuMemcpyAtoD_v2, _ptds, 4)
HALYARD_CUDA_PER_THREAD(cuMemcpyAtoHAsync_v2, _ptsz, 5)
HALYARD_CUDA_PER_THREAD(cuMemcpyAtoH_v2, _ptds, 4)
HALYARD_CUDA_PER_THREAD(cuMemcpyDtoA_v2, _ptds, 4)
HALYARD_CUDA_PER_THREAD(cuMemcpyHtoAAsync_v2, _ptsz, 5)
HALYARD_CUDA_PER_THREAD(cuMemcpyHtoA_v2, _ptds, 4)

}  // namespace halyard::inline v0::sim::cuda
