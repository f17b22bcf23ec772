// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semaphore::post(): signals from contexts that may call neither a driver nor a callback.
#include <algorithm>

#include "timeline/memory_queue.h"

namespace halyard::timeline {
namespace {

using testing::World;

// Entered around every call to a lane, so it counts all of them.
class CountedCalls final : public EntryGuard {
 public:
  void enter(Saved&, Calls) noexcept override { ++count; }
  void leave(const Saved&) noexcept override {}
  int count = 0;
};

class Post : public ::testing::Test {
 protected:
  Post() {
    world.guard = calls.get();
    a = &world.queue("a");
    b = &world.queue("b");
    EXPECT_TRUE(world.submit(*a, {{start.get(), 1}}, {{middle.get(), 1}}, 1).ok());
    EXPECT_TRUE(world.submit(*b, {{middle.get(), 1}}, {{done.get(), 1}}, 2).ok());
    EXPECT_TRUE(world.submit(*b, {{start.get(), 1}}, {}, 3).ok());
    registration =
        Registration::create(
            *start.get(), 1,
            {&called, [](void* at, const Status&) { ++*static_cast<int*>(at); }, [](void*) {}})
            .value();
  }
  ~Post() override { registration->drop(); }

  std::vector<int> ran() const {
    std::vector<int> numbers = world.log;
    std::ranges::sort(numbers);
    return numbers;
  }

  Ref<CountedCalls> calls = Ref<CountedCalls>::adopt(new CountedCalls);
  World world;
  testing::QueueUnderTest* a = nullptr;
  testing::QueueUnderTest* b = nullptr;
  HandleRef<Semaphore> start = world.semaphore(), middle = world.semaphore(),
                       done = world.semaphore();
  int called = 0;
  Registration* registration = nullptr;
};

TEST_F(Post, CallsNoLaneOnItsThread) {
  const int before = calls->count;
  EXPECT_TRUE(start->post(1).ok());
  EXPECT_EQ(start->value(), 1u);
  EXPECT_EQ(calls->count, before);
  EXPECT_EQ(called, 0) << "nor a callback";
  EXPECT_GT(world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)], 0);
  world.settle();
  EXPECT_GT(calls->count, before);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(done->query().value(), 1u);
  EXPECT_EQ(ran(), (std::vector{1, 2, 3}));
}

// A driver may run a native callback inside one of its functions, called by some signal().
TEST_F(Post, CallsNoLaneAlsoWhereItsThreadIsInTheEngine) {
  auto gate = world.semaphore();
  auto* const posts =
      Registration::create(
          *gate.get(), 1,
          {start.get(),
           [](void* at, const Status&) { EXPECT_TRUE(static_cast<Semaphore*>(at)->post(1).ok()); },
           [](void*) {}})
          .value();
  const int before = calls->count;
  EXPECT_TRUE(gate->signal(1).ok());
  EXPECT_EQ(start->value(), 1u);
  EXPECT_EQ(calls->count, before);
  EXPECT_EQ(called, 0);
  world.settle();
  EXPECT_EQ(done->query().value(), 1u);
  EXPECT_EQ(called, 1);
  posts->drop();
}

TEST_F(Post, ReleasesWhatWasSignalledAroundIt) {
  EXPECT_TRUE(world.submit(*a, {{start.get(), 2}}, {}, 4).ok());
  EXPECT_TRUE(start->post(1).ok());
  EXPECT_TRUE(start->signal(2).ok());
  world.settle();
  EXPECT_EQ(ran(), (std::vector{1, 2, 3, 4}));
}

TEST_F(Post, WakesAHostThatSleeps) {
  bool woken = false;
  world.work_source.asleep = [&] {
    EXPECT_TRUE(start->post(1).ok());
    woken = world.work_source.woken();
  };
  EXPECT_TRUE(start->wait(1, kForever).ok());
  EXPECT_TRUE(woken);
  world.work_source.asleep = nullptr;
  world.settle();
}

TEST_F(Post, OfWhatNobodyWaitsForWakesNoThread) {
  auto lonely = world.semaphore();
  const int before = world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)];
  EXPECT_TRUE(lonely->post(1).ok());
  EXPECT_EQ(world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)], before);
  EXPECT_TRUE(start->signal(1).ok());
  world.settle();
}

}  // namespace
}  // namespace halyard::timeline
