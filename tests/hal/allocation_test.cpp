// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A submission in the steady state allocates nothing: a malloc of this program counts, on all
// threads.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "counts/allocations.h"
#include "hal/fake_driver.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

class SteadyState : public testing::FakeWorld {
 protected:
  SteadyState() { control->log_launches = false; }

  // Submits with the next signal and waits. Pools grow to the largest number of submissions in
  // flight and threads of the runtime start late, so the test requires one round without an
  // allocation.
  void expect_no_allocation(const std::function<Status(const SubmitInfo&)>& submit) {
    if (!counts::counts_allocations()) GTEST_SKIP() << "a sanitizer has replaced malloc";
    std::uint64_t value = 0;
    const auto run = [&](int times) {
      for (int i = 0; i < times; ++i) {
        const Point point(done, ++value);
        if (!submit({.signal = {&point, 1}}).ok() || !done.wait(value, 20s).ok()) return false;
      }
      return true;
    };
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < 10 && least != 0; ++i) {
      const std::uint64_t before = counts::allocations();
      ASSERT_TRUE(run(1000));
      least = std::min(least, counts::allocations() - before);
    }
    EXPECT_EQ(least, 0u);
  }

  Semaphore done = device.create_semaphore().value();
  Buffer x = buffer(100'000);
  Buffer y = buffer(100'000);
  Function saxpy = load(device).function(0).value();
};

TEST_F(SteadyState, TheCountIsReal) {
  if (!counts::counts_allocations()) GTEST_SKIP() << "a sanitizer has replaced malloc";
  const std::uint64_t before = counts::allocations();
  void* volatile memory = std::malloc(1);  // volatile, so that the compiler keeps both pairs
  std::free(memory);
  int* volatile number = new int;
  delete number;
  EXPECT_EQ(counts::allocations() - before, 2u);
}

TEST_F(SteadyState, BarrierAllocatesNothing) {
  expect_no_allocation([&](const SubmitInfo& info) { return queue.barrier(info); });
}

TEST_F(SteadyState, BarrierWithManyWaitsAllocatesNothing) {
  std::vector<Semaphore> semaphores;
  std::vector<Point> waits;
  for (int i = 0; i < 40; ++i) {
    semaphores.push_back(device.create_semaphore(1).value());
    waits.emplace_back(semaphores.back(), 1);
  }
  expect_no_allocation([&](const SubmitInfo& info) {
    return queue.barrier({.wait = waits, .signal = info.signal});
  });
}

TEST_F(SteadyState, BarrierAndWaitWithoutASignalAllocatesNothing) {
  expect_no_allocation([&](const SubmitInfo& info) {
    HALYARD_RETURN_IF_ERROR(queue.barrier_and_wait({}, 20s));
    return queue.barrier(info);
  });
}

TEST_F(SteadyState, CopiesAcrossDevicesAllocateNothing) {
  const Device other = registry.open("fake://?domain=own").value();
  const Buffer mine = buffer(3 << 20), theirs = other.allocate({.size = 3 << 20}).value();
  const Queue copies = other.queue(QueueKind::kCopy);
  std::uint64_t turn = 0;
  expect_no_allocation([&](const SubmitInfo& info) {
    // Usually a single piece, seldom several.
    const std::uint64_t length = ++turn % 100 == 0 ? 3 << 20 : 64;
    const Queue& on = turn % 2 == 0 ? queue : copies;
    if (turn % 3 == 0) return on.copy({theirs, 0, length}, {mine, 0, length}, info);
    return on.copy({mine, 0, length}, {theirs, 0, length}, info);
  });
}

TEST_F(SteadyState, TransfersAllocateNothing) {
  const std::vector<std::byte> source(65536);
  expect_no_allocation([&](const SubmitInfo& info) {
    HALYARD_RETURN_IF_ERROR(queue.fill({x, 0, 64}, 0, 4, {}));
    HALYARD_RETURN_IF_ERROR(queue.copy({x, 0, 64}, {y, 0, 64}, {}));
    HALYARD_RETURN_IF_ERROR(queue.update(x, 0, {source.data(), 100}, {}));
    return queue.update(x, 0, source, info);
  });
}

TEST_F(SteadyState, DispatchAllocatesNothing) {
  expect_no_allocation([&](const SubmitInfo& info) {
    return queue.dispatch(saxpy, {.items = 256}, {x, y}, {1.f, 2u}, info);
  });
}

TEST_F(SteadyState, IndirectDispatchAllocatesNothing) {
  expect_no_allocation([&](const SubmitInfo& info) {
    return queue.dispatch_indirect(saxpy, x, {x, y}, {1.f, 2u}, info);
  });
}

TEST_F(SteadyState, ExecuteAllocatesNothing) {
  Recorder recorder(device);
  recorder.fill(slot(0, 0, 64), 0).barrier().copy(slot(1, 0, 8), slot(2, 0, 8));
  const CommandBuffer small = recorder.finish().value();
  Recorder large_recorder(device);
  for (std::uint32_t i = 0; i < 50; ++i) large_recorder.fill(slot(i), i);
  const CommandBuffer large = large_recorder.finish().value();
  const std::vector<BufferRange> table(50, BufferRange(x, 0, 64));
  expect_no_allocation([&](const SubmitInfo& info) {
    HALYARD_RETURN_IF_ERROR(queue.execute(large, {.bindings = table}));
    return queue.execute(small, {.bindings = {x, x, y}, .signal = info.signal});
  });
}

TEST_F(SteadyState, EventsAcrossRecordingsAllocateNothing) {
  const Event event = device.create_event().value();
  const CommandBuffer set = Recorder(device).set_event(event).finish().value();
  const CommandBuffer wait = Recorder(device).wait_event(event).reset_event(event).finish().value();
  const Semaphore between = device.create_semaphore().value();
  std::uint64_t value = 0;
  expect_no_allocation([&](const SubmitInfo& info) {
    const Point point(between, ++value);
    HALYARD_RETURN_IF_ERROR(queue.execute(set, {.signal = {&point, 1}}));
    return queue.execute(wait, {.wait = {&point, 1}, .signal = info.signal});
  });
}

TEST_F(SteadyState, HostCallAllocatesNothing) {
  std::array<char, 150> state{};
  std::atomic<int> sum{0};
  expect_no_allocation([&](const SubmitInfo& info) {
    return queue.host_call([&sum, state] { sum += state[0]; }, info);
  });
}

TEST_F(SteadyState, ParkedSubmissionsAllocateNothing) {
  const Semaphore gate = device.create_semaphore().value();
  std::uint64_t value = 0;
  expect_no_allocation([&](const SubmitInfo& info) {
    const Point open(gate, ++value);
    HALYARD_RETURN_IF_ERROR(
        queue.fill({x, 0, 64}, 0, 4, {.wait = {&open, 1}, .signal = info.signal}));
    return gate.signal(value);
  });
}

TEST_F(SteadyState, ARefusedSubmissionLeavesNoBlockBehind) {
  // Errors allocate their message; the submission's blocks return nevertheless.
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(queue.dispatch(saxpy, {.items = 1}, {x, y}, {1.f, 2.f}, {}).ok());
  }
  expect_no_allocation([&](const SubmitInfo& info) {
    return queue.dispatch(saxpy, {.items = 256}, {x, y}, {1.f, 2u}, info);
  });
}

