// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the suites `descriptor_set` and `pipeline_layout`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "conformance/context.h"

namespace halyard::inline v0::conformance {

inline constexpr std::uint32_t kCount = 100;

// The constants of the kernels, as C lays them out.
struct ScaleAndOffset {
  std::int32_t scale = 0, offset = 0;
  std::uint32_t n = kCount;
};

template <class T>
hal::Bytes bytes_of(const T& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

inline hal::DescriptorSetLayout set_layout(const Context& t,
                                           hal::View<hal::DescriptorBinding> bindings) {
  return t.device().create_descriptor_set_layout(bindings).value();
}

inline hal::PipelineLayout pipeline_layout(const Context& t,
                                           hal::View<hal::DescriptorSetLayout> sets,
                                           std::uint32_t push_constants_size) {
  return t.device().create_pipeline_layout(sets, push_constants_size).value();
}

inline hal::DescriptorSet set_of(const Context& t, const hal::DescriptorSetLayout& layout,
                                 hal::View<hal::Descriptor> descriptors) {
  return t.device().create_descriptor_set(layout, descriptors).value();
}

// A buffer of kCount consecutive numbers, starting at `first`.
inline hal::Buffer numbers(const Context& t, std::int32_t first = 0) {
  std::int32_t values[kCount];
  std::iota(std::begin(values), std::end(values), first);
  return t.buffer_of(std::span<const std::int32_t>(values));
}

template <class T>
std::vector<T> values_of(const hal::Buffer& buffer) {
  const hal::Mapping mapping = buffer.map().value();
  return {mapping.as<T>().begin(), mapping.as<T>().end()};
}

// True if element i of `buffer` is scale * i + offset, for all i.
inline bool holds(const hal::Buffer& buffer, std::int32_t scale, std::int32_t offset) {
  const std::vector<std::int32_t> values = values_of<std::int32_t>(buffer);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != scale * static_cast<std::int32_t>(i) + offset) return false;
  }
  return true;
}

// The layout of scale_and_offset: x in set 0, y in set 1.
struct TwoSets {
  explicit TwoSets(const Context& t)
      : in(set_layout(t, {{0, kernel::Access::kRead}})),
        out(set_layout(t, {{0, kernel::Access::kWrite}})),
        layout(pipeline_layout(t, {in, out}, sizeof(ScaleAndOffset))) {}
  hal::DescriptorSetLayout in, out;
  hal::PipelineLayout layout;
};

// The layout of negate and twice.
struct InPlace {
  explicit InPlace(const Context& t)
      : set(set_layout(t, {{0}})), layout(pipeline_layout(t, {set}, sizeof kCount)) {}
  hal::DescriptorSetLayout set;
  hal::PipelineLayout layout;
};

inline Status run(Context& t, hal::Recorder& recorder) {
  const Result<hal::CommandBuffer> commands = recorder.finish();
  if (!commands.ok()) return commands.status();
  return t.compute().execute_and_wait(*commands, {}, kWatchdog);
}

// The status of a recording whose commands `record(recorder)` adds.
template <class F>
Status recorded(Context& t, F&& record) {
  hal::Recorder recorder(t.device());
  record(recorder);
  return recorder.finish().status();
}

}  // namespace halyard::inline v0::conformance
