// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipeline layouts and push constants: what stays bound between dispatches, refused uses.
#include <cstddef>
#include <numeric>

#include "conformance/descriptors.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace layouts {
namespace {

using hal::Buffer;
using hal::DescriptorSet;
using hal::DescriptorSetLayout;
using hal::PipelineLayout;
using hal::Recorder;
using hal::slot;
using hal::View;
using kernel::Access;

constexpr StatusCode kInvalidArgument = StatusCode::kInvalidArgument;
constexpr StatusCode kOutOfRange = StatusCode::kOutOfRange;
constexpr StatusCode kPermissionDenied = StatusCode::kPermissionDenied;
constexpr StatusCode kFailedPrecondition = StatusCode::kFailedPrecondition;

// ---- Push constants

void push_constants_are_a_c_struct(Context& t) {
  struct Constants {
    float a;
    std::int32_t b;
    std::uint32_t c;
  };
  const hal::Function function = t.kernel("constants");
  VERIFY_EQ(function.constant(0).offset, offsetof(Constants, a));
  VERIFY_EQ(function.constant(1).offset, offsetof(Constants, b));
  VERIFY_EQ(function.constant(2).offset, offsetof(Constants, c));
  VERIFY_EQ(function.constants_size(), sizeof(Constants));

  const Buffer pushed = t.buffer(4);
  const Buffer direct = t.buffer(4);
  const PipelineLayout layout =
      pipeline_layout(t, {set_layout(t, {{0, Access::kWrite}})}, sizeof(Constants));
  Recording recording(t);
  recording->push_descriptor_set(layout, 0, {{0, recording.ref(pushed)}});
  recording->push_constants(layout, 0, bytes_of(Constants{1000.5f, -20, 3}));
  recording->dispatch(function, {.items = 1});
  recording->dispatch(function, {.items = 1}, {recording.ref(direct)},
                      {1000.5f, std::int32_t{-20}, std::uint32_t{3}});
  recording.run();
  VERIFY_EQ(values_of<std::int32_t>(pushed)[0], 983);
  VERIFY_EQ(values_of<std::int32_t>(direct)[0], 983);
}

void all_128_bytes_of_push_constants_arrive(Context& t) {
  const Buffer y = t.buffer(128);
  const PipelineLayout layout =
      pipeline_layout(t, {set_layout(t, {{0, Access::kWrite}})}, hal::kMaxPushConstants);
  std::vector<std::uint32_t> values(32);
  std::iota(values.begin(), values.end(), 7u);
  Recording recording(t);
  recording->push_descriptor_set(layout, 0, {{0, recording.ref(y)}});
  recording->push_constants(layout, 0, std::as_bytes(std::span(values)));
  recording->dispatch(t.kernel("many_constants"), {.items = 1});
  recording.run();
  VERIFY(values_of<std::uint32_t>(y) == values);
}

void kernel_without_constants_needs_no_push(Context& t) {
  const Buffer x = t.buffer(256, 1);
  const Buffer y = t.buffer(256);
  const PipelineLayout layout =
      pipeline_layout(t, {set_layout(t, {{0, Access::kRead}, {1, Access::kWrite}})}, 0);
  Recording recording(t);
  recording->push_descriptor_set(layout, 0, {{0, recording.ref(x)}, {1, recording.ref(y)}});
  recording->dispatch(t.kernel("reverse_in_group"), {.groups = 1});
  recording.run();
  VERIFY(values_of<std::uint32_t>(y) == values_of<std::uint32_t>(x));
}

void part_of_the_push_constants_changes_between_dispatches(Context& t) {
  const TwoSets of(t);
  const Buffer x = numbers(t);
  const Buffer y[3] = {t.buffer(x.size()), t.buffer(x.size()), t.buffer(x.size())};
  Recording recording(t);
  recording->push_descriptor_set(of.layout, 0, {{0, recording.ref(x)}});
  // The parts one by one, in arbitrary order.
  recording->push_constants(of.layout, 8, bytes_of(kCount));
  recording->push_constants(of.layout, 0, bytes_of(std::int32_t{3}));
  for (std::int32_t i = 0; i < 3; ++i) {
    recording->push_descriptor_set(of.layout, 1, {{0, recording.ref(y[i])}});
    recording->push_constants(of.layout, 4, bytes_of(10 * i));
    recording->dispatch(t.kernel("scale_and_offset"), {.items = kCount});
  }
  recording.run();
  for (std::int32_t i = 0; i < 3; ++i) VERIFY(holds(y[i], 3, 10 * i));
}

// ---- Bindings that persist

void bindings_and_constants_persist_between_dispatches(Context& t) {
  const Buffer x = numbers(t, 1);
  const InPlace of(t);
  Recording recording(t);
  recording->push_descriptor_set(of.layout, 0, {{0, recording.ref(x)}});
  recording->push_constants(of.layout, 0, bytes_of(kCount));
  recording->dispatch(t.kernel("twice"), {.items = kCount}).barrier();
  recording->dispatch(t.kernel("negate"), {.items = kCount}).barrier();
  // Neither a dispatch with bindings of its own nor another command changes them.
  const Buffer other = t.buffer(4);
  recording->dispatch(t.kernel("increment"), {.items = 1}, {recording.ref(other)},
                      {std::uint32_t{1}});
  recording->fill(recording.ref(t.buffer(4)), 0).begin_debug_group("more");
  recording->dispatch(t.kernel("twice"), {.items = kCount}).end_debug_group();
  recording.run();
  VERIFY(holds(x, -4, -4));
  VERIFY_EQ(values_of<std::uint32_t>(other)[0], 1u);
}

void rebinding_replaces_one_set_for_the_dispatches_that_follow(Context& t) {
  const TwoSets of(t);
  const Buffer x = numbers(t);
  const Buffer y[3] = {t.buffer(x.size()), t.buffer(x.size()), t.buffer(x.size())};
  Recording recording(t);
  recording->push_constants(of.layout, 0, bytes_of(ScaleAndOffset{5, 2}));
  recording->push_descriptor_set(of.layout, 0, {{0, recording.ref(x)}});
  for (const Buffer& out : y) {
    recording->push_descriptor_set(of.layout, 1, {{0, recording.ref(out)}});
    recording->dispatch(t.kernel("scale_and_offset"), {.items = kCount}).barrier();
  }
  // No dispatch follows, so nothing is written to x.
  recording->push_descriptor_set(of.layout, 1, {{0, recording.ref(x)}});
  recording.run();
  for (const Buffer& out : y) VERIFY(holds(out, 5, 2));
  VERIFY(holds(x, 1, 0));
}

void layout_of_equal_content_is_the_same(Context& t) {
  const TwoSets one(t);
  const TwoSets other(t);
  VERIFY(!(one.layout == other.layout));
  const Buffer x = numbers(t);
  const Buffer y = t.buffer(x.size());
  Recording recording(t);
  recording->bind_descriptor_set(one.layout, 0, set_of(t, other.in, {{0, recording.ref(x)}}));
  recording->push_constants(one.layout, 0, bytes_of(ScaleAndOffset{4, 1}));
  recording->bind_descriptor_set(other.layout, 1, set_of(t, one.out, {{0, recording.ref(y)}}));
  recording->dispatch(t.kernel("scale_and_offset"), {.items = kCount});
  recording.run();
  VERIFY(holds(y, 4, 1));
}

void another_layout_keeps_the_sets_below_the_first_that_differs(Context& t) {
  const TwoSets of(t);
  const PipelineLayout other =
      pipeline_layout(t, {of.in, set_layout(t, {{1, Access::kWrite}})}, sizeof(ScaleAndOffset));
  const Buffer x = numbers(t);
  const Buffer y = t.buffer(x.size());
  const auto bind_both = [&](Recorder& recorder) {
    recorder.push_descriptor_set(of.layout, 0, {{0, x}});
    recorder.push_descriptor_set(of.layout, 1, {{0, x}});
    recorder.push_constants(of.layout, 0, bytes_of(ScaleAndOffset{2, 3}));
  };
  const hal::Function function = t.kernel("scale_and_offset");
  Recorder kept(t.device());
  bind_both(kept);
  kept.push_descriptor_set(other, 1, {{1, y}}).dispatch(function, {.items = kCount});
  VERIFY_OK(run(t, kept));
  VERIFY(holds(y, 2, 3));
  // The sets that differed are unbound, also for the layout that they were bound with.
  VERIFY_CODE(recorded(t,
                       [&](Recorder& recorder) {
                         bind_both(recorder);
                         recorder.push_constants(other, 0, {});
                         recorder.push_constants(of.layout, 0, {});
                         recorder.dispatch(function, {.items = kCount});
                       }),
              kFailedPrecondition);
}

void layout_that_differs_in_set_0_unbinds_all(Context& t) {
  const TwoSets of(t);
  const DescriptorSetLayout in = set_layout(t, {{0, Access::kReadWrite}});
  const PipelineLayout other = pipeline_layout(t, {in, of.out}, sizeof(ScaleAndOffset));
  const Buffer x = numbers(t);
  VERIFY_CODE(recorded(t,
                       [&](Recorder& recorder) {
                         recorder.push_descriptor_set(of.layout, 0, {{0, x}});
                         recorder.push_descriptor_set(of.layout, 1, {{0, x}});
                         recorder.push_constants(of.layout, 0, bytes_of(ScaleAndOffset{}));
                         recorder.push_descriptor_set(other, 0, {{0, x}});
                         recorder.dispatch(t.kernel("scale_and_offset"), {.items = 1});
                       }),
              kFailedPrecondition);
}

void layout_with_another_size_of_push_constants_forgets_them(Context& t) {
  const InPlace of(t);
  const PipelineLayout wide = pipeline_layout(t, {of.set}, 8);
  const Buffer x = numbers(t, 1);
  const auto record = [&](Recorder& recorder) {
    recorder.push_descriptor_set(of.layout, 0, {{0, x}});
    recorder.push_constants(of.layout, 0, bytes_of(kCount));
    recorder.push_constants(wide, 4, bytes_of(kCount));
  };
  VERIFY_CODE(recorded(t,
                       [&](Recorder& recorder) {
                         record(recorder);
                         recorder.dispatch(t.kernel("twice"), {.items = kCount});
                       }),
              kFailedPrecondition);
  // The set is still bound, and the kernel takes only the first bytes.
  Recorder recorder(t.device());
  record(recorder);
  recorder.push_constants(wide, 0, bytes_of(kCount));
  recorder.dispatch(t.kernel("twice"), {.items = kCount});
  VERIFY_OK(run(t, recorder));
  VERIFY(holds(x, 2, 2));
}

void what_one_recorder_bound_is_not_bound_in_another(Context& t) {
  const InPlace of(t);
  Recorder first(t.device());
  first.push_descriptor_set(of.layout, 0, {{0, slot(0)}});
  first.push_constants(of.layout, 0, bytes_of(kCount));
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.dispatch(t.kernel("twice"), {.items = 1}); }),
              kFailedPrecondition);
  VERIFY_OK(first.dispatch(t.kernel("twice"), {.items = 1}).finish());
  VERIFY_CODE(first.push_constants(of.layout, 0, bytes_of(kCount)).finish(), kFailedPrecondition);
}

