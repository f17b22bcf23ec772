// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// set, setp, selp, slct.
#include <optional>

#include "simulation/cuda/ptx/half.h"
#include "simulation/cuda/ptx/lanes.h"

namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA {
namespace {

enum class Comparison : std::uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan
};

// Of Ins::flags.
constexpr std::uint8_t kFtz = 1;
constexpr std::uint8_t kNegatedC = 2;
enum class Combine : std::uint8_t { kNone, kAnd, kOr, kXor };

template <Comparison C, class T>
bool compare(T a, T b) {
  [[maybe_unused]] const bool is_ordered = a == a && b == b;
  switch (C) {
    case Comparison::kEq:
      return a == b;
    case Comparison::kNe:
      return a != b && is_ordered;
    case Comparison::kLt:
      return a < b;
    case Comparison::kLe:
      return a <= b;
    case Comparison::kGt:
      return a > b;
    case Comparison::kGe:
      return a >= b;
    case Comparison::kEqu:
      return a == b || !is_ordered;
    case Comparison::kNeu:
      return a != b;
    case Comparison::kLtu:
      return !(a >= b);
    case Comparison::kLeu:
      return !(a > b);
    case Comparison::kGtu:
      return !(a <= b);
    case Comparison::kGeu:
      return !(a < b);
    case Comparison::kNum:
      return is_ordered;
    case Comparison::kNan:
      return !is_ordered;
  }
  return false;
}

inline float flush(float value) { return std::fabs(value) < 0x1p-126f ? value * 0.0f : value; }

// The value of a register, for comparisons: halves as floats.
struct HalfBits {
  std::uint16_t bits;
};
struct BfloatBits {
  std::uint16_t bits;
};
template <class T>
T value_of(T value) {
  return value;
}
inline float value_of(HalfBits value) { return half_to_float(value.bits); }
inline float value_of(BfloatBits value) { return bfloat_to_float(value.bits); }

template <Comparison C, class T>
LaneMask compare_lanes(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  if constexpr (std::is_same_v<T, float>) {
    if ((ins.flags & kFtz) != 0) {
      return lanes_where([&](unsigned lane) { return compare<C>(flush(a[lane]), flush(b[lane])); });
    }
  }
  return lanes_where(
      [&](unsigned lane) { return compare<C>(value_of(a[lane]), value_of(b[lane])); });
}

// Combines the value with c, if present, as count selects.
LaneMask combine(Warp& warp, const Ins& ins, LaneMask value) {
  if (static_cast<Combine>(ins.count) == Combine::kNone) return value;
  const LaneMask c = warp.predicate(ins.c) ^ ((ins.flags & kNegatedC) != 0 ? kAllLanes : 0);
  switch (static_cast<Combine>(ins.count)) {
    case Combine::kAnd:
      return value & c;
    case Combine::kOr:
      return value | c;
    default:
      return value ^ c;
  }
}

template <Comparison C, class T>
void setp(Warp& warp, const Ins& ins) {
  const LaneMask value = compare_lanes<C, T>(warp, ins);
  const LaneMask first = combine(warp, ins, value);
  const LaneMask second = ins.e == kNoSlot ? 0 : combine(warp, ins, ~value);
  warp.set_predicate(ins.d, first);
  if (ins.e != kNoSlot) warp.set_predicate(ins.e, second);
}

// ins.imm: the value for true, which has 32 or 16 bits.
template <Comparison C, class T>
void set(Warp& warp, const Ins& ins) {
  const LaneMask value = combine(warp, ins, compare_lanes<C, T>(warp, ins));
  const auto yes = static_cast<std::uint32_t>(ins.imm);
  if (ins.extra == 2) {
    each_lane(warp, warp.at<std::uint16_t>(ins.d), [&](unsigned lane) {
      return (value >> lane & 1) != 0 ? static_cast<std::uint16_t>(yes) : std::uint16_t{0};
    });
    return;
  }
  each_lane(warp, warp.at<std::uint32_t>(ins.d),
            [&](unsigned lane) { return (value >> lane & 1) != 0 ? yes : 0u; });
}

// Two comparisons of halves packed in 32 bits: bits or 1.0 in each half, or a predicate for each.
template <Comparison C, bool IsBfloat>
void compare_packed(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  LaneMask results[2];
  for (unsigned i = 0; i < 2; ++i) {
    results[i] = lanes_where([&](unsigned lane) {
      const auto x = static_cast<std::uint16_t>(a[lane] >> (16 * i));
      const auto y = static_cast<std::uint16_t>(b[lane] >> (16 * i));
      return IsBfloat ? compare<C>(bfloat_to_float(x), bfloat_to_float(y))
                      : compare<C>(half_to_float(x), half_to_float(y));
    });
    results[i] = combine(warp, ins, results[i]);
  }
  if (ins.e != kNoSlot) {  // setp
    warp.set_predicate(ins.d, results[0]);
    warp.set_predicate(ins.e, results[1]);
    return;
  }
  const auto yes = static_cast<std::uint32_t>(ins.imm);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    return ((results[0] >> lane & 1) != 0 ? yes : 0u) |
           ((results[1] >> lane & 1) != 0 ? yes << 16 : 0u);
  });
}

