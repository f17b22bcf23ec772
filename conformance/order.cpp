// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order: semaphores order submissions across queues and devices, in any order of submission;
// nothing else does.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace order {
namespace {

using namespace std::chrono_literals;
using hal::Buffer;
using hal::Point;
using hal::Queue;
using hal::Semaphore;

std::uint32_t word(const Buffer& buffer, std::size_t index = 0) {
  return buffer.map().value().as<std::uint32_t>()[index];
}

// ---- Chains

void host_signal_starts_a_chain_of_twelve(Context& t) {
  const Semaphore s = t.semaphore();
  for (std::uint64_t i = 1; i <= 12; ++i) {
    VERIFY_OK(t.queue().barrier({.wait = {{s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_CODE(s.wait(2, kNow), StatusCode::kDeadlineExceeded);
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(13, kWatchdog));
}

// Each link copies a word to the next buffer; the last link is submitted first. Uses both devices
// if they share memory.
void chain_submitted_in_reverse_carries_memory(Context& t) {
  constexpr std::size_t kLinks = 12;
  const std::size_t devices = t.shares_memory() ? 2 : 1;
  std::vector<Queue> queues = t.queues();
  queues.resize(2 * devices);
  const Semaphore s = t.semaphore();
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i <= kLinks; ++i) buffers.push_back(t.buffer(4096, 0, i % devices));
  for (std::size_t i = kLinks; i-- > 0;) {
    VERIFY_OK(queues[i % queues.size()].copy(buffers[i], buffers[i + 1],
                                             {.wait = {{s, i + 1}}, .signal = {{s, i + 2}}}));
  }
  VERIFY_CODE(s.wait(2, kAWhile), StatusCode::kDeadlineExceeded);
  buffers[0].map().value().as<std::uint32_t>()[1023] = 4711;
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(kLinks + 1, kWatchdog));
  VERIFY_EQ(word(buffers[kLinks], 1023), 4711u);
}

void wait_before_its_signal_on_the_same_queue_is_legal(Context& t) {
  const Semaphore s = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.queue().barrier({.wait = {{s, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(t.queue().barrier({.signal = {{s, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
}

void wait_before_its_signal_on_another_queue_is_legal(Context& t) {
  for (const bool copy_first : {false, true}) {
    const Semaphore s = t.semaphore();
    const Semaphore done = t.semaphore();
    const Queue first = copy_first ? t.copy_queue() : t.compute();
    const Queue second = copy_first ? t.compute() : t.copy_queue();
    VERIFY_OK(first.barrier({.wait = {{s, 1}}, .signal = {{done, 1}}}));
    VERIFY_OK(second.barrier({.signal = {{s, 1}}}));
    VERIFY_OK(done.wait(1, kWatchdog));
  }
}

void wait_before_its_signal_on_another_device_is_legal(Context& t) {
  const Semaphore s = t.semaphore();
  const Semaphore done = t.device(1).create_semaphore().value();
  VERIFY_OK(t.queue(0).barrier({.wait = {{s, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(t.queue(1).barrier({.signal = {{s, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
}

// Each round copies to its own part of the result, so that no later round hides a missed write. In
// the first pass each submission may run at once; in the second all are submitted before any runs.
void edges_between_queues_order_memory(Context& t) {
  constexpr std::uint64_t kSize = 64 << 10;
  constexpr std::uint32_t kRounds = 50;
  for (const bool open : {true, false}) {
    const Buffer buffer = t.buffer(kSize);
    const Buffer result = t.buffer(kSize * kRounds);
    const Semaphore s = t.semaphore(open ? 1 : 0);
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const std::uint64_t base = 2 * round + 1;
      VERIFY_OK(
          t.compute().fill(buffer, round + 1, 4, {.wait = {{s, base}}, .signal = {{s, base + 1}}}));
      VERIFY_OK(t.copy_queue().copy(buffer, {result, kSize * round, kSize},
                                    {.wait = {{s, base + 1}}, .signal = {{s, base + 2}}}));
    }
    if (!open) VERIFY_OK(s.signal(1));
    VERIFY_OK(s.wait(2 * kRounds + 1, kWatchdog));
    verify_rounds<std::uint32_t>(t, result, kSize);
  }
}

void edges_between_devices_order_memory(Context& t) {
  t.needs_access(1, 0);
  const hal::Function increment[2] = {t.kernel("increment", 0), t.kernel("increment", 1)};
  const Buffer counter = t.buffer(4);
  const Semaphore s = t.semaphore();
  for (std::uint64_t i = 0; i < 200; ++i) {
    VERIFY_OK(t.compute(i % 2).dispatch(increment[i % 2], {.items = {1}}, {counter},
                                        {std::uint32_t{1}},
                                        {.wait = {{s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_OK(s.wait(200, kWatchdog));
  VERIFY_EQ(word(counter), 200u);
}

void diamond_joins_both_branches(Context& t) {
  const Buffer buffer = t.buffer(16);
  const std::vector<Semaphore> s = t.semaphores(4);
  const auto part = [&](std::size_t i) { return hal::BufferRange(buffer, 4 * i, 4); };
  VERIFY_OK(
      t.compute().fill(part(3), 9, 4, {.wait = {{s[1], 1}, {s[2], 1}}, .signal = {{s[3], 1}}}));
  VERIFY_OK(t.compute().copy(part(0), part(1), {.wait = {{s[0], 1}}, .signal = {{s[1], 1}}}));
  VERIFY_OK(t.copy_queue().copy(part(0), part(2), {.wait = {{s[0], 1}}, .signal = {{s[2], 1}}}));
  VERIFY_OK(t.compute().fill(part(0), 5, 4, {.signal = {{s[0], 1}}}));
  VERIFY_OK(s[3].wait(1, kWatchdog));
  VERIFY_EQ(word(buffer, 1), 5u);
  VERIFY_EQ(word(buffer, 2), 5u);
  VERIFY_EQ(word(buffer, 3), 9u);
}

// ---- No order without semaphores

void parked_submission_does_not_delay_a_later_one(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore parked = t.semaphore();
  for (int i = 0; i < 100; ++i) {
    VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}}));
  }
  VERIFY_OK(t.queue().barrier({.wait = {{gate, 1}}, .signal = {{parked, 1}}}));
  VERIFY_OK(t.queue().barrier_and_wait({}, kWatchdog));
  const Buffer buffer = t.buffer(4);
  t.finish([&](const hal::SubmitInfo& info) { return t.queue().fill(buffer, 6, 4, info); });
  VERIFY_EQ(word(buffer), 6u);
  VERIFY_VALUE(parked, 0);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(parked.wait(1, kWatchdog));
}

void later_dispatch_passes_a_parked_one(Context& t) {
  const hal::Function increment = t.kernel("increment");
  const Semaphore gate = t.semaphore();
  const Semaphore first = t.semaphore();
  const Semaphore second = t.semaphore();
  const Buffer a = t.buffer(4);
  const Buffer b = t.buffer(4);
  VERIFY_OK(t.compute().dispatch(increment, {.items = {1}}, {a}, {std::uint32_t{1}},
                                 {.wait = {{gate, 1}}, .signal = {{first, 1}}}));
  VERIFY_OK(t.compute().dispatch(increment, {.items = {1}}, {b}, {std::uint32_t{1}},
                                 {.signal = {{second, 1}}}));
  VERIFY_OK(second.wait(1, kWatchdog));
  VERIFY_EQ(word(a), 0u);
  VERIFY_EQ(word(b), 1u);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(first.wait(1, kWatchdog));
  VERIFY_EQ(word(a), 1u);
}

void parked_submission_does_not_delay_a_host_call(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  for (int i = 0; i < 50; ++i) VERIFY_OK(t.queue().host_call([] {}, {.wait = {{gate, 1}}}));
  VERIFY_OK(t.queue().host_call([] {}, {.signal = {{done, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
}

// ---- Behind a closed gate

void twenty_thousand_increments_behind_a_gate_give_twenty_thousand(Context& t) {
  constexpr std::uint64_t kCount = 20000;
  const hal::Function increment = t.kernel("increment");
  const Buffer counter = t.buffer(4);
  const Semaphore gate = t.semaphore();
  const Semaphore s = t.semaphore();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    check(t.compute().dispatch(increment, {.items = {1}}, {counter}, {std::uint32_t{1}},
                               {.wait = {{gate, 1}, {s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_EQ(word(counter), 0u);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(s.wait(kCount, kWatchdog));
  VERIFY_EQ(word(counter), kCount);
}

void recorded_increments_behind_a_gate_are_all_counted(Context& t) {
  constexpr std::uint64_t kCount = 2000;
  const hal::Function increment = t.kernel("increment");
  const Buffer counter = t.buffer(4);
  const Semaphore gate = t.semaphore();
  const Semaphore s = t.semaphore();
  hal::Recorder recorder(t.device());
  recorder.dispatch(increment, {.items = {1}}, {counter}, {std::uint32_t{1}});
  const hal::CommandBuffer commands = recorder.finish().value();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    check(t.compute().execute(commands, {.wait = {{gate, 1}, {s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(s.wait(kCount, kWatchdog));
  VERIFY_EQ(word(counter), kCount);
}

void ready_work_beyond_what_the_device_holds_is_all_done(Context& t) {
  constexpr std::uint64_t kCount = 5000;
  const Buffer buffer = t.buffer(4 * kCount);
  const Semaphore s = t.semaphore();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    check(t.queue().fill({buffer, 4 * i, 4}, static_cast<std::uint32_t>(i), 4,
                         {.wait = {{s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_OK(s.wait(kCount, kWatchdog));
  const auto words = buffer.map().value();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    if (words.as<std::uint32_t>()[i] != i) VERIFY_EQ(words.as<std::uint32_t>()[i], i);
  }
}

#define CASE(name) {"order", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"order", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE_ON_EVERY_QUEUE(host_signal_starts_a_chain_of_twelve),
    CASE(chain_submitted_in_reverse_carries_memory),
    CASE_ON_EVERY_QUEUE(wait_before_its_signal_on_the_same_queue_is_legal),
    CASE(wait_before_its_signal_on_another_queue_is_legal),
    CASE_ON_EVERY_QUEUE(wait_before_its_signal_on_another_device_is_legal),
    CASE(edges_between_queues_order_memory),
    CASE(edges_between_devices_order_memory),
    CASE(diamond_joins_both_branches),
    CASE_ON_EVERY_QUEUE(parked_submission_does_not_delay_a_later_one),
    CASE(later_dispatch_passes_a_parked_one),
    CASE_ON_EVERY_QUEUE(parked_submission_does_not_delay_a_host_call),
    CASE(twenty_thousand_increments_behind_a_gate_give_twenty_thousand),
    CASE(recorded_increments_behind_a_gate_are_all_counted),
    CASE_ON_EVERY_QUEUE(ready_work_beyond_what_the_device_holds_is_all_done),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace order

std::span<const Case> order_cases() noexcept { return order::kCases; }

}  // namespace halyard::inline v0::conformance
