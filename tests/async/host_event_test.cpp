// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Awaits of events that a host thread sets.
#include "halyard/async/host_event.h"

#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::await_into;
using testing::Awaited;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Handmade;
using testing::refused_with;

class AsyncHostEvent : public testing::AsyncTest {};

Task<> wait_and_note(HostEvent event, int number, std::vector<int>& order) {
  co_await std::move(event);
  order.push_back(number);
}

TEST_F(AsyncHostEvent, ATaskContinuesWhenAThreadSetsIt) {
  const HostEvent event = this->event();
  std::jthread setter;
  bool set_first = false;
  run([](const HostEvent& awaited, std::jthread& thread, bool& seen) -> Task<> {
    thread = std::jthread([awaited] { awaited.set(); });
    co_await awaited;
    seen = awaited.is_set();
  }(event, setter, set_first));
  EXPECT_TRUE(set_first);
}

TEST_F(AsyncHostEvent, WakesAllItsWaitersWhileOthersRun) {
  const HostEvent event = this->event();
  std::vector<int> order;
  run([](AsyncHostEvent& self, const HostEvent& awaited, std::vector<int>& noted) -> Task<> {
    Nursery nursery;
    for (int i = 0; i < 3; ++i) co_await nursery.spawn(wait_and_note(awaited, i, noted));
    (void)co_await to_host(ones<float>({16}));  // runs while they wait
    EXPECT_TRUE(noted.empty());
    EXPECT_EQ(nursery.size(), 3u);
    awaited.set();
    co_await nursery.join();
    co_await awaited;  // remains set
    (void)self;
  }(*this, event, order));
  EXPECT_THAT(order, ::testing::UnorderedElementsAre(0, 1, 2));
}

TEST_F(AsyncHostEvent, AStopRequestEndsTheAwait) {
  const HostEvent event = this->event();
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });
  EXPECT_THAT(sync_wait(as_result(event), runtime, source.get_token()).status(),
              refused_with(StatusCode::kCancelled, "a stop was requested"));
  EXPECT_FALSE(event.is_set());
}

TEST_F(AsyncHostEvent, AFailureIsThatOfTheAwaits) {
  const HostEvent event = this->event();
  event.fail(Status(StatusCode::kDataLoss, "on purpose"));
  EXPECT_THAT(failure(HostEvent(event)), refused_with(StatusCode::kDataLoss, "on purpose"));
  event.set();
  EXPECT_FALSE(event.is_set());
}

TEST_F(AsyncHostEvent, AFailureAfterTheSetChangesNothing) {
  const HostEvent event = this->event();
  event.set();
  event.set();
  event.fail(Status(StatusCode::kDataLoss, "on purpose"));
  EXPECT_TRUE(event.is_set());
  EXPECT_TRUE(failure(HostEvent(event)).ok());
}

TEST_F(AsyncHostEvent, WithoutASetterTheAwaitIsCancelled) {
  std::optional<HostEvent> event = this->event();
  run([](std::optional<HostEvent>& awaited) -> Task<> {
    Nursery nursery;
    Status status;
    co_await nursery.spawn([](HostEvent own, Status& out) -> Task<> {
      out = (co_await as_result(std::move(own))).status();
    }(*awaited, status));
    awaited.reset();
    co_await nursery.join();
    EXPECT_THAT(status, refused_with(StatusCode::kCancelled, "was dropped before set()"));
  }(event));
}

TEST_F(AsyncHostEvent, OfAnEmptyRuntimeIsRefused) {
  EXPECT_EQ(HostEvent::create({}).status().code(), StatusCode::kInvalidArgument);
}

class AsyncHostEventStepped : public testing::SteppedTest {};

// In a coroutine that is not a Task, and in a tree, whose work does not wait for the event.
TEST_F(AsyncHostEventStepped, IsAPartOfATreesEnd) {
  const HostEvent event = HostEvent::create(runtime).value();
  const auto x = tensor(1.0f) | share;
  Awaited<decltype(zip(event, to_host(x)))> out;
  const Handmade coroutine = await_into(out, zip(event, to_host(x)) | on(runtime.device()));
  run_all();
  EXPECT_FALSE(coroutine.done());
  event.set();
  run_all();
  ASSERT_TRUE(coroutine.done());
  EXPECT_THAT(std::get<1>(out->value()), Each(1.0f));
}

}  // namespace
}  // namespace halyard::async
