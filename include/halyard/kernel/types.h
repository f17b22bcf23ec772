// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reflection of kernels: how a kernel accesses a binding, and element types. The values are part of
// the .hyx format (schemas/hyx.fbs) and never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace halyard::inline v0::kernel {

enum class Access : std::uint8_t { kRead = 0, kWrite = 1, kReadWrite = 2 };

enum class ElementType : std::uint8_t {
  kFloat32 = 0,
  kInt32 = 1,
  kUint32 = 2,
  kFloat64 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kInt16 = 7,
  kUint16 = 8,
  kInt8 = 9,
  kUint8 = 10,
};

// Bytes of an element; 0 for a value that is not an ElementType.
constexpr std::size_t size_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::kFloat64:
    case ElementType::kInt64:
    case ElementType::kUint64:
      return 8;
    case ElementType::kFloat32:
    case ElementType::kInt32:
    case ElementType::kUint32:
      return 4;
    case ElementType::kFloat16:
    case ElementType::kInt16:
    case ElementType::kUint16:
      return 2;
    case ElementType::kInt8:
    case ElementType::kUint8:
      return 1;
  }
  return 0;
}

// NumPy's names: "float32", "int32", ... ; "unknown" for a value that is not an ElementType.
constexpr std::string_view to_string(ElementType type) noexcept {
  switch (type) {
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kUint32:
      return "uint32";
    case ElementType::kFloat64:
      return "float64";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kUint64:
      return "uint64";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kInt16:
      return "int16";
    case ElementType::kUint16:
      return "uint16";
    case ElementType::kInt8:
      return "int8";
    case ElementType::kUint8:
      return "uint8";
  }
  return "unknown";
}

// "read", "write", "read-write".
constexpr std::string_view to_string(Access access) noexcept {
  switch (access) {
    case Access::kRead:
      return "read";
    case Access::kWrite:
      return "write";
    case Access::kReadWrite:
      return "read-write";
  }
  return "unknown";
}

}  // namespace halyard::inline v0::kernel
