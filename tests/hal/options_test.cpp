// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/options.h"

#include <gtest/gtest.h>

#include <string>

namespace halyard::hal {
namespace {

constexpr std::string_view kModes[] = {"off", "fast", "safe"};
constexpr Option kTable[] = {{.name = "count", .least = 2, .most = 8},
                             {.name = "flag", .most = 1},
                             {.name = "mode", .choices = kModes},
                             {.name = "path", .is_text = true},
                             {.name = "size", .most = 100, .unit = " MiB"}};

Result<OptionValues> parse(std::string_view uri) {
  return OptionValues::parse(parse_uri(uri).value(), kTable);
}
std::string refusal(std::string_view uri) { return std::string(parse(uri).status().message()); }

TEST(Options, GivenOptions_HaveTheirValues) {
  const OptionValues values = parse("any://?count=3&mode=safe&path=/dev/x").value();
  EXPECT_EQ(values.get("count", 5), 3u);
  EXPECT_EQ(values.find("mode"), 2u);
  EXPECT_EQ(values.text("path"), "/dev/x");
  EXPECT_EQ(values.query(), "?count=3&mode=safe&path=/dev/x");
}

TEST(Options, MissingOptions_HaveTheDefault) {
  const OptionValues values = parse("any://1").value();
  EXPECT_EQ(values.get("count", 5), 5u);
  EXPECT_EQ(values.find("mode"), std::nullopt);
  EXPECT_EQ(values.text("path"), "");
  EXPECT_EQ(values.query(), "");
}

TEST(Options, OtherOptionsAndValues_AreRefusedByName) {
  EXPECT_EQ(parse("any://?speed=1").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(
      refusal("any://?speed=1"),
      "any: unknown option 'speed'; there are check, count, flag, hang_timeout, mode, path and "
      "size");
  EXPECT_EQ(refusal("any://?count=1"), "any: option count is '1', not 2 to 8");
  EXPECT_EQ(refusal("any://?flag=2"), "any: option flag is '2', not 0 or 1");
  EXPECT_EQ(refusal("any://?mode=slow"), "any: option mode is 'slow', not off, fast or safe");
  EXPECT_EQ(refusal("any://?size=101"), "any: option size is '101', not 0 to 100 MiB");
}

}  // namespace
}  // namespace halyard::hal
