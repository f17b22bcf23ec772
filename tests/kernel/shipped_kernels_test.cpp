// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels over one dimension and the Game of Life, at sizes around those of their groups.
#include "kernel/shipped_kernels.h"
#include "kernel/special_floats.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace halyard::testing {
namespace {

// Special values first, then random numbers.
std::vector<float> with_specials(std::size_t size, unsigned seed) {
  std::vector<float> values = random_floats(size, seed, 90.0f);
  const float specials[] = {0.0f, -0.0f, 1.0f, -1.0f, 1e-40f, kInfinity, -kInfinity, kNan};
  for (std::size_t i = 0; i < size && i < 8 * std::size(specials); ++i) {
    // All pairs of special values occur, since one operand's seed is odd and the other's even.
    values[i] = specials[seed % 2 != 0 ? i % 8 : i / 8];
  }
  return values;
}

// The same number, or a NaN for a NaN.
void expect_same(float got, float want, std::size_t index) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << got << " at " << index;
  } else {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want))
        << got << " for " << want << " at " << index;
  }
}

template <class Reference>
void expect_binary(const char* name, Reference reference) {
  SCOPED_TRACE(name);
  const Shipped elementwise("elementwise");
  for (const std::uint32_t size : kSizes) {
    const std::vector<float> a = with_specials(size, 1), b = with_specials(size, 2);
    const Array<float> y(size);
    elementwise.run(name, groups_of(256, size), {Array(a), Array(b), y}, {size});
    const std::vector<float> got = y.values();
    for (std::size_t i = 0; i < size; ++i) expect_same(got[i], reference(a[i], b[i]), i);
  }
}

// Calls check(got, x, i) for each element.
template <class Check>
void check_unary(const char* name, Check check) {
  SCOPED_TRACE(name);
  const Shipped elementwise("elementwise");
  for (const std::uint32_t size : kSizes) {
    const std::vector<float> x = with_specials(size, 1);
    const Array<float> y(size);
    elementwise.run(name, groups_of(256, size), {Array(x), y}, {size});
    const std::vector<float> got = y.values();
    for (std::size_t i = 0; i < size; ++i) check(got[i], x[i], i);
  }
}

TEST(ShippedElementwise, TwoOperandsGiveTheSameBitsAsOnTheHost) {
  expect_binary("add", [](float a, float b) { return a + b; });
  expect_binary("subtract", [](float a, float b) { return a - b; });
  expect_binary("multiply", [](float a, float b) { return a * b; });
  expect_binary("divide", [](float a, float b) { return a / b; });
  expect_binary("minimum", [](float a, float b) { return a < b ? a : b; });
  expect_binary("maximum", [](float a, float b) { return a > b ? a : b; });
}

TEST(ShippedBroadcast, ARowIsRepeatedWithTheSameBitsAsOnTheHost) {
  const Shipped broadcast("broadcast");
  constexpr std::uint32_t kHeight = 13, kWidth = 64;
  const auto expect = [&](const char* name, auto reference) {
    SCOPED_TRACE(name);
    const std::vector<float> a = with_specials(kHeight * kWidth, 1), b = with_specials(64, 2);
    const Array<float> y(a.size());
    broadcast.run(name, kHeight, {Array(a), Array(b), y},
                  {kHeight, kWidth, 0u, kWidth, 1u, 0u, 0u, 1u});
    const std::vector<float> got = y.values();
    for (std::size_t i = 0; i < a.size(); ++i) {
      expect_same(got[i], reference(a[i], b[i % kWidth]), i);
    }
  };
  expect("add_broadcast", [](float p, float q) { return p + q; });
  expect("subtract_broadcast", [](float p, float q) { return p - q; });
  expect("multiply_broadcast", [](float p, float q) { return p * q; });
  expect("divide_broadcast", [](float p, float q) { return p / q; });
}

TEST(ShippedElementwise, ExactFunctionsGiveTheSameBitsAsOnTheHost) {
  const auto same_as = [](auto reference) {
    return [reference](float got, float x, std::size_t i) { expect_same(got, reference(x), i); };
  };
  check_unary("negate", same_as([](float x) { return -x; }));
  check_unary("absolute", same_as([](float x) { return std::fabs(x); }));
  check_unary("sqrt", same_as([](float x) { return std::sqrt(x); }));
  check_unary("relu", same_as([](float x) { return x > 0.0f ? x : 0.0f; }));
}