template <Comparison C, template <Comparison, class> class Handlers>
Handler pick_type(Type type) {
  if (type == kF32) return Handlers<C, float>::run;
  if (type == kF64) return Handlers<C, double>::run;
  if (type == kF16) return Handlers<C, HalfBits>::run;
  if (type == kBf16) return Handlers<C, BfloatBits>::run;
  if (type.kind == Kind::kHalf2) return compare_packed<C, false>;
  if (type.kind == Kind::kBfloat2) return compare_packed<C, true>;
  if (!type.is_integer()) return nullptr;
  if constexpr (C <= Comparison::kGe) {
    switch (type.bytes) {
      case 2:
        return type.is_signed() ? Handlers<C, std::int16_t>::run : Handlers<C, std::uint16_t>::run;
      case 4:
        return type.is_signed() ? Handlers<C, std::int32_t>::run : Handlers<C, std::uint32_t>::run;
      case 8:
        return type.is_signed() ? Handlers<C, std::int64_t>::run : Handlers<C, std::uint64_t>::run;
    }
  }
  return nullptr;
}

template <Comparison C, class T>
struct Setp {
  static constexpr Handler run = setp<C, T>;
};
template <Comparison C, class T>
struct Set {
  static constexpr Handler run = set<C, T>;
};

template <template <Comparison, class> class Handlers>
Handler pick(Comparison comparison, Type type) {
  switch (comparison) {
    case Comparison::kEq:
      return pick_type<Comparison::kEq, Handlers>(type);
    case Comparison::kNe:
      return pick_type<Comparison::kNe, Handlers>(type);
    case Comparison::kLt:
      return pick_type<Comparison::kLt, Handlers>(type);
    case Comparison::kLe:
      return pick_type<Comparison::kLe, Handlers>(type);
    case Comparison::kGt:
      return pick_type<Comparison::kGt, Handlers>(type);
    case Comparison::kGe:
      return pick_type<Comparison::kGe, Handlers>(type);
    case Comparison::kEqu:
      return pick_type<Comparison::kEqu, Handlers>(type);
    case Comparison::kNeu:
      return pick_type<Comparison::kNeu, Handlers>(type);
    case Comparison::kLtu:
      return pick_type<Comparison::kLtu, Handlers>(type);
    case Comparison::kLeu:
      return pick_type<Comparison::kLeu, Handlers>(type);
    case Comparison::kGtu:
      return pick_type<Comparison::kGtu, Handlers>(type);
    case Comparison::kGeu:
      return pick_type<Comparison::kGeu, Handlers>(type);
    case Comparison::kNum:
      return pick_type<Comparison::kNum, Handlers>(type);
    case Comparison::kNan:
      return pick_type<Comparison::kNan, Handlers>(type);
  }
  return nullptr;
}

std::optional<Comparison> take_comparison(Lowering& lowering) {
  struct Named {
    std::string_view name;
    Comparison comparison;
  };
  // lo, ls, hi, hs: unsigned comparisons of bits and unsigned integers.
  constexpr Named kNames[] = {
      {"eq", Comparison::kEq},   {"ne", Comparison::kNe},   {"lt", Comparison::kLt},
      {"le", Comparison::kLe},   {"gt", Comparison::kGt},   {"ge", Comparison::kGe},
      {"equ", Comparison::kEqu}, {"neu", Comparison::kNeu}, {"ltu", Comparison::kLtu},
      {"leu", Comparison::kLeu}, {"gtu", Comparison::kGtu}, {"geu", Comparison::kGeu},
      {"num", Comparison::kNum}, {"nan", Comparison::kNan}, {"lo", Comparison::kLt},
      {"ls", Comparison::kLe},   {"hi", Comparison::kGt},   {"hs", Comparison::kGe}};
  for (const Named& each : kNames) {
    if (lowering.take(each.name)) return each.comparison;
  }
  return std::nullopt;
}

std::optional<Combine> take_combine(Lowering& lowering) {
  if (lowering.take("and")) return Combine::kAnd;
  if (lowering.take("or")) return Combine::kOr;
  if (lowering.take("xor")) return Combine::kXor;
  return std::nullopt;
}

