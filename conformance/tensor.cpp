// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor parameters: the grids, constants and tiles that a launch computes, and the kernels' use of
// them.
#include <algorithm>
#include <numeric>
#include <string>

#include "conformance/context.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace tensor {
namespace {

using hal::Buffer;
using hal::BufferView;
using hal::ElementType;
using hal::Extents;
using hal::Launch;
using hal::SubmitInfo;
using hal::Tensor;

constexpr std::int32_t kUntouched = -1;

std::vector<std::int32_t> counting(std::size_t count) {
  std::vector<std::int32_t> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

Buffer buffer_of(const Context& t, const std::vector<std::int32_t>& values) {
  return t.buffer_of(std::span<const std::int32_t>(values));
}
// A buffer of so many elements, none of them written.
Buffer untouched(const Context& t, std::size_t count) { return t.buffer(4 * count, 0xff); }

BufferView view(const Buffer& buffer, hal::View<std::uint64_t> shape) {
  return BufferView::create(buffer, ElementType::kInt32, shape).value();
}

std::vector<std::int32_t> elements(const Buffer& buffer) {
  const hal::Mapping mapping = buffer.map().value();
  return {mapping.as<std::int32_t>().begin(), mapping.as<std::int32_t>().end()};
}

void run(Context& t, std::string_view kernel, hal::View<hal::Argument> arguments,
         hal::View<hal::Constant> scalars = {}) {
  const Launch launch = Launch::create(t.kernel(kernel), arguments, scalars).value();
  t.finish([&](const SubmitInfo& info) { return t.compute().dispatch(launch, info); });
}

// ---- Tiles and grids

void static_tile_covers_sizes_that_are_no_multiple_of_it(Context& t) {
  for (const std::uint64_t rows : {1u, 4u, 5u, 9u}) {
    for (const std::uint64_t columns : {1u, 6u, 7u, 23u}) {
      std::vector<std::int32_t> expected = counting(rows * columns);
      const Buffer x = buffer_of(t, expected);
      const Buffer y = untouched(t, expected.size());
      run(t, "scale_matrix", {view(x, {rows, columns}), view(y, {rows, columns})},
          {std::int32_t{-7}});
      for (std::int32_t& value : expected) value *= -7;
      VERIFY(elements(y) == expected);
    }
  }
}

void group_x_is_the_last_dimension(Context& t) {
  const Buffer y = untouched(t, 3 * 4 * 10);
  run(t, "number_tiles", {Tensor{.memory = y, .sizes = {3, 4, 10}, .tile = {2, 3, 4}}});
  const auto found = elements(y);
  for (std::size_t at = 0; at < found.size(); ++at) {
    const std::size_t i = at / 40, j = at / 10 % 4, k = at % 10;
    VERIFY_EQ(found[at], 1 + k / 4 + 10 * (j / 3) + 100 * (i / 2));
  }
}

void run_time_tile_does_not_change_the_result(Context& t) {
  const Buffer x = buffer_of(t, counting(7 * 11));
  for (const Extents& tile : {Extents{1, 1}, Extents{2, 3}, Extents{100, 4}, Extents{11, 7}}) {
    const Buffer y = untouched(t, 11 * 7);
    run(t, "exchange_dimensions", {view(x, {7, 11}), Tensor::of(view(y, {11, 7}), tile)});
    const auto found = elements(y);
    for (std::size_t i = 0; i < 11; ++i) {
      for (std::size_t j = 0; j < 7; ++j) VERIFY_EQ(found[i * 7 + j], 1 + j * 11 + i);
    }
  }
}

void more_groups_than_tiles_write_nothing_more(Context& t) {
  const Buffer y = untouched(t, 5 * 7 + 100);
  Launch launch = Launch::create(t.kernel("number_tiles"),
                                 {Tensor{.memory = y, .sizes = {1, 5, 7}, .tile = {1, 2, 2}}})
                      .value();
  VERIFY_EQ(launch.grid().groups.x, 4u);
  VERIFY_EQ(launch.grid().groups.y, 3u);
  launch.over({.groups = {9, 9, 3}});
  t.finish([&](const SubmitInfo& info) { return t.compute().dispatch(launch, info); });
  const auto found = elements(y);
  for (std::size_t at = 0; at < found.size(); ++at) {
    VERIFY_EQ(found[at], at < 35 ? std::int32_t(1 + at % 7 / 2 + 10 * (at / 7 / 2)) : kUntouched);
  }
}

// The caller packs the constants itself, without a Launch. The kernel does not check them.
void sizes_that_the_caller_packs_are_checked_against_the_memory(Context& t) {
  const hal::Function scale = t.kernel("scale_matrix");
  std::vector<hal::Constant> constants;  // 5 rows of 6, 120 bytes
  for (std::size_t i = 0; i < scale.constant_count(); ++i) {
    const std::string_view name = scale.constant(i).name;
    const bool is_field = name.find(".size") != name.npos || name.find(".stride") != name.npos;
    constants.push_back(!is_field                 ? hal::Constant(std::int32_t{2})
                        : name.ends_with("size0") ? hal::Constant(5u)
                                                  : hal::Constant(6u));
  }
  const Buffer x = buffer_of(t, counting(30)), y = untouched(t, 30);
  const hal::BufferRange less(y, 0, 116);
  VERIFY_CODE(t.compute().dispatch(scale, {.groups = {1}}, {x, less}, constants, {}),
              StatusCode::kOutOfRange);
  hal::Recorder recorder(t.device());
  recorder.dispatch(scale, {.groups = {2, 2}}, {hal::slot(0), hal::slot(1)}, constants);
  const hal::CommandBuffer commands = recorder.finish().value();
  VERIFY_CODE(t.compute().execute(commands, {.bindings = {x, less}}), StatusCode::kOutOfRange);
  VERIFY_CODE(t.compute().execute(commands, {.bindings = {less, y}}), StatusCode::kOutOfRange);
  VERIFY(elements(y) == std::vector<std::int32_t>(30, kUntouched));
  VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = {x, y}}, kWatchdog));
  VERIFY_EQ(elements(y)[29], 60);
}

