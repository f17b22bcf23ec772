// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recordings: each case with direct references and with slots, which must give equal results.
#include <algorithm>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace command_buffer {
namespace {

using hal::Buffer;
using hal::BufferRange;
using hal::CommandBuffer;
using hal::Recorder;
using hal::Semaphore;
using hal::slot;

void empty_recording_can_be_executed(Context& t) {
  Recorder recorder(t.device());
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_EQ(commands.command_count(), 0u);
  VERIFY_EQ(commands.slot_count(), 0u);
  for (int i = 0; i < 3; ++i) {
    VERIFY_OK(t.compute().execute_and_wait(commands, {}, kWatchdog));
    VERIFY_OK(t.copy_queue().execute_and_wait(commands, {}, kWatchdog));
  }
}

void recording_counts_its_commands_and_slots(Context& t) {
  Recorder recorder(t.device());
  recorder.fill(slot(2, 0, 4), 1).barrier().copy(slot(2, 0, 4), slot(5, 0, 4));
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_EQ(commands.command_count(), 3u);
  VERIFY_EQ(commands.slot_count(), 6u);
}

// ---- Transfers

void recorded_fill_writes_its_range_alone(Context& t) {
  for (const FillClass& it : kFillClasses) {
    ByteVector expected = ramp(it.offset + it.length + 40);
    const Buffer buffer = t.buffer_of(std::span<const std::byte>(expected));
    Recording recording(t);
    recording->fill(recording.ref(buffer, it.offset, it.length), 0xa1b2c3d4, it.pattern_size);
    recording.run();
    model_fill(std::span(expected).subspan(it.offset, it.length), 0xa1b2c3d4, it.pattern_size);
    if (contents(buffer) != expected) {
      t.fail(__FILE__, __LINE__,
             fmt::format("pattern of {}, offset {}, length {}", it.pattern_size, it.offset,
                         it.length));
    }
  }
}

void recorded_fill_without_a_length_reaches_the_end(Context& t) {
  ByteVector expected = ramp(1000);
  const Buffer buffer = t.buffer_of(std::span<const std::byte>(expected));
  Recording recording(t);
  recording->fill(recording.ref(buffer, 100), 0x1234, 2);
  recording.run();
  model_fill(std::span(expected).subspan(100), 0x1234, 2);
  VERIFY(contents(buffer) == expected);
}

void recorded_update_writes_its_range_alone(Context& t) {
  for (const CopyClass& it : kUpdateClasses) {
    const ByteVector source = ramp(it.source + it.length);
    ByteVector expected(it.target + it.length + 40, std::byte{0x55});
    const Buffer buffer = t.buffer_of(std::span<const std::byte>(expected));
    Recording recording(t);
    recording->update(recording.ref(buffer, it.target), std::span(source).subspan(it.source));
    recording.run();
    std::ranges::copy(std::span(source).subspan(it.source), expected.begin() + it.target);
    if (contents(buffer) != expected) {
      t.fail(__FILE__, __LINE__,
             fmt::format("from {} to {}, length {}", it.source, it.target, it.length));
    }
  }
}

void recorded_update_takes_its_source_at_once(Context& t) {
  const Buffer buffer = t.buffer(5000);
  ByteVector source = ramp(5000);
  Recording recording(t);
  recording->update(recording.ref(buffer), source);
  std::ranges::fill(source, std::byte{0xff});
  recording.run();
  VERIFY(contents(buffer) == ramp(5000));
}

void recorded_copy_of_every_alignment_and_length(Context& t) {
  const std::uint64_t size = kCopyLengths[std::size(kCopyLengths) - 1] + 64;
  const ByteVector source = ramp(size);
  const Buffer from = t.buffer_of(std::span<const std::byte>(source));
  const Buffer to = t.buffer(size);
  for (const CopyClass& at : kCopyAlignments) {
    for (const std::uint64_t length : kCopyLengths) {
      ByteVector expected(size, std::byte{0x33});
      set_contents(to, expected);
      Recording recording(t);
      recording->copy(recording.ref(from, at.source, length), recording.ref(to, at.target, length));
      recording.run();
      std::ranges::copy(std::span(source).subspan(at.source, length), expected.begin() + at.target);
      if (contents(to) != expected) {
        t.fail(__FILE__, __LINE__,
               fmt::format("from {} to {}, length {}", at.source, at.target, length));
      }
    }
  }
}

void recorded_copy_takes_the_length_of_its_other_side(Context& t) {
  const ByteVector source = ramp(64);
  const Buffer from = t.buffer_of(std::span<const std::byte>(source));
  const Buffer to = t.buffer(16);
  Recorder recorder(t.device());
  recorder.copy(slot(0, 8), BufferRange(to));
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_OK(t.queue().execute_and_wait(commands, {.bindings = {from}}, kWatchdog));
  VERIFY(contents(to) == ByteVector(source.begin() + 8, source.begin() + 24));
}

void large_recorded_transfers(Context& t) {
  constexpr std::uint64_t kSize = 256 << 10;
  const ByteVector source = ramp(kSize);
  const Buffer a = t.buffer(kSize);
  const Buffer b = t.buffer(kSize);
  const Buffer c = t.buffer(kSize);
  Recording recording(t);
  recording->update(recording.ref(a), source);
  recording->fill(recording.ref(c), 0xdeadbeef);
  recording->barrier();
  recording->copy(recording.whole(a), recording.ref(b));
  recording.run();
  VERIFY(contents(b) == source);
  ByteVector expected(kSize);
  model_fill(expected, 0xdeadbeef, 4);
  VERIFY(contents(c) == expected);
}

void recorded_transfers_of_nothing_change_nothing(Context& t) {
  const Buffer buffer = t.buffer(16, 0x12);
  Recording recording(t);
  recording->fill(recording.ref(buffer, 8, 0), 0xff, 1);
  recording->update(recording.ref(buffer, 16), {});
  recording->copy(recording.ref(buffer, 0, 0), recording.ref(buffer, 0, 0));
  recording.run();
  VERIFY(contents(buffer) == ByteVector(16, std::byte{0x12}));
}

void recorded_subspan_counts_from_its_offset(Context& t) {
  const Buffer buffer = t.buffer(64);
  const Buffer part = buffer.subspan(16, 32).value();
  Recording recording(t);
  recording->fill(recording.ref(part, 4, 8), 0x77, 1);
  recording.run();
  ByteVector expected(64);
  std::fill_n(expected.begin() + 20, 8, std::byte{0x77});
  VERIFY(contents(buffer) == expected);
}

// ---- Barriers

constexpr std::uint32_t kRounds = 20;
constexpr std::uint64_t kRoundBytes = 64 << 10;

void barrier_orders_the_commands_around_it(Context& t) {
  const Buffer a = t.buffer(kRoundBytes);
  const Buffer there = t.buffer(kRoundBytes * kRounds);
  const Buffer back = t.buffer(kRoundBytes * kRounds);
  Recording recording(t);
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    const auto part = [&](const Buffer& all) {
      return recording.ref(all, kRoundBytes * i, kRoundBytes);
    };
    recording->fill(recording.ref(a), i + 1, 1).barrier();
    recording->copy(recording.whole(a), part(there)).barrier();
    recording->fill(recording.ref(a), 0xee, 1).barrier();
    recording->copy(part(there), recording.ref(a)).barrier();
    recording->copy(recording.whole(a), part(back)).barrier();
  }
  recording.run();
  verify_rounds<std::uint8_t>(t, there, kRoundBytes);
  verify_rounds<std::uint8_t>(t, back, kRoundBytes);
}

