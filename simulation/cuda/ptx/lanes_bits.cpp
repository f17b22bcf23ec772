// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logic, shifts and bit fields.
#include <algorithm>
#include <limits>

#include "simulation/cuda/ptx/lanes.h"

namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA {
namespace {

template <class T>
constexpr std::uint32_t kBits = 8 * sizeof(T);

template <class T>
struct And {
  static T run(T a, T b) { return a & b; }
};
template <class T>
struct Or {
  static T run(T a, T b) { return a | b; }
};
template <class T>
struct Xor {
  static T run(T a, T b) { return a ^ b; }
};
template <class T>
struct Not {
  static T run(T a) { return static_cast<T>(~a); }
};
template <class T>
struct LogicalNot {
  static T run(T a) { return a == 0 ? 1 : 0; }
};
template <class T>
struct Reverse {
  static T run(T a) {
    T result = 0;
    for (unsigned i = 0; i < kBits<T>; ++i) {
      result = static_cast<T>(result << 1 | (a & 1));
      a = static_cast<T>(a >> 1);
    }
    return result;
  }
};

template <template <class> class Op>
Handler pick_unary(Type type) {
  return type.bytes == 2   ? unary<std::uint16_t, Op>
         : type.bytes == 4 ? unary<std::uint32_t, Op>
         : type.bytes == 8 ? unary<std::uint64_t, Op>
                           : nullptr;
}
template <template <class> class Op>
Handler pick_binary(Type type) {
  return type.bytes == 2   ? binary<std::uint16_t, Op>
         : type.bytes == 4 ? binary<std::uint32_t, Op>
         : type.bytes == 8 ? binary<std::uint64_t, Op>
                           : nullptr;
}

// Shift amounts have 32 bits; amounts beyond the width act like the width.
template <class T>
void shift_left(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) {
    const std::uint32_t amount = b[lane];
    const T shifted = static_cast<T>(Modular<T>(a[lane]) << (amount & (kBits<Modular<T>> - 1)));
    return amount < kBits<T> ? shifted : T{0};
  });
}
template <class T>
void shift_right(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) {
    const std::uint32_t amount = b[lane];
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a[lane] >> (amount < kBits<T> ? amount : kBits<T> - 1));
    } else {
      const T shifted = static_cast<T>(a[lane] >> (amount & (kBits<T> - 1)));
      return amount < kBits<T> ? shifted : T{0};
    }
  });
}

template <bool Left, bool Wrap>
void funnel(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    const std::uint32_t amount = Wrap ? c[lane] & 31 : std::min(c[lane], 32u);
    const std::uint64_t both = std::uint64_t{b[lane]} << 32 | a[lane];
    return static_cast<std::uint32_t>(Left ? both << amount >> 32 : both >> amount);
  });
}

template <class T>
void extract(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  using U = std::make_unsigned_t<T>;
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) {
    const std::uint32_t position = b[lane] & 0xff, length = c[lane] & 0xff;
    const auto bits = static_cast<U>(a[lane]);
    U result = position < kBits<T> ? static_cast<U>(bits >> position) : U{0};
    if (length < kBits<T>) result &= static_cast<U>((U{1} << length) - 1);
    if (std::is_signed_v<T> && length != 0) {
      const std::uint32_t sign_at = std::min(position + length - 1, kBits<T> - 1);
      const bool sign = (bits >> sign_at & 1) != 0;
      // Bits of the result from here on are copies of the sign.
      const std::uint32_t from = std::min(length, position < kBits<T> ? kBits<T> - position : 0u);
      if (sign && from < kBits<T>) result |= static_cast<U>(~U{0} << from);
    }
    return static_cast<T>(result);
  });
}

template <class T>
void insert(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  const auto* const e = warp.in<std::uint32_t>(ins.e);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) {
    const std::uint32_t position = c[lane] & 0xff, length = e[lane] & 0xff;
    if (position >= kBits<T>) return b[lane];
    const T field =
        length < kBits<T> ? static_cast<T>((T{1} << length) - 1) : static_cast<T>(~T{0});
    const T mask = static_cast<T>(field << position);
    return static_cast<T>((b[lane] & ~mask) | (a[lane] << position & mask));
  });
}