void lower_set(Lowering& lowering, bool is_setp) {
  const auto comparison = take_comparison(lowering);
  if (!comparison) lowering.fail_modifier();
  const auto combined = take_combine(lowering);
  Ins ins;
  if (lowering.take("ftz")) ins.flags |= kFtz;
  Type result{};
  if (!is_setp) result = lowering.take_type();
  const Type type = lowering.take_type();
  const bool is_packed = type.kind == Kind::kHalf2 || type.kind == Kind::kBfloat2;
  ins.run = is_setp ? pick<Setp>(*comparison, type) : pick<Set>(*comparison, type);
  if (ins.run == nullptr) lowering.fail_modifier();
  lowering.expect_operands(combined ? 4 : 3, combined ? 4 : 3);
  if (is_setp) {
    const Operand& d = lowering.operand(0);
    if (d.kind == Operand::Kind::kPair) {
      ins.d = lowering.predicate_target(d.elements[0]);
      ins.e = lowering.predicate_target(d.elements[1]);
    } else {
      ins.d = lowering.predicate_target(d);
      if (is_packed) lowering.fail("Arguments mismatch for instruction 'setp'");
    }
  } else {
    ins.d = lowering.target(lowering.operand(0), result);
    if (result == kF32) {
      ins.imm = 0x3f800000;
    } else if (result == kF16 || result.kind == Kind::kHalf2) {
      ins.imm = 0x3c00;
    } else if (result == kBf16 || result.kind == Kind::kBfloat2) {
      ins.imm = 0x3f80;
    } else if (result.is_integer() && (result.bytes == 4 || result.bytes == 2)) {
      ins.imm = result.bytes == 2 || is_packed ? 0xffff : 0xffffffff;
    } else {
      lowering.fail_modifier();
    }
    ins.extra = result.bytes;
  }
  ins.a = lowering.source(lowering.operand(1), type);
  ins.b = lowering.source(lowering.operand(2), type);
  if (combined) {
    ins.count = static_cast<std::uint8_t>(*combined);
    Operand c = lowering.operand(3);
    if (c.negated) ins.flags |= kNegatedC;
    c.negated = false;
    ins.c = lowering.predicate(c);
  } else {
    ins.count = static_cast<std::uint8_t>(Combine::kNone);
  }
  lowering.emit(ins);
}

template <class T>
void select(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  const LaneMask chosen = warp.predicate(ins.c);
  each_lane(warp, warp.at<T>(ins.d),
            [&](unsigned lane) { return (chosen >> lane & 1) != 0 ? a[lane] : b[lane]; });
}

template <class T, class C>
void select_by_sign(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  const C* const c = warp.in<C>(ins.c);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) {
    if constexpr (std::is_same_v<C, float>) {
      // With .ftz a small negative number is -0, which is not less than zero.
      const float value = ins.flags != 0 ? flush(c[lane]) : c[lane];
      return value >= 0 ? a[lane] : b[lane];
    } else {
      return c[lane] >= 0 ? a[lane] : b[lane];
    }
  });
}

}  // namespace

bool lower_compare(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  if (opcode == "setp" || opcode == "set") {
    lower_set(lowering, opcode == "setp");
  } else if (opcode == "selp") {
    const Type type = lowering.take_type();
    lowering.expect_operands(4, 4);
    const Handler run = type.bytes == 2   ? select<std::uint16_t>
                        : type.bytes == 4 ? select<std::uint32_t>
                        : type.bytes == 8 ? select<std::uint64_t>
                                          : nullptr;
    if (run == nullptr || type.kind == Kind::kPredicate) lowering.fail_modifier();
    lowering.emit(
        run, lowering.target(lowering.operand(0), type), lowering.source(lowering.operand(1), type),
        lowering.source(lowering.operand(2), type), lowering.predicate(lowering.operand(3)));
  } else if (opcode == "slct") {
    const bool is_ftz = lowering.take("ftz");
    const Type type = lowering.take_type(), by = lowering.take_type();
    const bool is_float = by == kF32;
    if (!is_float && by != Type{Kind::kSigned, 4}) lowering.fail_modifier();
    const Handler run = type.bytes == 2   ? (is_float ? select_by_sign<std::uint16_t, float>
                                                      : select_by_sign<std::uint16_t, std::int32_t>)
                        : type.bytes == 4 ? (is_float ? select_by_sign<std::uint32_t, float>
                                                      : select_by_sign<std::uint32_t, std::int32_t>)
                        : type.bytes == 8 ? (is_float ? select_by_sign<std::uint64_t, float>
                                                      : select_by_sign<std::uint64_t, std::int32_t>)
                                          : nullptr;
    if (run == nullptr) lowering.fail_modifier();
    lowering.expect_operands(4, 4);
    lowering
        .emit(run, lowering.target(lowering.operand(0), type),
              lowering.source(lowering.operand(1), type),
              lowering.source(lowering.operand(2), type), lowering.source(lowering.operand(3), by))
        .flags = is_ftz ? 1 : 0;
  } else {
    return false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA
