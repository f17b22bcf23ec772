// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that may be instructions of gfx1100: the bits of the encoding are correct, and the fields
// are random, with a preference for the output of compilers.
#pragma once

#include <cstdint>
#include <random>

#include "sim_gfx/llvm_mc.h"
#include "simulation/hip/gfx/decode.h"

namespace halyard::testing {

class RandomWords {
 public:
  explicit RandomWords(std::uint64_t seed) : random_(seed) {}

  // Three words; the instruction may need fewer.
  Words of(sim::gfx::Encoding encoding, unsigned number);
  Words any() { return {bits(32), bits(32), bits(32)}; }

 private:
  std::uint32_t bits(unsigned count) {
    return static_cast<std::uint32_t>(random_() & ((std::uint64_t{1} << count) - 1));
  }
  bool one_in(unsigned n) { return random_() % n == 0; }
  std::uint32_t rarely(unsigned count) { return one_in(4) ? bits(count) : 0; }
  std::uint32_t source();         // 9 bits
  std::uint32_t scalar_source();  // 8 bits
  std::uint32_t extra();          // literal, or a DPP word
  std::uint32_t vector() { return bits(8) & ~1u; }

  std::mt19937_64 random_;
};

}  // namespace halyard::testing
