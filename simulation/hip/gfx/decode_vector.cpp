// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VOP1, VOP2, VOPC, VOP3, VOP3SD and VOPD, with DPP (manual, section 15.3).
#include "simulation/hip/gfx/decoder.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

constexpr Operand kVcc = {.kind = OperandKind::kScalar, .type = Type::kMask, .index = kVccLow};
constexpr Operand kExec = {.kind = OperandKind::kScalar, .type = Type::kExec, .index = kExecLow};

bool is_dpp16_control(unsigned control) {
  return control <= 0xff || (control >= 0x101 && control <= 0x10f) ||
         (control >= 0x111 && control <= 0x11f) || (control >= 0x121 && control <= 0x12f) ||
         control == 0x140 || control == 0x141 || (control >= 0x150 && control <= 0x16f);
}

// Sources that take abs and neg: floating-point values, and the values of v_cndmask_b32.
bool takes_sign(Opcode opcode, Type type) {
  return is_float(type) || ((opcode == Opcode::v_cndmask_b32 || opcode == Opcode::v_cndmask_b16) &&
                            type != Type::kMask);
}

bool is_constant_fma(Opcode opcode) {
  return opcode == Opcode::v_fmamk_f32 || opcode == Opcode::v_fmamk_f16 ||
         opcode == Opcode::v_fmaak_f32 || opcode == Opcode::v_fmaak_f16;
}
bool multiplies_constant(Opcode opcode) {
  return opcode == Opcode::v_fmamk_f32 || opcode == Opcode::v_fmamk_f16;
}

}  // namespace

bool accumulates(Opcode opcode) {
  switch (opcode) {
    case Opcode::v_fmac_f32:
    case Opcode::v_fmac_f16:
    case Opcode::v_fmac_dx9_zero_f32:
    case Opcode::v_pk_fmac_f16:
    case Opcode::v_dot2acc_f32_f16:
      return true;
    default:
      return false;
  }
}

bool Decoder::is_dpp(unsigned code) {
  return code == kSourceDpp16 || code == kSourceDpp8 || code == kSourceDpp8FetchInactive;
}

bool Decoder::dpp(unsigned code, bool is_short) {
  if ((facts().facts & kTakesDpp) == 0) return refuse(join(facts().name, " does not have DPP"));
  const auto word = next_word();
  if (!word) return false;
  Operand& operand = instruction_.sources[0];
  if (!(is_short ? short_vector_register(operand, facts().sources[0], field(*word, 0, 8))
                 : vector_register(operand, facts().sources[0], field(*word, 0, 8)))) {
    return false;
  }
  DppControl& control = instruction_.dpp;
  if (code != kSourceDpp16) {
    control.kind = Dpp::kDpp8;
    control.fetch_inactive = code == kSourceDpp8FetchInactive;
    for (unsigned i = 0; i != 8; ++i) {
      control.select[i] = static_cast<std::uint8_t>(field(*word, 8 + 3 * i, 3));
    }
    return true;
  }
  control.kind = Dpp::kDpp16;
  control.control = static_cast<std::uint16_t>(field(*word, 8, 9));
  control.fetch_inactive = bit(*word, 18);
  control.bound_control = bit(*word, 19);
  control.bank_mask = static_cast<std::uint8_t>(field(*word, 24, 4));
  control.row_mask = static_cast<std::uint8_t>(field(*word, 28, 4));
  if (!is_dpp16_control(control.control) || bit(*word, 17)) {
    return refuse(join("DPP control ", hex(control.control), " is not known"));
  }
  const unsigned signs = field(*word, 20, 4);  // neg 0, abs 0, neg 1, abs 1
  if (signs == 0) return true;
  if (!is_short) return refuse("signs in the DPP word of VOP3");
  for (unsigned i = 0; i != 2; ++i) {
    Operand& source = instruction_.sources[i];
    source.negate = bit(signs, 2 * i);
    source.absolute = bit(signs, 2 * i + 1);
    if ((source.negate || source.absolute) &&
        !takes_sign(instruction_.opcode, facts().sources[i])) {
      return refuse(join(facts().name, " with a sign modifier of source ", i));
    }
  }
  return true;
}

bool Decoder::destination(unsigned code) {
  switch (facts().destination) {
    case Type::kNone:
      return true;
    case Type::kExec:
      instruction_.destination = kExec;
      return true;
    case Type::kMask:
    case Type::kScalar:
      return scalar_register(instruction_.destination, facts().destination, code);
    default:
      return vector_register(instruction_.destination, facts().destination, code);
  }
}

