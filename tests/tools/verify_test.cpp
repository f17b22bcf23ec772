// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// halyard verify: its cases, its modes, and its failures.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.h"

namespace halyard::testing {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class Verify : public Command {
 protected:
  // A name of existing cases that pass.
  const std::string some_ = "semaphore.signal_may_skip_values";

  std::string exclusions(const json& list) const {
    return directory_.write("exclusions.json", list.dump());
  }
};

TEST_F(Verify, HasAtLeastTwoHundredAndFiftyCasesThatDifferInWhatTheyAssert) {
  const json list = json::parse(halyard({"verify", "--list", "--json"}).out);
  EXPECT_GE(list["distinct"], 250);
  EXPECT_LE(list["distinct"], list["cases"].size());
  EXPECT_THAT(halyard({"verify", "--list"}).out,
              EndsWith(fmt::format("\n{} cases, {} of them distinct\n", list["cases"].size(),
                                   list["distinct"].get<int>())));
}

TEST_F(Verify, EndsWithTheCounts) {
  const Outcome outcome = halyard({"verify", "--device", "cpu://", "--filter", some_});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr(fmt::format("passed  {} (", some_)));
  EXPECT_THAT(outcome.out, EndsWith("\nhalyard verify: 1 passed, 0 failed, 0 skipped\n"));
  const json shown = json::parse(halyard({"verify", "--filter", some_, "--json"}).out);
  EXPECT_EQ(shown["passed"], 1);
  EXPECT_EQ(shown["cases"][0]["case"], some_);
}

TEST_F(Verify, RefusesAFilterWithoutCasesAndAnInvalidDevice) {
  expect_error(halyard({"verify", "--filter", "nonsense.*"}), "nonsense.*");
  expect_error(halyard({"verify", "--device", "warp://"}), "warp");
  EXPECT_EQ(halyard({"verify", "--repeat", "0"}).code, 1);
}

TEST_F(Verify, ListsOnlyWhatTheFilterMatches) {
  const json list = json::parse(halyard({"verify", "--list", "--json", "--filter", some_}).out);
  EXPECT_EQ(list["cases"], json::array({some_}));
}

TEST_F(Verify, RunsEachCaseTheGivenNumberOfTimes) {
  // A case that is slow by design: it lets deadlines of 2 ms pass.
  const std::string slow = "semaphore.later_signal_wakes_a_waiter";
  const json shown =
      json::parse(halyard({"verify", "--filter", slow, "--repeat", "5", "--json"}).out);
  EXPECT_EQ(shown["passed"], 1);
  EXPECT_GE(shown["cases"][0]["milliseconds"], 10.0);
}

TEST_F(Verify, StressTakesThePassingCasesFurther) {
  const Outcome outcome = halyard({"verify", "--stress", "--filter", "stress.r*"});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, EndsWith(" passed, 0 failed, 0 skipped\n"));
}

TEST_F(Verify, EveryModeHasItsNameWithItsResults) {
  const Words words = {"verify", "--all-modes", "--filter", some_};
  const Outcome outcome = halyard(words);
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (const char* mode :
       {"as given", "one worker", "three workers", "two devices", "four devices of one worker",
#if !defined(HALYARD_POSIX)  // which binds no threads
        "placed on cores",
#endif
        "queues of high priority", "queues of low priority", "traced",
        "checked for missing order"}) {
    EXPECT_THAT(outcome.out, HasSubstr(fmt::format(
                                 "\nhalyard verify, {}: 1 passed, 0 failed, 0 skipped\n", mode)));
  }
  EXPECT_THAT(outcome.out, EndsWith(" passed, 0 failed, 0 skipped in 11 modes\n"));

  const json shown = json::parse(halyard(words + Words{"--json"}).out);
  int passed = 0;
  for (const json& mode : shown["modes"]) {
    if (mode.contains("unavailable")) continue;
    EXPECT_EQ(mode["cases"][0]["case"], some_) << mode;
    passed += mode["passed"].get<int>();
  }
  EXPECT_EQ(shown["passed"], passed);
  EXPECT_EQ(shown["modes"][1]["device"], "cpu://?workers=1");
}

TEST_F(Verify, OptionsOfTheUriAreNotVaried) {
  const json shown = json::parse(halyard({"verify", "--all-modes", "--json", "--filter", some_,
                                          "--device", "cpu://?workers=2"})
                                     .out);
  for (const json& mode : shown["modes"]) {
    EXPECT_THAT(mode["mode"].get<std::string>(), Not(HasSubstr("worker")));
    if (mode.contains("device")) {
      EXPECT_THAT(mode["device"].get<std::string>(), HasSubstr("workers=2"));
    }
  }
}

TEST_F(Verify, AnExcludedCaseThatPassesFailsTheRunInEveryMode) {
  const std::string file =
      exclusions({{{"driver", "cpu"}, {"case", some_}, {"reason", "it cannot skip"}}});
  const Words words = {"verify", "--filter", some_, "--exclusions", file};
  const Outcome outcome = halyard(words);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("passes, but is excluded from cpu because: it cannot skip"));
  EXPECT_THAT(outcome.out, EndsWith("\nhalyard verify: 0 passed, 1 failed, 0 skipped\n"));
  const Outcome modes = halyard(words + Words{"--all-modes"});
  EXPECT_EQ(modes.code, 1);
  EXPECT_THAT(modes.out, HasSubstr("halyard verify, traced: 0 passed, 1 failed, 0 skipped\n"));
}

TEST_F(Verify, ExclusionsOfAnotherDriverAreListedAndChangeNothing) {
  const std::string file =
      exclusions({{{"driver", "warp"}, {"case", "semaphore.*"}, {"reason", "known defect"}}});
  const Words words = {"verify", "--filter", some_, "--exclusions", file};
  EXPECT_EQ(halyard(words).code, 0);
  EXPECT_THAT(halyard(words + Words{"--list"}).out,
              HasSubstr("semaphore.* is excluded from warp: known defect\n"));
  const json list = json::parse(halyard(words + Words{"--list", "--json"}).out);
  EXPECT_EQ(list["exclusions"][0]["reason"], "known defect");
}

TEST_F(Verify, AnExclusionNamesADriverACaseThatExistsAndAReason) {
  const auto refused = [&](const json& list, const std::string& why) {
    expect_error(halyard({"verify", "--list", "--exclusions", exclusions(list)}), why);
  };
  refused({{{"driver", "cpu"}, {"case", "stale.name"}, {"reason", "it was there once"}}},
          "exclusions.json: exclusion of 'stale.name' from 'cpu': matches no case");
  refused({{{"driver", "cpu"}, {"case", some_}}}, "gives no reason");
  refused({{{"case", some_}, {"reason", "it fails"}}}, "names no driver");
  refused({{{"driver", 7}, {"case", some_}, {"reason", "it fails"}}}, "names no driver");
  refused({{{"driver", "cpu"}, {"reason", "it fails"}}}, "matches no case");
  refused({"semaphore.*"}, "is not an exclusion");
  refused({{"driver", "cpu"}}, "not a JSON array");
  expect_error(halyard({"verify", "--exclusions", path("none.json")}), "none.json");
}

}  // namespace
}  // namespace halyard::testing
