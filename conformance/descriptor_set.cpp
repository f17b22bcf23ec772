// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptor sets: how a kernel receives them, sharing, lifetime, refused uses.
#include <limits>
#include <utility>

#include "conformance/descriptors.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace descriptor_set {
namespace {

using hal::Buffer;
using hal::BufferRange;
using hal::CommandBuffer;
using hal::Descriptor;
using hal::DescriptorBinding;
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

// ---- Sets as kernel arguments

void set_and_push_constants_reach_the_kernel(Context& t) {
  const Buffer x = numbers(t);
  const Buffer y = t.buffer(x.size());
  const DescriptorSetLayout both = set_layout(t, {{0, Access::kRead}, {1, Access::kWrite}});
  const PipelineLayout layout = pipeline_layout(t, {both}, sizeof(ScaleAndOffset));
  Recording recording(t);
  recording->bind_descriptor_set(layout, 0,
                                 set_of(t, both, {{0, recording.ref(x)}, {1, recording.ref(y)}}));
  recording->push_constants(layout, 0, bytes_of(ScaleAndOffset{3, 7}));
  recording->dispatch(t.kernel("scale_and_offset"), {.items = kCount});
  recording.run();
  VERIFY(holds(y, 3, 7));
}

// sum_of_eight weighs each input by its position.
void bindings_go_by_set_then_by_number(Context& t) {
  Buffer digits[8];
  for (std::uint8_t i = 0; i < 8; ++i) {
    const std::uint32_t digit[] = {i + 1u};
    digits[i] = t.buffer_of(std::span<const std::uint32_t>(digit));
  }
  const Buffer y = t.buffer(4);
  constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();
  // Sparse numbers in arbitrary order; set 1 has no bindings.
  const DescriptorSetLayout first = set_layout(t, {{kLast}, {0}, {900}, {7}, {8}});
  const DescriptorSetLayout none = set_layout(t, {});
  const DescriptorSetLayout last = set_layout(t, {{3}, {2}, {1}, {400}});
  const PipelineLayout layout = pipeline_layout(t, {first, none, last}, 4);
  VERIFY_EQ(layout.binding_count(), 9u);
  Recording recording(t);
  recording->push_descriptor_set(layout, 2,
                                 {{400, recording.ref(y)},
                                  {1, recording.ref(digits[5])},
                                  {2, recording.ref(digits[6])},
                                  {3, recording.ref(digits[7])}});
  recording->push_descriptor_set(layout, 0,
                                 {{8, recording.ref(digits[2])},
                                  {7, recording.ref(digits[1])},
                                  {kLast, recording.ref(digits[4])},
                                  {0, recording.ref(digits[0])},
                                  {900, recording.ref(digits[3])}});
  recording->push_constants(layout, 0, bytes_of(std::uint32_t{1}));
  recording->dispatch(t.kernel("sum_of_eight"), {.items = 1});
  recording.run();
  VERIFY_EQ(values_of<std::uint32_t>(y)[0], 87654321u);
}

void descriptor_begins_at_its_offset(Context& t) {
  const Buffer x = numbers(t);
  const Buffer tail = x.subspan(40).value();
  const InPlace of(t);
  Recording recording(t);
  recording->push_descriptor_set(of.layout, 0, {{0, recording.ref(tail, 20, 12)}});
  recording->push_constants(of.layout, 0, bytes_of(std::uint32_t{3}));
  recording->dispatch(t.kernel("negate"), {.items = 3});
  recording.run();
  const std::vector<std::int32_t> values = values_of<std::int32_t>(x);
  for (std::int32_t i = 0; i < 100; ++i) {
    VERIFY_EQ(values[static_cast<std::size_t>(i)], i >= 15 && i < 18 ? -i : i);
  }
}

void slot_of_a_set_must_be_bound_as_far_as_it_says(Context& t) {
  const InPlace of(t);
  const Buffer x = t.buffer(64);
  Recorder recorder(t.device());
  recorder.push_descriptor_set(of.layout, 0, {{0, slot(1, 16, 32)}});
  recorder.push_constants(of.layout, 0, bytes_of(std::uint32_t{8}));
  recorder.dispatch(t.kernel("negate"), {.items = 8});
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_EQ(commands.slot_count(), 2u);
  VERIFY_CODE(t.compute().execute(commands, {.bindings = {x}}), kOutOfRange);
  VERIFY_CODE(t.compute().execute(commands, {.bindings = {x, {x, 0, 47}}}), kOutOfRange);
  VERIFY_CODE(t.compute().execute(commands, {.bindings = {x, {x, 2}}}), kInvalidArgument);
  VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = {{}, {x, 0, 48}}}, kWatchdog));
}

