// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's assembler and disassembler of gfx1100, llvm-mc, for comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace halyard::testing {

using Words = std::vector<std::uint32_t>;

// Whether llvm-mc is installed.
bool has_llvm_mc();

struct Assembled {
  Words words;        // empty: refused
  std::string error;  // if refused, the first error
};
// Assembles each text independently.
std::vector<Assembled> assemble(const std::vector<std::string>& texts);

// Disassembles the first instruction of each. The text is empty if the instruction is refused or if
// llvm-mc marks an operand as invalid.
std::vector<std::string> disassemble(const std::vector<Words>& words);

}  // namespace halyard::testing
