// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halves by their bits, for tests: values from the definition, rounding by search among all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace halyard::testing {

inline constexpr std::uint16_t kInfiniteHalf = 0x7c00;

inline double value_of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return std::copysign(magnitude, bits >> 15 != 0 ? -1.0 : 1.0);
}

inline bool is_half_nan(std::uint16_t bits) { return (bits & 0x7fff) > kInfiniteHalf; }

// The nearest half of all, found by search.
inline std::uint16_t nearest_half(double value) {
  static const std::vector<double> magnitudes = [] {
    std::vector<double> all;
    for (std::uint16_t bits = 0; bits < kInfiniteHalf; ++bits) all.push_back(value_of_half(bits));
    all.push_back(65536);  // halves round as if unbounded; 65536 then becomes infinity
    return all;
  }();
  if (std::isnan(value)) return 0x7e00;
  const double magnitude = std::fabs(value);
  auto above = std::ranges::lower_bound(magnitudes, magnitude);
  if (above == magnitudes.end()) --above;
  auto place = static_cast<std::uint16_t>(above - magnitudes.begin());
  if (place != 0 && magnitude < magnitudes[place]) {
    const double up = magnitudes[place] - magnitude, down = magnitude - magnitudes[place - 1u];
    if (down < up || (down == up && place % 2 != 0)) --place;
  }
  return static_cast<std::uint16_t>(place | (std::signbit(value) ? 0x8000 : 0));
}

// Every half, the midpoint between it and the next half, the floats next to the midpoint, and
// floats beyond the range.
inline std::vector<float> floats_around_halves() {
  std::vector<float> all = {HUGE_VALF, 65536.0f, 1e38f, 1e-38f, 1e-45f, 0x1p-25f, 0x1.8p-26f};
  for (std::uint16_t bits = 0; bits < kInfiniteHalf; ++bits) {
    const double next = bits + 1 == kInfiniteHalf ? 65536 : value_of_half(bits + 1);
    const auto middle = static_cast<float>((value_of_half(bits) + next) / 2);
    all.insert(all.end(), {static_cast<float>(value_of_half(bits)), std::nextafter(middle, 0.0f),
                           middle, std::nextafter(middle, HUGE_VALF)});
  }
  const std::size_t size = all.size();
  for (std::size_t i = 0; i < size; ++i) all.push_back(-all[i]);
  return all;
}

}  // namespace halyard::testing
