// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npy files: one array each. Format: numpy.lib.format, versions 1 to 3.
//
// Element types: those of kernel::ElementType, little-endian, in C order (an array of at most one
// dimension may call itself Fortran's). Contents are as foreign as a file can be: every length is
// checked against the file's size before it is used, and nothing is allocated beyond that size.
//
// Reading and writing blocks on the file system. All functions may be called from any thread.
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
// Where NumPy starts an array's bytes: at a multiple of this.
inline constexpr std::size_t kNpyAlignment = 64;

struct NpyArray {
  ElementType element = ElementType::kFloat32;
  std::vector<std::uint64_t> shape;  // slowest dimension first; empty for a single value
  std::vector<std::byte> bytes;      // product of shape * size_of(element), in C order

  // Elements, from the bytes.
  std::size_t count() const noexcept { return bytes.size() / size_of(element); }
  // The bytes as T, which the caller has compared with `element`.
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

// kOutOfRange if an array of this shape would have 2^63 bytes or more.
Result<std::size_t> npy_bytes(ElementType element, std::span<const std::uint64_t> shape);

// Errors name the file. kNotFound, kPermissionDenied, kInvalidArgument (not a regular file),
// kUnavailable: as the system says. kDataLoss: no .npy file, or a damaged one: cut off, bytes left
// over, a header that is not what the format says. kUnimplemented: a sound file whose element type,
// byte order or Fortran order is not read here. kResourceExhausted: no memory for it.
Result<NpyArray> read_npy(const std::string& path);

// The same for the bytes of a file; `name` stands for it in messages.
Result<NpyArray> parse_npy(std::vector<std::byte> file, std::string_view name);

// What stands before the array's bytes in a file of version 1.0. kInvalidArgument, naming it
// `name`, if the bytes do not fill the shape.
Result<std::string> npy_head(const NpyArray& array, std::string_view name);

// Writes version 1.0. The file appears at once, in place of one that was there, or not at all, save
// where `path` is a device or a link: that is written to. kInvalidArgument if the bytes do not fill
// the shape; else as the system says: kNotFound (no such directory), kPermissionDenied,
// kResourceExhausted (disk full), kUnavailable.
Status write_npy(const std::string& path, const NpyArray& array);

}  // namespace halyard::inline v0::tools
