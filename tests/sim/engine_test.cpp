// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Races of the engine that are too narrow for whole seeds: two threads and little else, under many
// schedules.
#include <functional>

#include "base/mutex.h"
#include "base/thread.h"
#include "simulation/scheduler.h"
#include "timeline/memory_queue.h"
#include "timeline/registration.h"

namespace halyard::timeline::testing {
namespace {

using sim::Scheduler;

// Runs body() under 1000 schedules.
void under_many_schedules(std::function<void()> body) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const bool uniform = seed % 2 == 0;
    Scheduler scheduler({.seed = seed,
                         .policy = uniform ? Scheduler::Policy::kUniform : Scheduler::Policy::kPct,
                         .mean_distance = static_cast<std::uint32_t>(seed / 2 % 4),
                         .length = 200});
    scheduler.run([](void* argument) { (*static_cast<std::function<void()>*>(argument))(); },
                  &body);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

// Runs fn() on a second thread while this thread continues.
class Meanwhile {
 public:
  explicit Meanwhile(std::function<void()> fn) : fn_(std::move(fn)) {
    const auto call = [](void* self) { static_cast<Meanwhile*>(self)->fn_(); };
    EXPECT_EQ(thread_.start("meanwhile", call, this), 0);
  }
  ~Meanwhile() { thread_.join(); }

 private:
  std::function<void()> fn_;
  base::Thread thread_;
};

TEST(Mutex, TheUnlockWakesASleepingThread) {
  under_many_schedules([] {
    base::Mutex mutex;
    mutex.lock();
    const Meanwhile other([&] { const base::LockGuard lock(mutex); });
    for (int i = 0; i < 300; ++i) Scheduler::current()->pause();  // longer than it spins
    mutex.unlock();
  });
}

TEST(Rule4Order, AThreadThatSeesTheValueSeesTheSubmissionComplete) {
  under_many_schedules([] {
    World world;
    auto& queue = world.queue();
    auto done = world.semaphore();
    Submission* submission = nullptr;
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1, &submission).ok());
    queue.native().run();
    {
      const Meanwhile retiring([&] { (void)done->query(); });
      while (done->value() == 0) Scheduler::current()->pause();
      EXPECT_EQ(submission->state(), Submission::State::kComplete);
    }
    submission->release_for_user();
  });
}

TEST(Rule22Watching, ARequestWhileTheShellLeavesIsNotLost) {
  under_many_schedules([] {
    World world;
    auto& queue = world.queue();
    auto done = world.semaphore();
    int calls = 0;
    const auto on_reach = [&](std::uint64_t value) {
      const Callback count{&calls, [](void* at, const Status&) { ++*static_cast<int*>(at); },
                           [](void*) {}};
      return Registration::create(*done.get(), value, count).value();
    };
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 2}}).ok());
    queue.native().run(1);
    Registration* const first = on_reach(1);
    Registration* second = nullptr;
    {
      const Meanwhile shell([&] { (void)world.engine.step_completion(); });
      second = on_reach(2);
    }
    world.settle();
    EXPECT_EQ(calls, 2);
    first->drop();
    second->drop();
  });
}

// The device finishes before the issuer has published; the shell polls then, or a moment later.
TEST(Rule10Overtaken, WorkSeenDoneBeforeItsPublicationIsRetired) {
  under_many_schedules([] {
    World world;
    auto& queue = world.queue();
    MemoryQueue& native = queue.native();
    auto done = world.semaphore();
    const Callback nothing{nullptr, [](void*, const Status&) {}, [](void*) {}};
    Registration* const watching = Registration::create(*done.get(), 1, nothing).value();
    {
      const Meanwhile shell([&] {
        while (native.run() == 0) Scheduler::current()->pause();
        for (; native.poll_calls == 0; Scheduler::current()->pause()) {
          (void)world.engine.step_completion();
        }
      });
      EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
    }
    EXPECT_EQ(done->value(), 1u);
    watching->drop();
  });
}

// A retirer that notes too late that it was overtaken leaves its note in place. The next retirer
// finds the note when it explains a hang.
TEST(Rule10Overtaken, ADumpFindsTheRemainingNoteAndNoLoss) {
  int left = 0;
  under_many_schedules([&] {
    World world;
    auto& device = world.device();
    auto& queue = world.queue(device, "queue");
    MemoryQueue& native = queue.native();
    auto done = world.semaphore();
    {
      const Meanwhile looking([&] {
        while (native.run() == 0) Scheduler::current()->pause();
        (void)queue->in_flight();
        while (done->query().value() == 0) Scheduler::current()->pause();
      });
      EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
    }
    native.fault = Status(StatusCode::kInternal, "a fault");
    (void)world.engine.dump_timelines();
    EXPECT_FALSE(device.lost());
    world.settle();
    left += device.lost();
  });
  EXPECT_GT(left, 0) << "no schedule leaves the note: the test shows nothing";
}

// Work of a lane is ordered after the first submission of another lane, whose entry is being reused
// at that moment.
TEST(Rule20Markers, OneWithAReusedEntryFollowsTheEarlierWork) {
  static LaneTracker* lane;
  static constexpr Gate kTellsItsLane{
      .ask = [](void*, IssueSite&, Status&) noexcept { return Gate::Answer::kGo; },
      .issued = [](void*, const LanePoint& at) noexcept { lane = at.lane; }};
  static constexpr Gate kStandsBehind{.ask = [](void*, IssueSite& site, Status&) noexcept {
    const auto order = site.order_after({lane, 1});
    EXPECT_NE(order, IssueSite::Order::kNone);
    if (order == IssueSite::Order::kEdge) site.wait_for({lane, 1});
    return Gate::Answer::kGo;
  }};
  const auto submit = [](QueueUnderTest& queue, const Gate& gate) {
    Submission* submission = queue->allocate().value();
    submission->emplace<Operation>();
    submission->set_gate(gate);
    EXPECT_TRUE(queue->submit(*submission, {}, nullptr).ok());
  };
  under_many_schedules([&] {
    World world;
    auto& device = world.device();
    auto& a = world.queue(device, "a", {.marks_every_submission = false, .max_in_flight = 1});
    auto& b = world.queue(device, "b");
    submit(a, kTellsItsLane);
    EXPECT_TRUE(a->in_flight()) << "its marker is recorded";
    {
      const Meanwhile next([&] {
        EXPECT_EQ(a.native().run(), 1);
        (void)a->in_flight();
        EXPECT_TRUE(world.submit(a, {}, {}).ok());
        (void)a->in_flight();
      });
      submit(b, kStandsBehind);
    }
    for (const Edge& edge : b.native().last_waits) EXPECT_EQ(edge.sequence, 1u);
  });
}

// The lane becomes empty while its native queue reports to the issuer that it is full.
TEST(Rule16BackPressure, ABusyQueueContinuesAlsoIfItsLastWorkIsRetiredJustThen) {
  under_many_schedules([] {
    World world;
    auto& queue = world.queue();
    MemoryQueue& native = queue.native();
    native.capacity = 1;
    auto done = world.semaphore();
    const Callback nothing{nullptr, [](void*, const Status&) {}, [](void*) {}};
    Registration* const watching = Registration::create(*done.get(), 1, nothing).value();
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
    {
      bool full = false;
      native.on_busy = [&] { full = true; };
      const Meanwhile shell([&] {
        while (!full) Scheduler::current()->pause();
        (void)native.run();
        (void)world.engine.step_completion();
      });
      EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 2}}).ok());
    }
    world.settle();
    EXPECT_EQ(done->query().value(), 2u);
    watching->drop();
  });
}

}  // namespace
}  // namespace halyard::timeline::testing
