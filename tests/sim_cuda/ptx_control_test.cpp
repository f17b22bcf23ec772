// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches, calls, barriers, the ends of runs, and the findings of strict mode.
#include <gmock/gmock.h>

#include <atomic>

#include "sim_cuda/ptx_test_util.h"

namespace halyard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using U = std::uint64_t;

TEST(PtxControl, LanesLoopDifferentNumbersOfTimes) {
  expect_lanes(R"(and.b32 %r0, %a0, 31; mov.u32 %x, 1;
LOOP: setp.eq.u32 %p0, %r0, 0; @%p0 bra DONE; sub.u32 %r0, %r0, 1; and.b32 %r1, %r0, 1;
setp.eq.u32 %p1, %r1, 0; @%p1 mad.lo.u32 %x, %x, 3, 1; @!%p1 xor.b32 %x, %x, %r0; bra LOOP; DONE:)",
               [](U a, U, U) -> U {
                 std::uint32_t n = a & 31, x = 1;
                 while (n != 0) {
                   --n;
                   x = n % 2 == 0 ? x * 3 + 1 : x ^ n;
                 }
                 return x;
               });
}

TEST(PtxControl, BranchesByTable) {
  expect_lanes(R"(and.b32 %r0, %a0, 3; targets: .branchtargets L0, L1, L2, L1;
brx.idx %r0, targets; L0: mov.u32 %x, 10; bra E; L1: mov.u32 %x, 20; bra E; L2: mov.u32 %x, 30; E:)",
               [](U a, U, U) -> U {
                 constexpr U kValues[] = {10, 20, 30, 20};
                 return kValues[a & 3];
               });
}

TEST(PtxControl, LabelsBelongToTheirBlock) {
  expect_lanes(R"(mov.u32 %x, 0; { .reg .pred %p0; L: add.u32 %x, %x, 1; setp.lt.u32 %p0, %x, 5;
@%p0 bra L; bra DONE; add.u32 %x, %x, 100; DONE: } { L: add.u32 %x, %x, 2;
setp.lt.u32 %p1, %x, 20; @%p1 bra L; DONE: })",
               [](U, U, U) -> U { return 21; });
}

constexpr std::string_view kFunctions = R"(
.func (.param .b32 r) fibonacci(.param .b32 n) { .reg .b32 %r<9>; .reg .pred %p;
ld.param.b32 %r1, [n]; setp.lt.u32 %p, %r1, 2; @%p bra SMALL;
{ .param .b32 a; .param .b32 b; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2;
call (b), fibonacci, (a); ld.param.b32 %r3, [b]; }
{ .param .b32 a; .param .b32 b; sub.u32 %r2, %r1, 2; st.param.b32 [a], %r2;
call (b), fibonacci, (a); ld.param.b32 %r4, [b]; }
add.u32 %r1, %r3, %r4; SMALL: st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) plus(.param .b32 n) { .reg .b32 %r; ld.param.b32 %r, [n]; add.u32 %r, %r, 5;
st.param.b32 [r], %r; ret; }
.func (.param .b32 r) times(.param .b32 n) { .reg .b32 %r; ld.param.b32 %r, [n];
mul.lo.u32 %r, %r, 5; st.param.b32 [r], %r; ret; }
.visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;
mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 13;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), fibonacci, (a); ld.param.b32 %r3, [b]; }
and.b32 %r4, %r1, 1; setp.eq.u32 %p, %r4, 0; mov.u64 %rd1, plus; mov.u64 %rd2, times;
selp.b64 %rd1, %rd1, %rd2, %p; proto: .callprototype (.param .b32 _) _ (.param .b32 _);
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), %rd1, (a), proto; ld.param.b32 %r5, [b]; }
ld.param.u64 %rd3, [out]; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd3, %rd3, %rd4;
st.global.u32 [%rd3], %r5; ret; })";

TEST(PtxControl, CallsRecursivelyAndThroughAddresses) {
  PtxModule module(ptx::Module::parse(ptx_text(kFunctions)));
  ASSERT_TRUE(module) << module.log();
  const U out = module.memory.add(4 * 64);
  const auto outcome = module.run("k", {1, 1, 1}, {64, 1, 1}, pack_parameters(out));
  ASSERT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  constexpr std::uint32_t kFibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t f = kFibonacci[i % 13];
    EXPECT_EQ(reinterpret_cast<const std::uint32_t*>(out)[i], i % 2 == 0 ? f + 5 : f * 5) << i;
  }
  ptx::Options options;
  options.stack_bytes = 64;
  EXPECT_EQ(module.run("k", {1, 1, 1}, {64, 1, 1}, pack_parameters(out), options).kind,
            ptx::OutcomeKind::kStackOverflow);
}

// PTX ISA, ".func" and "call": parameters and results may be registers, and the arguments of a call
// registers or constants, whatever the function declares. ptxas 13.0 accepts each of these, but not
// two results together with recursion.
constexpr std::string_view kRegisterFunctions = R"(
.func (.reg .b32 r) countdown(.reg .b32 n);
.func (.reg .b32 r) countdown(.reg .b32 n) { .reg .pred %p; setp.eq.u32 %p, n, 0; mov.b32 r, 100;
@%p ret; sub.u32 n, n, 1; call (r), countdown, (n); add.u32 r, r, 1; }
.func (.reg .b32 r, .reg .b64 q) both(.reg .b32 a, .param .b64 b, .reg .f32 f) {
.reg .b64 %rd; ld.param.b64 %rd, [b]; cvt.rzi.u32.f32 r, f; add.u32 r, r, a;
cvt.u64.u32 q, a; add.u64 q, q, %rd; ret; }
.func (.param .b32 r) plain(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a];
add.u32 %r, %r, 7; st.param.b32 [r], %r; ret; }
.func nothing(.reg .b32 a) { ret; }
.visible .entry k(.param .u64 out) { .reg .b32 %r<9>, %x; .reg .b64 %rd<9>; .reg .pred %p<3>;
mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 7; call (%r3), countdown, (%r2);
mov.u64 %rd1, 1000; call (%r4, %rd2), both, (%r1, %rd1, 2.5);
call (_, %rd3), both, (3, %rd1, 0f40000000); call (%r5), plain, (%r1); call (%r6), plain, (5);
call nothing, (%r1); setp.lt.u32 %p1, %r1, 8; mov.u32 %r7, 1;
@%p1 call (%r7), plain, (%r1); mov.u64 %rd4, countdown;
proto: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (%r8), %rd4, (2), proto;
add.u32 %x, %r3, %r4; add.u32 %x, %x, %r5; add.u32 %x, %x, %r6; add.u32 %x, %x, %r7;
add.u32 %x, %x, %r8; cvt.u32.u64 %r3, %rd2; add.u32 %x, %x, %r3; cvt.u32.u64 %r3, %rd3;
add.u32 %x, %x, %r3; ld.param.u64 %rd5, [out]; mul.wide.u32 %rd6, %r1, 4;
add.u64 %rd5, %rd5, %rd6; st.global.u32 [%rd5], %x; ret; })";

TEST(PtxControl, CallsPassRegistersAndConstants) {
  PtxModule module(ptx::Module::parse(ptx_text(kRegisterFunctions)));
  ASSERT_TRUE(module) << module.log();
  const U out = module.memory.add(4 * 32);
  const auto outcome = module.run("k", {1, 1, 1}, {32, 1, 1}, pack_parameters(out));
  ASSERT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t sum = (100 + i % 8) + (2 + i) + (i + 7) + 12 + (i < 8 ? i + 7 : 1) + 102 +
                              (i + 1000) + 1003;
    EXPECT_EQ(reinterpret_cast<const std::uint32_t*>(out)[i], sum) << i;
  }
}

TEST(PtxControl, CallsRefuseRegistersOfAnotherSize) {
  for (const auto& [call, text] :
       {std::pair("call (%r1), f, (%rd1);", "'%rd1' does not match its formal parameter"),
        std::pair("call (%rd1), f, (%r1);", "'%rd1' does not match its formal parameter"),
        std::pair("call (%p), f, (%r1);", "have 16, 32, 64 or 128 bits"),
        std::pair("call (5), f, (%r1);", "Variable expected")}) {
    const ptx::Parsed parsed = ptx::Module::parse(ptx_text(
        ".func (.reg .b32 r) f(.reg .b32 a) { mov.b32 r, a; ret; } .visible .entry k() {"
        ".reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p; " +
        std::string(call) + " ret; }"));
    EXPECT_EQ(parsed.module, nullptr) << call;
    EXPECT_THAT(parsed.log, HasSubstr(text)) << call;
  }
}

ptx::Outcome run_kernel(std::string_view body, const ptx::Options& options,
                        std::uint32_t threads = 64, U* buffer = nullptr) {
  PtxModule module(ptx::Module::parse(ptx_text(
      ".visible .entry k(.param .u64 p)\n{ .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<6>; "
      ".shared .align 4 .b8 s[4096]; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; "
      "mov.u32 %r19, s; shl.b32 %r18, %r1, 2; add.u32 %r17, %r19, %r18;\n" +
      std::string(body) + "\nret; }")));
  EXPECT_TRUE(module) << module.log();
  if (!module) return {};
  const U address = module.memory.add(64);
  const ptx::Outcome outcome =
      module.run("k", {1, 1, 1}, {threads, 1, 1}, pack_parameters(address), options);
  if (buffer != nullptr) *buffer = *reinterpret_cast<const U*>(address);
  return outcome;
}

std::vector<ptx::FindingKind> kinds(const ptx::Outcome& outcome) {
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  std::vector<ptx::FindingKind> result;
  for (const ptx::Finding& each : outcome.findings) result.push_back(each.kind);
  return result;
}

const ptx::Options kStrict{.strict = true};

TEST(PtxControl, BarriersOrderWarps) {
  // A rotation by 33: every warp reads bytes that another warp wrote.
  U value = 0;
  const auto outcome = run_kernel(R"(st.shared.u32 [%r17], %r1; bar.sync 0;
add.u32 %r2, %r1, 33; and.b32 %r2, %r2, 63; shl.b32 %r2, %r2, 2; add.u32 %r2, %r2, %r19;
ld.shared.u32 %r3, [%r2]; setp.ne.u32 %p1, %r1, 40; @!%p1 st.global.u32 [%rd1], %r3;
bar.red.popc.u32 %r4, 1, %p1; @!%p1 st.global.u32 [%rd1+4], %r4;)",
                                  kStrict, 64, &value);
  EXPECT_THAT(kinds(outcome), IsEmpty());
  EXPECT_EQ(value, 9 | U{63} << 32);
}

TEST(PtxControl, NamedBarriersOfSomeWarps) {
  // Warp 0 produces for warp 1; only warp 1 waits. Warp 2 does not take part.
  U value = 0;
  const auto outcome = run_kernel(R"(setp.ge.u32 %p1, %r1, 64; @%p1 bra END;
setp.ge.u32 %p2, %r1, 32; @%p2 bra CONSUME; st.shared.u32 [%r17], %r1; bar.arrive 3, 64; bra END;
CONSUME: bar.sync 3, 64; ld.shared.u32 %r2, [%r17+-128]; setp.ne.u32 %p3, %r1, 37;
@!%p3 st.global.u32 [%rd1], %r2; END:)",
                                  kStrict, 96, &value);
  EXPECT_THAT(kinds(outcome), IsEmpty());
  EXPECT_EQ(value, 5u);
}

