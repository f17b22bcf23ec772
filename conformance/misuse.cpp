// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Misuse: the code of every error, and that a refused call queues nothing.
#include <algorithm>

#include "conformance/bytes.h"
#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace misuse {
namespace {

using hal::Buffer;
using hal::BufferRange;
using hal::CommandBuffer;
using hal::Function;
using hal::Recorder;
using hal::Semaphore;
using hal::slot;

constexpr StatusCode kInvalidArgument = StatusCode::kInvalidArgument;
constexpr StatusCode kOutOfRange = StatusCode::kOutOfRange;
constexpr StatusCode kPermissionDenied = StatusCode::kPermissionDenied;
constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << 63) - 1;
constexpr std::uint32_t kOne = 1;

// The status of a recording whose commands `record(recorder)` adds.
template <class F>
Status recorded(const Context& t, F&& record) {
  Recorder recorder(t.device());
  record(recorder);
  return recorder.finish().status();
}

// ---- Empty handles

void empty_semaphore_answers_invalid_argument(Context& t) {
  const Semaphore none;
  VERIFY(!none);
  VERIFY_CODE(none.query(), kInvalidArgument);
  VERIFY_CODE(none.signal(1), kInvalidArgument);
  VERIFY_CODE(none.wait(0, kNow), kInvalidArgument);
  none.fail(Status(StatusCode::kInternal, "no effect"));
  VERIFY_CODE(none.on_reach(1, [](const Status&) {}), kInvalidArgument);
}

void empty_semaphore_in_a_list_answers_invalid_argument(Context& t) {
  const Semaphore reached = t.semaphore(1);
  const Semaphore none;
  VERIFY_CODE(hal::wait_all({{reached, 1}, {none, 1}}, kNow), kInvalidArgument);
  VERIFY_CODE(hal::wait_any({{reached, 1}, {none, 1}}, kNow), kInvalidArgument);
  VERIFY_CODE(t.queue().barrier({.wait = {{none, 1}}}), kInvalidArgument);
  VERIFY_CODE(t.queue().barrier({.signal = {{none, 1}}}), kInvalidArgument);
  VERIFY_CODE(t.queue().barrier({.wait = {{reached, 1}, {none, 0}}}), kInvalidArgument);
}

void empty_queue_answers_invalid_argument(Context& t) {
  const hal::Queue none;
  const Buffer buffer = t.buffer(4);
  const CommandBuffer commands = Recorder(t.device()).finish().value();
  VERIFY_CODE(none.barrier({}), kInvalidArgument);
  VERIFY_CODE(none.barrier_and_wait({}), kInvalidArgument);
  VERIFY_CODE(none.execute(commands, {}), kInvalidArgument);
  VERIFY_CODE(none.execute_and_wait(commands, {}), kInvalidArgument);
  VERIFY_CODE(none.dispatch(t.kernel("increment"), {.items = {1}}, {buffer}, {kOne}, {}),
              kInvalidArgument);
  VERIFY_CODE(none.fill(buffer, 0, 4, {}), kInvalidArgument);
  VERIFY_CODE(none.update(buffer, 0, std::as_bytes(std::span(&kOne, 1)), {}), kInvalidArgument);
  VERIFY_CODE(none.copy(buffer, buffer, {}), kInvalidArgument);
  VERIFY_CODE(none.host_call([] {}, {}), kInvalidArgument);
}

void empty_device_answers_invalid_argument(Context& t) {
  const hal::Device none;
  VERIFY_CODE(none.status(), kInvalidArgument);
  VERIFY_CODE(none.create_semaphore(), kInvalidArgument);
  VERIFY_CODE(none.allocate({.size = 4}), kInvalidArgument);
  VERIFY_CODE(none.load("a.hyx"), kInvalidArgument);
  VERIFY_CODE(none.load(hal::Bytes(), "a"), kInvalidArgument);
  VERIFY(!none.queue());
  VERIFY_CODE(Recorder(none).finish(), kInvalidArgument);
  Recorder recorder(none);
  recorder.barrier().fill(slot(0), 0).copy(slot(0), slot(1)).update(slot(0), {});
  VERIFY_CODE(recorder.finish(), kInvalidArgument);
}