void two_barriers_in_a_row_order_like_one(Context& t) {
  const Buffer a = t.buffer(kRoundBytes);
  const Buffer all = t.buffer(kRoundBytes * kRounds);
  Recording recording(t);
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    recording->fill(recording.ref(a), i + 1, 1).barrier().barrier().barrier();
    recording->copy(recording.whole(a), recording.ref(all, kRoundBytes * i, kRoundBytes));
    recording->barrier().barrier();
  }
  recording.run();
  verify_rounds<std::uint8_t>(t, all, kRoundBytes);
}

void leading_and_trailing_barriers_are_harmless(Context& t) {
  const Buffer a = t.buffer(64 << 10);
  const Buffer b = t.buffer(64 << 10);
  Recording recording(t);
  recording->barrier().barrier();
  recording->fill(recording.ref(a), 5, 1).barrier();
  recording->copy(recording.whole(a), recording.ref(b)).barrier();
  recording->fill(recording.ref(a), 6, 1).barrier().barrier();
  recording.run();
  VERIFY(contents(a) == ByteVector(64 << 10, std::byte{6}));
  VERIFY(contents(b) == ByteVector(64 << 10, std::byte{5}));
}

void barriers_alone_complete(Context& t) {
  Recording recording(t);
  for (int i = 0; i < 100; ++i) recording->barrier();
  recording.run();
}

