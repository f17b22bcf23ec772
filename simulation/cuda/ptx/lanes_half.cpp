// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16, f16x2, bf16 and bf16x2.
#include "simulation/cuda/ptx/half.h"

namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA {
namespace {

// Of Ins::flags.
constexpr std::uint8_t kFtz = 1, kSat = 2, kRelu = 4;

template <class Format>
std::uint16_t flush(std::uint16_t value, std::uint8_t flags) {
  const bool is_small = (value & 0x7fff) < Format::kSmallestNormal;
  return (flags & kFtz) != 0 && is_small ? static_cast<std::uint16_t>(value & 0x8000) : value;
}

template <class Format>
std::uint16_t finish(float value, std::uint8_t flags) {
  if ((flags & kSat) != 0) {
    value = value > 0 ? value : 0.0f;
    value = value < 1 ? value : 1.0f;
  }
  if ((flags & kRelu) != 0 && value <= 0) value = 0;
  return flush<Format>(Format::from_float(value), flags);
}

// Sums and products of halves are computed as floats and rounded again, which gives the correct
// result, because 24 bits are at least twice the bits of a half plus two.
struct Add {
  static float run(float a, float b, float) { return a + b; }
};
struct Subtract {
  static float run(float a, float b, float) { return a - b; }
};
struct Multiply {
  static float run(float a, float b, float) { return a * b; }
};
struct Fma {
  static float run(float a, float b, float c) {
    return double_to_odd_float(fma_to_odd(double{a}, double{b}, double{c}));
  }
};
struct Minimum {
  static float run(float a, float b, float) {
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }
};
struct Maximum {
  static float run(float a, float b, float) {
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && !std::signbit(a)) ? a : b;
  }
};
template <class Op>
struct PropagateNan {
  static float run(float a, float b, float c) {
    return a != a || b != b ? a + b : Op::run(a, b, c);
  }
};
template <class Op>
struct XorSignAbs {
  static float run(float a, float b, float c) {
    const float value = std::fabs(Op::run(std::fabs(a), std::fabs(b), c));
    return std::signbit(a) != std::signbit(b) ? -value : value;
  }
};
struct Exponential {
  static float run(float a, float, float) { return std::exp2(a); }
};
struct HyperbolicTangent {
  static float run(float a, float, float) { return std::tanh(a); }
};

template <class Format, class Op, class Word>
void compute(Warp& warp, const Ins& ins) {
  const Word* const a = warp.in<Word>(ins.a);
  const Word* const b = ins.b == kNoSlot ? a : warp.in<Word>(ins.b);
  const Word* const c = ins.c == kNoSlot ? a : warp.in<Word>(ins.c);
  const std::uint8_t flags = ins.flags;
  each_lane(warp, warp.at<Word>(ins.d), [&](unsigned lane) {
    Word result = 0;
    for (unsigned i = 0; i < sizeof(Word) / 2; ++i) {
      const auto value = [&](const Word* from) {
        return Format::to_float(
            flush<Format>(static_cast<std::uint16_t>(from[lane] >> (16 * i)), flags));
      };
      const std::uint16_t half = finish<Format>(Op::run(value(a), value(b), value(c)), flags);
      result = static_cast<Word>(result | static_cast<Word>(half) << (16 * i));
    }
    return result;
  });
}

// Flips the sign bit, 0x8000, of each half, or clears it without `flip`.
template <class Word, bool Flip>
void change_sign(Warp& warp, const Ins& ins) {
  const Word* const a = warp.in<Word>(ins.a);
  const auto signs = static_cast<Word>(0x80008000u);
  each_lane(warp, warp.at<Word>(ins.d), [&](unsigned lane) {
    return static_cast<Word>(Flip ? a[lane] ^ signs : a[lane] & ~signs);
  });
}

template <class Op>
Handler pick(Type type) {
  switch (type.kind) {
    case Kind::kFloat:
      return compute<HalfFormat, Op, std::uint16_t>;
    case Kind::kHalf2:
      return compute<HalfFormat, Op, std::uint32_t>;
    case Kind::kBfloat:
      return compute<BfloatFormat, Op, std::uint16_t>;
    case Kind::kBfloat2:
      return compute<BfloatFormat, Op, std::uint32_t>;
    default:
      return nullptr;
  }
}

template <class Op>
Handler pick_extremum(Type type, bool is_nan, bool is_xor) {
  if (is_xor) return is_nan ? pick<XorSignAbs<PropagateNan<Op>>>(type) : pick<XorSignAbs<Op>>(type);
  return is_nan ? pick<PropagateNan<Op>>(type) : pick<Op>(type);
}

}  // namespace

bool lower_half(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  const bool is_half = lowering.has_modifier("f16") || lowering.has_modifier("f16x2") ||
                       lowering.has_modifier("bf16") || lowering.has_modifier("bf16x2");
  if (!is_half) return false;
  const bool is_extremum = opcode == "min" || opcode == "max";
  const bool is_approximate = opcode == "ex2" || opcode == "tanh";
  const bool is_sign = opcode == "neg" || opcode == "abs";
  if (opcode != "add" && opcode != "sub" && opcode != "mul" && opcode != "fma" && !is_extremum &&
      !is_approximate && !is_sign) {
    return false;
  }
  std::uint8_t flags = 0;
  if (is_approximate && !lowering.take("approx")) lowering.fail_modifier();
  if (!is_extremum && !is_approximate && !is_sign) lowering.take("rn");
  if (lowering.take("ftz")) flags |= kFtz;
  if (!is_extremum && !is_approximate && !is_sign) {
    if (lowering.take("sat")) flags |= kSat;
    if (opcode == "fma" && lowering.take("relu")) flags |= kRelu;
    if (opcode == "fma") lowering.take("oob");
  }
  const bool is_nan = is_extremum && lowering.take("NaN");
  const bool is_xor = is_extremum && lowering.take("xorsign");
  if (is_xor && !lowering.take("abs")) lowering.fail_modifier();
  const Type type = lowering.take_type();
  if (is_sign) {
    const bool is_neg = opcode == "neg";
    emit_same(lowering,
              type.bytes == 2
                  ? (is_neg ? change_sign<std::uint16_t, true> : change_sign<std::uint16_t, false>)
                  : (is_neg ? change_sign<std::uint32_t, true> : change_sign<std::uint32_t, false>),
              type, 1);
    return true;
  }
  const Handler run = opcode == "add"   ? pick<Add>(type)
                      : opcode == "sub" ? pick<Subtract>(type)
                      : opcode == "mul" ? pick<Multiply>(type)
                      : opcode == "fma" ? pick<Fma>(type)
                      : opcode == "min" ? pick_extremum<Minimum>(type, is_nan, is_xor)
                      : opcode == "max" ? pick_extremum<Maximum>(type, is_nan, is_xor)
                      : opcode == "ex2" ? pick<Exponential>(type)
                                        : pick<HyperbolicTangent>(type);
  emit_same(lowering, run, type, is_approximate ? 1 : opcode == "fma" ? 3 : 2).flags = flags;
  return true;
}

}  // namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA
