// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernel/half_values.h"

namespace halyard {
namespace {

using testing::is_half_nan;

static_assert(std::is_trivially_copyable_v<Half> && alignof(Half) == 2);
static_assert(!std::is_convertible_v<float, Half>, "it may round");
static_assert(Half().bits() == 0 && Half{1}.bits() == 0x3c00 && Half(-0.0f).bits() == 0x8000);
static_assert(Half(0.1f) * Half(10.0f) == 0.99975586f, "computed as floats");
static_assert(Half::from_bits(0x0001) == 0x1p-24f);
static_assert(Half(1.0f) == Half{1} && Half(1.0f) < Half(1.5f) && Half(0.0f) == Half(-0.0f));

TEST(Half, IsTheFloatOfItsValue) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half = Half::from_bits(static_cast<std::uint16_t>(bits));
    const float value = half;
    if (is_half_nan(half.bits())) {
      const std::uint32_t sign = bits >> 15 << 31, fraction = bits & 0x3ff;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(value), sign | 0x7fc00000 | fraction << 13) << bits;
      ASSERT_FALSE(half == half) << bits;
    } else {
      ASSERT_EQ(
          std::bit_cast<std::uint32_t>(value),
          std::bit_cast<std::uint32_t>(static_cast<float>(testing::value_of_half(half.bits()))))
          << bits;
    }
    const std::uint16_t quiet = is_half_nan(half.bits()) ? 0x200 : 0;
    ASSERT_EQ(Half(value).bits(), half.bits() | quiet) << bits;
  }
}

TEST(Half, IsRoundedToTheNearestEvenOne) {
  for (const float value : testing::floats_around_halves()) {
    ASSERT_EQ(Half(value).bits(), testing::nearest_half(value)) << value;
  }
}

TEST(Half, IsNanOfNan) {
  for (const std::uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fc00000u, 0xffffffffu}) {
    const Half half(std::bit_cast<float>(bits));
    EXPECT_TRUE(is_half_nan(half.bits())) << bits;
    EXPECT_EQ(half.bits() >> 15, bits >> 31) << bits;
  }
}

}  // namespace
}  // namespace halyard
