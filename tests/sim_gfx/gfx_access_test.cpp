// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, atomic operations, and the initial state of a kernel. Expectations are the manual's
// (chapters 9 to 12, 16.13 to 16.15) and those of LLVM's "User Guide for AMDGPU Backend".
#include <bit>
#include <numeric>

#include "sim_gfx/gfx_assembler.h"

namespace halyard::testing {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

GfxInputs access_inputs() {
  GfxInputs inputs;
  for (u64 lane = 0; lane < 32; ++lane) {
    inputs.push_back({lane, 0x8182838485868788u + lane, 0x0123456789abcdefu ^ lane << 7});
  }
  return inputs;
}

TEST(GfxAccess, WidthsOfLds) {
  HALYARD_NEEDS_ASSEMBLER();
  // v6: 16 bytes for each lane.
  const std::string place = "v_lshlrev_b32 v6, 4, v0\n";
  const std::string wait = "\ns_waitcnt lgkmcnt(0)";
  const auto stored = [=](const std::string& load) {
    return place + "ds_store_b64 v6, v[2:3]\nds_store_b64 v6, v[4:5] offset:8\n" + load + wait;
  };
  check_gfx_cases(
      {
          {stored("ds_load_b32 v10, v6 offset:4"), [](u64, u64 b, u64) { return b >> 32; }},
          {stored("ds_load_b64 v[10:11], v6 offset:8"), [](u64, u64, u64 c) { return c; }},
          {stored("ds_load_b64 v[10:11], v6 offset:3"),  // needs no alignment
           [](u64, u64 b, u64 c) { return b >> 24 | c << 40; }},
          {stored("ds_load_b128 v[12:15], v6") + "\nv_mov_b32 v10, v15\nv_mov_b32 v11, v12",
           [](u64, u64 b, u64 c) { return c >> 32 | b << 32; }},
          {stored("ds_load_u8 v10, v6 offset:7"), [](u64, u64 b, u64) { return b >> 56; }},
          {stored("ds_load_i8 v10, v6 offset:7"),
           [](u64, u64 b, u64) {
             return u64{static_cast<u32>(static_cast<std::int8_t>(b >> 56))};
           }},
          {stored("ds_load_i16 v10, v6 offset:6"),
           [](u64, u64 b, u64) {
             return u64{static_cast<u32>(static_cast<std::int16_t>(b >> 48))};
           }},
          {stored("v_mov_b32 v10, 0x11112222\nds_load_u16_d16_hi v10, v6"),
           [](u64, u64 b, u64) { return 0x2222 | (b & 0xffff) << 16; }},
          {stored("v_mov_b32 v10, 0x11112222\nds_load_u8_d16 v10, v6"),
           [](u64, u64 b, u64) { return 0x11110000 | (b & 0xff); }},
          {stored("ds_load_2addr_b32 v[10:11], v6 offset0:3 offset1:0"),
           [](u64, u64 b, u64 c) { return c >> 32 | b << 32; }},
          {place +
               "v_lshlrev_b32 v7, 2, v0\nds_store_2addr_stride64_b32 v7, v2, v3 offset0:0 "
               "offset1:1\nds_load_b32 v10, v7\nds_load_b32 v11, v7 offset:256" +
               wait,
           [](u64, u64 b, u64) { return b; }},
          {stored("ds_store_b8 v6, v4 offset:1\nds_store_b16_d16_hi v6, v4 offset:2\n"
                  "ds_load_b32 v10, v6"),
           [](u64, u64 b, u64 c) {
             return (b & 0xff) | (c & 0xff) << 8 | (c >> 16 & 0xffff) << 16;
           }},
      },
      access_inputs());
}

TEST(GfxAccess, AtomicOperationsOfLds) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string place = "v_lshlrev_b32 v6, 4, v0\nds_store_b64 v6, v[2:3]\n";
  const auto after = [=](const std::string& body) {
    return place + body + "\nds_load_b64 v[10:11], v6\ns_waitcnt lgkmcnt(0)";
  };
  const auto before = [=](const std::string& body) {
    return place + body + "\ns_waitcnt lgkmcnt(0)";
  };
  const auto low = [](u64 wide, u32 value) { return (wide & ~u64{0xffffffff}) | value; };
  check_gfx_cases(
      {
          {after("ds_add_u32 v6, v4"),
           [=](u64, u64 b, u64 c) { return low(b, static_cast<u32>(b + c)); }},
          {after("ds_rsub_u32 v6, v4"),
           [=](u64, u64 b, u64 c) { return low(b, static_cast<u32>(c - b)); }},
          {before("ds_add_rtn_u32 v10, v6, v4"), [](u64, u64 b, u64) { return b & 0xffffffff; }},
          {after("ds_max_u64 v6, v[4:5]"), [](u64, u64 b, u64 c) { return std::max(b, c); }},
          {after("ds_min_i64 v6, v[4:5]"),
           [](u64, u64 b, u64 c) {
             return static_cast<u64>(
                 std::min(static_cast<std::int64_t>(b), static_cast<std::int64_t>(c)));
           }},
          {after("ds_mskor_b32 v6, v4, v0"),
           [=](u64 a, u64 b, u64 c) {
             return low(b, (static_cast<u32>(b) & ~static_cast<u32>(c)) | static_cast<u32>(a));
           }},
          {after("ds_cmpstore_b32 v6, v4, v2"),
           [=](u64, u64 b, u64 c) { return low(b, static_cast<u32>(c)); }},
          {after("ds_cmpstore_b32 v6, v4, v0"), [](u64, u64 b, u64) { return b; }},
          {after("ds_inc_u32 v6, v4"),
           [=](u64, u64 b, u64 c) {
             const auto old = static_cast<u32>(b);
             return low(b, old >= static_cast<u32>(c) ? 0 : old + 1);
           }},
          {before("ds_storexchg_rtn_b64 v[10:11], v6, v[4:5]"), [](u64, u64 b, u64) { return b; }},
          // All lanes use the same word.
          {"v_mov_b32 v6, 0\nds_store_b32 v6, v6\nv_mov_b32 v7, 1\nds_add_u32 v6, v7\n"
           "ds_load_b32 v10, v6\ns_waitcnt lgkmcnt(0)",
           [](u64, u64, u64) { return u64{32}; }},
          {"v_mov_b32 v6, 0\nds_store_b32 v6, v6\nv_mov_b32 v7, 1.0\nds_add_f32 v6, v7\n"
           "ds_load_b32 v10, v6\ns_waitcnt lgkmcnt(0)",
           [](u64, u64, u64) { return u64{std::bit_cast<u32>(32.0f)}; }},
      },
      access_inputs());
}

