// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs `digits` and `digits-hal`, run as a user runs them. They compare their results with
// their reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "plot.h"
#include "program.h"
#include "reference_run.h"

namespace halyard_test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// Few epochs, to be fast with sanitizers too.
std::string command(const std::string& program, const std::string& options) {
  return program + " --quiet --epochs 2 --loss-svg " + test_path("svg") + " " + options;
}

void remove(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) std::filesystem::remove(path);
}

constexpr const char* kPrograms[] = {"digits", "digits-hal"};

class Digits : public ::testing::TestWithParam<const char*> {
 protected:
  void TearDown() override { remove({test_path("svg")}); }
  std::string command(const std::string& options) const {
    return halyard_test::command(GetParam(), options);
  }
};
INSTANTIATE_TEST_SUITE_P(Programs, Digits, ::testing::ValuesIn(kPrograms));

class DigitsOn : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  void TearDown() override { remove({test_path("svg")}); }
  std::string command(const std::string& options) const {
    const auto& [program, devices] = GetParam();
    return halyard_test::command(program, "--devices " + std::to_string(devices) + options);
  }
};

TEST_P(DigitsOn, AgreesWithTheReference) {
  const Ended ended = run(command(""));
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.output, MatchesRegex("test accuracy 0\\.[0-9][0-9][0-9] "
                                         "\\(reference 0\\.[0-9][0-9][0-9]\\)\n"));
}

TEST_P(DigitsOn, GivesTheSameWeightsInEveryRun) {
  const std::string first = test_path("1.npy"), second = test_path("2.npy");
  ASSERT_EQ(run(command(" --save-weights " + first)).code, 0);
  ASSERT_EQ(run(command(" --save-weights " + second)).code, 0);
  EXPECT_EQ(read(first).size(), 128u + 9610 * sizeof(float));
  EXPECT_TRUE(read(first) == read(second));
  remove({first, second});
}

// 3 and 5 devices have unequal shares of a batch of 32.
INSTANTIATE_TEST_SUITE_P(Devices, DigitsOn,
                         ::testing::Combine(::testing::ValuesIn(kPrograms),
                                            ::testing::Values(1, 2, 3, 4, 5)));

TEST_P(Digits, OneRowForEachOf16DevicesIsEnough) {
  const Ended ended = run(command("--devices 16 --batch 16"));
  EXPECT_EQ(ended.code, 0) << ended.output;
}

TEST_P(Digits, BatchOfAllTrainingRowsWorks) {
  const Ended ended = run(command("--batch 1437"));
  EXPECT_EQ(ended.code, 0) << ended.output;
}

TEST_P(Digits, DevicesCanBeNamed) {
  const Ended ended = run(command("--devices 3 --device-uri 'cpu://?devices=3&workers=1'"));
  EXPECT_EQ(ended.code, 0) << ended.output;
}

TEST_P(Digits, DevicesOfAListShareTheWork) {
  for (const char* const list : {"cpu://", "'cpu://,cpu://?devices=2&workers=1'",
                                 "'cpu://?workers=1,serial://'", "serial://,stream://"}) {
    const Ended ended = run(command(std::string("--devices ") + list));
    if (ended.output.find("no driver") != std::string::npos) continue;  // not in this build
    EXPECT_EQ(ended.code, 0) << list << ended.output;
  }
}

TEST_P(Digits, ListsOfDevicesAreChecked) {
  const auto fails = [&](const std::string& options, const std::string& message) {
    const Ended ended = run(command(options));
    EXPECT_EQ(ended.code, 1) << options;
    EXPECT_THAT(ended.output, HasSubstr(message));
  };
  fails("--devices 'cpu://,cpu://?devices=2' --batch 2", "less than a row per device");
  fails("--devices cpu://,none://", "\"none://\", 2 of 2: no driver");
  fails("--devices cpu:// --device-uri cpu://", "--devices has named the devices already");
  fails("--devices cpu:// --corrupt-reduction 1", "nothing to reduce");
  fails("--devices 'cpu://?devices=16,cpu://'", "describes 17 devices");
}

TEST_P(Digits, ReductionThatGoesWrongOnceIsNoticed) {
  for (const char* const step : {"1", "45", "90"}) {  // of 90
    const Ended ended = run(command(std::string("--corrupt-reduction ") + step));
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.output, HasSubstr("no agreement with the reference"));
    EXPECT_EQ(ended.lines(), 1u) << ended.output;
  }
}

TEST_P(Digits, InitialWeightsAreTheSameOnEveryPlatform) {
  const std::string path = test_path("npy");
  ASSERT_EQ(run(command("--seed 5 --dump-weights " + path)).code, 0);
  const std::string file = read(path);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a of the data after the header
  ASSERT_EQ(file.size(), 128u + 9610 * sizeof(float));
  for (const char c : file.substr(128)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 0x924984d323096d1bu);
  remove({path});
}

