// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that compute each lane of a wave independently. Their sources are compiled once for
// each instruction set of the host, each time in its own namespace, HALYARD_GFX_ISA.
//
// An operation is a function of the values of a lane. The types of its parameters and of its result
// determine the number of registers of each, and which modifiers apply.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "simulation/hip/gfx/lane_mask.h"
#include "simulation/hip/gfx/lane_operation.h"

namespace halyard::inline v0::sim::gfx {

namespace isa_base {
void add_lane_operations(LaneOperations& operations);
}
namespace isa_v3 {
void add_lane_operations(LaneOperations& operations);
}

namespace HALYARD_GFX_ISA {

void add_bits(LaneOperations& operations);
void add_integer(LaneOperations& operations);
void add_float(LaneOperations& operations);
void add_transcendental(LaneOperations& operations);
void add_double(LaneOperations& operations);
void add_half(LaneOperations& operations);
void add_compare(LaneOperations& operations);
void add_convert(LaneOperations& operations);
void add_packed(LaneOperations& operations);

// Further types of parameters and results.
struct F16 {
  std::uint16_t bits = 0;
};
struct LaneIndex {
  unsigned value = 0;
};
template <class T>
struct WithMask {  // a result, and a bit of a mask
  T value;
  bool bit;
};

template <class T>
struct RowType;
template <class T, ValueKind kValue>
struct Row32 {
  static constexpr ValueKind kKind = kValue;
  static T load(const std::uint32_t* rows, unsigned lane) { return std::bit_cast<T>(rows[lane]); }
  static void store(std::uint32_t* rows, unsigned lane, T value) {
    rows[lane] = std::bit_cast<std::uint32_t>(value);
  }
};
template <class T, ValueKind kValue>
struct Row64 {
  static constexpr ValueKind kKind = kValue;
  static T load(const std::uint32_t* rows, unsigned lane) {
    return std::bit_cast<T>(rows[lane] | std::uint64_t{rows[kLanes + lane]} << 32);
  }
  static void store(std::uint32_t* rows, unsigned lane, T value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    rows[lane] = static_cast<std::uint32_t>(bits);
    rows[kLanes + lane] = static_cast<std::uint32_t>(bits >> 32);
  }
};
template <class T, ValueKind kValue>
struct Row16 {
  static constexpr ValueKind kKind = kValue;
  static T load(const std::uint32_t* rows, unsigned lane) {
    return std::bit_cast<T>(static_cast<std::uint16_t>(rows[lane]));
  }
  static void store(std::uint32_t* rows, unsigned lane, T value) {
    rows[lane] = std::bit_cast<std::uint16_t>(value);
  }
};
template <>
struct RowType<std::uint32_t> : Row32<std::uint32_t, ValueKind::kU32> {};
template <>
struct RowType<std::int32_t> : Row32<std::int32_t, ValueKind::kI32> {};
template <>
struct RowType<float> : Row32<float, ValueKind::kF32> {};
template <>
struct RowType<std::uint64_t> : Row64<std::uint64_t, ValueKind::kU64> {};
template <>
struct RowType<std::int64_t> : Row64<std::int64_t, ValueKind::kI64> {};
template <>
struct RowType<double> : Row64<double, ValueKind::kF64> {};
template <>
struct RowType<std::uint16_t> : Row16<std::uint16_t, ValueKind::kU16> {};
template <>
struct RowType<std::int16_t> : Row16<std::int16_t, ValueKind::kI16> {};
template <>
struct RowType<F16> : Row16<F16, ValueKind::kF16> {};

template <class T>
inline constexpr bool kIsRow = !std::is_same_v<T, bool> && !std::is_same_v<T, LaneIndex>;

template <class T>
T load_argument(const LaneArguments& x, std::size_t index, unsigned lane) {
  if constexpr (std::is_same_v<T, bool>) {
    return (x.mask_in >> lane & 1) != 0;
  } else if constexpr (std::is_same_v<T, LaneIndex>) {
    return LaneIndex{lane};
  } else {
    return RowType<T>::load(x.sources[index], lane);
  }
}

template <class Signature>
struct Lanes;
template <class F, class R, class... A>
struct Lanes<R (F::*)(A...) const> {
  template <std::size_t... I>
  static void run_all(LaneArguments& x, std::index_sequence<I...>) {
    constexpr F f;
    const LaneArguments in = x;
    std::uint32_t* const __restrict d = x.d;
    if constexpr (std::is_same_v<R, bool>) {
      alignas(64) std::uint32_t values[kLanes];
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        values[lane] = f(load_argument<A>(in, I, lane)...) ? ~0u : 0u;
      }
      x.mask_out = mask_of(values);
    } else if constexpr (requires(R r) { r.bit; }) {
      alignas(64) std::uint32_t values[kLanes];
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const R r = f(load_argument<A>(in, I, lane)...);
        RowType<decltype(r.value)>::store(d, lane, r.value);
        values[lane] = r.bit ? ~0u : 0u;
      }
      x.mask_out = mask_of(values);
    } else {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        RowType<R>::store(d, lane, f(load_argument<A>(in, I, lane)...));
      }
    }
  }
  static void run(LaneArguments& x) { run_all(x, std::index_sequence_for<A...>{}); }

  static constexpr LaneOperation operation() {
    LaneOperation result;
    result.run = run;
    const auto add = [&]<class T>() {
      if constexpr (std::is_same_v<T, bool>) {
        result.reads_mask = true;
      } else if constexpr (kIsRow<T>) {
        result.kinds[result.sources++] = RowType<T>::kKind;
      }
    };
    (add.template operator()<A>(), ...);
    if constexpr (std::is_same_v<R, bool>) {
      result.writes_mask = true;
    } else if constexpr (requires(R r) { r.bit; }) {
      result.writes_mask = true;
      result.result = RowType<decltype(R::value)>::kKind;
    } else {
      result.result = RowType<R>::kKind;
    }
    return result;
  }
};

// The operation that applies `F`, a lambda without captures, to each lane. Masks and indices are
// the last parameters.
template <class F>
constexpr LaneOperation lanes(F) {
  return Lanes<decltype(&F::operator())>::operation();
}

}  // namespace HALYARD_GFX_ISA
}  // namespace halyard::inline v0::sim::gfx
