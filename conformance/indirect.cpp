// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indirect dispatch: the device reads the group counts from memory when the command runs.
#include <algorithm>
#include <array>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace indirect {
namespace {

using hal::Buffer;
using hal::BufferRange;
using hal::CommandBuffer;
using hal::Recorder;
using hal::Semaphore;
using hal::slot;
using hal::SubmitInfo;
using Counts = std::array<std::uint32_t, 3>;

constexpr std::uint64_t kCountsSize = 12;

Buffer counts_of(const Context& t, const Counts& counts, std::size_t device = 0) {
  return t.buffer_of(std::span<const std::uint32_t>(counts), device);
}

hal::Bytes bytes_of(const Counts& counts) {
  return {reinterpret_cast<const std::byte*>(counts.data()), sizeof counts};
}

// The contents of zeroed memory after group_places with these counts; `size` elements.
std::vector<std::uint32_t> places(const Counts& counts, std::size_t size) {
  std::vector<std::uint32_t> expected(size, 0);
  const std::size_t total = std::size_t{counts[0]} * counts[1] * counts[2];
  for (std::size_t i = 0; i < total; ++i) {
    expected[i] = static_cast<std::uint32_t>(1 + i % counts[0] + 100 * (i / counts[0] % counts[1]) +
                                             10000 * (i / counts[0] / counts[1]));
  }
  return expected;
}

bool holds(const Buffer& buffer, const std::vector<std::uint32_t>& expected) {
  const hal::Mapping mapping = buffer.map().value();
  return std::ranges::equal(mapping.as<std::uint32_t>(), expected);
}

// Dispatches group_places by the queue itself, and waits for its end.
void dispatch_places(Context& t, const BufferRange& counts, const Buffer& out) {
  t.finish([&](const SubmitInfo& info) {
    return t.compute().dispatch_indirect(t.kernel("group_places"), counts, {out}, {}, info);
  });
}

constexpr Counts kGrids[] = {{1, 1, 1}, {7, 1, 1}, {1, 50, 1}, {1, 1, 50}, {5, 3, 2}, {64, 32, 16}};

// ---- Counts written by the host

void queue_reads_the_counts_of_every_shape(Context& t) {
  for (const Counts& counts : kGrids) {
    const std::size_t size = counts[0] * counts[1] * counts[2] + 10;
    const Buffer out = t.buffer(4 * size);
    dispatch_places(t, counts_of(t, counts), out);
    VERIFY(holds(out, places(counts, size)));
  }
}

void recording_reads_the_counts_of_every_shape(Context& t) {
  for (const Counts& counts : kGrids) {
    const std::size_t size = counts[0] * counts[1] * counts[2] + 10;
    const Buffer out = t.buffer(4 * size);
    const Buffer in = counts_of(t, counts);
    Recording recording(t);
    recording->dispatch_indirect(t.kernel("group_places"), recording.ref(in), {recording.ref(out)});
    recording.run();
    VERIFY(holds(out, places(counts, size)));
  }
}

void both_execute_forms_read_the_counts(Context& t) {
  const Buffer counts = counts_of(t, {1, 1, 1});
  const Buffer out = t.buffer(64);
  Recording recording(t);
  recording->dispatch_indirect(t.kernel("increment"), recording.ref(counts), {recording.ref(out)},
                               {std::uint32_t{16}});
  const CommandBuffer commands = recording.finish();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.compute().execute(commands, {.bindings = recording.table(), .signal = {{done, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = recording.table()}, kWatchdog));
  VERIFY(holds(out, std::vector<std::uint32_t>(16, 2)));
}

void counts_begin_at_their_offset(Context& t) {
  // {0, 0, 0, 9, 4, 3, 2, 9}: the counts are words 4 to 6.
  constexpr std::uint32_t kWords[] = {0, 0, 0, 9, 4, 3, 2, 9};
  const Buffer words = t.buffer_of(std::span<const std::uint32_t>(kWords));
  const Buffer part = words.subspan(8).value();
  const Buffer out = t.buffer(4 * 30);
  dispatch_places(t, {part, 8}, out);
  VERIFY(holds(out, places({4, 3, 2}, 30)));
  const Buffer recorded = t.buffer(4 * 30);
  Recording recording(t);
  recording->dispatch_indirect(t.kernel("group_places"), recording.ref(part, 8, kCountsSize),
                               {recording.ref(recorded)});
  recording.run();
  VERIFY(holds(recorded, places({4, 3, 2}, 30)));
}

void counts_and_bindings_may_be_direct_or_slots_in_any_mixture(Context& t) {
  const Buffer counts = counts_of(t, {5, 1, 1});
  const Buffer out[2] = {t.buffer(32), t.buffer(32)};
  Recorder recorder(t.device());
  recorder.dispatch_indirect(t.kernel("group_places"), counts, {slot(1)});
  recorder.dispatch_indirect(t.kernel("group_places"), slot(0, 4), {out[1]});
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_EQ(commands.command_count(), 2u);
  constexpr std::uint32_t kWords[] = {99, 99, 3, 2, 1};
  const Buffer words = t.buffer_of(std::span<const std::uint32_t>(kWords));
  VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = {{words, 4}, out[0]}}, kWatchdog));
  VERIFY(holds(out[0], places({5, 1, 1}, 8)));
  VERIFY(holds(out[1], places({3, 2, 1}, 8)));
}

