// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conformance suite's kernels as PTX. The tile kernels correspond to tests/kernel/tensors.hyk.
#include <numeric>

#include "kernel/shipped_kernels.h"

namespace halyard::testing {
namespace {

using Uints = std::vector<std::uint32_t>;

Uints uints(std::size_t size, auto f) {
  Uints values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(static_cast<std::uint32_t>(f(i)));
  return values;
}

TEST(PtxConformance, ElementsAndConstants) {
  const Shipped file("conformance");
  const std::uint32_t n = 150;
  const std::vector<float> x = random_floats(n, 1);
  const Array<float> y(n);
  file.run("absolute", 3, {Array(x), y}, {n});
  for (std::uint32_t i = 0; i < n; ++i) EXPECT_EQ(y.values()[i], std::abs(x[i]));
  const Array<std::int32_t> constants(1);
  file.run("constants", 1, {constants}, {-7.9f, 5, 30u});
  EXPECT_EQ(constants.values()[0], 28);
  const Array<std::uint32_t> count(uints(n, [](auto i) { return i; }));
  file.run("increment", 3, {count}, {n});
  EXPECT_EQ(count.values(), uints(n, [](auto i) { return i + 1; }));
  const Array<std::int32_t> scaled(n);
  file.run("scale_and_offset", 3, {Array(std::vector<std::int32_t>(n, 9)), scaled}, {-3, 4, n});
  EXPECT_EQ(scaled.values(), std::vector<std::int32_t>(n, -23));
}

TEST(PtxConformance, PlacesOfGroupsAndItems) {
  const Shipped file("conformance");
  const Array<std::uint32_t> groups(24);
  file.run("group_places", {2, 3, 4}, {groups}, {});
  EXPECT_EQ(groups.values(),
            uints(24, [](auto i) { return 1 + i % 2 + 100 * (i / 2 % 3) + 10000 * (i / 6); }));
  const Array<std::uint32_t> items(16 * 24);
  file.run("item_places", {2, 3, 4}, {items}, {});
  EXPECT_EQ(items.values(),
            uints(16 * 24, [](auto i) { return i % 8 + 100 * (i / 8 % 6) + 10000 * (i / 48); }));
  const Array<std::uint32_t> counts(72);
  file.run("group_counts", {2, 3, 4}, {counts}, {});
  EXPECT_EQ(counts.values(), uints(72, [](auto i) { return 2 + i % 3; }));
}

TEST(PtxConformance, SharedAndPrivateValues) {
  const Shipped file("conformance");
  const Array<std::uint32_t> x(uints(192, [](auto i) { return i; })), y(192);
  file.run("reverse_in_group", 3, {x, y}, {});
  EXPECT_EQ(y.values(), uints(192, [](auto i) { return i / 64 * 64 + 63 - i % 64; }));
  file.run("private_values", 3, {x}, {});
  EXPECT_EQ(x.values(), uints(192, [](auto i) { return 1000 * i + i / 64 * 64 + (i + 1) % 64; }));
}

TEST(PtxConformance, ManyBindingsAndLongLoops) {
  const Shipped file("conformance");
  const Array<std::uint32_t> digits(uints(100, [](auto i) { return i % 10; })), y(100);
  file.run("sum_of_eight", 2, {digits, digits, digits, digits, digits, digits, digits, digits, y},
           {100u});
  EXPECT_EQ(y.values(), uints(100, [](auto i) { return i % 10 * 11111111; }));
  const Array<std::uint32_t> state(Uints{1, 2});
  file.run("busy", 2, {state}, {5000u});
  EXPECT_EQ(state.values(), uints(2, [](auto i) {
              auto s = static_cast<std::uint32_t>(i + 1);
              for (int round = 0; round < 5000; ++round) s = s * 1664525u + 1013904223u;
              return s;
            }));
}

}  // namespace
}  // namespace halyard::testing