// Operations with 32-bit results.
template <class T>
void count_ones(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  each_lane(warp, warp.at<std::uint32_t>(ins.d),
            [&](unsigned lane) { return static_cast<std::uint32_t>(std::popcount(a[lane])); });
}
template <class T>
void count_zeros(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  each_lane(warp, warp.at<std::uint32_t>(ins.d),
            [&](unsigned lane) { return static_cast<std::uint32_t>(std::countl_zero(a[lane])); });
}
template <class T>
void find_bit(Warp& warp, const Ins& ins) {
  using U = std::make_unsigned_t<T>;
  const T* const a = warp.in<T>(ins.a);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    const auto bits = static_cast<U>(a[lane] < 0 ? ~a[lane] : a[lane]);
    if (bits == 0) return UINT32_MAX;
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
    return ins.flags != 0 ? zeros : kBits<T> - 1 - zeros;
  });
}

// fns.b32 d, mask, base, offset
void find_nth(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::int32_t>(ins.c);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    const std::uint32_t mask = a[lane], base = b[lane];
    const std::int32_t offset = c[lane];
    if (base > 31) return UINT32_MAX;
    if (offset == 0) return (mask >> base & 1) != 0 ? base : UINT32_MAX;
    std::int64_t left = offset > 0 ? offset : -std::int64_t{offset};
    for (std::int32_t i = static_cast<std::int32_t>(base); i >= 0 && i < 32;
         i += offset > 0 ? 1 : -1) {
      if ((mask >> i & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(i);
    }
    return UINT32_MAX;
  });
}

enum class Permute : std::uint8_t { kIndex, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16 };

void permute(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  const auto mode = static_cast<Permute>(ins.count);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    const std::uint64_t bytes = std::uint64_t{b[lane]} << 32 | a[lane];
    const std::uint32_t selector = c[lane];
    const std::uint32_t low = selector & 3;
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::uint32_t from = 0;
      switch (mode) {
        case Permute::kIndex:
          from = selector >> (4 * i) & 0xf;
          break;
        case Permute::kF4e:
          from = low + i;
          break;
        case Permute::kB4e:
          from = (low - i) & 7;
          break;
        case Permute::kRc8:
          from = low;
          break;
        case Permute::kEcl:
          from = std::max(i, low);
          break;
        case Permute::kEcr:
          from = std::min(i, low);
          break;
        case Permute::kRc16:
          from = (low & 1) * 2 + (i & 1);
          break;
      }
      std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (from & 7))) & 0xff;
      if ((from & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  });
}

// The table is ins.flags. If e is set, it gets a predicate of the result, combined by "or" if count
// is 0 and by "and" if it is 1.
void lop3(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  const std::uint8_t table = ins.flags;
  auto* const d = warp.at<std::uint32_t>(ins.d);
  LaneMask result = 0;
  std::uint32_t masks[8];
  for (unsigned i = 0; i < 8; ++i) masks[i] = 0 - (table >> i & 1u);
  each_lane(warp, d, [&](unsigned lane) {
    const std::uint32_t x = a[lane], y = b[lane], z = c[lane];
    return (masks[0] & ~x & ~y & ~z) | (masks[1] & ~x & ~y & z) | (masks[2] & ~x & y & ~z) |
           (masks[3] & ~x & y & z) | (masks[4] & x & ~y & ~z) | (masks[5] & x & ~y & z) |
           (masks[6] & x & y & ~z) | (masks[7] & x & y & z);
  });
  if (ins.e == kNoSlot) return;
  // The sources may have been overwritten, but the result is in d.
  result = lanes_where([&](unsigned lane) { return d[lane] != 0; });
  const LaneMask q = warp.predicate(static_cast<Slot>(ins.imm)) ^ (ins.extra != 0 ? kAllLanes : 0);
  warp.set_predicate(ins.e, ins.count == 0 ? result | q : result & q);
}

template <class T>
void extend(Warp& warp, const Ins& ins) {  // szext
  const T* const a = warp.in<T>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) {
    const std::uint32_t width = ins.flags != 0 ? b[lane] & 31 : b[lane];
    if (width == 0) return T{0};
    if (width >= 32) return a[lane];
    const std::uint32_t shift = 32 - width;
    return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(a[lane]) << shift) >> shift);
  });
}

void make_mask(Warp& warp, const Ins& ins) {  // bmsk
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    const std::uint32_t position = ins.flags != 0 ? a[lane] & 31 : std::min(a[lane], 32u);
    const std::uint32_t length = ins.flags != 0 ? b[lane] & 31 : std::min(b[lane], 32u);
    const std::uint64_t ones = (std::uint64_t{1} << length) - 1;
    return static_cast<std::uint32_t>(ones << position);
  });
}

