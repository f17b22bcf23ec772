// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings of strict mode, and errors that end a run. Each fault is planted; correct kernels have
// no findings.
#include <thread>

#include "sim_gfx/gfx_assembler.h"

namespace halyard::testing {
namespace {

// v1: 4 times the work-item's number; s[4:5], s[6:7]: the arguments.
const std::string kBegin = R"(s_load_b128 s[4:7], s[0:1], 0
v_and_b32 v0, 0x3ff, v0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
)";

struct Ran {
  gfx::Outcome outcome;
  std::vector<std::uint32_t> result;
};

Ran run_source(const std::string& body, std::uint32_t items = 64, gfx::Options options = {},
               std::uint32_t lds = 512, std::uint32_t scratch = 0) {
  GfxSource source;
  source.body = kBegin + body;
  source.lds = lds;
  source.scratch = scratch;
  GfxModule module(source);
  Ran ran;
  if (!module) return ran;
  const std::uint64_t in = module.memory.add(4 * items), out = module.memory.add(4 * items);
  auto* const inputs = reinterpret_cast<std::uint32_t*>(in);
  for (std::uint32_t i = 0; i < items; ++i) inputs[i] = 100 + i;
  ran.outcome = module.run("test", {1, 1, 1}, {items, 1, 1}, {in, out}, options);
  const auto* const results = reinterpret_cast<const std::uint32_t*>(out);
  ran.result.assign(results, results + items);
  return ran;
}

Ran run_strict(const std::string& body, std::uint32_t items = 64) {
  gfx::Options options;
  options.strict = true;
  return run_source(body, items, options);
}

// All findings are of `kind`, and one names the instruction.
void expect_finding(const Ran& ran, gfx::FindingKind kind, std::string_view instruction,
                    std::string_view words) {
  ASSERT_EQ(ran.outcome.kind, gfx::OutcomeKind::kOk) << ran.outcome.message;
  bool is_named = false;
  std::string all;
  for (const gfx::Finding& finding : ran.outcome.findings) {
    EXPECT_EQ(finding.kind, kind) << finding.message;
    EXPECT_EQ(finding.place.kernel, "test");
    is_named |= finding.place.instruction.find(instruction) != std::string::npos &&
                finding.message.find(words) != std::string::npos;
    all += finding.message + "\n";
  }
  EXPECT_TRUE(is_named) << instruction << " " << words << "\n" << all;
}

TEST(GfxChecks, RaceOfWavesInLds) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string exchange = R"(
v_xor_b32 v2, 32, v0
v_lshlrev_b32 v2, 2, v2
ds_load_b32 v3, v2
s_waitcnt lgkmcnt(0)
global_store_b32 v1, v3, s[6:7])";
  expect_finding(run_strict("ds_store_b32 v1, v0\ns_waitcnt lgkmcnt(0)" + exchange),
                 gfx::FindingKind::kLdsRace, "ds_load_b32", "wave");
  const Ran right = run_strict("ds_store_b32 v1, v0\ns_waitcnt lgkmcnt(0)\ns_barrier" + exchange);
  EXPECT_EQ(right.outcome.findings_count, 0u);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(right.result[i], i ^ 32);
  // Atomic operations do not race with each other.
  const Ran atomic = run_strict("v_mov_b32 v2, 0\nv_mov_b32 v3, 1\nds_add_u32 v2, v3");
  EXPECT_EQ(atomic.outcome.findings_count, 0u);
  expect_finding(run_strict("v_mov_b32 v2, 0\nds_store_b32 v2, v0"), gfx::FindingKind::kLdsRace,
                 "ds_store_b32", "wrote");
}

TEST(GfxChecks, BarrierThatWavesDoNotReach) {
  HALYARD_NEEDS_ASSEMBLER();
  const Ran ran = run_strict(R"(v_readfirstlane_b32 s8, v0
s_cmp_eq_u32 s8, 0
s_cbranch_scc1 end
s_barrier
end:)");
  ASSERT_EQ(ran.outcome.kind, gfx::OutcomeKind::kOk) << ran.outcome.message;
  ASSERT_FALSE(ran.outcome.findings.empty());
  EXPECT_EQ(ran.outcome.findings[0].kind, gfx::FindingKind::kDivergentBarrier);
  EXPECT_EQ(run_strict("s_barrier").outcome.findings_count, 0u);
}

