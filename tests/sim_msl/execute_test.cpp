// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <numeric>

#include "tests/sim_msl/msl_test_support.h"

namespace halyard::sim::msl::test {
namespace {

constexpr std::string_view kSaxpy = R"(
kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
              constant float& a [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  y[i] = a * x[i] + y[i];
})";

TEST(Execute, Saxpy_AllModesOfChecking_SameValues) {
  for (const int mode : {0, 1, 2}) {
    std::vector<float> x(1000), y(1000, 1.0f), a = {2.0f};
    std::iota(x.begin(), x.end(), 0.0f);
    const Outcome outcome =
        run(kernel(kSaxpy), {1000}, {64}, {bind(0, x), bind(1, y), bind(2, a, false)},
            {.check_bounds = mode >= 1, .check_races = mode == 2});
    ASSERT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(y[i], 2.0f * i + 1.0f);
  }
}

constexpr std::string_view kReduce = R"(
kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
              uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
              uint n [[threads_per_threadgroup]]) {
  threadgroup float s[256];
  s[t] = x[g * n + t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint h = n / 2; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    BARRIER
  }
  if (t == 0) y[g] = s[0];
})";
std::string reduce(bool barrier) {
  std::string text(kReduce);
  text.replace(text.find("BARRIER"), 7,
               barrier ? "threadgroup_barrier(mem_flags::mem_threadgroup);" : "");
  return text;
}

TEST(Execute, Reduction_EverySeed_SameSums) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<float> x(1024, 1.0f), y(4);
    const Outcome outcome = run(kernel(reduce(true)), {1024}, {256}, {bind(0, x), bind(1, y)},
                                {.seed = seed, .check_races = true});
    ASSERT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
    EXPECT_EQ(y, std::vector<float>(4, 256.0f));
  }
}

TEST(Execute, Reduction_BarrierRemoved_RaceReported) {
  std::vector<float> x(1024, 1.0f), y(4);
  const Outcome outcome =
      run(kernel(reduce(false)), {1024}, {256}, {bind(0, x), bind(1, y)}, {.check_races = true});
  EXPECT_EQ(outcome.fault, Fault::kRace);
  EXPECT_NE(outcome.report.text.find("nothing orders the two"), std::string::npos)
      << outcome.report.text;
}

TEST(Execute, Barrier_WithoutMemoryFlag_RaceReported) {
  std::vector<float> y(64);
  const Outcome outcome = run(kernel(R"(
kernel void k(device float* y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float s[64];
  s[t] = t;
  threadgroup_barrier(mem_flags::mem_device);
  y[t] = s[63 - t];
})"),
                              {64}, {64}, {bind(0, y)}, {.check_races = true});
  EXPECT_EQ(outcome.fault, Fault::kRace);
}

TEST(Execute, Groups_WriteTheSameElement_RaceReported) {
  std::vector<int> y(64);
  const Outcome outcome = run(kernel(R"(
kernel void k(device int* y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) { y[t] = 1; })"),
                              {128}, {64}, {bind(0, y)}, {.check_races = true});
  EXPECT_EQ(outcome.fault, Fault::kRace);
  EXPECT_NE(outcome.report.text.find("of group 0"), std::string::npos) << outcome.report.text;
}

TEST(Execute, Atomics_OfManyGroups_ExactSumWithoutRace) {
  std::vector<unsigned> y(2);
  const Outcome outcome = run(kernel(R"(
kernel void k(device atomic_uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&y[0], i, memory_order_relaxed);
  atomic_fetch_max_explicit(&y[1], i, memory_order_relaxed);
})"),
                              {1000}, {128}, {bind(0, y)}, {.seed = 7, .check_races = true});
  EXPECT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  EXPECT_EQ(y, (std::vector<unsigned>{499500, 999}));
}

TEST(Execute, LastGroup_OrderedByFences_NoRace) {
  std::vector<unsigned> parts(8), count(1), sum(1);
  const std::string text = R"(
kernel void k(device uint* parts [[buffer(0)]], device atomic_uint* count [[buffer(1)]],
              device uint* sum [[buffer(2)]], uint g [[threadgroup_position_in_grid]],
              uint n [[threadgroups_per_grid]]) {
  parts[g] = g;
  FENCE
  if (atomic_fetch_add_explicit(count, 1, memory_order_relaxed) + 1 == n) {
    FENCE
    uint s = 0;
    for (uint i = 0; i < n; ++i) s += parts[i];
    *sum = s;
  }
})";
  for (const bool fence : {true, false}) {
    std::string with = text;
    for (std::size_t at; (at = with.find("FENCE")) != std::string::npos;) {
      with.replace(at, 5,
                   fence ? "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, "
                           "thread_scope_device);"
                         : "");
    }
    count[0] = 0;
    const Outcome outcome =
        run(kernel(with), {8}, {1}, {bind(0, parts), bind(1, count), bind(2, sum)},
            {.seed = 3, .check_races = true});
    EXPECT_EQ(outcome.fault, fence ? Fault::kNone : Fault::kRace) << outcome.report.text;
    if (fence) {
      EXPECT_EQ(sum[0], 28u);
    }
  }
}

