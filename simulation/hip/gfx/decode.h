// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes the words of a program: the encodings of gfx11 (AMD, "RDNA3 Instruction Set
// Architecture", chapter 15; opcode numbers as LLVM writes them).
//
// Unknown opcodes and operands, and modifiers that the operation does not have, are refused, never
// skipped. Fields that an encoding does not use are ignored, as the processor does.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simulation/hip/gfx/instruction.h"

namespace halyard::inline v0::sim::gfx {

struct Decoded {
  // Two instructions for a VOPD, the second with size 0; otherwise one. `offset_in_code` and
  // `target` are not set: the target of a branch is the next word plus `immediate`, a signed number
  // of words.
  std::array<Instruction, 2> instructions;
  unsigned count = 0;  // 0: refused
  std::string error;   // why: name and words, one sentence without its full stop
};

// The instruction at words[0]; later words are read only if it has them. Any thread.
Decoded decode(std::span<const std::uint32_t> words);

// The size of the instruction, as far as its first words determine it, to continue after a refused
// instruction.
unsigned size_in_words(std::span<const std::uint32_t> words);

// Map a number in an encoding to its opcode, if any, and an opcode to its number, or -1.
struct EncodingEntry {
  Encoding encoding;
  std::uint16_t number;
  Opcode opcode;
};
std::span<const EncodingEntry> encoding_table();
int number_in(Encoding encoding, Opcode opcode);
std::string_view to_string(Encoding encoding);

}  // namespace halyard::inline v0::sim::gfx
