// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays, and copies of consecutive bytes of one-dimensional arrays.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/array.h"
#include "simulation/gpu/copy.h"
#include "simulation/gpu/per_thread.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

Result create_flat(Call& call, Array* array, const Array2D* shape) {
  HALYARD_GPU_REQUIRE(shape != nullptr, kInvalidValue);
  return create_array(call, array,
                      {shape->width, shape->height, 0, shape->format, shape->channels, 0});
}

// Consecutive bytes of a one-dimensional array: an end of a copy.
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

HALYARD_GPU_EXPORT Result cuArrayCreate_v2(Array* array, const Array2D* shape) {
  HALYARD_GPU_CALL(cuArrayCreate_v2, kCurrent | kUnsafeInCapture);
  return create_flat(call, array, shape);
}

HALYARD_GPU_EXPORT Result cuArray3DCreate_v2(Array* array, const Array3D* shape) {
  HALYARD_GPU_CALL(cuArray3DCreate_v2, kCurrent | kUnsafeInCapture);
  HALYARD_GPU_REQUIRE(shape != nullptr, kInvalidValue);
  return create_array(call, array, *shape);
}

HALYARD_GPU_EXPORT Result cuArrayDestroy(Array handle) {
  HALYARD_GPU_CALL(cuArrayDestroy, kInitialized | kUnsafeInCapture);
  return destroy_array(call, handle);
}

HALYARD_GPU_EXPORT Result cuArray3DGetDescriptor_v2(Array3D* shape, Array handle) {
  HALYARD_GPU_CALL(cuArray3DGetDescriptor_v2, kNamed);
  const ArrayState* const array = resolve(handle);
  HALYARD_GPU_REQUIRE(array != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(shape != nullptr, kInvalidValue);
  *shape = array->shape;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuArrayGetDescriptor_v2(Array2D* shape, Array handle) {
  HALYARD_GPU_CALL(cuArrayGetDescriptor_v2, kNamed);
  const ArrayState* const array = resolve(handle);
  HALYARD_GPU_REQUIRE(array != nullptr, kInvalidHandle);
  HALYARD_GPU_REQUIRE(shape != nullptr, kInvalidValue);
  *shape = {array->shape.width, array->shape.height, array->shape.format, array->shape.channels};
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuMemcpyHtoA_v2(Array array, std::size_t offset, const void* host,
                                          std::size_t size) {
  HALYARD_GPU_CALL(cuMemcpyHtoA_v2, kCurrent | kUnsafeInCapture);
  return copy_memory(call, from_host({array, offset}, host, size), nullptr, Waits::kAlways);
}

HALYARD_GPU_EXPORT Result cuMemcpyAtoH_v2(void* host, Array array, std::size_t offset,
                                          std::size_t size) {
  HALYARD_GPU_CALL(cuMemcpyAtoH_v2, kCurrent | kUnsafeInCapture);
  return copy_memory(call, to_host(host, {array, offset}, size), nullptr, Waits::kAlways);
}

HALYARD_GPU_EXPORT Result cuMemcpyHtoAAsync_v2(Array array, std::size_t offset, const void* host,
                                               std::size_t size, Stream stream) {
  HALYARD_GPU_CALL(cuMemcpyHtoAAsync_v2, kNamed);
  return copy_memory(call, from_host({array, offset}, host, size), stream, Waits::kNever);
}

HALYARD_GPU_EXPORT Result cuMemcpyAtoHAsync_v2(void* host, Array array, std::size_t offset,
                                               std::size_t size, Stream stream) {
  HALYARD_GPU_CALL(cuMemcpyAtoHAsync_v2, kNamed);
  return copy_memory(call, to_host(host, {array, offset}, size), stream, Waits::kNever);
}

HALYARD_GPU_EXPORT Result cuMemcpyDtoA_v2(Array array, std::size_t offset, DevicePointer from,
                                          std::size_t size) {
  HALYARD_GPU_CALL(cuMemcpyDtoA_v2, kCurrent | kUnsafeInCapture);
  Copy3D copy = part_copy(size);
  write_array(copy, {array, offset});
  copy.src_type = kDevice;
  copy.src_device = from;
  return copy_memory(call, copy, nullptr, Waits::kAlways);
}

HALYARD_GPU_EXPORT Result cuMemcpyAtoD_v2(DevicePointer to, Array array, std::size_t offset,
                                          std::size_t size) {
  HALYARD_GPU_CALL(cuMemcpyAtoD_v2, kCurrent | kUnsafeInCapture);
  Copy3D copy = part_copy(size);
  read_array(copy, {array, offset});
  copy.dst_type = kDevice;
  copy.dst_device = to;
  return copy_memory(call, copy, nullptr, Waits::kAlways);
}

HALYARD_GPU_EXPORT Result cuMemcpyAtoA_v2(Array to, std::size_t to_offset, Array from,
                                          std::size_t from_offset, std::size_t size) {
  HALYARD_GPU_CALL(cuMemcpyAtoA_v2, kCurrent | kUnsafeInCapture);
  Copy3D copy = part_copy(size);
  read_array(copy, {from, from_offset});
  write_array(copy, {to, to_offset});
  return copy_memory(call, copy, nullptr, Waits::kAlways);
}

HALYARD_GPU_PER_THREAD(cuMemcpyAtoA_v2, _ptds, 5)
HALYARD_GPU_PER_THREAD(cuMemcpyAtoD_v2, _ptds, 4)
HALYARD_GPU_PER_THREAD(cuMemcpyAtoHAsync_v2, _ptsz, 5)
HALYARD_GPU_PER_THREAD(cuMemcpyAtoH_v2, _ptds, 4)
HALYARD_GPU_PER_THREAD(cuMemcpyDtoA_v2, _ptds, 4)
HALYARD_GPU_PER_THREAD(cuMemcpyHtoAAsync_v2, _ptsz, 5)
HALYARD_GPU_PER_THREAD(cuMemcpyHtoA_v2, _ptds, 4)
}  // namespace halyard::inline v0::sim::cuda
