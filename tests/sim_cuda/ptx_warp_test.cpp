// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions by which lanes exchange values, and matrix instructions.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sim_cuda/ptx_test_util.h"

namespace halyard::testing {
namespace {

using U = std::uint64_t;

// A value for each lane of a warp, from a body whose input is in %a0.
std::vector<std::uint32_t> run_warp(std::string_view body, const std::vector<std::uint32_t>& in) {
  LaneInputs inputs;
  for (const std::uint32_t value : in) inputs.push_back({value, 0, 0});
  std::vector<std::uint32_t> out;
  for (const U value : run_lanes(body, inputs)) out.push_back(static_cast<std::uint32_t>(value));
  return out;
}

std::vector<std::uint32_t> lanes(auto f) {
  std::vector<std::uint32_t> values;
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    values.push_back(static_cast<std::uint32_t>(f(lane)));
  return values;
}

TEST(PtxWarp, Shuffles) {
  const auto in = lanes([](std::uint32_t lane) { return 100 + lane; });
  EXPECT_EQ(run_warp("shfl.sync.up.b32 %x|%p0, %a0, 3, 0, -1; @!%p0 add.u32 %x, %x, 1000;", in),
            lanes([](auto lane) { return lane < 3 ? 1100 + lane : 97 + lane; }));
  EXPECT_EQ(run_warp("shfl.sync.down.b32 %x, %a0, 5, 31, 0xffffffff;", in),
            lanes([](auto lane) { return lane + 5 > 31 ? 100 + lane : 105 + lane; }));
  EXPECT_EQ(run_warp("shfl.sync.bfly.b32 %x, %a0, 6, 31, -1;", in),
            lanes([](auto lane) { return 100 + (lane ^ 6); }));
  // Segments of 8 lanes: the mask of c is 0x18.
  EXPECT_EQ(run_warp("shfl.sync.idx.b32 %x, %a0, 2, 0x1807, -1;", in),
            lanes([](auto lane) { return 102 + lane / 8 * 8; }));
}

TEST(PtxWarp, VotesAndMatches) {
  const auto in = lanes([](std::uint32_t lane) { return lane % 5; });
  std::uint32_t ballot = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) ballot |= (lane % 5 == 2 ? 1u : 0u) << lane;
  EXPECT_EQ(run_warp("setp.eq.u32 %p0, %a0, 2; vote.sync.ballot.b32 %x, %p0, -1;", in),
            lanes([&](auto) { return ballot; }));
  EXPECT_EQ(run_warp("setp.lt.u32 %p0, %a0, 5; vote.sync.all.pred %p1, %p0, -1; "
                     "vote.sync.any.pred %p2, !%p0, -1; selp.u32 %r0, 1, 0, %p1; "
                     "selp.u32 %r1, 2, 0, %p2; add.u32 %x, %r0, %r1;",
                     in),
            lanes([](auto) { return 1; }));
  EXPECT_EQ(run_warp("match.any.sync.b32 %x, %a0, -1;", in), lanes([](auto lane) {
              std::uint32_t mask = 0;
              for (std::uint32_t i = lane % 5; i < 32; i += 5) mask |= 1u << i;
              return mask;
            }));
  EXPECT_EQ(run_warp("match.all.sync.b32 %x|%p0, %a0, -1;", in), lanes([](auto) { return 0; }));
  EXPECT_EQ(run_warp("redux.sync.add.s32 %r0, %a0, -1; redux.sync.max.u32 %r1, %a0, -1; "
                     "mad.lo.u32 %x, %r0, 10, %r1;",
                     in),
            lanes([](auto) { return (6 * 10 + 1) * 10 + 4; }));
  EXPECT_EQ(run_warp("setp.gt.u32 %p0, %a0, 2; @!%p0 bra L; activemask.b32 %x; L:", in),
            lanes([](auto lane) {
              std::uint32_t mask = 0;
              for (std::uint32_t i = 0; i < 32; ++i) mask |= (i % 5 > 2 ? 1u : 0u) << i;
              return lane % 5 > 2 ? mask : 0;
            }));
}

// The tiles of a warp execute an instruction together, each with its own mask.
TEST(PtxWarp, TilesVoteAndReduceForThemselves) {
  const auto in = lanes([](std::uint32_t lane) { return lane * 7 % 11; });
  const std::string mask = "mov.u32 %r9, %laneid; and.b32 %r8, %r9, 24; shl.b32 %r7, 255, %r8; ";
  EXPECT_EQ(run_warp(mask + "redux.sync.max.u32 %x, %a0, %r7;", in), lanes([&](auto lane) {
              return *std::max_element(in.begin() + lane / 8 * 8, in.begin() + lane / 8 * 8 + 8);
            }));
  EXPECT_EQ(run_warp(mask + "setp.lt.u32 %p0, %a0, 4; vote.sync.ballot.b32 %x, %p0, %r7;", in),
            lanes([&](auto lane) {
              std::uint32_t ballot = 0;
              for (std::uint32_t i = lane / 8 * 8; i < lane / 8 * 8 + 8; ++i) {
                ballot |= (in[i] < 4 ? 1u : 0u) << i;
              }
              return ballot;
            }));
  // Tile 0 waits for its odd lanes, which take a longer path; the others do not.
  EXPECT_EQ(run_warp(mask + R"(mov.u32 %r1, 0; and.b32 %r2, %r9, 25; setp.eq.u32 %p0, %r2, 1;
@!%p0 bra JOIN; mov.u32 %r1, 50; LOOP: sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOOP;
add.u32 %a0, %a0, 100; JOIN: redux.sync.add.u32 %x, %a0, %r7;)",
                     in),
            lanes([&](auto lane) {
              std::uint32_t sum = lane < 8 ? 400 : 0;
              for (std::uint32_t i = lane / 8 * 8; i < lane / 8 * 8 + 8; ++i) sum += in[i];
              return sum;
            }));
}

