// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/vector.h"

#include <algorithm>
#include <cstring>

namespace halyard::inline v0::sim::gfx {
namespace {

bool is_packed_type(Type type) { return type >= Type::kPackedB16 && type <= Type::kPackedBf16; }

// The result of an instruction before it is written.
struct Computed {
  RowBuffer result;
  std::uint32_t mask = 0;
  std::uint32_t enabled = 0;  // lanes that are written
};

std::uint32_t mask_in(const Wave& wave, const Ins& ins) {
  const Operand& mask = ins.from->sources[ins.lane->sources];
  if (ins.lane->sources < 3 && mask.type == Type::kMask) return wave.read32(mask);
  return wave.s[kVccLow];
}

bool needs_modified(const Wave& wave, const Ins& ins) {
  return ins.has_modifiers || wave.mode.denormals != 15;
}

void compute_plain(Wave& wave, const Ins& ins, Computed& computed) {
  const LaneOperation& lane = *ins.lane;
  LaneArguments x;
  RowBuffer buffers[3];
  for (unsigned i = 0; i < lane.sources; ++i) {
    x.sources[i] = ins.sources[i].from == RowSource::kVector
                       ? wave.row(ins.sources[i].index)
                       : plain_rows(wave, ins, i, dwords_of(lane.kinds[i]), buffers[i]);
  }
  if (lane.reads_mask) x.mask_in = mask_in(wave, ins);
  x.d = computed.result.rows;
  ins.function(x);
  computed.mask = x.mask_out;
  computed.enabled = wave.exec();
}

void compute_modified(Wave& wave, const Ins& ins, Computed& computed) {
  const LaneOperation& lane = *ins.lane;
  LaneArguments x;
  RowBuffer buffers[3];
  computed.enabled = wave.exec();
  for (unsigned i = 0; i < lane.sources; ++i) {
    x.sources[i] = prepared_rows(wave, ins, i, lane.kinds[i], buffers[i], computed.enabled);
  }
  if (lane.reads_mask) x.mask_in = mask_in(wave, ins);
  x.d = computed.result.rows;
  ins.function(x);
  computed.mask = x.mask_out;
  if (is_float(lane.result)) {
    modify_result(wave, *ins.from, lane.result, computed.result.rows, lane.flushes);
  }
}

void compute(Wave& wave, const Ins& ins, Computed& computed) {
  if (needs_modified(wave, ins)) {
    compute_modified(wave, ins, computed);
  } else {
    compute_plain(wave, ins, computed);
  }
}

void commit(Wave& wave, const Ins& ins, const Computed& computed) {
  const LaneOperation& lane = *ins.lane;
  if (lane.result != ValueKind::kNone) {
    write_result(wave, ins, lane.result, computed.result.rows, computed.enabled);
  }
  if (lane.writes_mask) {
    const Operand& mask = ins.from->second_destination.is(OperandKind::kNone)
                              ? ins.from->destination
                              : ins.from->second_destination;
    // The bits of inactive lanes become 0.
    if (mask.kind == OperandKind::kScalar) {
      wave.set_scalar(mask.index, computed.mask & computed.enabled);
    }
  }
}

void run_lanes(Wave& wave, const Ins& ins) {
  if (wave.exec() == 0 && !ins.lane->writes_mask) return;
  Computed computed;
  compute(wave, ins, computed);
  commit(wave, ins, computed);
}

void run_compare(Wave& wave, const Ins& ins) {
  Computed computed;
  compute(wave, ins, computed);
  const std::uint32_t mask = computed.mask & computed.enabled;
  const Operand& destination = ins.from->destination;
  wave.set_scalar(destination.type == Type::kExec ? kExecLow : destination.index, mask);
}

// Both instructions of a pair read their operands before either writes.
void run_dual(Wave& wave, const Ins& ins) {
  const Ins& second = wave.code[wave.pc++];
  if (wave.exec() == 0) return;
  Computed first_computed, second_computed;
  compute(wave, ins, first_computed);
  compute(wave, second, second_computed);
  commit(wave, ins, first_computed);
  commit(wave, second, second_computed);
}

void run_nothing(Wave&, const Ins&) {}

void run_swap(Wave& wave, const Ins& ins) {
  std::uint32_t* const a = wave.row(ins.from->destination.index);
  std::uint32_t* const b = wave.row(ins.from->sources[0].index);
  each_active(wave.exec(), [&](unsigned lane) { std::swap(a[lane], b[lane]); });
}

void run_swap_half(Wave& wave, const Ins& ins) {
  const Operand &first = ins.from->destination, &second = ins.from->sources[0];
  const unsigned x = first.high ? 16 : 0, y = second.high ? 16 : 0;
  std::uint32_t* const a = wave.row(first.index);
  std::uint32_t* const b = wave.row(second.index);
  each_active(wave.exec(), [&](unsigned lane) {
    const std::uint32_t low = a[lane] >> x & 0xffffu, high = b[lane] >> y & 0xffffu;
    a[lane] = (a[lane] & ~(0xffffu << x)) | high << x;
    b[lane] = (b[lane] & ~(0xffffu << y)) | low << y;
  });
}

// Denormals of `kind` become 0 with their sign.
void flush_denormals(ValueKind kind, std::uint32_t* rows) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (kind == ValueKind::kF32) {
      if ((rows[lane] & 0x7f800000u) == 0) rows[lane] &= 0x80000000u;
    } else if (kind == ValueKind::kF16) {
      if ((rows[lane] & 0x7c00u) == 0) rows[lane] &= 0x8000u;
    } else if ((rows[kLanes + lane] & 0x7ff00000u) == 0) {
      rows[lane] = 0;
      rows[kLanes + lane] &= 0x80000000u;
    }
  }
}

