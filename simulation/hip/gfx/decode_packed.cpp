// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VOP3P: packed operations, dot products and matrices (manual, section 15.3).
#include "simulation/hip/gfx/decoder.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

// The meaning of op_sel, op_sel_hi, neg and neg_hi for the operation.
enum class Modifiers { kPackedFloat, kPackedInteger, kMix, kDotFloat, kDotInteger, kMatrix };

Modifiers modifiers_of(Opcode opcode) {
  const OpcodeFacts& facts = facts_of(opcode);
  if (facts.group == Group::kMatrix) return Modifiers::kMatrix;
  switch (facts.sources[0]) {
    case Type::kMix:
      return Modifiers::kMix;
    case Type::kB32:
      return Modifiers::kDotInteger;
    case Type::kPackedF16:
    case Type::kPackedBf16:
      return is_packed(facts.destination) ? Modifiers::kPackedFloat : Modifiers::kDotFloat;
    default:
      return Modifiers::kPackedInteger;
  }
}

// The element type of a constant that replaces the accumulator matrix.
Type element_of_accumulator(Opcode opcode) {
  switch (opcode) {
    case Opcode::v_wmma_f16_16x16x16_f16:
      return Type::kF16;
    case Opcode::v_wmma_bf16_16x16x16_bf16:
      return Type::kBf16;
    case Opcode::v_wmma_i32_16x16x16_iu8:
    case Opcode::v_wmma_i32_16x16x16_iu4:
      return Type::kI32;
    default:
      return Type::kF32;
  }
}

// The operands of v_dot4_i32_iu8, v_wmma_i32_*_iu8 and the like are signed where neg is set.
bool has_signedness(Opcode opcode) {
  switch (opcode) {
    case Opcode::v_dot4_i32_iu8:
    case Opcode::v_dot8_i32_iu4:
    case Opcode::v_wmma_i32_16x16x16_iu8:
    case Opcode::v_wmma_i32_16x16x16_iu4:
      return true;
    default:
      return false;
  }
}

bool accumulates_halves(Opcode opcode) {
  return opcode == Opcode::v_wmma_f16_16x16x16_f16 || opcode == Opcode::v_wmma_bf16_16x16x16_bf16;
}

}  // namespace

bool Decoder::packed_modifiers(std::uint32_t word0, std::uint32_t word1) {
  const Opcode opcode = instruction_.opcode;
  const Modifiers kind = modifiers_of(opcode);
  if (bit(word0, 15)) {
    if ((facts().facts & kTakesClamp) == 0) return refuse(join(facts().name, " with clamp"));
    instruction_.clamp = true;
  }
  for (unsigned i = 0; i != facts().source_count(); ++i) {
    Operand& source = instruction_.sources[i];
    const bool select = bit(word0, 11 + i), negate = bit(word1, 29 + i),
               negate_high = bit(word0, 8 + i);
    const bool select_high = i == 2 ? bit(word0, 14) : bit(word1, 27 + i);
    const bool is_accumulator = i == 2;
    bool takes_select = true, takes_negate = true, takes_negate_high = true;
    switch (kind) {
      case Modifiers::kPackedFloat:
      case Modifiers::kMix:
        break;
      case Modifiers::kPackedInteger:
        takes_negate = takes_negate_high = false;
        break;
      case Modifiers::kDotFloat:
        takes_select = !is_accumulator;
        // The accumulator is not a pair, so it has no negate modifier for a high half.
        takes_negate_high = !is_accumulator;
        break;
      case Modifiers::kDotInteger:
        takes_select = takes_negate_high = false;
        takes_negate = has_signedness(opcode) && !is_accumulator;
        break;
      case Modifiers::kMatrix:
        takes_select = is_accumulator && accumulates_halves(opcode);
        if (has_signedness(opcode)) {
          takes_negate = !is_accumulator;
          takes_negate_high = false;
        }
        break;
    }
    if ((select && !takes_select) || (negate && !takes_negate) ||
        (negate_high && !takes_negate_high)) {
      return refuse(join(facts().name, " with a modifier of source ", i, " that it does not have"));
    }
    source.high = select;
    source.high_for_high = select_high || !takes_select;  // default if unused
    source.negate = negate;
    // For v_fma_mix_f32 and for an accumulator matrix, neg_hi means the absolute value.
    if (kind == Modifiers::kMix || (kind == Modifiers::kMatrix && is_accumulator)) {
      source.absolute = negate_high;
    } else {
      source.negate_high = negate_high;
    }
  }
  return true;
}

bool Decoder::packed() {
  const std::uint32_t word = words_[0];
  const auto second = next_word();
  if (!second) return false;
  if (bit(word, 23)) return refuse("VOP3P with bit 23 set");
  if (!begin(Encoding::kVop3p, field(word, 16, 7))) return false;
  if (!destination(field(word, 0, 8))) return false;
  const bool is_matrix = facts().group == Group::kMatrix;
  if (is_dpp(field(*second, 0, 9)) && !dpp(field(*second, 0, 9), false)) return false;
  const bool has_dpp = instruction_.dpp.kind != Dpp::kNone;
  for (unsigned i = has_dpp ? 1 : 0; i != facts().source_count(); ++i) {
    Operand& operand = instruction_.sources[i];
    const Type type = facts().sources[i];
    const unsigned code = field(*second, 9 * i, 9);
    if (has_dpp && code < kSourceVector && (i == 1 || code == kSourceLiteral)) {
      return refuse(join(facts().name, " by DPP needs a vector register as source ", i));
    }
    if (is_matrix && code < kSourceVector) {
      const bool is_inline = code >= 128 && code != kSourceLiteral;
      if (i != 2 || !is_inline) {
        return refuse(join(facts().name, " needs vector registers as source ", i));
      }
      if (!scalar_source(operand, element_of_accumulator(instruction_.opcode), code)) return false;
      if (!operand.is(OperandKind::kConstant)) {
        return refuse(join(facts().name, " with a special value as source ", i));
      }
      continue;
    }
    if (type == Type::kMix) {
      const bool is_half = i == 2 ? bit(word, 14) : bit(*second, 27 + i);
      if (!source(operand, is_half ? Type::kF16 : Type::kF32, code)) return false;
      operand.type = Type::kMix;
      continue;
    }
    if (!source(operand, type, code)) return false;
  }
  return packed_modifiers(word, *second);
}

}  // namespace halyard::inline v0::sim::gfx