// Fails one allocation per round, each time the next, until none fails.
TEST_F(SteadyState, ARecordingThatLacksMemoryIsRefused) {
  if (!counts::counts_allocations()) GTEST_SKIP() << "a sanitizer has replaced malloc";
  const Event event = device.create_event().value();
  bool failed = true;
  std::uint64_t n = 0;
  while (failed) {
    Recorder recorder(device);
    {
      const counts::FailingAllocation nth(++n);
      recorder.set_event(event).wait_event(event).reset_event(event);
      recorder.copy(slot(3, 0, 64), slot(4, 0, 64));
      for (std::uint32_t i = 0; i < 100; ++i) {
        recorder.fill(x, i).barrier().dispatch(saxpy, {.items = 256}, {x, y}, {1.f, 2u});
      }
      failed = nth.has_failed();
    }
    EXPECT_EQ(recorder.finish().status().code(),
              failed ? StatusCode::kResourceExhausted : StatusCode::kOk)
        << "allocation " << n;
  }
  EXPECT_GT(n, 10u);
}

TEST_F(SteadyState, FileTransferAllocatesNothing) {
  const std::string path = ::testing::TempDir() + "halyard-steady-state";
  const File file = File::open(path, FileAccess::kReadWrite, FileCreation::kEmpty).value();
  std::remove(path.c_str());
  bool write = false;  // the first transfer writes, so that there are bytes to read
  expect_no_allocation([&](const SubmitInfo& info) {
    write = !write;
    return write ? queue.write({x, 0, 4096}, file, 0, info)
                 : queue.read(file, 0, {y, 0, 4096}, info);
  });
}

}  // namespace
}  // namespace halyard::hal
