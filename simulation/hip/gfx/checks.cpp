// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/checks.h"

#include <algorithm>

#include "simulation/hip/gfx/text.h"
#include "simulation/hip/gfx/workgroup.h"

namespace halyard::inline v0::sim::gfx {
namespace {

unsigned lane_of(const Wave& wave) {
  return wave.exec() == 0 ? 0 : static_cast<unsigned>(std::countr_zero(wave.exec()));
}

std::string register_text(bool is_vector, unsigned index) {
  if (is_vector) return join("v", index);
  if (index == kVccLow) return "vcc_lo";
  if (index == kVccHigh) return "vcc_hi";
  if (index == kM0) return "m0";
  return join("s", index);
}

constexpr unsigned kMostCounted = 63;

// The high half of their addend may be an unwritten register, if the compiler needs only the low
// half, as in a 32-bit product.
bool is_wide_sum(Opcode opcode) {
  return opcode == Opcode::v_mad_u64_u32 || opcode == Opcode::v_mad_i64_i32;
}

bool is_memory(Group group) { return group == Group::kLds || group == Group::kMemory; }

}  // namespace

std::optional<LdsChecks::Race> LdsChecks::access(std::uint32_t wave, const Instruction& at,
                                                 std::size_t offset, std::size_t size,
                                                 Access access) {
  const bool is_atomic = access == Access::kAtomic;
  const bool is_write = access != Access::kRead;
  const Use use{epoch_, static_cast<std::uint16_t>(wave), is_atomic, &at};
  std::optional<Race> race;
  const auto check = [&](const Use& other, bool other_is_write) {
    if (race || !is_concurrent(other, wave) || (is_atomic && other.is_atomic)) return;
    race = Race{other.wave, other.at, other_is_write};
  };
  for (std::size_t i = offset; i < offset + size && i < bytes_.size(); ++i) {
    Byte& byte = bytes_[i];
    check(byte.write, true);
    if (is_write) {
      for (const Use& read : byte.reads) check(read, false);
      byte.write = use;
      continue;
    }
    // Replaces a reader of an earlier epoch or of this wave, or otherwise the last reader.
    Use* place = &byte.reads[1];
    for (Use& read : byte.reads) {
      if (read.epoch != epoch_ || read.wave == wave) {
        place = &read;
        break;
      }
    }
    *place = use;
  }
  return race;
}

void Checks::reset(const std::bitset<kScalarRegisters>& scalars) {
  vectors_.reset();
  scalars_.reset();
  for (unsigned i = 0; i < kScalarRegisters; ++i) scalars_[i] = scalars[i];
  scalars_[kExecLow] = scalars_[kExecHigh] = scalars_[kNull] = true;
  vectors_[0] = true;
  has_scc_ = false;
  pending_.clear();
}

void Checks::report_undefined(Wave& wave, const Instruction& at, std::string_view what) {
  wave.group->run->report(FindingKind::kUndefinedRegister, wave, at, lane_of(wave),
                          "reads " + std::string(what) + ", which nothing has written");
}

void Checks::check_pending(Wave& wave, const Instruction& at, bool is_vector, unsigned first,
                           unsigned count, bool is_write) {
  for (const Pending& each : pending_) {
    if (each.count == 0 || each.is_vector != is_vector || first >= each.first + each.count ||
        each.first >= first + count) {
      continue;
    }
    // Loads that return in order write in order.
    const OpcodeFacts& facts = facts_of(at.opcode);
    if (is_write && each.counter != Counter::kScalar && is_memory(facts.group) &&
        is_memory(facts_of(each.at->opcode).group) &&
        facts.group == facts_of(each.at->opcode).group) {
      continue;
    }
    const Run& run = *wave.group->run;
    wave.group->run->report(
        FindingKind::kMissingWait, wave, at, lane_of(wave),
        join(is_write ? "writes " : "reads ", register_text(is_vector, std::max(first, each.first)),
             ", which the instruction at offset ",
             hex(each.at->offset_in_code - run.code->entry_offset), " still writes"));
    return;
  }
}

void Checks::read_scalar(Wave& wave, const Instruction& at, unsigned first, unsigned count) {
  if (first == kNull) return;
  if (!pending_.empty()) check_pending(wave, at, false, first, count, false);
  for (unsigned i = first; i < first + count; ++i) {
    if (scalars_[i]) continue;
    report_undefined(wave, at, register_text(false, i));
    return;
  }
}

void Checks::read(Wave& wave, const Instruction& at, const Operand& operand, unsigned count) {
  if (operand.kind == OperandKind::kScalar) {
    read_scalar(wave, at, operand.index, count);
  } else if (operand.kind == OperandKind::kVector) {
    if (!pending_.empty()) check_pending(wave, at, true, operand.index, count, false);
    const unsigned checked = is_wide_sum(at.opcode) ? 1 : count;
    for (unsigned i = operand.index; i < operand.index + checked; ++i) {
      if (vectors_[i]) continue;
      report_undefined(wave, at, register_text(true, i));
      return;
    }
  } else if (operand.kind == OperandKind::kSpecial &&
             static_cast<Special>(operand.index) == Special::kScc && !has_scc_) {
    report_undefined(wave, at, "scc");
  }
}

void Checks::write(Wave& wave, const Instruction& at, const Operand& operand, unsigned count) {
  if (pending_.empty()) return;
  if (operand.kind == OperandKind::kScalar && operand.index != kNull) {
    check_pending(wave, at, false, operand.index, count, true);
  } else if (operand.kind == OperandKind::kVector) {
    check_pending(wave, at, true, operand.index, count, true);
  }
}

// v_movreld_b32 and the like.
static bool moves_relatively(const OpcodeFacts& facts) {
  return (facts.facts & kReadsM0) != 0 && facts.destination != Type::kNone;
}
static bool reads_relatively(const Instruction& from) {
  return moves_relatively(facts_of(from.opcode)) && from.opcode != Opcode::v_movreld_b32 &&
         from.opcode != Opcode::s_movreld_b32 && from.opcode != Opcode::s_movreld_b64;
}

void Checks::before(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  const OpcodeFacts& facts = facts_of(from.opcode);
  if (facts.group == Group::kWait) {
    wait(from);
    return;
  }
  for (const Operand& source : from.sources) {
    // Not yet mistakes: an undefined value that only a part of the destination keeps, its copy, and
    // reads that EXEC disables.
    if (source && source.kind == OperandKind::kVector && wave.exec() == 0 &&
        (facts.facts & kIgnoresExec) == 0) {
      continue;
    }
    // M0 chooses the register, which may differ from the named register.
    if (reads_relatively(from)) continue;
    if (source) read(wave, from, source, registers_of(source.type));
  }
  if ((facts.facts & kReadsVcc) != 0) read_scalar(wave, from, kVccLow, 1);
  if ((facts.facts & kReadsScc) != 0 && !has_scc_) report_undefined(wave, from, "scc");
  if (from.destination) write(wave, from, from.destination, registers_of(from.destination.type));
  if (from.second_destination) write(wave, from, from.second_destination, 1);
}

void Checks::define(const Operand& operand, unsigned count) {
  for (unsigned i = operand.index; i < operand.index + count; ++i) {
    if (operand.kind == OperandKind::kVector) vectors_[i] = true;
    if (operand.kind == OperandKind::kScalar) scalars_[i] = true;
  }
}

void Checks::after(const Ins& ins) {
  const Instruction& from = *ins.from;
  const OpcodeFacts& facts = facts_of(from.opcode);
  if ((facts.facts & kWritesScc) != 0) has_scc_ = true;
  if (from.second_destination) define(from.second_destination, 1);
  if ((facts.facts & kWritesSource) != 0) define(from.sources[0], 1);
  const bool has_result = static_cast<bool>(from.destination);
  const unsigned count = has_result ? registers_of(from.destination.type) : 0;
  if (has_result) define(from.destination, count);
  // The move may have written any register, so all of them count as written.
  if (has_result && moves_relatively(facts)) {
    from.destination.kind == OperandKind::kVector ? void(vectors_.set()) : void(scalars_.set());
  }
  if (is_wide_sum(from.opcode) && from.sources[2].kind == OperandKind::kVector) {
    vectors_[from.destination.index + 1] = vectors_[from.sources[2].index + 1];
  }
  const bool is_vector = from.destination.kind == OperandKind::kVector;
  const auto add = [&](Counter counter) {
    // The hardware waits if its counter would overflow.
    if (pending_.size() >= 4 * kMostCounted) drop(counter, kMostCounted);
    pending_.push_back({counter, &from, is_vector, from.destination.index, count});
  };
  if (facts.group == Group::kScalarMemory && has_result) {
    add(Counter::kScalar);
  } else if (facts.group == Group::kLds) {
    add(Counter::kLds);  // stores are counted as well
  } else if (facts.group == Group::kMemory) {
    if (has_result) add(Counter::kVectorLoads);
    if (from.segment == Segment::kFlat) add(Counter::kLds);  // may be LDS
  }
}

void Checks::wait(const Instruction& from) {
  if (pending_.empty()) return;
  if (from.opcode == Opcode::s_wait_idle) {
    pending_.clear();
    return;
  }
  if (from.wait.vector_loads != WaitCounts::kAny) {
    drop(Counter::kVectorLoads, from.wait.vector_loads);
  }
  if (from.wait.scalar_and_lds != WaitCounts::kAny) {
    drop(Counter::kLds, from.wait.scalar_and_lds);
    if (from.wait.scalar_and_lds == 0) drop(Counter::kScalar, 0);
  }
}

// Keeps the newest `left` pending loads of a counter.
void Checks::drop(Counter counter, unsigned left) {
  auto count = static_cast<std::size_t>(std::ranges::count(pending_, counter, &Pending::counter));
  std::erase_if(pending_, [&](const Pending& each) {
    if (each.counter != counter || count <= left) return false;
    --count;
    return true;
  });
}

}  // namespace halyard::inline v0::sim::gfx