bool keeps_denormals(const Wave& wave, ValueKind kind, unsigned bit) {
  const unsigned shift = kind == ValueKind::kF32 ? 0 : 2;
  return (wave.mode.denormals >> (shift + bit) & 1) != 0;
}

// Converts f16 to float, for the modifiers only.
float widened(std::uint32_t half) {
  const std::uint32_t magnitude = half & 0x7fffu;
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const float value =
      magnitude >= 0x7c00u ? std::bit_cast<float>(0x7f800000u | magnitude << 13) : scaled;
  return (half & 0x8000u) != 0 ? -value : value;
}

// Clamps to [0, 1]. A NaN becomes 0 if DX10_CLAMP is set.
template <class T>
int clamp_choice(T value, bool clamps_nan) {  // -1: as it is, 0, 1
  if (value != value) return clamps_nan ? 0 : -1;
  if (!(value > 0)) return 0;
  return value > 1 ? 1 : -1;
}

void clamp_rows(const Wave& wave, ValueKind kind, std::uint32_t* rows) {
  const bool clamps_nan = wave.mode.dx10_clamp;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (kind == ValueKind::kF32) {
      const int choice = clamp_choice(std::bit_cast<float>(rows[lane]), clamps_nan);
      if (choice >= 0) rows[lane] = choice == 0 ? 0 : 0x3f800000u;
    } else if (kind == ValueKind::kF16) {
      const int choice = clamp_choice(widened(rows[lane] & 0xffffu), clamps_nan);
      if (choice >= 0) rows[lane] = choice == 0 ? 0 : 0x3c00u;
    } else {
      const double value =
          std::bit_cast<double>(rows[lane] | std::uint64_t{rows[kLanes + lane]} << 32);
      const int choice = clamp_choice(value, clamps_nan);
      if (choice < 0) continue;
      rows[lane] = 0;
      rows[kLanes + lane] = choice == 0 ? 0 : 0x3ff00000u;
    }
  }
}

void scale_rows(ValueKind kind, OutputModifier output, std::uint32_t* rows) {
  const float factor = output == OutputModifier::kTimes2   ? 2.0f
                       : output == OutputModifier::kTimes4 ? 4.0f
                                                           : 0.5f;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (kind == ValueKind::kF32) {
      rows[lane] = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rows[lane]) * factor);
    } else if (kind == ValueKind::kF64) {
      const double value =
          std::bit_cast<double>(rows[lane] | std::uint64_t{rows[kLanes + lane]} << 32);
      const auto bits = std::bit_cast<std::uint64_t>(value * static_cast<double>(factor));
      rows[lane] = static_cast<std::uint32_t>(bits);
      rows[kLanes + lane] = static_cast<std::uint32_t>(bits >> 32);
    }
  }
}

}  // namespace

const std::uint32_t* operand_rows(Wave& wave, const Operand& operand, unsigned dwords,
                                  RowBuffer& buffer) {
  if (operand.kind == OperandKind::kVector) return wave.row(operand.index);
  if (operand.kind == OperandKind::kScalar) {
    for (unsigned i = 0; i < dwords; ++i) {
      std::fill_n(buffer.rows + i * kLanes, kLanes,
                  operand.index == kNull ? 0 : wave.s[operand.index + i]);
    }
    return buffer.rows;
  }
  const std::uint64_t value = dwords > 1 ? wave.read64(operand) : wave.read32(operand);
  std::fill_n(buffer.rows, kLanes, static_cast<std::uint32_t>(value));
  for (unsigned i = 1; i < dwords; ++i) {
    std::fill_n(buffer.rows + i * kLanes, kLanes,
                i == 1 ? static_cast<std::uint32_t>(value >> 32) : 0);
  }
  return buffer.rows;
}

const std::uint32_t* plain_rows(Wave& wave, const Ins& ins, unsigned index, unsigned dwords,
                                RowBuffer& buffer) {
  const InsSource& source = ins.sources[index];
  if (source.from == RowSource::kVector) return wave.row(source.index);
  if (source.from == RowSource::kConstant) return source.rows;
  return operand_rows(wave, ins.from->sources[index], dwords, buffer);
}