// ---- Refused uses

void pipeline_layout_has_its_limits(Context& t) {
  const std::vector<DescriptorSetLayout> sets(hal::kMaxDescriptorSets, set_layout(t, {{0}}));
  std::vector<DescriptorSetLayout> more = sets;
  more.push_back(sets[0]);
  const auto create = [&](View<DescriptorSetLayout> layouts, std::uint32_t size) {
    return t.device().create_pipeline_layout(layouts, size);
  };
  VERIFY_OK(create(sets, hal::kMaxPushConstants));
  VERIFY_CODE(create(more, 0), kOutOfRange);
  VERIFY_CODE(create(sets, hal::kMaxPushConstants + 4), kOutOfRange);
  VERIFY_CODE(create(sets, 0xfffffffc), kOutOfRange);
  VERIFY_CODE(create(sets, 6), kInvalidArgument);
  VERIFY_CODE(create({DescriptorSetLayout()}, 0), kInvalidArgument);
}

void push_constants_stay_within_the_layout_in_words(Context& t) {
  const TwoSets of(t);  // 12 bytes
  constexpr std::byte kBytes[16] = {};
  const auto push = [&](std::uint32_t offset, std::size_t size) {
    return recorded(t, [&](Recorder& r) { r.push_constants(of.layout, offset, {kBytes, size}); });
  };
  VERIFY_OK(push(0, 12));
  VERIFY_OK(push(8, 4));
  VERIFY_OK(push(12, 0));
  VERIFY_CODE(push(0, 16), kOutOfRange);
  VERIFY_CODE(push(12, 4), kOutOfRange);
  VERIFY_CODE(push(16, 0), kOutOfRange);
  VERIFY_CODE(push(0xfffffffc, 8), kOutOfRange);
  VERIFY_CODE(push(2, 4), kInvalidArgument);
  VERIFY_CODE(push(0, 3), kInvalidArgument);
}

