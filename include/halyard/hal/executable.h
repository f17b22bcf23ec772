// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable: the kernels of one .hyx file, prepared for one device. Function: a kernel with its
// reflection. Constant: a typed kernel argument.
//
// The container is verified before use; a damaged or hostile file is an error. The machine code
// inside is trusted code: load only files you would run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/handle.h"
#include "halyard/hal/types.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::hal {

class ExecutableObject;

// The number of dimensions of a tensor parameter, at most.
inline constexpr std::size_t kMaxTensorRank = 3;

struct BindingInfo {
  std::string_view name;
  kernel::Access access;
  kernel::ElementType element;
  std::uint32_t rank;                              // of a tensor (launch.h); 0: a plain buffer
  std::array<std::uint32_t, kMaxTensorRank> tile;  // a static tile, of `rank` dimensions; else 0
};
struct ConstantInfo {
  std::string_view name;
  kernel::ElementType type;
  std::uint32_t offset;  // bytes, in the struct of all constants
};

// Resources that a kernel uses on its device, as the device's own compiler reports them.
struct FunctionResources {
  std::uint32_t registers = 0;          // of an item, 32 bits each
  std::uint32_t shared_bytes = 0;       // of a workgroup, static and dynamic
  std::uint32_t local_bytes = 0;        // of an item, in the device's memory: arrays and spills
  std::uint32_t groups_per_worker = 0;  // workgroups that a multiprocessor runs at a time
};

// A handle of a kernel; safe from any thread. Keeps its executable alive.
class HALYARD_EXPORT Function {
 public:
  Function() noexcept = default;
  Function(ExecutableObject* executable, std::uint32_t index) noexcept;

  // An empty handle has no name, the size {1, 1, 1}, and zero parameters.
  std::string_view name() const noexcept;  // valid while any handle of the executable lives
  Grid::Extent workgroup_size() const noexcept;
  std::size_t binding_count() const noexcept;
  std::size_t constant_count() const noexcept;
  // Bytes of the struct of all constants, as C lays it out: each at a multiple of its size.
  std::size_t constants_size() const noexcept;
  // Precondition: index < count. Names are valid as long as name().
  BindingInfo binding(std::size_t index) const noexcept;
  ConstantInfo constant(std::size_t index) const noexcept;
  // Whether the kernel allows bindings of a launch to overlap (HY_MAY_OVERLAP). False for an empty
  // handle.
  bool may_overlap() const noexcept;

  // kUnimplemented: the device does not say. kInvalidArgument: an empty handle. kDeviceLost.
  Result<FunctionResources> resources() const;

  explicit operator bool() const noexcept { return static_cast<bool>(executable_); }
  friend bool operator==(const Function& a, const Function& b) noexcept = default;
  ExecutableObject* executable() const noexcept {
    return reinterpret_cast<ExecutableObject*>(executable_.get());
  }
  std::uint32_t index() const noexcept { return index_; }

 private:
  HandleRef<RefCounted> executable_;
  std::uint32_t index_ = 0;
};

// A handle; safe from any thread. Keeps its device open. Submissions and recordings keep the code
// that they run, even if every handle is dropped.
class HALYARD_EXPORT Executable : public Handle<ExecutableObject> {
 public:
  using Handle::Handle;

  std::size_t function_count() const noexcept;  // 0 when empty
  // Returns a kernel by index or name. Errors:
  //   kOutOfRange, kNotFound  no such kernel; the message names the file and its kernels
  //   kUnavailable            the kernel exceeds the device's limits
  //   kInvalidArgument        an empty handle
  Result<Function> function(std::size_t index) const;
  Result<Function> function(std::string_view name) const;
};

// Where a slot's number goes in the struct of a dispatch's constants.
struct ConstantUse {
  std::uint32_t slot;
  std::uint32_t offset;  // bytes
  kernel::ElementType type;
};

// A number that each submission of a recording brings (ExecuteInfo::constants).
struct ConstantSlot {
  std::uint32_t index = 0;
};
constexpr ConstantSlot constant_slot(std::uint32_t index) noexcept { return {index}; }

// A kernel argument with its type. If the type differs from the kernel's declaration, the call
// fails with kInvalidArgument and names the parameter; values are never converted. In a recording
// an argument may be a slot, which has the type of the kernel's parameter; elsewhere a slot is
// kInvalidArgument.
class Constant {
 public:
  constexpr Constant() noexcept = default;
  Constant(float value) noexcept : Constant(kernel::ElementType::kFloat32, &value, sizeof value) {}
  Constant(double value) noexcept : Constant(kernel::ElementType::kFloat64, &value, sizeof value) {}
  Constant(std::int32_t value) noexcept
      : Constant(kernel::ElementType::kInt32, &value, sizeof value) {}
  Constant(std::uint32_t value) noexcept
      : Constant(kernel::ElementType::kUint32, &value, sizeof value) {}
  Constant(std::int64_t value) noexcept
      : Constant(kernel::ElementType::kInt64, &value, sizeof value) {}
  Constant(std::uint64_t value) noexcept
      : Constant(kernel::ElementType::kUint64, &value, sizeof value) {}
  Constant(const ConstantSlot& slot) noexcept : Constant(kNoType, &slot.index, sizeof slot.index) {}
  // A bool or a pointer is not a kernel constant.
  Constant(bool) = delete;
  template <class T>
  Constant(T*) = delete;

  bool indirect() const noexcept { return type_ == kNoType; }
  ConstantSlot slot() const noexcept {  // precondition: indirect()
    ConstantSlot slot;
    std::memcpy(&slot.index, bytes_, sizeof slot.index);
    return slot;
  }
  // The rest is of a number.
  kernel::ElementType type() const noexcept { return type_; }
  const std::byte* data() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr kernel::ElementType kNoType{0xff};  // that of a slot: no kernel declares it

  Constant(kernel::ElementType type, const void* value, std::size_t size) noexcept
      : type_(type), size_(static_cast<std::uint8_t>(size)) {
    std::memcpy(bytes_, value, size);
  }

  alignas(8) std::byte bytes_[8] = {};
  kernel::ElementType type_ = kernel::ElementType::kUint32;
  std::uint8_t size_ = 0;
};

}  // namespace halyard::inline v0::hal