void slots_and_memory_mix_in_a_set(Context& t) {
  const Buffer x = numbers(t);
  const DescriptorSetLayout both = set_layout(t, {{0, Access::kRead}, {1, Access::kWrite}});
  const PipelineLayout layout = pipeline_layout(t, {both}, sizeof(ScaleAndOffset));
  Recorder recorder(t.device());
  recorder.bind_descriptor_set(layout, 0, set_of(t, both, {{1, slot(0)}, {0, x}}));
  recorder.push_constants(layout, 0, bytes_of(ScaleAndOffset{2, 1}));
  recorder.dispatch(t.kernel("scale_and_offset"), {.items = kCount});
  const CommandBuffer commands = recorder.finish().value();
  for (int i = 0; i < 2; ++i) {
    const Buffer y = t.buffer(x.size());
    VERIFY_OK(t.compute().execute_and_wait(commands, {.bindings = {y}}, kWatchdog));
    VERIFY(holds(y, 2, 1));
  }
}

void indirect_dispatch_takes_what_is_bound(Context& t) {
  t.needs_indirect_dispatch();
  constexpr std::uint32_t kGroups[] = {2, 1, 1};
  const Buffer counts = t.buffer_of(std::span<const std::uint32_t>(kGroups));
  const Buffer x = numbers(t, 1);
  const InPlace of(t);
  Recording recording(t);
  recording->push_descriptor_set(of.layout, 0, {{0, recording.ref(x)}});
  recording->push_constants(of.layout, 0, bytes_of(kCount));
  recording->dispatch_indirect(t.kernel("twice"), recording.ref(counts));
  recording.run();
  VERIFY(holds(x, 2, 2));
}

// ---- Sharing and lifetime

void one_set_serves_many_recordings_and_kernels(Context& t) {
  const InPlace of(t);
  const Buffer x = numbers(t, 1);
  const DescriptorSet set = set_of(t, of.set, {{0, x}});
  for (const char* kernel : {"twice", "negate", "twice"}) {
    Recorder recorder(t.device());
    recorder.bind_descriptor_set(of.layout, 0, set);
    recorder.push_constants(of.layout, 0, bytes_of(kCount));
    recorder.dispatch(t.kernel(kernel), {.items = kCount});
    VERIFY_OK(run(t, recorder));
  }
  VERIFY(holds(x, -4, -4));
}

void set_is_bound_by_many_threads_at_once(Context& t) {
  const TwoSets of(t);
  const Buffer x = numbers(t);
  const DescriptorSet in = set_of(t, of.in, {{0, x}});
  const hal::Function function = t.kernel("scale_and_offset");
  std::vector<Buffer> y;
  for (int i = 0; i < 8; ++i) y.push_back(t.buffer(x.size()));
  Threads threads;
  for (std::int32_t i = 0; i < 8; ++i) {
    threads.start([&, i] {
      Recorder recorder(t.device());
      recorder.bind_descriptor_set(of.layout, 0, in);
      recorder.push_descriptor_set(of.layout, 1, {{0, y[static_cast<std::size_t>(i)]}});
      recorder.push_constants(of.layout, 0, bytes_of(ScaleAndOffset{i, 1}));
      recorder.dispatch(function, {.items = kCount});
      VERIFY_OK(run(t, recorder));
    });
  }
  threads.join();
  for (std::int32_t i = 0; i < 8; ++i) VERIFY(holds(y[static_cast<std::size_t>(i)], i, 1));
}

void handles_may_go_before_a_parked_recording_runs(Context& t) {
  const Buffer y = t.buffer(4 * kCount);
  const hal::Semaphore gate = t.semaphore();
  const hal::Semaphore done = t.semaphore();
  {
    const TwoSets of(t);
    const DescriptorSet in = set_of(t, of.in, {{0, numbers(t)}});
    Recorder recorder(t.device());
    recorder.bind_descriptor_set(of.layout, 0, in);
    recorder.bind_descriptor_set(of.layout, 1, set_of(t, of.out, {{0, slot(0)}}));
    recorder.push_constants(of.layout, 0, bytes_of(ScaleAndOffset{6, 5}));
    recorder.dispatch(t.kernel("scale_and_offset"), {.items = kCount});
    VERIFY_OK(t.compute().execute(recorder.finish().value(),
                                  {.bindings = {y}, .wait = {{gate, 1}}, .signal = {{done, 1}}}));
  }
  VERIFY_OK(gate.signal(1));
  VERIFY_OK(done.wait(1, kWatchdog));
  VERIFY(holds(y, 6, 5));
}

void set_keeps_its_buffer_and_gives_it_back(Context& t) {
  const InPlace of(t);
  const std::uint64_t before = t.device().memory_statistics().allocations;
  DescriptorSet set = set_of(t, of.set, {{0, t.buffer(64)}});
  VERIFY_EQ(t.device().memory_statistics().allocations, before + 1);
  set = {};
  VERIFY_EQ(t.device().memory_statistics().allocations, before);
}

void set_with_a_deallocated_buffer_is_refused(Context& t) {
  const InPlace of(t);
  const hal::Semaphore s = t.semaphore();
  const hal::Pool pool = t.device().default_pool(hal::MemoryType::kHostVisible);
  const Buffer x =
      t.compute()
          .allocate(pool, {.size = 64, .memory = pool.memory_type()}, {.signal = {{s, 1}}})
          .value();
  const DescriptorSet set = set_of(t, of.set, {{0, x}});
  const auto record = [&](Recorder& recorder) {
    recorder.bind_descriptor_set(of.layout, 0, set);
    recorder.push_constants(of.layout, 0, bytes_of(std::uint32_t{16}));
    recorder.dispatch(t.kernel("increment"), {.items = 16});
  };
  Recorder recorder(t.device());
  recorder.fill(x, 5).barrier();
  record(recorder);
  const CommandBuffer commands = recorder.finish().value();
  VERIFY_OK(t.compute().execute(commands, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  VERIFY_OK(s.wait(2, kWatchdog));
  VERIFY(values_of<std::uint32_t>(x) == std::vector<std::uint32_t>(16, 6));
  VERIFY_OK(t.compute().deallocate(x, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  VERIFY_CODE(recorded(t, record), kFailedPrecondition);
  VERIFY_CODE(t.compute().execute(commands, {}), kFailedPrecondition);
  VERIFY_CODE(t.device().create_descriptor_set(of.set, {{0, x}}), kFailedPrecondition);
  VERIFY_OK(s.wait(3, kWatchdog));
}

// ---- Refused uses

void set_layout_with_a_number_twice_is_refused(Context& t) {
  const auto create = [&](View<DescriptorBinding> bindings) {
    return t.device().create_descriptor_set_layout(bindings);
  };
  VERIFY_CODE(create({{0}, {0}}), kInvalidArgument);
  VERIFY_CODE(create({{5, Access::kRead}, {1}, {2}, {5, Access::kWrite}}), kInvalidArgument);
  VERIFY_OK(create({{5}, {1}, {2}}));
}

void unknown_access_is_refused(Context& t) {
  for (const int access : {3, 4, 255}) {
    VERIFY_CODE(t.device().create_descriptor_set_layout({{0, static_cast<Access>(access)}}),
                kInvalidArgument);
  }
}

void more_bindings_than_a_kernel_has_are_refused(Context& t) {
  std::vector<DescriptorBinding> bindings(hal::kMaxDescriptors + 1);
  for (std::uint32_t i = 0; i < bindings.size(); ++i) bindings[i].number = i;
  VERIFY_CODE(t.device().create_descriptor_set_layout(bindings), kOutOfRange);
  bindings.pop_back();
  const DescriptorSetLayout full = set_layout(t, bindings);
  VERIFY_EQ(full.binding_count(), hal::kMaxDescriptors);
  VERIFY_OK(t.device().create_pipeline_layout({full, set_layout(t, {})}));
  VERIFY_CODE(t.device().create_pipeline_layout({full, set_layout(t, {{0}})}), kOutOfRange);
}

void set_has_each_binding_of_its_layout_once(Context& t) {
  const DescriptorSetLayout layout = set_layout(t, {{1}, {4}});
  const Buffer x = t.buffer(16);
  const auto create = [&](View<Descriptor> descriptors) {
    return t.device().create_descriptor_set(layout, descriptors);
  };
  VERIFY_OK(create({{4, x}, {1, slot(0)}}));
  VERIFY_CODE(create({}), kInvalidArgument);
  VERIFY_CODE(create({{1, x}}), kInvalidArgument);
  VERIFY_CODE(create({{1, x}, {1, x}}), kInvalidArgument);
  VERIFY_CODE(create({{1, x}, {4, x}, {1, x}}), kInvalidArgument);
  VERIFY_CODE(create({{1, x}, {2, x}, {4, x}}), kInvalidArgument);
}

void descriptor_must_be_memory_that_is_there(Context& t) {
  const DescriptorSetLayout layout = set_layout(t, {{0}});
  const Buffer x = t.buffer(16);
  const auto create = [&](const hal::BindingRef& resource) {
    return t.device().create_descriptor_set(layout, {{0, resource}});
  };
  VERIFY_CODE(create(Buffer()), kInvalidArgument);
  VERIFY_CODE(create(hal::BindingRef()), kInvalidArgument);
  VERIFY_CODE(create(BufferRange(x, 17)), kOutOfRange);
  VERIFY_CODE(create(BufferRange(x, 8, 9)), kOutOfRange);
  VERIFY_CODE(create(BufferRange(x, 8, ~std::uint64_t{1})), kOutOfRange);
  VERIFY_CODE(create(slot(hal::kMaxSlots)), kOutOfRange);
  VERIFY_CODE(create(slot(0, 8, hal::kWholeSize - 4)), kOutOfRange);
  VERIFY_OK(create(BufferRange(x, 16)));
}

void set_is_bound_only_where_its_layout_stands(Context& t) {
  const TwoSets of(t);
  const DescriptorSet in = set_of(t, of.in, {{0, slot(0)}});
  VERIFY_OK(recorded(t, [&](Recorder& r) { r.bind_descriptor_set(of.layout, 0, in); }));
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.bind_descriptor_set(of.layout, 1, in); }),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.bind_descriptor_set(of.layout, 2, in); }),
              kOutOfRange);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.push_descriptor_set(of.layout, ~0u, {}); }),
              kOutOfRange);
}

void objects_of_another_device_are_refused(Context& t) {
  const InPlace of(t);
  const DescriptorSetLayout foreign = t.device(1).create_descriptor_set_layout({{0}}).value();
  const PipelineLayout foreign_pipeline = t.device(1).create_pipeline_layout({foreign}, 4).value();
  const DescriptorSet foreign_set =
      t.device(1).create_descriptor_set(foreign, {{0, slot(0)}}).value();
  VERIFY_CODE(t.device().create_descriptor_set(foreign, {{0, slot(0)}}), kPermissionDenied);
  VERIFY_CODE(t.device().create_pipeline_layout({of.set, foreign}), kPermissionDenied);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.bind_descriptor_set(of.layout, 0, foreign_set); }),
              kPermissionDenied);
  VERIFY_CODE(
      recorded(t, [&](Recorder& r) { r.push_descriptor_set(foreign_pipeline, 0, {{0, slot(0)}}); }),
      kPermissionDenied);
  VERIFY_CODE(
      recorded(t, [&](Recorder& r) { r.push_constants(foreign_pipeline, 0, bytes_of(kCount)); }),
      kPermissionDenied);
}

