// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dispatches: grids, bindings, constants, and the kernel's view of them.
#include <algorithm>
#include <numeric>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace dispatch {
namespace {

using hal::Buffer;
using hal::CommandBuffer;
using hal::Function;
using hal::Grid;
using hal::Recorder;
using hal::Semaphore;
using hal::SubmitInfo;

std::vector<std::uint32_t> words(const Buffer& buffer) {
  const hal::Mapping mapping = buffer.map().value();
  return {mapping.as<std::uint32_t>().begin(), mapping.as<std::uint32_t>().end()};
}

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

template <class T>
Buffer buffer_of(const Context& t, const std::vector<T>& values) {
  return t.buffer_of(std::span<const T>(values));
}

void dispatch(Context& t, const Function& function, const Grid& grid,
              hal::View<hal::BufferRange> bindings, hal::View<hal::Constant> constants = {}) {
  t.finish([&](const SubmitInfo& info) {
    return t.compute().dispatch(function, grid, bindings, constants, info);
  });
}

// ---- Bindings and constants

void kernel_reads_one_binding_and_writes_another(Context& t) {
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (i % 3 == 0 ? -1.5f : 1.0f) * float(i);
  const Buffer in = buffer_of(t, x);
  const Buffer out = t.buffer(4000);
  dispatch(t, t.kernel("absolute"), {.items = {1000}}, {in, out}, {std::uint32_t{1000}});
  const auto y = out.map().value();
  for (std::size_t i = 0; i < x.size(); ++i) VERIFY_EQ(y.as<float>()[i], std::abs(x[i]));
}

void constants_of_every_type_arrive(Context& t) {
  const Buffer out = t.buffer(4);
  dispatch(t, t.kernel("constants"), {.groups = {1}}, {out},
           {1000000.0f, std::int32_t{-3}, std::uint32_t{50}});
  VERIFY_EQ(words(out)[0], 1000047u);
}

void constants_and_bindings_arrive_together(Context& t) {
  const Buffer in = buffer_of(t, counting(300));
  const Buffer out = t.buffer(1200);
  dispatch(t, t.kernel("scale_and_offset"), {.items = {300}}, {in, out},
           {std::int32_t{-3}, std::int32_t{7}, std::uint32_t{300}});
  const auto y = out.map().value();
  for (int i = 0; i < 300; ++i) VERIFY_EQ(y.as<std::int32_t>()[i], 7 - 3 * i);
}

void nine_bindings_stay_in_order(Context& t) {
  std::vector<Buffer> in;
  for (std::uint32_t i = 1; i <= 8; ++i) {
    in.push_back(buffer_of(t, std::vector<std::uint32_t>(100, i)));
  }
  const Buffer out = t.buffer(400);
  dispatch(t, t.kernel("sum_of_eight"), {.items = {100}},
           {in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], out}, {std::uint32_t{100}});
  VERIFY(words(out) == std::vector<std::uint32_t>(100, 87654321));
}

void binding_begins_at_its_offset(Context& t) {
  const Buffer buffer = buffer_of(t, counting(100));
  dispatch(t, t.kernel("increment"), {.items = {10}}, {{buffer, 40, 40}}, {std::uint32_t{10}});
  std::vector<std::uint32_t> expected = counting(100);
  for (std::size_t i = 10; i < 20; ++i) ++expected[i];
  VERIFY(words(buffer) == expected);
}

void offsets_of_subspan_and_binding_add_up(Context& t) {
  const Buffer buffer = buffer_of(t, counting(100));
  dispatch(t, t.kernel("increment"), {.items = {5}}, {{buffer.subspan(100, 200).value(), 20}},
           {std::uint32_t{5}});
  std::vector<std::uint32_t> expected = counting(100);
  for (std::size_t i = 30; i < 35; ++i) ++expected[i];
  VERIFY(words(buffer) == expected);
}

