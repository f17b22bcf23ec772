// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits without memory, and the dump of a passed deadline without memory. Replaces operator new, so
// it is a program of its own.
#include <cstdlib>
#include <new>

#include "base/native_call.h"
#include "memory_queue.h"

namespace {

// The number of allocations that this thread may still make before all later ones fail.
constexpr int kAll = -1;
thread_local int left = kAll;
thread_local bool has_failed = false;

bool fails() noexcept {
  if (left == kAll) return false;
  if (left != 0) return --left, false;
  return has_failed = true;
}

void* allocate(std::size_t size) noexcept { return fails() ? nullptr : std::malloc(size); }

}  // namespace

// Not inlined: the compiler would take the call of free() for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = allocate(size);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace halyard::timeline::testing {
namespace {

// While it lives, all allocations of this thread fail, except the first `count`.
class NoMemory final : public base::CallObserver {
 public:
  explicit NoMemory(int count = 0) {
    base::observe_calls(this);
    has_failed = false;
    left = count;
  }
  ~NoMemory() {
    left = kAll;
    base::observe_calls(nullptr);
  }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;

  int before(const base::CallSite& site) noexcept override {
    if (site.name == "futex.wait") ++sleeps;
    const bool allocates = site.name == "array.resize" || site.name == "status.allocate";
    return allocates && fails() ? site.error : 0;
  }

  std::atomic<int> sleeps{0};
};

class Exhaustion : public ::testing::Test {
 protected:
  Exhaustion() {
    queue.native().stopped = true;
    EXPECT_TRUE(world.submit(queue, {}, {{first.get(), 1}}).ok());
    EXPECT_TRUE(world.submit(queue, {{gate.get(), 1}}, {{last.get(), 1}}).ok());
    EXPECT_TRUE(world.submit(queue, {{last.get(), 1}}, {}).ok());
  }

  // Calls `call` with memory for 0, 1, 2, ... allocations, until none fails.
  template <class F>
  void expect_each_ends(F&& call) {
    int count = 0;
    do {
      const NoMemory none(count++);
      call();
    } while (has_failed);
    EXPECT_GT(count, 3);
  }

  World world;
  QueueUnderTest& queue = world.queue("a queue whose name does not fit into a string itself");
  HandleRef<Semaphore> first = world.semaphore(0, "the first semaphore of them all"),
                       gate = world.semaphore(0, "the gate that no submission signals"),
                       last = world.semaphore(0, "the last one, of what is not issued");
};

TEST_F(Exhaustion, CutsTheDump) {
  const std::string whole = world.engine.dump_timelines(queue.queue.get());
  EXPECT_NE(whole.find("to come from a submission not issued yet on a queue"), std::string::npos);
  std::string text;
  expect_each_ends([&] { text = world.engine.dump_timelines(queue.queue.get()); });
  EXPECT_EQ(text, whole);
}

TEST_F(Exhaustion, APassedDeadlineIsReported) {
  for (Semaphore* const semaphore : {first.get(), gate.get(), last.get()}) {
    Status status;
    expect_each_ends([&] {
      status = semaphore->wait(1, kPast);
      EXPECT_FALSE(status.ok());
    });
    EXPECT_EQ(code(status), StatusCode::kDeadlineExceeded);
  }
  Status status;
  expect_each_ends([&] {
    status = queue->wait_idle(kPast);
    EXPECT_FALSE(status.ok());
  });
  EXPECT_EQ(code(status), StatusCode::kDeadlineExceeded);
}

// A semaphore has room for the first few domains, and allocates more when a further domain uses it.
TEST(ExhaustionOfDomains, RefusesWhatBringsASemaphoreAFurtherOne) {
  constexpr Domain kLast = kDomainCount - 1;
  World world;
  auto& queue = world.queue(world.device(), "queue", {}, kLast);
  auto start = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());  // the memory for submissions
  const auto submit = [&](World::Points waits, World::Points signals) {
    Submission* const submission = queue->allocate().value();
    submission->emplace<Operation>(&world.log, 1, world.resource);
    const NoMemory none;
    return code(queue->submit(*submission, {.waits = waits, .signals = signals}, nullptr));
  };
  EXPECT_EQ(submit({{start.get(), 1}}, {}), StatusCode::kResourceExhausted);
  EXPECT_EQ(submit({}, {{done.get(), 1}}), StatusCode::kResourceExhausted);
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{done.get(), 1}}, 1).ok());
  EXPECT_EQ(submit({{start.get(), 2}}, {{done.get(), 2}}), StatusCode::kOk) << "it has room now";
  EXPECT_TRUE(start->signal(2).ok());
  world.settle();
  EXPECT_EQ(done->query().value(), 2u);
}

// Takes all parkers of the pool. Afterwards all threads without memory share one parker.
class EmptyPool {
 public:
  EmptyPool() {
    parkers_.reserve(1000);
    const NoMemory none;
    do {
      parkers_.push_back(&base::ParkerPool::acquire());
    } while (parkers_.size() < 2 || parkers_.back() != parkers_.end()[-2]);
  }
  ~EmptyPool() {
    for (base::Parker* parker : parkers_) base::ParkerPool::release(*parker);
  }
  EmptyPool(const EmptyPool&) = delete;
  EmptyPool& operator=(const EmptyPool&) = delete;

 private:
  std::vector<base::Parker*> parkers_;
};

TEST_F(Exhaustion, AThreadSleepsWithoutAParkerOfItsOwn) {
  const EmptyPool empty;
  world.work_source.asleep = [&] {
    left = kAll;
    EXPECT_TRUE(gate->signal(1).ok());
  };
  {
    const NoMemory none;
    EXPECT_TRUE(gate->wait(1, kForever).ok());
  }
  EXPECT_EQ(world.work_source.parks, 1);
  queue.native().fail_arm = Status(StatusCode::kResourceExhausted, "no memory for a notice");
  world.work_source.asleep = [&] {
    left = kAll;
    queue.native().stopped = false;
    world.settle();
  };
  const NoMemory none;
  EXPECT_TRUE(queue->wait_idle(kForever).ok());
  EXPECT_EQ(world.work_source.parks, 2);
}

// A single wake-up could reach either thread: all must wake, check, and sleep again.
TEST(ExhaustionOfParkers, OneWakeUpWakesAllThreadsThatShareAParker) {
  const EmptyPool empty;
  NoMemory none;
  base::Parker& parker = base::ParkerPool::acquire();
  left = kAll;
  for (int round = 0; round < 20; ++round) {
    none.sleeps = 0;
    const std::uint32_t epoch = parker.prepare();
    std::atomic<int> woken{0};
    const auto sleep = [&] { woken += parker.park(epoch, Clock::steady().now() + 20'000'000'000); };
    {
      const std::jthread one(sleep), other(sleep);
      while (none.sleeps < 2) std::this_thread::yield();
      for (int turn = 0; turn < 100; ++turn) std::this_thread::yield();  // until both sleep
      parker.wake();
    }
    ASSERT_EQ(woken, 2);
  }
  base::ParkerPool::release(parker);
  base::ParkerPool::release(parker);
  base::Parker &one = base::ParkerPool::acquire(), &other = base::ParkerPool::acquire();
  EXPECT_NE(&one, &other) << "memory is available again";
  base::ParkerPool::release(one);
  base::ParkerPool::release(other);
}

}  // namespace
}  // namespace halyard::timeline::testing
