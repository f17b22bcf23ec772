// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic.
#include <algorithm>
#include <limits>

#include "simulation/cuda/ptx/lanes.h"

namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
// The type of twice the width and the same signedness.
template <class T>
struct Doubled;
template <>
struct Doubled<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct Doubled<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct Doubled<std::int32_t> {
  using type = std::int64_t;
};
template <>
struct Doubled<std::uint32_t> {
  using type = std::uint64_t;
};
__extension__ typedef __int128 Signed128;
__extension__ typedef unsigned __int128 Unsigned128;
template <>
struct Doubled<std::int64_t> {
  using type = Signed128;
};
template <>
struct Doubled<std::uint64_t> {
  using type = Unsigned128;
};
template <class T>
using Wide = typename Doubled<T>::type;

template <class T>
T saturate(std::int64_t value) {
  return static_cast<T>(std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(),
                                                 std::numeric_limits<T>::max()));
}

template <class T>
struct Add {
  static T run(T a, T b) { return static_cast<T>(Modular<T>(a) + Modular<T>(b)); }
};
template <class T>
struct Subtract {
  static T run(T a, T b) { return static_cast<T>(Modular<T>(a) - Modular<T>(b)); }
};
template <class T>
struct AddSaturated {
  static T run(T a, T b) { return saturate<T>(std::int64_t{a} + b); }
};
template <class T>
struct SubtractSaturated {
  static T run(T a, T b) { return saturate<T>(std::int64_t{a} - b); }
};
template <class T>
struct MultiplyLow {
  static T run(T a, T b) { return static_cast<T>(Modular<T>(a) * Modular<T>(b)); }
};
template <class T>
struct MultiplyHigh {
  static T run(T a, T b) { return static_cast<T>((Wide<T>{a} * Wide<T>{b}) >> (8 * sizeof(T))); }
};
template <class T>
struct MadLow {
  static T run(T a, T b, T c) {
    return static_cast<T>(Modular<T>(a) * Modular<T>(b) + Modular<T>(c));
  }
};
template <class T>
struct MadHigh {
  static T run(T a, T b, T c) { return Add<T>::run(MultiplyHigh<T>::run(a, b), c); }
};
template <class T>
struct MadHighSaturated {
  static T run(T a, T b, T c) {
    if constexpr (sizeof(T) == 8) {
      return MadHigh<T>::run(a, b, c);
    } else {
      return saturate<T>(std::int64_t{MultiplyHigh<T>::run(a, b)} + c);
    }
  }
};
template <class T>
struct Divide {
  static T run(T a, T b) {
    // Division by zero yields all ones; INT_MIN / -1 wraps.
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - Modular<T>(a));
    }
    return static_cast<T>(a / b);
  }
};
template <class T>
struct Remainder {
  static T run(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
template <class T>
struct Minimum {
  static T run(T a, T b) { return a < b ? a : b; }
};
template <class T>
struct Maximum {
  static T run(T a, T b) { return a > b ? a : b; }
};
template <class T>
struct MinimumRelu {
  static T run(T a, T b) { return Maximum<T>::run(Minimum<T>::run(a, b), 0); }
};
template <class T>
struct MaximumRelu {
  static T run(T a, T b) { return Maximum<T>::run(Maximum<T>::run(a, b), 0); }
};
template <class T>
struct Absolute {
  static T run(T a) { return a < 0 ? static_cast<T>(0 - Modular<T>(a)) : a; }
};
template <class T>
struct Negate {
  static T run(T a) { return static_cast<T>(0 - Modular<T>(a)); }
};
template <class T>
struct SumOfDifferences {
  static T run(T a, T b, T c) {
    const Modular<T> difference =
        a < b ? Modular<T>(b) - Modular<T>(a) : Modular<T>(a) - Modular<T>(b);
    return static_cast<T>(Modular<T>(c) + difference);
  }
};

template <class T>
T low24(T a) {
  // The low 24 bits, with their sign.
  return static_cast<T>(static_cast<T>(static_cast<Unsigned<T>>(a) << 8) >> 8);
}
template <class T>
struct Multiply24Low {
  static T run(T a, T b) { return MultiplyLow<T>::run(low24(a), low24(b)); }
};
template <class T>
struct Multiply24High {
  static T run(T a, T b) { return static_cast<T>((Wide<T>{low24(a)} * Wide<T>{low24(b)}) >> 16); }
};
template <class T>
struct Mad24Low {
  static T run(T a, T b, T c) { return Add<T>::run(Multiply24Low<T>::run(a, b), c); }
};
template <class T>
struct Mad24High {
  static T run(T a, T b, T c) { return Add<T>::run(Multiply24High<T>::run(a, b), c); }
};

template <template <class> class Op>
struct Unary {
  template <class T>
  struct For {
    static constexpr Handler run = unary<T, Op>;
  };
};
template <template <class> class Op>
struct Binary {
  template <class T>
  struct For {
    static constexpr Handler run = binary<T, Op>;
  };
};
template <template <class> class Op>
struct Ternary {
  template <class T>
  struct For {
    static constexpr Handler run = ternary<T, Op>;
  };
};

template <class T>
void multiply_wide(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  each_lane(warp, warp.at<Wide<T>>(ins.d),
            [&](unsigned lane) { return Wide<T>(Wide<T>{a[lane]} * Wide<T>{b[lane]}); });
}
template <class T>
void mad_wide(Warp& warp, const Ins& ins) {
  using Result = std::make_unsigned_t<Wide<T>>;
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  const Result* const c = warp.in<Result>(ins.c);
  each_lane(warp, warp.at<Result>(ins.d), [&](unsigned lane) {
    return static_cast<Result>(static_cast<Result>(Wide<T>{a[lane]} * Wide<T>{b[lane]}) + c[lane]);
  });
}

// add.cc, addc, sub.cc, subc and mad.cc, madc with products of either half. A subtraction adds the
// complement, so that its carry is 1 if there is no borrow: nvcc's 128-bit division reads the carry
// of sub.cc with addc, and ptxas compiles it this way. Of Ins::flags:
enum CarryFlags : std::uint8_t {
  kReadsCarry = 1,
  kWritesCarry = 2,
  kSubtracts = 4,
  kMultiplies = 8,
  kHighHalf = 16,
};
template <class T, bool Signed>
void carry(Warp& warp, const Ins& ins) {
  using Product = std::conditional_t<Signed, std::make_signed_t<T>, T>;
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  const T* const c = ins.c == kNoSlot ? nullptr : warp.in<T>(ins.c);
  T* const d = warp.at<T>(ins.d);
  each_active(warp.exec, [&](unsigned lane) {
    T x = a[lane], y = b[lane];
    if ((ins.flags & kMultiplies) != 0) {
      x = (ins.flags & kHighHalf) != 0 ? static_cast<T>(MultiplyHigh<Product>::run(
                                             static_cast<Product>(x), static_cast<Product>(y)))
                                       : static_cast<T>(x * y);
      y = c[lane];
    }
    T in = (ins.flags & kSubtracts) != 0 ? 1 : 0;
    if ((ins.flags & kReadsCarry) != 0) in = warp.carries >> lane & 1;
    if ((ins.flags & kSubtracts) != 0) y = static_cast<T>(~y);
    const T sum = x + y + in;
    const bool out = sum < x || (sum == x && in != 0);
    d[lane] = sum;
    if ((ins.flags & kWritesCarry) == 0) return;
    const LaneMask bit = LaneMask{1} << lane;
    warp.carries = out ? warp.carries | bit : warp.carries & ~bit;
  });
}

bool lower_carry(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  const bool reads = opcode == "addc" || opcode == "subc" || opcode == "madc";
  if (!reads && !lowering.has_modifier("cc")) return false;
  std::uint8_t flags = reads ? kReadsCarry : 0;
  if (lowering.take("cc")) flags |= kWritesCarry;
  if (opcode.starts_with("sub")) flags |= kSubtracts;
  const bool is_mad = opcode.starts_with("mad");
  if (is_mad) {
    flags |= kMultiplies;
    if (lowering.take("hi")) {
      flags |= kHighHalf;
    } else if (!lowering.take("lo")) {
      lowering.fail_modifier();
    }
  }
  const Type type = lowering.take_type();
  if (!type.is_integer() || (type.bytes != 4 && type.bytes != 8)) lowering.fail_modifier();
  const bool is_signed = type.is_signed();
  const Handler run = type.bytes == 4
                          ? (is_signed ? carry<std::uint32_t, true> : carry<std::uint32_t, false>)
                          : (is_signed ? carry<std::uint64_t, true> : carry<std::uint64_t, false>);
  emit_same(lowering, run, type, is_mad ? 3 : 2).flags = flags;
  return true;
}

void lower_multiply(Lowering& lowering, bool is_mad) {
  const bool is_wide = lowering.take("wide");
  const bool is_high = !is_wide && lowering.take("hi");
  if (!is_wide && !is_high && !lowering.take("lo")) lowering.fail_modifier();
  const bool is_saturated = is_mad && is_high && lowering.take("sat");
  const Type type = lowering.take_type();
  if (!type.is_integer()) lowering.fail_modifier();
  if (!is_wide) {
    const Handler run = is_saturated ? for_integer<Ternary<MadHighSaturated>::For>(type)
                        : is_mad     ? (is_high ? for_integer<Ternary<MadHigh>::For>(type)
                                                : for_integer<Ternary<MadLow>::For>(type))
                                     : (is_high ? for_integer<Binary<MultiplyHigh>::For>(type)
                                                : for_integer<Binary<MultiplyLow>::For>(type));
    emit_same(lowering, run, type, is_mad ? 3 : 2);
    return;
  }
  if (type.bytes != 2 && type.bytes != 4) lowering.fail_modifier();
  const Type wide{type.kind, static_cast<std::uint8_t>(2 * type.bytes)};
  const bool is_signed = type.is_signed();
  lowering.expect_operands(is_mad ? 4 : 3, is_mad ? 4 : 3);
  Ins ins;
  ins.d = lowering.target(lowering.operand(0), wide);
  ins.a = lowering.source(lowering.operand(1), type);
  ins.b = lowering.source(lowering.operand(2), type);
  if (is_mad) {
    ins.c = lowering.source(lowering.operand(3), wide);
    ins.run = type.bytes == 2 ? (is_signed ? mad_wide<std::int16_t> : mad_wide<std::uint16_t>)
                              : (is_signed ? mad_wide<std::int32_t> : mad_wide<std::uint32_t>);
  } else {
    ins.run = type.bytes == 2
                  ? (is_signed ? multiply_wide<std::int16_t> : multiply_wide<std::uint16_t>)
                  : (is_signed ? multiply_wide<std::int32_t> : multiply_wide<std::uint32_t>);
  }
  lowering.emit(ins);
}

void lower_24(Lowering& lowering, bool is_mad) {
  const bool is_high = lowering.take("hi");
  if (!is_high && !lowering.take("lo")) lowering.fail_modifier();
  const Type type = lowering.take_type();
  if (!type.is_integer() || type.bytes != 4) lowering.fail_modifier();
  const auto pick = [&](Handler if_signed, Handler if_unsigned) {
    return type.is_signed() ? if_signed : if_unsigned;
  };
  Handler run = nullptr;
  if (is_mad) {
    run = is_high ? pick(ternary<std::int32_t, Mad24High>, ternary<std::uint32_t, Mad24High>)
                  : pick(ternary<std::int32_t, Mad24Low>, ternary<std::uint32_t, Mad24Low>);
  } else {
    run = is_high
              ? pick(binary<std::int32_t, Multiply24High>, binary<std::uint32_t, Multiply24High>)
              : pick(binary<std::int32_t, Multiply24Low>, binary<std::uint32_t, Multiply24Low>);
  }
  emit_same(lowering, run, type, is_mad ? 3 : 2);
}

// dp4a and dp2a. flags: bit 0: a is signed; bit 1: b is; bit 2: dp2a of the high bytes of b.
template <bool Four>
void dot(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  const bool a_signed = (ins.flags & 1) != 0, b_signed = (ins.flags & 2) != 0;
  const auto byte_of = [](std::uint32_t word, unsigned i, bool is_signed) {
    const std::uint32_t byte = word >> (8 * i) & 0xff;
    return is_signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(byte))
                     : static_cast<std::int32_t>(byte);
  };
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    std::uint32_t sum = c[lane];
    for (unsigned i = 0; i < (Four ? 4u : 2u); ++i) {
      std::int32_t x = 0;
      if constexpr (Four) {
        x = byte_of(a[lane], i, a_signed);
      } else {
        const std::uint32_t half = a[lane] >> (16 * i) & 0xffff;
        x = a_signed ? static_cast<std::int16_t>(half) : static_cast<std::int32_t>(half);
      }
      const unsigned at = Four ? i : i + ((ins.flags & 4) != 0 ? 2 : 0);
      sum += static_cast<std::uint32_t>(x * byte_of(b[lane], at, b_signed));
    }
    return sum;
  });
}