void arguments_are_taken_before_dispatch_returns(Context& t) {
  const Semaphore gate = t.semaphore();
  const Semaphore done = t.semaphore();
  const Buffer out = t.buffer(4);
  {
    std::vector<hal::BufferRange> bindings = {out};
    std::vector<hal::Constant> constants = {1.0f, std::int32_t{2}, std::uint32_t{3}};
    VERIFY_OK(t.compute().dispatch(t.kernel("constants"), {.groups = {1}}, bindings, constants,
                                   {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
    bindings[0] = {};
    std::ranges::fill(constants, hal::Constant(100.0f));
  }
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY_EQ(words(out)[0], 6u);
}

void pending_launch_keeps_its_arguments_when_the_next_is_made(Context& t) {
  const Function function = t.kernel("constants");
  const Semaphore gate = t.semaphore();
  const std::vector<Semaphore> done = t.semaphores(50);
  std::vector<Buffer> out;
  for (std::int32_t i = 0; i < 50; ++i) {
    out.push_back(t.buffer(4));
    VERIFY_OK(t.compute().dispatch(function, {.groups = {1}}, {out.back()},
                                   {0.0f, i, std::uint32_t{1000}},
                                   {.wait = {{gate, 1}}, .signal = {{done[i], 1}}}));
  }
  VERIFY_OK(gate.signal(1));
  for (std::size_t i = 0; i < 50; ++i) {
    VERIFY_OK(done[i].wait(1, kWatchdog));
    VERIFY_EQ(words(out[i])[0], 1000 + i);
  }
}

void kernels_of_one_file_differ(Context& t) {
  const Buffer x = buffer_of(t, counting(100));
  dispatch(t, t.kernel("negate"), {.items = {100}}, {x}, {std::uint32_t{100}});
  dispatch(t, t.kernel("twice"), {.items = {100}}, {x}, {std::uint32_t{100}});
  const auto y = x.map().value();
  for (int i = 0; i < 100; ++i) VERIFY_EQ(y.as<std::int32_t>()[i], -2 * i);
}

// ---- Grids

void every_group_sees_its_place(Context& t) {
  const Buffer out = t.buffer(4 * 5 * 3 * 2);
  dispatch(t, t.kernel("group_places"), {.groups = {5, 3, 2}}, {out});
  const auto y = words(out);
  for (std::uint32_t i = 0; i < 30; ++i) {
    VERIFY_EQ(y[i], 1 + i % 5 + 100 * (i / 5 % 3) + 10000 * (i / 15));
  }
}

void every_item_sees_its_place_in_three_dimensions(Context& t) {
  // 7 x 5 x 3 items are 2 x 3 x 2 groups of 4 x 2 x 2.
  const Buffer out = t.buffer(4 * 8 * 6 * 4, 0xff);
  dispatch(t, t.kernel("item_places"), {.items = {7, 5, 3}}, {out});
  const auto y = words(out);
  for (std::uint32_t i = 0; i < y.size(); ++i) {
    VERIFY_EQ(y[i], i % 8 + 100 * (i / 8 % 6) + 10000 * (i / 48));
  }
}

void kernel_sees_the_number_of_groups(Context& t) {
  // Each group writes its own copy of the three counts.
  const Buffer out = t.buffer(4 * 3 * 24);
  dispatch(t, t.kernel("group_counts"), {.groups = {4, 3, 2}}, {out});
  const auto y = words(out);
  for (std::size_t i = 0; i < y.size(); ++i) VERIFY_EQ(y[i], 4 - i % 3);
  const Buffer single = t.buffer(4 * 3);
  dispatch(t, t.kernel("group_counts"), {.groups = {1}}, {single});
  for (const std::uint32_t count : words(single)) VERIFY_EQ(count, 1u);
}

void items_are_rounded_up_to_groups(Context& t) {
  const Function increment = t.kernel("increment");
  for (const std::uint32_t n : {1u, 63u, 64u, 65u, 128u, 1000u}) {
    const Buffer buffer = t.buffer(4 * (n + 64));
    dispatch(t, increment, {.items = {n}}, {buffer}, {n});
    std::vector<std::uint32_t> expected(n + 64, 0);
    std::fill_n(expected.begin(), n, 1u);
    VERIFY(words(buffer) == expected);
  }
}

void groups_run_exactly_as_many_as_given(Context& t) {
  const Buffer buffer = t.buffer(4 * 256);
  dispatch(t, t.kernel("increment"), {.groups = {2}}, {buffer}, {std::uint32_t{256}});
  std::vector<std::uint32_t> expected(256, 0);
  std::fill_n(expected.begin(), 128, 1u);
  VERIFY(words(buffer) == expected);
}

void many_groups_each_run_once(Context& t) {
  const Buffer buffer = t.buffer(4 * 64 * 1024);
  dispatch(t, t.kernel("increment"), {.groups = {1024}}, {buffer}, {std::uint32_t{64 * 1024}});
  VERIFY(words(buffer) == std::vector<std::uint32_t>(64 * 1024, 1));
}

void hundred_thousand_small_groups_each_run_once(Context& t) {
  constexpr std::uint32_t kGroups = 100000;
  const Buffer out = t.buffer(4 * kGroups);
  // Vulkan promises no more than 65535 in a dimension.
  const std::uint32_t width =
      t.device().info().limits.max_groups[0] >= kGroups ? kGroups : kGroups / 2;
  dispatch(t, t.kernel("group_places"), {.groups = {width, kGroups / width}}, {out});
  const auto y = words(out);
  for (std::uint32_t i = 0; i < y.size(); ++i) {
    const std::uint32_t place = 1 + i % width + 100 * (i / width);
    if (y[i] != place) VERIFY_EQ(y[i], place);
  }
}

void groups_in_every_dimension_each_run_once(Context& t) {
  for (const Grid& grid : {Grid{.groups = {1, 50, 1}}, Grid{.groups = {1, 1, 50}},
                           Grid{.groups = {1, 10, 5}}, Grid{.groups = {5, 1, 10}}}) {
    const Buffer out = t.buffer(200);
    dispatch(t, t.kernel("group_places"), grid, {out});
    const auto y = words(out);
    VERIFY(std::ranges::find(y, 0u) == y.end());
  }
}

void zero_items_run_nothing_but_wait_and_signal(Context& t) {
  const Function increment = t.kernel("increment");
  for (const Grid& grid : {Grid{.items = {0}}, Grid{.groups = {0}}, Grid{.groups = {4, 0, 1}},
                           Grid{.items = {4, 1, 0}}}) {
    const Buffer buffer = t.buffer(64, 0x11);
    const Semaphore gate = t.semaphore();
    const Semaphore done = t.semaphore();
    VERIFY_OK(t.compute().dispatch(increment, grid, {buffer}, {std::uint32_t{16}},
                                   {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
    VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
    VERIFY_OK(gate.signal(1));
    VERIFY_OK(done.wait(1, kWatchdog));
    VERIFY(words(buffer) == std::vector<std::uint32_t>(16, 0x11111111));
  }
}

void zero_groups_in_a_recording_run_nothing(Context& t) {
  const Function increment = t.kernel("increment");
  const Buffer buffer = t.buffer(64);
  Recording recording(t);
  recording->dispatch(increment, {.items = {0}}, {recording.ref(buffer)}, {std::uint32_t{16}});
  recording->barrier();
  recording->dispatch(increment, {.items = {16}}, {recording.ref(buffer)}, {std::uint32_t{16}});
  recording.run();
  VERIFY(words(buffer) == std::vector<std::uint32_t>(16, 1));
}

// ---- Inside a group

void items_of_a_group_exchange_through_shared_memory(Context& t) {
  const Buffer in = buffer_of(t, counting(640));
  const Buffer out = t.buffer(2560);
  dispatch(t, t.kernel("reverse_in_group"), {.groups = {10}}, {in, out});
  const auto y = words(out);
  for (std::uint32_t i = 0; i < 640; ++i) VERIFY_EQ(y[i], i / 64 * 64 + 63 - i % 64);
}

void items_keep_private_values_from_block_to_block(Context& t) {
  const Buffer x = buffer_of(t, counting(128));
  dispatch(t, t.kernel("private_values"), {.groups = {2}}, {x});
  const auto y = words(x);
  for (std::uint32_t i = 0; i < 128; ++i) {
    VERIFY_EQ(y[i], 1000 * i + i / 64 * 64 + (i + 1) % 64);
  }
}

// ---- Recorded

void recorded_dispatch_gives_what_a_queue_dispatch_gives(Context& t) {
  const Function function = t.kernel("scale_and_offset");
  const Buffer in = buffer_of(t, counting(1000));
  const Buffer direct = t.buffer(4000);
  const Buffer recorded = t.buffer(4000);
  const hal::Constant constants[] = {std::int32_t{5}, std::int32_t{-9}, std::uint32_t{1000}};
  dispatch(t, function, {.items = {1000}}, {in, direct}, hal::View<hal::Constant>(constants, 3));
  Recording recording(t);
  recording->dispatch(function, {.items = {1000}}, {recording.ref(in), recording.ref(recorded)},
                      hal::View<hal::Constant>(constants, 3));
  recording.run();
  VERIFY(words(direct) == words(recorded));
}

void recorded_dispatches_chain_by_barriers(Context& t) {
  const Buffer x = buffer_of(t, counting(500));
  Recording recording(t);
  for (int i = 0; i < 10; ++i) {
    recording->dispatch(t.kernel("twice"), {.items = {500}}, {recording.ref(x)},
                        {std::uint32_t{500}});
    recording->barrier();
    recording->dispatch(t.kernel("increment"), {.items = {500}}, {recording.ref(x)},
                        {std::uint32_t{500}});
    recording->barrier();
  }
  recording.run();
  const auto y = words(x);
  for (std::uint32_t i = 0; i < 500; ++i) VERIFY_EQ(y[i], 1024 * i + 1023);
}

void independent_recorded_dispatches_all_run(Context& t) {
  const Buffer x = t.buffer(4 * 64 * 64);
  Recording recording(t);
  for (std::uint32_t i = 0; i < 64; ++i) {
    recording->dispatch(t.kernel("increment"), {.items = {64}}, {recording.ref(x, 256 * i, 256)},
                        {std::uint32_t{64}});
  }
  recording.run();
  VERIFY(words(x) == std::vector<std::uint32_t>(64 * 64, 1));
}

void update_then_dispatch_in_one_recording(Context& t) {
  const auto source = counting(100);
  const Buffer in = t.buffer(400);
  const Buffer out = t.buffer(400);
  Recording recording(t);
  recording->update(recording.ref(in), std::as_bytes(std::span(source))).barrier();
  recording->dispatch(t.kernel("scale_and_offset"), {.items = {100}},
                      {recording.ref(in), recording.ref(out)},
                      {std::int32_t{2}, std::int32_t{5}, std::uint32_t{100}});
  recording.run();
  const auto y = words(out);
  for (std::uint32_t i = 0; i < 100; ++i) VERIFY_EQ(y[i], 2 * i + 5);
}

void recorded_constants_are_taken_at_once(Context& t) {
  const Buffer out = t.buffer(4);
  Recording recording(t);
  {
    std::vector<hal::Constant> constants = {1.0f, std::int32_t{2}, std::uint32_t{3}};
    recording->dispatch(t.kernel("constants"), {.groups = {1}}, {recording.ref(out)}, constants);
    std::ranges::fill(constants, hal::Constant(100.0f));
  }
  recording.run();
  VERIFY_EQ(words(out)[0], 6u);
}

void one_dispatch_takes_direct_and_slot_bindings(Context& t) {
  const Buffer in = buffer_of(t, counting(100));
  const Buffer first = t.buffer(400);
  const Buffer second = t.buffer(400);
  Recorder recorder(t.device());
  recorder.dispatch(t.kernel("scale_and_offset"), {.items = {100}}, {in, hal::slot(0)},
                    {std::int32_t{1}, std::int32_t{100}, std::uint32_t{100}});
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = {first}}, kWatchdog));
  VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = {second}}, kWatchdog));
  for (std::uint32_t i = 0; i < 100; ++i) VERIFY_EQ(words(first)[i], 100 + i);
  VERIFY(words(first) == words(second));
}

