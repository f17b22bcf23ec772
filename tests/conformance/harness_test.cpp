// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The harness of the conformance suite: it reports every failure of a case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>

#include "conformance/context.h"

namespace halyard::inline v0::conformance {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Case kPasses{"harness", "passes", [](Context& t) { VERIFY_EQ(2 + 2, 4); }};
constexpr Case kFails{"harness", "fails", [](Context& t) {
                        VERIFY_EQ(2 + 2, 5);
                        VERIFY_CODE(Status(), StatusCode::kNotFound);
                        VERIFY(1 > 2);
                      }};

const Options kCpu{.uri = "cpu://?workers=1"};

TEST(Harness, ReportsACaseThatPasses) {
  const Outcome outcome = run(kPasses, kCpu);
  EXPECT_EQ(outcome.verdict, Verdict::kPassed);
  EXPECT_EQ(outcome.message, "");
}

TEST(Harness, ReportsACaseThatFailsWithPlaceAndValues) {
  const Outcome outcome = run(kFails, kCpu);
  EXPECT_EQ(outcome.verdict, Verdict::kFailed);
  EXPECT_THAT(outcome.message, HasSubstr("harness_test.cpp:"));
  EXPECT_THAT(outcome.message, HasSubstr("2 + 2 is 4, expected 5"));
  EXPECT_THAT(outcome.message, HasSubstr("Status() is Ok, expected NotFound"));
  EXPECT_THAT(outcome.message, HasSubstr("1 > 2"));
}

TEST(Harness, ReportsACaseThatThrowsAsFailed) {
  const Case standard{"harness", "throws", [](Context&) { throw std::runtime_error("a text"); }};
  EXPECT_EQ(run(standard, kCpu).verdict, Verdict::kFailed);
  EXPECT_THAT(run(standard, kCpu).message, HasSubstr("a text"));
  const Case any{"harness", "throws", [](Context&) { throw 42; }};
  EXPECT_EQ(run(any, kCpu).verdict, Verdict::kFailed);
  const Case error{"harness", "throws", [](Context& t) { t.kernel("no_such_kernel"); }};
  EXPECT_THAT(run(error, kCpu).message, HasSubstr("NotFound"));
}

TEST(Harness, ReportsAFailureOfAnotherThread) {
  const Case it{"harness", "fails", [](Context& t) {
                  Threads threads;
                  threads.start([&] { VERIFY(false); });
                }};
  EXPECT_EQ(run(it, kCpu).verdict, Verdict::kFailed);
}

TEST(Harness, CutsALongListOfFailures) {
  const Case it{"harness", "fails", [](Context& t) {
                  for (int i = 0; i < 1000; ++i) VERIFY_EQ(i, -1);
                }};
  EXPECT_THAT(run(it, kCpu).message, HasSubstr("and 992 more"));
}

TEST(Harness, ReportsACaseThatSkips) {
  const Case it{"harness", "skips", [](Context&) { throw Skip{"no such device"}; }};
  const Outcome outcome = run(it, kCpu);
  EXPECT_EQ(outcome.verdict, Verdict::kSkipped);
  EXPECT_EQ(outcome.message, "no such device");
}

TEST(Harness, ReportsADeviceThatCannotBeOpened) {
  const Outcome outcome = run(kPasses, {.uri = "nosuchdriver://"});
  EXPECT_EQ(outcome.verdict, Verdict::kFailed);
  EXPECT_THAT(outcome.message, HasSubstr("nosuchdriver"));
}

TEST(Harness, SkipsAnExcludedCaseWhileItFails) {
  const Exclusion excluded[] = {{"cpu", "harness.*", "known defect"}};
  const Outcome outcome = run(kFails, kCpu, excluded);
  EXPECT_EQ(outcome.verdict, Verdict::kSkipped);
  EXPECT_THAT(outcome.message, HasSubstr("known defect"));
}

TEST(Harness, FailsAnExcludedCaseThatPasses) {
  const Exclusion excluded[] = {{"cpu", "harness.*", "known defect"}};
  const Outcome outcome = run(kPasses, kCpu, excluded);
  EXPECT_EQ(outcome.verdict, Verdict::kFailed);
  EXPECT_THAT(outcome.message, HasSubstr("known defect"));
}

TEST(Harness, IgnoresExclusionsOfOtherDrivers) {
  const Exclusion excluded[] = {{"cuda", "*", "another driver's"}};
  EXPECT_EQ(run(kFails, kCpu, excluded).verdict, Verdict::kFailed);
}

TEST(Harness, RunsAVariedCaseWithEachValue) {
  static int runs;
  static std::set<hal::QueueKind> kinds;
  runs = 0;
  kinds.clear();
  const Case queues{"harness", "varies", [](Context& t) { kinds.insert(t.queue().kind()); },
                    Vary::kQueueKinds};
  EXPECT_EQ(run(queues, kCpu).verdict, Verdict::kPassed);
  EXPECT_EQ(kinds.size(), 2u);
  const Case bindings{"harness", "varies", [](Context& t) { runs += t.indirect() ? 10 : 1; },
                      Vary::kBindings};
  EXPECT_EQ(run(bindings, kCpu).verdict, Verdict::kPassed);
  EXPECT_EQ(runs, 11);
}

TEST(Harness, RunsEveryCombinationOfVariedValues) {
  static std::set<std::string> seen;
  seen.clear();
  const Case it{"harness", "varies",
                [](Context& t) {
                  seen.insert(fmt::format("{}{}{}", static_cast<int>(t.queue().kind()),
                                          t.indirect(), t.bound()));
                },
                Vary::kQueueKinds | Vary::kBindings | Vary::kBoundQueues};
  EXPECT_EQ(run(it, kCpu).verdict, Verdict::kPassed);
  EXPECT_EQ(seen.size(), 8u);
}

TEST(Harness, NamesTheCombinationWithWhichACaseFails) {
  const Case it{"harness", "fails",
                [](Context& t) { VERIFY(!t.bound() || t.kind() == hal::QueueKind::kCompute); },
                Vary::kQueueKinds | Vary::kBoundQueues};
  EXPECT_THAT(run(it, kCpu).message, HasSubstr("with the copy queue and bound queues:"));
}

TEST(Harness, GivesQueuesOfTheRequestedPriority) {
  const Case it{"harness", "submits", [](Context& t) {
                  for (const hal::Queue& queue : t.queues()) {
                    VERIFY(!(queue == t.device(0).queue(queue.kind())));
                    VERIFY_OK(queue.barrier_and_wait({}, kWatchdog));
                  }
                  VERIFY(t.queue() == t.compute());
                }};
  Options low = kCpu;
  low.priority = hal::QueuePriority::kLow;
  EXPECT_EQ(run(it, low).message, "");
  EXPECT_EQ(run(it, kCpu).verdict, Verdict::kFailed);  // the devices' own queues
}

TEST(Harness, StressMultipliesRoundsAndThreads) {
  const Case it{"harness", "counts", [](Context& t) {
                  VERIFY_EQ(t.rounds(100), 800u);
                  VERIFY_EQ(t.threads(3), 12u);
                }};
  Options stress = kCpu;
  stress.stress = 8;
  EXPECT_EQ(run(it, stress).message, "");
  EXPECT_EQ(run(it, kCpu).verdict, Verdict::kFailed);
}

TEST(Harness, NamesTheValueWithWhichACaseFails) {
  const Case it{"harness", "fails", [](Context& t) { VERIFY(!t.indirect()); }, Vary::kBindings};
  EXPECT_THAT(run(it, kCpu).message, HasSubstr("with slots"));
}

TEST(Harness, OpensTwoDevicesForAnyUri) {
  const Case it{"harness", "has_two", [](Context& t) { VERIFY(!(t.device(0) == t.device(1))); }};
  EXPECT_EQ(run(it, kCpu).verdict, Verdict::kPassed);
  EXPECT_EQ(run(it, {.uri = "cpu://?devices=2&workers=1"}).verdict, Verdict::kPassed);
}

TEST(Harness, MatchesGlobs) {
  const Case it{"semaphore", "values_never_go_back", nullptr};
  for (const char* glob : {"", "*", "semaphore.*", "*.values*", "*never*", "sem?phore.*back",
                           "semaphore.values_never_go_back", "*e*e*e*", "!stress.*"}) {
    EXPECT_TRUE(matches(glob, it)) << glob;
  }
  for (const char* glob :
       {"semaphore", "values", "*.value", "semaphore.?", "x*", "*x", "!*.values*"}) {
    EXPECT_FALSE(matches(glob, it)) << glob;
  }
}

TEST(Suite, HasCasesWithUniqueNames) {
  std::set<std::string> names;
  for (const Case& it : cases()) {
    EXPECT_TRUE(names.insert(fmt::format("{}.{}", it.suite, it.name)).second) << it.name;
  }
  EXPECT_GE(names.size(), 110u);
  std::printf("%zu cases\n", names.size());
}

TEST(Suite, ExcludesOnlyExistingCasesWithReasons) {
  EXPECT_TRUE(check(exclusions()).ok()) << check(exclusions()).message();
}

TEST(Suite, ExclusionNamesADriverACaseAndAReason) {
  const std::string_view name = "semaphore.signal_may_skip_values";
  const Exclusion good[] = {{"cpu", name, "known defect"}};
  EXPECT_TRUE(check(good).ok());
  const Exclusion wrong[] = {{"", name, "no driver"},
                             {"cpu", name, ""},
                             {"cpu", "", "no case"},
                             {"cpu", "semaphore.gone", "stale"}};
  for (const Exclusion& it : wrong) {
    const Status status = check(std::span(&it, 1));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(it.glob)));
  }
}

}  // namespace
}  // namespace halyard::inline v0::conformance