TEST(GfxAccess, ScratchAndFlatAddresses) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases(
      {
          {"scratch_store_b64 off, v[2:3], off offset:8\nscratch_load_b64 v[10:11], off, off "
           "offset:8\ns_waitcnt vmcnt(0)",
           [](u64, u64 b, u64) { return b; }},
          {"v_and_b32 v6, 28, v0\nscratch_store_b32 v6, v2, off offset:4\ns_movk_i32 s20, 4\n"
           "scratch_load_b32 v10, v6, s20\ns_waitcnt vmcnt(0)",
           [](u64, u64 b, u64) { return b & 0xffffffff; }},
          {"scratch_store_b32 off, v2, off\nscratch_load_i8 v10, off, off offset:1\n"
           "s_waitcnt vmcnt(0)",
           [](u64, u64 b, u64) { return u64{static_cast<u32>(static_cast<std::int8_t>(b >> 8))}; }},
          // Flat addresses of LDS and of scratch, by their apertures.
          {"v_lshlrev_b32 v6, 3, v0\nds_store_b64 v6, v[2:3]\ns_mov_b64 s[20:21], "
           "src_shared_base\nv_mov_b32 v7, s21\nflat_load_b64 v[10:11], v[6:7]\n"
           "s_waitcnt vmcnt(0) lgkmcnt(0)",
           [](u64, u64 b, u64) { return b; }},
          {"s_mov_b64 s[20:21], src_private_base\nv_mov_b32 v6, 16\nv_mov_b32 v7, s21\n"
           "flat_store_b32 v[6:7], v4\nscratch_load_b32 v10, off, off offset:16\n"
           "s_waitcnt vmcnt(0) lgkmcnt(0)",
           [](u64, u64, u64 c) { return c & 0xffffffff; }},
      },
      access_inputs());
}