void reused_recording_reads_new_inputs(Context& t) {
  const Buffer in = t.buffer(400);
  const Buffer out = t.buffer(400);
  Recording recording(t);
  recording->dispatch(t.kernel("scale_and_offset"), {.items = {100}},
                      {recording.ref(in), recording.ref(out)},
                      {std::int32_t{3}, std::int32_t{1}, std::uint32_t{100}});
  const CommandBuffer commands = recording.finish();
  for (std::uint32_t round = 0; round < 10; ++round) {
    std::ranges::fill(in.map().value().as<std::uint32_t>(), round);
    VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = recording.table()}, kWatchdog));
    VERIFY(words(out) == std::vector<std::uint32_t>(100, 3 * round + 1));
  }
}

void dispatch_before_its_signal_runs_after_it(Context& t) {
  const Buffer x = t.buffer(400);
  const Semaphore filled = t.semaphore();
  const Semaphore done = t.semaphore();
  VERIFY_OK(t.compute().dispatch(t.kernel("increment"), {.items = {100}}, {x}, {std::uint32_t{100}},
                                 {.wait = {{filled, 1}}, .signal = {{done, 1}}}));
  VERIFY_OK(t.compute().fill(x, 41, 4, {.signal = {{filled, 1}}}));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(words(x) == std::vector<std::uint32_t>(100, 42));
}

