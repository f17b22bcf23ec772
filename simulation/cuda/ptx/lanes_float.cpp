// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 and f64. Approximations (.approx) are the host's functions, rounded once: they are within
// NVIDIA's error bounds, but not bit-identical.
#include <cfenv>
#include <string>

#include "simulation/cuda/ptx/lanes.h"

namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class T>
constexpr Bits<T> kSign = Bits<T>{1} << (8 * sizeof(T) - 1);

template <class T>
T canonical(T value) {
  // f32 instructions have a canonical NaN; f64 instructions keep payloads.
  if constexpr (sizeof(T) == 4) {
    return value == value ? value : std::bit_cast<float>(0x7fffffffu);
  } else {
    return value;
  }
}

template <class T, bool Ftz>
T flushed(T value) {
  if constexpr (Ftz && sizeof(T) == 4) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
  } else {
    return value;
  }
}

template <class T, bool Ftz, bool Sat>
T finished(T value) {
  value = canonical(flushed<T, Ftz>(value));
  if constexpr (Sat) {
    value = value > 0 ? value : T{0};  // as does NaN
    value = value < 1 ? value : T{1};
  }
  return value;
}

struct Add {
  template <class T>
  static T run(T a, T b) {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  static T run(T a, T b) {
    return a - b;
  }
};
struct Multiply {
  template <class T>
  static T run(T a, T b) {
    return a * b;
  }
};
struct Divide {
  template <class T>
  static T run(T a, T b) {
    return a / b;
  }
};
struct Fma {
  template <class T>
  static T run(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct SquareRoot {
  template <class T>
  static T run(T a) {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <class T>
  static T run(T a) {
    return 1 / a;
  }
};
struct ReciprocalRoot {
  template <class T>
  static T run(T a) {
    // Correctly rounded, except for ties.
    if constexpr (sizeof(T) == 4) return static_cast<float>(1 / std::sqrt(double{a}));
    return 1 / std::sqrt(a);
  }
};
struct Sine {
  static float run(float a) { return std::sin(a); }
};
struct Cosine {
  static float run(float a) { return std::cos(a); }
};
struct Logarithm {
  static float run(float a) { return std::log2(a); }
};
struct Exponential {
  static float run(float a) { return std::exp2(a); }
};
struct HyperbolicTangent {
  static float run(float a) { return std::tanh(a); }
};

// -0 is less than +0, and a number is preferred to NaN.
struct Minimum {
  template <class T>
  static T run(T a, T b) {
    const T zero = std::bit_cast<T>(std::bit_cast<Bits<T>>(a) | std::bit_cast<Bits<T>>(b));
    const T least = a < b ? a : a == b ? zero : b;  // b if either is NaN
    return b != b ? a : least;
  }
};
struct Maximum {
  template <class T>
  static T run(T a, T b) {
    const T zero = std::bit_cast<T>(std::bit_cast<Bits<T>>(a) & std::bit_cast<Bits<T>>(b));
    const T most = a > b ? a : a == b ? zero : b;
    return b != b ? a : most;
  }
};
template <class Op>
struct PropagateNan {
  template <class T>
  static T run(T a, T b) {
    return a != a || b != b ? a + b : Op::template run<T>(a, b);
  }
};
template <class Op>
struct XorSignAbs {
  template <class T>
  static T run(T a, T b) {
    const Bits<T> sign = (std::bit_cast<Bits<T>>(a) ^ std::bit_cast<Bits<T>>(b)) & kSign<T>;
    const T value = Op::template run<T>(std::fabs(a), std::fabs(b));
    return std::bit_cast<T>((std::bit_cast<Bits<T>>(value) & ~kSign<T>) | sign);
  }
};

template <class T, class Op, unsigned Sources>
T apply(const T* a, const T* b, const T* c, unsigned lane) {
  if constexpr (Sources == 1) return Op::run(a[lane]);
  if constexpr (Sources == 2) return Op::run(a[lane], b[lane]);
  if constexpr (Sources == 3) return Op::run(a[lane], b[lane], c[lane]);
}

template <class T, class Op, unsigned Sources, bool Ftz, bool Sat>
void compute(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = Sources > 1 ? warp.in<T>(ins.b) : nullptr;
  const T* const c = Sources > 2 ? warp.in<T>(ins.c) : nullptr;
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) {
    T x = flushed<T, Ftz>(a[lane]), y{}, z{};
    if constexpr (Sources > 1) y = flushed<T, Ftz>(b[lane]);
    if constexpr (Sources > 2) z = flushed<T, Ftz>(c[lane]);
    return finished<T, Ftz, Sat>(apply<T, Op, Sources>(&x, &y, &z, 0));
  });
}

// Rounds according to ins.imm, by the host's rounding mode. Volatile keeps the compiler from moving
// the operation out of it.
template <class T, class Op, unsigned Sources, bool Ftz, bool Sat>
void compute_directed(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = Sources > 1 ? warp.in<T>(ins.b) : nullptr;
  const T* const c = Sources > 2 ? warp.in<T>(ins.c) : nullptr;
  const int before = std::fegetround();
  std::fesetround(static_cast<int>(ins.imm));
  T results[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    volatile T x = flushed<T, Ftz>(a[lane]);
    volatile T y = Sources > 1 ? flushed<T, Ftz>(b[lane]) : T{};
    volatile T z = Sources > 2 ? flushed<T, Ftz>(c[lane]) : T{};
    const T xs = x, ys = y, zs = z;
    volatile T result = apply<T, Op, Sources>(&xs, &ys, &zs, 0);
    results[lane] = result;
  }
  std::fesetround(before);
  each_lane(warp, warp.at<T>(ins.d),
            [&](unsigned lane) { return finished<T, Ftz, Sat>(results[lane]); });
}

template <class T, class Op, unsigned Sources>
Handler pick(bool is_directed, bool is_ftz, bool is_sat) {
  if constexpr (sizeof(T) == 8) {
    return is_directed ? compute_directed<T, Op, Sources, false, false>
                       : compute<T, Op, Sources, false, false>;
  } else {
    if (is_directed) {
      if (is_ftz) {
        return is_sat ? compute_directed<T, Op, Sources, true, true>
                      : compute_directed<T, Op, Sources, true, false>;
      }
      return is_sat ? compute_directed<T, Op, Sources, false, true>
                    : compute_directed<T, Op, Sources, false, false>;
    }
    if (is_ftz) {
      return is_sat ? compute<T, Op, Sources, true, true> : compute<T, Op, Sources, true, false>;
    }
    return is_sat ? compute<T, Op, Sources, false, true> : compute<T, Op, Sources, false, false>;
  }
}

// Takes the rounding modifier; returns the host's mode, by default FE_TONEAREST.
int take_rounding(Lowering& lowering) {
  if (lowering.take("rz")) return FE_TOWARDZERO;
  if (lowering.take("rm")) return FE_DOWNWARD;
  if (lowering.take("rp")) return FE_UPWARD;
  lowering.take("rn");
  return FE_TONEAREST;
}

template <class Op, unsigned Sources>
void lower_arithmetic(Lowering& lowering) {
  const int rounding = take_rounding(lowering);
  const bool is_ftz = lowering.take("ftz"), is_sat = lowering.take("sat");
  const Type type = lowering.take_type();
  if (type.bytes == 8 && (is_ftz || is_sat)) lowering.fail_modifier();
  const bool is_directed = rounding != FE_TONEAREST;
  emit_same(lowering,
            type.bytes == 4 ? pick<float, Op, Sources>(is_directed, is_ftz, is_sat)
                            : pick<double, Op, Sources>(is_directed, is_ftz, is_sat),
            type, Sources)
      .imm = rounding;
}

// For f32 only.
template <class Op>
void lower_approximate(Lowering& lowering) {
  if (!lowering.take("approx")) lowering.fail_modifier();
  const bool is_ftz = lowering.take("ftz");
  if (lowering.take_type() != kF32) lowering.fail_modifier();
  emit_same(lowering, pick<float, Op, 1>(false, is_ftz, false), kF32, 1);
}

// .approx.ftz.f64: the low 32 bits of the result are 0.
template <class Op>
void compute_coarse(Warp& warp, const Ins& ins) {
  const double* const a = warp.in<double>(ins.a);
  each_lane(warp, warp.at<std::uint64_t>(ins.d), [&](unsigned lane) {
    return std::bit_cast<std::uint64_t>(Op::run(a[lane])) & 0xffffffff00000000u;
  });
}

// rcp, sqrt, rsqrt and div have both exact and approximate forms.
template <class Op, unsigned Sources>
void lower_division(Lowering& lowering) {
  const bool is_approximate = lowering.take("approx") || (Sources == 2 && lowering.take("full"));
  if (is_approximate && lowering.has_modifier("f64") && lowering.take("ftz")) {
    if (Sources != 1) lowering.fail_modifier();
    lowering.take_type();
    emit_same(lowering, compute_coarse<std::conditional_t<Sources == 1, Op, Reciprocal>>, kF64, 1);
    return;
  }
  lower_arithmetic<Op, Sources>(lowering);
}

template <class Op>
void lower_extremum(Lowering& lowering) {
  const bool is_ftz = lowering.take("ftz"), is_nan = lowering.take("NaN");
  const bool is_xor = lowering.take("xorsign");
  if (is_xor && !lowering.take("abs")) lowering.fail_modifier();
  const Type type = lowering.take_type();
  if (type.bytes == 8) {
    if (is_ftz || is_nan || is_xor) lowering.fail_modifier();
    emit_same(lowering, pick<double, Op, 2>(false, false, false), type, 2);
    return;
  }
  const Handler run =
      is_xor ? (is_nan ? pick<float, XorSignAbs<PropagateNan<Op>>, 2>(false, is_ftz, false)
                       : pick<float, XorSignAbs<Op>, 2>(false, is_ftz, false))
             : (is_nan ? pick<float, PropagateNan<Op>, 2>(false, is_ftz, false)
                       : pick<float, Op, 2>(false, is_ftz, false));
  emit_same(lowering, run, type, 2);
}

template <class T, bool Negate, bool Ftz>
void change_sign(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  each_lane(warp, warp.at<Bits<T>>(ins.d), [&](unsigned lane) {
    const auto bits = std::bit_cast<Bits<T>>(flushed<T, Ftz>(a[lane]));
    return static_cast<Bits<T>>(Negate ? bits ^ kSign<T> : bits & ~kSign<T>);
  });
}

template <bool Negate>
void lower_sign(Lowering& lowering) {
  const bool is_ftz = lowering.take("ftz");
  const Type type = lowering.take_type();
  emit_same(lowering,
            type.bytes == 8 ? change_sign<double, Negate, false>
            : is_ftz        ? change_sign<float, Negate, true>
                            : change_sign<float, Negate, false>,
            type, 1);
}

template <class T>
void copy_sign(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<Bits<T>>(ins.a);
  const auto* const b = warp.in<Bits<T>>(ins.b);
  each_lane(warp, warp.at<Bits<T>>(ins.d), [&](unsigned lane) {
    return static_cast<Bits<T>>((a[lane] & kSign<T>) | (b[lane] & ~kSign<T>));
  });
}

enum class Test : std::uint8_t { kFinite, kInfinite, kNumber, kNan, kNormal, kSubnormal };

template <class T>
void test_property(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const auto test = static_cast<Test>(ins.count);
  warp.set_predicate(ins.d, lanes_where([&](unsigned lane) {
                       const T value = a[lane];
                       switch (test) {
                         case Test::kFinite:
                           return std::isfinite(value);
                         case Test::kInfinite:
                           return std::isinf(value);
                         case Test::kNumber:
                           return !std::isnan(value);
                         case Test::kNan:
                           return std::isnan(value);
                         case Test::kNormal:
                           return std::isnormal(value);
                         case Test::kSubnormal:
                           return std::fpclassify(value) == FP_SUBNORMAL;
                       }
                       return false;
                     }));
}

void lower_test(Lowering& lowering) {
  constexpr std::string_view kTests[] = {"finite",     "infinite", "number",
                                         "notanumber", "normal",   "subnormal"};
  std::uint8_t test = 0;
  while (test < 6 && !lowering.take(kTests[test])) ++test;
  const Type type = lowering.take_type();
  if (test == 6) lowering.fail_modifier();
  lowering.expect_operands(2, 2);
  lowering
      .emit(type.bytes == 4 ? test_property<float> : test_property<double>,
            lowering.predicate_target(lowering.operand(0)),
            lowering.source(lowering.operand(1), type))
      .count = test;
}

}  // namespace

bool lower_float(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  // Mixed forms such as fma.rn.f32.f16 do not exist for the supported targets.
  const bool is_float = lowering.has_modifier("f32") || lowering.has_modifier("f64");
  if (!is_float) return false;
  if (opcode == "add") {
    lower_arithmetic<Add, 2>(lowering);
  } else if (opcode == "sub") {
    lower_arithmetic<Subtract, 2>(lowering);
  } else if (opcode == "mul") {
    lower_arithmetic<Multiply, 2>(lowering);
  } else if (opcode == "fma" || opcode == "mad") {
    lower_arithmetic<Fma, 3>(lowering);
  } else if (opcode == "div") {
    lower_division<Divide, 2>(lowering);
  } else if (opcode == "rcp") {
    lower_division<Reciprocal, 1>(lowering);
  } else if (opcode == "sqrt") {
    lower_division<SquareRoot, 1>(lowering);
  } else if (opcode == "rsqrt") {
    lower_division<ReciprocalRoot, 1>(lowering);
  } else if (opcode == "sin") {
    lower_approximate<Sine>(lowering);
  } else if (opcode == "cos") {
    lower_approximate<Cosine>(lowering);
  } else if (opcode == "lg2") {
    lower_approximate<Logarithm>(lowering);
  } else if (opcode == "ex2") {
    lower_approximate<Exponential>(lowering);
  } else if (opcode == "tanh") {
    lower_approximate<HyperbolicTangent>(lowering);
  } else if (opcode == "min") {
    lower_extremum<Minimum>(lowering);
  } else if (opcode == "max") {
    lower_extremum<Maximum>(lowering);
  } else if (opcode == "abs") {
    lower_sign<false>(lowering);
  } else if (opcode == "neg") {
    lower_sign<true>(lowering);
  } else if (opcode == "copysign") {
    const Type type = lowering.take_type();
    emit_same(lowering, type.bytes == 4 ? copy_sign<float> : copy_sign<double>, type, 2);
  } else if (opcode == "testp") {
    lower_test(lowering);
  } else {
    return false;
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA
