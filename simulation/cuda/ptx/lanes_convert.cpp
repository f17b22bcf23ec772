// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt.
#include <cfenv>
#include <limits>
#include <utility>

#include "simulation/cuda/ptx/half.h"

namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA {
namespace {

enum class Rounding : std::uint8_t {
  kDefault,  // to nearest between floats, otherwise exact or truncating
  kNearest,
  kZero,
  kDown,
  kUp,
  kToIntegerNearest,
  kToIntegerZero,
  kToIntegerDown,
  kToIntegerUp,
  kNearestAway
};

// Of Ins::flags.
constexpr std::uint8_t kFtz = 1, kSat = 2, kRelu = 4, kSatFinite = 8;

struct Half {
  using Format = HalfFormat;
  std::uint16_t bits;
};
struct Bfloat {
  using Format = BfloatFormat;
  std::uint16_t bits;
};
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;
template <class T>
constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsHalf<T>;

int host_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return FE_TOWARDZERO;
    case Rounding::kDown:
      return FE_DOWNWARD;
    case Rounding::kUp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

// A conversion that the host rounds according to `rounding`.
template <class To, class From>
To cast_rounded(From value, Rounding rounding) {
  const int mode = host_mode(rounding);
  if (mode == FE_TONEAREST) return static_cast<To>(value);
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile From input = value;
  volatile To output = static_cast<To>(input);
  std::fesetround(before);
  return output;
}

template <class Format>
std::uint16_t round_to_half(double value, Rounding rounding) {
  std::uint16_t bits = Format::from_float(double_to_odd_float(value));
  const double nearest = Format::to_float(bits);
  if (value != value || nearest == value) return bits;
  const bool is_negative = std::signbit(value);
  const bool is_above = nearest > value;  // otherwise below
  const bool is_away = is_above != is_negative;
  const auto toward_zero = [&] { return static_cast<std::uint16_t>(bits - 1); };
  const auto away = [&] { return static_cast<std::uint16_t>(bits + 1); };
  switch (rounding) {
    case Rounding::kZero:
      return is_away ? toward_zero() : bits;
    case Rounding::kDown:
      return !is_above ? bits : is_negative ? away() : toward_zero();
    case Rounding::kUp:
      return is_above ? bits : is_negative ? toward_zero() : away();
    default:
      return bits;
  }
}

template <class T>
T round_to_integer(T value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kToIntegerNearest:
      return std::nearbyint(value);
    case Rounding::kToIntegerZero:
      return std::trunc(value);
    case Rounding::kToIntegerDown:
      return std::floor(value);
    case Rounding::kToIntegerUp:
      return std::ceil(value);
    default:
      return value;
  }
}

inline float flush(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

template <class To, class From>
To to_integer(From value, Rounding rounding) {
  if (value != value) {
    // 0 for conversions between types of at most 32 bits, otherwise the top bit.
    const bool is_wide = sizeof(From) == 8 || sizeof(To) == 8;
    return is_wide ? static_cast<To>(std::uint64_t{1} << (8 * sizeof(To) - 1)) : To{0};
  }
  value = rounding <= Rounding::kUp ? std::trunc(value) : round_to_integer(value, rounding);
  // Both bounds are zero or powers of two, so they are exact.
  const From low = static_cast<From>(std::numeric_limits<To>::min());
  const From high = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (value <= low) return std::numeric_limits<To>::min();
  if (value >= high) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class T>
T clamp_float(T value, std::uint8_t flags) {
  if ((flags & kSat) != 0) {
    value = value > 0 ? value : T{0};
    value = value < 1 ? value : T{1};
  }
  if ((flags & kRelu) != 0 && value < 0) value = 0;
  return value;
}

template <class To, class From>
To convert_value(From from, Rounding rounding, std::uint8_t flags) {
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    if ((flags & kSat) == 0 || std::in_range<To>(from)) return static_cast<To>(from);
    return std::cmp_less(from, 0) ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
  } else if constexpr (std::is_integral_v<From>) {
    if constexpr (kIsHalf<To>) {
      // Integers beyond 2^53 round to odd here, so that rounding again is correct.
      auto value = static_cast<double>(from);
      if (sizeof(From) == 8 && std::fabs(value) >= 0x1p53) {
        const int keep = std::fegetround();
        std::fesetround(FE_TOWARDZERO);
        volatile From input = from;
        volatile double output = static_cast<double>(input);
        std::fesetround(keep);
        value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(double{output}) | 1);
      }
      value = clamp_float(value, flags);
      return {round_to_half<typename To::Format>(value, rounding)};
    } else {
      return clamp_float(cast_rounded<To>(from, rounding), flags);
    }
  } else {
    using Value = std::conditional_t<std::is_same_v<From, double>, double, float>;
    Value value{};
    if constexpr (kIsHalf<From>) {
      value = From::Format::to_float(from.bits);
    } else {
      value = from;
    }
    if constexpr (std::is_same_v<From, float>) {
      if ((flags & kFtz) != 0) value = flush(value);
    }
    if constexpr (std::is_integral_v<To>) {
      return to_integer<To>(value, rounding);
    } else {
      value = clamp_float(round_to_integer(value, rounding), flags);
      if constexpr (kIsHalf<To>) {
        std::uint16_t bits = round_to_half<typename To::Format>(value, rounding);
        if ((flags & kSatFinite) != 0 && value == value) {
          const std::uint16_t infinity = std::is_same_v<To, Half> ? 0x7c00 : 0x7f80;
          if ((bits & 0x7fff) == infinity) --bits;
        }
        return {bits};
      } else if constexpr (std::is_same_v<To, float>) {
        float result = cast_rounded<float>(value, rounding);
        if ((flags & kFtz) != 0) result = flush(result);
        return result == result ? result : std::bit_cast<float>(0x7fffffffu);
      } else {
        return static_cast<double>(value);
      }
    }
  }
}

// The value of a register of `width` bytes, read as T.
template <class T>
T read(const std::byte* from, std::uint32_t width, unsigned lane) {
  T value;
  std::memcpy(&value, from + std::size_t{lane} * width, sizeof(T));
  return value;
}

template <class T>
void write(std::byte* to, std::uint32_t width, unsigned lane, T value) {
  if constexpr (std::is_integral_v<T>) {
    const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    std::memcpy(to + std::size_t{lane} * width, &wide, width);
  } else {
    std::uint64_t wide = 0;
    std::memcpy(&wide, &value, sizeof(T));
    std::memcpy(to + std::size_t{lane} * width, &wide, width);
  }
}

// ins.count and ins.extra: the widths of the registers. ins.imm: the Rounding.
template <class From, class To>
void convert(Warp& warp, const Ins& ins) {
  const std::byte* const a = warp.in<std::byte>(ins.a);
  std::byte* const d = warp.at<std::byte>(ins.d);
  const auto rounding = static_cast<Rounding>(ins.imm);
  // Conversions that are a single instruction of the host.
  if constexpr (!kIsHalf<From> && !kIsHalf<To> && sizeof(From) > 1 && sizeof(To) > 1 &&
                !(std::is_floating_point_v<From> && std::is_integral_v<To>)) {
    if (ins.flags == 0 && rounding <= Rounding::kNearest && ins.count == sizeof(From) &&
        ins.extra == sizeof(To) && !(std::is_same_v<From, double> && std::is_same_v<To, float>)) {
      const From* const from = warp.in<From>(ins.a);
      each_lane(warp, warp.at<To>(ins.d),
                [&](unsigned lane) { return static_cast<To>(from[lane]); });
      return;
    }
  }
  each_active(warp.exec, [&](unsigned lane) {
    const From value = read<From>(a, ins.count, lane);
    write<To>(d, ins.extra, lane, convert_value<To>(value, rounding, ins.flags));
  });
}

// cvt.f16x2.f32 and cvt.bf16x2.f32: a is the upper half.
template <class To>
void convert_pair(Warp& warp, const Ins& ins) {
  const float* const a = warp.in<float>(ins.a);
  const float* const b = warp.in<float>(ins.b);
  const auto rounding = static_cast<Rounding>(ins.imm);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    const std::uint32_t high = convert_value<To>(a[lane], rounding, ins.flags).bits;
    const std::uint32_t low = convert_value<To>(b[lane], rounding, ins.flags).bits;
    return high << 16 | low;
  });
}

// The low 13 bits are dropped, after rounding away from zero or to even.
void convert_tf32(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto rounding = static_cast<Rounding>(ins.imm);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    const std::uint32_t bits = a[lane];
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;
    if ((ins.flags & kRelu) != 0 && bits >> 31 != 0) return 0u;
    const std::uint32_t add = rounding == Rounding::kNearestAway ? 0x1000u
                              : rounding == Rounding::kZero      ? 0u
                                                                 : 0xfffu + (bits >> 13 & 1);
    return (bits + add) & ~0x1fffu;
  });
}

template <class From>
Handler pick_to(Type type) {
  switch (type.kind) {
    case Kind::kFloat:
      return type.bytes == 2   ? convert<From, Half>
             : type.bytes == 4 ? convert<From, float>
                               : convert<From, double>;
    case Kind::kBfloat:
      return convert<From, Bfloat>;
    case Kind::kSigned:
      switch (type.bytes) {
        case 1:
          return convert<From, std::int8_t>;
        case 2:
          return convert<From, std::int16_t>;
        case 4:
          return convert<From, std::int32_t>;
        case 8:
          return convert<From, std::int64_t>;
      }
      break;
    case Kind::kUnsigned:
      switch (type.bytes) {
        case 1:
          return convert<From, std::uint8_t>;
        case 2:
          return convert<From, std::uint16_t>;
        case 4:
          return convert<From, std::uint32_t>;
        case 8:
          return convert<From, std::uint64_t>;
      }
      break;
    default:
      break;
  }
  return nullptr;
}

