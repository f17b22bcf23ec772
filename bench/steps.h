// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of the rows of B8.compose, the same for all peers.
#pragma once

#include <cstdint>

namespace halyard::bench {

template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The steps differ, so that the compiler cannot fold them into fewer.
struct Step {
  std::uint32_t operator()(std::uint32_t x) const { return opaque(x) * 3 + 1; }
};

}  // namespace halyard::bench