template <class Op>
void predicate_logic(Warp& warp, const Ins& ins) {
  warp.set_predicate(ins.d, Op::run(warp.predicate(ins.a), warp.predicate(ins.b)));
}
void predicate_not(Warp& warp, const Ins& ins) {
  warp.set_predicate(ins.d, ~warp.predicate(ins.a));
}

void lower_logic(Lowering& lowering, std::string_view opcode) {
  const Type type = lowering.take_type();
  const bool is_not = opcode == "not";
  if (type.kind == Kind::kPredicate) {
    const Handler run = is_not            ? predicate_not
                        : opcode == "and" ? predicate_logic<And<LaneMask>>
                        : opcode == "or"  ? predicate_logic<Or<LaneMask>>
                                          : predicate_logic<Xor<LaneMask>>;
    lowering.expect_operands(is_not ? 2 : 3, is_not ? 2 : 3);
    lowering.emit(run, lowering.predicate_target(lowering.operand(0)),
                  lowering.predicate(lowering.operand(1)),
                  is_not ? kNoSlot : lowering.predicate(lowering.operand(2)));
    return;
  }
  const Handler run = is_not            ? pick_unary<Not>(type)
                      : opcode == "and" ? pick_binary<And>(type)
                      : opcode == "or"  ? pick_binary<Or>(type)
                                        : pick_binary<Xor>(type);
  emit_same(lowering, run, type, is_not ? 1 : 2);
}

template <class T>
struct ShiftLeft {
  static constexpr Handler run = shift_left<T>;
};
template <class T>
struct ShiftRight {
  static constexpr Handler run = shift_right<T>;
};

// d and a of `type`, then `count` operands of 32 bits.
Ins& emit_with_counts(Lowering& lowering, Handler run, Type type, unsigned count) {
  if (run == nullptr) lowering.fail_modifier();
  lowering.expect_operands(count + 2, count + 2);
  Ins ins;
  ins.run = run;
  ins.d = lowering.target(lowering.operand(0), type);
  ins.a = lowering.source(lowering.operand(1), type);
  ins.b = lowering.source(lowering.operand(2), kU32);
  if (count > 1) ins.c = lowering.source(lowering.operand(3), kU32);
  return lowering.emit(ins);
}

void emit_count(Lowering& lowering, Handler run32, Handler run64, Type type) {
  const Handler run = type.bytes == 4 ? run32 : type.bytes == 8 ? run64 : nullptr;
  if (run == nullptr) lowering.fail_modifier();
  lowering.expect_operands(2, 2);
  lowering.emit(run, lowering.target(lowering.operand(0), kU32),
                lowering.source(lowering.operand(1), type));
}

void lower_extract(Lowering& lowering) {
  const Type type = lowering.take_type();
  const Handler run =
      type.bytes == 4   ? (type.is_signed() ? extract<std::int32_t> : extract<std::uint32_t>)
      : type.bytes == 8 ? (type.is_signed() ? extract<std::int64_t> : extract<std::uint64_t>)
                        : nullptr;
  emit_with_counts(lowering, run, type, 2);
}

void lower_insert(Lowering& lowering) {
  const Type type = lowering.take_type();
  if (type.bytes != 4 && type.bytes != 8) lowering.fail_modifier();
  lowering.expect_operands(5, 5);
  Ins ins;
  ins.run = type.bytes == 4 ? insert<std::uint32_t> : insert<std::uint64_t>;
  ins.d = lowering.target(lowering.operand(0), type);
  ins.a = lowering.source(lowering.operand(1), type);
  ins.b = lowering.source(lowering.operand(2), type);
  ins.c = lowering.source(lowering.operand(3), kU32);
  ins.e = lowering.source(lowering.operand(4), kU32);
  lowering.emit(ins);
}

void lower_find(Lowering& lowering) {
  const bool is_shift = lowering.take("shiftamt");
  const Type type = lowering.take_type();
  if (type.bytes != 4 && type.bytes != 8) lowering.fail_modifier();
  const Handler run = type.bytes == 4
                          ? (type.is_signed() ? find_bit<std::int32_t> : find_bit<std::uint32_t>)
                          : (type.is_signed() ? find_bit<std::int64_t> : find_bit<std::uint64_t>);
  lowering.expect_operands(2, 2);
  lowering
      .emit(run, lowering.target(lowering.operand(0), kU32),
            lowering.source(lowering.operand(1), type))
      .flags = is_shift ? 1 : 0;
}

void lower_permute(Lowering& lowering) {
  constexpr std::string_view kModes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  lowering.take("b32");
  std::uint8_t mode = 0;
  for (std::uint8_t i = 1; i < 7; ++i) {
    if (lowering.take(kModes[i])) mode = i;
  }
  emit_same(lowering, permute, kB32, 3).count = mode;
}

