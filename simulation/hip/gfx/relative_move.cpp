// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves whose registers M0 chooses, which compilers use to index vectors: v_movreld_b32,
// s_movrels_b32 and the like (manual, sections 16.3 and 16.7); and the swap of halves.
#include <cstdint>

#include "simulation/hip/gfx/machine.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

// Fails if the register does not exist.
bool exists(Wave& wave, const Ins& ins, std::uint64_t index, unsigned count, unsigned limit) {
  if (index + count <= limit) return true;
  wave.fail(
      OutcomeKind::kIllegalInstruction, *ins.from, 0,
      join("m0 is ", wave.s[kM0], ", which chooses register ", index, " where there are ", limit));
  return false;
}

void move_lanes(Wave& wave, const Ins& ins, std::uint64_t from_offset, std::uint64_t to_offset) {
  const Operand& source = ins.from->sources[0];
  const std::uint64_t to = ins.from->destination.index + to_offset;
  if (!exists(wave, ins, to, 1, kVectorRegisters)) return;
  std::uint32_t* const result = wave.row(static_cast<unsigned>(to));
  if (!source.is(OperandKind::kVector)) {
    const std::uint32_t value = wave.read32(source);
    each_active(wave.exec(), [&](unsigned lane) { result[lane] = value; });
    return;
  }
  const std::uint64_t from = source.index + from_offset;
  if (!exists(wave, ins, from, 1, kVectorRegisters)) return;
  const std::uint32_t* const values = wave.row(static_cast<unsigned>(from));
  each_active(wave.exec(), [&](unsigned lane) { result[lane] = values[lane]; });
}

void run_from_relative(Wave& wave, const Ins& ins) { move_lanes(wave, ins, wave.s[kM0], 0); }
void run_to_relative(Wave& wave, const Ins& ins) { move_lanes(wave, ins, 0, wave.s[kM0]); }
void run_both_relative(Wave& wave, const Ins& ins) {
  move_lanes(wave, ins, wave.s[kM0], wave.s[kM0]);
}
// Bits 9-0 for the source, 25-16 for the destination.
void run_both_relative_apart(Wave& wave, const Ins& ins) {
  move_lanes(wave, ins, wave.s[kM0] & 1023, wave.s[kM0] >> 16 & 1023);
}

template <unsigned kCount>
void run_scalar_from_relative(Wave& wave, const Ins& ins) {
  const std::uint64_t from = std::uint64_t{ins.from->sources[0].index} + wave.s[kM0];
  if (!exists(wave, ins, from, kCount, kVccLow)) return;
  const auto index = static_cast<unsigned>(from);
  if constexpr (kCount == 1) {
    wave.set_scalar(ins.from->destination.index, wave.scalar(index));
  } else {
    wave.set_scalar64(ins.from->destination.index, wave.scalar64(index));
  }
}

template <unsigned kCount>
void run_scalar_to_relative(Wave& wave, const Ins& ins) {
  const std::uint64_t to = std::uint64_t{ins.from->destination.index} + wave.s[kM0];
  if (!exists(wave, ins, to, kCount, kVccLow)) return;
  const auto index = static_cast<unsigned>(to);
  if constexpr (kCount == 1) {
    wave.set_scalar(index, wave.read32(ins.from->sources[0]));
  } else {
    wave.set_scalar64(index, wave.read64(ins.from->sources[0]));
  }
}

void run_swap_halves(Wave& wave, const Ins& ins) {
  const Operand& first = ins.from->destination;
  const Operand& second = ins.from->sources[0];
  std::uint32_t* const a = wave.row(first.index);
  std::uint32_t* const b = wave.row(second.index);
  const unsigned a_shift = first.high ? 16 : 0, b_shift = second.high ? 16 : 0;
  each_active(wave.exec(), [&](unsigned lane) {
    const std::uint32_t of_a = a[lane] >> a_shift & 0xffff, of_b = b[lane] >> b_shift & 0xffff;
    a[lane] = (a[lane] & ~(0xffffu << a_shift)) | of_b << a_shift;
    b[lane] = (b[lane] & ~(0xffffu << b_shift)) | of_a << b_shift;
  });
}

}  // namespace

Handler relative_move_handler(const Instruction& instruction) {
  if (instruction.dpp.kind != Dpp::kNone) return nullptr;
  switch (instruction.opcode) {
    case Opcode::v_movrels_b32:
      return run_from_relative;
    case Opcode::v_movreld_b32:
      return run_to_relative;
    case Opcode::v_movrelsd_b32:
      return run_both_relative;
    case Opcode::v_movrelsd_2_b32:
      return run_both_relative_apart;
    case Opcode::s_movrels_b32:
      return run_scalar_from_relative<1>;
    case Opcode::s_movrels_b64:
      return run_scalar_from_relative<2>;
    case Opcode::s_movreld_b32:
      return run_scalar_to_relative<1>;
    case Opcode::s_movreld_b64:
      return run_scalar_to_relative<2>;
    case Opcode::v_swap_b16:
      return run_swap_halves;
    default:
      return nullptr;
  }
}

}  // namespace halyard::inline v0::sim::gfx
