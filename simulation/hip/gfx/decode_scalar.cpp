// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SOP1, SOP2, SOPC, SOPK, SOPP and SMEM (manual, sections 15.1 and 15.2).
#include <algorithm>

#include "simulation/hip/gfx/decoder.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {

bool Decoder::scalar_alu() {
  const std::uint32_t word = words_[0];
  Encoding encoding = Encoding::kSop2;
  unsigned number = field(word, 23, 7);
  if (field(word, 23, 9) == 0b101111101) {
    encoding = Encoding::kSop1;
    number = field(word, 8, 8);
  } else if (field(word, 23, 9) == 0b101111110) {
    encoding = Encoding::kSopc;
    number = field(word, 16, 7);
  }
  if (!begin(encoding, number)) return false;
  const unsigned code = field(word, 16, 7);
  if (encoding != Encoding::kSopc && facts().destination != Type::kNone &&
      !scalar_register(instruction_.destination, facts().destination, code)) {
    return false;
  }
  // The source field holds the number of the message (s_sendmsg_rtn_b32).
  if (instruction_.opcode == Opcode::s_sendmsg_rtn_b32 ||
      instruction_.opcode == Opcode::s_sendmsg_rtn_b64) {
    instruction_.immediate = static_cast<std::uint16_t>(field(word, 0, 8));
    instruction_.sources[0] = {
        .kind = OperandKind::kConstant, .type = Type::kB32, .bits = instruction_.immediate};
    return true;
  }
  if (facts().sources[0] != Type::kNone &&
      !scalar_source(instruction_.sources[0], facts().sources[0], field(word, 0, 8))) {
    return false;
  }
  switch (instruction_.opcode) {
    case Opcode::s_setpc_b64:
    case Opcode::s_swappc_b64:
    case Opcode::s_movrels_b32:
    case Opcode::s_movrels_b64:
      if (!instruction_.sources[0].is(OperandKind::kScalar)) {
        return refuse(join(facts().name, " needs a register"));
      }
      break;
    default:
      break;
  }
  return encoding == Encoding::kSop1 || facts().sources[1] == Type::kNone ||
         scalar_source(instruction_.sources[1], facts().sources[1], field(word, 8, 8));
}

bool Decoder::constant_alu() {
  const std::uint32_t word = words_[0];
  if (!begin(Encoding::kSopk, field(word, 23, 5))) return false;
  const unsigned code = field(word, 16, 7);
  const std::uint16_t immediate = static_cast<std::uint16_t>(word);
  instruction_.immediate = immediate;
  const auto set_constant = [&](Operand& operand, bool is_signed) {
    operand.kind = OperandKind::kConstant;
    operand.type = Type::kI32;
    operand.bits =
        is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(immediate)})
                  : immediate;
  };
  if (facts().destination != Type::kNone &&
      !scalar_register(instruction_.destination, facts().destination, code)) {
    return false;
  }
  auto& sources = instruction_.sources;
  switch (instruction_.opcode) {
    case Opcode::s_movk_i32:
    case Opcode::s_cmovk_i32:
      set_constant(sources[0], true);
      return true;
    case Opcode::s_addk_i32:
    case Opcode::s_mulk_i32:
      sources[0] = instruction_.destination;
      set_constant(sources[1], true);
      return true;
    case Opcode::s_getreg_b32:
      set_constant(sources[0], false);
      return true;
    case Opcode::s_setreg_b32:
      set_constant(sources[0], false);
      return scalar_register(sources[1], Type::kB32, code);
    case Opcode::s_setreg_imm32_b32:
      set_constant(sources[0], false);
      return literal(sources[1], Type::kB32);
    case Opcode::s_version:
      set_constant(sources[0], false);
      return true;
    case Opcode::s_call_b64:
      return true;
    case Opcode::s_waitcnt_vscnt:
    case Opcode::s_waitcnt_vmcnt:
    case Opcode::s_waitcnt_expcnt:
    case Opcode::s_waitcnt_lgkmcnt: {
      // The count is the sum of a register and the constant.
      if (code != kNull) return refuse(join(facts().name, " with a register is not built"));
      set_constant(sources[0], false);
      const auto count = static_cast<std::uint8_t>(std::min<unsigned>(immediate, WaitCounts::kAny));
      WaitCounts& wait = instruction_.wait;
      if (instruction_.opcode == Opcode::s_waitcnt_vscnt) wait.vector_stores = count;
      if (instruction_.opcode == Opcode::s_waitcnt_vmcnt) wait.vector_loads = count;
      if (instruction_.opcode == Opcode::s_waitcnt_expcnt) wait.exports = count;
      if (instruction_.opcode == Opcode::s_waitcnt_lgkmcnt) wait.scalar_and_lds = count;
      return true;
    }
    default:
      break;
  }
  // s_cmpk_*: unsigned comparisons zero-extend the constant.
  set_constant(sources[1], facts().sources[0] != Type::kU32);
  return scalar_register(sources[0], facts().sources[0], code);
}

bool Decoder::program_control() {
  const std::uint32_t word = words_[0];
  if (!begin(Encoding::kSopp, field(word, 16, 7))) return false;
  switch (instruction_.opcode) {
    case Opcode::s_barrier:
    case Opcode::s_code_end:
    case Opcode::s_endpgm_saved:
    case Opcode::s_icache_inv:
    case Opcode::s_wait_idle:
    case Opcode::s_wakeup:
      return true;  // the constant is not used
    default:
      break;
  }
  instruction_.immediate = static_cast<std::uint16_t>(word);
  if (instruction_.opcode == Opcode::s_waitcnt) {
    // Manual, section 16.5 (S_WAITCNT): all bits set means not to wait.
    const auto count = [&](unsigned first, unsigned bits) {
      const unsigned value = field(word, first, bits);
      return static_cast<std::uint8_t>(value == (1u << bits) - 1 ? WaitCounts::kAny : value);
    };
    instruction_.wait.exports = count(0, 3);
    instruction_.wait.scalar_and_lds = count(4, 6);
    instruction_.wait.vector_loads = count(10, 6);
  }
  return true;
}

bool Decoder::scalar_memory() {
  const std::uint32_t word = words_[0];
  const auto second = next_word();
  if (!second) return false;
  if (!begin(Encoding::kSmem, field(word, 18, 8))) return false;
  if (facts().group == Group::kWait) return true;
  instruction_.dlc = bit(word, 13);
  instruction_.glc = bit(word, 14);
  instruction_.offset = sign_extend(field(*second, 0, 21), 21);
  if (!scalar_register(instruction_.destination, facts().destination, field(word, 6, 7)) ||
      !scalar_register(instruction_.sources[0], facts().sources[0], field(word, 0, 6) * 2)) {
    return false;
  }
  if (instruction_.destination.index >= kM0) {
    return refuse(join(facts().name, " into m0 or exec"));
  }
  const unsigned offset = field(*second, 25, 7);
  return offset == kNull || scalar_register(instruction_.sources[1], Type::kU32, offset);
}

}  // namespace halyard::inline v0::sim::gfx
