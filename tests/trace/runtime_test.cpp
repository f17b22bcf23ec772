// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of a traced runtime.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "drivers/cpu/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "trace/events.h"
#include "trace/file_trace.h"

namespace halyard::trace {
namespace {

using namespace std::chrono_literals;
using hal::Buffer;
using hal::Device;
using hal::Point;
using hal::Queue;
using hal::Semaphore;
using testing::arrows;
using ::testing::Contains;
using testing::events_of;
using testing::expect_well_formed;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::json;
using testing::nanos;
using testing::only;
using testing::row_names;
using testing::slices;

class TracedRuntime : public ::testing::Test {
 protected:
  TracedRuntime() { check(registry_.add(cpu::make_cpu_driver())); }
  ~TracedRuntime() override { std::remove(path_.c_str()); }

  Device open() { return registry_.open("cpu://?workers=1").value(); }
  Buffer buffer(const Device& device, std::uint64_t size = 4096) {
    return device.allocate({.size = size}).value();
  }
  std::string read() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // Precondition: all handles are destroyed.
  json ended() {
    check(registry_.shutdown(60s));
    json trace = json::parse(read());
    expect_well_formed(trace);
    EXPECT_EQ(trace.back()["args"]["dropped"], 0);
    return trace;
  }
  json operation(const json& trace, const std::string& name) {
    auto all = slices(trace, "submission");
    std::erase_if(all, [&](const json& slice) { return slice["name"] != name; });
    return only(all);
  }

