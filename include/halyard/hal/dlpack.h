// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack: arrays to and from NumPy, PyTorch, JAX and others without a copy, by the C structures of
// https://github.com/dmlc/dlpack (dlpack.h, version 1.0). They are declared again here, so that no
// header is needed; pointers to the originals are cast to these.
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
  std::int64_t* strides;  // in elements; null: dense, row-major
  std::uint64_t byte_offset;
};

// The producer's: whoever receives it calls deleter(this) once, when it is done.
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

// The view's elements for others to use. The tensor keeps the buffer until its deleter is called,
// on any thread. Nothing is ordered: wait for the work that writes it first. Errors of Buffer::map
// (kPermissionDenied where the host does not see the memory); kInvalidArgument: an empty view;
// kResourceExhausted. All functions here are safe from any thread.
HALYARD_EXPORT Result<dlpack::ManagedTensor*> to_dlpack(const BufferView& view);
HALYARD_EXPORT Result<dlpack::ManagedTensorVersioned*> to_dlpack_versioned(const BufferView& view);

// Somebody's tensor as a buffer of `device`. On success the tensor is taken: its deleter is called
// when the last user of the memory is gone (Device::import_memory). On an error it is still the
// caller's. kInvalidArgument: no tensor, an empty device, a negative or impossible shape, data that
// is not aligned to Device::kImportAlignment; kUnimplemented: an element type that Halyard does not
// have, strides that are not dense and row-major, memory that is not the host's, a major version
// above 1; kPermissionDenied: it is marked read-only; kResourceExhausted.
HALYARD_EXPORT Result<BufferView> from_dlpack(const Device& device, dlpack::ManagedTensor* tensor);
HALYARD_EXPORT Result<BufferView> from_dlpack(const Device& device,
                                              dlpack::ManagedTensorVersioned* tensor);

}  // namespace halyard::inline v0::hal
