// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels for several element types: those other than float, each compared with the same
// arithmetic on the host. Shaders have no doubles.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include "kernel/shipped_kernels.h"

namespace halyard::testing {
namespace {

// The suffix of the kernels of T; those that compute modulo 2^32 have uint's.
template <class T>
struct Of {
  static constexpr bool kIsDouble = std::is_same_v<T, double>;
  static std::string file(const char* name) {
    return name + std::string(kIsDouble ? "_double" : "");
  }
  static std::string modular(const std::string& name) {
    return name + (kIsDouble ? "_double" : "_uint");
  }
  static std::string ordered(const std::string& name) {
    return name + (kIsDouble ? "_double" : std::is_signed_v<T> ? "_int" : "_uint");
  }
};

template <class T>
std::vector<T> random_values(std::size_t size, unsigned seed) {
  const std::vector<std::uint32_t> bits = random_uints(2 * size, seed);
  std::vector<T> values;
  for (std::size_t i = 0; i < size; ++i) {
    if constexpr (std::is_same_v<T, double>) {
      const auto whole =
          static_cast<std::int64_t>(std::uint64_t{bits[2 * i]} << 32 | bits[2 * i + 1]);
      values.push_back(static_cast<double>(whole) * (100 * 0x1p-63));
    } else {
      values.push_back(static_cast<T>(bits[i]));
    }
  }
  return values;
}

// On the host, where integers wrap around.
template <class T, class F>
T apply(F function, T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    return function(a, b);
  } else {
    return static_cast<T>(function(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
  }
}

template <class T>
class ShippedTypes : public ::testing::Test {
 protected:
  // Expects the reduction of `x`; `rounded` bounds the roundings of an element.
  static void expect_sum(T got, const std::vector<T>& x, std::size_t rounded) {
    if constexpr (std::is_same_v<T, double>) {
      long double sum = 0, magnitude = 0;
      for (const double value : x) {
        sum += value;
        magnitude += std::fabs(value);
      }
      const auto bound = static_cast<long double>(rounded) * 0x1p-53L * magnitude;
      EXPECT_LE(std::fabs(static_cast<long double>(got) - sum), bound);
    } else {
      T sum = 0;
      for (const T value : x) sum = apply(std::plus(), sum, value);
      EXPECT_EQ(got, sum);
    }
  }
  static T greatest(const std::vector<T>& x) {
    const T nothing =
        Of<T>::kIsDouble ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    return std::ranges::max(with(x, nothing));
  }
  static T least(const std::vector<T>& x) {
    const T nothing =
        Of<T>::kIsDouble ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    return std::ranges::min(with(x, nothing));
  }

 private:
  static std::vector<T> with(std::vector<T> x, T value) {
    x.push_back(value);
    return x;
  }
};

#ifdef HALYARD_TEST_SHADERS
using Types = ::testing::Types<std::int32_t, std::uint32_t>;
#else
using Types = ::testing::Types<std::int32_t, std::uint32_t, double>;
#endif
TYPED_TEST_SUITE(ShippedTypes, Types);

TYPED_TEST(ShippedTypes, TwoOperandsGiveTheSameBitsAsOnTheHost) {
  using T = TypeParam;
  const Shipped file(Of<T>::file("elementwise"));
  const auto expect = [&](const char* name, auto function) {
    for (const std::uint32_t size : kSizes) {
      const std::vector<T> a = random_values<T>(size, 1), b = random_values<T>(size, 2);
      const Array<T> y(size);
      file.run(Of<T>::modular(name), groups_of(256, size), {Array(a), Array(b), y}, {size});
      std::vector<T> want;
      for (std::size_t i = 0; i < size; ++i) want.push_back(apply(function, a[i], b[i]));
      EXPECT_TRUE(y.values() == want) << name << " of " << size;
    }
  };
  expect("add", std::plus());
  expect("subtract", std::minus());
  expect("multiply", std::multiplies());
  if constexpr (Of<T>::kIsDouble) expect("divide", std::divides());
}

TYPED_TEST(ShippedTypes, RepeatedOperandsGiveTheSameBitsAsOnTheHost) {
  using T = TypeParam;
  const Shipped file(Of<T>::file("broadcast"));
  const auto expect = [&](const char* name, auto function) {
    const auto expect_strides = [&](std::array<std::uint32_t, 3> a, std::array<std::uint32_t, 3> b,
                                    std::size_t of_a, std::size_t of_b) {
      constexpr std::uint32_t kMatrices = 3, kHeight = 5, kWidth = 300;
      constexpr std::uint32_t kSize = kMatrices * kHeight * kWidth;
      const std::vector<T> x = random_values<T>(of_a, 1), z = random_values<T>(of_b, 2);
      const Array<T> y(kSize);
      file.run(Of<T>::modular(name) + "_broadcast", kMatrices * kHeight * groups_of(256, kWidth),
               {Array(x), Array(z), y}, {kHeight, kWidth, a[0], a[1], a[2], b[0], b[1], b[2]});
      std::vector<T> want;
      for (std::uint32_t i = 0; i < kSize; ++i) {
        const std::uint32_t m = i / (kHeight * kWidth), r = i / kWidth % kHeight, c = i % kWidth;
        want.push_back(
            apply(function, x[m * a[0] + r * a[1] + c * a[2]], z[m * b[0] + r * b[1] + c * b[2]]));
      }
      EXPECT_TRUE(y.values() == want) << name;
    };
    expect_strides({5 * 300, 300, 1}, {0, 0, 1}, 3 * 5 * 300, 300);  // a row
    expect_strides({5, 1, 0}, {5 * 300, 300, 1}, 15, 3 * 5 * 300);   // a column of each matrix
    expect_strides({0, 300, 1}, {0, 0, 0}, 5 * 300, 1);              // a matrix and a number
  };
  expect("add", std::plus());
  expect("subtract", std::minus());
  expect("multiply", std::multiplies());
  if constexpr (Of<T>::kIsDouble) expect("divide", std::divides());
}

TYPED_TEST(ShippedTypes, ScalingMultipliesEachElement) {
  using T = TypeParam;
  const Shipped file(Of<T>::file("elementwise"));
  const T by = static_cast<T>(-3);
  const hal::Constant constant = [&]() -> hal::Constant {
    if constexpr (std::is_same_v<T, double>)
      return by;
    else
      return static_cast<std::uint32_t>(by);
  }();
  for (const std::uint32_t size : kSizes) {
    const std::vector<T> x = random_values<T>(size, 3);
    const Array<T> y(size);
    file.run(Of<T>::modular("scale"), groups_of(256, size), {Array(x), y}, {constant, size});
    std::vector<T> want;
    for (const T value : x) want.push_back(apply(std::multiplies(), by, value));
    EXPECT_TRUE(y.values() == want) << size;
  }
}

TYPED_TEST(ShippedTypes, OfAllElementsTheSumTheGreatestAndTheLeast) {
  using T = TypeParam;
  const Shipped file(Of<T>::file("reduce"));
  for (const std::uint32_t size : kSizes) {
    SCOPED_TRACE(size);
    const std::vector<T> x = random_values<T>(size, 4);
    this->expect_sum(reduce(file, Of<T>::modular("sum"), x).value, x, size > 4096 ? 48 : 24);
    EXPECT_EQ(reduce(file, Of<T>::ordered("max"), x).value, this->greatest(x));
    EXPECT_EQ(reduce(file, Of<T>::ordered("min"), x).value, this->least(x));
  }
}

TYPED_TEST(ShippedTypes, TheIndexOfTheGreatestOfAllOfRowsAndOfColumns) {
  using T = TypeParam;
  const Shipped file(Of<T>::file("argmax"));
  const std::string all = Of<T>::ordered("argmax"), next = Of<T>::ordered("argmax_next");
  for (const std::uint32_t size : kSizes) {
    if (size == 0) continue;
    std::vector<T> x = random_values<T>(size, 4);
    EXPECT_EQ(argmax(file, all, next, x), first_greatest(x)) << size;
    x.assign(size, std::numeric_limits<T>::lowest());
    EXPECT_EQ(argmax(file, all, next, x), 0u) << size;
  }
  constexpr std::uint32_t kHeight = 17, kWidth = 300;
  const std::vector<T> x = random_values<T>(kHeight * kWidth, 5);
  const Array<std::uint32_t> of_rows(kHeight), of_columns(kWidth);
  file.run(Of<T>::ordered("argmax_rows"), kHeight, {Array(x), of_rows}, {kWidth});
  file.run(Of<T>::ordered("argmax_columns"), 2, {Array(x), of_columns}, {kHeight, kWidth});
  const auto rows = of_rows.values(), columns = of_columns.values();
  for (std::size_t row = 0; row < kHeight; ++row) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(row * kWidth);
    EXPECT_EQ(rows[row], first_greatest(std::vector<T>(first, first + kWidth))) << row;
  }
  for (std::size_t column = 0; column < kWidth; ++column) {
    std::vector<T> chosen;
    for (std::size_t row = 0; row < kHeight; ++row) chosen.push_back(x[row * kWidth + column]);
    EXPECT_EQ(columns[column], first_greatest(chosen)) << column;
  }
}

TYPED_TEST(ShippedTypes, OfRowsAndColumnsTheSumTheGreatestAndTheLeast) {
  using T = TypeParam;
  const Shipped file(Of<T>::file("reduce"));
  for (const auto& [matrices, rows, columns] :
       {std::array{1u, 0u, 3u}, {1u, 3u, 0u}, {3u, 17u, 65u}, {2u, 40u, 257u}, {1u, 2u, 1100u}}) {
    SCOPED_TRACE(::testing::PrintToString(std::array{matrices, rows, columns}));
    const std::vector<T> x = random_values<T>(matrices * rows * columns, 5);
    const auto run = [&](const std::string& kernel, std::size_t results, std::uint32_t groups,
                         hal::View<hal::Constant> sizes) {
      const Array<T> y(results);
      file.run(kernel, groups, {Array(x), y}, sizes);
      return y.values();
    };
    // of(i) are the elements of result i.
    const auto expect = [&](const std::string& along, std::size_t results, std::uint32_t groups,
                            hal::View<hal::Constant> sizes, std::size_t rounded, auto of) {
      const auto sums = run(Of<T>::modular("sum_" + along), results, groups, sizes);
      const auto high = run(Of<T>::ordered("max_" + along), results, groups, sizes);
      const auto low = run(Of<T>::ordered("min_" + along), results, groups, sizes);
      for (std::size_t i = 0; i < results; ++i) {
        this->expect_sum(sums[i], of(i), rounded);
        ASSERT_EQ(high[i], this->greatest(of(i))) << along << i;
        ASSERT_EQ(low[i], this->least(of(i))) << along << i;
      }
    };
    expect("rows", matrices * rows, matrices * rows, {columns}, columns / 1024 + 38,
           [&](std::size_t i) {
             const auto first = x.begin() + static_cast<std::ptrdiff_t>(i * columns);
             return std::vector<T>(first, first + columns);
           });
    expect("columns", matrices * columns, matrices * ((columns + 255) / 256), {rows, columns},
           rows / 16 + 31, [&](std::size_t i) {
             std::vector<T> column;
             for (std::size_t row = 0; row < rows; ++row) {
               column.push_back(x[(i / columns * rows + row) * columns + i % columns]);
             }
             return column;
           });
  }
}

}  // namespace
}  // namespace halyard::testing