TEST(PtxWarp, LanesOfDifferentPathsMeetInSyncInstructions) {
  const auto in = lanes([](std::uint32_t lane) { return lane; });
  // Odd and even lanes arrive by paths of different length.
  EXPECT_EQ(run_warp(R"(and.b32 %r0, %a0, 1; setp.eq.u32 %p0, %r0, 0; @%p0 bra EVEN;
add.u32 %r1, %a0, 100; add.u32 %r1, %r1, 100; bra MEET; EVEN: mov.u32 %r1, %a0;
MEET: shfl.sync.bfly.b32 %x, %r1, 1, 31, -1;)",
                     in),
            lanes([](auto lane) { return lane % 2 == 0 ? lane + 201 : lane - 1; }));
  // Each half has its own mask; bar.warp.sync joins lanes at different instructions.
  EXPECT_EQ(run_warp(R"(setp.lt.u32 %p0, %a0, 16; @%p0 bra LOW;
shfl.sync.idx.b32 %x, %a0, 16, 31, 0xffff0000; bar.warp.sync 0xffffffff; bra END;
LOW: shfl.sync.idx.b32 %x, %a0, 3, 31, 0xffff; bar.warp.sync 0xffffffff; END:)",
                     in),
            lanes([](auto lane) { return lane < 16 ? 3 : 16; }));
}

// A single-warp kernel that multiplies matrices given as arrays in memory. Each lane loads its
// registers from the positions in the PTX ISA's figures.
TEST(PtxWarp, MultipliesMatricesOfHalves) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<8>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
mov.u32 %r1, %laneid; shr.u32 %r2, %r1, 2; and.b32 %r3, %r1, 3;
// a: row g, columns 2t: 16 columns of 2 bytes
shl.b32 %r4, %r2, 5; shl.b32 %r5, %r3, 2; add.u32 %r4, %r4, %r5; cvt.u64.u32 %rd4, %r4;
add.u64 %rd4, %rd1, %rd4; ld.global.b32 %r10, [%rd4]; ld.global.b32 %r11, [%rd4+256];
ld.global.b32 %r12, [%rd4+16]; ld.global.b32 %r13, [%rd4+272];
// b, column-major: column g, rows 2t
cvt.u64.u32 %rd5, %r4; add.u64 %rd5, %rd2, %rd5; ld.global.b32 %r14, [%rd5];
ld.global.b32 %r15, [%rd5+16];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13},
  {%r14, %r15}, {0f3F800000, 0f3F800000, 0f3F800000, 0f3F800000};
