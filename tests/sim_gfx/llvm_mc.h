// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's assembler and disassembler of gfx1100, llvm-mc, for comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace halyard::testing {

using Words = std::vector<std::uint32_t>;

// Whether llvm-mc is there.
bool has_llvm_mc();

struct Assembled {
  Words words;        // empty: refused
  std::string error;  // then the first one
};
// Each text on its own.
std::vector<Assembled> assemble(const std::vector<std::string>& texts);

// The text of the instruction at the start of each; empty where it is refused, or where an operand
// is one that llvm-mc itself calls invalid.
std::vector<std::string> disassemble(const std::vector<Words>& words);

}  // namespace halyard::testing
