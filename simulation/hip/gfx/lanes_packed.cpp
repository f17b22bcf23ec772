// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two values of 16 bits in each lane, and dot products. op_sel, neg_lo and neg_hi are already
// applied to their sources.
#include <algorithm>

#include "simulation/hip/gfx/half.h"
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

template <class T>
T half_of(u32 pair, unsigned half) {
  return std::bit_cast<T>(static_cast<u16>(pair >> (16 * half)));
}
template <class T>
u32 pair_of(T low, T high) {
  return std::bit_cast<u16>(low) | u32{std::bit_cast<u16>(high)} << 16;
}

template <class T, class F>
LaneOperation two(F) {
  LaneOperation operation = lanes([](u32 a, u32 b) {
    constexpr F f;
    return pair_of<T>(f(half_of<T>(a, 0), half_of<T>(b, 0)), f(half_of<T>(a, 1), half_of<T>(b, 1)));
  });
  operation.is_packed = true;
  return operation;
}
template <class T, class F>
LaneOperation three(F) {
  LaneOperation operation = lanes([](u32 a, u32 b, u32 c) {
    constexpr F f;
    return pair_of<T>(f(half_of<T>(a, 0), half_of<T>(b, 0), half_of<T>(c, 0)),
                      f(half_of<T>(a, 1), half_of<T>(b, 1), half_of<T>(c, 1)));
  });
  operation.is_packed = true;
  return operation;
}

template <class T>
T clamped(i64 value) {
  return static_cast<T>(
      std::clamp<i64>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <class T>
void add_sums(LaneOperations& o, Opcode add, Opcode subtract, Opcode multiply_add) {
  o[add] = two<T>([](T a, T b) {
             return static_cast<T>(a + b);
           }).clamped(two<T>([](T a, T b) { return clamped<T>(i64{a} + b); }));
  o[subtract] = two<T>([](T a, T b) {
                  return static_cast<T>(a - b);
                }).clamped(two<T>([](T a, T b) { return clamped<T>(i64{a} - b); }));
  o[multiply_add] = three<T>([](T a, T b, T c) {
                      return static_cast<T>(i64{a} * b + c);
                    }).clamped(three<T>([](T a, T b, T c) { return clamped<T>(i64{a} * b + c); }));
}

void add_integers(LaneOperations& o) {
  add_sums<u16>(o, Opcode::v_pk_add_u16, Opcode::v_pk_sub_u16, Opcode::v_pk_mad_u16);
  add_sums<i16>(o, Opcode::v_pk_add_i16, Opcode::v_pk_sub_i16, Opcode::v_pk_mad_i16);
  o[Opcode::v_pk_mul_lo_u16] =
      two<u16>([](u16 a, u16 b) { return static_cast<u16>(u32{a} * u32{b}); });
  o[Opcode::v_pk_lshlrev_b16] =
      two<u16>([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); });
  o[Opcode::v_pk_lshrrev_b16] =
      two<u16>([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); });
  o[Opcode::v_pk_ashrrev_i16] =
      two<i16>([](i16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); });
  o[Opcode::v_pk_max_i16] = two<i16>([](i16 a, i16 b) { return std::max(a, b); });
  o[Opcode::v_pk_min_i16] = two<i16>([](i16 a, i16 b) { return std::min(a, b); });
  o[Opcode::v_pk_max_u16] = two<u16>([](u16 a, u16 b) { return std::max(a, b); });
  o[Opcode::v_pk_min_u16] = two<u16>([](u16 a, u16 b) { return std::min(a, b); });
}

// The clamp modifier of packed f16 bounds each half to 0 and 1; a NaN becomes 0 (DX10_CLAMP).
F16 unit(F16 a) {
  const float value = to_float(a);
  return !(value > 0) ? F16{0} : value > 1 ? F16{0x3c00u} : a;
}