// c: row g, columns 2t: 8 columns of 4 bytes
shl.b32 %r6, %r2, 5; shl.b32 %r7, %r3, 3; add.u32 %r6, %r6, %r7; cvt.u64.u32 %rd6, %r6;
add.u64 %rd6, %rd3, %rd6; st.global.v2.f32 [%rd6], {%f0, %f1};
st.global.v2.f32 [%rd6+256], {%f2, %f3}; ret; })")));
  ASSERT_TRUE(module) << module.log();
  const U a = module.memory.add(512), b = module.memory.add(256), c = module.memory.add(512);
  // Small integers, which are exact: half 1.0 is 0x3c00.
  const auto half = [](int value) {
    if (value == 0) return std::uint16_t{0};
    const int exponent = std::bit_width(static_cast<unsigned>(std::abs(value))) - 1;
    const int fraction = (std::abs(value) << (10 - exponent)) & 1023;
    return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | fraction);
  };
  const auto value_a = [](int i, int k) { return (i * 7 + k * 3) % 11 - 5; };
  const auto value_b = [](int k, int j) { return (k * 5 + j * 2) % 9 - 4; };
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 16; ++k)
      reinterpret_cast<std::uint16_t*>(a)[i * 16 + k] = half(value_a(i, k));
  }
  for (int j = 0; j < 8; ++j) {
    for (int k = 0; k < 16; ++k)
      reinterpret_cast<std::uint16_t*>(b)[j * 16 + k] = half(value_b(k, j));
  }
  const auto outcome = module.run("k", {1, 1, 1}, {32, 1, 1}, pack_parameters(a, b, c));
  ASSERT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      int sum = 1;
      for (int k = 0; k < 16; ++k) sum += value_a(i, k) * value_b(k, j);
      EXPECT_EQ(reinterpret_cast<const float*>(c)[i * 8 + j], static_cast<float>(sum))
          << i << "," << j;
    }
  }
}

TEST(PtxWarp, LoadsMatricesFromRows) {
  PtxModule module(ptx::Module::parse(ptx_text(R"(
.visible .entry k(.param .u64 out) { .reg .b32 %r<20>; .reg .b64 %rd<4>;
.shared .align 16 .b8 s[256]; mov.u32 %r1, %laneid; ld.param.u64 %rd1, [out];
mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, s; add.u32 %r3, %r3, %r2; mul.lo.u32 %r4, %r1, 0x20002;
add.u32 %r4, %r4, 0x10000; st.shared.u32 [%r3], %r4; st.shared.u32 [%r3+128], %r4; bar.sync 0;
and.b32 %r5, %r1, 15; shl.b32 %r5, %r5, 4; mov.u32 %r6, s; add.u32 %r5, %r5, %r6;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r5];
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r8, %r9}, [%r5];
movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r7; xor.b32 %r10, %r10, %r9; add.u32 %r8, %r8, %r10;
mul.wide.u32 %rd2, %r1, 8; add.u64 %rd1, %rd1, %rd2; st.global.v2.u32 [%rd1], {%r7, %r8}; ret; })")));
  ASSERT_TRUE(module) << module.log();
  const U out = module.memory.add(256);
  const auto outcome = module.run("k", {1, 1, 1}, {32, 1, 1}, pack_parameters(out));
  ASSERT_EQ(outcome.kind, ptx::OutcomeKind::kOk) << outcome.message;
  // Element (row, column) of the matrix is 8 * row + column.
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const auto* const got = reinterpret_cast<const std::uint32_t*>(out) + 2 * lane;
    const std::uint32_t row = lane / 4, column = 2 * (lane % 4);
    EXPECT_EQ(got[0], (8 * row + column) | (8 * row + column + 1) << 16);
    EXPECT_EQ(got[1], (8 * column + row) | (8 * (column + 1) + row) << 16);
  }
}

}  // namespace
}  // namespace halyard::testing
