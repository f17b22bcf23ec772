// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer operations of lanes. Expectations are the formulas of AMD's "RDNA3 Instruction Set
// Architecture", chapter 16.
#include <bit>
#include <random>

#include "sim_gfx/gfx_assembler.h"

namespace halyard::testing {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

GfxInputs integer_inputs() {
  const u64 special[] = {0,          1,          2,        31,           32,
                         0x7f,       0x80,       0xff,     0x7fff,       0x8000,
                         0xffff,     0x7fffff,   0x800000, 0xffffff,     0x7fffffff,
                         0x80000000, 0xffffffff, ~u64{0},  u64{1} << 63, ~u64{0} >> 1};
  GfxInputs inputs;
  std::mt19937_64 random(1);
  for (const u64 a : special) {
    for (const u64 b : special) inputs.push_back({a, b, special[random() % std::size(special)]});
  }
  for (int i = 0; i < 240; ++i) inputs.push_back({random(), random(), random()});
  return inputs;
}

// A case of 32-bit operands.
GfxCase bits32(std::string body, std::function<u32(u32, u32, u32)> f) {
  return {std::move(body), [f](u64 a, u64 b, u64 c) {
            return u64{f(static_cast<u32>(a), static_cast<u32>(b), static_cast<u32>(c))};
          }};
}
GfxCase bits64(std::string body, std::function<u64(u64, u64, u64)> f) {
  return {std::move(body), std::move(f)};
}

TEST(GfxLanes, LogicAndShifts) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases(
      {
          bits32("v_and_b32 v10, v0, v2", [](u32 a, u32 b, u32) { return a & b; }),
          bits32("v_or_b32 v10, v0, v2", [](u32 a, u32 b, u32) { return a | b; }),
          bits32("v_xor_b32 v10, v0, v2", [](u32 a, u32 b, u32) { return a ^ b; }),
          bits32("v_xnor_b32 v10, v0, v2", [](u32 a, u32 b, u32) { return ~(a ^ b); }),
          bits32("v_not_b32 v10, v0", [](u32 a, u32, u32) { return ~a; }),
          bits32("v_lshlrev_b32 v10, v0, v2", [](u32 a, u32 b, u32) { return b << (a & 31); }),
          bits32("v_lshrrev_b32 v10, v0, v2", [](u32 a, u32 b, u32) { return b >> (a & 31); }),
          bits32(
              "v_ashrrev_i32 v10, v0, v2",
              [](u32 a, u32 b, u32) { return static_cast<u32>(static_cast<i32>(b) >> (a & 31)); }),
          bits64("v_lshlrev_b64 v[10:11], v0, v[2:3]",
                 [](u64 a, u64 b, u64) { return b << (a & 63); }),
          bits64("v_lshrrev_b64 v[10:11], v0, v[2:3]",
                 [](u64 a, u64 b, u64) { return b >> (a & 63); }),
          bits64(
              "v_ashrrev_i64 v[10:11], v0, v[2:3]",
              [](u64 a, u64 b, u64) { return static_cast<u64>(static_cast<i64>(b) >> (a & 63)); }),
          bits32("v_lshl_add_u32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }),
          bits32("v_add_lshl_u32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }),
          bits32("v_lshl_or_b32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }),
          bits32("v_and_or_b32 v10, v0, v2, v4", [](u32 a, u32 b, u32 c) { return (a & b) | c; }),
          bits32("v_or3_b32 v10, v0, v2, v4", [](u32 a, u32 b, u32 c) { return a | b | c; }),
          bits32("v_xor3_b32 v10, v0, v2, v4", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; }),
          bits32("v_xad_u32 v10, v0, v2, v4", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }),
          bits32("v_bfi_b32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }),
          bits32("v_alignbit_b32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   return static_cast<u32>(((u64{a} << 32) | b) >> (c & 31));
                 }),
          bits32("v_alignbyte_b32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   return static_cast<u32>(((u64{a} << 32) | b) >> (8 * (c & 3)));
                 }),
          bits32("v_bfe_u32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return (a >> (b & 31)) & ((1u << (c & 31)) - 1); }),
          bits32("v_bfe_i32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   const u32 width = c & 31, offset = b & 31;
                   if (width == 0) return 0u;
                   const u32 field = static_cast<u32>(static_cast<i32>(a) >> offset) &
                                     static_cast<u32>((u64{1} << width) - 1);
                   const bool negative = (field >> (width - 1)) & 1;
                   return negative ? field | ~static_cast<u32>((u64{1} << width) - 1) : field;
                 }),
          bits32("v_bfm_b32 v10, v0, v2",
                 [](u32 a, u32 b, u32) { return ((1u << (a & 31)) - 1) << (b & 31); }),
          bits32("v_cndmask_b32 v10, v0, v2, vcc_lo", [](u32 a, u32, u32) { return a; }),
          bits32("s_mov_b32 vcc_lo, -1\nv_cndmask_b32 v10, v0, v2, vcc_lo",
                 [](u32, u32 b, u32) { return b; }),
      },
      integer_inputs());
}

