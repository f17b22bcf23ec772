// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the rows of B8.compose compute, by whatever composes it.
#pragma once

#include <cstdint>

namespace halyard::bench {

template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The steps differ by nothing that the compiler can fold into fewer.
struct Step {
  std::uint32_t operator()(std::uint32_t x) const { return opaque(x) * 3 + 1; }
};

}  // namespace halyard::bench
