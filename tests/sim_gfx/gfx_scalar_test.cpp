// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar operations, branches and calls. Expectations are the formulas of AMD's "RDNA3 Instruction
// Set Architecture", 16.1 to 16.5.
#include <bit>
#include <random>

#include "sim_gfx/gfx_assembler.h"

namespace halyard::testing {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// s[10:11] and s[12:13] hold the operands, which are the same for all lanes; the body computes
// s[20:21], and SCC becomes bit 63 of the result if `with_scc`.
struct ScalarCase {
  std::string body;
  std::function<u64(u64, u64)> expected;  // with SCC in bit 63 if `with_scc`
  bool with_scc = true;
};

constexpr u64 kScc = u64{1} << 63;
u64 with_scc(u64 value, bool scc) { return (value & ~kScc) | (scc ? kScc : 0); }

void check_scalar(const std::vector<ScalarCase>& cases) {
  std::vector<std::array<u64, 2>> operands;
  const u64 special[] = {0,          1,          5,           31,           0x7fffffff,
                         0x80000000, 0xffffffff, 0x100000000, ~u64{0} >> 1, ~u64{0},
                         0x00080004, 0x00ff00f0};
  for (const u64 a : special) {
    for (const u64 b : special) operands.push_back({a, b});
  }
  std::mt19937_64 random(4);
  for (int i = 0; i < 60; ++i) operands.push_back({random(), random()});
  // A workgroup of a single wave for each pair.
  GfxInputs inputs;
  for (const auto& [a, b] : operands) {
    for (int lane = 0; lane < 32; ++lane) inputs.push_back({a, b, 0});
  }
  std::vector<GfxCase> lanes;
  for (const ScalarCase& each : cases) {
    std::string body =
        "v_readfirstlane_b32 s10, v0\nv_readfirstlane_b32 s11, v1\n"
        "v_readfirstlane_b32 s12, v2\nv_readfirstlane_b32 s13, v3\n"
        "s_mov_b64 s[20:21], 0\ns_cmp_eq_u32 s20, 1\n" +
        each.body + "\n";
    if (each.with_scc) {
      body +=
          "s_cselect_b32 s22, 0x80000000, 0\ns_and_b32 s21, s21, 0x7fffffff\n"
          "s_or_b32 s21, s21, s22\n";
    }
    body += "v_mov_b32 v10, s20\nv_mov_b32 v11, s21";
    lanes.push_back({body, [f = each.expected](u64 a, u64 b, u64) { return f(a, b); }});
  }
  check_gfx_cases(lanes, inputs);
}

// A case of 32 bits: the result, and SCC.
ScalarCase s32(const std::string& name, std::function<std::pair<u32, bool>(u32, u32)> f) {
  return {name + " s20, s10, s12", [f](u64 a, u64 b) {
            const auto [value, scc] = f(static_cast<u32>(a), static_cast<u32>(b));
            return with_scc(value, scc);
          }};
}
ScalarCase unary32(const std::string& name, std::function<std::pair<u32, bool>(u32)> f) {
  return {name + " s20, s10", [f](u64 a, u64) {
            const auto [value, scc] = f(static_cast<u32>(a));
            return with_scc(value, scc);
          }};
}
ScalarCase compare(const std::string& name, std::function<bool(u32, u32)> f) {
  return {name + " s10, s12",
          [f](u64 a, u64 b) { return with_scc(0, f(static_cast<u32>(a), static_cast<u32>(b))); }};
}
std::pair<u32, bool> tested(u32 value) { return {value, value != 0}; }

TEST(GfxScalar, ArithmeticAndShifts) {
  HALYARD_NEEDS_ASSEMBLER();
  check_scalar({
      s32("s_add_u32", [](u32 a, u32 b) { return std::pair(a + b, a + b < a); }),
      s32("s_sub_u32", [](u32 a, u32 b) { return std::pair(a - b, a < b); }),
      s32("s_add_i32",
          [](u32 a, u32 b) {
            const i64 sum = i64{static_cast<i32>(a)} + static_cast<i32>(b);
            return std::pair(a + b, sum != static_cast<i32>(sum));
          }),
      s32("s_sub_i32",
          [](u32 a, u32 b) {
            const i64 sum = i64{static_cast<i32>(a)} - static_cast<i32>(b);
            return std::pair(a - b, sum != static_cast<i32>(sum));
          }),
      s32("s_min_i32",
          [](u32 a, u32 b) {
            const bool first = static_cast<i32>(a) < static_cast<i32>(b);
            return std::pair(first ? a : b, first);
          }),
      s32("s_max_u32", [](u32 a, u32 b) { return std::pair(std::max(a, b), a >= b); }),
      s32("s_absdiff_i32",
          [](u32 a, u32 b) {
            const auto d = static_cast<i32>(a - b);
            return tested(d < 0 ? 0 - (a - b) : a - b);
          }),
      s32("s_lshl_b32", [](u32 a, u32 b) { return tested(a << (b & 31)); }),
      s32("s_lshr_b32", [](u32 a, u32 b) { return tested(a >> (b & 31)); }),
      s32("s_ashr_i32",
          [](u32 a, u32 b) { return tested(static_cast<u32>(static_cast<i32>(a) >> (b & 31))); }),
      s32("s_lshl3_add_u32",
          [](u32 a, u32 b) {
            const u64 sum = (u64{a} << 3) + b;
            return std::pair(static_cast<u32>(sum), sum >> 32 != 0);
          }),
      s32("s_mul_i32", [](u32 a, u32 b) { return std::pair(a * b, false); }),
      s32("s_mul_hi_u32",
          [](u32 a, u32 b) { return std::pair(static_cast<u32>(u64{a} * b >> 32), false); }),
      s32("s_bfe_u32",
          [](u32 a, u32 b) {
            const u32 width = std::min(b >> 16 & 127, 32u);
            return tested((a >> (b & 31)) & static_cast<u32>((u64{1} << width) - 1));
          }),
      s32("s_pack_lh_b32_b16",
          [](u32 a, u32 b) { return std::pair((a & 0xffff) | (b & 0xffff0000), false); }),
      // 64 bits.
      {"s_add_u32 s20, s10, s12\ns_addc_u32 s21, s11, s13", [](u64 a, u64 b) { return a + b; },
       false},
      {"s_sub_u32 s20, s10, s12\ns_subb_u32 s21, s11, s13", [](u64 a, u64 b) { return a - b; },
       false},
      {"s_lshl_b64 s[20:21], s[10:11], s12", [](u64 a, u64 b) { return a << (b & 63); }, false},
      {"s_ashr_i64 s[20:21], s[10:11], s12",
       [](u64 a, u64 b) { return static_cast<u64>(static_cast<i64>(a) >> (b & 63)); }, false},
      {"s_bfm_b64 s[20:21], s10, s12",
       [](u64 a, u64 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }, false},
      {"s_mov_b32 s20, s10\ns_addk_i32 s20, 0x8000",
       [](u64 a, u64) {
         const i64 sum = i64{static_cast<i32>(static_cast<u32>(a))} - 32768;
         return with_scc(static_cast<u32>(sum), sum != static_cast<i32>(sum));
       }},
      {"s_mov_b32 s20, s10\ns_mulk_i32 s20, -3",
       [](u64 a, u64) { return with_scc(static_cast<u32>(a) * 0xfffffffdu, false); }},
  });
}

TEST(GfxScalar, LogicAndBits) {
  HALYARD_NEEDS_ASSEMBLER();
  check_scalar({
      s32("s_and_b32", [](u32 a, u32 b) { return tested(a & b); }),
      s32("s_or_b32", [](u32 a, u32 b) { return tested(a | b); }),
      s32("s_xnor_b32", [](u32 a, u32 b) { return tested(~(a ^ b)); }),
      s32("s_nand_b32", [](u32 a, u32 b) { return tested(~(a & b)); }),
      s32("s_and_not1_b32", [](u32 a, u32 b) { return tested(a & ~b); }),
      s32("s_or_not1_b32", [](u32 a, u32 b) { return tested(a | ~b); }),
      unary32("s_not_b32", [](u32 a) { return tested(~a); }),
      unary32("s_abs_i32", [](u32 a) { return tested(static_cast<i32>(a) < 0 ? 0 - a : a); }),
      unary32("s_bcnt1_i32_b32", [](u32 a) { return tested(static_cast<u32>(std::popcount(a))); }),
      unary32("s_bcnt0_i32_b32", [](u32 a) { return tested(static_cast<u32>(std::popcount(~a))); }),
      unary32("s_ctz_i32_b32",
              [](u32 a) {
                return std::pair(a == 0 ? ~0u : static_cast<u32>(std::countr_zero(a)), false);
              }),
      unary32("s_clz_i32_u32",
              [](u32 a) {
                return std::pair(a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a)), false);
              }),
      unary32("s_sext_i32_i8",
              [](u32 a) {
                return std::pair(static_cast<u32>(i32{static_cast<std::int8_t>(a)}), false);
              }),
      unary32("s_quadmask_b32",
              [](u32 a) {
                u32 d = 0;
                for (int i = 0; i < 8; ++i) d |= u32{(a >> (4 * i) & 15) != 0} << i;
                return tested(d);
              }),
      unary32("s_wqm_b32",
              [](u32 a) {
                u32 d = 0;
                for (int i = 0; i < 32; ++i) d |= u32{(a >> (i & 28) & 15) != 0} << i;
                return tested(d);
              }),
      {"s_bitreplicate_b64_b32 s[20:21], s10",
       [](u64 a, u64) {
         u64 d = 0;
         for (int i = 0; i < 64; ++i) d |= (a >> (i / 2) & 1) << i;
         return d;
       },
       false},
      {"s_brev_b64 s[20:21], s[10:11]",
       [](u64 a, u64) {
         u64 d = 0;
         for (int i = 0; i < 64; ++i) d |= (a >> i & 1) << (63 - i);
         return d;
       },
       false},
      // The saved EXEC is all lanes; it becomes the operand.
      {"s_and_saveexec_b32 s20, s10\ns_mov_b32 s21, exec_lo\ns_mov_b32 exec_lo, -1",
       [](u64 a, u64) { return u64{0xffffffff} | (a & 0xffffffff) << 32; }, false},
      {"s_and_not1_saveexec_b32 s20, s10\ns_mov_b32 s21, exec_lo\ns_mov_b32 exec_lo, -1",
       [](u64, u64) { return u64{0xffffffff}; }, false},
  });
}

