// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions as LLVM's assembler writes them, for messages. What is printed assembles to the same
// words, but for fields that are ignored. Halves of 16-bit registers are written v1.h, which
// assemblers take that know them.
#pragma once

#include <span>
#include <string>

#include "simulation/hip/gfx/instruction.h"

namespace halyard::inline v0::sim::gfx {

// The first of `instructions`; for a VOPD both, if both are there. Not empty. Any thread.
std::string print(std::span<const Instruction> instructions);
std::string print(const Instruction& instruction);

}  // namespace halyard::inline v0::sim::gfx