TEST(Execute, Barrier_NotReachedByAll_DivergenceReported) {
  std::vector<int> y(64);
  const std::string text = R"(
kernel void k(device int* y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
  if (t >= 60) return;
  threadgroup_barrier(mem_flags::mem_device);
  y[t] = 1;
})";
  Outcome outcome = run(kernel(text), {64}, {64}, {bind(0, y)});
  EXPECT_EQ(outcome.fault, Fault::kDivergence);
  EXPECT_NE(outcome.report.text.find("4 of 64"), std::string::npos) << outcome.report.text;
  Recorder recorder;
  outcome = run(kernel(text), {64}, {64}, {bind(0, y)}, {}, &recorder);
  EXPECT_EQ(outcome.fault, Fault::kNone);
  EXPECT_EQ(recorder.reports.size(), 1u);
  EXPECT_EQ(y[59], 1);
}

TEST(Execute, Barriers_AtTwoPlaces_DivergenceReported) {
  std::vector<int> y(64);
  const Outcome outcome = run(kernel(R"(
kernel void k(device int* y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
  if (t % 2 == 0) {
    threadgroup_barrier(mem_flags::mem_device);
    y[t] = 1;
  } else {
    threadgroup_barrier(mem_flags::mem_device);
    y[t] = 2;
  }
})"),
                              {64}, {64}, {bind(0, y)});
  EXPECT_EQ(outcome.fault, Fault::kDivergence);
}

TEST(Execute, ThreadgroupMemory_NotWritten_IsPoison) {
  std::vector<unsigned> y(2, 7);
  const Outcome outcome = run(kernel(R"(
kernel void k(device uint* y [[buffer(0)]], threadgroup uint* s [[threadgroup(0)]],
              uint g [[threadgroup_position_in_grid]]) {
  y[g] = s[3];
  s[3] = 5;
})"),
                              {2}, {1}, {bind(0, y)}, {}, nullptr, {{0, 16}});
  EXPECT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  EXPECT_EQ(y, std::vector<unsigned>(2, 0xcbcbcbcb));
}

TEST(Execute, Accesses_OutsideOfMemory_AreFaults) {
  std::vector<int> x(16), y(64);
  const auto fault = [&](std::string_view body, Launch launch = {}) {
    const Outcome outcome =
        run(kernel("kernel void k(device int* x [[buffer(0)]], device int* y [[buffer(1)]], "
                   "threadgroup int* s [[threadgroup(0)]]) {" +
                   std::string(body) + "}"),
            {1}, {1}, {bind(0, x, false), bind(1, y)}, launch, nullptr, {{0, 16}});
    return outcome.fault;
  };
  EXPECT_EQ(fault("y[63] = x[15];"), Fault::kNone);
  EXPECT_EQ(fault("y[64] = 1;"), Fault::kOutOfBounds);
  EXPECT_EQ(fault("y[0] = y[1000000000];"), Fault::kOutOfBounds);
  EXPECT_EQ(fault("x[0] = 1;"), Fault::kReadOnly);
  EXPECT_EQ(fault("s[3] = 1;"), Fault::kNone);
  EXPECT_EQ(fault("s[4] = 1;"), Fault::kOutOfBounds);
  EXPECT_EQ(fault("*(device int*)16 = 1;", {.check_bounds = false}), Fault::kTrap);
  EXPECT_EQ(fault("y[0] = y[1] / x[1];", {.check_bounds = false}), Fault::kTrap);
  EXPECT_EQ(fault("y[0] = y[1] / x[1];"), Fault::kTrap);
}

TEST(Execute, FullStack_IsAFault) {
  std::vector<int> y(64, 1);
  const Outcome outcome = run(kernel(R"(
int deep(int n, device int* y) {
  int a[100];
  for (int i = 0; i < 100; ++i) a[i] = y[i % 64] + n;
  const int r = y[0] == 0 ? 0 : deep(n + 1, y) + 1;
  return r + a[y[1] + n % 50];
}
kernel void k(device int* y [[buffer(0)]]) { y[2] = deep(0, y); })"),
                              {1}, {1}, {bind(0, y)});
  EXPECT_EQ(outcome.fault, Fault::kTrap);
  EXPECT_NE(outcome.report.text.find("stack is full"), std::string::npos) << outcome.report.text;
}