void lower_lop3(Lowering& lowering) {
  const bool is_or = lowering.take("or"), is_and = !is_or && lowering.take("and");
  if (lowering.take_type() != kB32) lowering.fail_modifier();
  const bool has_predicate = is_or || is_and;
  lowering.expect_operands(has_predicate ? 6 : 5, has_predicate ? 6 : 5);
  Ins ins;
  ins.run = lop3;
  Operand d = lowering.operand(0);
  if (has_predicate) {
    if (d.kind != Operand::Kind::kPair) lowering.fail_modifier();
    ins.e = lowering.predicate_target(d.elements[1]);
    const Operand first = d.elements[0];
    d = first;
    Operand q = lowering.operand(5);
    ins.extra = q.negated ? 1 : 0;
    q.negated = false;
    ins.imm = lowering.predicate(q);
    ins.count = is_or ? 0 : 1;
  }
  // "_" as d: the predicate still needs the result.
  ins.d =
      d.kind == Operand::Kind::kNone ? lowering.temporary(4 * kLanes) : lowering.target(d, kB32);
  ins.a = lowering.source(lowering.operand(1), kB32);
  ins.b = lowering.source(lowering.operand(2), kB32);
  ins.c = lowering.source(lowering.operand(3), kB32);
  const std::uint64_t table = lowering.immediate(lowering.operand(4));
  if (table > 255) lowering.fail("Value out of range for 'lop3'");
  ins.flags = static_cast<std::uint8_t>(table);
  lowering.emit(ins);
}

void lower_funnel(Lowering& lowering) {
  const bool is_left = lowering.take("l");
  if (!is_left && !lowering.take("r")) lowering.fail_modifier();
  const bool is_wrap = lowering.take("wrap");
  if (!is_wrap && !lowering.take("clamp")) lowering.fail_modifier();
  if (lowering.take_type() != kB32) lowering.fail_modifier();
  emit_same(lowering,
            is_left ? (is_wrap ? funnel<true, true> : funnel<true, false>)
                    : (is_wrap ? funnel<false, true> : funnel<false, false>),
            kB32, 3);
}

}  // namespace

bool lower_bits(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  if (opcode == "and" || opcode == "or" || opcode == "xor" || opcode == "not") {
    lower_logic(lowering, opcode);
  } else if (opcode == "cnot") {
    const Type type = lowering.take_type();
    emit_same(lowering, pick_unary<LogicalNot>(type), type, 1);
  } else if (opcode == "brev") {
    const Type type = lowering.take_type();
    if (type.bytes == 2) lowering.fail_modifier();
    emit_same(lowering, pick_unary<Reverse>(type), type, 1);
  } else if (opcode == "shl") {
    const Type type = lowering.take_type();
    emit_with_counts(lowering, for_bits<ShiftLeft>(type), type, 1);
  } else if (opcode == "shr") {
    const Type type = lowering.take_type();
    emit_with_counts(lowering, for_integer<ShiftRight>(type), type, 1);
  } else if (opcode == "shf") {
    lower_funnel(lowering);
  } else if (opcode == "bfe") {
    lower_extract(lowering);
  } else if (opcode == "bfi") {
    lower_insert(lowering);
  } else if (opcode == "popc") {
    emit_count(lowering, count_ones<std::uint32_t>, count_ones<std::uint64_t>,
               lowering.take_type());
  } else if (opcode == "clz") {
    emit_count(lowering, count_zeros<std::uint32_t>, count_zeros<std::uint64_t>,
               lowering.take_type());
  } else if (opcode == "bfind") {
    lower_find(lowering);
  } else if (opcode == "fns") {
    lowering.take("b32");
    emit_same(lowering, find_nth, kB32, 3);
  } else if (opcode == "prmt") {
    lower_permute(lowering);
  } else if (opcode == "lop3") {
    lower_lop3(lowering);
  } else if (opcode == "szext" || opcode == "bmsk") {
    const bool is_wrap = lowering.take("wrap");
    if (!is_wrap && !lowering.take("clamp")) lowering.fail_modifier();
    const Type type = lowering.take_type();
    if (type.bytes != 4) lowering.fail_modifier();
    const Handler run = opcode == "bmsk"   ? make_mask
                        : type.is_signed() ? extend<std::int32_t>
                                           : extend<std::uint32_t>;
    emit_with_counts(lowering, run, type, 1).flags = is_wrap ? 1 : 0;
  } else {
    return false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA
