// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State spaces, addresses, atomics, asynchronous copies, and reports of bad accesses.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "sim_cuda/ptx_test_util.h"

namespace halyard::testing {
namespace {

using ::testing::HasSubstr;
using U = std::uint64_t;

TEST(PtxMemory, LoadsAndStoresEveryWidthAndVector) {
  expect_lanes(R"(.local .align 16 .b8 l[32];
st.local.v2.u64 [l], {%l0, %l1}; ld.local.v4.u16 {%h3, %h4, _, %h5}, [l+8];
ld.local.s8 %r1, [l+1]; ld.local.u8 %h6, [l];
cvt.u32.u16 %r2, %h4; cvt.u32.u16 %r3, %h6; add.u32 %r1, %r1, %r2; add.u32 %x, %r1, %r3;)",
               [](U a, U b, U) -> U {
                 const auto byte = static_cast<std::int8_t>(a >> 8);
                 return static_cast<std::uint32_t>(byte + static_cast<int>(b >> 16 & 0xffff) +
                                                   static_cast<int>(a & 0xff));
               });
}

TEST(PtxMemory, GenericAddressesReachEverySpace) {
  expect_lanes(R"(.local .align 8 .b8 l[16]; .shared .align 8 .b8 s[1024];
mov.u64 %rd0, l; cvta.local.u64 %rd1, %rd0; st.u64 [%rd1+8], %l0;
mov.u32 %r9, %tid.x; mul.wide.u32 %rd2, %r9, 8; mov.u64 %rd3, s; add.u64 %rd3, %rd3, %rd2;
cvta.shared.u64 %rd4, %rd3; st.u64 [%rd4], %l1;
ld.local.u64 %rd5, [l+8]; ld.shared.u64 %rd6, [%rd3]; xor.b64 %rd7, %rd5, %rd6;
isspacep.local %p0, %rd1; isspacep.shared %p1, %rd4; isspacep.global %p2, %rd4;
selp.u64 %rd8, 1, 0, %p0; selp.u64 %rd9, 2, 0, %p1; selp.u64 %rd10, 4, 0, %p2;
add.u64 %rd8, %rd8, %rd9; add.u64 %rd8, %rd8, %rd10; xor.b64 %y, %rd7, %rd8;)",
               [](U a, U b, U) { return a ^ b ^ 3; });
}

// PTX ISA, "Arrays as Operands": the index counts elements.
TEST(PtxMemory, ElementsOfArraysAreOperands) {
  expect_lanes(R"(.local .align 8 .b32 l[4]; .shared .align 16 .b64 s[32];
st.local.b32 l[1], %a0; st.local.b32 l[2+1], %a1; ld.local.b32 %r1, [l+4]; ld.local.b32 %r2, [l+12];
mov.u64 %rd1, s[3]; mov.u64 %rd2, s; sub.u64 %rd1, %rd1, %rd2;
cvt.u32.u64 %r3, %rd1; add.u32 %r1, %r1, %r2; add.u32 %x, %r1, %r3;)",
               [](U a, U b, U) -> U { return static_cast<std::uint32_t>(a + b + 24); });
}

TEST(PtxMemory, DynamicSharedMemoryAndConstants) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.const .align 4 .u32 factors[4] = {2, 3, 5, 7};
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .u32 fixed[32];
mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; mul.wide.u32 %rd1, %r2, 4; mov.u64 %rd2, factors;
add.u64 %rd2, %rd2, %rd1; ld.const.u32 %r3, [%rd2]; mov.u32 %r4, dynamic; shl.b32 %r5, %r1, 2;
add.u32 %r4, %r4, %r5; mul.lo.u32 %r3, %r3, %r1; st.shared.u32 [%r4], %r3; bar.sync 0;
xor.b32 %r5, %r5, 124; mov.u32 %r4, dynamic; add.u32 %r4, %r4, %r5; ld.shared.u32 %r6, [%r4];
mov.u32 %r7, %dynamic_smem_size; add.u32 %r6, %r6, %r7;
ld.param.u64 %rd3, [out]; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd3, %rd3, %rd4;
st.global.u32 [%rd3], %r6; ret; })")));
  ASSERT_TRUE(module) << module.log();
  EXPECT_EQ(module.module().entries()[0].static_shared_bytes, 128u);
  const U out = module.memory.add(128);
  const auto outcome = module.run("k", {1, 1, 1}, {32, 1, 1}, pack_parameters(out), {}, 128);
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  constexpr std::uint32_t kFactors[] = {2, 3, 5, 7};
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t from = i ^ 31;
    EXPECT_EQ(reinterpret_cast<const std::uint32_t*>(out)[i], kFactors[from & 3] * from + 128);
  }
}

