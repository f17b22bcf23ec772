// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Created queues: the work that they run, and their end after the last handle is dropped.
#include <array>
#include <atomic>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace queue {
namespace {

using hal::Buffer;
using hal::Queue;
using hal::QueueInfo;
using hal::QueueKind;
using hal::QueuePriority;
using hal::Semaphore;

constexpr QueuePriority kPriorities[] = {QueuePriority::kLow, QueuePriority::kNormal,
                                         QueuePriority::kHigh};

void created_queues_of_each_kind_and_priority_run_work(Context& t) {
  for (const QueueKind kind : {QueueKind::kCompute, QueueKind::kCopy}) {
    for (const QueuePriority priority : kPriorities) {
      const Queue queue = t.device().create_queue({kind, priority}).value();
      VERIFY_EQ(queue.kind(), kind);
      VERIFY(queue != t.device().queue(kind));
      const Buffer buffer = t.buffer(64);
      t.finish([&](const auto& info) { return queue.fill(buffer, 7, 4, info); });
      VERIFY_EQ(buffer.map().value().as<std::uint32_t>()[15], 7u);
    }
  }
}

void semaphores_order_queues_of_all_priorities(Context& t) {
  std::vector<Queue> queues;
  for (const QueuePriority priority : kPriorities) {
    queues.push_back(t.device().create_queue({.priority = priority}).value());
  }
  const Semaphore chain = t.semaphore();
  const Buffer buffer = t.buffer(256);
  constexpr std::uint32_t kLinks = 300;
  for (std::uint32_t i = 0; i < kLinks; ++i) {
    check(queues[i % 3].fill(buffer, i + 1, 4, {.wait = {{chain, i}}, .signal = {{chain, i + 1}}}));
  }
  VERIFY_OK(chain.wait(kLinks, kWatchdog));
  VERIFY_EQ(buffer.map().value().as<std::uint32_t>()[63], kLinks);
}

void work_of_a_dropped_queue_goes_on(Context& t) {
  const Semaphore gate = t.semaphore(), done = t.semaphore();
  const Buffer buffer = t.buffer(64);
  {
    const Queue queue = t.device().create_queue({}).value();
    VERIFY_OK(queue.fill(buffer, 9, 4, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  }
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(buffer.map().value().as<std::uint32_t>()[0], 9u);
}

// No handle is left with which a thread could wait for it, or flush.
void work_of_a_dropped_queue_gives_back_what_it_used(Context& t) {
  const hal::Pool pool = t.device().create_pool({}).value();
  const Semaphore gate = t.semaphore(), allocated = t.semaphore();
  for (const bool is_parked : {false, true}) {
    {
      const Queue queue = t.device().create_queue({}).value();
      const Buffer x =
          queue.allocate(pool, {.size = 64}, {.signal = {{allocated, is_parked + 1u}}}).value();
      check(queue.fill(x, 9, 4,
                       {.wait = {{allocated, is_parked + 1u}, {gate, is_parked ? 1u : 0u}}}));
    }
    if (is_parked) VERIFY_OK(gate.signal(1));
    VERIFY_UNTIL(pool.statistics().blocks == 0);
  }
}

// The thread that retires the work destroys the callable, and with it the handle.
void last_handle_of_a_queue_may_be_its_works(Context& t) {
  alignas(64) std::array<std::byte, 4096> bytes{};
  std::atomic<std::uint64_t> released = 0;
  const Semaphore done = t.semaphore();
  for (std::uint64_t i = 1; i <= 30; ++i) {
    {
      const Queue queue = t.device().create_queue({}).value();
      const auto release = [queue, &released] { ++released; };
      const Buffer lent = t.device().import_memory(bytes, release).value();
      check(queue.fill(lent, 7, 1, {.signal = {{done, i}}}));
    }
    VERIFY_OK(done.wait(i, kWatchdog));
    VERIFY_UNTIL(released == i);
  }
  VERIFY_EQ(bytes[4095], std::byte{7});
}

void dropped_queue_leaves_nothing_to_the_next(Context& t) {
  const Semaphore gate = t.semaphore(), done = t.semaphore();
  {
    const Queue queue = t.device().create_queue({}).value();
    VERIFY_OK(queue.barrier({.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  }
  const Queue next = t.device().create_queue({}).value();
  VERIFY_OK(next.wait_idle(kWatchdog));
  VERIFY_VALUE(done, 0u);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void queues_can_be_created_and_dropped_without_end(Context& t) {
  const Semaphore done = t.semaphore();
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const QueueInfo info{.priority = kPriorities[i % 3]};
    const Queue queue = t.device().create_queue(info).value();
    check(queue.barrier({.signal = {{done, i}}}));
    VERIFY_OK(done.wait(i, kWatchdog));
  }
}

void queues_beyond_what_the_device_has_are_resource_exhausted(Context& t) {
  std::vector<Queue> queues;
  constexpr std::size_t kEnough = 100;
  while (queues.size() != kEnough) {
    Result<Queue> queue = t.device().create_queue({});
    if (!queue.ok()) {
      VERIFY_CODE(queue, StatusCode::kResourceExhausted);
      break;
    }
    queues.push_back(*std::move(queue));
  }
  VERIFY(!queues.empty());
  queues.pop_back();
  VERIFY_OK(t.device().create_queue({}));
}

// Many more than a lane takes at once.
void work_that_only_other_queues_wait_for_makes_room(Context& t) {
  const Queue first = t.device().create_queue({}).value();
  const Queue second = t.device().create_queue({}).value();
  const Semaphore between = t.semaphore(), done = t.semaphore();
  const Buffer buffer = t.buffer(64);
  const auto links = static_cast<std::uint32_t>(t.rounds(3'000));
  for (std::uint32_t i = 1; i <= links; ++i) {
    check(first.fill(buffer, i, 4, {.signal = {{between, i}}}));
    check(second.barrier({.wait = {{between, i}}, .signal = {{done, i}}}));
    VERIFY_OK(done.wait(i, kWatchdog));
  }
  VERIFY_EQ(buffer.map().value().as<std::uint32_t>()[15], links);
}

// They are kept for the same kind and priority.
void queues_without_a_handle_count_and_the_error_says_so(Context& t) {
  const QueueInfo info{.priority = QueuePriority::kLow};
  std::vector<Queue> queues;
  for (Result<Queue> queue = t.device().create_queue(info); queue.ok() && queues.size() != 100;
       queue = t.device().create_queue(info)) {
    queues.push_back(*std::move(queue));
  }
  if (queues.size() == 100) throw Skip{"the device has more than 100 queues"};
  const std::size_t count = queues.size();
  queues.clear();
  const Result<Queue> other = t.device().create_queue({.priority = QueuePriority::kHigh});
  VERIFY_CODE(other, StatusCode::kResourceExhausted);
  VERIFY(other.status().message().find(std::to_string(count) + " queue") != std::string::npos);
  VERIFY_OK(t.device().create_queue(info));
}

void created_queue_has_its_name_in_the_dump(Context& t) {
  const Semaphore never = t.semaphore();
  for (const char* const name : {"upload", "download"}) {
    const Queue queue = t.device().create_queue({.name = name}).value();
    check(queue.barrier({.wait = {{never, 1}}, .signal = {}}));
    VERIFY(t.device().dump_timelines().find(name) != std::string::npos);
  }
  VERIFY_OK(never.signal(1));
}

void created_copy_queue_runs_no_kernels(Context& t) {
  const Queue queue = t.device().create_queue({.kind = QueueKind::kCopy}).value();
  const Buffer buffer = t.buffer(256);
  VERIFY_CODE(queue.dispatch(t.kernel("increment"), {.groups = {1}}, {buffer}, {64u}, {}),
              StatusCode::kPermissionDenied);
}

void unknown_kind_or_priority_is_refused(Context& t) {
  VERIFY_CODE(t.device().create_queue({.kind = static_cast<QueueKind>(9)}),
              StatusCode::kInvalidArgument);
  VERIFY_CODE(t.device().create_queue({.priority = static_cast<QueuePriority>(9)}),
              StatusCode::kInvalidArgument);
  VERIFY_CODE(hal::Device().create_queue({}), StatusCode::kInvalidArgument);
}

void created_queue_keeps_its_device(Context& t) {
  const Semaphore done = t.semaphore();
  Queue queue = t.device().create_queue({}).value();
  t.drop_devices();
  VERIFY_OK(queue.barrier({.signal = {{done, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
}

#define CASE(name) {"queue", #name, name}
constexpr Case kCases[] = {
    CASE(created_queues_of_each_kind_and_priority_run_work),
    CASE(semaphores_order_queues_of_all_priorities),
    CASE(work_of_a_dropped_queue_goes_on),
    CASE(work_of_a_dropped_queue_gives_back_what_it_used),
    CASE(last_handle_of_a_queue_may_be_its_works),
    CASE(dropped_queue_leaves_nothing_to_the_next),
    CASE(queues_can_be_created_and_dropped_without_end),
    CASE(queues_beyond_what_the_device_has_are_resource_exhausted),
    CASE(queues_without_a_handle_count_and_the_error_says_so),
    CASE(work_that_only_other_queues_wait_for_makes_room),
    CASE(created_queue_has_its_name_in_the_dump),
    CASE(created_copy_queue_runs_no_kernels),
    CASE(unknown_kind_or_priority_is_refused),
    CASE(created_queue_keeps_its_device),
};
#undef CASE

}  // namespace
}  // namespace queue

std::span<const Case> queue_cases() noexcept { return queue::kCases; }

}  // namespace halyard::inline v0::conformance