TEST(GfxLanes, CountsAndFields) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases(
      {
          bits32(
              "v_clz_i32_u32 v10, v0",
              [](u32 a, u32, u32) { return a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a)); }),
          bits32(
              "v_ctz_i32_b32 v10, v0",
              [](u32 a, u32, u32) { return a == 0 ? ~0u : static_cast<u32>(std::countr_zero(a)); }),
          bits32("v_cls_i32 v10, v0",
                 [](u32 a, u32, u32) {
                   for (u32 i = 1; i < 32; ++i) {
                     if ((a >> (31 - i) & 1) != a >> 31) return i;
                   }
                   return ~0u;
                 }),
          bits32("v_bcnt_u32_b32 v10, v0, v2",
                 [](u32 a, u32 b, u32) { return static_cast<u32>(std::popcount(a)) + b; }),
          bits32("v_bfrev_b32 v10, v0",
                 [](u32 a, u32, u32) {
                   u32 d = 0;
                   for (int i = 0; i < 32; ++i) d |= (a >> i & 1) << (31 - i);
                   return d;
                 }),
          bits32("v_perm_b32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   const u64 data = u64{a} << 32 | b;
                   u32 d = 0;
                   for (int i = 0; i < 4; ++i) {
                     const u32 s = c >> (8 * i) & 0xff;
                     u32 byte = 0;
                     if (s >= 13) {
                       byte = 0xff;
                     } else if (s == 12) {
                       byte = 0;
                     } else if (s >= 8) {
                       byte = (data >> (16 * (s - 8) + 15) & 1) ? 0xff : 0;
                     } else {
                       byte = data >> (8 * s) & 0xff;
                     }
                     d |= byte << (8 * i);
                   }
                   return d;
                 }),
          bits32("v_sad_u8 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   for (int i = 0; i < 32; i += 8) {
                     const i32 d = static_cast<u8>(a >> i) - static_cast<u8>(b >> i);
                     c += static_cast<u32>(std::abs(d));
                   }
                   return c;
                 }),
          bits32("v_sad_u32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }),
          bits32("v_lerp_u8 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   u32 d = 0;
                   for (int i = 0; i < 32; i += 8) {
                     d |= ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) / 2 << i;
                   }
                   return d;
                 }),
          bits32("v_cvt_i32_i16 v10, v0",
                 [](u32 a, u32, u32) { return static_cast<u32>(i32{static_cast<i16>(a)}); }),
          bits32("v_cvt_u32_u16 v10, v0", [](u32 a, u32, u32) { return a & 0xffff; }),
      },
      integer_inputs());
}