TEST(GfxChecks, RegisterThatALoadStillWrites) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string store = "global_store_b32 v1, v2, s[6:7]";
  expect_finding(run_strict("global_load_b32 v2, v1, s[4:5]\n" + store),
                 gfx::FindingKind::kMissingWait, "global_store_b32", "reads v2");
  EXPECT_EQ(run_strict("global_load_b32 v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n" + store)
                .outcome.findings_count,
            0u);
  // Loads return in order: when one of two is pending, the first has completed.
  const std::string two = "global_load_b32 v2, v1, s[4:5]\nglobal_load_b32 v3, v1, s[4:5]\n";
  EXPECT_EQ(run_strict(two + "s_waitcnt vmcnt(1)\n" + store).outcome.findings_count, 0u);
  expect_finding(run_strict(two + "s_waitcnt vmcnt(1)\nglobal_store_b32 v1, v3, s[6:7]"),
                 gfx::FindingKind::kMissingWait, "global_store_b32", "reads v3");
  // Waits for another counter.
  expect_finding(run_strict("global_load_b32 v2, v1, s[4:5]\ns_waitcnt lgkmcnt(0)\n" + store),
                 gfx::FindingKind::kMissingWait, "global_store_b32", "reads v2");
  // The register is written while the pending load may still write it.
  expect_finding(run_strict("global_load_b32 v2, v1, s[4:5]\nv_mov_b32 v2, 0\n"
                            "s_waitcnt vmcnt(0)"),
                 gfx::FindingKind::kMissingWait, "v_mov_b32", "writes v2");
  // LDS: stores are counted too.
  const std::string lds = "ds_store_b32 v1, v0\nds_load_b32 v2, v1\nds_store_b32 v1, v0\n";
  EXPECT_EQ(run_strict(lds + "s_waitcnt lgkmcnt(1)\n" + store).outcome.findings_count, 0u);
  expect_finding(run_strict(lds + "s_waitcnt lgkmcnt(2)\n" + store), gfx::FindingKind::kMissingWait,
                 "global_store_b32", "reads v2");
}

TEST(GfxChecks, ScalarLoadsReturnInAnyOrder) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string two = "s_load_b32 s8, s[4:5], 0\ns_load_b32 s9, s[4:5], 4\n";
  expect_finding(run_strict(two + "s_waitcnt lgkmcnt(1)\ns_add_u32 s10, s8, 1"),
                 gfx::FindingKind::kMissingWait, "s_add_u32", "reads s8");
  EXPECT_EQ(run_strict(two + "s_waitcnt lgkmcnt(0)\ns_add_u32 s10, s8, s9").outcome.findings_count,
            0u);
}

TEST(GfxChecks, RegisterThatNothingHasWritten) {
  HALYARD_NEEDS_ASSEMBLER();
  expect_finding(run_strict("v_add_nc_u32 v2, v0, v9"), gfx::FindingKind::kUndefinedRegister,
                 "v_add_nc_u32", "reads v9");
  expect_finding(run_strict("s_add_u32 s8, s9, 1"), gfx::FindingKind::kUndefinedRegister,
                 "s_add_u32", "reads s9");
  expect_finding(run_strict("v_cndmask_b32 v2, v0, v1, vcc_lo"),
                 gfx::FindingKind::kUndefinedRegister, "v_cndmask_b32", "vcc_lo");
  expect_finding(run_strict("s_cselect_b32 s8, 1, 0"), gfx::FindingKind::kUndefinedRegister,
                 "s_cselect_b32", "scc");
  EXPECT_EQ(run_strict("v_mov_b32 v9, 1\nv_add_nc_u32 v2, v0, v9").outcome.findings_count, 0u);
}