void empty_tensor_writes_nothing_and_signals(Context& t) {
  for (const Extents& sizes : {Extents{0, 4, 4}, Extents{4, 0, 4}, Extents{4, 4, 0}}) {
    const Buffer y = untouched(t, 16);
    run(t, "number_tiles", {Tensor{.memory = y, .sizes = sizes, .tile = {2, 2, 2}}});
    VERIFY(elements(y) == std::vector<std::int32_t>(16, kUntouched));
  }
}

void outputs_with_other_tiles_share_the_grid(Context& t) {
  const Buffer x = buffer_of(t, counting(3 * 20));
  const Buffer y = untouched(t, 3 * 20);
  const Buffer sums = untouched(t, 3 * 3);  // 20 columns are three tiles of 8
  run(t, "twice_and_row_sums", {view(x, {3, 20}), view(y, {3, 20}), view(sums, {3, 3})});
  const auto doubled = elements(y);
  const auto parts = elements(sums);
  for (std::int32_t at = 0; at < 60; ++at) VERIFY_EQ(doubled[at], 2 * (at + 1));
  for (std::int32_t row = 0; row < 3; ++row) {
    VERIFY_EQ(parts[3 * row] + parts[3 * row + 1] + parts[3 * row + 2], 400 * row + 210);
    VERIFY_EQ(parts[3 * row + 2], 4 * 20 * row + 17 + 18 + 19 + 20);
  }
}

// ---- Strides and offsets

