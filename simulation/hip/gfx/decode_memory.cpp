// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DS, FLAT, GLOBAL, SCRATCH and MUBUF (manual, sections 15.5, 15.6 and 15.8).
#include "simulation/hip/gfx/decoder.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

// The forms "_rtn" have separate numbers, 32 above those of the forms without a result. Operations
// that only have a form with a result do not need this rule, because that is their first number.
bool returns(Opcode opcode, unsigned number) {
  if (facts_of(opcode).destination == Type::kNone) return false;
  if ((facts_of(opcode).facts & kAtomic) == 0) return true;
  switch (opcode) {
    case Opcode::ds_storexchg_b32:
    case Opcode::ds_storexchg_2addr_b32:
    case Opcode::ds_storexchg_2addr_stride64_b32:
    case Opcode::ds_storexchg_b64:
    case Opcode::ds_storexchg_2addr_b64:
    case Opcode::ds_storexchg_2addr_stride64_b64:
    case Opcode::ds_wrap_b32:
    case Opcode::ds_condxchg32_b64:
      return true;
    default:
      return number != static_cast<unsigned>(number_in(Encoding::kDs, opcode));
  }
}

bool has_two_addresses(std::string_view name) {
  return name.find("2addr") != std::string_view::npos;
}

}  // namespace

bool Decoder::lds() {
  const std::uint32_t word = words_[0];
  const auto second = next_word();
  const unsigned number = field(word, 18, 8);
  if (!second || !begin(Encoding::kDs, number)) return false;
  if (bit(word, 17)) return refuse(join(facts().name, " of GDS is not built"));
  if (facts().group == Group::kWait) return true;  // ds_nop
  instruction_.segment = Segment::kLds;
  if (has_two_addresses(facts().name)) {
    instruction_.offset = static_cast<std::int32_t>(field(word, 0, 8));
    instruction_.offset1 = static_cast<std::int32_t>(field(word, 8, 8));
  } else {
    instruction_.offset = static_cast<std::int32_t>(field(word, 0, 16));
  }
  for (unsigned i = 0; i != 3; ++i) {
    const Type type = facts().sources[i];
    if (type != Type::kNone &&
        !vector_register(instruction_.sources[i], type, field(*second, 8 * i, 8))) {
      return false;
    }
  }
  return !returns(instruction_.opcode, number) ||
         vector_register(instruction_.destination, facts().destination, field(*second, 24, 8));
}

bool Decoder::flat() {
  const std::uint32_t word = words_[0];
  const auto second = next_word();
  if (!second) return false;
  constexpr std::array kEncoding = {Encoding::kFlat, Encoding::kScratch, Encoding::kGlobal};
  constexpr std::array kSegment = {Segment::kFlat, Segment::kScratch, Segment::kGlobal};
  const unsigned segment = field(word, 16, 2);
  if (segment == 3) return refuse("FLAT has no segment 3");
  if (!begin(kEncoding[segment], field(word, 18, 7))) return false;
  if (bit(word, 25)) return refuse(join(facts().name, " with bit 25 set"));
  instruction_.segment = kSegment[segment];
  instruction_.dlc = bit(word, 13);
  instruction_.glc = bit(word, 14);
  instruction_.slc = bit(word, 15);
  instruction_.offset = sign_extend(field(word, 0, 13), 13);
  if (instruction_.segment == Segment::kFlat && instruction_.offset < 0) {
    return refuse(join("flat_", facts().name, " with a negative offset"));
  }
  const unsigned address = field(*second, 0, 8), base = field(*second, 16, 7);
  const bool has_base = base != kNull && instruction_.segment != Segment::kFlat;
  if (instruction_.segment == Segment::kScratch) {
    if (bit(*second, 23) && !vector_register(instruction_.sources[0], Type::kU32, address)) {
      return false;
    }
  } else if (!vector_register(instruction_.sources[0], has_base ? Type::kU32 : Type::kU64,
                              address)) {
    return false;
  }
  if (base == kExecHigh) return refuse(join(facts().name, " with exec_hi as its base"));
  if (has_base &&
      !scalar_register(instruction_.sources[2],
                       instruction_.segment == Segment::kScratch ? Type::kU32 : Type::kU64, base)) {
    return false;
  }
  if (facts().sources[1] != Type::kNone &&
      !vector_register(instruction_.sources[1], facts().sources[1], field(*second, 8, 8))) {
    return false;
  }
  // Atomics have a result if "glc" is set.
  const bool has_result =
      facts().destination != Type::kNone && ((facts().facts & kAtomic) == 0 || instruction_.glc);
  return !has_result ||
         vector_register(instruction_.destination, facts().destination, field(*second, 24, 8));
}

bool Decoder::buffer() {
  const std::uint32_t word = words_[0];
  const auto second = next_word();
  if (!second || !begin(Encoding::kMubuf, field(word, 18, 8))) return false;
  if (facts().group == Group::kWait) return true;  // buffer_gl0_inv, buffer_gl1_inv
  instruction_.segment = Segment::kBuffer;
  instruction_.offset = static_cast<std::int32_t>(field(word, 0, 12));
  instruction_.slc = bit(word, 12);
  instruction_.dlc = bit(word, 13);
  instruction_.glc = bit(word, 14);
  instruction_.offset_enable = bit(*second, 22);
  instruction_.index_enable = bit(*second, 23);
  if (bit(*second, 21)) return refuse(join("buffer_", facts().name, " with tfe is not built"));
  auto& sources = instruction_.sources;
  if (instruction_.offset_enable || instruction_.index_enable) {
    const bool has_both = instruction_.offset_enable && instruction_.index_enable;
    if (!vector_register(sources[0], has_both ? Type::kU64 : Type::kU32, field(*second, 0, 8))) {
      return false;
    }
  }
  if (!scalar_register(sources[2], Type::kB128, field(*second, 16, 5) * 4)) return false;
  const unsigned offset = field(*second, 24, 8);
  if (offset == kSourceLiteral) return refuse("MUBUF has no literal");
  if (!scalar_source(sources[3], Type::kU32, offset)) return false;
  const unsigned data = field(*second, 8, 8);
  const bool is_atomic = (facts().facts & kAtomic) != 0;
  if (facts().sources[1] != Type::kNone && !vector_register(sources[1], facts().sources[1], data)) {
    return false;
  }
  return facts().destination == Type::kNone || (is_atomic && !instruction_.glc) ||
         vector_register(instruction_.destination, facts().destination, data);
}

}  // namespace halyard::inline v0::sim::gfx