const std::uint32_t* prepared_rows(Wave& wave, const Ins& ins, unsigned index, ValueKind kind,
                                   RowBuffer& buffer, std::uint32_t& enabled) {
  const Operand& operand = ins.from->sources[index];
  const unsigned dwords = ins.lane->result_dwords == 4 && index == 2 ? 4 : dwords_of(kind);
  RowBuffer spread;
  const std::uint32_t* const rows = plain_rows(wave, ins, index, dwords, spread);
  if (index == 0 && ins.from->dpp.kind != Dpp::kNone) {
    move_rows(wave, ins.from->dpp, rows, dwords, buffer.rows, enabled);
  } else {
    std::memcpy(buffer.rows, rows, dwords * kLanes * sizeof(std::uint32_t));
  }
  std::uint32_t* const values = buffer.rows;
  if (is_packed_type(operand.type)) {
    if (ins.from->encoding != Encoding::kVop3p) return values;
    const unsigned low = operand.high ? 16 : 0, high = operand.high_for_high ? 16 : 0;
    const std::uint32_t signs =
        (operand.negate ? 0x8000u : 0) | (operand.negate_high ? 0x80000000u : 0);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t value = values[lane];
      values[lane] = ((value >> low & 0xffffu) | (value >> high & 0xffffu) << 16) ^ signs;
    }
    return values;
  }
  if (is_16_bit(kind) && operand.high) {
    for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] >>= 16;
  }
  if (is_float(kind) && (!keeps_denormals(wave, kind, 0) || ins.lane->flushes)) {
    flush_denormals(kind, values);
  }
  const std::uint32_t sign = is_16_bit(kind) ? 0x8000u : 0x80000000u;
  std::uint32_t* const top = values + (dwords == 2 ? kLanes : 0);
  if (operand.absolute) {
    for (unsigned lane = 0; lane < kLanes; ++lane) top[lane] &= ~sign;
  }
  if (operand.negate) {
    for (unsigned lane = 0; lane < kLanes; ++lane) top[lane] ^= sign;
  }
  return values;
}

void modify_result(const Wave& wave, const Instruction& from, ValueKind kind, std::uint32_t* rows,
                   bool flushes) {
  const bool keeps = keeps_denormals(wave, kind, 1) && !flushes;
  // Ignored in IEEE mode or if denormal results are enabled (manual, 7.2.4).
  if (from.output != OutputModifier::kNone && !wave.mode.ieee && !keeps) {
    scale_rows(kind, from.output, rows);
  }
  if (!keeps) flush_denormals(kind, rows);
  if (from.clamp) clamp_rows(wave, kind, rows);
}

void write_rows(Wave& wave, unsigned first, const std::uint32_t* rows, unsigned count,
                std::uint32_t mask) {
  std::uint32_t* const d = wave.row(first);
  if (mask == kAllLanes) {
    std::memcpy(d, rows, count * kLanes * sizeof(std::uint32_t));
    return;
  }
  for (unsigned i = 0; i < count * kLanes; i += kLanes) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      d[i + lane] = (mask >> lane & 1) != 0 ? rows[i + lane] : d[i + lane];
    }
  }
}

void write_result(Wave& wave, const Ins& ins, ValueKind kind, const std::uint32_t* rows,
                  std::uint32_t mask) {
  if (!is_16_bit(kind)) {
    write_rows(wave, ins.destination, rows, ins.result_dwords, mask);
    return;
  }
  std::uint32_t* const d = wave.row(ins.destination);
  const unsigned shift = ins.from->destination.high ? 16 : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t merged = (d[lane] & ~(0xffffu << shift)) | (rows[lane] & 0xffffu) << shift;
    d[lane] = (mask >> lane & 1) != 0 ? merged : d[lane];
  }
}

Handler vector_handler(const Instruction& instruction) {
  if (instruction.opcode == Opcode::v_nop || instruction.opcode == Opcode::v_pipeflush ||
      instruction.opcode == Opcode::v_permlane64_b32) {  // nothing in wave32
    return run_nothing;
  }
  if (instruction.opcode == Opcode::v_swap_b32) return run_swap;
  if (instruction.opcode == Opcode::v_swap_b16) return run_swap_half;
  const LaneOperation& lane = lane_operations()[instruction.opcode];
  if (lane.run == nullptr) return nullptr;
  const bool is_compare = facts_of(instruction.opcode).group == Group::kCompare;
  const bool has_own_clamp = is_float(lane.result) || lane.result == ValueKind::kNone;
  if (instruction.clamp && !has_own_clamp && lane.run_clamped == nullptr) return nullptr;
  if (instruction.is_dual_with_next) return run_dual;
  return is_compare ? run_compare : run_lanes;
}

}  // namespace halyard::inline v0::sim::gfx
