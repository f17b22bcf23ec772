// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random: the same numbers for the same seed on every machine. SplitMix64 (Steele, Lea, Flood,
// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#pragma once

#include <cstdint>

namespace halyard::inline v0::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept { return mix(state_ += 0x9e37'79b9'7f4a'7c15); }
  // Draws from [0, count); count > 0. The bias, count / 2^64, does not matter here.
  std::uint64_t below(std::uint64_t count) noexcept { return next() % count; }
  // Draws from [least, most].
  std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept {
    return least + below(most - least + 1);
  }
  bool one_in(std::uint64_t count) noexcept { return below(count) == 0; }

  static std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ z >> 30) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ z >> 27) * 0x94d0'49bb'1331'11eb;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

}  // namespace halyard::inline v0::sim