void empty_executable_answers_invalid_argument(Context& t) {
  const hal::Executable none;
  VERIFY_EQ(none.function_count(), 0u);
  VERIFY_CODE(none.function("saxpy"), kInvalidArgument);
  VERIFY_CODE(none.function(std::size_t{0}), kInvalidArgument);
}

void empty_function_answers_invalid_argument(Context& t) {
  VERIFY_CODE(t.compute().dispatch({}, {.items = {1}}, {}, {}, {}), kInvalidArgument);
  VERIFY_CODE(recorded(t, [](Recorder& r) { r.dispatch({}, {.items = {1}}, {}); }),
              kInvalidArgument);
}

void empty_command_buffer_answers_invalid_argument(Context& t) {
  VERIFY_CODE(t.queue().execute({}, {}), kInvalidArgument);
  VERIFY_CODE(t.queue().execute_and_wait({}, {}), kInvalidArgument);
  VERIFY_EQ(CommandBuffer().command_count(), 0u);
}

void empty_buffer_answers_invalid_argument(Context& t) {
  const Buffer none;
  const Buffer buffer = t.buffer(4);
  VERIFY_EQ(none.size(), 0u);
  VERIFY_CODE(none.map(), kInvalidArgument);
  VERIFY_CODE(none.subspan(0), kInvalidArgument);
  const hal::Queue queue = t.compute();
  VERIFY_CODE(queue.fill(none, 0, 4, {}), kInvalidArgument);
  VERIFY_CODE(queue.update(none, 0, {}, {}), kInvalidArgument);
  VERIFY_CODE(queue.copy(none, buffer, {}), kInvalidArgument);
  VERIFY_CODE(queue.copy(buffer, none, {}), kInvalidArgument);
  VERIFY_CODE(queue.dispatch(t.kernel("increment"), {.items = {1}}, {none}, {kOne}, {}),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.fill(none, 0); }), kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.copy(buffer, none); }), kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.update(none, {}); }), kInvalidArgument);
}

void slot_bound_to_nothing_is_refused(Context& t) {
  Recorder recorder(t.device());
  recorder.fill(slot(0), 1, 1);
  VERIFY_CODE(t.queue().execute(recorder.finish().value(), {.bindings = {BufferRange()}}),
              kInvalidArgument);
}

// ---- Semaphore values

void signal_at_or_below_the_value_is_refused_at_submit(Context& t) {
  const Semaphore s = t.semaphore(5);
  VERIFY_CODE(t.queue().barrier({.signal = {{s, 5}}}), kInvalidArgument);
  VERIFY_CODE(t.queue().barrier({.signal = {{s, 4}}}), kInvalidArgument);
  VERIFY_CODE(t.queue().barrier({.signal = {{s, 0}}}), kInvalidArgument);
  VERIFY_VALUE(s, 5);
  VERIFY_OK(t.queue().barrier_and_wait({.signal = {{s, 6}}}, kWatchdog));
}

void values_beyond_the_greatest_are_refused_at_submit(Context& t) {
  const Semaphore s = t.semaphore();
  VERIFY_CODE(t.queue().barrier({.signal = {{s, kMaxValue + 1}}}), kInvalidArgument);
  VERIFY_CODE(t.queue().barrier({.wait = {{s, kMaxValue + 1}}}), kInvalidArgument);
  VERIFY_VALUE(s, 0);
}

void wait_for_a_value_beyond_the_greatest_is_refused(Context& t) {
  const Semaphore s = t.semaphore();
  VERIFY_CODE(s.wait(kMaxValue + 1, kNow), kInvalidArgument);
  VERIFY_CODE(hal::wait_all({{s, kMaxValue + 1}}, kNow), kInvalidArgument);
  VERIFY_CODE(s.on_reach(kMaxValue + 1, [](const Status&) {}), kInvalidArgument);
}

void wait_for_its_own_signal_is_refused(Context& t) {
  const Semaphore s = t.semaphore();
  VERIFY_CODE(t.queue().barrier({.wait = {{s, 1}}, .signal = {{s, 1}}}), kInvalidArgument);
  VERIFY_CODE(t.queue().barrier({.wait = {{s, 2}}, .signal = {{s, 1}}}), kInvalidArgument);
  const Semaphore other = t.semaphore();
  VERIFY_CODE(t.queue().barrier(
                  {.wait = {{other, 1}, {s, 1}, {s, 7}}, .signal = {{other, 2}, {s, 3}, {s, 5}}}),
              kInvalidArgument);
  VERIFY_OK(t.queue().barrier({.wait = {{s, 1}}, .signal = {{s, 2}}}));
}