TEST(PtxControl, StrictModeFindsRacesInSharedMemory) {
  const auto outcome = run_kernel(R"(st.shared.u32 [%r17], %r1;
xor.b32 %r2, %r18, 128; add.u32 %r2, %r2, %r19;
ld.shared.u32 %r3, [%r2];)",
                                  kStrict);
  // Warp 1 writes bytes that warp 0 has read, and reads bytes that warp 0 has written.
  ASSERT_THAT(kinds(outcome),
              ElementsAre(ptx::FindingKind::kSharedRace, ptx::FindingKind::kSharedRace));
  EXPECT_EQ(outcome.findings[0].place.line, 6u);
  EXPECT_THAT(
      outcome.findings[1].message,
      HasSubstr("k, line 8, block (0, 0, 0), thread (32, 0, 0): race in shared memory: read "
                "of 4 bytes at shared address 0x0 and a write by warp 0 in line 6"));
  EXPECT_EQ(outcome.findings_count, 64u);
  // Two writes, and a write after a read.
  EXPECT_THAT(kinds(run_kernel("st.shared.u32 [s], %r1;", kStrict)),
              ElementsAre(ptx::FindingKind::kSharedRace));
  EXPECT_THAT(kinds(run_kernel(R"(ld.shared.u32 %r2, [s]; setp.eq.u32 %p1, %r1, 63;
@%p1 st.shared.u32 [s], %r1;)",
                               kStrict)),
              ElementsAre(ptx::FindingKind::kSharedRace));
  // Atomics do not race, and neither do accesses of the same warp.
  EXPECT_THAT(kinds(run_kernel("red.shared.add.u32 [s], 1;", kStrict)), IsEmpty());
  EXPECT_THAT(kinds(run_kernel("st.shared.u32 [s], %r1;", kStrict, 32)), IsEmpty());
}

TEST(PtxControl, StrictModeFindsDivergentBarriers) {
  const auto divergent = run_kernel(R"(setp.lt.u32 %p1, %r1, 40; @%p1 bra LOW;
bar.sync 0; bra END;
LOW: bar.sync 0; END:)",
                                    kStrict);
  EXPECT_THAT(kinds(divergent), ElementsAre(ptx::FindingKind::kDivergentBarrier,
                                            ptx::FindingKind::kDivergentBarrier));
  EXPECT_THAT(kinds(run_kernel(R"(setp.lt.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;)", kStrict)),
              ElementsAre(ptx::FindingKind::kBarrierAfterExit));
  EXPECT_THAT(kinds(run_kernel(R"(and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra E;
add.u32 %r3, %r3, 1; E: bar.sync 0;)",
                               kStrict)),
              IsEmpty())
      << "the paths have joined";
}

TEST(PtxControl, StrictModeFindsMissingLanes) {
  EXPECT_THAT(kinds(run_kernel(R"(setp.lt.u32 %p1, %r1, 16; @%p1 bra E;
shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; bra E2; E: bar.warp.sync -1; E2:)",
                               kStrict, 32)),
              ::testing::Contains(ptx::FindingKind::kMissingLane));
}

TEST(PtxControl, ALaneMayWaitForAnotherOfItsWarp) {
  U value = 0;
  const auto outcome = run_kernel(R"(
AGAIN: atom.shared.cas.b32 %r2, [s], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra AGAIN;
ld.volatile.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.volatile.global.u32 [%rd1], %r3;
atom.shared.exch.b32 %r4, [s], 0;)",
                                  {}, 64, &value);
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  EXPECT_EQ(value, 64u);
}

TEST(PtxControl, BlocksMayWaitForLaterBlocks) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;
ld.param.u64 %rd1, [p]; red.global.add.u32 [%rd1], 1; mov.u32 %r2, %nctaid.x;
WAIT: ld.acquire.gpu.global.u32 %r1, [%rd1]; setp.lt.u32 %p, %r1, %r2; @%p bra WAIT; ret; })")));
  ASSERT_TRUE(module) << module.log();
  const U counter = module.memory.add(4);
  const auto outcome = module.run("k", {8, 1, 1}, {1, 1, 1}, pack_parameters(counter));
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
}

// The barrier of cooperative groups: the first block adds the value that brings the sum to 2^31.
TEST(PtxControl, BlocksOfAGridSynchronize) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r1;
mov.u32 %r3, %envreg1; mov.u32 %r4, %envreg2; mov.b64 %rd3, {%r4, %r3};
sub.u32 %r5, 0x80000001, %r2; setp.eq.u32 %p1, %r1, 0; selp.u32 %r5, %r5, 1, %p1;
fence.acq_rel.gpu; atom.add.u32 %r6, [%rd3+4], %r5;
WAIT: ld.acquire.gpu.u32 %r7, [%rd3+4]; xor.b32 %r7, %r7, %r6; setp.ge.s32 %p2, %r7, 0; @%p2 bra WAIT;
@%p1 bra SUM; ret; SUM: mov.u32 %r8, 0;
LOOP: sub.u32 %r2, %r2, 1; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd4, %rd4, %rd1;
ld.global.u32 %r3, [%rd4]; add.u32 %r8, %r8, %r3; setp.ne.u32 %p2, %r2, 0; @%p2 bra LOOP;
st.global.u32 [%rd1], %r8; ret; })")));
  ASSERT_TRUE(module) << module.log();
  for (const unsigned threads : {1u, 3u}) {
    const U sum = module.memory.add(4 * 50);
    ptx::Options options;
    options.threads = threads;
    options.seed = 4;
    const auto outcome = module.run("k", {50, 1, 1}, {1, 1, 1}, pack_parameters(sum), options);
    EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
    EXPECT_EQ(*reinterpret_cast<const std::uint32_t*>(sum), 49u * 25);
  }
}

