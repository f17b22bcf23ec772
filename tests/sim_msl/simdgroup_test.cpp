// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <numeric>

#include "tests/sim_msl/msl_test_support.h"

namespace halyard::sim::msl::test {
namespace {

TEST(Simdgroup, Reductions_PrefixesAndShuffles_AllLanes) {
  constexpr std::string_view kText = R"(
kernel void k(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]], uint n [[threads_per_simdgroup]]) {
  device int* o = y + i * 12;
  o[0] = simd_sum(int(lane));
  o[1] = simd_max(int(i));
  o[2] = simd_prefix_exclusive_sum(1);
  o[3] = simd_prefix_inclusive_sum(int(lane));
  o[4] = simd_shuffle_xor(int(lane), 1);
  o[5] = simd_shuffle_down(int(lane), 3);
  o[6] = simd_broadcast(int(lane), 5);
  o[7] = popcount(uint(ulong(simd_ballot(lane % 2 == 0))));
  o[8] = quad_sum(int(lane));
  o[9] = simd_shuffle_rotate_up(int(lane), 1);
  o[10] = simd_shuffle_and_fill_down(int(lane), -1, 2);
  o[11] = quad_broadcast(int(lane), 3) + (simd_all(lane < n) ? 100 : 0) + (simd_any(lane == 99) ? 1000 : 0);
})";
  for (const std::uint32_t width : {32u, 64u}) {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
      std::vector<int> y(128 * 12);
      const Outcome outcome = run(kernel(kText), {128}, {128}, {bind(0, y)},
                                  {.simd_width = width, .seed = seed, .check_races = true});
      ASSERT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
      const int n = static_cast<int>(width);
      for (int i = 0; i < 128; ++i) {
        const int lane = i % n;
        const int* o = &y[i * 12];
        ASSERT_EQ(o[0], n * (n - 1) / 2);
        ASSERT_EQ(o[1], i / n * n + n - 1);
        ASSERT_EQ(o[2], lane);
        ASSERT_EQ(o[3], lane * (lane + 1) / 2);
        ASSERT_EQ(o[4], lane ^ 1);
        ASSERT_EQ(o[5], lane + 3 < n ? lane + 3 : lane);
        ASSERT_EQ(o[6], 5);
        ASSERT_EQ(o[7], 16);
        ASSERT_EQ(o[8], lane / 4 * 16 + 6);
        ASSERT_EQ(o[9], (lane + n - 1) % n);
        ASSERT_EQ(o[10], lane + 2 < n ? lane + 2 : -1);
        ASSERT_EQ(o[11], lane / 4 * 4 + 3 + 100);
      }
    }
  }
}

TEST(Simdgroup, VectorsAndSomeOfTheirComponents_AreValuesToo) {
  constexpr std::string_view kText = R"(
kernel void k(device float2* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  const float4 v = float4(i, 2 * i, 3 * i, 1);
  device float2* o = y + i * 8;
  o[0] = simd_sum(v.xy);
  o[1] = simd_sum(float2(v.w, v.w));
  o[2] = simd_max(v.zx);
  o[3] = simd_prefix_inclusive_sum(v.wx);
  o[4] = simd_shuffle_xor(v.xz, 1);
  o[5] = quad_broadcast(v.yx, 2);
  o[6] = quad_sum(v.ww);
  o[7] = as_type<float2>(as_type<uint2>(v.zw));
})";
  std::vector<float> y(32 * 16);
  const Outcome outcome = run(kernel(kText), {32}, {32}, {bind(0, y)});
  ASSERT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  for (int i = 0; i < 32; ++i) {
    const auto lane = static_cast<float>(i), other = static_cast<float>(i ^ 1);
    const auto quad = static_cast<float>(i / 4 * 4 + 2);
    const std::vector<float> expected = {
        496,   992,       32,       32,   93, 31, lane + 1, lane * (lane + 1) / 2,
        other, 3 * other, 2 * quad, quad, 4,  4,  3 * lane, 1};
    for (int k = 0; k < 16; ++k) ASSERT_EQ(y[i * 16 + k], expected[k]) << i << " " << k;
  }
}

// IREE's compiler writes it for products of half matrices.
TEST(Simdgroup, BitsOfSomeComponents_AreAVectorOfAnotherType) {
  constexpr std::string_view kText = R"(
struct Rows { float4 m[4]; };
kernel void k(const device Rows& x [[buffer(0)]], device float4* y [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
  y[2 * i] = float4(as_type<half4>(x.m[i].xy));
  y[2 * i + 1] = float4(as_type<half4>(x.m[i].zw));
})";
  // The halves 1, 2 are 0x3c00, 0x4000; 4, -1 are 0x4400, 0xbc00.
  std::vector<std::uint32_t> x(16);
  for (int i = 0; i < 16; ++i) x[i] = i % 2 == 0 ? 0x40003c00 : 0xbc004400;
  std::vector<float> y(32);
  const Outcome outcome = run(kernel(kText), {4}, {4}, {bind(0, x), bind(1, y)});
  ASSERT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  for (int i = 0; i < 32; i += 4) {
    EXPECT_EQ(std::vector<float>(y.begin() + i, y.begin() + i + 4),
              (std::vector<float>{1, 2, 4, -1}));
  }
}

TEST(Simdgroup, DivergentSum_IsOfTheActiveLanes) {
  std::vector<int> y(32);
  const Outcome outcome = run(kernel(R"(
kernel void k(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (i % 2 == 0) y[i] = simd_sum(1);
  else y[i] = simd_sum(100);
  y[i] += simd_sum(10000);
})"),
                              {32}, {32}, {bind(0, y)});
  EXPECT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  EXPECT_EQ(y[0], 16 + 320000);
  EXPECT_EQ(y[1], 1600 + 320000);
}

TEST(Simdgroup, ValueOfInactiveLane_IsReported) {
  std::vector<int> y(32);
  const Outcome outcome = run(kernel(R"(
kernel void k(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (i < 16) y[i] = simd_shuffle(int(i), 20);
})"),
                              {32}, {32}, {bind(0, y)});
  EXPECT_EQ(outcome.fault, Fault::kInactiveLane);
}

TEST(Simdgroup, SimdgroupBarrier_OrdersOnlyItsThreads) {
  const auto fault = [](std::uint32_t distance) {
    std::vector<int> y(64);
    const std::string text =
        "kernel void k(device int* y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {"
        "threadgroup int s[64]; s[t] = t;"
        "simdgroup_barrier(mem_flags::mem_threadgroup);"
        "y[t] = s[t ^ " +
        std::to_string(distance) + "]; }";
    return run(kernel(text), {64}, {64}, {bind(0, y)}, {.check_races = true}).fault;
  };
  EXPECT_EQ(fault(1), Fault::kNone);
  EXPECT_EQ(fault(32), Fault::kRace);
}

TEST(SimdgroupMatrix, MultiplyAccumulate_OfTiles_IsTheProduct) {
  constexpr std::string_view kText = R"(
kernel void k(device const float* a [[buffer(0)]], device const half* b [[buffer(1)]],
              device float* c [[buffer(2)]], uint2 g [[threadgroup_position_in_grid]]) {
  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
  for (uint k = 0; k < 16; k += 8) {
    simdgroup_float8x8 x;
    simdgroup_half8x8 y;
    simdgroup_load(x, a + g.y * 8 * 16 + k, 16);
    simdgroup_load(y, b, 16, ulong2(g.x * 8, k));
    simdgroup_multiply_accumulate(sum, x, y, sum);
  }
  simdgroup_store(sum, c + g.y * 8 * 16 + g.x * 8, 16);
})";
  std::vector<float> a(16 * 16), c(16 * 16);
  std::vector<_Float16> b(16 * 16);
  for (int i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i % 7) - 3;
    b[i] = static_cast<_Float16>(i % 5 - 2);
  }
  const Outcome outcome =
      run(kernel(kText), {64, 2}, {32, 1}, {bind(0, a, false), bind(1, b, false), bind(2, c)},
          {.check_races = true});
  ASSERT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      float sum = 0.5f;
      for (int k = 0; k < 16; ++k) sum += a[i * 16 + k] * static_cast<float>(b[k * 16 + j]);
      ASSERT_EQ(c[i * 16 + j], sum) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace halyard::sim::msl::test