TEST(Execute, EndlessKernel_EndsByItsBudget) {
  std::vector<int> y(64, 1);
  const std::shared_ptr<const Function> f = kernel(R"(
kernel void k(device int* y [[buffer(0)]]) {
  int n = y[1];
  while (n != 0) n = n * 5 + 2 | 1;
  y[0] = n;
})");
  for (const bool bounds : {true, false}) {
    const Outcome outcome =
        run(f, {4}, {4}, {bind(0, y)}, {.budget = 1000000, .check_bounds = bounds});
    EXPECT_EQ(outcome.fault, Fault::kBudget);
  }
}

TEST(Execute, Spinning_OnAThreadOfTheGroup_Ends) {
  std::vector<unsigned> y(2);
  const Outcome outcome = run(kernel(R"(
kernel void k(device atomic_uint* y [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
  if (t == 0) while (atomic_load_explicit(&y[0], memory_order_relaxed) == 0) {}
  if (t == 40) atomic_store_explicit(&y[0], 1, memory_order_relaxed);
})"),
                              {64}, {64}, {bind(0, y)}, {.budget = 100000000});
  EXPECT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
}

TEST(Execute, WeakExchange_Fails_LoopsStillEnd) {
  std::vector<unsigned> y(2);
  const Outcome outcome = run(kernel(R"(
kernel void k(device atomic_uint* y [[buffer(0)]]) {
  uint seen = atomic_load_explicit(y, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(y, &seen, seen + 1, memory_order_relaxed,
                                                memory_order_relaxed))
    atomic_fetch_add_explicit(y + 1, 1, memory_order_relaxed);
})"),
                              {64}, {64}, {bind(0, y)}, {.fail_weak_exchange = true});
  EXPECT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  EXPECT_EQ(y, (std::vector<unsigned>{64, 64}));
}

TEST(Execute, ArgumentBuffer_UsageOfMemoryBehindPointers_IsChecked) {
  const std::shared_ptr<const Function> f = kernel(R"(
struct Args { device const int* x [[id(0)]]; device int* y [[id(1)]]; };
kernel void k(constant Args& args [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  args.y[i] = args.x[i] + 1;
})");
  std::vector<int> x(64, 4), y(64);
  std::vector<std::uint64_t> args = {reinterpret_cast<std::uint64_t>(x.data()),
                                     reinterpret_cast<std::uint64_t>(y.data())};
  const auto go = [&](Residency of_x, Residency of_y) {
    Recorder recorder;
    if (of_x != Residency::kUnknown) recorder.allow(x, of_x);
    if (of_y != Residency::kUnknown) recorder.allow(y, of_y);
    const Outcome outcome = run(f, {64}, {32}, {bind(0, args, false)}, {}, &recorder);
    return outcome.fault != Fault::kNone ? outcome.fault
           : recorder.reports.empty()    ? Fault::kNone
                                         : recorder.reports[0].fault;
  };
  EXPECT_EQ(go(Residency::kRead, Residency::kReadWrite), Fault::kNone);
  EXPECT_EQ(y[63], 5);
  EXPECT_EQ(go(Residency::kRead, Residency::kRead), Fault::kReadOnly);
  EXPECT_EQ(go(Residency::kNotDeclared, Residency::kReadWrite), Fault::kNotDeclared);
  EXPECT_EQ(go(Residency::kRead, Residency::kUnknown), Fault::kOutOfBounds);
}

TEST(Execute, NonUniformGrid_LastGroupIsSmaller) {
  std::vector<unsigned> y(100);
  const Outcome outcome = run(kernel(R"(
kernel void k(device uint* y [[buffer(0)]], uint2 i [[thread_position_in_grid]],
              uint2 n [[threads_per_grid]], uint2 g [[threads_per_threadgroup]]) {
  y[i.y * n.x + i.x] = g.x * 10 + g.y;
})"),
                              {10, 10}, {4, 4}, {bind(0, y)});
  EXPECT_EQ(outcome.fault, Fault::kNone) << outcome.report.text;
  EXPECT_EQ(y[0], 44u);
  EXPECT_EQ(y[9], 24u);
  EXPECT_EQ(y[99], 22u);
}

}  // namespace
}  // namespace halyard::sim::msl::test