void kernel_sees_the_number_of_groups_that_was_read(Context& t) {
  const Buffer out = t.buffer(4 * 3 * 24);
  t.finish([&](const SubmitInfo& info) {
    return t.compute().dispatch_indirect(t.kernel("group_counts"), counts_of(t, {4, 3, 2}), {out},
                                         {}, info);
  });
  const hal::Mapping y = out.map().value();
  for (std::size_t i = 0; i < 72; ++i) VERIFY_EQ(y.as<std::uint32_t>()[i], 4 - i % 3);
}

void bindings_and_constants_arrive_as_in_a_direct_dispatch(Context& t) {
  std::vector<std::uint32_t> values(300);
  for (std::uint32_t i = 0; i < 300; ++i) values[i] = i;
  const Buffer in = t.buffer_of(std::span<const std::uint32_t>(values));
  const Buffer out = t.buffer(1200);
  const Buffer counts = counts_of(t, {5, 1, 1});
  Recording recording(t);
  recording->dispatch_indirect(t.kernel("scale_and_offset"), recording.ref(counts),
                               {recording.ref(in), recording.ref(out)},
                               {std::int32_t{3}, std::int32_t{7}, std::uint32_t{300}});
  recording.run();
  for (std::uint32_t& value : values) value = 3 * value + 7;
  VERIFY(holds(out, values));
}

// ---- A count of zero