Handler pick(Type from, Type to) {
  switch (from.kind) {
    case Kind::kFloat:
      return from.bytes == 2   ? pick_to<Half>(to)
             : from.bytes == 4 ? pick_to<float>(to)
                               : pick_to<double>(to);
    case Kind::kBfloat:
      return pick_to<Bfloat>(to);
    case Kind::kSigned:
      switch (from.bytes) {
        case 1:
          return pick_to<std::int8_t>(to);
        case 2:
          return pick_to<std::int16_t>(to);
        case 4:
          return pick_to<std::int32_t>(to);
        case 8:
          return pick_to<std::int64_t>(to);
      }
      break;
    case Kind::kUnsigned:
      switch (from.bytes) {
        case 1:
          return pick_to<std::uint8_t>(to);
        case 2:
          return pick_to<std::uint16_t>(to);
        case 4:
          return pick_to<std::uint32_t>(to);
        case 8:
          return pick_to<std::uint64_t>(to);
      }
      break;
    default:
      break;
  }
  return nullptr;
}

Rounding take_rounding(Lowering& lowering) {
  constexpr std::string_view kNames[] = {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna"};
  for (std::uint8_t i = 0; i < 9; ++i) {
    if (lowering.take(kNames[i])) return static_cast<Rounding>(i + 1);
  }
  return Rounding::kDefault;
}

std::uint32_t width_of(Lowering& lowering, const Operand& operand, Type type) {
  const std::uint32_t least = type.bytes == 1 ? 2 : type.bytes;
  if (operand.kind != Operand::Kind::kName) return least;
  return std::max<std::uint32_t>(least, lowering.register_type(operand).bytes);
}

}  // namespace

bool lower_convert(Lowering& lowering) {
  if (lowering.opcode() != "cvt") return false;
  Ins ins;
  ins.imm = static_cast<std::int64_t>(take_rounding(lowering));
  if (lowering.take("ftz")) ins.flags |= kFtz;
  if (lowering.take("sat")) ins.flags |= kSat;
  if (lowering.take("relu")) ins.flags |= kRelu;
  if (lowering.take("satfinite")) ins.flags |= kSatFinite;
  const Type to = lowering.take_type(), from = lowering.take_type();
  const Operand& d = lowering.operand(0);
  if (to.kind == Kind::kHalf2 || to.kind == Kind::kBfloat2) {
    if (from != kF32) lowering.fail_modifier();
    lowering.expect_operands(3, 3);
    ins.run = to.kind == Kind::kHalf2 ? convert_pair<Half> : convert_pair<Bfloat>;
    ins.d = lowering.target(d, to);
    ins.a = lowering.source(lowering.operand(1), from);
    ins.b = lowering.source(lowering.operand(2), from);
    lowering.emit(ins);
    return true;
  }
  lowering.expect_operands(2, 2);
  if (to.kind == Kind::kTf32) {
    if (from != kF32) lowering.fail_modifier();
    ins.run = convert_tf32;
    ins.d = lowering.target(d, to);
    ins.a = lowering.source(lowering.operand(1), from);
    lowering.emit(ins);
    return true;
  }
  ins.run = pick(from, to);
  if (ins.run == nullptr) lowering.fail_modifier();
  ins.d = lowering.target(d, to, true);
  ins.a = lowering.source(lowering.operand(1), from, true);
  ins.extra = width_of(lowering, d, to);
  ins.count = static_cast<std::uint8_t>(width_of(lowering, lowering.operand(1), from));
  lowering.emit(ins);
  return true;
}

}  // namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA
