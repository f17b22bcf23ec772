// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder's state for an instruction; its functions are in decode_*.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "simulation/hip/gfx/encodings.h"

namespace halyard::inline v0::sim::gfx {

// Codes of a source operand that are neither registers nor constants.
inline constexpr unsigned kSourceDpp8 = 233, kSourceDpp8FetchInactive = 234, kSourceSdwa = 249,
                          kSourceDpp16 = 250, kSourceLdsDirect = 254, kSourceLiteral = 255,
                          kSourceVector = 256;

constexpr std::uint32_t field(std::uint32_t word, unsigned first, unsigned bits) {
  return word >> first & ((1u << bits) - 1);
}
constexpr bool bit(std::uint32_t word, unsigned index) { return (word >> index & 1) != 0; }
constexpr std::int32_t sign_extend(std::uint32_t value, unsigned bits) {
  return static_cast<std::int32_t>(value << (32 - bits)) >> (32 - bits);
}

constexpr bool is_16_bit(Type type) { return type >= Type::kB16 && type <= Type::kBf16; }
constexpr bool is_packed(Type type) {
  return type >= Type::kPackedB16 && type <= Type::kPackedBf16;
}
constexpr bool is_float(Type type) {
  return type == Type::kF16 || type == Type::kBf16 || type == Type::kF32 || type == Type::kF64;
}
// True if a source is the destination, as for v_fmac_f32.
bool accumulates(Opcode opcode);

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint32_t> words) : words_(words) {}
  Decoded decode();

 private:
  // Each fills `instruction_` and returns true, or sets `error_` and returns false.
  bool scalar_alu();
  bool program_control();
  bool constant_alu();
  bool scalar_memory();
  bool vector_short();  // VOP1, VOP2, VOPC
  bool vector_long();   // VOP3, VOP3SD
  bool packed();
  bool dual();
  bool lds();
  bool flat();
  bool buffer();

  bool refuse(std::string reason);
  // Sets the opcode; refuses if the encoding has no opcode of that number.
  bool begin(Encoding encoding, unsigned number);
  // Reads the next word. Returns nothing, and refuses, if there is no further word.
  std::optional<std::uint32_t> next_word();
  const OpcodeFacts& facts() const { return facts_of(instruction_.opcode); }

  // Operands. `code` is that of the encoding, 7, 8 or 9 bits.
  bool source(Operand& operand, Type type, unsigned code);
  bool scalar_source(Operand& operand, Type type, unsigned code);
  bool scalar_register(Operand& operand, Type type, unsigned code);
  bool vector_register(Operand& operand, Type type, unsigned code);
  // A register of VOP1, VOP2 or VOPC: bit 7 chooses the half of a 16-bit register.
  bool short_vector_register(Operand& operand, Type type, unsigned code);
  bool constant(Operand& operand, Type type, unsigned code);
  bool literal(Operand& operand, Type type);
  bool destination(unsigned code);
  bool vector_modifiers(std::uint32_t word0, std::uint32_t word1);
  bool packed_modifiers(std::uint32_t word0, std::uint32_t word1);
  bool restrict_sources();
  // Source 0 with DPP, if `code` selects that.
  static bool is_dpp(unsigned code);
  bool dpp(unsigned code, bool is_short);
  bool half_of_dual(Encoding encoding, unsigned number, unsigned source0, unsigned source1,
                    unsigned destination);

  std::span<const std::uint32_t> words_;
  std::size_t used_ = 0;  // words
  std::optional<std::uint32_t> literal_;
  Instruction instruction_;
  Decoded result_;
  std::string error_;
};

}  // namespace halyard::inline v0::sim::gfx