void add_floats(LaneOperations& o) {
  o[Opcode::v_pk_add_f16] =
      two<F16>([](F16 a, F16 b) {
        return to_half(to_float(a) + to_float(b));
      }).clamped(two<F16>([](F16 a, F16 b) { return unit(to_half(to_float(a) + to_float(b))); }));
  o[Opcode::v_pk_mul_f16] =
      two<F16>([](F16 a, F16 b) {
        return to_half(to_float(a) * to_float(b));
      }).clamped(two<F16>([](F16 a, F16 b) { return unit(to_half(to_float(a) * to_float(b))); }));
  o[Opcode::v_pk_min_f16] = two<F16>([](F16 a, F16 b) {
                              return minimum(a, b);
                            }).clamped(two<F16>([](F16 a, F16 b) { return unit(minimum(a, b)); }));
  o[Opcode::v_pk_max_f16] = two<F16>([](F16 a, F16 b) {
                              return maximum(a, b);
                            }).clamped(two<F16>([](F16 a, F16 b) { return unit(maximum(a, b)); }));
  for (const Opcode opcode : {Opcode::v_pk_fma_f16, Opcode::v_pk_fmac_f16}) {
    o[opcode] = three<F16>([](F16 a, F16 b, F16 c) {
                  return fused(a, b, c);
                }).clamped(three<F16>([](F16 a, F16 b, F16 c) { return unit(fused(a, b, c)); }));
  }
}

// The manual adds the products sequentially and rounds each sum to f32 (16.12).
float dot2(u32 a, u32 b, float c) {
  float sum = c;
  for (unsigned i = 0; i < 2; ++i) {
    sum += to_float(half_of<F16>(a, i)) * to_float(half_of<F16>(b, i));
  }
  return sum;
}
float bfloat_dot2(u32 a, u32 b, float c) {
  float sum = c;
  for (unsigned i = 0; i < 2; ++i) {
    sum += bfloat_to_float(half_of<u16>(a, i)) * bfloat_to_float(half_of<u16>(b, i));
  }
  return sum;
}

template <unsigned kBits>
u32 unsigned_dot(u32 a, u32 b, u32 c) {
  constexpr u32 kMask = (u32{1} << kBits) - 1;
  for (unsigned i = 0; i < 32; i += kBits) c += (a >> i & kMask) * (b >> i & kMask);
  return c;
}
template <unsigned kBits>
std::uint64_t wide_unsigned_dot(u32 a, u32 b, u32 c) {
  return std::uint64_t{unsigned_dot<kBits>(a, b, 0)} + c;
}

void add_dots(LaneOperations& o) {
  o[Opcode::v_dot2_f32_f16] = lanes([](u32 a, u32 b, float c) { return dot2(a, b, c); });
  o[Opcode::v_dot2acc_f32_f16] = o[Opcode::v_dot2_f32_f16];
  o[Opcode::v_dot2_f32_bf16] = lanes([](u32 a, u32 b, float c) { return bfloat_dot2(a, b, c); });
  o[Opcode::v_dot2_f16_f16] = lanes([](u32 a, u32 b, F16 c) {
    F16 sum = c;
    for (unsigned i = 0; i < 2; ++i) {
      const F16 product = to_half(to_float(half_of<F16>(a, i)) * to_float(half_of<F16>(b, i)));
      sum = to_half(to_float(sum) + to_float(product));
    }
    return sum;
  });
  o[Opcode::v_dot2_bf16_bf16] = lanes([](u32 a, u32 b, u16 c) {
    u16 sum = c;
    for (unsigned i = 0; i < 2; ++i) {
      const u16 product = float_to_bfloat(bfloat_to_float(half_of<u16>(a, i)) *
                                          bfloat_to_float(half_of<u16>(b, i)));
      sum = float_to_bfloat(bfloat_to_float(sum) + bfloat_to_float(product));
    }
    return sum;
  });
  o[Opcode::v_dot4_u32_u8] = lanes([](u32 a, u32 b, u32 c) {
                               return unsigned_dot<8>(a, b, c);
                             }).clamped(lanes([](u32 a, u32 b, u32 c) {
    return static_cast<u32>(std::min<std::uint64_t>(wide_unsigned_dot<8>(a, b, c), UINT32_MAX));
  }));
  o[Opcode::v_dot8_u32_u4] = lanes([](u32 a, u32 b, u32 c) {
                               return unsigned_dot<4>(a, b, c);
                             }).clamped(lanes([](u32 a, u32 b, u32 c) {
    return static_cast<u32>(std::min<std::uint64_t>(wide_unsigned_dot<4>(a, b, c), UINT32_MAX));
  }));
}

}  // namespace

void add_packed(LaneOperations& operations) {
  add_integers(operations);
  add_floats(operations);
  add_dots(operations);
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
