// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/format.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace halyard::base {
namespace {

TEST(Format, ANumberFrom2To63On_IsWrittenAsADifference) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number((std::uint64_t{1} << 63) - 1), "9223372036854775807");
  EXPECT_EQ(number(std::uint64_t{1} << 63), "9223372036854775808");
  EXPECT_EQ(number(~std::uint64_t{0}), "2^64 - 1");
}

TEST(Format, ACount_HasTheSingularForOneOnly) {
  EXPECT_EQ(counted(0, "slot"), "0 slots");
  EXPECT_EQ(counted(1, "slot"), "1 slot");
  EXPECT_EQ(counted(2, "slot"), "2 slots");
  EXPECT_EQ(counted(~std::uint64_t{0}, "byte"), "2^64 - 1 bytes");
}

}  // namespace
}  // namespace halyard::base