void barrier_orders_dispatch_and_transfer(Context& t) {
  const hal::Function increment = t.kernel("increment");
  const Buffer a = t.buffer(4 * 1000);
  const Buffer b = t.buffer(4 * 1000);
  Recording recording(t);
  recording->fill(recording.ref(a), 41).barrier();
  recording->dispatch(increment, {.items = {1000}}, {recording.ref(a)}, {std::uint32_t{1000}});
  recording->barrier();
  recording->copy(recording.whole(a), recording.ref(b)).barrier();
  recording->dispatch(increment, {.items = {1000}}, {recording.ref(b)}, {std::uint32_t{1000}});
  recording.run();
  const auto words = b.map().value();
  VERIFY(std::ranges::all_of(words.as<std::uint32_t>(), [](auto w) { return w == 43; }));
}

void hundred_commands_fit_between_barriers(Context& t) {
  const Buffer a = t.buffer(400);
  const Buffer b = t.buffer(400);
  Recording recording(t);
  for (std::uint32_t i = 0; i < 100; ++i) recording->fill(recording.ref(a, 4 * i, 4), i);
  recording->barrier();
  for (std::uint32_t i = 0; i < 100; ++i) {
    recording->copy(recording.ref(a, 4 * i, 4), recording.ref(b, 396 - 4 * i, 4));
  }
  recording.run();
  const auto words = b.map().value();
  for (std::uint32_t i = 0; i < 100; ++i) VERIFY_EQ(words.as<std::uint32_t>()[i], 99 - i);
}

// ---- Repeated submission

void recording_is_executed_again_and_again(Context& t) {
  const hal::Function increment = t.kernel("increment");
  const Buffer counter = t.buffer(4);
  Recording recording(t);
  recording->dispatch(increment, {.items = {1}}, {recording.ref(counter)}, {std::uint32_t{1}});
  const CommandBuffer commands = recording.finish();
  for (int i = 0; i < 50; ++i) {
    VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = recording.table()}, kWatchdog));
  }
  VERIFY_EQ(counter.map().value().as<std::uint32_t>()[0], 50u);
}

void recording_may_be_in_flight_many_times(Context& t) {
  const hal::Function increment = t.kernel("increment");
  const Buffer counter = t.buffer(4);
  Recording recording(t);
  recording->dispatch(increment, {.items = {1}}, {recording.ref(counter)}, {std::uint32_t{1}});
  recording->barrier();
  recording->dispatch(increment, {.items = {1}}, {recording.ref(counter)}, {std::uint32_t{1}});
  const CommandBuffer commands = recording.finish();
  const Semaphore s = t.semaphore();
  for (std::uint64_t i = 0; i < 100; ++i) {
    VERIFY_OK(t.compute().execute(
        commands, {.bindings = recording.table(), .wait = {{s, i}}, .signal = {{s, i + 1}}}));
  }
  VERIFY_OK(s.wait(100, kWatchdog));
  VERIFY_EQ(counter.map().value().as<std::uint32_t>()[0], 200u);
}

void recording_runs_on_both_queues_at_once(Context& t) {
  const Buffer a = t.buffer(4096, 3);
  const Buffer b = t.buffer(4096);
  Recording recording(t);
  recording->copy(recording.whole(a), recording.ref(b));
  const CommandBuffer commands = recording.finish();
  const Semaphore x = t.semaphore();
  const Semaphore y = t.semaphore();
  // All executions are submitted before the first may run.
  for (std::uint64_t i = 1; i <= 20; ++i) {
    VERIFY_OK(t.compute().execute(
        commands, {.bindings = recording.table(), .wait = {{y, i}}, .signal = {{x, i}}}));
    VERIFY_OK(t.copy_queue().execute(
        commands, {.bindings = recording.table(), .wait = {{x, i}}, .signal = {{y, i + 1}}}));
  }
  VERIFY_OK(y.signal(1));
  VERIFY_OK(y.wait(21, kWatchdog));
  VERIFY(contents(b) == ByteVector(4096, std::byte{3}));
}

void large_recording_runs_whole(Context& t) {
  const Buffer buffer = t.buffer(512 * 64);
  Recording recording(t);
  for (std::uint32_t i = 0; i < 512; ++i) recording->fill(recording.ref(buffer, 64 * i, 64), i + 1);
  recording.run();
  const auto words = buffer.map().value();
  for (std::uint32_t i = 0; i < 512; ++i) {
    if (words.as<std::uint32_t>()[16 * i + 15] != i + 1) {
      t.fail(__FILE__, __LINE__, fmt::format("fill {}", i));
    }
  }
}