struct Atomic {
  const char* operation;
  std::uint32_t initial;
  std::uint32_t expected;
};

TEST(PtxMemory, AtomicsOfAllThreads) {
  constexpr std::uint32_t kThreads = 1024;
  constexpr Atomic kCases[] = {{"add.u32", 5, 5 + kThreads * (kThreads - 1) / 2},
                               {"max.u32", 7, kThreads - 1},
                               {"min.s32", 0, 0},
                               {"or.b32", 0, 1023},
                               {"and.b32", 0xffffffff, 0},
                               {"xor.b32", 3, 3},
                               {"inc.u32", 0, 0}};
  for (const char* space : {"global", "shared"}) {
    for (const auto& [operation, initial, expected] : kCases) {
      const bool is_inc = std::string_view(operation) == "inc.u32";
      PtxModule module(ptx::Module::parse(ptx_text(
          ".visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p; "
          ".shared .u32 s; ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; "
          "ld.global.u32 %r2, [%rd1]; mov.u64 %rd2, " +
          std::string(space[0] == 's' ? "s" : "0") +
          "; setp.ne.u32 %p, %r1, 0; @!%p st.shared.u32 [s], %r2; bar.sync 0; " +
          (space[0] == 's' ? "" : "mov.u64 %rd2, %rd1; ") + "red." + space + "." + operation +
          " [%rd2], " + (is_inc ? "511" : "%r1") + "; bar.sync 0; @%p ret; " +
          (space[0] == 's' ? "ld.shared.u32 %r3, [s]; st.global.u32 [%rd1], %r3; " : "") +
          "ret; }")));
      ASSERT_TRUE(module) << module.log();
      const U out = module.memory.add(4);
      auto* const value = reinterpret_cast<std::uint32_t*>(out);
      *value = initial;
      ptx::Options options;
      options.seed = 3;
      const auto outcome =
          module.run("k", {1, 1, 1}, {kThreads, 1, 1}, pack_parameters(out), options);
      EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
      EXPECT_EQ(*value, expected) << space << " " << operation;
    }
  }
}

TEST(PtxMemory, AtomicsReturnTheOldValueAndBlocksShareThem) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.visible .entry k(.param .u64 counter, .param .u64 seen) { .reg .b32 %r<9>; .reg .b64 %rd<9>;
.reg .f32 %f; .reg .f64 %d;
ld.param.u64 %rd1, [counter]; ld.param.u64 %rd2, [seen]; atom.global.add.u32 %r1, [%rd1], 1;
mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3; red.global.add.u32 [%rd2], 1;
atom.global.add.f32 %f, [%rd1+4], 0f3F800000; red.global.add.f64 [%rd1+8], 0d3FE0000000000000;
atom.global.cas.b64 %rd4, [%rd1+16], 0, %rd1; red.global.add.noftz.f16x2 [%rd1+24], %r8; ret; })")));
  ASSERT_TRUE(module) << module.log();
  const U counter = module.memory.add(32), seen = module.memory.add(4 * 2000);
  ptx::Options options;
  options.threads = 4;
  const auto outcome =
      module.run("k", {20, 1, 1}, {100, 1, 1}, pack_parameters(counter, seen), options);
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  const auto* const counts = reinterpret_cast<const std::uint32_t*>(seen);
  EXPECT_TRUE(std::all_of(counts, counts + 2000, [](std::uint32_t n) { return n == 1; }));
  EXPECT_EQ(*reinterpret_cast<const float*>(counter + 4), 2000.0f);
  EXPECT_EQ(*reinterpret_cast<const double*>(counter + 8), 1000.0);
  EXPECT_EQ(*reinterpret_cast<const U*>(counter + 16), counter);
}