TEST(GfxLanes, Arithmetic) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto signed24 = [](u32 a) { return i64{static_cast<i32>(a << 8) >> 8}; };
  check_gfx_cases(
      {
          bits32("v_add_nc_u32 v10, v0, v2", [](u32 a, u32 b, u32) { return a + b; }),
          bits32("v_sub_nc_u32 v10, v0, v2", [](u32 a, u32 b, u32) { return a - b; }),
          bits32("v_subrev_nc_u32 v10, v0, v2", [](u32 a, u32 b, u32) { return b - a; }),
          bits32("v_add_nc_u32_e64 v10, v0, v2 clamp",
                 [](u32 a, u32 b, u32) { return a + b < a ? ~0u : a + b; }),
          bits32("v_sub_nc_u32_e64 v10, v0, v2 clamp",
                 [](u32 a, u32 b, u32) { return a < b ? 0 : a - b; }),
          bits32("v_add_nc_i32 v10, v0, v2 clamp",
                 [](u32 a, u32 b, u32) {
                   const i64 sum = i64{static_cast<i32>(a)} + static_cast<i32>(b);
                   return static_cast<u32>(std::clamp<i64>(sum, INT32_MIN, INT32_MAX));
                 }),
          bits32("v_add3_u32 v10, v0, v2, v4", [](u32 a, u32 b, u32 c) { return a + b + c; }),
          bits32("v_mul_lo_u32 v10, v0, v2", [](u32 a, u32 b, u32) { return a * b; }),
          bits32("v_mul_hi_u32 v10, v0, v2",
                 [](u32 a, u32 b, u32) { return static_cast<u32>(u64{a} * b >> 32); }),
          bits32("v_mul_hi_i32 v10, v0, v2",
                 [](u32 a, u32 b, u32) {
                   return static_cast<u32>(i64{static_cast<i32>(a)} * static_cast<i32>(b) >> 32);
                 }),
          bits32("v_mul_u32_u24 v10, v0, v2",
                 [](u32 a, u32 b, u32) { return (a & 0xffffff) * (b & 0xffffff); }),
          bits32("v_mul_i32_i24 v10, v0, v2",
                 [=](u32 a, u32 b, u32) { return static_cast<u32>(signed24(a) * signed24(b)); }),
          bits32(
              "v_mul_hi_i32_i24 v10, v0, v2",
              [=](u32 a, u32 b, u32) { return static_cast<u32>(signed24(a) * signed24(b) >> 32); }),
          bits32("v_mad_u32_u24 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; }),
          bits32(
              "v_mad_i32_i24 v10, v0, v2, v4",
              [=](u32 a, u32 b, u32 c) { return static_cast<u32>(signed24(a) * signed24(b) + c); }),
          bits32("v_min3_i32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   return static_cast<u32>(
                       std::min({static_cast<i32>(a), static_cast<i32>(b), static_cast<i32>(c)}));
                 }),
          bits32("v_max3_u32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return std::max({a, b, c}); }),
          bits32("v_med3_i32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   i32 v[] = {static_cast<i32>(a), static_cast<i32>(b), static_cast<i32>(c)};
                   std::sort(v, v + 3);
                   return static_cast<u32>(v[1]);
                 }),
          bits32("v_maxmin_u32 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return std::min(std::max(a, b), c); }),
          bits64("v_mad_u64_u32 v[10:11], vcc_lo, v0, v2, v[4:5]",
                 [](u64 a, u64 b, u64 c) {
                   return u64{static_cast<u32>(a)} * static_cast<u32>(b) + c;
                 }),
          bits64("v_mad_i64_i32 v[10:11], vcc_lo, v0, v2, v[4:5]",
                 [](u64 a, u64 b, u64 c) {
                   return static_cast<u64>(i64{static_cast<i32>(a)} * static_cast<i32>(b)) + c;
                 }),
          // The carry of 65 bits.
          bits64("v_mad_u64_u32 v[12:13], vcc_lo, v0, v2, v[4:5]\n"
                 "v_cndmask_b32 v10, 0, 1, vcc_lo",
                 [](u64 a, u64 b, u64 c) {
                   const u64 product = u64{static_cast<u32>(a)} * static_cast<u32>(b);
                   return u64{product > ~c};
                 }),
          // 64 bits by halves.
          bits64("v_add_co_u32 v10, vcc_lo, v0, v2\nv_add_co_ci_u32 v11, vcc_lo, v1, v3, vcc_lo",
                 [](u64 a, u64 b, u64) { return a + b; }),
          bits64("v_sub_co_u32 v10, vcc_lo, v0, v2\nv_sub_co_ci_u32 v11, vcc_lo, v1, v3, vcc_lo",
                 [](u64 a, u64 b, u64) { return a - b; }),
          bits64("v_subrev_co_u32 v10, s20, v0, v2\nv_subrev_co_ci_u32 v11, s21, v1, v3, s20",
                 [](u64 a, u64 b, u64) { return b - a; }),
      },
      integer_inputs());
}