TEST(GfxChecks, AddressesOutsideOfAllocations) {
  HALYARD_NEEDS_ASSEMBLER();
  const Ran beyond = run_source("global_load_b32 v2, v1, s[4:5] offset:64", 64);
  EXPECT_EQ(beyond.outcome.kind, gfx::OutcomeKind::kIllegalAddress);
  EXPECT_EQ(beyond.outcome.place.instruction, "global_load_b32 v2, v1, s[4:5] offset:64");
  EXPECT_EQ(beyond.outcome.place.wave, 1u);
  EXPECT_EQ(beyond.outcome.place.lane, 16u);  // of item 48, the first out of range
  EXPECT_NE(beyond.outcome.message.find("reads 4 bytes at"), std::string::npos);
  // The last access is half inside.
  EXPECT_EQ(run_source("global_load_b64 v[2:3], v1, s[4:5]", 32).outcome.place.lane, 31u);
  EXPECT_EQ(run_source("v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nflat_load_b32 v4, v[2:3]").outcome.kind,
            gfx::OutcomeKind::kIllegalAddress);
  EXPECT_EQ(run_source("s_mov_b64 s[8:9], 0\ns_load_b32 s10, s[8:9], 0").outcome.kind,
            gfx::OutcomeKind::kIllegalAddress);
  // LDS of 512 bytes.
  const Ran lds = run_source("ds_store_b32 v1, v0 offset:384");
  EXPECT_EQ(lds.outcome.kind, gfx::OutcomeKind::kIllegalAddress);
  EXPECT_EQ(lds.outcome.place.lane, 0u);
  EXPECT_EQ(lds.outcome.place.wave, 1u);
  EXPECT_EQ(lds.outcome.address, 512u);
  // Scratch of 64 bytes a lane.
  const auto scratch = [](const char* body) {
    return run_source(body, 32, {}, 0, 64).outcome.kind;
  };
  EXPECT_EQ(scratch("scratch_store_b32 off, v0, off offset:60"), gfx::OutcomeKind::kOk);
  EXPECT_EQ(scratch("scratch_store_b32 off, v0, off offset:64"), gfx::OutcomeKind::kIllegalAddress);
  // Atomic operations are on multiples of their size.
  EXPECT_EQ(run_source("v_mov_b32 v2, 2\nv_mov_b32 v3, 1\nglobal_atomic_add_u32 v2, v3, s[6:7]")
                .outcome.kind,
            gfx::OutcomeKind::kIllegalAddress);
}

TEST(GfxChecks, WhatEndsARun) {
  HALYARD_NEEDS_ASSEMBLER();
  EXPECT_EQ(run_source("s_trap 2").outcome.kind, gfx::OutcomeKind::kTrap);
  EXPECT_EQ(run_source("s_sethalt 1").outcome.kind, gfx::OutcomeKind::kDeadlock);
  EXPECT_EQ(run_source("s_mov_b64 s[8:9], 0\ns_setpc_b64 s[8:9]").outcome.kind,
            gfx::OutcomeKind::kIllegalInstruction);
  EXPECT_EQ(run_source("s_round_mode 1").outcome.kind, gfx::OutcomeKind::kIllegalInstruction);
  gfx::Options limited;
  limited.max_instructions = 10'000;
  EXPECT_EQ(run_source("again:\ns_branch again", 64, limited).outcome.kind,
            gfx::OutcomeKind::kTimeout);
  std::atomic<bool> stop = false;
  gfx::Options stopped;
  stopped.stop = &stop;
  std::thread thread([&] { stop = true; });
  EXPECT_EQ(run_source("again:\ns_branch again", 64, stopped).outcome.kind,
            gfx::OutcomeKind::kStopped);
  thread.join();
}

TEST(GfxChecks, LaunchesThatDoNotFit) {
  HALYARD_NEEDS_ASSEMBLER();
  GfxSource source;
  source.lds = 1024;
  GfxModule module(source);
  ASSERT_TRUE(module);
  const std::uint64_t a = module.memory.add(64);
  const auto kind = [&](gfx::Extent grid, gfx::Extent block, std::vector<std::uint64_t> arguments,
                        std::uint32_t lds = 0) {
    return module.run("test", grid, block, arguments, {}, lds).kind;
  };
  EXPECT_EQ(kind({1, 1, 1}, {32, 1, 1}, {a, a}), gfx::OutcomeKind::kOk);
  EXPECT_EQ(kind({0, 1, 1}, {32, 1, 1}, {a, a}), gfx::OutcomeKind::kInvalidLaunch);
  EXPECT_EQ(kind({1, 1, 1}, {32, 0, 1}, {a, a}), gfx::OutcomeKind::kInvalidLaunch);
  EXPECT_EQ(kind({1, 1, 1}, {1025, 1, 1}, {a, a}), gfx::OutcomeKind::kInvalidLaunch);
  EXPECT_EQ(kind({1, 1, 1}, {64, 32, 1}, {a, a}), gfx::OutcomeKind::kInvalidLaunch);
  EXPECT_EQ(kind({1, 1, 1}, {32, 1, 1}, {a}), gfx::OutcomeKind::kInvalidLaunch);
  EXPECT_EQ(kind({1, 1, 1}, {32, 1, 1}, {a, a}, 64 * 1024), gfx::OutcomeKind::kInvalidLaunch);
  EXPECT_EQ(kind({1, 1, 1}, {32, 1, 1}, {a, a}, 63 * 1024), gfx::OutcomeKind::kOk);
}

}  // namespace
}  // namespace halyard::testing
