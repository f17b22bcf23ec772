// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels for matrices and images, compared with double precision, at sizes around those of
// their tiles.
#include <array>
#include <cmath>
#include <limits>

#include "kernel/shipped_kernels.h"

namespace halyard::testing {
namespace {

TEST(ShippedTranspose, MovesEveryElement) {
  const Shipped file("transpose");
  for (const auto& [rows, columns] :
       {std::pair{1u, 1u}, {1u, 17u}, {15u, 16u}, {16u, 16u}, {17u, 15u}, {64u, 32u}, {70u, 51u}}) {
    const std::vector<float> x = random_floats(rows * columns, 1);
    const Array<float> y(x.size());
    file.run("transpose", {groups_of(16, columns), groups_of(16, rows)}, {Array(x), y},
             {rows, columns});
    std::vector<float> want(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) want[i % columns * rows + i / columns] = x[i];
    EXPECT_EQ(y.values(), want) << rows << " x " << columns;
  }
}

TEST(ShippedSaxpyTile, CoversTheMatrixTileByTile) {
  const Shipped file("saxpy_tile");
  constexpr std::uint32_t kHeight = 9, kWidth = 20;
  std::vector<float> x(kHeight * kWidth), y(x.size()), want(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
    y[i] = static_cast<float>(i % 7);
    want[i] = 3.0f * x[i] + y[i];  // exact
  }
  const Array<float> result(y);
  file.run("saxpy_tile", {groups_of(8, kWidth), groups_of(4, kHeight)}, {Array(x), result},
           {3.0f, kHeight, kWidth, kWidth, kHeight, kWidth, kWidth, 4u, 8u});
  EXPECT_EQ(result.values(), want);
}

TEST(ShippedMatmul, KeepsItsBound) {
  struct Shape {
    std::uint32_t m, n, k;
  };
  const Shipped file("matmul");
  for (const auto& [m, n, k] :
       {Shape{1, 1, 1}, Shape{3, 5, 0}, Shape{16, 16, 16}, Shape{15, 17, 16}, Shape{17, 15, 31},
        Shape{64, 128, 96}, Shape{65, 33, 129}, Shape{130, 70, 32}}) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
    const std::vector<float> a = random_floats(m * k, 1), b = random_floats(k * n, 2);
    const Array<float> c(m * n);
    file.run("matmul", {groups_of(64, n), groups_of(64, m)}, {Array(a), Array(b), c}, {m, n, k});
    const std::vector<float> got = c.values();
    for (std::size_t i = 0; i < m * n; ++i) {
      double sum = 0, magnitude = 0;
      for (std::size_t l = 0; l < k; ++l) {
        const double product = double{a[i / n * k + l]} * double{b[l * n + i % n]};
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(got[i], sum, (k + 1) * 0x1p-24 * magnitude) << i / n << ", " << i % n;
    }
  }
}

constexpr std::uint32_t kColumns[] = {1, 2, 63, 64, 65, 128, 1000, 5003};
constexpr std::uint32_t kRows = 5;

TEST(ShippedSoftmax, KeepsItsBoundAndSumsToOne) {
  const Shipped file("softmax");
  for (const std::uint32_t columns : kColumns) {
    // With values from -60 to 60 some results are denormal. Shifting a row up by 1000 overflows
    // every exponential that is not shifted back.
    std::vector<float> x = random_floats(kRows * columns, 1, 60.0f);
    for (std::size_t j = 0; j < columns; ++j) x[j] += 1000.0f;
    const Array<float> y(x.size());
    file.run("softmax", kRows, {Array(x), y}, {columns});
    const std::vector<float> got = y.values();
    for (std::size_t row = 0; row < x.size(); row += columns) {
      double top = double{x[row]}, total = 0, sum = 0;
      for (std::size_t j = row; j < row + columns; ++j) top = std::max(top, double{x[j]});
      for (std::size_t j = row; j < row + columns; ++j) total += std::exp(double{x[j]} - top);
      for (std::size_t j = row; j < row + columns; ++j) {
        const double want = std::exp(double{x[j]} - top) / total;
        const double roundings = top - double{x[j]} + columns / 64 + 16;
        ASSERT_NEAR(got[j], want, roundings * 0x1p-24 * want + 0x1p-148) << columns << " at " << j;
        sum += double{got[j]};
      }
      EXPECT_NEAR(sum, 1.0, (columns / 64 + 32) * 0x1p-24) << columns;
    }
  }
}

TEST(ShippedLayerNorm, KeepsItsBoundFarFromZeroToo) {
  constexpr float kEpsilon = 1e-5f;
  const Shipped file("layer_norm");
  for (const std::uint32_t columns : kColumns) {
    std::vector<float> x = random_floats(kRows * columns, 1);
    // The sum of this row's unshifted squares would cancel all of its variance.
    for (std::size_t j = 0; j < columns; ++j) x[j] += 300.0f;
    const std::vector<float> gamma = random_floats(columns, 2), beta = random_floats(columns, 3);
    const Array<float> y(x.size());
    file.run("layer_norm", kRows, {Array(x), Array(gamma), Array(beta), y}, {columns, kEpsilon});
    const std::vector<float> got = y.values();
    for (std::size_t row = 0; row < x.size(); row += columns) {
      double sum = 0, squares = 0, greatest = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        sum += double{x[row + j]};
        greatest = std::max(greatest, std::fabs(double{x[row + j]}));
      }
      const double mean = sum / columns;
      for (std::size_t j = 0; j < columns; ++j) squares += std::pow(double{x[row + j]} - mean, 2);
      const double root = std::sqrt(squares / columns + double{kEpsilon});
      const double k = columns / 64 + 8;
      for (std::size_t j = 0; j < columns; ++j) {
        const double from_mean = double{x[row + j]} - mean;
        const double scale = double{gamma[j]} / root;
        const double want = from_mean * scale + double{beta[j]};
        const double bound = (k * greatest + (k + 8) * std::fabs(from_mean)) * std::fabs(scale);
        ASSERT_NEAR(got[row + j], want, (bound + std::fabs(want)) * 0x1p-24)
            << columns << " at " << row << " + " << j;
      }
    }
  }
}

TEST(ShippedReduce, RowsAndColumnsGiveTheirSumTheGreatestAndTheLeast) {
  const Shipped file("reduce");
  for (const auto& [matrices, rows, columns] : {std::array{1u, 1u, 1u},
                                                {1u, 0u, 3u},
                                                {1u, 3u, 0u},
                                                {1u, 15u, 63u},
                                                {1u, 16u, 64u},
                                                {3u, 17u, 65u},
                                                {2u, 40u, 257u},
                                                {1u, 3u, 1024u},
                                                {1u, 2u, 1100u},
                                                {5u, 1000u, 2u}}) {
    SCOPED_TRACE(::testing::PrintToString(std::array{matrices, rows, columns}));
    const std::vector<float> x = random_floats(matrices * rows * columns, 1, 100.0f);
    // Sums of `count` elements, `stride` apart; `rounded` bounds the roundings of an element.
    const auto expect = [&](const std::string& of, const std::vector<float>& sums,
                            const std::vector<float>& greatest, const std::vector<float>& least,
                            auto first, std::size_t count, std::size_t stride, double rounded) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        double sum = 0, magnitude = 0;
        float high = -std::numeric_limits<float>::infinity(), low = -high;
        for (std::size_t k = 0; k < count; ++k) {
          const float value = x[first(i) + k * stride];
          sum += double{value};
          magnitude += std::fabs(double{value});
          high = std::max(high, value);
          low = std::min(low, value);
        }
        ASSERT_NEAR(sums[i], sum, rounded * 0x1p-24 * magnitude) << of << i;
        ASSERT_EQ(greatest[i], high) << of << i;
        ASSERT_EQ(least[i], low) << of << i;
      }
    };
    const auto of_rows = [&](const char* kernel) {
      const Array<float> y(matrices * rows);
      file.run(kernel, matrices * rows, {Array(x), y}, {columns});
      return y.values();
    };
    expect(
        "row ", of_rows("sum_rows"), of_rows("max_rows"), of_rows("min_rows"),
        [&](std::size_t i) { return i * columns; }, columns, 1, columns / 1024 + 38);
    const auto of_columns = [&](const char* kernel) {
      const Array<float> y(matrices * columns);
      file.run(kernel, matrices * ((columns + 255) / 256), {Array(x), y}, {rows, columns});
      return y.values();
    };
    expect(
        "column ", of_columns("sum_columns"), of_columns("max_columns"), of_columns("min_columns"),
        [&](std::size_t i) { return i / columns * rows * columns + i % columns; }, rows, columns,
        rows / 16 + 31);
  }
}