TEST(GfxScalar, ComparisonsAndSelection) {
  HALYARD_NEEDS_ASSEMBLER();
  check_scalar({
      compare("s_cmp_lt_i32",
              [](u32 a, u32 b) { return static_cast<i32>(a) < static_cast<i32>(b); }),
      compare("s_cmp_ge_u32", [](u32 a, u32 b) { return a >= b; }),
      compare("s_cmp_lg_u32", [](u32 a, u32 b) { return a != b; }),
      compare("s_bitcmp1_b32", [](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; }),
      {"s_cmp_eq_u64 s[10:11], s[12:13]", [](u64 a, u64 b) { return with_scc(0, a == b); }},
      {"s_cmpk_gt_i32 s10, 0xfff0",
       [](u64 a, u64) { return with_scc(0, static_cast<i32>(static_cast<u32>(a)) > -16); }},
      {"s_cmpk_lt_u32 s10, 0xfff0",
       [](u64 a, u64) { return with_scc(0, static_cast<u32>(a) < 0xfff0); }},
      {"s_cmp_gt_u32 s10, s12\ns_cselect_b64 s[20:21], s[10:11], s[12:13]",
       [](u64 a, u64 b) { return static_cast<u32>(a) > static_cast<u32>(b) ? a : b; }, false},
      {"s_cmp_gt_u32 s10, s12\ns_cmovk_i32 s20, 0x1234",
       [](u64 a, u64 b) {
         const bool greater = static_cast<u32>(a) > static_cast<u32>(b);
         return with_scc(greater ? 0x1234 : 0, greater);
       }},
  });
}

