// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions as LLVM's assembler writes them, for messages. The text assembles to the same words,
// except for ignored fields. Halves of 16-bit registers are written v1.h, which only assemblers
// that support them accept.
#pragma once

#include <span>
#include <string>

#include "simulation/hip/gfx/instruction.h"

namespace halyard::inline v0::sim::gfx {

// Prints the first of `instructions`, or both of a VOPD if both are given. Precondition: not empty.
// Any thread.
std::string print(std::span<const Instruction> instructions);
std::string print(const Instruction& instruction);

}  // namespace halyard::inline v0::sim::gfx