// s[4:5]: 24 bytes for each lane, in order: lane, b, c.
TEST(GfxAccess, GlobalMemoryAndBuffers) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string wait = "\ns_waitcnt vmcnt(0)";
  // A raw buffer of 768 bytes (RDNA3, 9.1.5; the last word as LLVM's intrinsics require).
  const std::string buffer =
      "s_mov_b32 s20, s4\ns_and_b32 s21, s5, 0xffff\ns_movk_i32 s22, 768\n"
      "s_mov_b32 s23, 0x31014000\nv_mul_u32_u24 v6, 24, v0\n";
  check_gfx_cases(
      {
          {"v_mul_u32_u24 v6, 24, v0\nglobal_load_i16 v10, v6, s[4:5] offset:14" + wait,
           [](u64, u64 b, u64) {
             return u64{static_cast<u32>(static_cast<std::int16_t>(b >> 48))};
           }},
          {"v_mul_u32_u24 v6, 24, v0\nglobal_load_b96 v[12:14], v6, s[4:5] offset:12" + wait +
               "\nv_mov_b32 v10, v12\nv_mov_b32 v11, v14",
           [](u64, u64 b, u64 c) { return b >> 32 | c >> 32 << 32; }},
          {"v_mov_b32 v10, 0x11112222\nv_mul_u32_u24 v6, 24, v0\n"
           "global_load_d16_hi_u8 v10, v6, s[4:5] offset:8" +
               wait,
           [](u64, u64 b, u64) { return 0x2222 | (b & 0xff) << 16; }},
          {"v_mad_u64_u32 v[6:7], null, v0, 24, s[4:5]\nglobal_load_b64 v[10:11], v[6:7], off "
           "offset:16" +
               wait,
           [](u64, u64, u64 c) { return c; }},
          {"s_load_b64 s[20:21], s[4:5], 24\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v10, s20",
           [](u64, u64, u64) { return u64{1}; }},
          {buffer + "buffer_load_b64 v[10:11], v6, s[20:23], 0 offen offset:8" + wait,
           [](u64, u64 b, u64) { return b; }},
          // Reads beyond the buffer return 0, checked per register.
          {buffer + "s_movk_i32 s22, 36\nbuffer_load_b64 v[10:11], v6, s[20:23], 0 offen offset:8" +
               wait,
           [](u64 a, u64 b, u64) { return a == 0   ? b
                                          : a == 1 ? b & 0xffffffff
                                                   : 0; }},
          {buffer + "s_movk_i32 s24, 16\nbuffer_load_b32 v10, v6, s[20:23], s24 offen" + wait,
           [](u64, u64, u64 c) { return c & 0xffffffff; }},
          // Indexed: a stride of 24 bytes, 31 records.
          {buffer +
               "s_or_b32 s21, s21, 24 << 16\ns_mov_b32 s22, 31\ns_mov_b32 s23, 0x01014000\n"
               "buffer_load_b32 v10, v0, s[20:23], 0 idxen offset:16" +
               wait,
           [](u64 a, u64, u64 c) { return a < 31 ? c & 0xffffffff : 0; }},
          {buffer + "s_buffer_load_b64 s[24:25], s[20:23], 48\ns_waitcnt lgkmcnt(0)\n"
                    "v_mov_b32 v10, s24",
           [](u64, u64, u64) { return u64{2}; }},
          {buffer + "s_buffer_load_b32 s24, s[20:23], 768\ns_waitcnt lgkmcnt(0)\n"
                    "v_mov_b32 v10, s24",
           [](u64, u64, u64) { return u64{0}; }},
      },
      access_inputs());
}