void dispatch_without_a_set_or_a_constant_is_refused(Context& t) {
  const TwoSets of(t);
  const auto dispatch = [&](Recorder& r) {
    r.dispatch(t.kernel("scale_and_offset"), {.items = kCount});
  };
  VERIFY_CODE(recorded(t, dispatch), kFailedPrecondition);
  const auto set_1_only = [&](Recorder& r) {
    r.push_constants(of.layout, 0, bytes_of(ScaleAndOffset{}));
    r.push_descriptor_set(of.layout, 1, {{0, slot(1)}});
    dispatch(r);
  };
  VERIFY_CODE(recorded(t, set_1_only), kFailedPrecondition);
  const auto part_of_the_constants = [&](Recorder& r) {
    r.push_descriptor_set(of.layout, 0, {{0, slot(0)}});
    r.push_descriptor_set(of.layout, 1, {{0, slot(1)}});
    r.push_constants(of.layout, 0, bytes_of(kCount));
    r.push_constants(of.layout, 8, bytes_of(kCount));
    dispatch(r);
  };
  VERIFY_CODE(recorded(t, part_of_the_constants), kFailedPrecondition);
}

void kernel_of_another_signature_is_refused(Context& t) {
  const InPlace of(t);
  const DescriptorSet set = set_of(t, of.set, {{0, slot(0)}});
  const auto dispatch = [&](const PipelineLayout& layout, const char* kernel) {
    return recorded(t, [&](Recorder& r) {
      r.bind_descriptor_set(layout, 0, set);
      r.push_constants(layout, 0, bytes_of(kCount));
      r.dispatch(t.kernel(kernel), {.items = 1});
    });
  };
  VERIFY_OK(dispatch(of.layout, "twice"));
  VERIFY_CODE(dispatch(of.layout, "scale_and_offset"), kInvalidArgument);  // more bindings
  VERIFY_CODE(dispatch(of.layout, "constants"), kInvalidArgument);         // more constants
  const PipelineLayout two = pipeline_layout(t, {of.set, of.set}, 4);
  VERIFY_CODE(dispatch(two, "twice"), kInvalidArgument);  // fewer bindings
}