void lower_dot(Lowering& lowering, bool is_four) {
  std::uint8_t flags = 0;
  if (!is_four) {
    if (lowering.take("hi")) {
      flags |= 4;
    } else if (!lowering.take("lo")) {
      lowering.fail_modifier();
    }
  }
  const Type a = lowering.take_type(), b = lowering.take_type();
  if (a.bytes != 4 || b.bytes != 4) lowering.fail_modifier();
  if (a.is_signed()) flags |= 1;
  if (b.is_signed()) flags |= 2;
  emit_same(lowering, is_four ? dot<true> : dot<false>, kU32, 3).flags |= flags;
}

template <template <class> class Op>
bool lower_binary(Lowering& lowering, Type type) {
  emit_same(lowering, for_integer<Binary<Op>::template For>(type), type, 2);
  return true;
}

}  // namespace

bool lower_integer(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  if (lowering.has_modifier("u16x2") || lowering.has_modifier("s16x2")) return false;
  const auto integer_type = [&] {
    const Type type = lowering.take_type();
    if (!type.is_integer()) lowering.fail_modifier();
    return type;
  };
  if ((opcode.starts_with("add") || opcode.starts_with("sub") || opcode.starts_with("mad")) &&
      opcode.size() <= 4 && lower_carry(lowering)) {
    return true;
  }
  if (opcode == "add" || opcode == "sub") {
    const bool is_add = opcode == "add";
    if (lowering.take("sat")) {
      if (integer_type() != Type{Kind::kSigned, 4}) lowering.fail_modifier();
      emit_same(
          lowering,
          is_add ? binary<std::int32_t, AddSaturated> : binary<std::int32_t, SubtractSaturated>,
          {Kind::kSigned, 4}, 2);
      return true;
    }
    const Type type = integer_type();
    return is_add ? lower_binary<Add>(lowering, type) : lower_binary<Subtract>(lowering, type);
  }
  if (opcode == "mul" || opcode == "mad") {
    lower_multiply(lowering, opcode == "mad");
  } else if (opcode == "mul24" || opcode == "mad24") {
    lower_24(lowering, opcode == "mad24");
  } else if (opcode == "div") {
    return lower_binary<Divide>(lowering, integer_type());
  } else if (opcode == "rem") {
    return lower_binary<Remainder>(lowering, integer_type());
  } else if (opcode == "min" || opcode == "max") {
    const bool is_relu = lowering.take("relu");
    const Type type = integer_type();
    if (is_relu && type != Type{Kind::kSigned, 4}) lowering.fail_modifier();
    if (opcode == "min") {
      return is_relu ? lower_binary<MinimumRelu>(lowering, type)
                     : lower_binary<Minimum>(lowering, type);
    }
    return is_relu ? lower_binary<MaximumRelu>(lowering, type)
                   : lower_binary<Maximum>(lowering, type);
  } else if (opcode == "abs") {
    const Type type = integer_type();
    emit_same(lowering, for_integer<Unary<Absolute>::For>(type), type, 1);
  } else if (opcode == "neg") {
    const Type type = integer_type();
    emit_same(lowering, for_integer<Unary<Negate>::For>(type), type, 1);
  } else if (opcode == "sad") {
    const Type type = integer_type();
    emit_same(lowering, for_integer<Ternary<SumOfDifferences>::For>(type), type, 3);
  } else if (opcode == "dp4a" || opcode == "dp2a") {
    lower_dot(lowering, opcode == "dp4a");
  } else {
    return false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA
