// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/print.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "simulation/hip/gfx/decoder.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

bool is_short(Encoding encoding) {
  return encoding == Encoding::kVop1 || encoding == Encoding::kVop2 || encoding == Encoding::kVopc;
}
bool is_dual(Encoding encoding) {
  return encoding == Encoding::kVopdX || encoding == Encoding::kVopdY;
}

std::string range(std::string_view prefix, unsigned first, unsigned count) {
  if (count <= 1) return join(prefix, first);
  return join(prefix, "[", first, ":", first + count - 1, "]");
}

std::string scalar_name(unsigned index, unsigned count) {
  if (index < kVccLow) return range("s", index, count);
  if (index == kVccLow && count == 2) return "vcc";
  if (index == kExecLow && count == 2) return "exec";
  if (index >= kTrapTemporary && index < kNull) {
    return range("ttmp", index - kTrapTemporary, count);
  }
  switch (index) {
    case kVccLow:
      return "vcc_lo";
    case kVccHigh:
      return "vcc_hi";
    case kNull:
      return "null";
    case kM0:
      return "m0";
    case kExecLow:
      return "exec_lo";
    default:
      return "exec_hi";
  }
}

std::string_view special_name(Special special) {
  switch (special) {
    case Special::kSharedBase:
      return "src_shared_base";
    case Special::kSharedLimit:
      return "src_shared_limit";
    case Special::kPrivateBase:
      return "src_private_base";
    case Special::kPrivateLimit:
      return "src_private_limit";
    case Special::kVccz:
      return "src_vccz";
    case Special::kExecz:
      return "src_execz";
    case Special::kScc:
      return "src_scc";
  }
  return "";
}

