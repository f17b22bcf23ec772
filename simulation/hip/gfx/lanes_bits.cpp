// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves, logic, shifts, fields of bits and counts.
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

u32 reverse_bits(u32 a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
  return a >> 16 | a << 16;
}

i32 sign_extended(u32 value, u32 width) {  // width 0 to 31
  if (width == 0) return 0;
  const u32 shift = 32 - width;
  return static_cast<i32>(value << shift) >> shift;
}

u32 permuted_byte(u64 data, u32 selector) {
  selector &= 0xff;
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0;
  // 8 to 11: the sign of byte 1, 3, 5 or 7.
  if (selector >= 8) return (data >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xff : 0;
  return data >> (8 * selector) & 0xff;
}

u32 byte_difference(u32 a, u32 b, unsigned byte) {
  const u32 x = a >> (8 * byte) & 0xff, y = b >> (8 * byte) & 0xff;
  return x > y ? x - y : y - x;
}
u32 sum_of_differences(u32 a, u32 b, u32 c) {
  for (unsigned i = 0; i < 4; ++i) c += byte_difference(a, b, i);
  return c;
}
// Bytes that are 0 in `b` do not count.
u32 masked_sum_of_differences(u32 a, u32 b, u32 c) {
  for (unsigned i = 0; i < 4; ++i) {
    if ((b >> (8 * i) & 0xff) != 0) c += byte_difference(a, b, i);
  }
  return c;
}

template <u32 (*kSum)(u32, u32, u32)>
u64 four_sums(u64 a, u32 b, u64 c) {
  u64 d = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 sum = kSum(static_cast<u32>(a >> (8 * i)), b, c >> (16 * i) & 0xffff);
    d |= u64{static_cast<u16>(sum)} << (16 * i);
  }
  return d;
}

// Four 32-bit sums; the third source has four registers.
void wide_sums(LaneArguments& x) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const u64 a = x.sources[0][lane] | u64{x.sources[0][kLanes + lane]} << 32;
    for (unsigned i = 0; i < 4; ++i) {
      x.d[i * kLanes + lane] = masked_sum_of_differences(
          static_cast<u32>(a >> (8 * i)), x.sources[1][lane], x.sources[2][i * kLanes + lane]);
    }
  }
}

void add_logic(LaneOperations& o) {
  o[Opcode::v_mov_b32] = lanes([](u32 a) { return a; });
  o[Opcode::v_mov_b16] = lanes([](u16 a) { return a; });
  o[Opcode::v_not_b32] = lanes([](u32 a) { return ~a; });
  o[Opcode::v_not_b16] = lanes([](u16 a) { return static_cast<u16>(~a); });
  o[Opcode::v_and_b32] = lanes([](u32 a, u32 b) { return a & b; });
  o[Opcode::v_or_b32] = lanes([](u32 a, u32 b) { return a | b; });
  o[Opcode::v_xor_b32] = lanes([](u32 a, u32 b) { return a ^ b; });
  o[Opcode::v_xnor_b32] = lanes([](u32 a, u32 b) { return ~(a ^ b); });
  o[Opcode::v_and_b16] = lanes([](u16 a, u16 b) { return static_cast<u16>(a & b); });
  o[Opcode::v_or_b16] = lanes([](u16 a, u16 b) { return static_cast<u16>(a | b); });
  o[Opcode::v_xor_b16] = lanes([](u16 a, u16 b) { return static_cast<u16>(a ^ b); });
  o[Opcode::v_and_or_b32] = lanes([](u32 a, u32 b, u32 c) { return (a & b) | c; });
  o[Opcode::v_or3_b32] = lanes([](u32 a, u32 b, u32 c) { return a | b | c; });
  o[Opcode::v_xor3_b32] = lanes([](u32 a, u32 b, u32 c) { return a ^ b ^ c; });
  o[Opcode::v_bfi_b32] = lanes([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); });
  o[Opcode::v_cndmask_b32] = lanes([](u32 a, u32 b, bool m) { return m ? b : a; });
  o[Opcode::v_cndmask_b16] = lanes([](u16 a, u16 b, bool m) { return m ? b : a; });
  o[Opcode::v_pack_b32_f16] = lanes([](F16 a, F16 b) { return u32{a.bits} | u32{b.bits} << 16; });
}

void add_shifts(LaneOperations& o) {
  o[Opcode::v_lshlrev_b32] = lanes([](u32 a, u32 b) { return b << (a & 31); });
  o[Opcode::v_lshrrev_b32] = lanes([](u32 a, u32 b) { return b >> (a & 31); });
  o[Opcode::v_ashrrev_i32] = lanes([](u32 a, i32 b) { return b >> (a & 31); });
  o[Opcode::v_lshlrev_b16] = lanes([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); });
  o[Opcode::v_lshrrev_b16] = lanes([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); });
  o[Opcode::v_ashrrev_i16] = lanes([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); });
  o[Opcode::v_lshlrev_b64] = lanes([](u32 a, u64 b) { return b << (a & 63); });
  o[Opcode::v_lshrrev_b64] = lanes([](u32 a, u64 b) { return b >> (a & 63); });
  o[Opcode::v_ashrrev_i64] = lanes([](u32 a, i64 b) { return b >> (a & 63); });
  o[Opcode::v_lshl_add_u32] = lanes([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; });
  o[Opcode::v_add_lshl_u32] = lanes([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); });
  o[Opcode::v_lshl_or_b32] = lanes([](u32 a, u32 b, u32 c) { return a << (b & 31) | c; });
  o[Opcode::v_alignbit_b32] =
      lanes([](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); });
  o[Opcode::v_alignbyte_b32] = lanes(
      [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3)); });
}

