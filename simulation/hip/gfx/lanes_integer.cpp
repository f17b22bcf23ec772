// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic.
#include <algorithm>

#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
__extension__ typedef __int128 Wide;

// Saturation for the clamp modifier.
u32 saturated_u32(i64 value) {
  return static_cast<u32>(std::clamp<i64>(value, 0, std::int64_t{UINT32_MAX}));
}
u32 saturated_u32(u64 value) { return static_cast<u32>(std::min<u64>(value, UINT32_MAX)); }
i32 saturated_i32(i64 value) {
  return static_cast<i32>(std::clamp<i64>(value, INT32_MIN, INT32_MAX));
}
u16 saturated_u16(i64 value) { return static_cast<u16>(std::clamp<i64>(value, 0, UINT16_MAX)); }
i16 saturated_i16(i64 value) {
  return static_cast<i16>(std::clamp<i64>(value, INT16_MIN, INT16_MAX));
}

u32 low24(u32 a) { return a & 0xffffffu; }
i64 signed24(u32 a) { return static_cast<i32>(a << 8) >> 8; }

template <class T>
T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

template <class T>
void add_order(LaneOperations& o, Opcode least, Opcode most, Opcode least3, Opcode most3,
               Opcode median3) {
  o[least] = lanes([](T a, T b) { return std::min(a, b); });
  o[most] = lanes([](T a, T b) { return std::max(a, b); });
  o[least3] = lanes([](T a, T b, T c) { return std::min(std::min(a, b), c); });
  o[most3] = lanes([](T a, T b, T c) { return std::max(std::max(a, b), c); });
  o[median3] = lanes([](T a, T b, T c) { return median(a, b, c); });
}

void add_sums(LaneOperations& o) {
  o[Opcode::v_add_nc_u32] =
      lanes([](u32 a, u32 b) {
        return a + b;
      }).clamped(lanes([](u32 a, u32 b) { return saturated_u32(u64{a} + b); }));
  o[Opcode::v_sub_nc_u32] = lanes([](u32 a, u32 b) {
                              return a - b;
                            }).clamped(lanes([](u32 a, u32 b) { return a < b ? 0 : a - b; }));
  o[Opcode::v_subrev_nc_u32] = lanes([](u32 a, u32 b) {
                                 return b - a;
                               }).clamped(lanes([](u32 a, u32 b) { return b < a ? 0 : b - a; }));
  o[Opcode::v_add_nc_i32] =
      lanes([](u32 a, u32 b) {
        return a + b;
      }).clamped(lanes([](i32 a, i32 b) { return saturated_i32(i64{a} + b); }));
  o[Opcode::v_sub_nc_i32] =
      lanes([](u32 a, u32 b) {
        return a - b;
      }).clamped(lanes([](i32 a, i32 b) { return saturated_i32(i64{a} - b); }));
  o[Opcode::v_add_nc_u16] =
      lanes([](u16 a, u16 b) {
        return static_cast<u16>(a + b);
      }).clamped(lanes([](u16 a, u16 b) { return saturated_u16(i64{a} + b); }));
  o[Opcode::v_sub_nc_u16] =
      lanes([](u16 a, u16 b) {
        return static_cast<u16>(a - b);
      }).clamped(lanes([](u16 a, u16 b) { return saturated_u16(i64{a} - b); }));
  o[Opcode::v_add_nc_i16] =
      lanes([](u16 a, u16 b) {
        return static_cast<u16>(a + b);
      }).clamped(lanes([](i16 a, i16 b) { return saturated_i16(i64{a} + b); }));
  o[Opcode::v_sub_nc_i16] =
      lanes([](u16 a, u16 b) {
        return static_cast<u16>(a - b);
      }).clamped(lanes([](i16 a, i16 b) { return saturated_i16(i64{a} - b); }));
  o[Opcode::v_add3_u32] = lanes([](u32 a, u32 b, u32 c) { return a + b + c; });
  o[Opcode::v_xad_u32] = lanes([](u32 a, u32 b, u32 c) { return (a ^ b) + c; });
}

// Sums and differences with a carry or borrow per lane. The clamp modifier saturates the result,
// but does not change the carry mask.
void add_carries(LaneOperations& o) {
  using Sum = WithMask<u32>;
  o[Opcode::v_add_co_u32] =
      lanes([](u32 a, u32 b) {
        return Sum{a + b, a + b < a};
      }).clamped(lanes([](u32 a, u32 b) { return Sum{saturated_u32(u64{a} + b), a + b < a}; }));
  o[Opcode::v_sub_co_u32] =
      lanes([](u32 a, u32 b) {
        return Sum{a - b, a < b};
      }).clamped(lanes([](u32 a, u32 b) { return Sum{a < b ? 0 : a - b, a < b}; }));
  o[Opcode::v_subrev_co_u32] =
      lanes([](u32 a, u32 b) {
        return Sum{b - a, b < a};
      }).clamped(lanes([](u32 a, u32 b) { return Sum{b < a ? 0 : b - a, b < a}; }));
  o[Opcode::v_add_co_ci_u32] = lanes([](u32 a, u32 b, bool carry) {
                                 const u64 sum = u64{a} + b + u64{carry};
                                 return Sum{static_cast<u32>(sum), sum >> 32 != 0};
                               }).clamped(lanes([](u32 a, u32 b, bool carry) {
    const u64 sum = u64{a} + b + u64{carry};
    return Sum{saturated_u32(sum), sum >> 32 != 0};
  }));
  o[Opcode::v_sub_co_ci_u32] = lanes([](u32 a, u32 b, bool carry) {
                                 const i64 sum = i64{a} - i64{b} - i64{carry};
                                 return Sum{static_cast<u32>(sum), sum < 0};
                               }).clamped(lanes([](u32 a, u32 b, bool carry) {
    const i64 sum = i64{a} - i64{b} - i64{carry};
    return Sum{saturated_u32(sum), sum < 0};
  }));
  o[Opcode::v_subrev_co_ci_u32] = lanes([](u32 a, u32 b, bool carry) {
                                    const i64 sum = i64{b} - i64{a} - i64{carry};
                                    return Sum{static_cast<u32>(sum), sum < 0};
                                  }).clamped(lanes([](u32 a, u32 b, bool carry) {
    const i64 sum = i64{b} - i64{a} - i64{carry};
    return Sum{saturated_u32(sum), sum < 0};
  }));
  o[Opcode::v_mad_u64_u32] = lanes([](u32 a, u32 b, u64 c) {
    const u64 sum = u64{a} * b + c;
    return WithMask<u64>{sum, sum < c};
  });
  o[Opcode::v_mad_i64_i32] = lanes([](i32 a, i32 b, i64 c) {
    const Wide sum = Wide{i64{a} * b} + c;
    return WithMask<i64>{static_cast<i64>(sum), (sum >> 64 & 1) != 0};
  });
}

