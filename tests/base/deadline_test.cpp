// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "halyard/base/clock.h"

namespace halyard {
namespace {

using namespace std::chrono_literals;

struct FixedClock final : Clock {
  Nanoseconds now() noexcept override { return 1000; }
};

TEST(Deadline, CountsADurationOnTheGivenClock) {
  FixedClock clock;
  EXPECT_EQ(Deadline(5ns).resolve(clock), 1005);
  EXPECT_EQ(Deadline(2us).resolve(clock), 3000);
}

TEST(Deadline, NowAndNegativeDurationsHavePassed) {
  FixedClock clock;
  EXPECT_LT(kNow.resolve(clock), 1000);
  EXPECT_LT(Deadline(-1h).resolve(clock), 1000);
  EXPECT_LT(Deadline(0s).resolve(clock), 1000);
}

TEST(Deadline, HugeDurationsAreForeverNotOverflow) {
  FixedClock clock;
  EXPECT_EQ(Deadline(std::chrono::hours::max()).resolve(clock), Deadline::kForeverTime);
  EXPECT_EQ(Deadline(std::chrono::nanoseconds::max()).resolve(clock), Deadline::kForeverTime);
  EXPECT_EQ(kForever.resolve(clock), Deadline::kForeverTime);
}

TEST(Clock, SteadyNeverGoesBack) {
  Nanoseconds last = Clock::steady().now();
  for (int i = 0; i < 1000; ++i) {
    const Nanoseconds now = Clock::steady().now();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace halyard
