// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// halyard trace, and HALYARD_PROFILE in programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "trace/events.h"

namespace halyard {
namespace {

using testing::Command;
using ::testing::ContainsRegex;
using testing::events_of;
using testing::expect_error;
using testing::expect_well_formed;
using ::testing::HasSubstr;
using testing::json;
using ::testing::Not;
using testing::operator+;
using testing::Outcome;
using testing::read_text;
using testing::slices;
using testing::Words;

class Trace : public Command {
 protected:
  const std::string file_ = path("t.json");
  Words traced(const Words& program) const { return Words{"trace", "-o", file_, "--"} + program; }
  Words tool(const Words& words) const { return Words{HALYARD_TOOL} + words; }
};

TEST_F(Trace, ARunKernelIsInTheFileAndInTheSummary) {
  const Outcome outcome = halyard(traced(tool(saxpy())));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("saxpy: 4096 items")) << "the program's own";
  const json trace = json::parse(read_text(file_));
  expect_well_formed(trace);
  const auto commands = slices(trace, "command");
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0]["name"], "saxpy");
  EXPECT_EQ(events_of(trace, "C").back()["args"]["bytes"], 0);
  EXPECT_THAT(outcome.err, HasSubstr("cpu://0 compute: 1 submission, 1 command, busy "));
  EXPECT_THAT(outcome.err, HasSubstr("cpu://0: at most 32768 bytes in use"));
  EXPECT_THAT(outcome.err, HasSubstr("https://ui.perfetto.dev"));
}

TEST_F(Trace, TheSummaryIsAlsoThereAsJson) {
  const Words words = {"trace", "--json", "-o", file_, "--"};
  const Outcome outcome = halyard(words + tool(saxpy()));
  const json shown = json::parse(outcome.out.substr(outcome.out.find("\n{") + 1));
  EXPECT_EQ(shown["file"], file_);
  EXPECT_EQ(shown["whole"], true);
  EXPECT_EQ(shown["dropped"], 0);
  EXPECT_EQ(shown["unended"], 0);
  EXPECT_EQ(shown["queues"][0]["commands"], 1);
  EXPECT_GT(shown["queues"][0]["busy_microseconds"], 0);
  EXPECT_EQ(shown["limit_reached"], false);
  EXPECT_THAT(outcome.out, Not(ContainsRegex("[.][0-9][0-9][0-9][0-9]"))) << "nanoseconds";
}

TEST_F(Trace, ALimitEndsTheFileWithANote) {
  const Words program = tool({"verify", "--filter", "queue*", "--repeat", "4"});
  const Words limited = {"trace", "--limit", "1", "--json", "-o", file_, "--"};
  const Outcome outcome = halyard(limited + program);
  EXPECT_EQ(outcome.code, 0);
  const json shown = json::parse(outcome.out.substr(outcome.out.rfind("\n{") + 1));
  EXPECT_EQ(shown["limit_reached"], true);
  EXPECT_EQ(shown["whole"], true);
  const std::string text = read_text(file_);
  EXPECT_LT(text.size(), (1 << 20) + 4096u);
  const json events = json::parse(text);
  EXPECT_GT(events.back()["args"]["beyond_limit"], 0);
  const auto note = std::ranges::find_if(events, [](const json& event) {
    return event.value("name", "").starts_with("limit of 1048576 bytes");
  });
  ASSERT_NE(note, events.end());
  EXPECT_EQ((*note)["tid"], 0) << "it is of no queue";
  EXPECT_THAT(halyard(Words{"trace", "--limit", "1", "-o", file_, "--"} + program).err,
              HasSubstr("the file has reached its limit of 1 MiB: later events are missing"));
  expect_error(halyard(Words{"trace", "--limit", "0", "-o", file_, "--"} + program), "--limit");
}

TEST_F(Trace, ABadLimitIsAMessageAndTheProgramRuns) {
  ::setenv("HALYARD_PROFILE", file_.c_str(), 1);
  ::setenv("HALYARD_PROFILE_LIMIT", "1 MB", 1);
  const Outcome outcome = halyard(saxpy());
  ::unsetenv("HALYARD_PROFILE");
  ::unsetenv("HALYARD_PROFILE_LIMIT");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("HALYARD_PROFILE_LIMIT=1 MB: expected 1 to 1000000, in MiB; "
                                     "not tracing"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(Trace, TheExitCodeIsTheProgramsOwn) {
  const Outcome outcome = halyard(traced(tool({"run", "no.hyx", "k", "--items", "1"})));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no.hyx"));
  EXPECT_EQ(halyard(traced({"/bin/sh", "-c", "exit 42"})).code, 42);
}

TEST_F(Trace, AProgramWithoutHalyardLeavesAMessageAndNoFile) {
  const Outcome outcome = halyard(traced({"/bin/true"}));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "halyard: /bin/true opened no device of Halyard: there is no trace\n");
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(Trace, AKilledProgramLeavesWhatWasWritten) {
  const Outcome outcome =
      halyard(traced({"/bin/sh", "-c",
                      "printf '[\\n{\"ph\":\"M\",\"name\":\"halyard\"},\\n{\"ph' "
                      "> \"$HALYARD_PROFILE\"; kill -KILL $$"}));
  EXPECT_EQ(outcome.code, 128 + 9);
  EXPECT_THAT(outcome.err, HasSubstr("its last moments are missing"));
  EXPECT_THAT(outcome.err, HasSubstr("was ended by signal 9"));
}

TEST_F(Trace, TheSummarySaysHowManySubmissionsHaveNotEnded) {
  const Outcome outcome = halyard(
      traced({"/bin/sh", "-c",
              "printf '[\\n{\"ph\":\"M\",\"name\":\"halyard\"},\\n{\"ph\":\"i\",\"ts\":1,\"tid\":0,"
              "\"args\":{\"dropped\":0,\"unended\":2}}\\n]\\n' > \"$HALYARD_PROFILE\""}));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("2 submissions had not ended when the program did"));
}

TEST_F(Trace, BadInputIsOneLineAndNothingRuns) {
  expect_error(halyard(traced({"no-such-program"})), "no-such-program: no such program");
  const Words program = {"/bin/sh", "-c", "touch " + path("ran")};
  expect_error(halyard(Words{"trace", "-o", path("no/t.json"), "--"} + program), "no/t.json");
  expect_error(halyard(Words{"trace", "-o", path(""), "--"} + program), "open");
  expect_error(halyard(Words{"trace", "-o", "/dev/null", "--"} + program), "not a regular file");
  expect_error(halyard(Words{"trace", "-o", path("%p"), "--"} + program), "%p");
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
  EXPECT_EQ(halyard({"trace"}).code, 1);
  EXPECT_EQ(halyard({"trace", "-o", file_}).code, 1);
}

TEST_F(Trace, AProfileThatCannotBeWrittenIsAMessageAndTheProgramRuns) {
  ::setenv("HALYARD_PROFILE", path("no/t.json").c_str(), 1);
  const Outcome outcome = halyard(saxpy());
  ::unsetenv("HALYARD_PROFILE");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("halyard: HALYARD_PROFILE: "));
  EXPECT_THAT(outcome.err, HasSubstr("no/t.json: open: No such file or directory; not tracing"));
  EXPECT_TRUE(std::filesystem::exists(path("z.npy")));
}

}  // namespace
}  // namespace halyard