// Checks sources that must be scalars, or must be in vector registers.
bool Decoder::restrict_sources() {
  const auto is_vector = [&](unsigned i) {
    return instruction_.sources[i].is(OperandKind::kVector);
  };
  bool fits = true;
  switch (instruction_.opcode) {
    case Opcode::v_readlane_b32:
      fits = is_vector(0) && !is_vector(1);
      break;
    case Opcode::v_writelane_b32:
      fits = !is_vector(0) && !is_vector(1);
      break;
    case Opcode::v_permlane16_b32:
    case Opcode::v_permlanex16_b32:
      fits = is_vector(0) && !is_vector(1) && !is_vector(2);
      break;
    case Opcode::v_readfirstlane_b32:
    case Opcode::v_permlane64_b32:
    case Opcode::v_swap_b16:
    case Opcode::v_swap_b32:
    case Opcode::v_movrels_b32:
    case Opcode::v_movrelsd_b32:
    case Opcode::v_movrelsd_2_b32:
      fits = is_vector(0);
      break;
    case Opcode::v_mqsad_u32_u8:
      fits = is_vector(2);
      break;
    default:
      break;
  }
  // The number of a lane cannot be a literal.
  if ((instruction_.opcode == Opcode::v_readlane_b32 ||
       instruction_.opcode == Opcode::v_writelane_b32) &&
      instruction_.sources[1].encoded == kSourceLiteral) {
    fits = false;
  }
  for (unsigned i = 0; i != 3; ++i) {
    if (facts().sources[i] == Type::kMask && !instruction_.sources[i].is(OperandKind::kScalar)) {
      fits = false;
    }
  }
  return fits || refuse(join(facts().name, " with a source of the wrong kind of register"));
}

bool Decoder::vector_short() {
  const std::uint32_t word = words_[0];
  const unsigned format = field(word, 25, 6);
  const bool is_vop1 = format == 0x3f, is_vopc = format == 0x3e;
  const Encoding encoding = is_vop1 ? Encoding::kVop1 : is_vopc ? Encoding::kVopc : Encoding::kVop2;
  if (!begin(encoding, is_vop1 ? field(word, 9, 8) : is_vopc ? field(word, 17, 8) : format)) {
    return false;
  }
  auto& sources = instruction_.sources;
  const unsigned code = field(word, 0, 9);
  if (is_vopc) {
    instruction_.destination = facts().destination == Type::kExec ? kExec : kVcc;
  } else if (is_16_bit(facts().destination)) {
    if (!short_vector_register(instruction_.destination, facts().destination, field(word, 17, 8))) {
      return false;
    }
  } else if (!destination(field(word, 17, 8))) {
    return false;
  }
  if (facts().source_count() == 0) return true;  // v_nop
  // Decode source 1 before source 0, because the DPP word may contain its sign.
  const unsigned second = multiplies_constant(instruction_.opcode) ? 2 : 1;
  if (!is_vop1 &&
      !short_vector_register(sources[second], facts().sources[second], field(word, 9, 8))) {
    return false;
  }
  if (is_dpp(code)) {
    if (!dpp(code, true)) return false;
  } else if (code >= kSourceVector) {
    if (!short_vector_register(sources[0], facts().sources[0], code - kSourceVector)) return false;
  } else if (!scalar_source(sources[0], facts().sources[0], code)) {
    return false;
  }
  if (is_constant_fma(instruction_.opcode) &&
      !literal(sources[3 - second], facts().sources[3 - second])) {
    return false;
  }
  if (accumulates(instruction_.opcode)) sources[2] = instruction_.destination;
  if (facts().sources[2] == Type::kMask) sources[2] = kVcc;
  if (facts().second_destination == Type::kMask) instruction_.second_destination = kVcc;
  return restrict_sources();
}