// Checks ordered closing of elements, one root, and quoted attributes. It does not check the rest
// of XML.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    at = end;
    if (tag.empty() || tag.find('<') != std::string::npos) return false;
    if (std::count(tag.begin(), tag.end(), '\'') % 2 != 0) return false;
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
      continue;
    }
    if (open.empty()) ++roots;
    if (tag.back() != '/') open.push_back(tag.substr(0, tag.find(' ')));
  }
  return open.empty() && roots == 1;
}

TEST_P(Digits, LossCurveIsAWellFormedPicture) {
  ASSERT_EQ(run(command("")).code, 0);
  const std::string svg = read(test_path("svg"));
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_THAT(svg, HasSubstr("<title>Training loss</title>"));
  EXPECT_THAT(svg, HasSubstr("2 devices, batches of 32"));
  EXPECT_THAT(svg, HasSubstr("<path class='step' d='M"));
  EXPECT_THAT(svg, HasSubstr("<path class='epoch' d='M"));
  EXPECT_FALSE(is_well_formed(svg.substr(0, svg.size() / 2)));
}

TEST(LossCurve, OmitsNaNs) {
  const std::string path = test_path("svg");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  digits::write_loss_svg(path, std::vector<double>{nan, nan},
                         {.epochs = 1, .batch = 719, .rate = 1}, "a<b & \x01");
  const std::string svg = read(path);
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_THAT(svg, HasSubstr("a&lt;b &amp; ?"));
  remove({path});
}

TEST(Comparison, MeasuresTheLargestAndTheOverallDifference) {
  const std::vector<float> weights = {3, 4};
  const digits::Difference difference = digits::compare(weights, std::vector<double>{3, 5});
  EXPECT_EQ(difference.largest, 1);
  EXPECT_DOUBLE_EQ(difference.relative, 1 / std::sqrt(34));
}

TEST(Comparison, IsNeverSmallForANaN) {
  const std::vector<float> weights = {std::numeric_limits<float>::quiet_NaN(), 4};
  const digits::Difference difference = digits::compare(weights, std::vector<double>{3, 4});
  EXPECT_FALSE(difference.relative <= 1);
  EXPECT_FALSE(difference.largest <= 1);
}

TEST_P(Digits, AnErrorIsOneLine) {
  const std::string damaged = test_path("damaged");
  std::ofstream(damaged) << "1,2,3\n";
  for (const std::string& options : std::vector<std::string>{"--data nowhere.csv",
                                                             "--data " + damaged,
                                                             "--data /",
                                                             "--kernels nowhere.hyx",
                                                             "--kernels " + damaged,
                                                             "--kernels /",
                                                             "--devices 0",
                                                             "--devices 17",
                                                             "--devices two",
                                                             "--devices -1",
                                                             "--epochs 0",
                                                             "--epochs 1001",
                                                             "--batch 0",
                                                             "--batch 1438",
                                                             "--devices 4 --batch 3",
                                                             "--rate 0",
                                                             "--rate nan",
                                                             "--rate inf",
                                                             "--rate 1e-400",
                                                             "--rate x",
                                                             "--seed -1",
                                                             "--device-uri nothing://",
                                                             "--device-uri 'cpu://?devices=1'",
                                                             "--device-uri 'cpu://?devices=3'",
                                                             "--device-uri 'cpu://?colour=red'",
                                                             "--corrupt-reduction 91",
                                                             "--devices 1 --corrupt-reduction 1",
                                                             "--loss-svg /nowhere/loss.svg",
                                                             "--dump-weights /nowhere/w.npy",
                                                             "--save-weights /nowhere/w.npy",
                                                             "--unknown",
                                                             "word"}) {
    const Ended ended = run(command(options));
    EXPECT_EQ(ended.code, 1) << options << "\n" << ended.output;
    EXPECT_EQ(ended.lines(), 1u) << options << "\n" << ended.output;
    EXPECT_TRUE(ended.output.starts_with(std::string(GetParam()) + ": ")) << options << "\n"
                                                                          << ended.output;
  }
  remove({damaged});
}

TEST_P(Digits, HelpNamesTheOptions) {
  const Ended ended = run(std::string(GetParam()) + " --help");
  EXPECT_EQ(ended.code, 0);
  for (const char* const option : {"--devices", "--epochs", "--batch", "--rate", "--seed",
                                   "--loss-svg", "--dump-weights", "--quiet", "--device-uri"}) {
    EXPECT_THAT(ended.output, HasSubstr(option));
  }
  EXPECT_EQ(ended.output.find("--corrupt"), std::string::npos);
}

TEST(DigitsReference, NamesWhatItCannotRead) {
  EXPECT_EQ(run("digits-reference missing.csv i.npy 1 32 0.2 f.npy").output,
            "digits-reference: missing.csv: cannot be read\n");
}

}  // namespace
}  // namespace halyard_test