TEST(ShippedElementwise, ExpAndLogAreWithinOneUnitInTheLastPlace) {
  const auto near_to = [](auto reference) {
    return [reference](float got, float x, std::size_t i) {
      const double want = reference(double{x});
      if (std::isnan(want) || std::isinf(static_cast<float>(want))) {
        return expect_same(got, static_cast<float>(want), i);
      }
      const float nearest = std::fabs(static_cast<float>(want));
      const double ulp = double{std::nextafter(nearest, kInfinity)} - double{nearest};
      EXPECT_LE(std::fabs(double{got} - want), ulp) << x << " at " << i;
    };
  };
  check_unary("exp", near_to([](double x) { return std::exp(x); }));
  check_unary("log", near_to([](double x) { return std::log(x); }));
}

TEST(ShippedElementwise, SigmoidKeepsItsBound) {
  check_unary("sigmoid", [](float got, float x, std::size_t i) {
    if (std::isnan(x)) return expect_same(got, x, i);
    const double want = 1.0 / (1.0 + std::exp(-double{x}));
    EXPECT_NEAR(got, want, want * 0x1p-22 + 0x1p-126) << x << " at " << i;
  });
}

TEST(ShippedElementwise, AxpbyRoundsEachOperation) {
  const Shipped elementwise("elementwise");
  for (const std::uint32_t size : kSizes) {
    const std::vector<float> x = with_specials(size, 1), before = with_specials(size, 2);
    const Array<float> y(before);
    elementwise.run("axpby", groups_of(256, size), {Array(x), y}, {0.3f, -1.7f, size});
    const std::vector<float> got = y.values();
    for (std::size_t i = 0; i < size; ++i) {
      const float ax = 0.3f * x[i], by = -1.7f * before[i];
      expect_same(got[i], ax + by, i);
    }
  }
}

TEST(ShippedElementwise, FillWritesEveryElement) {
  const Shipped elementwise("elementwise");
  for (const std::uint32_t size : kSizes) {
    const Array<float> y(size);
    elementwise.run("fill_float", groups_of(256, size), {y}, {2.5f, size});
    EXPECT_EQ(y.values(), std::vector<float>(size, 2.5f));
  }
}

TEST(ShippedReduce, TheFloatSumKeepsItsBoundAndRepeats) {
  const Shipped file("reduce");
  for (const std::uint32_t size : kSizes) {
    const std::vector<float> x = random_floats(size, 3, 100.0f);
    double sum = 0, magnitude = 0;
    for (const float value : x) {
      sum += double{value};
      magnitude += std::fabs(double{value});
    }
    const auto got = reduce(file, "sum_float", x);
    EXPECT_EQ(got.launches, size > 4096 ? 2 : 1);
    EXPECT_NEAR(got.value, sum, got.launches * 24 * 0x1p-24 * magnitude) << size;
    const float again = reduce(file, "sum_float", x).value;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(again), std::bit_cast<std::uint32_t>(got.value));
  }
}

TEST(ShippedReduce, TheGreatestAndTheLeastAreFoundWhereverTheyAre) {
  const Shipped file("reduce");
  for (const std::uint32_t size : kSizes) {
    std::vector<float> x = random_floats(size, 4);
    EXPECT_EQ(reduce(file, "max_float", x).value,
              std::accumulate(x.begin(), x.end(), -kInfinity,
                              [](float a, float b) { return std::max(a, b); }));
    EXPECT_EQ(reduce(file, "min_float", x).value,
              std::accumulate(x.begin(), x.end(), kInfinity,
                              [](float a, float b) { return std::min(a, b); }));
    for (const std::size_t at : {std::size_t{0}, std::size_t{size} / 2, std::size_t{size} - 1}) {
      if (size < 3) break;
      const float kept = std::exchange(x[at], 7.0f);
      EXPECT_EQ(reduce(file, "max_float", x).value, 7.0f);
      x[at] = -7.0f;
      EXPECT_EQ(reduce(file, "min_float", x).value, -7.0f);
      x[at] = kept;
    }
  }
}

TEST(ShippedReduce, NansAreNeitherGreatestNorLeast) {
  const Shipped file("reduce");
  std::vector<float> x(5000, kNan);
  EXPECT_EQ(reduce(file, "max_float", x).value, -kInfinity);
  x[4998] = -3.0f;
  EXPECT_EQ(reduce(file, "max_float", x).value, -3.0f);
  EXPECT_EQ(reduce(file, "min_float", x).value, -3.0f);
}

TEST(ShippedArgmax, TheFirstOfTheGreatestIsFoundWhereverItIs) {
  const Shipped file("argmax");
  const auto index = [&](const std::vector<float>& x) {
    return argmax(file, "argmax_float", "argmax_next_float", x);
  };
  for (const std::uint32_t size : kSizes) {
    if (size == 0) continue;
    std::vector<float> x = random_floats(size, 4);
    EXPECT_EQ(index(x), first_greatest(x)) << size;
    x.back() = 7.0f;
    EXPECT_EQ(index(x), size - 1);
    x[size / 2] = 7.0f;
    EXPECT_EQ(index(x), size / 2);
    EXPECT_EQ(index(std::vector<float>(size, -kInfinity)), 0u) << size;
    std::vector<float> nans(size, kNan);
    EXPECT_EQ(index(nans), 0u) << size;
    nans.back() = -kInfinity;
    EXPECT_EQ(index(nans), size - 1);
  }
}

