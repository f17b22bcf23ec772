// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fill, update and copy as queue operations, on every kind of queue.
#include <algorithm>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace transfer {
namespace {

using hal::Buffer;
using hal::BufferRange;
using hal::Semaphore;
using hal::SubmitInfo;

constexpr std::uint64_t kLarge = 256 << 10;

void fill(Context& t, const BufferRange& target, std::uint32_t pattern, std::uint32_t size) {
  t.finish([&](const SubmitInfo& info) { return t.queue().fill(target, pattern, size, info); });
}
void update(Context& t, const Buffer& target, std::uint64_t offset, hal::Bytes source) {
  t.finish([&](const SubmitInfo& info) { return t.queue().update(target, offset, source, info); });
}
void copy(Context& t, const BufferRange& source, const BufferRange& target) {
  t.finish([&](const SubmitInfo& info) { return t.queue().copy(source, target, info); });
}

void fill_writes_its_range_alone(Context& t) {
  for (const FillClass& it : kFillClasses) {
    ByteVector expected = ramp(it.offset + it.length + 40);
    const Buffer buffer = t.buffer_of(std::span<const std::byte>(expected));
    fill(t, {buffer, it.offset, it.length}, 0xa1b2c3d4, it.pattern_size);
    model_fill(std::span(expected).subspan(it.offset, it.length), 0xa1b2c3d4, it.pattern_size);
    if (contents(buffer) != expected) {
      t.fail(__FILE__, __LINE__,
             fmt::format("pattern of {}, offset {}, length {}", it.pattern_size, it.offset,
                         it.length));
    }
  }
}

void fill_without_a_length_reaches_the_end(Context& t) {
  ByteVector expected = ramp(1000);
  const Buffer buffer = t.buffer_of(std::span<const std::byte>(expected));
  fill(t, {buffer, 100}, 0x1234, 2);
  model_fill(std::span(expected).subspan(100), 0x1234, 2);
  VERIFY(contents(buffer) == expected);
}

void fill_uses_the_low_bytes_of_its_pattern(Context& t) {
  const Buffer buffer = t.buffer(8);
  fill(t, buffer, 0x44332211, 1);
  VERIFY(contents(buffer) == ByteVector(8, std::byte{0x11}));
}

void fill_of_a_large_buffer(Context& t) {
  ByteVector expected(kLarge);
  const Buffer buffer = t.buffer(kLarge);
  fill(t, buffer, 0xdeadbeef, 4);
  model_fill(expected, 0xdeadbeef, 4);
  VERIFY(contents(buffer) == expected);
}

void update_writes_its_range_alone(Context& t) {
  for (const CopyClass& it : kUpdateClasses) {
    const ByteVector source = ramp(it.source + it.length);
    ByteVector expected(it.target + it.length + 40, std::byte{0x55});
    const Buffer buffer = t.buffer_of(std::span<const std::byte>(expected));
    update(t, buffer, it.target, std::span(source).subspan(it.source));
    std::ranges::copy(std::span(source).subspan(it.source), expected.begin() + it.target);
    if (contents(buffer) != expected) {
      t.fail(__FILE__, __LINE__,
             fmt::format("from {} to {}, length {}", it.source, it.target, it.length));
    }
  }
}

void update_of_a_large_buffer(Context& t) {
  const ByteVector source = ramp(kLarge);
  const Buffer buffer = t.buffer(kLarge);
  update(t, buffer, 0, source);
  VERIFY(contents(buffer) == source);
}

void update_takes_its_source_before_it_returns(Context& t) {
  for (const std::size_t size : {std::size_t{16}, std::size_t{100000}}) {
    const Semaphore gate = t.semaphore();
    const Semaphore done = t.semaphore();
    const Buffer buffer = t.buffer(size);
    ByteVector source = ramp(size);
    VERIFY_OK(t.queue().update(buffer, 0, source, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
    std::ranges::fill(source, std::byte{0xff});
    source = {};
    VERIFY_OK(gate.signal(1));
    VERIFY_OK(done.wait(1, kWatchdog));
    VERIFY(contents(buffer) == ramp(size));
  }
}

void update_of_a_subspan_lands_behind_its_offset(Context& t) {
  const Buffer buffer = t.buffer(64);
  const ByteVector source = ramp(8);
  update(t, buffer.subspan(16, 32).value(), 4, source);
  ByteVector expected(64);
  std::ranges::copy(source, expected.begin() + 20);
  VERIFY(contents(buffer) == expected);
}

void copy_of_every_alignment_and_length(Context& t) {
  const std::uint64_t size = kCopyLengths[std::size(kCopyLengths) - 1] + 64;
  const ByteVector source = ramp(size);
  const Buffer from = t.buffer_of(std::span<const std::byte>(source));
  const Buffer to = t.buffer(size);
  for (const CopyClass& at : kCopyAlignments) {
    for (const std::uint64_t length : kCopyLengths) {
      ByteVector expected(size, std::byte{0x33});
      set_contents(to, expected);
      copy(t, {from, at.source, length}, {to, at.target, length});
      std::ranges::copy(std::span(source).subspan(at.source, length), expected.begin() + at.target);
      if (contents(to) != expected) {
        t.fail(__FILE__, __LINE__,
               fmt::format("from {} to {}, length {}", at.source, at.target, length));
      }
    }
  }
}

void copy_of_a_whole_large_buffer(Context& t) {
  const ByteVector source = ramp(kLarge);
  const Buffer from = t.buffer_of(std::span<const std::byte>(source));
  const Buffer to = t.buffer(kLarge);
  copy(t, from, to);
  VERIFY(contents(to) == source);
}

void copy_within_one_buffer(Context& t) {
  ByteVector expected = ramp(300);
  const Buffer buffer = t.buffer_of(std::span<const std::byte>(expected));
  copy(t, {buffer, 10, 100}, {buffer, 110, 100});  // adjacent ranges
  std::copy_n(expected.begin() + 10, 100, expected.begin() + 110);
  VERIFY(contents(buffer) == expected);
  copy(t, {buffer, 200, 100}, {buffer, 50, 100});
  std::copy_n(expected.begin() + 200, 100, expected.begin() + 50);
  VERIFY(contents(buffer) == expected);
}

void copy_between_subspans(Context& t) {
  const ByteVector source = ramp(64);
  const Buffer from = t.buffer_of(std::span<const std::byte>(source));
  const Buffer to = t.buffer(64);
  copy(t, from.subspan(8, 16).value(), {to.subspan(32, 32).value(), 4, 16});
  ByteVector expected(64);
  std::copy_n(source.begin() + 8, 16, expected.begin() + 36);
  VERIFY(contents(to) == expected);
}

void transfers_of_nothing_complete_and_change_nothing(Context& t) {
  const Buffer buffer = t.buffer(16, 0x12);
  const Buffer empty = t.buffer(0);
  fill(t, {buffer, 8, 0}, 0xff, 1);
  fill(t, {buffer, 16}, 0xff, 4);
  fill(t, empty, 0xff, 4);
  update(t, buffer, 16, {});
  copy(t, {buffer, 0, 0}, {buffer, 0, 0});
  copy(t, empty, {buffer, 16});
  VERIFY(contents(buffer) == ByteVector(16, std::byte{0x12}));
}

void memory_of_every_type_takes_part_in_every_transfer(Context& t) {
  constexpr hal::MemoryType kTypes[] = {hal::MemoryType::kDeviceLocal,
                                        hal::MemoryType::kHostVisible, hal::MemoryType::kHostLocal};
  for (const hal::MemoryType from : kTypes) {
    for (const hal::MemoryType to : kTypes) {
      const Buffer a = t.device().allocate({.size = 4096, .memory = from}).value();
      const Buffer b = t.device().allocate({.size = 4096, .memory = to}).value();
      const Buffer result = t.buffer(4096);
      const ByteVector head = ramp(100);
      fill(t, a, 0x0badcafe, 4);
      update(t, a, 0, head);
      copy(t, a, b);
      copy(t, b, result);
      ByteVector expected(4096);
      model_fill(expected, 0x0badcafe, 4);
      std::ranges::copy(head, expected.begin());
      if (contents(result) != expected) {
        t.fail(__FILE__, __LINE__, fmt::format("{} to {}", to_string(from), to_string(to)));
      }
    }
  }
}

// Between devices that use each other's memory, and between others through host memory.
void copy_crosses_devices_in_both_directions(Context& t) {
  const ByteVector source = ramp(70000);
  for (const std::size_t on : {0u, 1u}) {
    const Buffer here = t.buffer_of(std::span<const std::byte>(source), 0);
    const Buffer there = t.buffer(70000, 0, 1);
    const Buffer back = t.buffer(70000, 0, 0);
    const Semaphore s = t.semaphore();
    VERIFY_OK(t.queue(on).copy(here, there, {.signal = {{s, 1}}}));
    VERIFY_OK(t.queue(on).copy(there, back, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
    VERIFY_OK(s.wait(2, kWatchdog));
    VERIFY(contents(there) == source);
    VERIFY(contents(back) == source);
  }
}

void copy_across_devices_of_every_memory_type_and_part(Context& t) {
  constexpr hal::MemoryType kTypes[] = {hal::MemoryType::kDeviceLocal,
                                        hal::MemoryType::kHostVisible, hal::MemoryType::kHostLocal};
  const ByteVector source = ramp(5000);
  for (const hal::MemoryType type : kTypes) {
    for (const std::size_t on : {0u, 1u}) {
      const Buffer from = t.buffer_of(std::span<const std::byte>(source), 0);
      const Buffer a = t.device(0).allocate({.size = 5000, .memory = type}).value();
      const Buffer b = t.device(1).allocate({.size = 5000, .memory = type}).value();
      const Buffer to = t.buffer(5000, 0x33, 1);
      const Semaphore s = t.semaphore();
      VERIFY_OK(t.queue(0).copy(from, a, {.signal = {{s, 1}}}));
      VERIFY_OK(
          t.queue(on).copy({a, 5, 4001}, {b, 77, 4001}, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
      VERIFY_OK(
          t.queue(1).copy({b, 77, 4001}, {to, 3, 4001}, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
      VERIFY_OK(t.queue(on).copy({a, 0, 0}, {b, 5000}, {.wait = {{s, 3}}, .signal = {{s, 4}}}));
      VERIFY_OK(s.wait(4, kWatchdog));
      ByteVector expected(5000, std::byte{0x33});
      std::copy_n(source.begin() + 5, 4001, expected.begin() + 3);
      if (contents(to) != expected) {
        t.fail(__FILE__, __LINE__, fmt::format("{} on device {}", to_string(type), on));
      }
    }
  }
}

// The copies are long enough to need several pieces, and wait for a value that is signalled later.
void long_copies_across_devices_are_whole_and_ordered(Context& t) {
  constexpr std::uint64_t kSize = (std::uint64_t{5} << 20) + 333;
  const ByteVector source = ramp(kSize);
  for (const std::size_t on : {0u, 1u}) {
    const Buffer from = t.buffer(kSize, 0, 0);
    const Buffer to = t.buffer(kSize, 0, 1);
    const Buffer back = t.buffer(kSize, 0, 0);
    const Semaphore s = t.semaphore();
    VERIFY_OK(t.queue(on).copy(to, back, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
    VERIFY_OK(t.queue(on).copy(from, to, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
    set_contents(from, source);
    VERIFY_OK(s.signal(1));
    VERIFY_OK(s.wait(3, kWatchdog));
    VERIFY(contents(back) == source);
    VERIFY_OK(t.queue(on).wait_idle(kWatchdog));
  }
}

void copy_across_devices_fails_and_is_cancelled_like_any(Context& t) {
  for (const std::size_t on : {0u, 1u}) {
    const Buffer from = t.buffer(5000, 1, 0);
    const Buffer to = t.buffer(5000, 2, 1);
    const Semaphore gate = t.semaphore();
    const Semaphore failed = t.semaphore();
    const Semaphore cancelled = t.semaphore();
    hal::Submission submission;
    VERIFY_OK(t.queue(on).copy(from, to, {.wait = {{gate, 1}}, .signal = {{failed, 1}}}));
    VERIFY_OK(t.queue(on).copy(
        from, to, {.wait = {{gate, 1}}, .signal = {{cancelled, 1}}, .submission = &submission}));
    VERIFY(submission.cancel());
    VERIFY_CODE(cancelled.wait(1, kWatchdog), StatusCode::kCancelled);
    gate.fail(Status(StatusCode::kDataLoss, "the source is bad"));
    VERIFY_CODE(failed.wait(1, kWatchdog), StatusCode::kDataLoss);
    VERIFY(contents(to) == ByteVector(5000, std::byte{2}));
    VERIFY_OK(t.queue(on).wait_idle(kWatchdog));
  }
}

void fill_then_copy_by_a_semaphore(Context& t) {
  const Buffer a = t.buffer(4096);
  const Buffer b = t.buffer(4096);
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.queue().copy(a, b, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(t.queue().fill(a, 0x42, 1, {.signal = {{s, 1}}}));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY(contents(b) == ByteVector(4096, std::byte{0x42}));
}

void update_then_copy_by_a_semaphore(Context& t) {
  const Buffer a = t.buffer(4096);
  const Buffer b = t.buffer(4096);
  const Semaphore s = t.semaphore();
  const ByteVector source = ramp(4096);
  VERIFY_OK(t.queue().copy(a, b, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(t.queue().update(a, 0, source, {.signal = {{s, 1}}}));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY(contents(b) == source);
}

void fill_copy_fill_by_a_semaphore(Context& t) {
  const Buffer a = t.buffer(4096);
  const Buffer b = t.buffer(4096);
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.queue().fill(a, 1, 1, {.signal = {{s, 1}}}));
  VERIFY_OK(t.queue().copy(a, b, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(t.queue().fill(a, 2, 1, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(s.wait(3, kWatchdog));
  VERIFY(contents(a) == ByteVector(4096, std::byte{2}));
  VERIFY(contents(b) == ByteVector(4096, std::byte{1}));
}

void barrier_keeps_what_its_waits_ordered(Context& t) {
  const Buffer a = t.buffer(4096);
  const Buffer b = t.buffer(4096);
  const Semaphore s = t.semaphore();
  VERIFY_OK(t.queue().fill(a, 9, 1, {.signal = {{s, 1}}}));
  VERIFY_OK(t.queue().barrier({.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(t.queue().copy(a, b, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(s.wait(3, kWatchdog));
  VERIFY(contents(b) == ByteVector(4096, std::byte{9}));
}

void transfers_without_an_order_all_happen(Context& t) {
  const Buffer buffer = t.buffer(64 * 1024);
  const Semaphore s = t.semaphore();
  std::vector<Semaphore> done = t.semaphores(64);
  std::vector<hal::Point> all;
  for (std::uint32_t i = 0; i < 64; ++i) {
    VERIFY_OK(t.queue().fill({buffer, i * 1024, 1024}, i + 1, 1, {.signal = {{done[i], 1}}}));
    all.emplace_back(done[i], 1);
  }
  VERIFY_OK(hal::wait_all(all, kWatchdog));
  const ByteVector bytes = contents(buffer);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != static_cast<std::byte>(i / 1024 + 1)) {
      t.fail(__FILE__, __LINE__, fmt::format("byte {}", i));
      break;
    }
  }
}

#define CASE(name) {"transfer", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(fill_writes_its_range_alone),
    CASE(fill_without_a_length_reaches_the_end),
    CASE(fill_uses_the_low_bytes_of_its_pattern),
    CASE(fill_of_a_large_buffer),
    CASE(update_writes_its_range_alone),
    CASE(update_of_a_large_buffer),
    CASE(update_takes_its_source_before_it_returns),
    CASE(update_of_a_subspan_lands_behind_its_offset),
    CASE(copy_of_every_alignment_and_length),
    CASE(copy_of_a_whole_large_buffer),
    CASE(copy_within_one_buffer),
    CASE(copy_between_subspans),
    CASE(transfers_of_nothing_complete_and_change_nothing),
    CASE(memory_of_every_type_takes_part_in_every_transfer),
    CASE(copy_crosses_devices_in_both_directions),
    CASE(copy_across_devices_of_every_memory_type_and_part),
    CASE(long_copies_across_devices_are_whole_and_ordered),
    CASE(copy_across_devices_fails_and_is_cancelled_like_any),
    CASE(fill_then_copy_by_a_semaphore),
    CASE(update_then_copy_by_a_semaphore),
    CASE(fill_copy_fill_by_a_semaphore),
    CASE(barrier_keeps_what_its_waits_ordered),
    CASE(transfers_without_an_order_all_happen),
};
#undef CASE

}  // namespace
}  // namespace transfer

std::span<const Case> transfer_cases() noexcept { return transfer::kCases; }

}  // namespace halyard::inline v0::conformance
