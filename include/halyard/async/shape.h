// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape: the sizes of a tensor. Element: the types that a tensor can hold.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "halyard/base/export.h"
#include "halyard/base/half.h"
#include "halyard/base/status.h"
#include "halyard/hal/launch.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async {

// Up to hal::kMaxTensorRank sizes, dimension 0 the slowest: {16, 16}. The constructor takes no
// std::initializer_list, because g++ 12 cannot keep one in a suspended coroutine.
class Shape : public hal::Extents {
 public:
  constexpr Shape() noexcept = default;
  constexpr Shape(const hal::Extents& extents) noexcept : Extents(extents) {}
  template <std::convertible_to<std::uint64_t>... Size>
    requires(sizeof...(Size) >= 1 && sizeof...(Size) <= hal::kMaxTensorRank)
  constexpr Shape(Size... sizes) noexcept : Extents({static_cast<std::uint64_t>(sizes)...}) {}
  template <std::convertible_to<std::uint64_t>... Size>
    requires(sizeof...(Size) > hal::kMaxTensorRank)
  constexpr Shape(Size...) noexcept {
    static_assert(sizeof...(Size) <= hal::kMaxTensorRank, "a shape has up to three sizes");
  }

  // Saturates at 2^64 - 1.
  constexpr std::uint64_t elements() const noexcept {
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < rank() && d < hal::kMaxTensorRank; ++d) {
      if (__builtin_mul_overflow(elements, (*this)[d], &elements)) return ~std::uint64_t{0};
    }
    return elements;
  }
};

namespace detail {

// The kernel::ElementType of T, or -1 for other types.
template <class T>
constexpr int element_type_of() {
  using enum kernel::ElementType;
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (std::is_same_v<T, float>) return static_cast<int>(kFloat32);
  if constexpr (std::is_same_v<T, double>) return static_cast<int>(kFloat64);
  if constexpr (std::is_same_v<T, Half>) return static_cast<int>(kFloat16);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if constexpr (sizeof(T) == 1) return static_cast<int>(is_signed ? kInt8 : kUint8);
    if constexpr (sizeof(T) == 2) return static_cast<int>(is_signed ? kInt16 : kUint16);
    if constexpr (sizeof(T) == 4) return static_cast<int>(is_signed ? kInt32 : kUint32);
    if constexpr (sizeof(T) == 8) return static_cast<int>(is_signed ? kInt64 : kUint64);
  }
  return -1;
}

// Whether a tensor of the shape `from` has the shape `to` (else kInvalidArgument), or these rows
// (else kOutOfRange).
HALYARD_EXPORT Status check_reshape(const Shape& from, const Shape& to);
HALYARD_EXPORT Status check_rows(const Shape& from, std::uint64_t first, std::uint64_t count);

}  // namespace detail

// float, double, Half, and integers of 8 to 64 bits.
template <class T>
concept Element = detail::element_type_of<T>() >= 0;

template <Element T>
inline constexpr kernel::ElementType kElementType{
    static_cast<std::uint8_t>(detail::element_type_of<T>())};

}  // namespace halyard::inline v0::async