bool Decoder::vector_modifiers(std::uint32_t word0, std::uint32_t word1) {
  const bool has_mask_result = facts().second_destination != Type::kNone;
  if (bit(word0, 15)) {
    if ((facts().facts & kTakesClamp) == 0) return refuse(join(facts().name, " with clamp"));
    instruction_.clamp = true;
  }
  if (field(word1, 27, 2) != 0) {
    if ((facts().facts & kTakesOutputModifier) == 0) {
      return refuse(join(facts().name, " with an output modifier"));
    }
    instruction_.output = static_cast<OutputModifier>(field(word1, 27, 2));
  }
  const bool is_permute = instruction_.opcode == Opcode::v_permlane16_b32 ||
                          instruction_.opcode == Opcode::v_permlanex16_b32;
  const unsigned count =
      accumulates(instruction_.opcode) ? 2 : facts().source_count();  // in the encoding
  for (unsigned i = 0; i != count; ++i) {
    Operand& source = instruction_.sources[i];
    source.negate = bit(word1, 29 + i);
    source.absolute = !has_mask_result && bit(word0, 8 + i);
    if ((source.negate || source.absolute) &&
        !takes_sign(instruction_.opcode, facts().sources[i])) {
      return refuse(join(facts().name, " with a sign modifier of source ", i));
    }
    if (has_mask_result || !bit(word0, 11 + i)) continue;
    if (is_permute && i < 2) {
      (i == 0 ? instruction_.dpp.fetch_inactive : instruction_.dpp.bound_control) = true;
    } else if (is_16_bit(facts().sources[i])) {
      source.high = true;
    } else {
      return refuse(join(facts().name, " with op_sel of source ", i));
    }
  }
  if (!has_mask_result && bit(word0, 14)) {
    if (!is_16_bit(facts().destination)) {
      return refuse(join(facts().name, " with op_sel of its result"));
    }
    instruction_.destination.high = true;
  }
  return true;
}

bool Decoder::vector_long() {
  const std::uint32_t word = words_[0];
  const auto second = next_word();
  if (!second || !begin(Encoding::kVop3, field(word, 16, 10))) return false;
  if (!destination(field(word, 0, 8))) return false;
  if (facts().second_destination != Type::kNone &&
      !scalar_register(instruction_.second_destination, facts().second_destination,
                       field(word, 8, 7))) {
    return false;
  }
  const unsigned count = accumulates(instruction_.opcode) ? 2 : facts().source_count();
  if (count == 0) return true;  // v_nop
  if (is_dpp(field(*second, 0, 9)) && !dpp(field(*second, 0, 9), false)) return false;
  const bool has_dpp = instruction_.dpp.kind != Dpp::kNone;
  for (unsigned i = has_dpp ? 1 : 0; i != count; ++i) {
    const unsigned code = field(*second, 9 * i, 9);
    if (has_dpp && code < kSourceVector && (i == 1 || code == kSourceLiteral)) {
      return refuse(join(facts().name, " by DPP needs a vector register as source ", i));
    }
    if (!source(instruction_.sources[i], facts().sources[i], code)) return false;
  }
  if (!vector_modifiers(word, *second)) return false;
  if (accumulates(instruction_.opcode)) instruction_.sources[2] = instruction_.destination;
  return restrict_sources();
}

bool Decoder::half_of_dual(Encoding encoding, unsigned number, unsigned source0, unsigned source1,
                           unsigned destination_code) {
  if (!begin(encoding, number)) return false;
  auto& sources = instruction_.sources;
  if (!destination(destination_code) || !source(sources[0], facts().sources[0], source0)) {
    return false;
  }
  const unsigned second = multiplies_constant(instruction_.opcode) ? 2 : 1;
  if (facts().sources[1] != Type::kNone &&
      !vector_register(sources[second], facts().sources[second], source1)) {
    return false;
  }
  if (is_constant_fma(instruction_.opcode) &&
      !literal(sources[3 - second], facts().sources[3 - second])) {
    return false;
  }
  if (accumulates(instruction_.opcode)) sources[2] = instruction_.destination;
  if (facts().sources[2] == Type::kMask) sources[2] = kVcc;
  return true;
}

bool Decoder::dual() {
  const std::uint32_t word = words_[0];
  const auto second = next_word();
  if (!second) return false;
  const unsigned first_result = field(*second, 24, 8);
  // One result is in an even register, the other in an odd register.
  const unsigned second_result = field(*second, 17, 7) * 2 + (first_result % 2 == 0 ? 1 : 0);
  if (!half_of_dual(Encoding::kVopdX, field(word, 22, 4), field(word, 0, 9), field(word, 9, 8),
                    first_result)) {
    return false;
  }
  instruction_.is_dual_with_next = true;
  result_.instructions[0] = instruction_;
  instruction_ = {};
  if (!half_of_dual(Encoding::kVopdY, field(word, 17, 5), field(*second, 0, 9),
                    field(*second, 9, 8), second_result)) {
    return false;
  }
  instruction_.size = 0;
  result_.instructions[1] = instruction_;
  result_.count = 2;
  return true;
}

}  // namespace halyard::inline v0::sim::gfx
