// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times and deadlines in Tasks.
#include "halyard/async/deadline.h"

#include <chrono>
#include <utility>
#include <vector>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using namespace std::chrono_literals;
using testing::refused_with;

constexpr auto kShort = 2ms;

class AsyncDeadline : public testing::AsyncTest {
 protected:
  Nanoseconds now() { return runtime.device().hal().clock().now(); }
};

const auto exceeded = [] {
  return refused_with(StatusCode::kDeadlineExceeded, "the deadline of the await has passed");
};

TEST_F(AsyncDeadline, ATaskContinuesAfterATime) {
  const Nanoseconds began = now();
  run([]() -> Task<> { co_await after(kShort); }());
  EXPECT_GE(now() - began, std::chrono::nanoseconds(kShort).count());
  run([]() -> Task<> { co_await after(kNow); }());
}

TEST_F(AsyncDeadline, TimesOrderTasksSideBySide) {
  std::vector<int> order;
  run([](std::vector<int>& noted) -> Task<> {
    const auto sleeping = [](std::chrono::milliseconds time, std::vector<int>& into) -> Task<> {
      co_await after(time);
      into.push_back(static_cast<int>(time.count()));
    };
    Nursery nursery;
    co_await nursery.spawn(sleeping(30ms, noted));
    co_await nursery.spawn(sleeping(1ms, noted));
    co_await nursery.spawn(sleeping(15ms, noted));
    (void)co_await to_host(ones<float>({16}));
    co_await nursery.join();
  }(order));
  EXPECT_THAT(order, ::testing::ElementsAre(1, 15, 30));
}

TEST_F(AsyncDeadline, AnAwaitFailsAtItsDeadline) {
  run([](HostEvent event) -> Task<> {
    EXPECT_THAT((co_await with_deadline(as_result(event), kShort)).status(), exceeded());
    EXPECT_THAT((co_await with_deadline(as_result(event), kNow)).status(), exceeded());
    EXPECT_THAT((co_await as_result(with_deadline(event, kNow))).status(), exceeded());
    EXPECT_THAT((co_await with_deadline(as_result(HostEvent(event)), -1s)).status(), exceeded());
    event.set();
    co_await with_deadline(event, kShort);
  }(event()));
  EXPECT_THAT(testing::thrown_by([&] {
                return run([](HostEvent event) -> Task<int> {
                  co_await with_deadline(event, kShort);
                  co_return 0;
                }(event()));
              }),
              exceeded());
}

TEST_F(AsyncDeadline, AnAwaitThatFailsAtItsDeadlineSaysWhatIsMissing) {
  const auto host_is_late = ::testing::AllOf(
      exceeded(), refused_with(StatusCode::kDeadlineExceeded,
                               "waited for 1, is 0, to come from no submission: the host"));
  run([&](HostEvent event) -> Task<> {
    EXPECT_THAT((co_await with_deadline(as_result(event), kShort)).status(), host_is_late);
    EXPECT_THAT((co_await with_deadline(as_result(zip(event, value(1))), kShort)).status(),
                host_is_late);
    EXPECT_THAT(co_await with_deadline(as_result(after(1h)), kNow),
                refused_with(StatusCode::kDeadlineExceeded, "passed: after: 3599"));
    Nursery nursery;
    const auto waits = [](HostEvent of) -> Task<> { co_await of; };
    co_await nursery.spawn(waits(event));
    EXPECT_THAT(co_await with_deadline(as_result(nursery.join()), kShort),
                refused_with(StatusCode::kDeadlineExceeded, "passed: join: 1 Task of the Nursery"));
    co_await nursery.spawn(waits(event));
    EXPECT_THAT(co_await with_deadline(as_result(nursery.join()), kNow),
                refused_with(StatusCode::kDeadlineExceeded, "2 Tasks of the Nursery had not ended"));
    event.set();
    co_await nursery.join();
  }(event()));
}

TEST_F(AsyncDeadline, AnAwaitThatEndsInTimeGivesItsResult) {
  run([](Runtime devices) -> Task<> {
    const auto y = co_await with_deadline(to_host(ones<float>({4})), 1h);
    EXPECT_THAT(y, ::testing::Each(1.0f));
    const auto z = co_await with_deadline(to_host(ones<float>({4})) | on(devices.device(1)), 1h);
    EXPECT_THAT(z, ::testing::Each(1.0f));
    EXPECT_EQ(co_await with_deadline(value(3), kForever), 3);
    EXPECT_EQ((co_await as_result(with_deadline(value(3), kForever))).value(), 3);
    EXPECT_TRUE((co_await as_result(with_deadline(after(kNow), 1h))).ok());
    EXPECT_EQ((co_await with_deadline(as_result(value(3)), kNow)).status().code(),
              StatusCode::kDeadlineExceeded);
  }(runtime));
}