// ---- Slots

void one_recording_takes_several_binding_tables(Context& t) {
  Recorder recorder(t.device());
  recorder.copy(slot(0, 0, 64), slot(1, 0, 64));
  const CommandBuffer commands = recorder.finish().value();
  std::vector<Buffer> from;
  std::vector<Buffer> to;
  const std::vector<Semaphore> done = t.semaphores(16);
  for (std::uint8_t i = 0; i < 16; ++i) {
    from.push_back(t.buffer(64, i + 1));
    to.push_back(t.buffer(64));
    VERIFY_OK(
        t.queue().execute(commands, {.bindings = {from[i], to[i]}, .signal = {{done[i], 1}}}));
  }
  for (std::uint8_t i = 0; i < 16; ++i) {
    VERIFY_OK(done[i].wait(1, kWatchdog));
    VERIFY(contents(to[i]) == contents(from[i]));
  }
}

void offsets_of_slot_and_binding_add_up(Context& t) {
  const Buffer buffer = t.buffer(64);
  Recorder recorder(t.device());
  recorder.fill(slot(0, 8, 8), 0x77, 1);
  const CommandBuffer commands = recorder.finish().value();
  const Buffer part = buffer.subspan(16).value();
  VERIFY_OK(t.queue().execute_and_wait(commands, {.bindings = {{part, 4, 20}}}, kWatchdog));
  ByteVector expected(64);
  std::fill_n(expected.begin() + 28, 8, std::byte{0x77});
  VERIFY(contents(buffer) == expected);
}

void slot_without_a_length_ends_with_its_binding(Context& t) {
  const Buffer buffer = t.buffer(64);
  Recorder recorder(t.device());
  recorder.fill(slot(0), 0x77, 1);
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_OK(t.queue().execute_and_wait(commands, {.bindings = {{buffer, 8, 16}}}, kWatchdog));
  VERIFY_OK(t.queue().execute_and_wait(commands, {.bindings = {{buffer, 60}}}, kWatchdog));
  ByteVector expected(64);
  std::fill_n(expected.begin() + 8, 16, std::byte{0x77});
  std::fill_n(expected.begin() + 60, 4, std::byte{0x77});
  VERIFY(contents(buffer) == expected);
}

void direct_and_slot_references_mix(Context& t) {
  const Buffer from = t.buffer(64, 9);
  const Buffer to = t.buffer(64);
  Recorder recorder(t.device());
  recorder.copy(from, slot(0, 0, 64));
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_OK(t.queue().execute_and_wait(commands, {.bindings = {to}}, kWatchdog));
  VERIFY(contents(to) == contents(from));
}

void unused_slots_may_be_bound_to_nothing(Context& t) {
  const Buffer buffer = t.buffer(64);
  Recorder recorder(t.device());
  recorder.fill(slot(3), 0x33, 1);
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_OK(t.queue().execute_and_wait(commands, {.bindings = {{}, {}, {}, buffer}}, kWatchdog));
  VERIFY(contents(buffer) == ByteVector(64, std::byte{0x33}));
}

void table_may_be_longer_than_needed(Context& t) {
  const Buffer buffer = t.buffer(64);
  Recorder recorder(t.device());
  recorder.fill(slot(0), 0x33, 1);
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_OK(t.queue().execute_and_wait(commands, {.bindings = {buffer, {}, buffer}}, kWatchdog));
  VERIFY(contents(buffer) == ByteVector(64, std::byte{0x33}));
}

void highest_slot_works(Context& t) {
  const Buffer buffer = t.buffer(64);
  Recorder recorder(t.device());
  recorder.fill(slot(hal::kMaxSlots - 1), 0x44, 1);
  const CommandBuffer commands = recorder.finish().value();
  std::vector<BufferRange> table(hal::kMaxSlots);
  table.back() = buffer;
  VERIFY_OK(t.queue().execute_and_wait(commands, {.bindings = table}, kWatchdog));
  VERIFY(contents(buffer) == ByteVector(64, std::byte{0x44}));
}

// ---- Lifetime

