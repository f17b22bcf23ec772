// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/uri.h"

#include <gtest/gtest.h>

namespace halyard::hal {
namespace {

TEST(Uri, HasADriverAPathAndOptions) {
  const Uri uri = parse_uri("cpu://1?devices=4&workers=2").value();
  EXPECT_EQ(uri.driver, "cpu");
  EXPECT_EQ(uri.path, "1");
  EXPECT_EQ(uri.options, (decltype(uri.options){{"devices", "4"}, {"workers", "2"}}));
}

TEST(Uri, MayHaveNeitherPathNorOptions) {
  const Uri uri = parse_uri("cpu://").value();
  EXPECT_EQ(uri.driver, "cpu");
  EXPECT_EQ(uri.path, "");
  EXPECT_TRUE(uri.options.empty());
}

TEST(Uri, PathMayBeAnIdentifierOrAFile) {
  EXPECT_EQ(parse_uri("cuda://GPU-1a2B:0").value().path, "GPU-1a2B:0");
  EXPECT_EQ(parse_uri("nv:///dev/nvidia0").value().path, "/dev/nvidia0");
}

TEST(Uri, ACommaAlwaysSeparates) {
  using Uris = std::vector<std::string_view>;
  EXPECT_EQ(split_uris("cpu://"), Uris{"cpu://"});
  EXPECT_EQ(split_uris(""), Uris{""});
  EXPECT_EQ(split_uris("cpu://?devices=2,serial://0"), (Uris{"cpu://?devices=2", "serial://0"}));
  EXPECT_EQ(split_uris(",cpu://,"), (Uris{"", "cpu://", ""}));
  EXPECT_FALSE(parse_uri("cpu://?a=1,2").ok()) << "no URI has one";
}

class BadUri : public ::testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(BadUri, IsInvalidAndSaysWhere) {
  const auto& [text, place] = GetParam();
  const Status status = parse_uri(text).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(place), std::string_view::npos) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(
    Uri, BadUri,
    ::testing::Values(std::pair{"", "a driver's name, in lower case, at character 1"},
                      std::pair{"CPU://", "a driver's name, in lower case, at character 1"},
                      std::pair{"0cpu://", "a driver's name, in lower case, at character 1"},
                      std::pair{"cpu", "'://' at character 4"},
                      std::pair{"cpu:/0", "'://' at character 4"},
                      std::pair{"cpu://0 ", "'?' or the end at character 8"},
                      std::pair{"cpu://%30", "'?' or the end at character 7"},
                      std::pair{"cpu://?", "an option's name at character 8"},
                      std::pair{"cpu://?=1", "an option's name at character 8"},
                      std::pair{"cpu://?a", "'=' at character 9"},
                      std::pair{"cpu://?a=", "a value at character 10"},
                      std::pair{"cpu://?a=1&", "an option's name at character 12"},
                      std::pair{"cpu://?a=1&a=2", "each option only once at character 12"},
                      std::pair{"cpu://?a=1#f", "'&' or the end at character 11"}));

TEST(Uri, ControlCharactersInMessagesAreEscaped) {
  const Status status = parse_uri(std::string_view("cpu://\n\0", 8)).status();
  EXPECT_EQ(status.message().find('\n'), std::string_view::npos);
  EXPECT_NE(status.message().find("\\n"), std::string_view::npos);
}

TEST(Uri, LengthIsBounded) {
  const std::string longest = "cpu://" + std::string(kMaxUriLength - 6, 'a');
  EXPECT_TRUE(parse_uri(longest).ok());
  EXPECT_EQ(parse_uri(longest + "a").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace halyard::hal