TEST(GfxAccess, AtomicOperationsOfManyHostThreads) {
  HALYARD_NEEDS_ASSEMBLER();
  GfxSource source;
  source.body = R"(s_load_b128 s[4:7], s[0:1], 0
v_mov_b32 v1, 0
v_mov_b32 v2, 1
v_mov_b32 v3, 0
v_mov_b32 v4, 1.0
s_waitcnt lgkmcnt(0)
global_atomic_add_u32 v1, v2, s[4:5]
global_atomic_add_u64 v1, v[2:3], s[4:5] offset:8
global_atomic_add_f32 v1, v4, s[4:5] offset:16
global_atomic_max_i32 v1, v0, s[4:5] offset:20
global_atomic_inc_u32 v5, v1, v2, s[4:5] offset:24 glc
again:
global_load_b32 v7, v1, s[4:5] offset:28 glc
s_waitcnt vmcnt(0)
v_add_nc_u32 v6, 1, v7
global_atomic_cmpswap_b32 v8, v1, v[6:7], s[4:5] offset:28 glc
s_waitcnt vmcnt(0)
v_cmpx_ne_u32 v8, v7
s_cbranch_execnz again
)";
  GfxModule module(source);
  ASSERT_TRUE(module);
  const u64 words = module.memory.add(64), other = module.memory.add(64);
  gfx::Options options;
  options.threads = 4;
  const gfx::Outcome outcome = module.run("test", {64, 1, 1}, {64, 1, 1}, {words, other}, options);
  ASSERT_EQ(outcome.kind, gfx::OutcomeKind::kOk) << outcome.message;
  const auto* const results = reinterpret_cast<const u32*>(words);
  EXPECT_EQ(results[0], 4096u);
  EXPECT_EQ(results[2], 4096u);
  EXPECT_EQ(results[4], std::bit_cast<u32>(4096.0f));
  EXPECT_EQ(results[5], 63u);
  EXPECT_EQ(results[6], 0u);  // alternates between 0 and 1
  EXPECT_EQ(results[7], 4096u);
}

TEST(GfxAccess, RegistersAtTheBeginning) {
  HALYARD_NEEDS_ASSEMBLER();
  GfxSource source;
  // s[0:1]: the packet, s[2:3]: the arguments, s4 to s6: the workgroup.
  source.directives =
      ".amdhsa_user_sgpr_dispatch_ptr 1\n.amdhsa_system_sgpr_workgroup_id_y 1\n"
      ".amdhsa_system_sgpr_workgroup_id_z 1\n";
  source.argument_pointers = 1;
  source.argument_bytes = 264;
  const auto hidden = [](int offset, int size, const char* kind) {
    return "      - .offset: " + std::to_string(offset) +
           "\n        .size: " + std::to_string(size) + "\n        .value_kind: " + kind + "\n";
  };
  source.hidden = hidden(8, 4, "hidden_block_count_x") + hidden(12, 4, "hidden_block_count_y") +
                  hidden(20, 2, "hidden_group_size_x") + hidden(128, 4, "hidden_dynamic_lds_size");
  // Each lane of the last workgroup writes 8 words.
  source.body = R"(s_load_b64 s[8:9], s[2:3], 0
s_load_b64 s[10:11], s[2:3], 8
s_load_b64 s[12:13], s[2:3], 16
s_load_b32 s14, s[2:3], 128
s_load_b32 s15, s[0:1], 4
s_load_b32 s16, s[0:1], 12
v_bfe_u32 v1, v0, 10, 10
v_bfe_u32 v2, v0, 20, 10
v_and_b32 v0, 0x3ff, v0
v_lshl_or_b32 v3, v2, 2, v1
v_lshl_or_b32 v3, v3, 2, v0
v_lshlrev_b32 v3, 5, v3
s_lshl_b32 s17, s4, 16
s_lshl_b32 s18, s5, 8
s_or_b32 s17, s17, s18
s_or_b32 s17, s17, s6
s_cmp_eq_u32 s17, 0x010203
s_cbranch_scc0 end
v_lshl_or_b32 v8, v1, 8, v0
v_lshl_or_b32 v8, v2, 16, v8
s_waitcnt lgkmcnt(0)
v_mov_b32 v9, s10
v_mov_b32 v10, s11
v_mov_b32 v11, s13
global_store_b128 v3, v[8:11], s[8:9]
v_mov_b32 v8, s12
v_mov_b32 v9, s14
v_mov_b32 v10, s15
v_mov_b32 v11, s16
global_store_b128 v3, v[8:11], s[8:9] offset:16
end:
)";
  GfxModule module(source);
  ASSERT_TRUE(module);
  const u64 out = module.memory.add(4 * 4 * 4 * 32);
  gfx::Options options;
  options.strict = true;
  options.seed = 5;
  const gfx::Outcome outcome = module.run("test", {2, 3, 4}, {4, 3, 2}, {out}, options, 96);
  ASSERT_EQ(outcome.kind, gfx::OutcomeKind::kOk) << outcome.message;
  for (const auto& finding : outcome.findings) ADD_FAILURE() << finding.message;
  const auto* const words = reinterpret_cast<const u32*>(out);
  for (u32 z = 0; z < 2; ++z) {
    for (u32 y = 0; y < 3; ++y) {
      for (u32 x = 0; x < 4; ++x) {
        const u32* const each = words + 8 * ((z * 4 + y) * 4 + x);
        EXPECT_EQ(each[0], x | y << 8 | z << 16);
        EXPECT_EQ(each[1], 2u);             // workgroups in x
        EXPECT_EQ(each[2], 3u);             // in y
        EXPECT_EQ(each[3], 4u);             // items in x
        EXPECT_EQ(each[4], 0u);             // the argument is absent
        EXPECT_EQ(each[5], 96u);            // dynamic LDS
        EXPECT_EQ(each[6], 4u | 3u << 16);  // of the packet
        EXPECT_EQ(each[7], 8u);             // items of the grid in x
      }
    }
  }
}