void parked_execution_keeps_recording_table_and_memory(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  const Buffer result = t.buffer(4096);
  {
    const hal::Function function = t.kernel("increment");
    const Buffer source = t.buffer(4096, 1);
    Recording recording(t);
    recording->dispatch(function, {.items = {1024}}, {recording.ref(source)},
                        {std::uint32_t{1024}});
    recording->barrier();
    recording->copy(recording.whole(source), recording.ref(result));
    const CommandBuffer commands = recording.finish();
    VERIFY_OK(t.compute().execute(
        commands, {.bindings = recording.table(), .wait = {{gate, 1}}, .signal = {{done, 1}}}));
  }
  const Buffer other = t.buffer(4096, 0x55);  // would reuse freed memory
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  const auto words = result.map().value();
  VERIFY(std::ranges::all_of(words.as<std::uint32_t>(), [](auto w) { return w == 0x01010102; }));
}

void recording_keeps_direct_memory(Context& t) {
  const Buffer result = t.buffer(64);
  CommandBuffer commands;
  {
    const Buffer source = t.buffer(64, 7);
    Recorder recorder(t.device());
    recorder.copy(source, result);
    commands = recorder.finish().value();
  }
  const Buffer other = t.buffer(64, 0x55);
  VERIFY_OK(t.queue().execute_and_wait(commands, {}, kWatchdog));
  VERIFY(contents(result) == ByteVector(64, std::byte{7}));
}

void dropped_recording_frees_its_memory_only(Context& t) {
  const Buffer result = t.buffer(64);
  const std::uint64_t before = t.device().memory_statistics().allocations;
  CommandBuffer kept;
  {
    // Only the recordings keep these buffers.
    const Buffer shared = t.buffer(64, 7);
    const Buffer own = t.buffer(64, 8);
    Recorder first(t.device()), second(t.device());
    first.copy(shared, result);
    kept = first.finish().value();
    second.copy(shared, result).barrier().copy(own, result);
    const CommandBuffer dropped = second.finish().value();
  }
  const Buffer others[] = {t.buffer(64, 0x55), t.buffer(64, 0x55)};  // would reuse `own`'s memory
  VERIFY_OK(t.queue().execute_and_wait(kept, {}, kWatchdog));
  VERIFY(contents(result) == ByteVector(64, std::byte{7}));
  VERIFY_UNTIL(t.device().memory_statistics().allocations == before + 3);  // `shared` and `others`
  kept = {};
  VERIFY_UNTIL(t.device().memory_statistics().allocations == before + 2);
}

// ---- The recorder

void first_error_of_a_recorder_sticks(Context& t) {
  const Buffer buffer = t.buffer(16);
  Recorder recorder(t.device());
  recorder.fill(buffer, 1, 3);                    // no such pattern size
  recorder.fill(BufferRange(buffer, 100, 4), 1);  // beyond the end
  recorder.fill(buffer, 1);
  VERIFY_CODE(recorder.finish(), StatusCode::kInvalidArgument);
}

void second_finish_is_a_failed_precondition(Context& t) {
  Recorder recorder(t.device());
  VERIFY_OK(recorder.finish());
  VERIFY_CODE(recorder.finish(), StatusCode::kFailedPrecondition);
}

void finished_recorder_ignores_commands(Context& t) {
  const Buffer buffer = t.buffer(16, 1);
  Recorder recorder(t.device());
  const CommandBuffer commands = recorder.finish().value();
  recorder.fill(buffer, 2, 1).barrier().copy(buffer, buffer);
  VERIFY_EQ(commands.command_count(), 0u);
  VERIFY_CODE(recorder.finish(), StatusCode::kFailedPrecondition);
  VERIFY_OK(t.compute().execute_and_wait(commands, {}, kWatchdog));
  VERIFY(contents(buffer) == ByteVector(16, std::byte{1}));
}

void recorder_can_be_moved(Context& t) {
  const Buffer buffer = t.buffer(16);
  Recorder recorder(t.device());
  recorder.fill(buffer, 5, 1);
  Recorder moved = std::move(recorder);
  moved.barrier();
  const CommandBuffer commands = moved.finish().value();
  VERIFY_EQ(commands.command_count(), 2u);
  VERIFY_CODE(recorder.finish(), StatusCode::kFailedPrecondition);  // NOLINT: empty, by contract
}

void abandoned_recorder_does_nothing(Context& t) {
  const Buffer buffer = t.buffer(16, 1);
  {
    Recorder recorder(t.device());
    recorder.fill(buffer, 5, 1);
  }
  VERIFY_OK(t.compute().barrier_and_wait({}, kWatchdog));
  VERIFY(contents(buffer) == ByteVector(16, std::byte{1}));
}

