// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/native_call.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <set>
#include <string>

#include "base/failing_calls.h"
#include "base/file.h"
#include "base/futex.h"
#include "base/parker.h"

namespace halyard::base {
namespace {

using testing::FailingCalls;

HALYARD_CALL_SITE(kErrno, "test.errno", EIO);
HALYARD_CALL_SITE(kCode, "test.code", EAGAIN, Failing::kCode);
HALYARD_CALL_SITE(kNegative, "test.negative", EPERM, Failing::kNegative);
HALYARD_CALL_SITE(kMapped, "test.mapped", ENOMEM, Failing::kMapped);
HALYARD_CALL_SITE(kNever, "test.never", 0, Failing::kErrno, "a test");

TEST(NativeCall, ReturnsTheResultOfTheCall) {
  EXPECT_EQ(native_call(kErrno, [] { return 7; }), 7);
  int made = 0;
  native_call(kNever, [&] { ++made; });
  EXPECT_EQ(made, 1);
}

TEST(NativeCall, ThatFailsIsNotMadeAndReturnsTheErrorOfItsKind) {
  const auto never = [](auto answer) {
    return [answer] {
      ADD_FAILURE() << "it is made";
      return answer;
    };
  };
  {
    const FailingCalls failing("test.errno");
    EXPECT_EQ(native_call(kErrno, never(0)), -1);
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(native_call(kErrno, never(static_cast<const char*>("text"))), nullptr);
  }
  {
    const FailingCalls failing("test.code");
    EXPECT_EQ(native_call(kCode, never(0)), EAGAIN);
  }
  {
    const FailingCalls failing("test.negative");
    EXPECT_EQ(native_call(kNegative, never(std::int32_t{16})), -EPERM);
  }
  {
    const FailingCalls failing("test.mapped");
    EXPECT_EQ(native_call(kMapped, never(static_cast<void*>(nullptr))), MAP_FAILED);
    EXPECT_EQ(errno, ENOMEM);
  }
}

TEST(NativeCall, OfASiteThatDoesNotFailIsSeenAndMade) {
  const FailingCalls failing("test.never");
  EXPECT_EQ(native_call(kNever, [] { return 3; }), 3);
  EXPECT_EQ(failing.failed(), 1) << "asked";
}

TEST(NativeCall, SitesHaveNamesOfTheirOwnAndAnErrorOrAReason) {
  std::set<std::string_view> names;
  for (const CallSite* site : call_sites()) {
    EXPECT_TRUE(names.insert(site->name).second) << site->name << " twice";
    EXPECT_NE(site->area(), site->name) << "no area";
    EXPECT_NE(site->error != 0, !site->never_fails.empty()) << site->name;
  }
  EXPECT_TRUE(names.contains("file.open"));
}

// Even if the kernel never lets a thread sleep, the deadline passes.
TEST(Futex, WaitsNoLongerThanItsDeadlineIfTheKernelRefusesToSleep) {
  const FailingCalls failing("futex.wait");
  const Atomic<std::uint32_t> word{0};
  const Nanoseconds soon = Clock::steady().now() + 1'000'000;
  while (futex_wait(word, 0, soon)) EXPECT_LT(Clock::steady().now(), soon + 20'000'000'000);
  EXPECT_GE(Clock::steady().now(), soon);
  EXPECT_GT(failing.failed(), 0);
  Parker parker;
  EXPECT_FALSE(parker.park(parker.prepare(), soon));
}

TEST(File, AFolderThatCannotBeReadToItsEndIsAnError) {
  EXPECT_TRUE(list_folder("/proc/self").ok());
  const FailingCalls failing("folder.next");
  const Status status = list_folder("/proc/self").status();
  EXPECT_EQ(status.native_error(), "EIO") << status.to_string();
}

}  // namespace
}  // namespace halyard::base
