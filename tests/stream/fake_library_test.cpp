// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fake library behaves as CUDA's driver API specifies and refuses invalid use.
#include "simulation/stream/fake_library.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/thread.h"

namespace halyard::stream::fake {
namespace {

class FakeLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(retain_primary_context(kOrdinal, context), Code::kSuccess);
    ASSERT_EQ(set_current_context(context), Code::kSuccess);
    for (Stream*& stream : streams) ASSERT_EQ(create_stream(stream, false), Code::kSuccess);
    ASSERT_EQ(create_event(event), Code::kSuccess);
    violations_before = violations();
  }
  void TearDown() override {
    blocked = false;
    for (Stream* const stream : streams) {
      EXPECT_EQ(synchronize(stream), Code::kSuccess);
      EXPECT_EQ(stop(stream), Code::kSuccess);
      EXPECT_EQ(destroy(stream), Code::kSuccess);
    }
    EXPECT_EQ(destroy(event), Code::kSuccess);
    EXPECT_EQ(set_current_context(nullptr), Code::kSuccess);
    EXPECT_EQ(release_primary_context(kOrdinal), Code::kSuccess);
    EXPECT_EQ(violations() - violations_before, expected_violations) << latest_violation();
  }

  // Blocks the first stream until the test releases it or ends.
  void block() {
    blocked = true;
    const auto wait = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(true); };
    ASSERT_EQ(launch_host_function(streams[0], wait, &blocked), Code::kSuccess);
  }
  void unblock() {
    blocked = false;
    blocked.notify_all();
  }

  static constexpr unsigned kOrdinal = 5;
  Context* context = nullptr;
  Stream* streams[2] = {};
  Event* event = nullptr;
  std::atomic<bool> blocked{false};
  std::uint64_t violations_before = 0, expected_violations = 0;
};

TEST_F(FakeLibrary, AnUnrecordedEventCountsAsComplete) {
  EXPECT_EQ(query(event), Code::kSuccess);
  EXPECT_EQ(wait(streams[1], event), Code::kSuccess);
  EXPECT_EQ(synchronize(streams[1]), Code::kSuccess);
}

TEST_F(FakeLibrary, AWaitIsForTheRecordAtTheTimeOfTheCall) {
  EXPECT_EQ(record(event, streams[0]), Code::kSuccess);
  EXPECT_EQ(synchronize(streams[0]), Code::kSuccess);
  EXPECT_EQ(wait(streams[1], event), Code::kSuccess);
  block();
  EXPECT_EQ(record(event, streams[0]), Code::kSuccess);
  EXPECT_EQ(query(event), Code::kNotReady);
  EXPECT_EQ(synchronize(streams[1]), Code::kSuccess) << "the later record holds nothing up";
  EXPECT_EQ(wait(streams[1], event), Code::kSuccess);
  EXPECT_EQ(query(streams[1]), Code::kNotReady);
  unblock();
}

TEST_F(FakeLibrary, DestroyingAPendingEventCancelsNoWaitForIt) {
  Event* pending = nullptr;
  ASSERT_EQ(create_event(pending), Code::kSuccess);
  block();
  EXPECT_EQ(record(pending, streams[0]), Code::kSuccess);
  EXPECT_EQ(wait(streams[1], pending), Code::kSuccess);
  EXPECT_EQ(destroy(pending), Code::kSuccess);
  EXPECT_EQ(query(streams[1]), Code::kNotReady);
  unblock();
  EXPECT_EQ(synchronize(streams[1]), Code::kSuccess);
}

TEST_F(FakeLibrary, RefusesACallWithAnotherCurrentContext) {
  expected_violations = 1;
  EXPECT_EQ(set_current_context(nullptr), Code::kSuccess);
  EXPECT_EQ(query(event), Code::kInvalidContext);
  EXPECT_EQ(set_current_context(context), Code::kSuccess);
}

TEST_F(FakeLibrary, TheCurrentContextIsOfAThread) {
  Context* seen = context;
  std::thread([&] { EXPECT_EQ(get_current_context(seen), Code::kSuccess); }).join();
  EXPECT_EQ(seen, nullptr);
}

TEST_F(FakeLibrary, RefusesACallInAHostFunction) {
  expected_violations = 1;
  struct Call {
    Event* event;
    Code code;
  } call{event, Code::kSuccess};
  const auto query_it = [](void* argument) {
    auto& its = *static_cast<Call*>(argument);
    its.code = query(its.event);
  };
  EXPECT_EQ(launch_host_function(streams[0], query_it, &call), Code::kSuccess);
  EXPECT_EQ(synchronize(streams[0]), Code::kSuccess);
  EXPECT_EQ(call.code, Code::kNotPermitted);
}

TEST_F(FakeLibrary, ForbidsUnsafeCallsDuringACaptureUnlessTheThreadIsRelaxed) {
  expected_violations = 1;
  begin_capture();
  EXPECT_EQ(query(event), Code::kCaptureUnsupported);
  CaptureMode mode = CaptureMode::kRelaxed;
  EXPECT_EQ(exchange_capture_mode(mode), Code::kSuccess);
  EXPECT_EQ(mode, CaptureMode::kGlobal);
  EXPECT_EQ(query(event), Code::kSuccess);
  EXPECT_EQ(exchange_capture_mode(mode), Code::kSuccess);
  EXPECT_EQ(mode, CaptureMode::kRelaxed);
  end_capture();
}

TEST_F(FakeLibrary, NotesAnEventThatIsRecordedAgainBeforeItWasReached) {
  expected_violations = 1;
  block();
  EXPECT_EQ(record(event, streams[0]), Code::kSuccess);
  EXPECT_EQ(record(event, streams[0]), Code::kSuccess);
  unblock();
}

TEST_F(FakeLibrary, RecordsNoEventOfAnotherContext) {
  expected_violations = 1;
  Context* other = nullptr;
  Event* foreign = nullptr;
  ASSERT_EQ(retain_primary_context(kOrdinal + 1, other), Code::kSuccess);
  ASSERT_EQ(set_current_context(other), Code::kSuccess);
  ASSERT_EQ(create_event(foreign), Code::kSuccess);
  ASSERT_EQ(set_current_context(context), Code::kSuccess);
  EXPECT_EQ(record(foreign, streams[0]), Code::kInvalidHandle);
  ASSERT_EQ(set_current_context(other), Code::kSuccess);
  EXPECT_EQ(destroy(foreign), Code::kSuccess);
  ASSERT_EQ(set_current_context(context), Code::kSuccess);
  EXPECT_EQ(release_primary_context(kOrdinal + 1), Code::kSuccess);
}

TEST_F(FakeLibrary, CountsWhatIsFreedOnAWatchedThread) {
  Address first = 0, second = 0;
  ASSERT_EQ(allocate(first, 100), Code::kSuccess);
  ASSERT_EQ(allocate(second, 0), Code::kSuccess);
  EXPECT_NE(first, second);
  watch_frees(base::this_thread());
  EXPECT_EQ(fake::free(first), Code::kSuccess);
  EXPECT_EQ(watched_frees(), 1u);
  watch_frees(0);
  EXPECT_EQ(fake::free(second), Code::kSuccess);
  EXPECT_EQ(watched_frees(), 0u);
}

}  // namespace
}  // namespace halyard::stream::fake