TEST(ShippedArgmax, RowsAndColumnsGiveTheFirstOfTheGreatest) {
  const Shipped file("argmax");
  for (const auto& [matrices, rows, columns] :
       {std::array{1u, 1u, 1u}, {1u, 16u, 64u}, {3u, 17u, 65u}, {2u, 40u, 257u}, {5u, 1000u, 2u}}) {
    SCOPED_TRACE(::testing::PrintToString(std::array{matrices, rows, columns}));
    // Few distinct values, so that many are equal.
    std::vector<float> x;
    for (const std::uint32_t bits : random_uints(matrices * rows * columns, 1)) {
      x.push_back(static_cast<float>(bits % 8));
    }
    const Array<std::uint32_t> of_rows(matrices * rows), of_columns(matrices * columns);
    file.run("argmax_rows", matrices * rows, {Array(x), of_rows}, {columns});
    file.run("argmax_columns", matrices * groups_of(256, columns), {Array(x), of_columns},
             {rows, columns});
    const auto greatest = [&](std::size_t first, std::size_t count, std::size_t stride) {
      std::vector<float> chosen;
      for (std::size_t k = 0; k < count; ++k) chosen.push_back(x[first + k * stride]);
      return first_greatest(chosen);
    };
    for (std::size_t i = 0; i < matrices * rows; ++i) {
      ASSERT_EQ(of_rows.values()[i], greatest(i * columns, columns, 1)) << "row " << i;
    }
    for (std::size_t i = 0; i < matrices * columns; ++i) {
      ASSERT_EQ(of_columns.values()[i],
                greatest(i / columns * rows * columns + i % columns, rows, columns))
          << "column " << i;
    }
  }
}

