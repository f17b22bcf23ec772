// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prepares instructions for execution.
#include <algorithm>
#include <mutex>

#include "simulation/hip/gfx/machine.h"

namespace halyard::inline v0::sim::gfx {
namespace {

bool is_packed_type(Type type) { return type >= Type::kPackedB16 && type <= Type::kPackedBf16; }

// Whether a source has modifiers or selects halves.
bool has_modifiers(const Instruction& from, const Operand& operand, ValueKind kind) {
  if (operand.negate || operand.absolute || operand.negate_high) return true;
  if (is_packed_type(operand.type)) {
    return from.encoding == Encoding::kVop3p && (operand.high || !operand.high_for_high);
  }
  return is_16_bit(kind) && operand.high;
}

void run_outside(Wave& wave, const Ins& ins) {
  wave.fail(OutcomeKind::kIllegalInstruction, *ins.from, 0, "execution left the code");
}

InsSource source_of(const Operand& operand, unsigned dwords, Executable& executable) {
  InsSource source;
  source.index = operand.index;
  switch (operand.kind) {
    case OperandKind::kNone:
      break;
    case OperandKind::kVector:
      source.from = RowSource::kVector;
      break;
    case OperandKind::kScalar:
      source.from = RowSource::kScalar;
      break;
    case OperandKind::kSpecial:
      source.from = RowSource::kSpecial;
      break;
    case OperandKind::kConstant: {
      source.from = RowSource::kConstant;
      auto rows = std::make_unique<std::array<std::uint32_t, 4 * kLanes>>();
      std::fill_n(rows->begin(), kLanes, static_cast<std::uint32_t>(operand.bits));
      if (dwords > 1) {
        std::fill_n(rows->begin() + kLanes, kLanes, static_cast<std::uint32_t>(operand.bits >> 32));
      }
      source.rows = rows->data();
      executable.constants.push_back(std::move(rows));
      break;
    }
  }
  return source;
}

bool counts_lanes(Group group) {
  return group == Group::kVector || group == Group::kCompare || group == Group::kPacked ||
         group == Group::kMatrix || group == Group::kLds || group == Group::kMemory;
}

Ins lowered(const Instruction& from, Executable& executable) {
  Ins ins;
  ins.from = &from;
  ins.run = handler_of(from);
  if (ins.run == nullptr) ins.run = run_outside;  // the loader refuses it
  const OpcodeFacts& facts = facts_of(from.opcode);
  ins.counted = counts_lanes(facts.group) ? ~0u : 0;
  ins.destination = from.destination.index;
  const LaneOperation& lane = lane_operations()[from.opcode];
  if (lane.run == nullptr) return ins;
  ins.lane = &lane;
  ins.function = from.clamp && lane.run_clamped != nullptr ? lane.run_clamped : lane.run;
  ins.result_dwords = static_cast<std::uint8_t>(lane.result_dwords != 0 ? lane.result_dwords
                                                                        : dwords_of(lane.result));
  ins.has_modifiers = from.dpp.kind != Dpp::kNone || from.output != OutputModifier::kNone ||
                      (from.clamp && is_float(lane.result)) || lane.flushes;
  for (unsigned i = 0; i < lane.sources; ++i) {
    ins.sources[i] = source_of(from.sources[i], dwords_of(lane.kinds[i]), executable);
    ins.has_modifiers |= has_modifiers(from, from.sources[i], lane.kinds[i]);
  }
  return ins;
}

}  // namespace

Handler handler_of(const Instruction& instruction) {
  if (Handler handler = relative_move_handler(instruction)) return handler;
  switch (facts_of(instruction.opcode).group) {
    case Group::kScalar:
      return scalar_handler(instruction);
    case Group::kControl:
    case Group::kWait:
      return control_handler(instruction);
    case Group::kScalarMemory:
      return scalar_memory_handler(instruction);
    case Group::kVector:
    case Group::kCompare:
    case Group::kPacked:
      if (Handler handler = cross_lane_handler(instruction)) return handler;
      if (Handler handler = mixed_handler(instruction)) return handler;
      return vector_handler(instruction);
    case Group::kMatrix:
      return matrix_handler(instruction);
    case Group::kLds:
      return lds_handler(instruction);
    case Group::kMemory:
      if (Handler handler = atomic_handler(instruction)) return handler;
      return memory_handler(instruction);
  }
  return nullptr;
}

bool is_built(const Instruction& instruction) { return handler_of(instruction) != nullptr; }

const Executable& executable_of(const CodeObject::Program& program) {
  std::call_once(program.executable_once, [&program] {
    auto executable = std::make_shared<Executable>();
    executable->code.reserve(program.instructions.size() + 1);
    for (const Instruction& each : program.instructions) {
      executable->code.push_back(lowered(each, *executable));
    }
    static const Instruction kEnd;
    Ins end;
    end.run = run_outside;
    end.from = program.instructions.empty() ? &kEnd : &program.instructions.back();
    executable->code.push_back(end);
    program.executable = std::move(executable);
  });
  return *program.executable;
}

}  // namespace halyard::inline v0::sim::gfx