void empty_handles_are_refused(Context& t) {
  const InPlace of(t);
  VERIFY_CODE(hal::Device().create_descriptor_set_layout({}), kInvalidArgument);
  VERIFY_CODE(hal::Device().create_descriptor_set(of.set, {}), kInvalidArgument);
  VERIFY_CODE(hal::Device().create_pipeline_layout({}), kInvalidArgument);
  VERIFY_CODE(t.device().create_descriptor_set({}, {}), kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.bind_descriptor_set(of.layout, 0, {}); }),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.bind_descriptor_set({}, 0, DescriptorSet()); }),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.push_descriptor_set({}, 0, {}); }),
              kInvalidArgument);
  VERIFY_CODE(recorded(t, [&](Recorder& r) { r.push_constants({}, 0, {}); }), kInvalidArgument);
  VERIFY_EQ(DescriptorSetLayout().binding_count(), 0u);
  VERIFY_EQ(PipelineLayout().set_count(), 0u);
  VERIFY_EQ(PipelineLayout().binding_count(), 0u);
  VERIFY_EQ(PipelineLayout().push_constants_size(), 0u);
}

void copy_queue_refuses_a_recording_with_a_bound_dispatch(Context& t) {
  const InPlace of(t);
  Recorder recorder(t.device());
  recorder.push_descriptor_set(of.layout, 0, {{0, t.buffer(4)}});
  const CommandBuffer unused = std::exchange(recorder, Recorder(t.device())).finish().value();
  VERIFY_OK(t.copy_queue().execute_and_wait(unused, {}, kWatchdog));
  recorder.push_descriptor_set(of.layout, 0, {{0, t.buffer(4)}});
  recorder.push_constants(of.layout, 0, bytes_of(std::uint32_t{1}));
  recorder.dispatch(t.kernel("twice"), {.items = 1});
  VERIFY_CODE(t.copy_queue().execute(recorder.finish().value(), {}), kPermissionDenied);
}

#define CASE(name) {"descriptor_set", #name, name}
#define CASE_BY_EVERY_BINDING(name) {"descriptor_set", #name, name, Vary::kBindings}
constexpr Case kCases[] = {
    CASE_BY_EVERY_BINDING(set_and_push_constants_reach_the_kernel),
    CASE_BY_EVERY_BINDING(bindings_go_by_set_then_by_number),
    CASE_BY_EVERY_BINDING(descriptor_begins_at_its_offset),
    CASE(slot_of_a_set_must_be_bound_as_far_as_it_says),
    CASE(slots_and_memory_mix_in_a_set),
    CASE_BY_EVERY_BINDING(indirect_dispatch_takes_what_is_bound),
    CASE(one_set_serves_many_recordings_and_kernels),
    CASE(set_is_bound_by_many_threads_at_once),
    CASE(handles_may_go_before_a_parked_recording_runs),
    CASE(set_keeps_its_buffer_and_gives_it_back),
    CASE(set_with_a_deallocated_buffer_is_refused),
    CASE(set_layout_with_a_number_twice_is_refused),
    CASE(unknown_access_is_refused),
    CASE(more_bindings_than_a_kernel_has_are_refused),
    CASE(set_has_each_binding_of_its_layout_once),
    CASE(descriptor_must_be_memory_that_is_there),
    CASE(set_is_bound_only_where_its_layout_stands),
    CASE(objects_of_another_device_are_refused),
    CASE(empty_handles_are_refused),
    CASE(copy_queue_refuses_a_recording_with_a_bound_dispatch),
};
#undef CASE
#undef CASE_BY_EVERY_BINDING

}  // namespace
}  // namespace descriptor_set

std::span<const Case> descriptor_set_cases() noexcept { return descriptor_set::kCases; }

}  // namespace halyard::inline v0::conformance
