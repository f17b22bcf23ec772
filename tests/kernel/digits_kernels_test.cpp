// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels compared with double precision, at sizes that do not divide their groups.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

using Vector = std::vector<float>;

const Kernels& digits() {
  static const Kernels kernels(HALYARD_SOURCE_DIR "/examples/digits/digits.hyk");
  return kernels;
}

// Initial value of an output; no kernel may leave it there or write beyond the output.
constexpr float kUntouched = -12345.0f;

Vector random_vector(std::size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  Vector values(size);
  for (float& value : values) value = uniform(engine);
  return values;
}

// An output of `size` elements, followed by one more.
Vector output(std::size_t size) { return Vector(size + 1, kUntouched); }

std::size_t groups(std::size_t items, std::size_t size) { return (items + size - 1) / size; }

struct Shape {
  std::uint32_t m, n, k;
};
constexpr Shape kShapes[] = {{1, 1, 1},     {16, 16, 16}, {17, 10, 33},
                             {45, 128, 64}, {3, 50, 7},   {64, 10, 128}};

using Constants = std::vector<std::uint32_t>;

// The constants of dense tensors, in order.
Constants constants_of(std::initializer_list<Constants> shapes) {
  Constants all;
  for (const Constants& shape : shapes) {
    all.insert(all.end(), shape.begin(), shape.end());
    if (shape.size() == 2) all.push_back(shape[1]);  // the stride of its rows
  }
  return all;
}

// Runs `name` for each shape: c[i][j] is the sum of left(a, shape, i, l) right(b, shape, l, j) over
// l. A sum has `more_terms` terms in addition to the k products.
template <class Left, class Right>
void expect_products(const char* name, std::size_t more_terms, auto shapes_of, Left left,
                     Right right) {
  for (const Shape& shape : kShapes) {
    const auto [m, n, k] = shape;
    const std::size_t terms = k + more_terms;
    Vector a = random_vector(m * k, 1);
    Vector b = random_vector(terms * n, 2);
    Vector c = output(m * n);
    const auto [of_a, of_b] = shapes_of(shape);
    digits().run(name, {groups(n, 16), groups(m, 16), 1}, {a, b, c},
                 constants_of({of_a, of_b, {m, n}}).data());
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        double magnitude = 0;
        for (std::size_t l = 0; l < terms; ++l) {
          const double product = double{left(a, shape, i, l)} * double{right(b, shape, l, j)};
          sum += product;
          magnitude += std::fabs(product);
        }
        // The products and as many sums are rounded, each by at most 2^-24 of the magnitude.
        ASSERT_NEAR(c[i * n + j], sum, static_cast<double>(terms + 1) * 0x1p-24 * magnitude)
            << m << " x " << n << " x " << k << " at " << i << ", " << j;
      }
    }
    EXPECT_EQ(c[m * n], kUntouched);
  }
}

TEST(DigitsKernels, DenseMultipliesAndAddsTheBiases) {
  expect_products(
      "dense", 1,
      [](const Shape& s) { return std::array<Constants, 2>{{{s.m, s.k}, {s.k + 1, s.n}}}; },
      [](const Vector& a, const Shape& s, auto i, auto l) { return l < s.k ? a[i * s.k + l] : 1; },
      [](const Vector& b, const Shape& s, auto l, auto j) { return b[l * s.n + j]; });
}

TEST(DigitsKernels, GradientOfTheWeightsHasThatOfTheBiasesBelow) {
  expect_products(
      "weight_gradient", 0,
      [](const Shape& s) { return std::array<Constants, 2>{{{s.k, s.m - 1}, {s.k, s.n}}}; },
      [](const Vector& a, const Shape& s, auto i, auto l) {
        return i + 1 < s.m ? a[l * (s.m - 1) + i] : 1;
      },
      [](const Vector& b, const Shape& s, auto l, auto j) { return b[l * s.n + j]; });
}

TEST(DigitsKernels, GradientOfTheInputsLeavesOutTheBiases) {
  expect_products(
      "input_gradient", 0,
      [](const Shape& s) { return std::array<Constants, 2>{{{s.m, s.k}, {s.n, s.k}}}; },
      [](const Vector& a, const Shape& s, auto i, auto l) { return a[i * s.k + l]; },
      [](const Vector& b, const Shape& s, auto l, auto j) { return b[j * s.k + l]; });
}

TEST(DigitsKernels, ReluAndItsGradient) {
  constexpr std::uint32_t kRows = 10, kColumns = 130, kSize = kRows * kColumns;
  const Constants shape = {kRows, kColumns};
  const std::array<std::size_t, 3> grid = {groups(kColumns, 128), groups(kRows, 8), 1};
  Vector x = random_vector(kSize, 1);
  x[0] = 0.0f;
  x[1] = -0.0f;
  Vector dy = random_vector(kSize, 2);
  Vector y = output(kSize);
  Vector dx = output(kSize);
  digits().run("relu", grid, {x, y}, constants_of({shape, shape}).data());
  digits().run("relu_gradient", grid, {x, dy, dx}, constants_of({shape, shape, shape}).data());
  for (std::size_t i = 0; i < kSize; ++i) {
    EXPECT_EQ(y[i], x[i] > 0 ? x[i] : 0.0f);
    EXPECT_EQ(dx[i], x[i] > 0 ? dy[i] : 0.0f);
  }
  EXPECT_EQ(y[kSize], kUntouched);
  EXPECT_EQ(dx[kSize], kUntouched);
}

