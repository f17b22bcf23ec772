// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that move between the lanes of a wave: DPP, v_readlane_b32, v_permlane16_b32 and the like
// (manual, 7.7, 7.8, 16.9).
#include <bit>
#include <cstring>

#include "simulation/hip/gfx/vector.h"

namespace halyard::inline v0::sim::gfx {
namespace {

constexpr unsigned kNoLane = ~0u;

// The lane that `lane` reads by a DPP16 control, or kNoLane beyond the row of 16.
unsigned dpp16_source(unsigned control, unsigned lane) {
  const unsigned row = lane & ~15u, in_row = lane & 15u;
  const unsigned amount = control & 15;
  if (control <= 0xff) return (lane & ~3u) | (control >> (2 * (lane & 3)) & 3);  // quad_perm
  switch (control >> 4) {
    case 0x10:  // row_shl
      return in_row + amount < 16 ? lane + amount : kNoLane;
    case 0x11:  // row_shr
      return in_row >= amount ? lane - amount : kNoLane;
    case 0x12:  // row_ror
      return row | ((in_row - amount) & 15);
    case 0x14:
      return row | (amount == 0 ? 15 - in_row : in_row ^ 7);  // row_mirror, row_half_mirror
    case 0x15:                                                // row_share
      return row | amount;
    case 0x16:  // row_xmask
      return row | (in_row ^ amount);
  }
  return kNoLane;
}

unsigned first_lane(std::uint32_t exec) {
  return exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
}

void run_read_first_lane(Wave& wave, const Ins& ins) {
  RowBuffer buffer;
  const std::uint32_t* const rows = operand_rows(wave, ins.from->sources[0], 1, buffer);
  wave.set_scalar(ins.from->destination.index, rows[first_lane(wave.exec())]);
}
void run_read_lane(Wave& wave, const Ins& ins) {
  RowBuffer buffer;
  const std::uint32_t* const rows = operand_rows(wave, ins.from->sources[0], 1, buffer);
  const std::uint32_t lane = wave.read32(ins.from->sources[1]) & (kLanes - 1);
  wave.set_scalar(ins.from->destination.index, rows[lane]);
}
void run_write_lane(Wave& wave, const Ins& ins) {
  const std::uint32_t lane = wave.read32(ins.from->sources[1]) & (kLanes - 1);
  wave.row(ins.from->destination.index)[lane] = wave.read32(ins.from->sources[0]);
}

// Each lane reads a lane of its row, or of the other row, selected by its four bits of two scalars.
template <bool kOther>
void run_permute_row(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  RowBuffer buffer, result;
  const std::uint32_t* const rows = operand_rows(wave, from.sources[0], 1, buffer);
  const std::uint64_t select =
      wave.read32(from.sources[1]) | std::uint64_t{wave.read32(from.sources[2])} << 32;
  std::uint32_t enabled = wave.exec();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned row = (lane & 16) ^ (kOther ? 16 : 0);
    const unsigned source = row | (select >> (4 * (lane & 15)) & 15);
    const bool is_there = from.dpp.fetch_inactive || (wave.exec() >> source & 1) != 0;
    result.rows[lane] = is_there ? rows[source] : 0;
    if (!is_there && !from.dpp.bound_control) enabled &= ~(1u << lane);
  }
  write_rows(wave, from.destination.index, result.rows, 1, enabled);
}

}  // namespace

void move_rows(const Wave& wave, const DppControl& dpp, const std::uint32_t* rows, unsigned dwords,
               std::uint32_t* moved, std::uint32_t& enabled) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    unsigned source = kNoLane;
    if (dpp.kind == Dpp::kDpp8) {
      source = (lane & ~7u) | dpp.select[lane & 7];
    } else {
      source = dpp16_source(dpp.control, lane);
      const bool is_masked =
          (dpp.row_mask >> (lane / 16) & 1) == 0 || (dpp.bank_mask >> (lane % 16 / 4) & 1) == 0;
      if (is_masked) enabled &= ~(1u << lane);
    }
    const bool is_there =
        source != kNoLane && (dpp.fetch_inactive || (wave.exec() >> source & 1) != 0);
    // DPP8 has no bound control: an inactive lane reads as 0.
    if (!is_there && dpp.kind == Dpp::kDpp16 && !dpp.bound_control) enabled &= ~(1u << lane);
    for (unsigned i = 0; i < dwords; ++i) {
      moved[i * kLanes + lane] = is_there ? rows[i * kLanes + source] : 0;
    }
  }
}

Handler cross_lane_handler(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::v_readfirstlane_b32:
      return run_read_first_lane;
    case Opcode::v_readlane_b32:
      return run_read_lane;
    case Opcode::v_writelane_b32:
      return run_write_lane;
    case Opcode::v_permlane16_b32:
      return run_permute_row<false>;
    case Opcode::v_permlanex16_b32:
      return run_permute_row<true>;
    default:
      return nullptr;
  }
}

}  // namespace halyard::inline v0::sim::gfx