TEST(PtxControl, EndsWithWhatHappened) {
  EXPECT_EQ(run_kernel("setp.eq.u32 %p1, %r1, 9; @%p1 trap;", {}).kind, ptx::OutcomeKind::kTrap);
  EXPECT_EQ(run_kernel("bar.sync 1, 128;", {}).kind, ptx::OutcomeKind::kDeadlock);
  EXPECT_EQ(run_kernel("mov.u64 %rd2, 5; call %rd2, ();", {}).kind, ptx::OutcomeKind::kInvalidPc);
  EXPECT_EQ(run_kernel("L: bra L;", {.max_instructions = 100000}).kind, ptx::OutcomeKind::kTimeout);
  const std::atomic<bool> stop(true);
  EXPECT_EQ(run_kernel("L: bra L;", {.stop = &stop}).kind, ptx::OutcomeKind::kStopped);
  EXPECT_EQ(run_kernel("ret;", {}, 2000).kind, ptx::OutcomeKind::kInvalidLaunch);
}

TEST(PtxControl, Prints) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[24] = {37, 100, 32, 37, 53, 46, 50, 102, 124, 37, 115, 124, 37, 108, 108, 120, 32, 37, 112, 10};
.global .align 1 .b8 word[4] = {97, 98, 99};
.visible .entry k() { .reg .b32 %r<9>; .reg .b64 %rd<9>; .local .align 8 .b8 l[40];
st.local.u64 [l+32], 0; mov.u32 %r1, %tid.x; st.local.u32 [l], %r1; st.local.u64 [l+8], 0d3FF8000000000000;
mov.u64 %rd1, word; st.local.u64 [l+16], %rd1; st.local.u64 [l+24], 0x123456789a;
mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2; mov.u64 %rd3, format; cvta.global.u64 %rd3, %rd3;
{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd3; st.param.b64 [b], %rd2;
call.uni (c), vprintf, (a, b); } ret; })")));
  ASSERT_TRUE(module) << module.log();
  std::string printed;
  ptx::Options options;
  options.print = [&](std::string_view text) { printed += text; };
  const auto outcome = module.run("k", {1, 1, 1}, {2, 1, 1}, {}, options);
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  EXPECT_EQ(printed, "0  1.50|abc|123456789a (nil)\n1  1.50|abc|123456789a (nil)\n");
}

// The order in which threads take tickets, as a number for each thread.
std::vector<std::uint32_t> tickets(std::uint64_t seed) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
mad.lo.u32 %r1, %r1, %r2, %r3; atom.global.add.u32 %r4, [%rd1], 1; mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+4], %r4; ret; })")));
  const U buffer = module.memory.add(4 + 4 * 512);
  ptx::Options options;
  options.seed = seed;
  const auto outcome = module.run("k", {4, 1, 1}, {128, 1, 1}, pack_parameters(buffer), options);
  EXPECT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  const auto* const first = reinterpret_cast<const std::uint32_t*>(buffer) + 1;
  return {first, first + 512};
}

TEST(PtxControl, ASeedChoosesTheOrderAndRepeatsIt) {
  EXPECT_EQ(tickets(5), tickets(5));
  EXPECT_NE(tickets(5), tickets(6));
  EXPECT_EQ(tickets(0)[511], 511u) << "the order of the index";
}

}  // namespace
}  // namespace halyard::testing
