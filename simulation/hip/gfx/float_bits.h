// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits of floating-point numbers, for the rules of minimum, maximum and division.
#pragma once

#include <bit>
#include <cstdint>

namespace halyard::inline v0::sim::gfx {

template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = std::uint32_t;
  using Signed = std::int32_t;
  static constexpr unsigned kFraction = 23;
};
template <>
struct FloatBits<double> {
  using Bits = std::uint64_t;
  using Signed = std::int64_t;
  static constexpr unsigned kFraction = 52;
};

template <class T>
using BitsOf = typename FloatBits<T>::Bits;

template <class T>
inline constexpr BitsOf<T> kSignBit = BitsOf<T>{1} << (8 * sizeof(T) - 1);
template <class T>
inline constexpr BitsOf<T> kInfinityBits =
    static_cast<BitsOf<T>>((kSignBit<T> - 1) >> FloatBits<T>::kFraction << FloatBits<T>::kFraction);
template <class T>
inline constexpr BitsOf<T> kQuietBit = BitsOf<T>{1} << (FloatBits<T>::kFraction - 1);

template <class T>
bool is_nan_bits(BitsOf<T> bits) {
  return (bits & ~kSignBit<T>) > kInfinityBits<T>;
}
template <class T>
int biased_exponent(T value) {
  return static_cast<int>((std::bit_cast<BitsOf<T>>(value) & ~kSignBit<T>) >>
                          FloatBits<T>::kFraction);
}
template <class T>
bool is_negative(T value) {
  return (std::bit_cast<BitsOf<T>>(value) & kSignBit<T>) != 0;
}
template <class T>
T quieted(T nan) {
  return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(nan) | kQuietBit<T>);
}

// v_min_f32, v_max_f32 in IEEE mode (manual, 16.7): a signaling NaN yields that NaN, quieted; a
// quiet NaN and a number yield the number; -0 is less than +0. Used without IEEE mode as well,
// although those rules differ for signaling NaNs.
template <class T, bool kIsMaximum>
T extreme(T a, T b) {
  using Bits = BitsOf<T>;
  using Signed = typename FloatBits<T>::Signed;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  // Signed integers in the order of the numbers.
  const auto order = [](Bits bits) {
    const Signed s = static_cast<Signed>(bits);
    return s ^ static_cast<Signed>(static_cast<Bits>(s >> (8 * sizeof(T) - 1)) & ~kSignBit<T>);
  };
  Bits result = (order(x) < order(y)) != kIsMaximum ? x : y;
  const bool x_is_nan = is_nan_bits<T>(x), y_is_nan = is_nan_bits<T>(y);
  result = x_is_nan ? y : result;
  result = y_is_nan ? x : result;
  result = y_is_nan && (y & kQuietBit<T>) == 0 ? (y | kQuietBit<T>) : result;
  result = x_is_nan && (x & kQuietBit<T>) == 0 ? (x | kQuietBit<T>) : result;
  return std::bit_cast<T>(result);
}
template <class T>
T minimum(T a, T b) {
  return extreme<T, false>(a, b);
}
template <class T>
T maximum(T a, T b) {
  return extreme<T, true>(a, b);
}
// v_med3_f32: the manual's order of comparisons.
template <class T>
T median(T a, T b, T c) {
  const bool has_nan = a != a || b != b || c != c;
  const T largest = maximum(maximum(a, b), c);
  const T others = largest == a ? maximum(b, c) : largest == b ? maximum(a, c) : maximum(a, b);
  return has_nan ? minimum(minimum(a, b), c) : others;
}

}  // namespace halyard::inline v0::sim::gfx
