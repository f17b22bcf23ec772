// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that clang has compiled to wrong values, at each CPU level that this machine has and at each
// optimisation.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel/half_values.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

struct Built {
  std::string name;
  std::unique_ptr<CpuKernels> kernels;
};

// For every level and optimisation. Bypasses the cache, to test the compiler.
std::vector<Built> build_everywhere(std::string_view text) {
  const TextFile file(text);
  const auto levels = kernel::cpu_targets();
  std::vector<Built> all;
  for (int optimization = 0; optimization <= 3; ++optimization) {
    const auto bytes = compiler::compile({.source = file.path(),
                                          .targets = {levels.begin(), levels.end()},
                                          .optimization = optimization})
                           .value();
    for (const std::string_view level : levels) {
      kernel::Hyx hyx = kernel::Hyx::parse(bytes, "text").value();
      all.push_back({fmt::format("{} -O{}", level, optimization),
                     std::make_unique<CpuKernels>(std::move(hyx), level)});
    }
  }
  return all;
}

// clang 19's SLP vectoriser computed a mask like ~(uint)!x in fewer bits, and then converted these
// as an unsigned number.
TEST(CpuCode, MaskAsFloat_StoredAtComputedIndices_KeepsAllBits) {
  constexpr std::string_view kText = R"(
HY_KERNEL(k, 64, 1, 1, HY_IN(uint, x), HY_OUT(uint, y), HY_PRIVATE_ARRAY(uint, keep, 3)) {
  HY_ITEMS {
    const uint b = hy_float_as_uint((float)((uint)(x[HY_GLOBAL_X] == 0u) - 1u));
    HY_MY(keep, b % 3u) = b;
    HY_MY(keep, (b + 1u) % 3u) = b >> 3;
    HY_MY(keep, (b + 2u) % 3u) = ~b;
  }
  HY_ITEMS {
    for (uint i = 0; i < 3u; ++i) y[HY_GLOBAL_X * 3u + i] = HY_MY(keep, i);
  }
}
)";
  for (const Built& built : build_everywhere(kText)) {
    std::array<std::uint32_t, 64> x{1, 0, 2};
    std::array<std::uint32_t, 192> y{};
    built.kernels->run("k", {1, 1, 1}, {x, y}, nullptr, 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto b = std::bit_cast<std::uint32_t>(x[i] == 0 ? 0.0f : 4294967296.0f);
      std::array<std::uint32_t, 3> keep{};
      keep[b % 3] = b;
      keep[(b + 1) % 3] = b >> 3;
      keep[(b + 2) % 3] = ~b;
      for (std::size_t k = 0; k < 3; ++k) {
        ASSERT_EQ(y[i * 3 + k], keep[k]) << built.name << ", item " << i << ", " << k;
      }
    }
  }
}

TEST(CpuCode, MaskAsNumber_StoredInARow_KeepsAllBits) {
  constexpr std::string_view kText = R"(
#define ROW(NAME, MASK, T)                                       \
  HY_KERNEL(NAME, 1, 1, 1, HY_IN(uint, x), HY_OUT(T, y)) {       \
    HY_ITEMS {                                                   \
      const T a = (MASK)~(MASK)!x[0], b = (MASK)~(MASK)!x[1];    \
      const T c = (MASK)~(MASK)!x[2], d = (MASK)~(MASK)!x[3];    \
      y[0] = a, y[1] = b, y[2] = c, y[3] = d;                    \
    }                                                            \
  }
ROW(uint_float, uint, float)
ROW(uint_double, uint, double)
ROW(ushort_float, ushort, float)
ROW(ushort_double, ushort, double)
ROW(ushort_half, ushort, half)
ROW(ulong_float, unsigned long long, float)
ROW(ulong_double, unsigned long long, double)
)";
  for (const Built& built : build_everywhere(kText)) {
    const std::array<std::uint32_t, 4> x{1, 0, 2, 0};
    // `other`: the result if x is not 0. `zero`: the result if x is 0, where the mask is less by 1.
    const auto expect = [&]<class T>(const char* kernel, T other, T zero) {
      std::array<T, 4> y{};
      built.kernels->run(kernel, {1, 1, 1}, {x, y}, nullptr, 1);
      EXPECT_EQ(y, (std::array<T, 4>{other, zero, other, zero})) << built.name << ", " << kernel;
    };
    expect("uint_float", 0x1p32f, 0x1p32f);
    expect("uint_double", 0x1p32 - 1, 0x1p32 - 2);
    expect("ushort_float", 65535.0f, 65534.0f);
    expect("ushort_double", 65535.0, 65534.0);
    expect("ushort_half", nearest_half(65535), nearest_half(65534));
    expect("ulong_float", 0x1p64f, 0x1p64f);
    expect("ulong_double", 0x1p64, 0x1p64);
  }
}

// One array for all items was kept while several of them ran at once.
TEST(CpuCode, LocalArray_InABlockOfSeveralItems_IsTheItemsOwn) {
  constexpr std::string_view kText = R"(
HY_FN float rounded(double x) {
  half y = x;
  return y;
}
#define OWN(NAME, ITEMS)                                                \
  HY_KERNEL(NAME, ITEMS, 1, 1, HY_IN(double, x), HY_OUT(double, y)) {   \
    HY_ITEMS {                                                          \
      double own[5] = {rounded(x[HY_X]), 1.5, 2.5, 3.5, 4.5};           \
      y[HY_X] = own[(uint)HY_X % 5u];                                   \
    }                                                                   \
  }
OWN(few, 8)
OWN(many, 256)
)";
  for (const Built& built : build_everywhere(kText)) {
    for (const auto& [kernel, items] : {std::pair("few", 8), {"many", 256}}) {
      std::vector<double> x, want, y(static_cast<std::size_t>(items));
      for (int i = 0; i < items; ++i) {
        x.push_back(i + 3);
        want.push_back(i % 5 == 0 ? i + 3 : i % 5 + 0.5);
      }
      built.kernels->run(kernel, {1, 1, 1}, {x, y}, nullptr, 1);
      EXPECT_EQ(y, want) << built.name << ", " << kernel;
    }
  }
}

}  // namespace
}  // namespace halyard::testing