void zero_count_runs_nothing_but_waits_and_signals(Context& t) {
  for (const Counts& counts : {Counts{0, 1, 1}, Counts{4, 0, 4}, Counts{4, 4, 0}, Counts{}}) {
    const Buffer out = t.buffer(64);
    const Semaphore gate = t.semaphore();
    const Semaphore done = t.semaphore();
    VERIFY_OK(t.compute().dispatch_indirect(t.kernel("group_places"), counts_of(t, counts), {out},
                                            {}, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
    VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
    VERIFY_OK(gate.signal(1));
    VERIFY_OK(done.wait(1, kWatchdog));
    VERIFY(holds(out, std::vector<std::uint32_t>(16, 0)));
  }
}

void commands_after_a_zero_count_run(Context& t) {
  const Buffer counts = counts_of(t, {0, 5, 5});
  const Buffer untouched = t.buffer(64);
  const Buffer out = t.buffer(64);
  Recording recording(t);
  recording->dispatch_indirect(t.kernel("group_places"), recording.ref(counts),
                               {recording.ref(untouched)});
  recording->barrier().fill(recording.ref(out), 7);
  recording.run();
  VERIFY(holds(untouched, std::vector<std::uint32_t>(16, 0)));
  VERIFY(holds(out, std::vector<std::uint32_t>(16, 7)));
}

// ---- Counts written by earlier work

// Records commands that write {4, 2, 3} to zeroed counts, then the dispatch that reads them.
template <class F>
void verify_written_counts(Context& t, F&& write) {
  const Buffer counts = counts_of(t, {0, 0, 0});
  const Buffer out = t.buffer(4 * 30);
  Recording recording(t);
  write(recording, counts);
  recording->barrier();
  recording->dispatch_indirect(t.kernel("group_places"), recording.ref(counts),
                               {recording.ref(out)});
  recording.run();
  VERIFY(holds(out, places({4, 2, 3}, 30)));
}

void counts_of_an_earlier_update(Context& t) {
  verify_written_counts(t, [](Recording& recording, const Buffer& counts) {
    recording->update(recording.ref(counts), bytes_of({4, 2, 3}));
  });
}

void counts_of_earlier_fills(Context& t) {
  verify_written_counts(t, [](Recording& recording, const Buffer& counts) {
    recording->fill(recording.ref(counts, 0, 4), 4);
    recording->fill(recording.ref(counts, 4, 4), 2);
    recording->fill(recording.ref(counts, 8, 4), 3);
  });
}

void counts_of_an_earlier_copy(Context& t) {
  verify_written_counts(t, [&](Recording& recording, const Buffer& counts) {
    recording->copy(recording.whole(counts_of(t, {4, 2, 3})), recording.whole(counts));
  });
}

void counts_of_an_earlier_kernel(Context& t) {
  verify_written_counts(t, [&](Recording& recording, const Buffer& counts) {
    recording->dispatch(t.kernel("write_counts"), {.groups = {1}}, {recording.ref(counts)},
                        {std::uint32_t{4}, std::uint32_t{2}, std::uint32_t{3}});
  });
}

void counts_of_a_kernel_that_was_dispatched_indirectly(Context& t) {
  verify_written_counts(t, [&](Recording& recording, const Buffer& counts) {
    recording->dispatch_indirect(t.kernel("write_counts"), recording.ref(counts_of(t, {1, 1, 1})),
                                 {recording.ref(counts)},
                                 {std::uint32_t{4}, std::uint32_t{2}, std::uint32_t{3}});
  });
}

void later_write_of_the_counts_does_not_reach_back(Context& t) {
  const Buffer counts = counts_of(t, {5, 1, 1});
  const Buffer out = t.buffer(40);
  Recording recording(t);
  recording->dispatch_indirect(t.kernel("group_places"), recording.ref(counts),
                               {recording.ref(out)});
  recording->barrier().fill(recording.ref(counts), 1);
  recording.run();
  VERIFY(holds(out, places({5, 1, 1}, 10)));
  VERIFY(holds(counts, {1, 1, 1}));
}

void hundred_dispatches_of_a_recording_read_their_own_counts(Context& t) {
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < 100; ++i) words.insert(words.end(), {i % 5, 1, 1});
  const Buffer counts = t.buffer_of(std::span<const std::uint32_t>(words));
  const Buffer out = t.buffer(100 * 16);
  Recording recording(t);
  for (std::uint32_t i = 0; i < 100; ++i) {
    recording->dispatch_indirect(t.kernel("group_places"), recording.ref(counts, 12 * i, 12),
                                 {recording.ref(out, 16 * i, 16)});
  }
  recording.run();
  const hal::Mapping y = out.map().value();
  for (std::uint32_t i = 0; i < 400; ++i) {
    VERIFY_EQ(y.as<std::uint32_t>()[i], i % 4 < i / 4 % 5 ? 1 + i % 4 : 0);
  }
}

void counts_of_an_earlier_submission_on_another_queue(Context& t) {
  const Buffer counts = counts_of(t, {0, 0, 0});
  const Buffer out = t.buffer(4 * 30);
  const Semaphore written = t.semaphore();
  const Semaphore done = t.semaphore();
  // The dispatch is submitted first.
  VERIFY_OK(t.compute().dispatch_indirect(t.kernel("group_places"), counts, {out}, {},
                                          {.wait = {{written, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(t.copy_queue().update(counts, 0, bytes_of({4, 2, 3}), {.signal = {{written, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(holds(out, places({4, 2, 3}, 30)));
}

void counts_in_memory_of_another_device_written_there(Context& t) {
  t.needs_access(0, 1);
  const Buffer counts = counts_of(t, {0, 0, 0}, 1);
  const Buffer out = t.buffer(4 * 30);
  const Semaphore written = t.semaphore();
  const Semaphore done = t.semaphore();
  Recording recording(t);
  recording->dispatch_indirect(t.kernel("group_places"), recording.ref(counts),
                               {recording.ref(out)});
  VERIFY_OK(t.compute().execute(
      recording.finish(),
      {.bindings = recording.table(), .wait = {{written, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(t.compute(1).dispatch(t.kernel("write_counts", 1), {.groups = {1}}, {counts},
                                  {std::uint32_t{4}, std::uint32_t{2}, std::uint32_t{3}},
                                  {.signal = {{written, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(holds(out, places({4, 2, 3}, 30)));
}

void counts_change_between_two_executions_of_a_recording(Context& t) {
  const Buffer counts = counts_of(t, {0, 0, 0});
  const Buffer out = t.buffer(4 * 30);
  Recording recording(t);
  recording->fill(recording.ref(out), 0).barrier();
  recording->dispatch_indirect(t.kernel("group_places"), recording.ref(counts),
                               {recording.ref(out)});
  const CommandBuffer commands = recording.finish();
  for (const Counts& each : {Counts{2, 1, 1}, Counts{5, 3, 2}, Counts{0, 1, 1}, Counts{1, 7, 1}}) {
    t.finish([&](const SubmitInfo& info) {
      return t.copy_queue().update(counts, 0, bytes_of(each), info);
    });
    VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = recording.table()}, kWatchdog));
    VERIFY(holds(out, places(each, 30)));
  }
}

void parked_dispatch_keeps_its_counts(Context& t) {
  const Buffer out = t.buffer(40);
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.compute().dispatch_indirect(t.kernel("group_places"), counts_of(t, {5, 1, 1}), {out},
                                          {}, {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  const Buffer other = t.buffer(kCountsSize, 0xff);  // would reuse the counts' memory
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(holds(out, places({5, 1, 1}, 10)));
}

// ---- Misuse

// Verifies that a queue and a recording refuse `counts` with the same error.
void verify_refused(Context& t, const BufferRange& counts, StatusCode code, std::string_view text) {
  const Buffer out = t.buffer(40);
  const hal::Function function = t.kernel("group_places");
  Recorder recorder(t.device());
  recorder.dispatch_indirect(function, counts, {out});
  for (const Status& status : {t.compute().dispatch_indirect(function, counts, {out}, {}, {}),
                               recorder.finish().status()}) {
    VERIFY_CODE(status, code);
    if (status.message().find(text) == std::string_view::npos) {
      t.fail(__FILE__, __LINE__, fmt::format("no \"{}\" in: {}", text, status.to_string()));
    }
  }
}

void counts_outside_their_buffer_or_shorter_than_three_are_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(64);
  verify_refused(t, {buffer, 0, 8}, StatusCode::kOutOfRange, "8 bytes");
  verify_refused(t, {buffer, 56}, StatusCode::kOutOfRange, "8 bytes");
  verify_refused(t, {buffer, 64}, StatusCode::kOutOfRange, "0 bytes");
  verify_refused(t, {buffer, 60, 12}, StatusCode::kOutOfRange, "60");
  verify_refused(t, {buffer, 68, 12}, StatusCode::kOutOfRange, "68");
}

void offset_of_the_counts_is_a_multiple_of_four(Context& t) {
  const Buffer buffer = t.buffer(64);
  verify_refused(t, {buffer, 2, 12}, StatusCode::kInvalidArgument, "offset 2");
  // The offset counts from the start of the allocation.
  verify_refused(t, {buffer.subspan(3).value(), 4, 12}, StatusCode::kInvalidArgument, "offset 7");
}

void counts_of_an_empty_buffer_are_refused(Context& t) {
  verify_refused(t, Buffer(), StatusCode::kInvalidArgument, "empty buffer");
}

void slot_of_the_counts_is_checked_when_it_is_bound(Context& t) {
  const Buffer buffer = t.buffer(64);
  const hal::Function function = t.kernel("group_places");
  const auto refused = [&](const hal::Slot& counts) {
    Recorder recorder(t.device());
    return recorder.dispatch_indirect(function, counts, {buffer}).finish().status();
  };
  VERIFY_CODE(refused(slot(0, 2)), StatusCode::kInvalidArgument);
  VERIFY_CODE(refused(slot(0, 0, 11)), StatusCode::kOutOfRange);
  VERIFY_CODE(refused(slot(0, ~std::uint64_t{0} - 7)), StatusCode::kOutOfRange);
  VERIFY_CODE(refused(slot(hal::kMaxSlots)), StatusCode::kOutOfRange);
  Recorder recorder(t.device());
  const CommandBuffer commands =
      recorder.dispatch_indirect(function, slot(0, 8), {buffer}).finish().value();
  const hal::Queue queue = t.compute();
  VERIFY_CODE(queue.execute(commands, {}), StatusCode::kOutOfRange);
  VERIFY_CODE(queue.execute(commands, {.bindings = {{buffer, 0, 19}}}), StatusCode::kOutOfRange);
  VERIFY_CODE(queue.execute(commands, {.bindings = {{buffer, 2}}}), StatusCode::kInvalidArgument);
  VERIFY_CODE(queue.execute(commands, {.bindings = {Buffer()}}), StatusCode::kInvalidArgument);
  VERIFY_OK(queue.execute(commands, {.bindings = {{buffer, 0, 20}}}));
}

void arguments_are_checked_as_in_a_direct_dispatch(Context& t) {
  const Buffer buffer = t.buffer(64);
  const auto refused = [&](const hal::Function& function, hal::View<BufferRange> bindings,
                           hal::View<hal::Constant> constants, StatusCode code) {
    VERIFY_CODE(t.compute().dispatch_indirect(function, buffer, bindings, constants, {}), code);
    const std::vector<hal::BindingRef> refs(bindings.begin(), bindings.end());
    Recorder recorder(t.device());
    VERIFY_CODE(recorder.dispatch_indirect(function, buffer, refs, constants).finish(), code);
  };
  const hal::Function increment = t.kernel("increment");
  refused({}, {buffer}, {1u}, StatusCode::kInvalidArgument);
  refused(t.kernel("increment", 1), {buffer}, {1u}, StatusCode::kPermissionDenied);
  refused(increment, {}, {1u}, StatusCode::kInvalidArgument);
  refused(increment, {buffer, buffer}, {1u}, StatusCode::kInvalidArgument);
  refused(increment, {{buffer, 2, 4}}, {1u}, StatusCode::kInvalidArgument);
  refused(increment, {buffer}, {}, StatusCode::kInvalidArgument);
  refused(increment, {buffer}, {1.0f}, StatusCode::kInvalidArgument);
  VERIFY_CODE(hal::Queue().dispatch_indirect(increment, buffer, {buffer}, {1u}, {}),
              StatusCode::kInvalidArgument);
}

void copy_queue_dispatches_nothing_indirectly(Context& t) {
  const Buffer counts = counts_of(t, {1, 1, 1});
  const Buffer out = t.buffer(4);
  const hal::Function function = t.kernel("group_places");
  const Semaphore done = t.semaphore();
  VERIFY_CODE(
      t.copy_queue().dispatch_indirect(function, counts, {out}, {}, {.signal = {{done, 1}}}),
      StatusCode::kPermissionDenied);
  Recorder recorder(t.device());
  const CommandBuffer commands =
      recorder.dispatch_indirect(function, counts, {out}).finish().value();
  VERIFY_CODE(t.copy_queue().execute(commands, {.signal = {{done, 1}}}),
              StatusCode::kPermissionDenied);
  VERIFY_OK(t.copy_queue().barrier_and_wait({}, kWatchdog));
  VERIFY_VALUE(done, 0);
  VERIFY(holds(out, {0}));
}

template <void (*kRun)(Context& t)>
void where_counts_are_read(Context& t) {
  t.needs_indirect_dispatch();
  kRun(t);
}

#define CASE(name) {"indirect", #name, where_counts_are_read<name>}
#define CASE_BY_EVERY_BINDING(name) \
  {"indirect", #name, where_counts_are_read<name>, Vary::kBindings}
constexpr Case kCases[] = {
    CASE(queue_reads_the_counts_of_every_shape),
    CASE_BY_EVERY_BINDING(recording_reads_the_counts_of_every_shape),
    CASE_BY_EVERY_BINDING(both_execute_forms_read_the_counts),
    CASE_BY_EVERY_BINDING(counts_begin_at_their_offset),
    CASE(counts_and_bindings_may_be_direct_or_slots_in_any_mixture),
    CASE(kernel_sees_the_number_of_groups_that_was_read),
    CASE_BY_EVERY_BINDING(bindings_and_constants_arrive_as_in_a_direct_dispatch),
    CASE(zero_count_runs_nothing_but_waits_and_signals),
    CASE_BY_EVERY_BINDING(commands_after_a_zero_count_run),
    CASE_BY_EVERY_BINDING(counts_of_an_earlier_update),
    CASE_BY_EVERY_BINDING(counts_of_earlier_fills),
    CASE_BY_EVERY_BINDING(counts_of_an_earlier_copy),
    CASE_BY_EVERY_BINDING(counts_of_an_earlier_kernel),
    CASE_BY_EVERY_BINDING(counts_of_a_kernel_that_was_dispatched_indirectly),
    CASE_BY_EVERY_BINDING(later_write_of_the_counts_does_not_reach_back),
    CASE_BY_EVERY_BINDING(hundred_dispatches_of_a_recording_read_their_own_counts),
    CASE(counts_of_an_earlier_submission_on_another_queue),
    CASE_BY_EVERY_BINDING(counts_in_memory_of_another_device_written_there),
    CASE_BY_EVERY_BINDING(counts_change_between_two_executions_of_a_recording),
    CASE(parked_dispatch_keeps_its_counts),
    CASE(counts_outside_their_buffer_or_shorter_than_three_are_out_of_range),
    CASE(offset_of_the_counts_is_a_multiple_of_four),
    CASE(counts_of_an_empty_buffer_are_refused),
    CASE(slot_of_the_counts_is_checked_when_it_is_bound),
    CASE(arguments_are_checked_as_in_a_direct_dispatch),
    CASE(copy_queue_dispatches_nothing_indirectly),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING

}  // namespace
}  // namespace indirect

std::span<const Case> indirect_cases() noexcept { return indirect::kCases; }

}  // namespace halyard::inline v0::conformance
