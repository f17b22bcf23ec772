// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools: memory that queues allocate and deallocate.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace pool {
namespace {

using hal::Buffer;
using hal::MemoryType;
using hal::Pool;
using hal::Queue;
using hal::Semaphore;
using hal::SubmitInfo;

constexpr std::uint64_t kSize = 4096;

Pool make_pool(const Context& t, std::uint64_t max_size = hal::kWholeSize) {
  return t.device()
      .create_pool(
          {.memory = MemoryType::kHostVisible, .slab_size = 4 * kSize, .max_size = max_size})
      .value();
}

Buffer allocate(const Queue& queue, const Pool& pool, std::uint64_t size,
                const SubmitInfo& info = {}) {
  return queue.allocate(pool, {.size = size, .memory = pool.memory_type()}, info).value();
}

// Allocates and waits until the memory is there.
Buffer allocate_now(const Queue& queue, const Pool& pool, std::uint64_t size, const Semaphore& s,
                    std::uint64_t value) {
  Buffer made = allocate(queue, pool, size, {.signal = {{s, value}}});
  check(s.wait(value, kWatchdog));
  return made;
}

void allocated_buffer_is_usable_after_the_signal(Context& t) {
  const Semaphore s = t.semaphore();
  const Buffer x = allocate_now(t.queue(), make_pool(t), kSize, s, 1);
  std::ranges::fill(x.map().value().bytes(), std::byte{1});
  t.finish([&](const SubmitInfo& info) { return t.queue().fill({x, 8, 8}, 2, 1, info); });
  VERIFY_EQ(contents(x)[7], std::byte{1});
  VERIFY_EQ(contents(x)[8], std::byte{2});
  VERIFY_EQ(contents(x)[16], std::byte{1});
}

void memory_is_not_given_before_the_waits_hold(Context& t) {
  const Pool pool = make_pool(t);
  const Semaphore s = t.semaphore();
  const Buffer x = allocate(t.queue(), pool, kSize, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  VERIFY_CODE(x.map(), StatusCode::kFailedPrecondition);
  VERIFY_CODE(s.wait(2, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY_CODE(x.map(), StatusCode::kFailedPrecondition);
  VERIFY_EQ(pool.statistics().used_bytes, 0u);
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY_OK(x.map());
}

void size_and_type_are_known_before_the_memory_is_there(Context& t) {
  const Semaphore gate = t.semaphore();
  for (const MemoryType type :
       {MemoryType::kDeviceLocal, MemoryType::kHostVisible, MemoryType::kHostLocal}) {
    const Buffer x = allocate(t.queue(), t.device().default_pool(type), 777, {.wait = {{gate, 1}}});
    VERIFY_EQ(x.size(), 777u);
    VERIFY_EQ(x.memory_type(), type);
    VERIFY_EQ(x.subspan(700).value().size(), 77u);
  }
}

void whole_life_is_submitted_ahead(Context& t) {
  const Semaphore s = t.semaphore();
  const Buffer result = t.buffer(kSize);
  const Buffer x = allocate(t.queue(), make_pool(t), kSize, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  VERIFY_OK(t.queue().fill(x, 0x5a, 1, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(t.queue().copy(x, result, {.wait = {{s, 3}}, .signal = {{s, 4}}}));
  VERIFY_OK(t.queue().deallocate(x, {.wait = {{s, 4}}, .signal = {{s, 5}}}));
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(5, kWatchdog));
  VERIFY(contents(result) == ByteVector(kSize, std::byte{0x5a}));
}

void every_transfer_takes_pool_memory(Context& t) {
  const Semaphore s = t.semaphore();
  const Pool pool = make_pool(t);
  const ByteVector bytes = ramp(kSize);
  const Buffer from = t.buffer_of(std::span<const std::byte>(bytes));
  const Buffer to = t.buffer(kSize);
  const Buffer x = allocate(t.queue(), pool, kSize, {.signal = {{s, 1}}});
  const Buffer y = allocate(t.queue(), pool, kSize, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  VERIFY_OK(t.queue().copy(from, x, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(t.queue().copy(x, y, {.wait = {{s, 3}}, .signal = {{s, 4}}}));
  VERIFY_OK(t.queue().fill({y, 0, 100}, 9, 1, {.wait = {{s, 4}}, .signal = {{s, 5}}}));
  VERIFY_OK(t.queue().update(y, 100, hal::Bytes(bytes.data(), 50),
                             {.wait = {{s, 5}}, .signal = {{s, 6}}}));
  VERIFY_OK(t.queue().copy(y, to, {.wait = {{s, 6}}, .signal = {{s, 7}}}));
  VERIFY_OK(s.wait(7, kWatchdog));
  ByteVector expected = bytes;
  std::fill_n(expected.begin(), 100, std::byte{9});
  std::copy_n(bytes.begin(), 50, expected.begin() + 100);
  VERIFY(contents(to) == expected);
}

void recordings_transfer_pool_memory(Context& t) {
  const Semaphore s = t.semaphore();
  const Pool pool = make_pool(t);
  const ByteVector bytes = ramp(kSize);
  const Buffer from = t.buffer_of(std::span<const std::byte>(bytes));
  const Buffer to = t.buffer(kSize);
  const Buffer x = allocate(t.queue(), pool, kSize, {.signal = {{s, 1}}});
  const Buffer y = allocate(t.queue(), pool, kSize, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  Recording recording(t);
  recording->copy(recording.whole(from), recording.whole(x)).barrier();
  recording->copy(recording.whole(x), recording.whole(y)).barrier();
  recording->fill(recording.ref(y, 7, 1), 9, 1).fill(recording.ref(y, 8, 92), 5, 4);
  recording->update(recording.ref(y, 100, 50), hal::Bytes(bytes.data(), 50)).barrier();
  recording->copy(recording.whole(y), recording.whole(to));
  const hal::CommandBuffer commands = recording.finish();
  VERIFY_OK(t.queue().execute(
      commands, {.bindings = recording.table(), .wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(t.queue().deallocate(x, {.wait = {{s, 3}}, .signal = {{s, 4}}}));
  VERIFY_OK(t.queue().deallocate(y, {.wait = {{s, 4}}, .signal = {{s, 5}}}));
  VERIFY_OK(s.wait(5, kWatchdog));
  ByteVector expected = bytes;
  expected[7] = std::byte{9};
  model_fill(std::span(expected).subspan(8, 92), 5, 4);
  std::copy_n(bytes.begin(), 50, expected.begin() + 100);
  VERIFY(contents(to) == expected);
}

void recording_refers_to_memory_that_comes_later(Context& t) {
  const Semaphore s = t.semaphore();
  const Buffer x = allocate(t.queue(), make_pool(t), 64, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  const Buffer y = t.buffer(64);
  Recording recording(t);
  recording->dispatch(t.kernel("group_places"), {.groups = 16}, {recording.ref(x)});
  recording->barrier().copy(recording.whole(x), recording.whole(y));
  const hal::CommandBuffer commands = recording.finish();
  VERIFY_OK(t.queue().execute(
      commands, {.bindings = recording.table(), .wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(t.queue().deallocate(x, {.wait = {{s, 3}}, .signal = {{s, 4}}}));
  VERIFY_OK(s.signal(1));
  VERIFY_OK(s.wait(4, kWatchdog));
  VERIFY_EQ(y.map().value().as<std::uint32_t>()[15], 16u);
  VERIFY_CODE(t.queue().execute(commands, {.bindings = recording.table()}),
              StatusCode::kFailedPrecondition);
}

void chained_cycles_need_no_host(Context& t) {
  const Semaphore s = t.semaphore();
  const Pool pool = make_pool(t, 4 * kSize);
  const Buffer sum = t.buffer(200);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t at = 4 * i;
    const Buffer x =
        allocate(t.queue(), pool, 3 * kSize, {.wait = {{s, at}}, .signal = {{s, at + 1}}});
    VERIFY_OK(t.queue().fill(x, static_cast<std::uint32_t>(i), 1,
                             {.wait = {{s, at + 1}}, .signal = {{s, at + 2}}}));
    VERIFY_OK(t.queue().copy({x, 3 * kSize - 1, 1}, {sum, i, 1},
                             {.wait = {{s, at + 2}}, .signal = {{s, at + 3}}}));
    VERIFY_OK(t.queue().deallocate(x, {.wait = {{s, at + 3}}, .signal = {{s, at + 4}}}));
  }
  VERIFY_OK(s.wait(800, kWatchdog));
  for (std::size_t i = 0; i < 200; ++i) VERIFY_EQ(contents(sum)[i], static_cast<std::byte>(i));
  VERIFY_EQ(pool.statistics().slabs, 1u);
  VERIFY_EQ(pool.statistics().reuses, 199u);
  VERIFY_EQ(pool.statistics().used_bytes, 0u);
}

void deallocated_buffer_is_refused(Context& t) {
  const Semaphore s = t.semaphore();
  const Pool pool = make_pool(t);
  const Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  VERIFY_OK(t.queue().deallocate(x, {.signal = {{s, 2}}}));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY_CODE(x.map(), StatusCode::kFailedPrecondition);
  VERIFY_CODE(t.queue().fill(x, 0, 4, {}), StatusCode::kFailedPrecondition);
  VERIFY_CODE(t.queue().copy(x, t.buffer(kSize), {}), StatusCode::kFailedPrecondition);
  VERIFY_CODE(t.queue().deallocate(x, {}), StatusCode::kFailedPrecondition);
  VERIFY_EQ(pool.statistics().blocks, 0u);
}

void failed_wait_of_a_deallocation_leaves_the_buffer(Context& t) {
  const Semaphore s = t.semaphore();
  const Semaphore gate = t.semaphore();
  const Semaphore ended = t.semaphore();
  const Buffer x = allocate_now(t.queue(), make_pool(t), kSize, s, 1);
  VERIFY_OK(t.queue().deallocate(x, {.wait = {{gate, 1}}, .signal = {{ended, 1}}}));
  gate.fail(Status(StatusCode::kDataLoss, "gone"));
  VERIFY_CODE(ended.wait(1, kWatchdog), StatusCode::kDataLoss);
  VERIFY_UNTIL(x.map().ok());
  t.finish([&](const SubmitInfo& info) { return t.queue().fill(x, 3, 1, info); });
  VERIFY(contents(x) == ByteVector(kSize, std::byte{3}));
  t.finish([&](const SubmitInfo& info) { return t.queue().deallocate(x, info); });
}

void failed_wait_of_an_allocation_fails_what_waits_for_it(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore s = t.semaphore();
  const Buffer x =
      allocate(t.queue(), make_pool(t), kSize, {.wait = {{gate, 1}}, .signal = {{s, 1}}});
  const Semaphore used = t.semaphore();
  VERIFY_OK(t.queue().fill(x, 0, 4, {.wait = {{s, 1}}, .signal = {{used, 1}}}));
  gate.fail(Status(StatusCode::kDataLoss, "gone"));
  VERIFY_CODE(s.wait(1, kWatchdog), StatusCode::kDataLoss);
  VERIFY_CODE(used.wait(1, kWatchdog), StatusCode::kDataLoss);
  VERIFY_CODE(x.map(), StatusCode::kFailedPrecondition);
}

void use_that_does_not_wait_for_the_allocation_fails(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore used = t.semaphore();
  const Buffer x = allocate(t.queue(), make_pool(t), kSize, {.wait = {{gate, 1}}});
  VERIFY_OK(t.queue().fill(x, 0, 4, {.signal = {{used, 1}}}));
  VERIFY_CODE(used.wait(1, kWatchdog), StatusCode::kFailedPrecondition);
}

void block_goes_from_queue_to_queue(Context& t) {
  const Pool pool = make_pool(t, kSize);
  const Buffer result = t.buffer(100);
  const std::vector<Semaphore> s = t.semaphores(100);
  for (std::size_t i = 0; i < 100; ++i) {
    // Nothing here orders the two queues: the pool must order their uses of the block.
    const Queue queue = i % 2 == 0 ? t.compute() : t.copy_queue();
    const Buffer x = allocate(queue, pool, kSize, {.signal = {{s[i], 1}}});
    VERIFY_OK(queue.fill(x, static_cast<std::uint32_t>(i), 1,
                         {.wait = {{s[i], 1}}, .signal = {{s[i], 2}}}));
    VERIFY_OK(queue.copy({x, kSize - 1, 1}, {result, i, 1},
                         {.wait = {{s[i], 2}}, .signal = {{s[i], 3}}}));
    VERIFY_OK(queue.deallocate(x, {.wait = {{s[i], 3}}, .signal = {{s[i], 4}}}));
  }
  for (const Semaphore& semaphore : s) VERIFY_OK(semaphore.wait(4, kWatchdog));
  for (std::size_t i = 0; i < 100; ++i) {
    VERIFY_EQ(contents(result)[i], static_cast<std::byte>(i));
  }
  VERIFY_EQ(pool.statistics().slabs, 1u);
}

// The first queue's last write goes to the block's first word, long after the second queue got the
// block, unless the pool makes the second one wait.
void block_freed_behind_slow_work_is_not_written_early(Context& t) {
  const Pool pool = make_pool(t, kSize);
  const Semaphore s = t.semaphore();
  const Semaphore other = t.semaphore();
  const Buffer x = allocate_now(t.compute(), pool, kSize, s, 1);
  set_contents(x, ByteVector(kSize, std::byte{1}));
  VERIFY_OK(t.compute().dispatch(t.kernel("busy"), {.groups = {1}}, {x}, {std::uint32_t{3'000'000}},
                                 {.signal = {{s, 2}}}));
  VERIFY_OK(t.compute().deallocate(x, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  const Buffer y = allocate(t.copy_queue(), pool, kSize, {.signal = {{other, 1}}});
  VERIFY_OK(t.copy_queue().fill(y, 7, 1, {.wait = {{other, 1}}, .signal = {{other, 2}}}));
  VERIFY_OK(other.wait(2, kWatchdog));
  VERIFY_OK(s.wait(3, kWatchdog));
  VERIFY(contents(y) == ByteVector(kSize, std::byte{7}));
}

void full_pool_waits_for_a_deallocation(Context& t) {
  const Pool pool = make_pool(t, kSize);
  const Semaphore s = t.semaphore();
  const Semaphore gate = t.semaphore();
  const Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  VERIFY_OK(t.queue().deallocate(x, {.wait = {{gate, 1}}}));
  const Buffer y = allocate(t.queue(), pool, kSize, {.signal = {{s, 2}}});
  VERIFY_CODE(s.wait(2, kAWhile), StatusCode::kDeadlineExceeded);
  VERIFY(t.device().dump_timelines().find("waits for 4096 bytes of pool") != std::string::npos);
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY_OK(y.map());
}

void full_pool_waits_until_a_buffer_is_dropped(Context& t) {
  const Pool pool = make_pool(t, 2 * kSize);
  const Semaphore s = t.semaphore();
  Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  const Buffer y = allocate(t.queue(), pool, 2 * kSize, {.signal = {{s, 2}}});
  const Status status = s.wait(2, kAWhile);
  VERIFY_CODE(status, StatusCode::kDeadlineExceeded);
  VERIFY(status.message().find("waits for 8192 bytes of pool") != std::string_view::npos);
  VERIFY(status.message().find("4096 of 8192 bytes are used, in 1 block;") !=
         std::string_view::npos);
  x = {};
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY_CODE(
      t.queue().allocate(pool, {.size = 2 * kSize + 1, .memory = MemoryType::kHostVisible}, {}),
      StatusCode::kResourceExhausted);
}

void given_up_allocation_lets_the_next_go(Context& t) {
  const Pool pool = make_pool(t, 2 * kSize);
  const Semaphore s = t.semaphore();
  const Semaphore next = t.semaphore();
  const Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  const Buffer large = allocate(t.queue(), pool, 2 * kSize, {.signal = {{s, 2}}});
  const Buffer small = allocate(t.queue(), pool, kSize / 2, {.signal = {{next, 1}}});
  VERIFY_CODE(next.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  s.give_up(2);
  VERIFY_CODE(s.wait(2, kWatchdog), StatusCode::kCancelled);
  VERIFY_OK(next.wait(1, kWatchdog));
}

void exhaustion_reaches_every_dependent_with_its_sizes(Context& t) {
  const Pool pool = make_pool(t);
  const Semaphore s = t.semaphore();
  const Buffer kept = allocate_now(t.queue(), pool, kSize, s, 1);
  const std::vector<Semaphore> chain = t.semaphores(3);
  const Semaphore other = t.device(1).create_semaphore().value();
  VERIFY_OK(t.copy_queue().barrier({.wait = {{chain[0], 1}}, .signal = {{chain[1], 1}}}));
  VERIFY_OK(t.queue(1).barrier({.wait = {{chain[1], 1}}, .signal = {{chain[2], 1}, {other, 1}}}));
  // In all more than the device has.
  const hal::DeviceInfo& info = t.device().info();
  const std::uint64_t size = std::min(info.limits.max_buffer_size, std::uint64_t{1} << 62);
  std::vector<Buffer> held;
  std::uint64_t used = kSize;
  for (std::uint64_t bytes = size; bytes <= info.memory_size; bytes += size) {
    const Semaphore given = t.semaphore();
    held.push_back(allocate(t.queue(), pool, size, {.signal = {{given, 1}}}));
    if (given.wait(1, kWatchdog).code() == StatusCode::kResourceExhausted) break;
    used += size;
  }
  const Buffer none = allocate(t.queue(), pool, size, {.signal = {{chain[0], 1}}});
  if (chain[0].wait(1, kWatchdog).ok()) {
    throw Skip{fmt::format("the device has {} bytes and gave more", info.memory_size)};
  }
  for (const Semaphore& each : {chain[0], chain[1], chain[2], other}) {
    const Status status = each.wait(1, kWatchdog);
    VERIFY_CODE(status, StatusCode::kResourceExhausted);
    VERIFY(status.message().find(fmt::format("no block of {} bytes: {} of", size, used)) != std::string_view::npos);
  }
  VERIFY_OK(kept.map());
}

void rounds_of_allocation_dispatch_and_deallocation_overlap(Context& t) {
  constexpr std::size_t kRounds = 30;
  const Pool pool = make_pool(t);
  const hal::Function increment = t.kernel("increment");
  const Buffer result = t.buffer(4 * kRounds);
  const std::vector<Semaphore> s = t.semaphores(kRounds);
  const Semaphore start = t.semaphore();
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    const Buffer x =
        allocate(t.compute(), pool, 4000, {.wait = {{start, 1}}, .signal = {{s[i], 1}}});
    Recording recording(t);
    recording->fill(recording.whole(x), i).barrier();
    recording->dispatch(increment, {.items = 1000}, {recording.ref(x)}, {std::uint32_t{1000}});
    recording->barrier();
    recording->copy(recording.ref(x, 3996, 4), recording.ref(result, 4 * i, 4));
    const hal::CommandBuffer commands = recording.finish();
    VERIFY_OK(t.compute().execute(
        commands, {.bindings = recording.table(), .wait = {{s[i], 1}}, .signal = {{s[i], 2}}}));
    VERIFY_OK(t.compute().deallocate(x, {.wait = {{s[i], 2}}, .signal = {{s[i], 3}}}));
  }
  VERIFY_OK(start.signal(1));
  for (const Semaphore& each : s) VERIFY_OK(each.wait(3, kWatchdog));
  const hal::Mapping words = result.map().value();
  for (std::uint32_t i = 0; i < kRounds; ++i) VERIFY_EQ(words.as<std::uint32_t>()[i], i + 1);
  VERIFY_EQ(pool.statistics().used_bytes, 0u);
}

void dropped_handles_return_the_memory(Context& t) {
  const Pool pool = make_pool(t);
  // One semaphore each: an allocation may overtake another that waits for a slab.
  const std::vector<Semaphore> s = t.semaphores(50);
  for (const Semaphore& each : s) {
    const Buffer x = allocate(t.queue(), pool, kSize, {.signal = {{each, 1}}});
    VERIFY_OK(t.queue().fill(x, 0, 4, {.wait = {{each, 1}}, .signal = {{each, 2}}}));
  }
  for (const Semaphore& each : s) VERIFY_OK(each.wait(2, kWatchdog));
  VERIFY_UNTIL(pool.statistics().blocks == 0);
  VERIFY_OK(pool.trim());
  VERIFY_UNTIL(pool.statistics().reserved_bytes == 0);
}

void trim_leaves_what_is_used(Context& t) {
  const Pool pool = make_pool(t);
  const Semaphore s = t.semaphore();
  const Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  set_contents(x, ramp(kSize));
  const Buffer y = allocate_now(t.queue(), pool, 8 * kSize, s, 2);
  t.finish([&](const SubmitInfo& info) { return t.queue().deallocate(y, info); });
  VERIFY_EQ(pool.statistics().slabs, 2u);
  VERIFY_OK(pool.trim());
  VERIFY_UNTIL(pool.statistics().slabs == 1);
  VERIFY(contents(x) == ramp(kSize));
}

void statistics_count_what_is_used_and_its_peak(Context& t) {
  const Pool pool = make_pool(t);
  const Semaphore s = t.semaphore();
  VERIFY_EQ(pool.statistics().reserved_bytes, 0u);
  const Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  const Buffer y = allocate_now(t.queue(), pool, kSize, s, 2);
  VERIFY_EQ(pool.statistics().blocks, 2u);
  VERIFY_EQ(pool.statistics().used_bytes, 2 * kSize);
  t.finish([&](const SubmitInfo& info) { return t.queue().deallocate(x, info); });
  VERIFY_EQ(pool.statistics().used_bytes, kSize);
  VERIFY_EQ(pool.statistics().peak_used_bytes, 2 * kSize);
  VERIFY_EQ(pool.statistics().reserved_bytes, 4 * kSize);
}

void peak_is_counted_anew_from_what_is_used(Context& t) {
  const Pool pool = make_pool(t);
  const Semaphore s = t.semaphore();
  const Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  const Buffer y = allocate_now(t.queue(), pool, 2 * kSize, s, 2);
  t.finish([&](const SubmitInfo& info) { return t.queue().deallocate(y, info); });
  VERIFY_OK(pool.reset_peak());
  VERIFY_EQ(pool.statistics().peak_used_bytes, kSize);
  const Buffer z = allocate_now(t.queue(), pool, kSize, s, 3);
  VERIFY_EQ(pool.statistics().peak_used_bytes, 2 * kSize);
  VERIFY_CODE(Pool().reset_peak(), StatusCode::kInvalidArgument);
}

void alignment_holds_in_a_pool(Context& t) {
  const Pool pool = make_pool(t);
  const Semaphore s = t.semaphore();
  std::uint64_t value = 0;
  std::vector<Buffer> kept;
  for (std::uint64_t alignment = 1; alignment <= 4096; alignment *= 2) {
    kept.push_back(
        t.queue()
            .allocate(pool, {100, MemoryType::kHostVisible, alignment}, {.signal = {{s, ++value}}})
            .value());
    VERIFY_OK(s.wait(value, kWatchdog));
    const auto address = reinterpret_cast<std::uintptr_t>(kept.back().map().value().bytes().data());
    VERIFY_EQ(address % std::max<std::uint64_t>(alignment, 64), 0u);
  }
}

void buffer_of_no_bytes_comes_and_goes(Context& t) {
  const Semaphore s = t.semaphore();
  const Buffer x = allocate_now(t.queue(), make_pool(t), 0, s, 1);
  VERIFY(x.map().value().bytes().empty());
  t.finish([&](const SubmitInfo& info) { return t.queue().deallocate(x, info); });
}

void peer_device_uses_pool_memory(Context& t) {
  t.needs_access(1, 0);
  const Semaphore s = t.semaphore();
  const Buffer x = allocate_now(t.queue(), make_pool(t), kSize, s, 1);
  VERIFY_OK(t.queue(1).fill(x, 4, 1, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(t.queue().deallocate(x, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(s.wait(3, kWatchdog));
}

void misuse_is_refused(Context& t) {
  const Pool pool = make_pool(t);
  const Buffer plain = t.buffer(8);
  const Semaphore s = t.semaphore();
  const Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  VERIFY_CODE(t.queue().deallocate(plain, {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(t.queue().deallocate(x.subspan(0, 8).value(), {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(t.queue().deallocate({}, {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(t.queue().allocate({}, {.size = 8}, {}), StatusCode::kInvalidArgument);
  VERIFY_CODE(t.queue().allocate(pool, {.size = 8, .memory = MemoryType::kHostLocal}, {}),
              StatusCode::kInvalidArgument);
  VERIFY_CODE(t.queue(1).allocate(pool, {.size = 8, .memory = MemoryType::kHostVisible}, {}),
              StatusCode::kPermissionDenied);
  VERIFY_CODE(t.queue(1).deallocate(x, {}), StatusCode::kPermissionDenied);
  VERIFY_CODE(t.device().create_pool({.slab_size = 0}), StatusCode::kInvalidArgument);
  VERIFY_OK(x.map());
}

// A refused call leaves no error in the device and its queues.
void refusal_of_what_is_in_use_is_no_error_of_the_device(Context& t) {
  const Pool pool = make_pool(t);
  const Semaphore s = t.semaphore();
  const Semaphore gate = t.semaphore();
  const Buffer x = allocate_now(t.queue(), pool, kSize, s, 1);
  VERIFY_OK(t.queue().deallocate(x, {.wait = {{gate, 1}}, .signal = {{s, 2}}}));
  const hal::Event event = t.device().create_event().value();
  const hal::CommandBuffer waits = hal::Recorder(t.device()).wait_event(event).finish().value();
  for (const Status& refused :
       {t.queue().deallocate(x, {}), t.queue().fill(x, 0, 4, {}), x.map().status(),
        t.queue().copy(x, t.buffer(kSize), {}), t.queue().execute(waits, {})}) {
    VERIFY_CODE(refused, StatusCode::kFailedPrecondition);
    VERIFY_OK(t.device().status());
    VERIFY_OK(t.queue().barrier_and_wait({}, kWatchdog));
  }
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY_OK(t.device().status());
}

void threads_share_a_tight_pool(Context& t) {
  const Pool pool = make_pool(t, 8 * kSize);
  {
    Threads threads;
    for (std::uint8_t id = 1; id <= 4; ++id) {
      threads.start([&, id] {
        const Queue queue = id % 2 == 0 ? t.compute() : t.copy_queue();
        const Semaphore s = t.semaphore();
        for (std::uint64_t at = 0; at < 3 * 100; at += 3) {
          const Buffer x = allocate(queue, pool, 256 * (1 + at * 5 % 16),
                                    {.wait = {{s, at}}, .signal = {{s, at + 1}}});
          VERIFY_OK(queue.fill(x, id, 1, {.wait = {{s, at + 1}}, .signal = {{s, at + 2}}}));
          if (at % 4 == 0) {
            VERIFY_OK(s.wait(at + 2, kWatchdog));
            VERIFY(contents(x) == ByteVector(x.size(), std::byte{id}));
          }
          VERIFY_OK(queue.deallocate(x, {.wait = {{s, at + 2}}, .signal = {{s, at + 3}}}));
        }
        VERIFY_OK(s.wait(300, kWatchdog));
      });
    }
  }
  VERIFY_EQ(pool.statistics().used_bytes, 0u);
}

#define CASE(name) {"pool", #name, name}
#define CASE_BY_EVERY_BINDING(name) {"pool", #name, name, Vary::kBindings}
#define CASE_ON_EVERY_QUEUE(name) {"pool", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE_ON_EVERY_QUEUE(allocated_buffer_is_usable_after_the_signal),
    CASE_ON_EVERY_QUEUE(memory_is_not_given_before_the_waits_hold),
    CASE_ON_EVERY_QUEUE(size_and_type_are_known_before_the_memory_is_there),
    CASE_ON_EVERY_QUEUE(whole_life_is_submitted_ahead),
    CASE_ON_EVERY_QUEUE(every_transfer_takes_pool_memory),
    {"pool", "recordings_transfer_pool_memory", recordings_transfer_pool_memory,
     Vary::kQueueKinds | Vary::kBindings},
    {"pool", "recording_refers_to_memory_that_comes_later",
     recording_refers_to_memory_that_comes_later, Vary::kBindings},
    CASE_ON_EVERY_QUEUE(chained_cycles_need_no_host),
    CASE_ON_EVERY_QUEUE(deallocated_buffer_is_refused),
    CASE_ON_EVERY_QUEUE(failed_wait_of_a_deallocation_leaves_the_buffer),
    CASE_ON_EVERY_QUEUE(failed_wait_of_an_allocation_fails_what_waits_for_it),
    CASE_ON_EVERY_QUEUE(use_that_does_not_wait_for_the_allocation_fails),
    CASE(block_goes_from_queue_to_queue),
    CASE(block_freed_behind_slow_work_is_not_written_early),
    CASE_ON_EVERY_QUEUE(full_pool_waits_for_a_deallocation),
    CASE_ON_EVERY_QUEUE(full_pool_waits_until_a_buffer_is_dropped),
    CASE_ON_EVERY_QUEUE(given_up_allocation_lets_the_next_go),
    CASE_ON_EVERY_QUEUE(exhaustion_reaches_every_dependent_with_its_sizes),
    CASE_BY_EVERY_BINDING(rounds_of_allocation_dispatch_and_deallocation_overlap),
    CASE_ON_EVERY_QUEUE(dropped_handles_return_the_memory),
    CASE_ON_EVERY_QUEUE(trim_leaves_what_is_used),
    CASE_ON_EVERY_QUEUE(statistics_count_what_is_used_and_its_peak),
    CASE_ON_EVERY_QUEUE(peak_is_counted_anew_from_what_is_used),
    CASE_ON_EVERY_QUEUE(alignment_holds_in_a_pool),
    CASE_ON_EVERY_QUEUE(buffer_of_no_bytes_comes_and_goes),
    CASE_ON_EVERY_QUEUE(peer_device_uses_pool_memory),
    CASE_ON_EVERY_QUEUE(misuse_is_refused),
    CASE_ON_EVERY_QUEUE(refusal_of_what_is_in_use_is_no_error_of_the_device),
    CASE(threads_share_a_tight_pool),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace pool

std::span<const Case> pool_cases() noexcept { return pool::kCases; }

}  // namespace halyard::inline v0::conformance
