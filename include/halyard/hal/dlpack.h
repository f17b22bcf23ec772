// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack: exchanges arrays with NumPy, PyTorch, JAX and others without a copy, by the C structures
// of https://github.com/dmlc/dlpack (dlpack.h, versions 1.0 to 1.2). This header declares them
// again and needs no other; cast pointers to the originals to these types.
#pragma once

#include <cstdint>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer_view.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::hal {

namespace dlpack {

enum class DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kRocm = 10 };
struct Device {
  DeviceType type;
  std::int32_t ordinal;
};

enum class TypeCode : std::uint8_t { kInt = 0, kUint = 1, kFloat = 2 };
struct DataType {
  TypeCode code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null, until version 1.2: dense, row-major
  std::uint64_t byte_offset;
};

// A tensor of the producer; its receiver calls deleter(this) once, when it no longer needs it.
struct ManagedTensor {  // DLManagedTensor
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major, minor;
};
inline constexpr std::uint64_t kReadOnly = 1;

struct ManagedTensorVersioned {  // DLManagedTensorVersioned
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace dlpack

// Exports the view's elements. Memory that the host sees is exported as the host's; other memory of
// a cuda device, as that device's, by its address there. The tensor always has strides; without
// elements its data is null. It keeps the buffer until its deleter is called, on any thread. It
// orders nothing: wait first for the work that writes the elements. Errors:
//   those of Buffer::map   kPermissionDenied if the memory is not host-visible and has no address
//   kInvalidArgument       an empty handle
//   kOutOfRange            an extent above 2^63-1, which only a view without elements has
//   kResourceExhausted
// All functions of this header are safe from any thread.
HALYARD_EXPORT Result<dlpack::ManagedTensor*> to_dlpack(const BufferView& view);
HALYARD_EXPORT Result<dlpack::ManagedTensorVersioned*> to_dlpack_versioned(const BufferView& view);

// Imports a tensor as a buffer of `device`. On success the buffer takes the tensor over: its
// deleter is called when the last user of the memory is gone (Device::import_memory). A tensor of
// to_dlpack for a buffer of `device` is that buffer again. On an error the tensor stays the
// caller's. Memory of a CUDA device is taken by a cuda device of the same ordinal (native.h:
// import_address, and how to order its first use); memory of the host, pinned or not, by every
// device that imports memory. Errors:
//   kInvalidArgument   no tensor, an empty device, a negative or impossible shape, data that is not
//                      aligned to Device::kImportAlignment, data that is not where it says
//   kUnimplemented     an element type that Halyard does not have, strides that are not dense and
//                      row-major (those of a tensor without elements do not matter), memory of a
//                      kind of device that this is not, a major version above 1
//   kPermissionDenied  a tensor marked read-only, memory of another CUDA device
//   kResourceExhausted
HALYARD_EXPORT Result<BufferView> from_dlpack(const Device& device, dlpack::ManagedTensor* tensor);
HALYARD_EXPORT Result<BufferView> from_dlpack(const Device& device,
                                              dlpack::ManagedTensorVersioned* tensor);

}  // namespace halyard::inline v0::hal