TEST(DigitsKernels, SoftmaxCrossEntropyGivesLossAndGradient) {
  constexpr std::uint32_t kRows = 45, kColumns = 10;
  Vector logits = random_vector(kRows * kColumns, 1);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] *= i < 5 * kColumns ? 200.0f : 10.0f;
  std::vector<std::int32_t> labels(kRows);
  for (std::size_t i = 0; i < kRows; ++i) labels[i] = static_cast<std::int32_t>(i * 7 % kColumns);
  labels[9] = -1;
  labels[11] = 10;
  Vector gradient = output(kRows * kColumns);
  Vector loss = output(kRows);
  Constants constants = constants_of({{kRows, kColumns}, {kRows}});
  for (const std::uint32_t columns : {kColumns, 1u}) {  // sizes, stride, tile
    constants.insert(constants.end(), {kRows, columns, columns, 32, columns});
  }
  constants.push_back(std::bit_cast<std::uint32_t>(0.25f));
  digits().run("softmax_cross_entropy", {1, groups(kRows, 32), 1}, {logits, labels, gradient, loss},
               constants.data());
  for (std::size_t i = 0; i < kRows; ++i) {
    const float* row = &logits[i * kColumns];
    double top = double{row[0]};
    for (std::size_t j = 1; j < kColumns; ++j) top = std::max(top, double{row[j]});
    double total = 0;
    for (std::size_t j = 0; j < kColumns; ++j) total += std::exp(double{row[j]} - top);
    for (std::size_t j = 0; j < kColumns; ++j) {
      const bool hit = static_cast<std::int32_t>(j) == labels[i];
      const double want = (std::exp(double{row[j]} - top) / total - (hit ? 1 : 0)) * 0.25;
      // exp, sum, quotient, difference: some ten roundings of values of at most 1. The difference
      // of logits up to 200 adds 2^-17 to the exponent.
      EXPECT_NEAR(gradient[i * kColumns + j], want, 1e-5 * 0.25) << i << ", " << j;
      if (hit) {
        EXPECT_NEAR(loss[i], std::log(total) - (double{row[j]} - top), 2e-5) << i;
      }
    }
  }
  EXPECT_EQ(loss[9], 0.0f);
  EXPECT_EQ(loss[11], 0.0f);
  EXPECT_EQ(gradient.back(), kUntouched);
  EXPECT_EQ(loss.back(), kUntouched);
}

TEST(DigitsKernels, UpdateAndAdd) {
  constexpr std::uint32_t kSize = 513;
  const std::array<std::size_t, 3> grid = {groups(kSize, 256), 1, 1};
  Vector g = random_vector(kSize, 1);
  const Vector before = random_vector(kSize, 2);
  const struct {
    float rate;
    std::uint32_t n;
  } constants{0.3f, kSize};
  Vector w = before, sum = before;
  for (Vector* vector : {&w, &sum}) vector->push_back(kUntouched);
  digits().run("sgd_update", grid, {g, w}, &constants);
  digits().run("add", grid, {g, sum}, &kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    const float step = 0.3f * g[i];
    EXPECT_EQ(w[i], before[i] - step);
    EXPECT_EQ(sum[i], before[i] + g[i]);
  }
  for (const Vector* vector : {&w, &sum}) EXPECT_EQ(vector->back(), kUntouched);
}

TEST(DigitsKernels, GatherPutsTwoArraysAndASumBehindEachOther) {
  for (const auto& [na, nb] : {std::pair(600u, 20u), {20u, 600u}, {500u, 11u}, {500u, 12u}}) {
    constexpr std::uint32_t kSummed = 33;
    Vector a = random_vector(na, 1), b = random_vector(nb, 2), c = random_vector(kSummed, 3);
    Vector y = output(na + nb + 1);
    const std::uint32_t constants[] = {na + nb + 1, na, kSummed};
    digits().run("gather", {groups(na + nb + 1, 256), 1, 1}, {a, b, c, y}, constants);
    Vector want = a;
    want.insert(want.end(), b.begin(), b.end());
    want.push_back(std::accumulate(c.begin(), c.end(), 0.0f));
    want.push_back(kUntouched);
    EXPECT_EQ(y, want);
  }
}

TEST(Saxpy, ComputesEveryElementAndNoMore) {
  const Kernels kernels(HALYARD_SOURCE_DIR "/kernels/saxpy.hyk");
  for (const std::uint32_t size : {0u, 1u, 255u, 256u, 1000u}) {
    Vector x = random_vector(size, 1);
    const Vector before = random_vector(size, 2);
    Vector y = before;
    y.push_back(kUntouched);
    const struct {
      float a;
      std::uint32_t n;
    } constants{2.5f, size};
    kernels.run("saxpy", {groups(size, 256), 1, 1}, {x, y}, &constants);
    for (std::size_t i = 0; i < size; ++i) {
      const float product = 2.5f * x[i];
      EXPECT_EQ(y[i], product + before[i]);
    }
    EXPECT_EQ(y[size], kUntouched);
  }
}

}  // namespace
}  // namespace halyard::testing