void pipeline_over_both_queues(Context& t) {
  const Buffer in = t.buffer(4000);
  const Buffer out = t.buffer(4000);
  const Semaphore s = t.semaphore();
  const auto source = counting(1000);
  VERIFY_OK(t.copy_queue().update(in, 0, std::as_bytes(std::span(source)), {.signal = {{s, 1}}}));
  VERIFY_OK(t.compute().dispatch(t.kernel("increment"), {.items = {1000}}, {in},
                                 {std::uint32_t{1000}}, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(t.copy_queue().copy(in, out, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_OK(s.wait(3, kWatchdog));
  const auto y = words(out);
  for (std::uint32_t i = 0; i < 1000; ++i) VERIFY_EQ(y[i], i + 1);
}

void both_devices_run_the_same_kernel(Context& t) {
  const std::vector<Semaphore> done = t.semaphores(2);
  const Buffer x[2] = {t.buffer(400, 0, 0), t.buffer(400, 0, 1)};
  for (std::size_t i = 0; i < 2; ++i) {
    VERIFY_OK(t.compute(i).dispatch(t.kernel("increment", i), {.items = {100}}, {x[i]},
                                    {std::uint32_t{100}}, {.signal = {{done[i], 1}}}));
  }
  VERIFY_OK(hal::wait_all({{done[0], 1}, {done[1], 1}}, kWatchdog));
  VERIFY(words(x[0]) == std::vector<std::uint32_t>(100, 1));
  VERIFY(words(x[1]) == words(x[0]));
}

void results_are_the_same_every_time(Context& t) {
  const Function busy = t.kernel("busy");
  std::vector<std::uint32_t> first;
  for (int round = 0; round < 5; ++round) {
    const Buffer x = buffer_of(t, counting(100));
    dispatch(t, busy, {.groups = {100}}, {x}, {std::uint32_t{1000}});
    if (round == 0) first = words(x);
    VERIFY(words(x) == first);
  }
}

#define CASE(name) {"dispatch", #name, name}
#define CASE_BY_EVERY_BINDING(name) {"dispatch", #name, name, Vary::kBindings}
constexpr Case kCases[] = {
    CASE(kernel_reads_one_binding_and_writes_another),
    CASE(constants_of_every_type_arrive),
    CASE(constants_and_bindings_arrive_together),
    CASE(nine_bindings_stay_in_order),
    CASE(binding_begins_at_its_offset),
    CASE(offsets_of_subspan_and_binding_add_up),
    CASE(arguments_are_taken_before_dispatch_returns),
    CASE(pending_launch_keeps_its_arguments_when_the_next_is_made),
    CASE(kernels_of_one_file_differ),
    CASE(every_group_sees_its_place),
    CASE(every_item_sees_its_place_in_three_dimensions),
    CASE(kernel_sees_the_number_of_groups),
    CASE(items_are_rounded_up_to_groups),
    CASE(groups_run_exactly_as_many_as_given),
    CASE(many_groups_each_run_once),
    CASE(hundred_thousand_small_groups_each_run_once),
    CASE(groups_in_every_dimension_each_run_once),
    CASE(zero_items_run_nothing_but_wait_and_signal),
    CASE_BY_EVERY_BINDING(zero_groups_in_a_recording_run_nothing),
    CASE(items_of_a_group_exchange_through_shared_memory),
    CASE(items_keep_private_values_from_block_to_block),
    CASE_BY_EVERY_BINDING(recorded_dispatch_gives_what_a_queue_dispatch_gives),
    CASE_BY_EVERY_BINDING(recorded_dispatches_chain_by_barriers),
    CASE_BY_EVERY_BINDING(independent_recorded_dispatches_all_run),
    CASE_BY_EVERY_BINDING(update_then_dispatch_in_one_recording),
    CASE_BY_EVERY_BINDING(recorded_constants_are_taken_at_once),
    CASE(one_dispatch_takes_direct_and_slot_bindings),
    CASE_BY_EVERY_BINDING(reused_recording_reads_new_inputs),
    CASE(dispatch_before_its_signal_runs_after_it),
    CASE(pipeline_over_both_queues),
    CASE(both_devices_run_the_same_kernel),
    CASE(results_are_the_same_every_time),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING

}  // namespace
}  // namespace dispatch

std::span<const Case> dispatch_cases() noexcept { return dispatch::kCases; }

}  // namespace halyard::inline v0::conformance