void kernel_may_do_no_more_than_the_layout_says(Context& t) {
  const auto dispatch = [&](Access x, Access y) {
    const DescriptorSetLayout both = set_layout(t, {{0, x}, {1, y}});
    const PipelineLayout layout = pipeline_layout(t, {both}, sizeof(ScaleAndOffset));
    return recorded(t, [&](Recorder& r) {
      r.push_descriptor_set(layout, 0, {{0, slot(0)}, {1, slot(1)}});
      r.push_constants(layout, 0, bytes_of(ScaleAndOffset{}));
      r.dispatch(t.kernel("scale_and_offset"), {.items = 1});
    });
  };
  VERIFY_OK(dispatch(Access::kRead, Access::kWrite));
  VERIFY_OK(dispatch(Access::kReadWrite, Access::kReadWrite));
  VERIFY_CODE(dispatch(Access::kRead, Access::kRead), kPermissionDenied);
  VERIFY_CODE(dispatch(Access::kWrite, Access::kWrite), kPermissionDenied);
}

#define CASE(name) {"pipeline_layout", #name, name}
#define CASE_BY_EVERY_BINDING(name) {"pipeline_layout", #name, name, Vary::kBindings}
constexpr Case kCases[] = {
    CASE_BY_EVERY_BINDING(push_constants_are_a_c_struct),
    CASE_BY_EVERY_BINDING(all_128_bytes_of_push_constants_arrive),
    CASE_BY_EVERY_BINDING(kernel_without_constants_needs_no_push),
    CASE_BY_EVERY_BINDING(part_of_the_push_constants_changes_between_dispatches),
    CASE_BY_EVERY_BINDING(bindings_and_constants_persist_between_dispatches),
    CASE_BY_EVERY_BINDING(rebinding_replaces_one_set_for_the_dispatches_that_follow),
    CASE_BY_EVERY_BINDING(layout_of_equal_content_is_the_same),
    CASE(another_layout_keeps_the_sets_below_the_first_that_differs),
    CASE(layout_that_differs_in_set_0_unbinds_all),
    CASE(layout_with_another_size_of_push_constants_forgets_them),
    CASE(what_one_recorder_bound_is_not_bound_in_another),
    CASE(pipeline_layout_has_its_limits),
    CASE(push_constants_stay_within_the_layout_in_words),
    CASE(dispatch_without_a_set_or_a_constant_is_refused),
    CASE(kernel_of_another_signature_is_refused),
    CASE(kernel_may_do_no_more_than_the_layout_says),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING

}  // namespace
}  // namespace layouts

std::span<const Case> pipeline_layout_cases() noexcept { return layouts::kCases; }

}  // namespace halyard::inline v0::conformance
