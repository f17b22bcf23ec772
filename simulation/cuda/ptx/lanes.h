// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for families of instructions that compute each lane independently. Their sources are
// compiled once for each instruction set of the host, each time in its own namespace,
// HALYARD_PTX_ISA.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/machine.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef HALYARD_PTX_ISA
#define HALYARD_PTX_ISA isa_base
#endif

namespace halyard::inline v0::sim::ptx {

namespace isa_base {
bool lower_integer(Lowering& lowering);
bool lower_bits(Lowering& lowering);
bool lower_float(Lowering& lowering);
bool lower_half(Lowering& lowering);
bool lower_compare(Lowering& lowering);
bool lower_convert(Lowering& lowering);
}  // namespace isa_base
namespace isa_v3 {
bool lower_integer(Lowering& lowering);
bool lower_bits(Lowering& lowering);
bool lower_float(Lowering& lowering);
bool lower_half(Lowering& lowering);
bool lower_compare(Lowering& lowering);
bool lower_convert(Lowering& lowering);
}  // namespace isa_v3

namespace HALYARD_PTX_ISA {

// Bit l of the result is the top bit of values[l].
inline LaneMask mask_of(const std::uint32_t (&values)[kLanes]) {
  LaneMask mask = 0;
#if defined(__AVX2__)
  for (unsigned i = 0; i < 4; ++i) {
    const __m256i row = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8 * i));
    mask |= static_cast<LaneMask>(_mm256_movemask_ps(_mm256_castsi256_ps(row))) << (8 * i);
  }
#elif defined(__SSE2__)
  for (unsigned i = 0; i < 8; ++i) {
    const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + 4 * i));
    mask |= static_cast<LaneMask>(_mm_movemask_ps(_mm_castsi128_ps(row))) << (4 * i);
  }
#else
  for (unsigned lane = 0; lane < kLanes; ++lane) mask |= (values[lane] >> 31) << lane;
#endif
  return mask;
}

// The lanes for which f(lane) is true. f runs for all lanes.
template <class F>
LaneMask lanes_where(F f) {
  alignas(64) std::uint32_t values[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = f(lane) ? ~0u : 0u;
  return mask_of(values);
}

// Handlers that apply Op<T>::run to each lane.
template <class T, template <class> class Op>
void unary(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) { return Op<T>::run(a[lane]); });
}
template <class T, template <class> class Op>
void binary(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  each_lane(warp, warp.at<T>(ins.d), [&](unsigned lane) { return Op<T>::run(a[lane], b[lane]); });
}
template <class T, template <class> class Op>
void ternary(Warp& warp, const Ins& ins) {
  const T* const a = warp.in<T>(ins.a);
  const T* const b = warp.in<T>(ins.b);
  const T* const c = warp.in<T>(ins.c);
  each_lane(warp, warp.at<T>(ins.d),
            [&](unsigned lane) { return Op<T>::run(a[lane], b[lane], c[lane]); });
}

// The handler of `Handlers<T>::run` for an integer type of 2, 4 or 8 bytes.
template <template <class> class Handlers>
Handler for_integer(Type type) {
  const bool is_signed = type.is_signed();
  switch (type.bytes) {
    case 2:
      return is_signed ? Handlers<std::int16_t>::run : Handlers<std::uint16_t>::run;
    case 4:
      return is_signed ? Handlers<std::int32_t>::run : Handlers<std::uint32_t>::run;
    case 8:
      return is_signed ? Handlers<std::int64_t>::run : Handlers<std::uint64_t>::run;
  }
  return nullptr;
}
template <template <class> class Handlers>
Handler for_bits(Type type) {
  switch (type.bytes) {
    case 2:
      return Handlers<std::uint16_t>::run;
    case 4:
      return Handlers<std::uint32_t>::run;
    case 8:
      return Handlers<std::uint64_t>::run;
  }
  return nullptr;
}

// Emits d, a, b, c, all of the same type.
inline Ins& emit_same(Lowering& lowering, Handler run, Type type, std::size_t sources) {
  if (run == nullptr) lowering.fail_modifier();
  lowering.expect_operands(sources + 1, sources + 1);
  Ins ins;
  ins.run = run;
  ins.d = lowering.target(lowering.operand(0), type);
  ins.a = lowering.source(lowering.operand(1), type);
  if (sources > 1) ins.b = lowering.source(lowering.operand(2), type);
  if (sources > 2) ins.c = lowering.source(lowering.operand(3), type);
  return lowering.emit(ins);
}

// Unsigned, and at least 32 bits: arithmetic in it neither overflows nor is promoted to int.
template <class T>
using Modular = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

}  // namespace HALYARD_PTX_ISA
}  // namespace halyard::inline v0::sim::ptx