Task<int> three_awaits(HostEvent event, int& failed) {
  for (int i = 0; i < 3; ++i) {
    const auto result = co_await as_result(event);
    failed += result.status().code() == StatusCode::kDeadlineExceeded;
  }
  failed += (co_await as_result(after(1h))).code() == StatusCode::kDeadlineExceeded;
  failed += (co_await as_result(ones<float>(1))).status().code() == StatusCode::kDeadlineExceeded;
  co_return 7;
}

TEST_F(AsyncDeadline, OfATaskFailsEachOfItsAwaits) {
  int failed = 0;
  run([](HostEvent event, int& count) -> Task<> {
    EXPECT_EQ(co_await with_deadline(three_awaits(std::move(event), count), kShort), 7);
    (void)co_await to_host(ones<float>({4}));  // not here
  }(event(), failed));
  EXPECT_EQ(failed, 5);
}

TEST_F(AsyncDeadline, TheEarlierOfTwoHolds) {
  run([](HostEvent event) -> Task<> {
    const auto nested = [](HostEvent own, Deadline inner) -> Task<Status> {
      co_return (co_await with_deadline(as_result(std::move(own)), inner)).status();
    };
    EXPECT_THAT(co_await with_deadline(nested(event, 1h), kShort), exceeded());
    EXPECT_THAT(co_await with_deadline(nested(event, kShort), 1h), exceeded());
  }(event()));
}

// A Task that was spawned in time, in a Nursery that lives longer, keeps no deadline.
TEST_F(AsyncDeadline, HoldsForSpawnedTasksUntilItsAwaitHasEnded) {
  run([](HostEvent event) -> Task<> {
    Nursery nursery;
    Status status;
    const auto spawning = [](Nursery& in, HostEvent own, Status& out) -> Task<> {
      co_await in.spawn([](HostEvent awaited, Status& into) -> Task<> {
        into = (co_await as_result(std::move(awaited))).status();
      }(std::move(own), out));
    };
    co_await with_deadline(spawning(nursery, event, status), kShort);
    co_await after(2 * kShort);
    EXPECT_EQ(nursery.size(), 1u);
    event.set();
    co_await nursery.join();
    EXPECT_TRUE(status.ok());
  }(event()));
}
TEST_F(AsyncDeadline, OfAJoinEndsTheJoinAndNotTheTasks) {
  run([](HostEvent event) -> Task<> {
    int ended = 0;
    const auto child = [](HostEvent until, int& count) -> Task<> {
      co_await until;
      ++count;
    };
    const auto join = [](Nursery& of, Deadline when) -> Task<> {
      co_await with_deadline(of.join(), when);
    };
    Nursery nursery;
    co_await nursery.spawn(child(event, ended));
    co_await nursery.spawn(child(event, ended));
    EXPECT_THAT(co_await as_result(join(nursery, kShort)), exceeded());
    EXPECT_THAT(co_await as_result(join(nursery, kNow)), exceeded());
    EXPECT_THAT(co_await as_result(with_deadline(nursery.join(), kShort)), exceeded());
    EXPECT_THAT(co_await with_deadline(as_result(nursery.join()), kNow), exceeded());
    EXPECT_EQ(nursery.size(), 2u);
    event.set();
    co_await with_deadline(nursery.join(), 20s);
    EXPECT_EQ(ended, 2);
    co_await with_deadline(nursery.join(), kNow);  // there is nothing to wait for
  }(event()));
}

TEST_F(AsyncDeadline, FailsTheTasksThatATaskWithADeadlineJoins) {
  Status status;
  run([](HostEvent event, Status& out) -> Task<> {
    const auto joining = [](HostEvent own, Status& into) -> Task<> {
      Nursery nursery;
      co_await nursery.spawn([](HostEvent awaited, Status& failed) -> Task<> {
        failed = (co_await as_result(awaited)).status();
      }(std::move(own), into));
      co_await nursery.join();
    };
    co_await with_deadline(joining(std::move(event), out), kShort);
  }(event(), status));
  EXPECT_THAT(status, exceeded());
}

}  // namespace
}  // namespace halyard::async
