// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npy files: one array each. Format: numpy.lib.format, versions 1 to 3.
//
// Element types: those of kernel::ElementType, little-endian, in C order (an array of at most one
// dimension may be marked as Fortran order). The contents are not trusted: every length is checked
// against the file's size before it is used, and no allocation exceeds that size.
//
// Reading and writing block on the file system. All functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::tools {

using kernel::ElementType;

// NumPy's own limit.
inline constexpr std::size_t kMaxNpyDimensions = 64;
// NumPy aligns an array's bytes in the file to this.
inline constexpr std::size_t kNpyAlignment = 64;

struct NpyArray {
  ElementType element = ElementType::kFloat32;
  std::vector<std::uint64_t> shape;  // slowest dimension first; empty for a single value
  std::vector<std::byte> bytes;      // product of shape * size_of(element), in C order

  // Number of elements.
  std::size_t count() const noexcept { return bytes.size() / size_of(element); }
  // The bytes as T; the caller has compared T with `element`.
  template <class T>
  std::span<const T> as() const noexcept {
    static_assert(std::is_arithmetic_v<T>);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<T> as() noexcept {
    static_assert(std::is_arithmetic_v<T>);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// Errors: kOutOfRange if an array of this shape would have 2^63 bytes or more.
Result<std::size_t> npy_bytes(ElementType element, std::span<const std::uint64_t> shape);

// Errors name the file:
//   kNotFound, kPermissionDenied, kUnavailable  those of the system
//   kInvalidArgument    not a regular file
//   kDataLoss           not a .npy file, or a damaged one: truncated, too long, an invalid header
//   kUnimplemented      an element type, byte order or Fortran order that is not supported
//   kResourceExhausted  no memory
Result<NpyArray> read_npy(const std::string& path);

// The same for the bytes of a file; `name` names it in messages.
Result<NpyArray> parse_npy(std::vector<std::byte> file, std::string_view name);

// The header of a file of version 1.0, up to the array's bytes. Errors: kInvalidArgument, naming
// `name`, if the bytes do not fill the shape.
Result<std::string> npy_head(const NpyArray& array, std::string_view name);

// Writes version 1.0. Creates or replaces the file whole, or not at all; if `path` is a device or a
// link, writes to it. Errors: kInvalidArgument if the bytes do not fill the shape; otherwise those
// of the system, such as kNotFound (no such directory), kPermissionDenied, kResourceExhausted (disk
// full), kUnavailable.
Status write_npy(const std::string& path, const NpyArray& array);

}  // namespace halyard::inline v0::tools