void rows_apart_are_reached_and_what_lies_between_is_kept(Context& t) {
  const Buffer x = buffer_of(t, counting(5 * 9));
  const Buffer y = untouched(t, 5 * 12);
  run(t, "scale_matrix",
      {Tensor{.memory = x, .sizes = {5, 7}, .strides = {9, 1}},
       Tensor{.memory = y, .sizes = {5, 7}, .strides = {12, 1}}},
      {std::int32_t{2}});
  const auto found = elements(y);
  for (std::size_t at = 0; at < found.size(); ++at) {
    const std::size_t row = at / 12, column = at % 12;
    VERIFY_EQ(found[at], column < 7 ? std::int32_t(2 * (1 + 9 * row + column)) : kUntouched);
  }
}

void tensor_begins_at_its_offset(Context& t) {
  const Buffer all = buffer_of(t, counting(60));
  run(t, "scale_matrix",
      {Tensor{.memory = hal::BufferRange(all, 80, 96), .sizes = {2, 6}},
       Tensor{.memory = hal::BufferRange(all.subspan(160).value(), 16), .sizes = {2, 6}}},
      {std::int32_t{-1}});
  std::vector<std::int32_t> expected = counting(60);
  for (std::size_t i = 0; i < 12; ++i) expected[44 + i] = -expected[20 + i];
  VERIFY(elements(all) == expected);
}

void input_row_may_be_read_for_every_output_row(Context& t) {
  const Buffer x = buffer_of(t, counting(10));
  const Buffer y = untouched(t, 6 * 10);
  run(t, "scale_matrix",
      {Tensor{.memory = x, .sizes = {6, 10}, .strides = {0, 1}}, view(y, {6, 10})},
      {std::int32_t{3}});
  const auto found = elements(y);
  for (std::size_t at = 0; at < found.size(); ++at) VERIFY_EQ(found[at], 3 * (1 + at % 10));
}

void recorded_launch_runs_on_tensors(Context& t) {
  Recording recording(t);
  const Buffer x = buffer_of(t, counting(4 * 7));
  const Buffer y = untouched(t, 7 * 4);
  const Buffer z = untouched(t, 4 * 7);
  const auto tensor = [&](const Buffer& buffer, const Extents& sizes, const Extents& tile = {}) {
    return Tensor{.memory = recording.ref(buffer), .sizes = sizes, .tile = tile};
  };
  const hal::Function function = t.kernel("exchange_dimensions");
  const Launch there =
      Launch::create(function, {tensor(x, {4, 7}), tensor(y, {7, 4}, {3, 3})}).value();
  const Launch back =
      Launch::create(function, {tensor(y, {7, 4}), tensor(z, {4, 7}, {1, 5})}).value();
  recording->dispatch(there);
  recording->barrier();
  recording->dispatch(back);
  recording.run();
  VERIFY(elements(z) == elements(x));
  VERIFY_EQ(elements(y)[1], 8);
}

// ---- Reflection and refusal

void reflection_tells_rank_and_tile(Context& t) {
  const hal::Function function = t.kernel("scale_matrix");
  VERIFY_EQ(function.binding(0).rank, 2u);
  VERIFY_EQ(function.binding(0).tile[0], 0u);
  VERIFY_EQ(function.binding(1).tile[0], 4u);
  VERIFY_EQ(function.binding(1).tile[1], 6u);
  VERIFY_EQ(t.kernel("number_tiles").binding(0).rank, 3u);
  VERIFY_EQ(t.kernel("number_tiles").binding(0).tile[0], 0u);
  VERIFY_EQ(t.kernel("negate").binding(0).rank, 0u);
}

void tensor_beyond_its_buffer_is_refused_and_nothing_runs(Context& t) {
  const Buffer x = buffer_of(t, counting(24));
  const Buffer y = untouched(t, 23);
  VERIFY_CODE(
      Launch::create(t.kernel("scale_matrix"),
                     {view(x, {4, 6}), Tensor{.memory = y, .sizes = {4, 6}}}, {std::int32_t{1}}),
      StatusCode::kOutOfRange);
  VERIFY(elements(y) == std::vector<std::int32_t>(23, kUntouched));
}