std::string constant_text(const Operand& operand, bool is_matrix) {
  if (operand.encoded == kSourceLiteral) {
    return hex(operand.type == Type::kF64 ? operand.bits >> 32 : operand.bits & 0xffff'ffff);
  }
  if (operand.encoded < 240) return std::to_string(static_cast<std::int64_t>(operand.bits));
  // Assemblers have no name for such a constant, which is not a literal.
  if (is_16_bit(operand.type) && !is_float(operand.type)) return hex(operand.bits);
  constexpr std::array<std::string_view, 8> kFloats = {"0.5", "-0.5", "1.0", "-1.0",
                                                       "2.0", "-2.0", "4.0", "-4.0"};
  if (operand.encoded < 248) return std::string(kFloats[operand.encoded - 240]);
  if (bits_of(operand.type) == 64 || is_matrix) return "0.15915494309189532";
  const bool is_half = operand.type == Type::kF16 || operand.type == Type::kPackedF16 ||
                       (operand.type == Type::kMix && operand.high_for_high);
  return is_half ? "0.1592" : "0.15915494";
}

class Printer {
 public:
  explicit Printer(const Instruction& instruction)
      : instruction_(instruction), facts_(facts_of(instruction.opcode)) {}

  std::string run() {
    mnemonic();
    switch (instruction_.encoding) {
      case Encoding::kSop1:
      case Encoding::kSop2:
      case Encoding::kSopc:
        scalar_alu();
        break;
      case Encoding::kSopk:
        constant_alu();
        break;
      case Encoding::kSopp:
        control();
        break;
      case Encoding::kSmem:
        scalar_memory();
        break;
      case Encoding::kDs:
        lds();
        break;
      case Encoding::kFlat:
      case Encoding::kGlobal:
      case Encoding::kScratch:
        flat();
        break;
      case Encoding::kMubuf:
        buffer();
        break;
      default:
        vector();
        break;
    }
    return text_;
  }

 private:
  void mnemonic();
  void scalar_alu();
  void constant_alu();
  void control();
  void scalar_memory();
  void lds();
  void flat();
  void buffer();
  void vector();
  void vector_modifiers();
  void packed_modifiers();
  void dpp();

  void add(std::string_view operand) {
    text_ += has_operand_ ? ", " : " ";
    text_ += operand;
    has_operand_ = true;
  }
  void modifier(std::string_view text) {
    text_ += ' ';
    text_ += text;
  }
  std::string name(const Operand& operand) const;
  std::string with_signs(const Operand& operand) const;
  void cache_modifiers() {
    if (instruction_.glc) modifier("glc");
    if (instruction_.slc) modifier("slc");
    if (instruction_.dlc) modifier("dlc");
  }
  // Adds "[0,1,0]" for `count` values, unless all are `usual`.
  template <typename F>
  void list(std::string_view title, unsigned count, bool usual, const F& value) {
    bool is_usual = true;
    std::string text = join(title, ":[");
    for (unsigned i = 0; i != count; ++i) {
      is_usual = is_usual && value(i) == usual;
      text += join(i == 0 ? "" : ",", value(i) ? 1 : 0);
    }
    if (!is_usual) modifier(text + "]");
  }

  const Instruction& instruction_;
  const OpcodeFacts& facts_;
  std::string text_;
  bool has_operand_ = false;
};

void Printer::mnemonic() {
  const Encoding encoding = instruction_.encoding;
  const std::string_view name = facts_.name;
  switch (instruction_.segment) {
    case Segment::kFlat:
      text_ = "flat_";
      break;
    case Segment::kGlobal:
      text_ = "global_";
      break;
    case Segment::kScratch:
      text_ = "scratch_";
      break;
    case Segment::kBuffer:
      text_ = "buffer_";
      break;
    default:
      break;
  }
  if (is_dual(encoding)) {
    text_ = join("v_dual_", name.substr(2));
    return;
  }
  const bool is_atomic = (facts_.facts & kAtomic) != 0;
  if (instruction_.segment == Segment::kLds && is_atomic && instruction_.destination) {
    const std::size_t type = name.rfind('_');
    text_ = join(name.substr(0, type), "_rtn", name.substr(type));
    return;
  }
  text_ += name;
  const bool has_dpp = instruction_.dpp.kind != Dpp::kNone;
  const bool has_long = number_in(Encoding::kVop3, instruction_.opcode) >= 0;
  const bool has_short = number_in(Encoding::kVop1, instruction_.opcode) >= 0 ||
                         number_in(Encoding::kVop2, instruction_.opcode) >= 0 ||
                         number_in(Encoding::kVopc, instruction_.opcode) >= 0;
  if (is_short(encoding)) {
    if (has_dpp) {
      text_ += "_dpp";
    } else if (has_long) {
      text_ += "_e32";
    }
  } else if (encoding == Encoding::kVop3 || encoding == Encoding::kVop3p) {
    if (has_dpp) {
      text_ += "_e64_dpp";
    } else if (has_short) {
      text_ += "_e64";
    }
  }
}

std::string Printer::name(const Operand& operand) const {
  switch (operand.kind) {
    case OperandKind::kNone:
      return "off";
    case OperandKind::kVector: {
      std::string text = range("v", operand.index, registers_of(operand.type));
      if (instruction_.opcode == Opcode::v_mov_b16 || instruction_.opcode == Opcode::v_swap_b16) {
        text += operand.high ? ".h" : ".l";
      } else if (operand.high && is_short(instruction_.encoding)) {
        text += ".h";
      }
      return text;
    }
    case OperandKind::kScalar:
      return scalar_name(operand.index, registers_of(operand.type));
    case OperandKind::kConstant:
      return constant_text(operand, facts_.group == Group::kMatrix);
    case OperandKind::kSpecial:
      return std::string(special_name(static_cast<Special>(operand.index)));
  }
  return "";
}

std::string Printer::with_signs(const Operand& operand) const {
  std::string text = name(operand);
  if (operand.absolute) text = join("|", text, "|");
  if (!operand.negate) return text;
  return operand.is(OperandKind::kConstant) ? join("neg(", text, ")") : join("-", text);
}

void Printer::scalar_alu() {
  if (instruction_.destination) add(name(instruction_.destination));
  if (instruction_.opcode == Opcode::s_sendmsg_rtn_b32 ||
      instruction_.opcode == Opcode::s_sendmsg_rtn_b64) {
    return add(std::to_string(instruction_.immediate));
  }
  for (const Operand& source : instruction_.sources) {
    if (source) add(name(source));
  }
}

void Printer::constant_alu() {
  const std::string immediate = hex(instruction_.immediate);
  switch (instruction_.opcode) {
    case Opcode::s_setreg_b32:
    case Opcode::s_setreg_imm32_b32:
      add(immediate);
      return add(name(instruction_.sources[1]));
    case Opcode::s_waitcnt_vscnt:
    case Opcode::s_waitcnt_vmcnt:
    case Opcode::s_waitcnt_expcnt:
    case Opcode::s_waitcnt_lgkmcnt:
      add("null");
      break;
    case Opcode::s_version:
      break;
    default:
      add(name(instruction_.destination ? instruction_.destination : instruction_.sources[0]));
      break;
  }
  if (instruction_.opcode == Opcode::s_call_b64) return add(std::to_string(instruction_.immediate));
  add(immediate);
}

void Printer::control() {
  const unsigned immediate = instruction_.immediate;
  switch (instruction_.opcode) {
    case Opcode::s_barrier:
    case Opcode::s_code_end:
    case Opcode::s_endpgm_saved:
    case Opcode::s_icache_inv:
    case Opcode::s_wait_idle:
    case Opcode::s_wakeup:
      return;
    case Opcode::s_endpgm:
      if (immediate != 0) add(std::to_string(immediate));
      return;
    case Opcode::s_waitcnt: {
      const WaitCounts& wait = instruction_.wait;
      // Bit 3 does not belong to a count.
      if (bit(immediate, 3)) return add(hex(immediate));
      std::string text;
      const auto count = [&](std::string_view title, unsigned value) {
        if (value != WaitCounts::kAny) text += join(" ", title, "(", value, ")");
      };
      count("vmcnt", wait.vector_loads);
      count("expcnt", wait.exports);
      count("lgkmcnt", wait.scalar_and_lds);
      return add(text.empty() ? hex(immediate) : text.substr(1));
    }
    case Opcode::s_delay_alu:
    case Opcode::s_waitcnt_depctr:
    case Opcode::s_sendmsg:
    case Opcode::s_sendmsghalt:
      return add(hex(immediate));
    default:
      return add(std::to_string(immediate));
  }
}

void Printer::scalar_memory() {
  if (!instruction_.destination) return;  // s_dcache_inv
  add(name(instruction_.destination));
  add(name(instruction_.sources[0]));
  const std::int32_t offset = instruction_.offset;
  const std::string text = offset < 0 ? join("-", hex(static_cast<std::uint32_t>(-offset)))
                                      : hex(static_cast<std::uint32_t>(offset));
  if (!instruction_.sources[1]) {
    add(text);
  } else {
    add(name(instruction_.sources[1]));
    if (offset != 0) modifier(join("offset:", text));
  }
  cache_modifiers();
}

void Printer::lds() {
  if (instruction_.destination) add(name(instruction_.destination));
  for (const Operand& source : instruction_.sources) {
    if (source) add(name(source));
  }
  if (facts_.name.find("2addr") == std::string_view::npos) {
    if (instruction_.offset != 0) modifier(join("offset:", instruction_.offset));
    return;
  }
  if (instruction_.offset != 0) modifier(join("offset0:", instruction_.offset));
  if (instruction_.offset1 != 0) modifier(join("offset1:", instruction_.offset1));
}

void Printer::flat() {
  if (instruction_.destination) add(name(instruction_.destination));
  add(name(instruction_.sources[0]));
  if (instruction_.sources[1]) add(name(instruction_.sources[1]));
  if (instruction_.segment != Segment::kFlat) add(name(instruction_.sources[2]));
  if (instruction_.offset != 0) modifier(join("offset:", instruction_.offset));
  cache_modifiers();
}

void Printer::buffer() {
  if (facts_.group == Group::kWait) return;
  const Operand& data =
      instruction_.sources[1] ? instruction_.sources[1] : instruction_.destination;
  add(name(data));
  add(name(instruction_.sources[0]));
  add(name(instruction_.sources[2]));
  add(name(instruction_.sources[3]));
  if (instruction_.index_enable) modifier("idxen");
  if (instruction_.offset_enable) modifier("offen");
  if (instruction_.offset != 0) modifier(join("offset:", instruction_.offset));
  cache_modifiers();
}

void Printer::vector() {
  if (instruction_.destination && instruction_.destination.type != Type::kExec) {
    add(name(instruction_.destination));
  }
  if (instruction_.second_destination) add(name(instruction_.second_destination));
  unsigned count = accumulates(instruction_.opcode) ? 2 : facts_.source_count();
  if (is_dual(instruction_.encoding) && facts_.sources[2] == Type::kMask) count = 2;
  const bool is_packed_encoding = instruction_.encoding == Encoding::kVop3p;
  const bool has_signs = !is_packed_encoding || facts_.sources[0] == Type::kMix;
  for (unsigned i = 0; i != count; ++i) {
    const Operand& source = instruction_.sources[i];
    add(has_signs ? with_signs(source) : name(source));
  }
  is_packed_encoding ? packed_modifiers() : vector_modifiers();
  if (instruction_.clamp) modifier("clamp");
  switch (instruction_.output) {
    case OutputModifier::kNone:
      break;
    case OutputModifier::kTimes2:
      modifier("mul:2");
      break;
    case OutputModifier::kTimes4:
      modifier("mul:4");
      break;
    case OutputModifier::kHalf:
      modifier("div:2");
      break;
  }
  dpp();
}

void Printer::vector_modifiers() {
  if (instruction_.encoding != Encoding::kVop3) return;
  if (instruction_.opcode == Opcode::v_permlane16_b32 ||
      instruction_.opcode == Opcode::v_permlanex16_b32) {
    return list("op_sel", 2, false, [&](unsigned i) {
      return i == 0 ? instruction_.dpp.fetch_inactive : instruction_.dpp.bound_control;
    });
  }
  if (instruction_.opcode == Opcode::v_mov_b16) return;
  // A source that is the destination has a place in the list, but no bit.
  const unsigned sources = facts_.source_count();
  const bool has_result = instruction_.destination.is(OperandKind::kVector);
  list("op_sel", sources + (has_result ? 1 : 0), false, [&](unsigned i) {
    if (i == sources) return instruction_.destination.high;
    return instruction_.sources[i].high && !(i == 2 && accumulates(instruction_.opcode));
  });
}

void Printer::packed_modifiers() {
  const unsigned count = facts_.source_count();
  const auto& sources = instruction_.sources;
  const bool is_mix = facts_.sources[0] == Type::kMix;
  const bool is_matrix = facts_.group == Group::kMatrix;
  const bool selects = !is_matrix || instruction_.opcode == Opcode::v_wmma_f16_16x16x16_f16 ||
                       instruction_.opcode == Opcode::v_wmma_bf16_16x16x16_bf16;
  if (selects) {
    list("op_sel", count, false, [&](unsigned i) { return sources[i].high; });
    list("op_sel_hi", count, !is_mix, [&](unsigned i) { return sources[i].high_for_high; });
  }
  if (is_mix) return;
  list("neg_lo", count, false, [&](unsigned i) { return sources[i].negate; });
  list("neg_hi", count, false,
       [&](unsigned i) { return sources[i].negate_high || sources[i].absolute; });
}

void Printer::dpp() {
  const DppControl& control = instruction_.dpp;
  if (control.kind == Dpp::kNone) return;
  if (control.kind == Dpp::kDpp8) {
    std::string text = "dpp8:[";
    for (unsigned i = 0; i != 8; ++i) text += join(i == 0 ? "" : ",", control.select[i]);
    modifier(text + "]");
    if (control.fetch_inactive) modifier("fi:1");
    return;
  }
  const unsigned value = control.control & 15;
  switch (control.control >> 4) {
    case 0x10:
      modifier(join("row_shl:", value));
      break;
    case 0x11:
      modifier(join("row_shr:", value));
      break;
    case 0x12:
      modifier(join("row_ror:", value));
      break;
    case 0x14:
      modifier(value == 0 ? "row_mirror" : "row_half_mirror");
      break;
    case 0x15:
      modifier(join("row_share:", value));
      break;
    case 0x16:
      modifier(join("row_xmask:", value));
      break;
    default:
      modifier(join("quad_perm:[", control.control & 3, ",", control.control >> 2 & 3, ",",
                    control.control >> 4 & 3, ",", control.control >> 6 & 3, "]"));
      break;
  }
  modifier(join("row_mask:", hex(control.row_mask)));
  modifier(join("bank_mask:", hex(control.bank_mask)));
  if (control.bound_control) modifier("bound_ctrl:1");
  if (control.fetch_inactive) modifier("fi:1");
}

}  // namespace

std::string print(const Instruction& instruction) { return Printer(instruction).run(); }

std::string print(std::span<const Instruction> instructions) {
  std::string text = print(instructions[0]);
  if (instructions[0].is_dual_with_next && instructions.size() > 1) {
    text += join(" :: ", print(instructions[1]));
  }
  return text;
}

}  // namespace halyard::inline v0::sim::gfx