struct Convolution {
  std::uint32_t batch, channels, height, width, filters, rows, columns, stride, padding;
};

void expect_convolution(const Convolution& shape) {
  const auto [batch, channels, height, width, filters, rows, columns, stride, padding] = shape;
  const std::uint32_t out_height = (height + 2 * padding - rows) / stride + 1;
  const std::uint32_t out_width = (width + 2 * padding - columns) / stride + 1;
  const std::vector<float> x = random_floats(batch * channels * height * width, 1);
  const std::vector<float> w = random_floats(filters * channels * rows * columns, 2);
  const std::vector<float> bias = random_floats(filters, 3);
  const Array<float> y(batch * filters * out_height * out_width);
  Shipped("conv2d").run("conv2d",
                        {groups_of(16, out_width), groups_of(16, out_height), batch * filters},
                        {Array(x), Array(w), Array(bias), y},
                        {channels, height, width, filters, rows, columns, stride, padding});
  const std::vector<float> got = y.values();

  std::size_t at = 0;
  for (std::uint32_t plane = 0; plane < batch * filters; ++plane) {
    const std::uint32_t image = plane / filters, filter = plane % filters;
    for (std::uint32_t i = 0; i < out_height; ++i) {
      for (std::uint32_t j = 0; j < out_width; ++j, ++at) {
        double sum = double{bias[filter]}, magnitude = std::fabs(sum);
        for (std::uint32_t tap = 0; tap < channels * rows * columns; ++tap) {
          const std::uint32_t c = tap / (rows * columns);
          const std::int64_t from_y = std::int64_t{i} * stride + tap / columns % rows - padding;
          const std::int64_t from_x = std::int64_t{j} * stride + tap % columns - padding;
          if (from_y < 0 || from_y >= height || from_x < 0 || from_x >= width) continue;
          const auto from = static_cast<std::size_t>(
              (std::int64_t{image * channels + c} * height + from_y) * width + from_x);
          const double product =
              double{x[from]} * double{w[filter * channels * rows * columns + tap]};
          sum += product;
          magnitude += std::fabs(product);
        }
        ASSERT_NEAR(got[at], sum, (channels * rows * columns + 2) * 0x1p-24 * magnitude)
            << "plane " << plane << " at " << i << ", " << j;
      }
    }
  }
}

TEST(ShippedConv2d, KeepsItsBoundForAnyKernelStrideAndPadding) {
  for (const Convolution& shape : {
           Convolution{1, 1, 1, 1, 1, 1, 1, 1, 0},
           Convolution{1, 1, 16, 16, 1, 3, 3, 1, 1},
           Convolution{2, 3, 17, 18, 4, 3, 3, 1, 0},
           Convolution{2, 2, 19, 33, 3, 5, 2, 2, 2},
           Convolution{1, 2, 50, 71, 2, 3, 4, 2, 1},
           Convolution{1, 4, 9, 7, 2, 9, 7, 3, 0},
           // A kernel larger than the image, which fits only because of the padding.
           Convolution{1, 2, 3, 2, 2, 6, 5, 1, 4},
       }) {
    SCOPED_TRACE(std::to_string(shape.height) + " x " + std::to_string(shape.width));
    expect_convolution(shape);
  }
}

}  // namespace
}  // namespace halyard::testing
