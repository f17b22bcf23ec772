// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions of the kernels and images of a .hyx file. All views point into their Hyx.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "halyard/kernel/types.h"

namespace halyard::inline v0::kernel {

inline constexpr std::size_t kMaxRank = 3;

// A binding; its index in KernelInfo::bindings is its number.
struct BindingInfo {
  std::string_view name;
  Access access;
  ElementType type;
  std::uint32_t rank;                        // of a tensor, 1 to kMaxRank; 0 for a plain buffer
  std::array<std::uint32_t, kMaxRank> tile;  // static extents, of `rank` dimensions; 0: not static
  std::uint32_t first_constant;              // of a tensor: its sizes, strides, and run-time tile

  bool chooses_tile() const noexcept {
    return rank != 0 && access != Access::kRead && tile[0] == 0;
  }
  std::uint32_t constant_count() const noexcept {
    if (rank == 0) return 0;
    return 2 * rank - 1 + (chooses_tile() ? rank : 0);
  }
};

// One field of the struct of constants. Offset and size in bytes; the size is 4 or 8.
struct ConstantInfo {
  std::string_view name;
  ElementType type;
  std::uint32_t offset;
  std::uint32_t size;
};

// Size `dimension` of a tensor equals `other_dimension` of another or the same one, in every
// launch.
struct EqualSizes {
  std::uint32_t binding;
  std::uint32_t dimension;
  std::uint32_t other_binding;
  std::uint32_t other_dimension;

  friend bool operator==(const EqualSizes&, const EqualSizes&) = default;
};

struct KernelInfo {
  std::string_view name;
  std::array<std::uint32_t, 3> workgroup_size;  // x, y, z; 1 to 1024 items in all
  std::span<const BindingInfo> bindings;
  std::span<const ConstantInfo> constants;  // by offset, without overlap
  std::span<const std::uint32_t> scalars;   // indices of those that belong to no tensor
  std::span<const EqualSizes> equal_sizes;  // of tensors, dimensions below their ranks
  std::uint32_t constants_bytes;            // of the whole struct
  std::uint32_t static_shared_bytes;
  std::uint32_t dynamic_shared_bytes;  // that a launch must request
  std::string_view source;             // file name of the source, or empty
  std::uint32_t line;                  // line in `source`, from 1; 0 if unknown
  // The bindings of a launch may overlap even if one of them is written (HY_MAY_OVERLAP). False in
  // files of older versions.
  bool may_overlap;
};

struct ImageInfo {
  std::string_view target;      // "x86-64-v3"
  std::string_view convention;  // "hy-cpu-1"
  std::span<const std::byte> bytes;
};

struct SourceInfo {
  std::string_view name;
  std::string_view text;  // empty if it was not included
};

}  // namespace halyard::inline v0::kernel