void add_products(LaneOperations& o) {
  o[Opcode::v_mul_lo_u32] = lanes([](u32 a, u32 b) { return a * b; });
  o[Opcode::v_mul_hi_u32] = lanes([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); });
  o[Opcode::v_mul_hi_i32] = lanes([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); });
  o[Opcode::v_mul_u32_u24] = lanes([](u32 a, u32 b) { return low24(a) * low24(b); });
  o[Opcode::v_mul_hi_u32_u24] =
      lanes([](u32 a, u32 b) { return static_cast<u32>(u64{low24(a)} * low24(b) >> 32); });
  o[Opcode::v_mul_i32_i24] =
      lanes([](u32 a, u32 b) { return static_cast<u32>(signed24(a) * signed24(b)); });
  o[Opcode::v_mul_hi_i32_i24] =
      lanes([](u32 a, u32 b) { return static_cast<u32>(signed24(a) * signed24(b) >> 32); });
  o[Opcode::v_mul_lo_u16] = lanes([](u16 a, u16 b) { return static_cast<u16>(u32{a} * u32{b}); });
  o[Opcode::v_mad_u32_u24] = lanes([](u32 a, u32 b, u32 c) {
                               return low24(a) * low24(b) + c;
                             }).clamped(lanes([](u32 a, u32 b, u32 c) {
    return saturated_u32(u64{low24(a)} * low24(b) + c);
  }));
  o[Opcode::v_mad_i32_i24] = lanes([](u32 a, u32 b, u32 c) {
                               return static_cast<u32>(signed24(a) * signed24(b)) + c;
                             }).clamped(lanes([](u32 a, u32 b, i32 c) {
    return saturated_i32(signed24(a) * signed24(b) + c);
  }));
  o[Opcode::v_mad_u16] =
      lanes([](u16 a, u16 b, u16 c) {
        return static_cast<u16>(u32{a} * u32{b} + c);
      }).clamped(lanes([](u16 a, u16 b, u16 c) { return saturated_u16(i64{a} * b + c); }));
  o[Opcode::v_mad_i16] =
      lanes([](i16 a, i16 b, i16 c) {
        return static_cast<i16>(i32{a} * i32{b} + c);
      }).clamped(lanes([](i16 a, i16 b, i16 c) { return saturated_i16(i64{a} * b + c); }));
  o[Opcode::v_mad_u32_u16] =
      lanes([](u16 a, u16 b, u32 c) {
        return u32{a} * u32{b} + c;
      }).clamped(lanes([](u16 a, u16 b, u32 c) { return saturated_u32(u64{a} * b + c); }));
  o[Opcode::v_mad_i32_i16] =
      lanes([](i16 a, i16 b, u32 c) {
        return static_cast<u32>(i32{a} * i32{b}) + c;
      }).clamped(lanes([](i16 a, i16 b, i32 c) { return saturated_i32(i64{a} * b + c); }));
}

}  // namespace

void add_integer(LaneOperations& o) {
  add_sums(o);
  add_carries(o);
  add_products(o);
  add_order<u32>(o, Opcode::v_min_u32, Opcode::v_max_u32, Opcode::v_min3_u32, Opcode::v_max3_u32,
                 Opcode::v_med3_u32);
  add_order<i32>(o, Opcode::v_min_i32, Opcode::v_max_i32, Opcode::v_min3_i32, Opcode::v_max3_i32,
                 Opcode::v_med3_i32);
  add_order<u16>(o, Opcode::v_min_u16, Opcode::v_max_u16, Opcode::v_min3_u16, Opcode::v_max3_u16,
                 Opcode::v_med3_u16);
  add_order<i16>(o, Opcode::v_min_i16, Opcode::v_max_i16, Opcode::v_min3_i16, Opcode::v_max3_i16,
                 Opcode::v_med3_i16);
  o[Opcode::v_maxmin_u32] = lanes([](u32 a, u32 b, u32 c) { return std::min(std::max(a, b), c); });
  o[Opcode::v_minmax_u32] = lanes([](u32 a, u32 b, u32 c) { return std::max(std::min(a, b), c); });
  o[Opcode::v_maxmin_i32] = lanes([](i32 a, i32 b, i32 c) { return std::min(std::max(a, b), c); });
  o[Opcode::v_minmax_i32] = lanes([](i32 a, i32 b, i32 c) { return std::max(std::min(a, b), c); });
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
