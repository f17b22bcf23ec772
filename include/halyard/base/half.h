// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Half: a number of 16 bits in memory, IEEE 754 binary16: `half` in kernels, float16 in NumPy.
#pragma once

#include <bit>
#include <cstdint>

namespace halyard::inline v0 {

// Converts to float to compute: `a + b` is a float. Trivially copyable, with the size and alignment
// of std::uint16_t.
class Half {
 public:
  constexpr Half() noexcept = default;  // 0
  // The nearest one; of two equally near ones the even one. From 65520 on, infinity. A NaN becomes
  // quiet and keeps its sign and upper bits.
  constexpr explicit Half(float value) noexcept
      : bits_(round(std::bit_cast<std::uint32_t>(value))) {}

  static constexpr Half from_bits(std::uint16_t bits) noexcept {
    Half half;
    half.bits_ = bits;
    return half;
  }
  constexpr std::uint16_t bits() const noexcept { return bits_; }

  // Exact; a NaN becomes quiet.
  constexpr operator float() const noexcept {
    const std::uint32_t sign = std::uint32_t{bits_ & 0x8000u} << 16;
    const std::uint32_t magnitude = bits_ & 0x7fffu;
    std::uint32_t result = (magnitude << 13) + 0x38000000u;  // exponents move by 112
    if (magnitude < 0x400u) {
      result = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    } else if (magnitude >= 0x7c00u) {
      result = 0x7f800000u | magnitude << 13 | (magnitude > 0x7c00u ? 0x400000u : 0u);
    }
    return std::bit_cast<float>(sign | result);
  }

 private:
  static constexpr std::uint16_t round(std::uint32_t bits) noexcept {
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    // A carry goes into the exponent.
    std::uint32_t result = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    if (magnitude > 0x7f800000u) {
      result = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    } else if (magnitude >= 0x477ff000u) {  // 65520
      result = 0x7c00u;
    } else if (magnitude < 0x33000000u) {  // 2^-25
      result = 0;
    } else if (magnitude < 0x38800000u) {  // 2^-14: the result is a multiple of 2^-24
      const std::uint32_t drop = 126u - (magnitude >> 23);
      const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
      const std::uint32_t rest = significand & ((1u << drop) - 1u);
      const std::uint32_t middle = 1u << (drop - 1u);
      result = significand >> drop;
      if (rest > middle || (rest == middle && (result & 1u) != 0)) ++result;
    }
    return static_cast<std::uint16_t>(sign | result);
  }

  std::uint16_t bits_ = 0;
};

static_assert(sizeof(Half) == 2);

}  // namespace halyard::inline v0
