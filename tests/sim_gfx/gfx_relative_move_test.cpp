// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers that M0 chooses.
#include <gtest/gtest.h>

#include <cstdint>

#include "sim_gfx/gfx_assembler.h"

namespace halyard::testing {
namespace {

using Value = std::uint64_t;

const GfxInputs kInputs = {{0x11223344, 5, 7}, {0x8000ffff, 0, 1}, {3, 9, 0xffffffff}};

TEST(GfxRelativeMove, M0IsAddedToTheRegister) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto first = [](Value a, Value, Value) { return a & 0xffffffff; };
  const auto second = [](Value, Value b, Value) { return b & 0xffffffff; };
  check_gfx_cases(
      {
          // v20 + 3 is v23.
          {"v_mov_b32 v20, 0\nv_mov_b32 v23, v0\ns_mov_b32 m0, 3\nv_movrels_b32 v10, v20", first},
          {"s_mov_b32 m0, 4\nv_movreld_b32 v20, v2\nv_mov_b32 v10, v24", second},
          {"v_mov_b32 v22, v0\ns_mov_b32 m0, 2\nv_movrelsd_b32 v24, v20\nv_mov_b32 v10, v26",
           first},
          // The source by 1, the destination by 5.
          {"v_mov_b32 v21, v2\ns_mov_b32 m0, 0x50001\nv_movrelsd_2_b32 v20, v20\n"
           "v_mov_b32 v10, v25",
           second},
          {"s_movk_i32 s43, 77\ns_mov_b32 m0, 3\ns_movrels_b32 s20, s40\nv_mov_b32 v10, s20",
           [](Value, Value, Value) { return Value{77}; }},
          {"s_movk_i32 s20, 78\ns_mov_b32 m0, 2\ns_movreld_b32 s40, s20\nv_mov_b32 v10, s42",
           [](Value, Value, Value) { return Value{78}; }},
          {"s_movk_i32 s42, 5\ns_movk_i32 s43, 6\ns_mov_b32 m0, 2\ns_movrels_b64 s[20:21], "
           "s[40:41]\n"
           "v_mov_b32 v10, s20\nv_mov_b32 v11, s21",
           [](Value, Value, Value) { return Value{6} << 32 | 5; }},
      },
      kInputs);
}

TEST(GfxRelativeMove, OnlyLanesThatExecAllowsAreMoved) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases({{"v_mov_b32 v23, 1\nv_cmp_eq_u32 vcc_lo, 3, v0\ns_mov_b32 s20, exec_lo\n"
                    "s_and_b32 exec_lo, exec_lo, vcc_lo\ns_mov_b32 m0, 3\nv_movreld_b32 v20, v2\n"
                    "s_mov_b32 exec_lo, s20\nv_mov_b32 v10, v23",
                    [](Value a, Value b, Value) { return a == 3 ? b & 0xffffffff : 1; }}},
                  kInputs);
}

TEST(GfxRelativeMove, ARegisterThatDoesNotExistEndsTheRun) {
  HALYARD_NEEDS_ASSEMBLER();
  GfxSource source;
  source.body = "s_movk_i32 m0, 300\nv_movrels_b32 v10, v0";
  GfxModule module(source);
  ASSERT_TRUE(module);
  const auto outcome = module.run("test", {1, 1, 1}, {32, 1, 1}, {0, 0});
  EXPECT_EQ(outcome.kind, gfx::OutcomeKind::kIllegalInstruction);
  EXPECT_NE(outcome.message.find("m0 is 300"), std::string::npos) << outcome.message;
}

TEST(GfxRelativeMove, HalvesAreSwapped) {
  HALYARD_NEEDS_ASSEMBLER();
  // v_swap_b16 v20.h, v21.l, which llvm-mc 19 does not know.
  check_gfx_cases({{"v_mov_b32 v20, v0\nv_mov_b32 v21, v2\n.long 0x7f28cd15\nv_mov_b32 v10, v20\n"
                    "v_mov_b32 v11, v21",
                    [](Value a, Value b, Value) {
                      const Value first = (a & 0xffff) | (b & 0xffff) << 16;
                      const Value second = (b & 0xffff0000) | (a >> 16 & 0xffff);
                      return first | second << 32;
                    }}},
                  kInputs);
}

}  // namespace
}  // namespace halyard::testing