// The result does not depend on the order that the seed chooses, nor on the number of threads.
TEST(GfxAccess, SeedsChangeTheOrderAlone) {
  HALYARD_NEEDS_ASSEMBLER();
  GfxSource source;
  source.lds = 1024;
  source.body = R"(s_load_b128 s[4:7], s[0:1], 0
v_and_b32 v0, 0x3ff, v0
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v2, v0
s_movk_i32 s8, 64
again:
ds_store_b32 v1, v2
s_waitcnt lgkmcnt(0)
s_barrier
v_xor_b32 v3, 0x84, v1
ds_load_b32 v4, v3
s_waitcnt lgkmcnt(0)
v_mad_u32_u24 v2, v2, 3, v4
s_barrier
s_sub_u32 s8, s8, 1
s_cmp_lg_u32 s8, 0
s_cbranch_scc1 again
v_lshl_add_u32 v1, s2, 10, v1
global_store_b32 v1, v2, s[6:7]
)";
  GfxModule module(source);
  ASSERT_TRUE(module);
  std::vector<u32> first;
  for (const u64 seed : {0, 1, 2, 3}) {
    for (const unsigned threads : {1u, 3u}) {
      const u64 in = module.memory.add(8), out = module.memory.add(1024 * 8);
      gfx::Options options;
      options.seed = seed;
      options.threads = threads;
      options.strict = seed == 3;
      const auto outcome = module.run("test", {8, 1, 1}, {256, 1, 1}, {in, out}, options);
      ASSERT_EQ(outcome.kind, gfx::OutcomeKind::kOk) << outcome.message;
      EXPECT_EQ(outcome.findings_count, 0u);
      std::vector<u32> result(2048);
      std::memcpy(result.data(), reinterpret_cast<const void*>(out), 8192);
      if (first.empty()) first = result;
      EXPECT_EQ(result, first);
    }
  }
}

// A workgroup that waits for a later workgroup is suspended.
TEST(GfxAccess, WorkgroupsWaitForEachOther) {
  HALYARD_NEEDS_ASSEMBLER();
  GfxSource source;
  source.body = R"(s_load_b128 s[4:7], s[0:1], 0
v_mov_b32 v1, 0
v_mov_b32 v2, 1
s_waitcnt lgkmcnt(0)
s_mov_b32 exec_lo, 1
global_atomic_add_u32 v1, v2, s[4:5]
again:
global_load_b32 v3, v1, s[4:5] glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s8, v3
s_cmp_lt_u32 s8, 12
s_cbranch_scc1 again
)";
  GfxModule module(source);
  ASSERT_TRUE(module);
  const u64 in = module.memory.add(8);
  const auto outcome = module.run("test", {12, 1, 1}, {32, 1, 1}, {in, in});
  EXPECT_EQ(outcome.kind, gfx::OutcomeKind::kOk) << outcome.message;
}

}  // namespace
}  // namespace halyard::testing