void add_fields(LaneOperations& o) {
  o[Opcode::v_bfe_u32] =
      lanes([](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((u32{1} << (c & 31)) - 1); });
  o[Opcode::v_bfe_i32] = lanes([](u32 a, u32 b, u32 c) {
    return sign_extended(static_cast<u32>(static_cast<i32>(a) >> (b & 31)), c & 31);
  });
  o[Opcode::v_bfm_b32] = lanes([](u32 a, u32 b) { return ((u32{1} << (a & 31)) - 1) << (b & 31); });
  o[Opcode::v_bfrev_b32] = lanes([](u32 a) { return reverse_bits(a); });
  o[Opcode::v_perm_b32] = lanes([](u32 a, u32 b, u32 c) {
    const u64 data = u64{a} << 32 | b;
    u32 d = 0;
    for (unsigned i = 0; i < 4; ++i) d |= permuted_byte(data, c >> (8 * i)) << (8 * i);
    return d;
  });
  o[Opcode::v_clz_i32_u32] = lanes([](u32 a) { return a == 0 ? -1 : std::countl_zero(a); });
  o[Opcode::v_ctz_i32_b32] = lanes([](u32 a) { return a == 0 ? -1 : std::countr_zero(a); });
  o[Opcode::v_cls_i32] = lanes([](i32 a) {
    const u32 changes = static_cast<u32>(a ^ (a >> 31));
    return changes == 0 ? -1 : std::countl_zero(changes);
  });
  o[Opcode::v_bcnt_u32_b32] =
      lanes([](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; });
  o[Opcode::v_mbcnt_lo_u32_b32] = lanes([](u32 a, u32 b, LaneIndex lane) {
    return static_cast<u32>(std::popcount(a & ((u32{1} << lane.value) - 1))) + b;
  });
  // The high half of the mask belongs to lanes 32 to 63, which are not below any lane.
  o[Opcode::v_mbcnt_hi_u32_b32] = lanes([](u32, u32 b) { return b; });
  o[Opcode::v_cvt_i32_i16] = lanes([](i16 a) { return i32{a}; });
  o[Opcode::v_cvt_u32_u16] = lanes([](u16 a) { return u32{a}; });
}

void add_bytes(LaneOperations& o) {
  o[Opcode::v_sad_u8] = lanes([](u32 a, u32 b, u32 c) { return sum_of_differences(a, b, c); });
  o[Opcode::v_sad_hi_u8] =
      lanes([](u32 a, u32 b, u32 c) { return (sum_of_differences(a, b, 0) << 16) + c; });
  o[Opcode::v_sad_u16] = lanes([](u32 a, u32 b, u32 c) {
    const u32 a0 = a & 0xffff, b0 = b & 0xffff, a1 = a >> 16, b1 = b >> 16;
    return (a0 > b0 ? a0 - b0 : b0 - a0) + (a1 > b1 ? a1 - b1 : b1 - a1) + c;
  });
  o[Opcode::v_sad_u32] = lanes([](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; });
  o[Opcode::v_msad_u8] =
      lanes([](u32 a, u32 b, u32 c) { return masked_sum_of_differences(a, b, c); });
  o[Opcode::v_qsad_pk_u16_u8] =
      lanes([](u64 a, u32 b, u64 c) { return four_sums<sum_of_differences>(a, b, c); });
  o[Opcode::v_mqsad_pk_u16_u8] =
      lanes([](u64 a, u32 b, u64 c) { return four_sums<masked_sum_of_differences>(a, b, c); });
  LaneOperation& wide = o[Opcode::v_mqsad_u32_u8];
  wide = lanes([](u64, u32, u64 c) { return c; });
  wide.run = wide_sums;
  wide.result_dwords = 4;
  o[Opcode::v_lerp_u8] = lanes([](u32 a, u32 b, u32 c) {
    u32 d = 0;
    for (unsigned i = 0; i < 32; i += 8) {
      d |= ((a >> i & 0xff) + (b >> i & 0xff) + (c >> i & 1)) >> 1 << i;
    }
    return d;
  });
  o[Opcode::v_sat_pk_u8_i16] = lanes([](u32 a) {
    const auto saturated = [](u32 bits) {
      const i32 value = static_cast<i16>(bits);
      return static_cast<u32>(value < 0 ? 0 : value > 255 ? 255 : value);
    };
    return static_cast<u16>(saturated(a & 0xffff) | saturated(a >> 16) << 8);
  });
}

}  // namespace

void add_bits(LaneOperations& operations) {
  add_logic(operations);
  add_shifts(operations);
  add_fields(operations);
  add_bytes(operations);
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