TEST(ShippedReduce, TheUintSumWrapsAround) {
  const Shipped file("reduce");
  for (const std::uint32_t size : kSizes) {
    const std::vector<std::uint32_t> x = random_uints(size, 5);
    EXPECT_EQ(reduce(file, "sum_uint", x).value, std::accumulate(x.begin(), x.end(), 0u));
  }
}

TEST(ShippedScan, PrefixSumsOfAnyLength) {
  // The last one needs three levels of blocks.
  for (const std::uint32_t size :
       {0u, 1u, 3u, 4u, 255u, 256u, 1023u, 1024u, 1025u, 70001u, 1024u * 1024u + 1u}) {
    SCOPED_TRACE(size);
    const std::vector<std::uint32_t> x = random_uints(size, 6);
    std::vector<std::uint32_t> want(size);
    std::inclusive_scan(x.begin(), x.end(), want.begin());
    // Comparing whole vectors of a million elements would print them.
    EXPECT_TRUE(scan("scan_inclusive", Array(x), size).values() == want);
    std::exclusive_scan(x.begin(), x.end(), want.begin(), 0u);
    EXPECT_TRUE(scan("scan_exclusive", Array(x), size).values() == want);
  }
}

TEST(ShippedScan, LeavesTheSumOfEachBlock) {
  const Shipped file("scan");
  for (const std::uint32_t size : kSizes) {
    const std::vector<std::uint32_t> x = random_uints(size, 6);
    std::vector<std::uint32_t> want(groups_of(1024, size));
    for (std::size_t i = 0; i < size; ++i) want[i / 1024] += x[i];
    for (const char* kernel : {"scan_inclusive", "scan_exclusive"}) {
      const Array<std::uint32_t> y(size), sums(want.size());
      file.run(kernel, groups_of(1024, size), {Array(x), y, sums}, {size});
      EXPECT_EQ(sums.values(), want) << kernel << " of " << size;
    }
  }
}

std::vector<std::uint32_t> next_generation(const std::vector<std::uint32_t>& board, int width,
                                           int height) {
  std::vector<std::uint32_t> next(board.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::uint32_t alive = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          if (dx == 0 && dy == 0) continue;
          const int at = (y + dy + height) % height * width + (x + dx + width) % width;
          alive += board[static_cast<std::size_t>(at)];
        }
      }
      const auto at = static_cast<std::size_t>(y * width + x);
      next[at] = alive == 3 || (alive == 2 && board[at] != 0) ? 1 : 0;
    }
  }
  return next;
}

std::vector<std::uint32_t> live(const std::vector<std::uint32_t>& board, std::uint32_t width,
                                std::uint32_t height, int generations) {
  const Shipped life("life");
  Array<std::uint32_t> now(board), next(board.size());
  for (int i = 0; i < generations; ++i) {
    life.run("life", {groups_of(16, width), groups_of(16, height)}, {now, next}, {width, height});
    std::swap(now, next);
  }
  return now.values();
}

TEST(ShippedLife, RandomBoardsLiveAsTheReferenceDoes) {
  for (const auto& [width, height] : {std::pair{1, 1}, {2, 3}, {15, 16}, {16, 17}, {33, 50}}) {
    std::vector<std::uint32_t> board = random_uints(static_cast<std::size_t>(width * height), 7);
    for (std::uint32_t& cell : board) cell %= 2;
    const std::vector<std::uint32_t> got =
        live(board, static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), 100);
    for (int i = 0; i < 100; ++i) board = next_generation(board, width, height);
    EXPECT_EQ(got, board) << width << " x " << height;
  }
}

TEST(ShippedLife, AGliderMovesByOneCellInFourGenerationsAndAroundTheTorus) {
  constexpr std::uint32_t kWidth = 20, kHeight = 18;
  const auto glider_at = [](std::uint32_t x, std::uint32_t y) {
    std::vector<std::uint32_t> board(kWidth * kHeight);
    constexpr std::uint32_t kCells[][2] = {{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};
    for (const auto& cell : kCells) {
      board[(y + cell[1]) % kHeight * kWidth + (x + cell[0]) % kWidth] = 1;
    }
    return board;
  };
  EXPECT_EQ(live(glider_at(3, 4), kWidth, kHeight, 4), glider_at(4, 5));
  EXPECT_EQ(live(glider_at(3, 4), kWidth, kHeight, 100), glider_at(28, 29));
}

}  // namespace
}  // namespace halyard::testing
