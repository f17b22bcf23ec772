// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of a submission through the public interface of a cpu device: allocations, system calls,
// locks, read-modify-writes. Times vary between machines; these counts do not.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "base/format.h"
#include "counts/allocations.h"
#include "counts/counters.h"
#include "halyard/halyard.h"

namespace halyard::counts {
namespace {

using namespace std::chrono_literals;

constexpr int kBurst = 64;

class Counts : public testing::Test {
 protected:
  // Runs `body` until one run makes no system call, and returns the smallest number. Other load on
  // the machine can only add calls.
  static std::uint64_t least_system_calls(const std::function<void()>& body) {
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < 300 && least != 0; ++i) {
      const std::uint64_t before = system_calls();
      body();
      least = std::min(least, system_calls() - before);
    }
    return least;
  }

  // The smallest counts of one call of `body` on this thread.
  static Steps least_steps(const std::function<void()>& body) {
    Steps least = count_steps(body);
    for (int i = 0; i < 10; ++i) {
      const Steps steps = count_steps(body);
      if (steps.instructions < least.instructions) least = steps;
    }
    return least;
  }

  static void report(const std::string& name, const Steps& steps) {
    RecordProperty(name + "_instructions", std::to_string(steps.instructions));
    RecordProperty(name + "_read_modify_writes", std::to_string(steps.read_modify_writes));
    RecordProperty(name + "_locks", std::to_string(steps.locks));
    std::printf("%s: %llu instructions, %llu read-modify-writes, %llu locks\n", name.c_str(),
                static_cast<unsigned long long>(steps.instructions),
                static_cast<unsigned long long>(steps.read_modify_writes),
                static_cast<unsigned long long>(steps.locks));
  }

  // `submit` signals `done` with the given value.
  void expect_no_allocation(const std::function<Status(const hal::SubmitInfo&)>& submit) {
    if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has replaced malloc";
    const auto run = [&](int times) {
      for (int i = 0; i < times; ++i) {
        const hal::Point point(done, ++value);
        if (!submit({.signal = {&point, 1}}).ok() || !done.wait(value, 20s).ok()) return false;
      }
      return true;
    };
    // Pools grow to the maximum ever in flight, and threads of the runtime start late: the test
    // requires that a round without an allocation comes soon.
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < 10 && least != 0; ++i) {
      const std::uint64_t before = allocations();
      ASSERT_TRUE(run(1000));
      least = std::min(least, allocations() - before);
    }
    EXPECT_EQ(least, 0u);
  }

  Status barrier() { return queue.barrier({.signal = {{done, ++value}}}); }

  hal::Device device = hal::open("cpu://?check=0&workers=1").value();
  hal::Queue queue = device.queue();
  hal::Semaphore done = device.create_semaphore().value();
  std::uint64_t value = 0;
};

TEST_F(Counts, TheCountersCount) {
  if (counts_allocations()) {
    const std::uint64_t before = allocations();
    void* memory[] = {std::malloc(1), ::operator new(1), ::operator new(64, std::align_val_t(64))};
    asm volatile("" : : "r"(memory) : "memory");  // keeps the compiler from removing them
    std::free(memory[0]);
    ::operator delete(memory[1]);
    ::operator delete(memory[2], std::align_val_t(64));
    EXPECT_EQ(allocations() - before, 3u);
  }
  const std::uint64_t calls = system_calls();
  sched_yield();
  EXPECT_EQ(system_calls() - calls, 1u);
  if (can_step()) {
    std::atomic<std::uint32_t> word{0};
    std::uint32_t zero = 0;
    (void)getppid();  // links the function lazily on its first call
    const Steps steps = count_steps([&] {
      word.fetch_add(1);
      word.exchange(0);
      word.compare_exchange_strong(zero, 1);
      (void)getppid();
    });
    EXPECT_EQ(steps.read_modify_writes, 3u);
    EXPECT_EQ(steps.locks, 1u);
    EXPECT_EQ(steps.system_calls, 1u);
  }
}

TEST_F(Counts, BarrierAllocatesNothing) {
  expect_no_allocation([&](const hal::SubmitInfo& info) { return queue.barrier(info); });
}

TEST_F(Counts, BarrierAndWaitAllocatesNothing) {
  expect_no_allocation([&](const hal::SubmitInfo& info) {
    HALYARD_RETURN_IF_ERROR(queue.barrier_and_wait({}, 20s));
    return queue.barrier_and_wait(info, 20s);
  });
}

TEST_F(Counts, TransfersAllocateNothing) {
  const hal::Buffer x = device.allocate({.size = 4096}).value();
  const hal::Buffer y = device.allocate({.size = 4096}).value();
  const std::array<std::byte, 100> source{};
  expect_no_allocation([&](const hal::SubmitInfo& info) {
    HALYARD_RETURN_IF_ERROR(queue.fill(x, 0, 4, {}));
    HALYARD_RETURN_IF_ERROR(queue.copy(x, y, {}));
    return queue.update(x, 0, {source.data(), source.size()}, info);
  });
}

TEST_F(Counts, ExecuteAllocatesNothing) {
  const hal::Buffer x = device.allocate({.size = 4096}).value();
  hal::Recorder recorder(device);
  recorder.fill(hal::slot(0), 1).barrier().fill(x, 2);
  const hal::CommandBuffer commands = recorder.finish().value();
  expect_no_allocation([&](const hal::SubmitInfo& info) {
    return queue.execute(commands, {.bindings = {x}, .signal = info.signal});
  });
}

TEST_F(Counts, ParkedSubmissionAllocatesNothing) {
  const hal::Semaphore gate = device.create_semaphore().value();
  expect_no_allocation([&, next = std::uint64_t{0}](const hal::SubmitInfo& info) mutable {
    const hal::Point open(gate, ++next);
    HALYARD_RETURN_IF_ERROR(queue.barrier({.wait = {&open, 1}, .signal = info.signal}));
    return gate.signal(next);
  });
}

TEST_F(Counts, HostCallAllocatesNothing) {
  std::atomic<int> sum{0};
  expect_no_allocation(
      [&](const hal::SubmitInfo& info) { return queue.host_call([&sum] { ++sum; }, info); });
}

// A worker with work is awake. The test gives it work for some 100 ms and sees it start.
TEST_F(Counts, SubmissionToAnAwakeWorkerMakesNoSystemCall) {
  const hal::Buffer x = device.allocate({.size = 256 * 1024}).value();
  bool was_awake = false;
  // Doubles the work until it outlasts the burst: the time differs a hundredfold between a plain
  // build and one with a sanitizer.
  for (int fills = 64; fills <= 8192 && !was_awake; fills *= 2) {
    hal::Recorder recorder(device);
    for (int i = 0; i < fills; ++i) recorder.fill(x, 1).barrier();
    const hal::CommandBuffer work = recorder.finish().value();
    check(barrier());
    const std::uint64_t begun = value;
    check(queue.execute(work, {.signal = {{done, ++value}}}));
    while (done.query().value() < begun) sched_yield();
    const std::uint64_t before = system_calls();
    for (int k = 0; k < kBurst; ++k) check(barrier());
    const std::uint64_t calls = system_calls() - before;
    was_awake = done.query().value() == begun;
    check(done.wait(value, 20s));
    if (was_awake) {
      EXPECT_EQ(calls, 0u);
    }
  }
  EXPECT_TRUE(was_awake);
}

TEST_F(Counts, SubmitAndWaitMakesNoSystemCall) {
  const hal::Buffer x = device.allocate({.size = 64}).value();
  hal::Recorder recorder(device);
  recorder.fill(x, 1);
  const hal::CommandBuffer commands = recorder.finish().value();
  const auto burst = [&] {
    for (int i = 0; i < kBurst; ++i) {
      check(queue.execute_and_wait(commands, {}));
      check(queue.barrier_and_wait({.signal = {{done, ++value}}}));
    }
  };
  EXPECT_EQ(least_system_calls(burst), 0u);
}

TEST_F(Counts, SignalWithoutAWaiterTakesNoLockAndMakesNoSystemCall) {
  if (!can_step()) GTEST_SKIP() << "cannot single-step here";
  check(done.signal(++value));
  const Steps steps = least_steps([&] { check(done.signal(++value)); });
  report("signal", steps);
  EXPECT_EQ(steps.locks, 0u);
  EXPECT_EQ(steps.system_calls, 0u);
  EXPECT_LE(steps.read_modify_writes, 1u);
}

TEST_F(Counts, ReachedWaitTakesNoLockAndWritesNothingShared) {
  if (!can_step()) GTEST_SKIP() << "cannot single-step here";
  const Steps steps = least_steps([&] { check(done.wait(0)); });
  report("wait", steps);
  EXPECT_EQ(steps.locks, 0u);
  EXPECT_EQ(steps.system_calls, 0u);
  EXPECT_EQ(steps.read_modify_writes, 0u);
}

// The target of B2.inline (docs/benchmarks.md).
TEST_F(Counts, BarrierAndWaitTakesSixteenReadModifyWritesAtMost) {
  if (!can_step()) GTEST_SKIP() << "cannot single-step here";
  const auto body = [&] { check(queue.barrier_and_wait({.signal = {{done, ++value}}})); };
  for (int i = 0; i < 300; ++i) body();
  const Steps steps = least_steps(body);
  report("barrier_and_wait", steps);
  EXPECT_EQ(steps.system_calls, 0u);
  EXPECT_LE(steps.read_modify_writes, 16u);
}

TEST_F(Counts, ParkingCostsTheSameWithFewAndWithManyParked) {
  if (!can_step()) GTEST_SKIP() << "cannot single-step here";
  const hal::Semaphore gate = device.create_semaphore().value();
  std::uint64_t next = 0;
  const auto park = [&] {
    ++next;
    check(queue.barrier({.wait = {{gate, next}}, .signal = {{done, next}}}));
  };
  const auto park_many = [&](int count) {
    for (int i = 0; i < count; ++i) park();
  };
  park_many(5000);  // allocates the memory for all of them
  check(gate.signal(next));
  check(done.wait(next, 20s));
  park_many(500);
  const Steps few = least_steps(park);
  park_many(4000);
  const Steps many = least_steps(park);
  report("park", many);
  EXPECT_LE(many.read_modify_writes, few.read_modify_writes);
  EXPECT_LE(static_cast<double>(many.instructions), 1.2 * static_cast<double>(few.instructions));
  check(gate.signal(next));
  check(done.wait(next, 20s));
}

}  // namespace
}  // namespace halyard::counts

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  return halyard::hal::shutdown(std::chrono::seconds(20)).ok() ? result : 1;
}