TEST(GfxLanes, SixteenBits) {
  HALYARD_NEEDS_ASSEMBLER();
  // The other half of the destination stays.
  const auto low = [](std::string body, std::function<u16(u16, u16, u16)> f) {
    return GfxCase{"v_mov_b32 v10, 0x12340000\n" + body, [f](u64 a, u64 b, u64 c) {
                     return 0x12340000u |
                            u64{f(static_cast<u16>(a), static_cast<u16>(b), static_cast<u16>(c))};
                   }};
  };
  check_gfx_cases(
      {
          low("v_add_nc_u16 v10, v0, v2",
              [](u16 a, u16 b, u16) { return static_cast<u16>(a + b); }),
          low("v_add_nc_u16 v10, v0, v2 clamp",
              [](u16 a, u16 b, u16) { return static_cast<u16>(std::min(a + b, 65535)); }),
          low("v_sub_nc_i16 v10, v0, v2 clamp",
              [](u16 a, u16 b, u16) {
                return static_cast<u16>(
                    std::clamp(static_cast<i16>(a) - static_cast<i16>(b), -32768, 32767));
              }),
          low("v_mul_lo_u16 v10, v0, v2",
              [](u16 a, u16 b, u16) { return static_cast<u16>(u32{a} * b); }),
          low("v_mad_u16 v10, v0, v2, v4",
              [](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); }),
          low("v_min_i16 v10, v0, v2",
              [](u16 a, u16 b, u16) {
                return static_cast<u16>(std::min(static_cast<i16>(a), static_cast<i16>(b)));
              }),
          low("v_max_u16 v10, v0, v2", [](u16 a, u16 b, u16) { return std::max(a, b); }),
          low("v_lshlrev_b16 v10, v0, v2",
              [](u16 a, u16 b, u16) { return static_cast<u16>(b << (a & 15)); }),
          low("v_ashrrev_i16 v10, v0, v2",
              [](u16 a, u16 b, u16) { return static_cast<u16>(static_cast<i16>(b) >> (a & 15)); }),
          // op_sel: the high half of the first source, and of the destination.
          bits32("v_mov_b32 v10, 0x5678\nv_add_nc_u16 v10, v0, v2 op_sel:[1,0,1]",
                 [](u32 a, u32 b, u32) { return 0x5678 | (((a >> 16) + b) & 0xffff) << 16; }),
          bits32("v_mad_u32_u16 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) { return (a & 0xffff) * (b & 0xffff) + c; }),
          bits32(
              "v_pk_add_u16 v10, v0, v2",
              [](u32 a, u32 b, u32) { return ((a + b) & 0xffff) | ((a >> 16) + (b >> 16)) << 16; }),
          bits32(
              "v_pk_add_u16 v10, v0, v2 op_sel:[1,0] op_sel_hi:[0,1]",
              [](u32 a, u32 b, u32) { return (((a >> 16) + b) & 0xffff) | (a + (b >> 16)) << 16; }),
          bits32("v_pk_mad_u16 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   return ((a * b + c) & 0xffff) | ((a >> 16) * (b >> 16) + (c >> 16)) << 16;
                 }),
          bits32("v_pk_lshlrev_b16 v10, v0, v2",
                 [](u32 a, u32 b, u32) {
                   return ((b << (a & 15)) & 0xffff) | (b >> 16 << (a >> 16 & 15)) << 16;
                 }),
          bits32("v_dot4_u32_u8 v10, v0, v2, v4",
                 [](u32 a, u32 b, u32 c) {
                   for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
                   return c;
                 }),
          bits32("v_dot4_i32_iu8 v10, v0, v2, v4 neg_lo:[1,0,0]",
                 [](u32 a, u32 b, u32 c) {
                   for (int i = 0; i < 32; i += 8) {
                     c += static_cast<u32>(static_cast<std::int8_t>(a >> i) *
                                           i32{static_cast<u8>(b >> i)});
                   }
                   return c;
                 }),
          bits32("v_dot8_i32_iu4 v10, v0, v2, v4 neg_lo:[1,1,0]",
                 [](u32 a, u32 b, u32 c) {
                   for (int i = 0; i < 32; i += 4) {
                     const i32 x = static_cast<i32>(a << (28 - i)) >> 28;
                     const i32 y = static_cast<i32>(b << (28 - i)) >> 28;
                     c += static_cast<u32>(x * y);
                   }
                   return c;
                 }),
      },
      integer_inputs());
}