void sizes_that_the_kernel_takes_equal_are_compared(Context& t) {
  const Buffer x = buffer_of(t, counting(24));
  const Buffer y = untouched(t, 24);
  const auto launch = [&](const Extents& from, const Extents& to) {
    return Launch::create(
        t.kernel("exchange_dimensions"),
        {Tensor{.memory = x, .sizes = from}, Tensor{.memory = y, .sizes = to, .tile = {1, 1}}});
  };
  VERIFY_CODE(launch({4, 6}, {6, 4}), StatusCode::kOk);
  VERIFY_CODE(launch({4, 6}, {4, 6}), StatusCode::kInvalidArgument);
  VERIFY_CODE(launch({3, 6}, {6, 4}), StatusCode::kInvalidArgument);
  VERIFY_CODE(launch({4, 6}, {5, 4}), StatusCode::kInvalidArgument);
  VERIFY_CODE(launch({4, 5}, {6, 4}), StatusCode::kInvalidArgument);
  const std::string message(launch({3, 6}, {6, 4}).status().message());
  VERIFY(message.find("size 0 of x is 3, size 1 of y is 4") != message.npos);
}

void slot_with_too_few_bytes_is_refused_when_executed(Context& t) {
  const Launch launch =
      Launch::create(t.kernel("number_tiles"),
                     {Tensor{.memory = hal::slot(0), .sizes = {1, 4, 4}, .tile = {1, 2, 2}}})
          .value();
  hal::Recorder recorder(t.device());
  recorder.dispatch(launch);
  const hal::CommandBuffer commands = recorder.finish().value();
  const Buffer y = untouched(t, 16);
  VERIFY_CODE(t.compute().execute(commands, {.bindings = {{y, 0, 60}}}), StatusCode::kOutOfRange);
  VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = {y}}, kWatchdog));
  VERIFY_EQ(elements(y)[15], 12);
}

void plain_and_tensor_arguments_are_not_exchanged(Context& t) {
  const Buffer x = buffer_of(t, counting(24));
  VERIFY_CODE(Launch::create(t.kernel("number_tiles"), {x}), StatusCode::kInvalidArgument);
  VERIFY_CODE(Launch::create(t.kernel("negate"), {view(x, {24})}, {std::uint32_t{24}}),
              StatusCode::kInvalidArgument);
}

#define CASE(name) {"tensor", #name, name}
#define CASE_BY_EVERY_BINDING(name) {"tensor", #name, name, Vary::kBindings}
constexpr Case kCases[] = {
    CASE(static_tile_covers_sizes_that_are_no_multiple_of_it),
    CASE(group_x_is_the_last_dimension),
    CASE(run_time_tile_does_not_change_the_result),
    CASE(more_groups_than_tiles_write_nothing_more),
    CASE(sizes_that_the_caller_packs_are_checked_against_the_memory),
    CASE(empty_tensor_writes_nothing_and_signals),
    CASE(outputs_with_other_tiles_share_the_grid),
    CASE(rows_apart_are_reached_and_what_lies_between_is_kept),
    CASE(tensor_begins_at_its_offset),
    CASE(input_row_may_be_read_for_every_output_row),
    CASE_BY_EVERY_BINDING(recorded_launch_runs_on_tensors),
    CASE(reflection_tells_rank_and_tile),
    CASE(tensor_beyond_its_buffer_is_refused_and_nothing_runs),
    CASE(sizes_that_the_kernel_takes_equal_are_compared),
    CASE(slot_with_too_few_bytes_is_refused_when_executed),
    CASE(plain_and_tensor_arguments_are_not_exchanged),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING

}  // namespace
}  // namespace tensor

std::span<const Case> tensor_cases() noexcept { return tensor::kCases; }

}  // namespace halyard::inline v0::conformance