TEST(PtxMemory, AsynchronousCopiesArriveWhenTheirThreadWaits) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.visible .entry k(.param .u64 in, .param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>;
.shared .align 16 .b8 s[32]; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
cp.async.ca.shared.global [s], [%rd1], 16; cp.async.commit_group;
cp.async.ca.shared.global [s+16], [%rd1+16], 16, 4; cp.async.commit_group;
ld.shared.u32 %r1, [s]; cp.async.wait_group 1; ld.shared.u32 %r2, [s]; ld.shared.u32 %r3, [s+16];
cp.async.wait_all; ld.shared.u32 %r4, [s+16]; ld.shared.u32 %r5, [s+20];
st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4}; st.global.u32 [%rd2+16], %r5; ret; })")));
  ASSERT_TRUE(module) << module.log();
  const U in = module.memory.add(32), out = module.memory.add(24);
  std::iota(reinterpret_cast<std::uint32_t*>(in), reinterpret_cast<std::uint32_t*>(in) + 8, 10u);
  // 16-byte accesses: start where the allocation is aligned to them.
  if (in % 16 != 0 || out % 16 != 0) GTEST_SKIP() << "the host's memory is aligned to 8 bytes only";
  const auto outcome = module.run("k", {1, 1, 1}, {1, 1, 1}, pack_parameters(in, out));
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  const auto* const got = reinterpret_cast<const std::uint32_t*>(out);
  EXPECT_EQ(std::vector<std::uint32_t>(got, got + 5),
            (std::vector<std::uint32_t>{0, 10, 0, 14, 0}));
}

ptx::Outcome run_bad(std::string_view body, U& buffer, const ptx::Options& options = {}) {
  PtxModule module(ptx::Module::parse(ptx_text(
      ".visible .entry k(.param .u64 p)\n{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; "
      ".shared .align 4 .b8 s[16]; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n" +
      std::string(body) + "\nret; }")));
  EXPECT_TRUE(module) << module.log();
  buffer = module.memory.add(64);
  return module.run("k", {2, 1, 1}, {8, 2, 1}, pack_parameters(buffer), options);
}

TEST(PtxMemory, ReportsAccessesOutOfBounds) {
  U buffer = 0;
  ptx::Outcome outcome = run_bad(
      "mul.wide.u32 %rd2, %r1, 16; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r1;", buffer);
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kIllegalAddress);
  EXPECT_EQ(outcome.address, buffer + 64);
  EXPECT_EQ(outcome.place.line, 6u);
  EXPECT_EQ(outcome.place.thread, (ptx::Extent{4, 0, 0}));
  EXPECT_THAT(outcome.message, HasSubstr("k, line 6, block (0, 0, 0), thread (4, 0, 0): illegal "
                                         "address: write of 4 bytes at global address 0x"));
  EXPECT_EQ(run_bad("ld.shared.u32 %r2, [s+16];", buffer).kind, ptx::OutcomeKind::kIllegalAddress);
  EXPECT_EQ(run_bad("ld.global.u64 %rd2, [%rd1+60];", buffer).kind,
            ptx::OutcomeKind::kMisalignedAddress);
  EXPECT_EQ(run_bad("ld.u32 %r2, [0];", buffer).kind, ptx::OutcomeKind::kIllegalAddress);
  EXPECT_EQ(run_bad("ld.local.u32 %r2, [0x1000];", buffer).kind, ptx::OutcomeKind::kIllegalAddress);
}

TEST(PtxMemory, ReportsMisalignedAccesses) {
  U buffer = 0;
  const ptx::Outcome outcome = run_bad("ld.global.v2.u32 {%r2, %r3}, [%rd1+4];", buffer);
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kMisalignedAddress);
  EXPECT_EQ(outcome.address, buffer + 4);
  EXPECT_THAT(outcome.message, HasSubstr("misaligned address: read of 8 bytes"));
  EXPECT_EQ(run_bad("atom.shared.add.u32 %r2, [s+2], 1;", buffer).kind,
            ptx::OutcomeKind::kMisalignedAddress);
}

}  // namespace
}  // namespace halyard::testing