void recordings_are_made_on_many_threads(Context& t) {
  const Buffer buffer = t.buffer(8 * 64);
  Threads threads;
  for (std::uint32_t i = 0; i < 8; ++i) {
    threads.start([&, i] {
      Recorder recorder(t.device());
      recorder.fill(BufferRange(buffer, 64 * i, 64), i + 1, 1);
      VERIFY_OK(t.queue().execute_and_wait(recorder.finish().value(), {}, kWatchdog));
    });
  }
  threads.join();
  const ByteVector bytes = contents(buffer);
  for (std::size_t i = 0; i < bytes.size(); ++i) VERIFY_EQ(bytes[i], std::byte(i / 64 + 1));
}

#define CASE(name) {"command_buffer", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"command_buffer", #name, name, Vary::kQueueKinds}
#define CASE_BY_EVERY_BINDING(name) {"command_buffer", #name, name, Vary::kBindings}
#define CASE_IN_EVERY_WAY(name) {"command_buffer", #name, name, Vary::kQueueKinds | Vary::kBindings}
constexpr Case kCases[] = {
    CASE(empty_recording_can_be_executed),
    CASE(recording_counts_its_commands_and_slots),
    CASE_IN_EVERY_WAY(recorded_fill_writes_its_range_alone),
    CASE_IN_EVERY_WAY(recorded_fill_without_a_length_reaches_the_end),
    CASE_IN_EVERY_WAY(recorded_update_writes_its_range_alone),
    CASE_IN_EVERY_WAY(recorded_update_takes_its_source_at_once),
    CASE_IN_EVERY_WAY(recorded_copy_of_every_alignment_and_length),
    CASE_ON_EVERY_QUEUE(recorded_copy_takes_the_length_of_its_other_side),
    CASE_IN_EVERY_WAY(large_recorded_transfers),
    CASE_IN_EVERY_WAY(recorded_transfers_of_nothing_change_nothing),
    CASE_IN_EVERY_WAY(recorded_subspan_counts_from_its_offset),
    CASE_IN_EVERY_WAY(barrier_orders_the_commands_around_it),
    CASE_IN_EVERY_WAY(two_barriers_in_a_row_order_like_one),
    CASE_IN_EVERY_WAY(leading_and_trailing_barriers_are_harmless),
    CASE_ON_EVERY_QUEUE(barriers_alone_complete),
    CASE_BY_EVERY_BINDING(barrier_orders_dispatch_and_transfer),
    CASE_IN_EVERY_WAY(hundred_commands_fit_between_barriers),
    CASE_BY_EVERY_BINDING(recording_is_executed_again_and_again),
    CASE_BY_EVERY_BINDING(recording_may_be_in_flight_many_times),
    CASE_BY_EVERY_BINDING(recording_runs_on_both_queues_at_once),
    CASE_IN_EVERY_WAY(large_recording_runs_whole),
    CASE_ON_EVERY_QUEUE(one_recording_takes_several_binding_tables),
    CASE_ON_EVERY_QUEUE(offsets_of_slot_and_binding_add_up),
    CASE_ON_EVERY_QUEUE(slot_without_a_length_ends_with_its_binding),
    CASE_ON_EVERY_QUEUE(direct_and_slot_references_mix),
    CASE_ON_EVERY_QUEUE(unused_slots_may_be_bound_to_nothing),
    CASE_ON_EVERY_QUEUE(table_may_be_longer_than_needed),
    CASE_ON_EVERY_QUEUE(highest_slot_works),
    CASE_BY_EVERY_BINDING(parked_execution_keeps_recording_table_and_memory),
    CASE_ON_EVERY_QUEUE(recording_keeps_direct_memory),
    CASE_ON_EVERY_QUEUE(dropped_recording_frees_its_memory_only),
    CASE(first_error_of_a_recorder_sticks),
    CASE(second_finish_is_a_failed_precondition),
    CASE(finished_recorder_ignores_commands),
    CASE(recorder_can_be_moved),
    CASE(abandoned_recorder_does_nothing),
    CASE_ON_EVERY_QUEUE(recordings_are_made_on_many_threads),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE
#undef CASE_BY_EVERY_BINDING
#undef CASE_IN_EVERY_WAY

}  // namespace
}  // namespace command_buffer

std::span<const Case> command_buffer_cases() noexcept { return command_buffer::kCases; }

}  // namespace halyard::inline v0::conformance