// ---- Ranges

void range_beyond_the_buffer_is_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(100);
  const Buffer other = t.buffer(100);
  const hal::Queue queue = t.queue();
  const std::vector<std::byte> bytes(8);
  VERIFY_CODE(queue.fill({buffer, 100, 4}, 0, 1, {}), kOutOfRange);
  VERIFY_CODE(queue.fill({buffer, 0, 101}, 0, 1, {}), kOutOfRange);
  VERIFY_CODE(queue.fill({buffer, 104}, 0, 1, {}), kOutOfRange);
  VERIFY_CODE(queue.update(buffer, 96, bytes, {}), kOutOfRange);
  VERIFY_CODE(queue.update(buffer, ~std::uint64_t{0} - 3, bytes, {}), kOutOfRange);
  VERIFY_CODE(queue.copy({buffer, 96, 8}, {other, 0, 8}, {}), kOutOfRange);
  VERIFY_CODE(queue.copy({buffer, 0, 8}, {other, 93, 8}, {}), kOutOfRange);
}

void range_whose_end_overflows_is_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(100);
  for (const std::uint64_t length : {~std::uint64_t{0} - 1, ~std::uint64_t{0} - 7}) {
    VERIFY_CODE(t.queue().fill({buffer, 8, length}, 0, 1, {}), kOutOfRange);
    VERIFY_CODE(t.queue().fill({buffer, length, 8}, 0, 1, {}), kOutOfRange);
  }
}

void range_of_a_subspan_ends_with_it(Context& t) {
  const Buffer part = t.buffer(100).subspan(10, 20).value();
  VERIFY_CODE(t.queue().fill({part, 10, 11}, 0, 1, {}), kOutOfRange);
  VERIFY_CODE(t.queue().fill({part, 21}, 0, 1, {}), kOutOfRange);
}

void recorded_range_beyond_the_buffer_is_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(100);
  const std::vector<std::byte> bytes(8);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.fill(BufferRange(buffer, 100, 4), 0, 1); }),
              kOutOfRange);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.update(BufferRange(buffer, 96), bytes); }),
              kOutOfRange);
  VERIFY_CODE(
      recorded(t,
               [&](Recorder& r) { r.copy(BufferRange(buffer, 96, 8), BufferRange(buffer, 0, 8)); }),
      kOutOfRange);
}

// ---- Transfers

void pattern_has_one_two_or_four_bytes(Context& t) {
  const Buffer buffer = t.buffer(96);
  for (const std::uint32_t size : {0u, 3u, 5u, 8u, 0xffffffffu}) {
    VERIFY_CODE(t.queue().fill(buffer, 0, size, {}), kInvalidArgument);
    VERIFY_CODE(recorded(t, [&](Recorder& r) { r.fill(buffer, 0, size); }), kInvalidArgument);
    VERIFY_CODE(recorded(t, [&](Recorder& r) { r.fill(slot(0), 0, size); }), kInvalidArgument);
  }
}

void offset_of_a_fill_is_a_multiple_of_its_pattern(Context& t) {
  const Buffer buffer = t.buffer(96);
  VERIFY_CODE(t.queue().fill({buffer, 1, 4}, 0, 2, {}), kInvalidArgument);
  VERIFY_CODE(t.queue().fill({buffer, 2, 4}, 0, 4, {}), kInvalidArgument);
  // The offset counts from the start of the allocation.
  const Buffer part = buffer.subspan(2).value();
  VERIFY_CODE(t.queue().fill({part, 0, 4}, 0, 4, {}), kInvalidArgument);
  VERIFY_OK(t.queue().fill({part, 2, 4}, 0, 4, {}));
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.fill(BufferRange(buffer, 2, 4), 0, 4); }),
              kInvalidArgument);
}

void length_of_a_fill_is_a_multiple_of_its_pattern(Context& t) {
  const Buffer buffer = t.buffer(95);
  VERIFY_CODE(t.queue().fill({buffer, 0, 3}, 0, 2, {}), kInvalidArgument);
  VERIFY_CODE(t.queue().fill({buffer, 0, 6}, 0, 4, {}), kInvalidArgument);
  VERIFY_CODE(t.queue().fill(buffer, 0, 4, {}), kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.fill(buffer, 0, 4); }), kInvalidArgument);
  Recorder recorder(t.device());
  recorder.fill(slot(0), 0, 4);
  VERIFY_CODE(t.compute().execute(recorder.finish().value(), {.bindings = {buffer}}),
              kInvalidArgument);
}

void lengths_of_a_copy_are_equal(Context& t) {
  const Buffer a = t.buffer(64);
  const Buffer b = t.buffer(32);
  VERIFY_CODE(t.queue().copy(a, b, {}), kInvalidArgument);
  VERIFY_CODE(t.queue().copy({a, 0, 8}, {b, 0, 9}, {}), kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.copy(a, b); }), kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.copy(slot(0, 0, 8), slot(1, 0, 9)); }),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.copy(slot(0), slot(1)); }), kInvalidArgument);
}

void ranges_of_a_copy_do_not_overlap(Context& t) {
  const Buffer buffer = t.buffer(64);
  VERIFY_CODE(t.queue().copy({buffer, 0, 8}, {buffer, 7, 8}, {}), kInvalidArgument);
  VERIFY_CODE(t.queue().copy({buffer, 7, 8}, {buffer, 0, 8}, {}), kInvalidArgument);
  VERIFY_CODE(t.queue().copy(buffer, buffer, {}), kInvalidArgument);
  VERIFY_CODE(t.queue().copy({buffer.subspan(16).value(), 0, 8}, {buffer, 20, 8}, {}),
              kInvalidArgument);
  VERIFY_CODE(
      recorded(t,
               [&](Recorder& r) { r.copy(BufferRange(buffer, 0, 8), BufferRange(buffer, 4, 8)); }),
      kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.copy(slot(0, 0, 8), slot(0, 4, 8)); }),
              kInvalidArgument);
}

void ranges_of_a_copy_that_overlap_by_their_bindings_are_refused(Context& t) {
  const Buffer buffer = t.buffer(64);
  Recorder recorder(t.device());
  recorder.copy(slot(0, 0, 8), slot(1, 0, 8));
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_CODE(t.queue().execute(commands, {.bindings = {{buffer, 0}, {buffer, 4}}}),
              kInvalidArgument);
  VERIFY_OK(t.queue().execute(commands, {.bindings = {{buffer, 0}, {buffer, 8}}}));
  Recorder mixed(t.device());
  mixed.copy(BufferRange(buffer, 0, 8), slot(0, 0, 8));
  VERIFY_CODE(t.queue().execute(mixed.finish().value(), {.bindings = {{buffer, 4}}}),
              kInvalidArgument);
}

void update_of_another_length_is_refused(Context& t) {
  const Buffer buffer = t.buffer(64);
  const std::vector<std::byte> bytes(8);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.update(BufferRange(buffer, 0, 4), bytes); }),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.update(slot(0, 0, 9), bytes); }), kInvalidArgument);
}

// ---- Dispatch

void number_of_bindings_must_agree(Context& t) {
  const Function function = t.kernel("scale_and_offset");
  const Buffer x = t.buffer(4);
  VERIFY_CODE(t.compute().dispatch(function, {.items = {1}}, {}, {1, 1, kOne}, {}),
              kInvalidArgument);
  const Status status = t.compute().dispatch(function, {.items = {1}}, {x, x, x}, {1, 1, kOne}, {});
  VERIFY_CODE(status, kInvalidArgument);
  VERIFY(status.message().find("scale_and_offset") != std::string_view::npos);
  VERIFY_CODE(
      recorded(t, [&](Recorder& r) { r.dispatch(function, {.items = {1}}, {x}, {1, 1, kOne}); }),
      kInvalidArgument);
}

void number_of_constants_must_agree(Context& t) {
  const Function function = t.kernel("increment");
  const Buffer x = t.buffer(4);
  VERIFY_CODE(t.compute().dispatch(function, {.items = {1}}, {x}, {}, {}), kInvalidArgument);
  VERIFY_CODE(t.compute().dispatch(function, {.items = {1}}, {x}, {kOne, kOne}, {}),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.dispatch(function, {.items = {1}}, {x}); }),
              kInvalidArgument);
}

void type_of_a_constant_must_agree_and_its_name_is_in_the_message(Context& t) {
  const Function function = t.kernel("constants");  // a: float, b: int, c: uint
  const Buffer y = t.buffer(4);
  const hal::Constant wrong[][3] = {{1, 1, kOne},
                                    {1.0, 1, kOne},
                                    {1.0f, kOne, kOne},
                                    {1.0f, 1.0f, kOne},
                                    {1.0f, 1, 1},
                                    {1.0f, 1, std::uint64_t{1}},
                                    {1.0f, std::int64_t{1}, kOne}};
  const std::string_view names[] = {"a", "a", "b", "b", "c", "c", "b"};
  for (std::size_t i = 0; i < std::size(wrong); ++i) {
    const hal::View<hal::Constant> constants(wrong[i], 3);
    const Status status = t.compute().dispatch(function, {.groups = {1}}, {y}, constants, {});
    VERIFY_CODE(status, kInvalidArgument);
    VERIFY(status.message().find(fmt::format("({})", names[i])) != std::string_view::npos);
    VERIFY_CODE(
        recorded(t, [&](Recorder& r) { r.dispatch(function, {.groups = {1}}, {y}, constants); }),
        kInvalidArgument);
  }
}

void offset_of_a_binding_is_a_multiple_of_its_element(Context& t) {
  const Function function = t.kernel("increment");
  const Buffer x = t.buffer(64);
  for (const std::uint64_t offset : {1u, 2u, 6u}) {
    VERIFY_CODE(t.compute().dispatch(function, {.items = {1}}, {{x, offset}}, {kOne}, {}),
                kInvalidArgument);
    VERIFY_CODE(recorded(t,
                         [&](Recorder& r) {
                           r.dispatch(function, {.items = {1}}, {slot(0, offset)}, {kOne});
                         }),
                kInvalidArgument);
  }
  Recorder recorder(t.device());
  recorder.dispatch(function, {.items = {1}}, {slot(0)}, {kOne});
  VERIFY_CODE(t.compute().execute(recorder.finish().value(), {.bindings = {{x, 2}}}),
              kInvalidArgument);
}

void binding_beyond_its_buffer_is_out_of_range(Context& t) {
  const Function function = t.kernel("increment");
  const Buffer x = t.buffer(64);
  VERIFY_CODE(t.compute().dispatch(function, {.items = {1}}, {{x, 64, 4}}, {kOne}, {}),
              kOutOfRange);
  VERIFY_CODE(t.compute().dispatch(function, {.items = {1}}, {{x, 0, 68}}, {kOne}, {}),
              kOutOfRange);
}

void grid_gives_items_or_groups(Context& t) {
  const Function function = t.kernel("increment");
  const Buffer x = t.buffer(64);
  VERIFY_CODE(t.compute().dispatch(function, {}, {x}, {kOne}, {}), kInvalidArgument);
  VERIFY_CODE(t.compute().dispatch(function, {.items = {1}, .groups = {1}}, {x}, {kOne}, {}),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.dispatch(function, {}, {x}, {kOne}); }),
              kInvalidArgument);
}

void grid_beyond_its_limit_is_out_of_range(Context& t) {
  const Function function = t.kernel("increment");
  const Buffer x = t.buffer(64);
  const auto& max = t.device().info().limits.max_groups;
  for (const hal::Grid& grid : {hal::Grid{.groups = {max[0] + std::uint64_t{1}}},
                                hal::Grid{.groups = {1, max[1] + std::uint64_t{1}}},
                                hal::Grid{.groups = {1, 1, max[2] + std::uint64_t{1}}},
                                hal::Grid{.items = {~std::uint64_t{0}}},
                                hal::Grid{.items = {function.workgroup_size().x * max[0] + 1}}}) {
    VERIFY_CODE(t.compute().dispatch(function, grid, {x}, {kOne}, {}), kOutOfRange);
    VERIFY_CODE(recorded(t, [&](Recorder& r) { r.dispatch(function, grid, {x}, {kOne}); }),
                kOutOfRange);
  }
}

void copy_queue_runs_no_kernels(Context& t) {
  const Function function = t.kernel("increment");
  const Buffer x = t.buffer(64);
  VERIFY_CODE(t.copy_queue().dispatch(function, {.items = {1}}, {x}, {kOne}, {}),
              kPermissionDenied);
  Recorder recorder(t.device());
  recorder.fill(x, 1).barrier().dispatch(function, {.items = {1}}, {x}, {kOne});
  VERIFY_CODE(t.copy_queue().execute(recorder.finish().value(), {}), kPermissionDenied);
}

// ---- Foreign objects

void function_of_another_device_is_refused(Context& t) {
  const Buffer x = t.buffer(64);
  const Function function = t.kernel("increment", 1);
  VERIFY_CODE(t.compute(0).dispatch(function, {.items = {1}}, {x}, {kOne}, {}), kPermissionDenied);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.dispatch(function, {.items = {1}}, {x}, {kOne}); }),
              kPermissionDenied);
}

void recording_of_another_device_is_refused(Context& t) {
  const CommandBuffer commands = Recorder(t.device(1)).finish().value();
  VERIFY_CODE(t.queue(0).execute(commands, {}), kPermissionDenied);
  VERIFY_CODE(t.queue(0).execute_and_wait(commands, {}, kWatchdog), kPermissionDenied);
}

// ---- Slots

void slot_beyond_the_highest_is_out_of_range(Context& t) {
  for (const std::uint32_t index : {hal::kMaxSlots, 0xffffffffu}) {
    VERIFY_CODE(recorded(t, [&](Recorder& r) { r.fill(slot(index), 0); }), kOutOfRange);
  }
}

void table_shorter_than_the_slots_is_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(64);
  Recorder recorder(t.device());
  recorder.fill(slot(1), 0);
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_CODE(t.queue().execute(commands, {}), kOutOfRange);
  VERIFY_CODE(t.queue().execute(commands, {.bindings = {buffer}}), kOutOfRange);
  VERIFY_OK(t.queue().execute(commands, {.bindings = {buffer, buffer}}));
}

void command_beyond_its_binding_is_out_of_range(Context& t) {
  const Buffer buffer = t.buffer(64);
  Recorder recorder(t.device());
  recorder.fill(slot(0, 32, 16), 0);
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_CODE(t.queue().execute(commands, {.bindings = {{buffer, 0, 47}}}), kOutOfRange);
  VERIFY_CODE(t.queue().execute(commands, {.bindings = {{buffer, 20}}}), kOutOfRange);
  VERIFY_OK(t.queue().execute(commands, {.bindings = {{buffer, 0, 48}}}));
}

void slot_whose_end_overflows_is_out_of_range(Context& t) {
  VERIFY_CODE(recorded(t, [](Recorder& r) { r.fill(slot(0, ~std::uint64_t{0} - 3, 64), 0, 1); }),
              kOutOfRange);
}

// ---- State after a refusal

void refused_submission_signals_nothing_and_changes_nothing(Context& t) {
  const Buffer buffer = t.buffer(64, 0x11);
  const Semaphore done = t.semaphore();
  const hal::Queue queue = t.queue();
  const std::vector<std::byte> bytes(8);
  hal::Submission submission;
  for (int i = 0; i < 10; ++i) {
    VERIFY_CODE(queue.fill(buffer, 0, 3, {.signal = {{done, 1}}, .submission = &submission}),
                kInvalidArgument);
    VERIFY_CODE(queue.copy(buffer, buffer, {.signal = {{done, 1}}}), kInvalidArgument);
    VERIFY_CODE(queue.update(buffer, 60, bytes, {.signal = {{done, 1}}}), kOutOfRange);
    VERIFY_CODE(queue.barrier({.wait = {{done, 1}}, .signal = {{done, 1}}}), kInvalidArgument);
  }
  VERIFY(!submission.cancel());
  VERIFY_OK(queue.barrier_and_wait({}, kWatchdog));
  VERIFY_VALUE(done, 0);
  VERIFY_OK(queue.fill(buffer, 7, 1, {.signal = {{done, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(contents(buffer) == ByteVector(64, std::byte{7}));
}

void error_names_object_operation_and_value(Context& t) {
  const Buffer buffer = t.buffer(100);
  const Status status = t.queue().fill({buffer, 96, 12345}, 0, 1, {});
  for (const std::string_view part : {"queue", "fill", "12345", "100"}) {
    if (status.message().find(part) == std::string_view::npos) {
      t.fail(__FILE__, __LINE__, fmt::format("no \"{}\" in: {}", part, status.to_string()));
    }
  }
}

#define CASE(name) {"misuse", #name, name}
#define CASE_ON_EVERY_QUEUE(name) {"misuse", #name, name, Vary::kQueueKinds}
constexpr Case kCases[] = {
    CASE(empty_semaphore_answers_invalid_argument),
    CASE_ON_EVERY_QUEUE(empty_semaphore_in_a_list_answers_invalid_argument),
    CASE(empty_queue_answers_invalid_argument),
    CASE(empty_device_answers_invalid_argument),
    CASE(empty_executable_answers_invalid_argument),
    CASE(empty_function_answers_invalid_argument),
    CASE_ON_EVERY_QUEUE(empty_command_buffer_answers_invalid_argument),
    CASE(empty_buffer_answers_invalid_argument),
    CASE_ON_EVERY_QUEUE(slot_bound_to_nothing_is_refused),
    CASE_ON_EVERY_QUEUE(signal_at_or_below_the_value_is_refused_at_submit),
    CASE_ON_EVERY_QUEUE(values_beyond_the_greatest_are_refused_at_submit),
    CASE(wait_for_a_value_beyond_the_greatest_is_refused),
    CASE_ON_EVERY_QUEUE(wait_for_its_own_signal_is_refused),
    CASE_ON_EVERY_QUEUE(range_beyond_the_buffer_is_out_of_range),
    CASE_ON_EVERY_QUEUE(range_whose_end_overflows_is_out_of_range),
    CASE_ON_EVERY_QUEUE(range_of_a_subspan_ends_with_it),
    CASE(recorded_range_beyond_the_buffer_is_out_of_range),
    CASE_ON_EVERY_QUEUE(pattern_has_one_two_or_four_bytes),
    CASE_ON_EVERY_QUEUE(offset_of_a_fill_is_a_multiple_of_its_pattern),
    CASE_ON_EVERY_QUEUE(length_of_a_fill_is_a_multiple_of_its_pattern),
    CASE_ON_EVERY_QUEUE(lengths_of_a_copy_are_equal),
    CASE_ON_EVERY_QUEUE(ranges_of_a_copy_do_not_overlap),
    CASE_ON_EVERY_QUEUE(ranges_of_a_copy_that_overlap_by_their_bindings_are_refused),
    CASE(update_of_another_length_is_refused),
    CASE(number_of_bindings_must_agree),
    CASE(number_of_constants_must_agree),
    CASE(type_of_a_constant_must_agree_and_its_name_is_in_the_message),
    CASE(offset_of_a_binding_is_a_multiple_of_its_element),
    CASE(binding_beyond_its_buffer_is_out_of_range),
    CASE(grid_gives_items_or_groups),
    CASE(grid_beyond_its_limit_is_out_of_range),
    CASE(copy_queue_runs_no_kernels),
    CASE(function_of_another_device_is_refused),
    CASE_ON_EVERY_QUEUE(recording_of_another_device_is_refused),
    CASE(slot_beyond_the_highest_is_out_of_range),
    CASE_ON_EVERY_QUEUE(table_shorter_than_the_slots_is_out_of_range),
    CASE_ON_EVERY_QUEUE(command_beyond_its_binding_is_out_of_range),
    CASE(slot_whose_end_overflows_is_out_of_range),
    CASE_ON_EVERY_QUEUE(refused_submission_signals_nothing_and_changes_nothing),
    CASE_ON_EVERY_QUEUE(error_names_object_operation_and_value),
};
#undef CASE
#undef CASE_ON_EVERY_QUEUE

}  // namespace
}  // namespace misuse

std::span<const Case> misuse_cases() noexcept { return misuse::kCases; }

}  // namespace halyard::inline v0::conformance