TEST(GfxLanes, ComparisonsOfIntegers) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string read = "\nv_cndmask_b32 v10, 0, 1, vcc_lo";
  check_gfx_cases(
      {
          bits32("v_cmp_lt_u32 vcc_lo, v0, v2" + read, [](u32 a, u32 b, u32) { return a < b; }),
          bits32("v_cmp_ge_i32 vcc_lo, v0, v2" + read,
                 [](u32 a, u32 b, u32) { return static_cast<i32>(a) >= static_cast<i32>(b); }),
          bits32("v_cmp_ne_u16 vcc_lo, v0, v2" + read,
                 [](u32 a, u32 b, u32) { return static_cast<u16>(a) != static_cast<u16>(b); }),
          bits32("v_cmp_gt_i16 vcc_lo, v0, v2" + read,
                 [](u32 a, u32 b, u32) { return static_cast<i16>(a) > static_cast<i16>(b); }),
          bits64("v_cmp_le_u64 vcc_lo, v[0:1], v[2:3]" + read,
                 [](u64 a, u64 b, u64) { return u64{a <= b}; }),
          bits64("v_cmp_lt_i64 s20, v[0:1], v[2:3]\nv_cndmask_b32 v10, 0, 1, s20",
                 [](u64 a, u64 b, u64) { return u64{static_cast<i64>(a) < static_cast<i64>(b)}; }),
          bits32("v_cmp_t_u32 vcc_lo, v0, v2" + read, [](u32, u32, u32) { return 1u; }),
          // v_cmpx writes EXEC: the lanes for which it is false keep their 0.
          bits32("v_cmpx_gt_u32 v0, v2\nv_mov_b32 v10, 7\ns_mov_b32 exec_lo, -1",
                 [](u32 a, u32 b, u32) { return a > b ? 7u : 0; }),
          // Bits of inactive lanes become 0.
          bits32("s_mov_b32 vcc_lo, -1\nv_cmpx_gt_u32 v0, v2\nv_cmp_eq_u32 vcc_lo, v0, v0\n"
                 "s_mov_b32 exec_lo, -1" +
                     read,
                 [](u32 a, u32 b, u32) { return a > b; }),
      },
      integer_inputs());
}

}  // namespace
}  // namespace halyard::testing