TEST(GfxScalar, BranchesLoopsAndCalls) {
  HALYARD_NEEDS_ASSEMBLER();
  const GfxInputs inputs = {{5, 7, 0}};
  const auto constant = [](u64 value) { return [value](u64, u64, u64) { return value; }; };
  check_gfx_cases(
      {
          {R"(s_mov_b32 s20, 0
s_mov_b32 s21, 10
loop0:
s_add_u32 s20, s20, s21
s_sub_u32 s21, s21, 1
s_cmp_lg_u32 s21, 0
s_cbranch_scc1 loop0
v_mov_b32 v10, s20)",
           constant(55)},
          // Lanes leave a loop at different times.
          {R"(v_and_b32 v6, 31, v30
v_mov_b32 v7, 0
s_mov_b32 s20, exec_lo
loop1:
v_cmpx_lt_u32 v7, v6
s_cbranch_execz done1
v_add_nc_u32 v7, 1, v7
s_branch loop1
done1:
s_mov_b32 exec_lo, s20
v_sub_nc_u32 v10, v7, v6)",
           constant(0)},
          {R"(s_getpc_b64 s[20:21]
s_add_u32 s20, s20, function2-.+4-4
s_addc_u32 s21, s21, 0
s_swappc_b64 s[22:23], s[20:21]
v_mov_b32 v10, s24
s_branch end2
function2:
s_movk_i32 s24, 77
s_setpc_b64 s[22:23]
end2:)",
           constant(77)},
          {R"(s_call_b64 s[22:23], function3
v_mov_b32 v10, s24
s_branch end3
function3:
s_movk_i32 s24, 78
s_setpc_b64 s[22:23]
end3:)",
           constant(78)},
          {"s_cmp_eq_u32 0, 0\ns_cbranch_scc0 end4\nv_mov_b32 v10, 1\nend4:", constant(1)},
          {"s_mov_b32 vcc_lo, 0\ns_cbranch_vccz end5\nv_mov_b32 v10, 1\nend5:", constant(0)},
          {"s_getreg_b32 s20, hwreg(HW_REG_MODE, 4, 4)\nv_mov_b32 v10, s20", constant(15)},
          {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\ns_getreg_b32 s20, "
           "hwreg(HW_REG_MODE, 4, 4)\nv_mov_b32 v10, s20",
           constant(12)},
          {"s_mov_b32 s20, null\nv_add_nc_u32 v10, s20, 3", constant(3)},
      },
      inputs);
}

}  // namespace
}  // namespace halyard::testing