  const std::string path_ = ::testing::TempDir() + "runtime_test." +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".json";
  hal::DriverRegistry registry_{FileTrace::open(path_).value()};
};

TEST_F(TracedRuntime, AnIdleOneWritesAnEmptyTrace) {
  EXPECT_THAT(events_of(ended(), "X"), IsEmpty());
}

TEST_F(TracedRuntime, ArrowsGoFromEachSignalToItsWait) {
  {
    const Device device = open();
    const Buffer memory = buffer(device);
    const Semaphore go = device.create_semaphore(0, "go").value();
    const Semaphore filled = device.create_semaphore(0, "filled").value();
    const Semaphore copied = device.create_semaphore(0, "copied").value();
    const Buffer other = buffer(device);
    // Submits the last one first.
    check(device.queue(hal::QueueKind::kCopy)
              .copy(memory, other, {.wait = {{filled, 1}}, .signal = {{copied, 1}}}));
    check(device.queue().fill(memory, 1, 4, {.wait = {{go, 1}}, .signal = {{filled, 1}}}));
    check(go.signal(1));
    check(copied.wait(1, 60s));
  }
  const json trace = ended();
  const json fill = operation(trace, "fill");
  const json copy = operation(trace, "copy");
  EXPECT_EQ(row_names(trace)[fill["tid"]], "cpu://0?workers=1 compute");
  EXPECT_EQ(row_names(trace)[copy["tid"]], "cpu://0?workers=1 copy");
  bool signal_to_fill = false;
  bool fill_to_copy = false;
  for (const auto& [from, to] : arrows(trace)) {
    signal_to_fill |= from["name"] == "signal" && to == fill;
    fill_to_copy |= from == fill && to == copy;
    EXPECT_FALSE(from == copy && to == fill);
  }
  EXPECT_TRUE(signal_to_fill);
  EXPECT_TRUE(fill_to_copy);
  EXPECT_LE(nanos(fill["ts"]) + nanos(fill["dur"]), nanos(copy["ts"]) + testing::kRounding);
}

// The lane stamps its beginning as well.
TEST_F(TracedRuntime, TheFirstSubmissionOfALaneHasEndedWhenItIsSeen) {
  {
    const Device device = open();
    const Buffer memory =
        device
            .allocate({.size = std::uint64_t{1} << 26, .memory = hal::MemoryType::kHostVisible})
            .value();
    const Semaphore filled = device.create_semaphore().value();
    check(device.queue().fill(memory, 7, 1, {.signal = {{filled, 1}}}));
    check(filled.wait(1, 60s));
    EXPECT_EQ(memory.map().value().bytes().back(), std::byte{7});
  }
  (void)ended();
}

TEST_F(TracedRuntime, AHostThatWaitsHasASliceThatEndsWithTheArrow) {
  {
    const Device device = open();
    const Semaphore done = device.create_semaphore(0, "done").value();
    const Semaphore go = device.create_semaphore(0, "go").value();
    check(device.queue().barrier_and_wait({.signal = {{done, 1}}}));
    EXPECT_EQ(go.wait(1, 1ms).code(), StatusCode::kDeadlineExceeded);
  }
  const json trace = ended();
  std::vector<json> failed;
  for (const json& slice : slices(trace, "host")) {
    if (slice["args"]["outcome"] == "failed") failed.push_back(slice);
  }
  EXPECT_EQ(only(failed)["args"]["waits"], json::array({"semaphore 2 'go' >= 1"}));
  const auto found = arrows(trace);
  ASSERT_EQ(found.size(), 1u);
  const auto& [from, to] = found[0];
  EXPECT_EQ(from, operation(trace, "barrier"));
  EXPECT_EQ(to["name"], "wait");
  EXPECT_EQ(to["args"]["waits"], json::array({"semaphore 1 'done' >= 1"}));
  EXPECT_LE(nanos(from["ts"]) + nanos(from["dur"]),
            nanos(to["ts"]) + nanos(to["dur"]) + testing::kRounding);
}

TEST_F(TracedRuntime, CommandsOfARecordingAreNamedWithTheirGroups) {
  {
    const Device device = open();
    const Buffer memory = buffer(device, 1 << 22);
    const Buffer other = buffer(device, 1 << 22);
    hal::Recorder recorder(device);
    recorder.begin_debug_group("step").begin_debug_group("clear");
    recorder.fill(memory, 0).end_debug_group();
    recorder.barrier().copy(memory, other).end_debug_group();
    recorder.barrier().fill(memory, 7);
    const hal::CommandBuffer commands = recorder.finish().value();
    check(device.queue().execute_and_wait(commands, {}));
    check(device.queue().execute_and_wait(commands, {}));
  }
  const auto commands = slices(ended(), "command");
  ASSERT_EQ(commands.size(), 6u);
  for (std::size_t i = 0; i < 6; i += 3) {
    EXPECT_EQ(commands[i]["name"], "fill");
    EXPECT_EQ(commands[i]["args"]["group"], "step / clear");
    EXPECT_EQ(commands[i + 1]["name"], "copy");
    EXPECT_EQ(commands[i + 1]["args"]["group"], "step");
    EXPECT_EQ(commands[i + 2]["name"], "fill");
    EXPECT_FALSE(commands[i + 2]["args"].contains("group"));
  }
  EXPECT_NE(commands[0]["args"]["submission"], commands[3]["args"]["submission"]);
}

TEST_F(TracedRuntime, TheFirstKibibyteOfALongPathOfGroupsIsShown) {
  {
    const Device device = open();
    hal::Recorder recorder(device);
    recorder.begin_debug_group("step").begin_debug_group(std::string(1 << 20, 'x'));
    for (int i = 0; i < 1000; ++i) recorder.begin_debug_group(std::to_string(i));
    recorder.fill(buffer(device, 8), 0);
    for (int i = 0; i < 1002; ++i) recorder.end_debug_group();
    check(device.queue().execute_and_wait(recorder.finish().value(), {}));
  }
  EXPECT_EQ(only(slices(ended(), "command"))["args"]["group"],
            "step / " + std::string(1024 - 7, 'x') + "...");
}

TEST_F(TracedRuntime, AHostCallRunsOnTheRowOfItsThread) {
  {
    const Device device = open();
    const Semaphore called = device.create_semaphore(0, "called").value();
    check(device.queue().host_call([] {}, {.signal = {{called, 1}}}));
    check(called.wait(1, 60s));
  }
  const json trace = ended();
  EXPECT_THAT(row_names(trace)[operation(trace, "host call")["tid"]], HasSubstr("hy-host"));
}

TEST_F(TracedRuntime, ACancelledSubmissionHasASpanOnly) {
  {
    const Device device = open();
    const Semaphore never = device.create_semaphore().value();
    hal::Submission submission;
    check(device.queue().barrier({.wait = {{never, 1}}, .submission = &submission}));
    EXPECT_TRUE(submission.cancel());
  }
  const json trace = ended();
  EXPECT_EQ(events_of(trace, "b")[0]["args"]["outcome"], "cancelled");
  EXPECT_THAT(slices(trace, "submission"), IsEmpty());
}

TEST_F(TracedRuntime, MemoryInUseReturnsToZero) {
  {
    const Device device = open();
    const Buffer one = buffer(device, 1000);
    const Buffer two = buffer(device, 500);
  }
  std::vector<std::int64_t> bytes;
  for (const json& counter : events_of(ended(), "C")) bytes.push_back(counter["args"]["bytes"]);
  EXPECT_THAT(bytes, Contains(1500));
  EXPECT_EQ(bytes.back(), 0);
}

TEST_F(TracedRuntime, EveryEventIsThereAfterManySubmissions) {
  constexpr int kEach = 3000;
  {
    const Device device = open();
    const Semaphore done = device.create_semaphore(0, "done").value();
    for (std::uint64_t i = 1; i <= kEach; ++i) {
      check(device.queue().barrier({.wait = {{done, i - 1}}, .signal = {{done, i}}, .room = 60s}));
    }
    check(done.wait(kEach, 60s));
  }
  const json trace = json::parse((check(registry_.shutdown(60s)), read()));
  EXPECT_EQ(slices(trace, "submission").size(), static_cast<std::size_t>(kEach));
  // An arrow from each submission to the next, and at most one arrow to the host's wait.
  EXPECT_GE(events_of(trace, "f").size(), kEach - 1u);
  EXPECT_LE(events_of(trace, "f").size(), kEach + 0u);
}

TEST_F(TracedRuntime, AFlushedFileIsReadableBeforeItsEnd) {
  Device device = open();
  check(device.queue().barrier_and_wait({}));
  registry_.trace()->flush();
  std::string text = read();
  ASSERT_THAT(text, ::testing::EndsWith("},\n"));
  text.erase(text.rfind(','));
  EXPECT_EQ(slices(json::parse(text + "]"), "submission").size(), 1u);
  device = {};
}

TEST_F(TracedRuntime, AChildOfForkLeavesTheFileAlone) {
  const pid_t child = ::fork();
  if (child == 0) {
    registry_.trace()->flush();
    registry_.trace()->close();
    ::_exit(0);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_THAT(events_of(ended(), "X"), IsEmpty());
}

TEST_F(TracedRuntime, ASecondTraceToTheSameFileIsRefused) {
  const auto second = FileTrace::open(path_);
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("%p"));
}

TEST(FileTrace, APathThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const Status status = FileTrace::open("/nonexistent-folder/trace.json").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent-folder/trace.json"));
}

TEST(FileTrace, AFullDiskEndsTheTraceAndNotTheProgram) {
  ::testing::internal::CaptureStderr();
  const auto trace = FileTrace::open("/dev/full").value();
  trace->flush();
  trace->close();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("halyard: HALYARD_PROFILE: /dev/full: write: No space left on device"));
}

TEST(FileTrace, TakesThePlaceOfALongerFile) {
  const std::string path =
      ::testing::TempDir() + "longer." + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << std::string(100'000, 'x');
  FileTrace::open(path).value()->close();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), ::testing::StartsWith("["));
  EXPECT_THAT(text.str(), ::testing::Not(HasSubstr("xxx")));
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

TEST(FileTrace, ThePlaceholderStandsForTheProcess) {
  const std::string folder = ::testing::TempDir();
  const std::string path = folder + "trace." + std::to_string(::getpid()) + ".json";
  FileTrace::open(folder + "trace.%p.json").value()->close();
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

}  // namespace
}  // namespace halyard::trace
