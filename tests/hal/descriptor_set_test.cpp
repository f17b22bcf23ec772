// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptor sets, pipeline layouts and push constants: the arguments that a launch gets, and the
// messages of errors.
#include "halyard/hal/descriptor_set.h"

#include "hal/fake_driver.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using kernel::Access;

// The constants of saxpy.
struct Arguments {
  float a = 0;
  std::uint32_t n = 0;
  Bytes bytes() const { return {reinterpret_cast<const std::byte*>(this), sizeof *this}; }
};

class Descriptors : public testing::FakeWorld {
 protected:
  DescriptorSetLayout set_layout(View<DescriptorBinding> bindings) {
    return device.create_descriptor_set_layout(bindings).value();
  }
  DescriptorSet set_of(const DescriptorSetLayout& layout, View<Descriptor> descriptors) {
    return device.create_descriptor_set(layout, descriptors).value();
  }
  // One set with x at 2 and y at 9, and saxpy's constants.
  PipelineLayout pipeline_layout() { return device.create_pipeline_layout({xy}, 8).value(); }
  void push(const PipelineLayout& layout) {
    recorder.push_constants(layout, 0, Arguments{2, 3}.bytes());
  }
  Status execute(View<BufferRange> table = {}) {
    Result<CommandBuffer> commands = recorder.finish();
    if (!commands.ok()) return commands.status();
    return queue.execute_and_wait(*commands, {.bindings = table}, 20s);
  }

  Executable executable = load(device);
  Function saxpy = executable.function("saxpy").value();
  Recorder recorder{device};
  DescriptorSetLayout xy = set_layout({{.number = 9}, {.number = 2, .access = Access::kRead}});
};

TEST_F(Descriptors, ALaunchGetsThemByNumberAndThePushedBytes) {
  const PipelineLayout layout = pipeline_layout();
  EXPECT_EQ(xy.binding_count(), 2u);
  EXPECT_EQ(layout.set_count(), 1u);
  EXPECT_EQ(layout.binding_count(), 2u);
  EXPECT_EQ(layout.push_constants_size(), 8u);
  const Buffer x = buffer(64);
  const Buffer y = buffer(64);
  recorder.bind_descriptor_set(layout, 0, set_of(xy, {{9, y}, {2, BufferRange(x, 16, 8)}}));
  push(layout);
  recorder.dispatch(saxpy, {.items = 1});
  ASSERT_TRUE(execute().ok());
  ASSERT_EQ(control->launches.size(), 1u);
  const testing::Launch& launch = control->launches[0];
  EXPECT_EQ(launch.bindings[0].offset, 16u);
  EXPECT_EQ(launch.bindings[0].length, 8u);
  EXPECT_EQ(launch.bindings[1].length, 64u);
  Arguments got;
  ASSERT_EQ(launch.constants.size(), sizeof got);
  std::memcpy(&got, launch.constants.data(), sizeof got);
  EXPECT_EQ(got.a, 2.f);
  EXPECT_EQ(got.n, 3u);
}

TEST_F(Descriptors, SlotsComeFromTheTable) {
  const PipelineLayout layout = pipeline_layout();
  recorder.bind_descriptor_set(layout, 0, set_of(xy, {{2, slot(5)}, {9, slot(1, 8, 24)}}));
  push(layout);
  recorder.dispatch(saxpy, {.items = 1});
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(commands.slot_count(), 6u);
  EXPECT_EQ(commands.command_count(), 1u) << "binding is not a command";
  const Buffer small = buffer(31);
  EXPECT_ERROR(queue.execute(commands, {.bindings = {{}, small, {}, {}, {}, small}}),
               StatusCode::kOutOfRange, "slot 1: 31 bytes bound, its commands reach 32");
}

TEST_F(Descriptors, BindingThroughSetsMakesTheSameCommandAsBindingDirectly) {
  const PipelineLayout layout = pipeline_layout();
  const Buffer x = buffer(64);
  const Buffer y = buffer(64);
  recorder.dispatch(saxpy, {.groups = {3, 2}}, {BufferRange(x, 4), slot(0)}, {2.f, 3u});
  recorder.push_descriptor_set(layout, 0, {{2, BufferRange(x, 4)}, {9, slot(0)}});
  push(layout);
  recorder.dispatch(saxpy, {.groups = {3, 2}});
  ASSERT_TRUE(execute({y}).ok());
  ASSERT_EQ(control->launches.size(), 2u);
  const testing::Launch& direct = control->launches[0];
  const testing::Launch& bound = control->launches[1];
  EXPECT_EQ(direct.constants, bound.constants);
  EXPECT_TRUE(std::ranges::equal(direct.groups, bound.groups));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(direct.bindings[i].memory, bound.bindings[i].memory);
    EXPECT_EQ(direct.bindings[i].offset, bound.bindings[i].offset);
    EXPECT_EQ(direct.bindings[i].length, bound.bindings[i].length);
  }
}

TEST_F(Descriptors, ReflectionGivesTheOffsetOfAPushedConstant) {
  EXPECT_EQ(saxpy.constants_size(), 8u);
  EXPECT_EQ(saxpy.constant(0).offset, 0u);
  EXPECT_EQ(saxpy.constant(1).offset, 4u);
  EXPECT_EQ(Function().constants_size(), 0u);
}

// Two kernels. One has z: double and a: float, b: double, n: uint, as C lays them out; the other
// has 136 bytes of constants.
std::vector<std::byte> hyx_with_gaps() {
  using kernel::ElementType;
  compiler::Contents contents;
  contents.kernels = {{.name = "gaps",
                       .workgroup_size = {1, 1, 1},
                       .bindings = {{"z", Access::kWrite, ElementType::kFloat64}},
                       .constants = {{"a", ElementType::kFloat32, 0},
                                     {"b", ElementType::kFloat64, 8},
                                     {"n", ElementType::kUint32, 16}},
                       .constants_bytes = 24}};
  contents.kernels.push_back(contents.kernels[0]);
  contents.kernels[1].name = "large";
  contents.kernels[1].constants_bytes = 136;
  contents.images = {{"x86-64-v1", "hy-cpu-1", "code"}};
  return compiler::write_hyx(contents);
}

TEST_F(Descriptors, EveryConstantMustBePushedWhollyButNotTheGaps) {
  const Executable loaded = device.load(hyx_with_gaps(), "gaps.hyx").value();
  const Function gaps = loaded.function("gaps").value();
  const DescriptorSetLayout z = set_layout({{0}});
  const PipelineLayout layout = device.create_pipeline_layout({z}, kMaxPushConstants).value();
  const auto record = [&](Recorder& to, std::initializer_list<std::uint32_t> offsets) {
    to.push_descriptor_set(layout, 0, {{0, buffer(8)}});
    for (const std::uint32_t offset : offsets) {
      const std::uint32_t word = 100 + offset;
      to.push_constants(layout, offset, {reinterpret_cast<const std::byte*>(&word), 4});
    }
  };
  for (const std::uint32_t half : {8u, 12u}) {
    Recorder half_of_b(device);
    record(half_of_b, {0, half, 16});
    EXPECT_ERROR(half_of_b.dispatch(gaps, {.items = 1}).finish().status(),
                 StatusCode::kFailedPrecondition, "gaps: constant b (offset 8) is not pushed");
  }
  record(recorder, {0, 8, 12, 16});
  recorder.dispatch(gaps, {.items = 1});
  ASSERT_TRUE(execute().ok());
  std::uint32_t words[6] = {};
  ASSERT_EQ(control->launches.at(0).constants.size(), sizeof words);
  std::memcpy(words, control->launches[0].constants.data(), sizeof words);
  EXPECT_THAT(words, ::testing::ElementsAre(100, ::testing::_, 108, 112, 116, ::testing::_));

  Recorder large(device);
  record(large, {0, 8, 12, 16});
  EXPECT_ERROR(large.dispatch(loaded.function("large").value(), {.items = 1}).finish().status(),
               StatusCode::kInvalidArgument,
               "136 bytes of constants, the pipeline layout has 128 bytes of push constants");
}

TEST_F(Descriptors, ASetKeepsItsBuffersAndARecordingTheirMemory) {
  const PipelineLayout layout = pipeline_layout();
  CommandBuffer commands;
  {
    DescriptorSet set;
    {
      const Buffer x = buffer(64);
      set = set_of(xy, {{2, x}, {9, x}});
    }
    EXPECT_EQ(control->live_memories, 1);
    recorder.bind_descriptor_set(layout, 0, set);
    push(layout);
    recorder.dispatch(saxpy, {.items = 1});
    commands = recorder.finish().value();
  }
  EXPECT_EQ(control->live_memories, 1);
  commands = {};
  EXPECT_EQ(control->live_memories, 0);
}

TEST_F(Descriptors, ABoundSetThatNoDispatchUsesIsNotKeptByTheRecording) {
  recorder.push_descriptor_set(pipeline_layout(), 0, {{2, buffer(8)}, {9, buffer(8)}});
  EXPECT_EQ(control->live_memories, 2);
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(control->live_memories, 0);
}

TEST_F(Descriptors, TheyKeepTheirDeviceOpen) {
  DescriptorSet set = set_of(xy, {{2, slot(0)}, {9, slot(1)}});
  xy = {};
  executable = {};
  saxpy = {};
  recorder = Recorder(Device());
  queue = {};
  device = {};
  EXPECT_EQ(registry.shutdown(0s).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(control->open_devices, 1);
  set = {};
  EXPECT_TRUE(registry.shutdown(20s).ok());
  EXPECT_EQ(control->open_devices, 0);
}

// ---- Refused uses

TEST_F(Descriptors, ASetLayoutIsRefusedWithTheNumber) {
  const auto refuse = [&](View<DescriptorBinding> bindings) {
    return device.create_descriptor_set_layout(bindings).status();
  };
  EXPECT_ERROR(refuse({{.number = 7}, {.number = 1}, {.number = 7}}), StatusCode::kInvalidArgument,
               "device fake://0: create_descriptor_set_layout: binding 7 is there twice");
  EXPECT_ERROR(refuse({{.number = 7, .access = Access{3}}}), StatusCode::kInvalidArgument,
               "binding 7: access 3");
  EXPECT_ERROR(refuse(std::vector<DescriptorBinding>(65)), StatusCode::kOutOfRange,
               "65 bindings; a kernel has at most 64");
  EXPECT_ERROR(Device().create_descriptor_set_layout({}).status(), StatusCode::kInvalidArgument,
               "create_descriptor_set_layout of an empty handle");
}

TEST_F(Descriptors, ASetIsRefusedWithTheBinding) {
  const Buffer x = buffer(16);
  const auto refuse = [&](View<Descriptor> descriptors) {
    return device.create_descriptor_set(xy, descriptors).status();
  };
  EXPECT_ERROR(refuse({{2, x}}), StatusCode::kInvalidArgument,
               "device fake://0: create_descriptor_set: binding 9 is not given");
  EXPECT_ERROR(refuse({{2, x}, {9, x}, {2, x}}), StatusCode::kInvalidArgument,
               "binding 2 is given twice");
  EXPECT_ERROR(refuse({{2, x}, {3, x}}), StatusCode::kInvalidArgument,
               "binding 3 is not in the layout");
  EXPECT_ERROR(refuse({{2, x}, {9, Buffer()}}), StatusCode::kInvalidArgument,
               "binding 9: empty buffer");
  EXPECT_ERROR(refuse({{2, BufferRange(x, 8, 9)}, {9, x}}), StatusCode::kOutOfRange,
               "binding 2: 9 bytes at offset 8 are beyond the end of 16 bytes");
  EXPECT_ERROR(refuse({{2, x}, {9, slot(kMaxSlots)}}), StatusCode::kOutOfRange,
               "binding 9: slot 4096; the highest is 4095");
  EXPECT_ERROR(device.create_descriptor_set({}, {}).status(), StatusCode::kInvalidArgument,
               "empty descriptor set layout");
  EXPECT_ERROR(Device().create_descriptor_set(xy, {}).status(), StatusCode::kInvalidArgument,
               "create_descriptor_set of an empty handle");
}

TEST_F(Descriptors, APipelineLayoutIsRefusedWithTheNumber) {
  const auto refuse = [&](View<DescriptorSetLayout> sets, std::uint32_t size) {
    return device.create_pipeline_layout(sets, size).status();
  };
  EXPECT_ERROR(refuse({xy, xy, xy, xy, xy}, 0), StatusCode::kOutOfRange,
               "device fake://0: create_pipeline_layout: 5 sets; there are at most 4");
  EXPECT_ERROR(refuse({xy, {}}, 0), StatusCode::kInvalidArgument,
               "set 1: empty descriptor set layout");
  EXPECT_ERROR(refuse({}, 6), StatusCode::kInvalidArgument,
               "6 bytes of push constants, no multiple of 4");
  EXPECT_ERROR(refuse({}, 132), StatusCode::kOutOfRange,
               "132 bytes of push constants; there are at most 128");
  std::vector<DescriptorBinding> many(33);
  for (std::uint32_t i = 0; i < 33; ++i) many[i].number = i;
  const DescriptorSetLayout half = set_layout(many);
  EXPECT_ERROR(refuse({half, half}, 0), StatusCode::kOutOfRange,
               "66 bindings in 2 sets; a kernel has at most 64");
  EXPECT_ERROR(Device().create_pipeline_layout({}).status(), StatusCode::kInvalidArgument,
               "create_pipeline_layout of an empty handle");
}

class BoundBadly : public Descriptors {
 protected:
  // The error of a recording after `record(recorder)`.
  template <class F>
  Status refused(F&& record) {
    Recorder fresh(device);
    record(fresh);
    return fresh.finish().status();
  }
  const PipelineLayout layout = pipeline_layout();
  const Buffer x = buffer(64);
  const DescriptorSet set = set_of(xy, {{2, x}, {9, x}});
};

TEST_F(BoundBadly, ASetOfAnotherLayoutOrNumber) {
  EXPECT_ERROR(refused([&](Recorder& r) { r.barrier().bind_descriptor_set(layout, 1, set); }),
               StatusCode::kOutOfRange,
               "recorder for fake://0: command 1 (bind_descriptor_set): set 1 of a pipeline layout "
               "with 1");
  // A layout of the same numbers with another access.
  const DescriptorSetLayout other = set_layout({{.number = 2}, {.number = 9}});
  const DescriptorSet others = set_of(other, {{2, x}, {9, x}});
  EXPECT_ERROR(refused([&](Recorder& r) { r.bind_descriptor_set(layout, 0, others); }),
               StatusCode::kInvalidArgument,
               "the descriptor set's layout is not that of set 0 in the pipeline layout");
  EXPECT_ERROR(refused([&](Recorder& r) { r.bind_descriptor_set(layout, 0, {}); }),
               StatusCode::kInvalidArgument, "empty descriptor set");
  EXPECT_ERROR(refused([&](Recorder& r) { r.bind_descriptor_set({}, 0, set); }),
               StatusCode::kInvalidArgument, "empty pipeline layout");
  EXPECT_ERROR(refused([&](Recorder& r) { r.push_descriptor_set(layout, 0, {{2, x}}); }),
               StatusCode::kInvalidArgument, "(push_descriptor_set): binding 9 is not given");
}

TEST_F(BoundBadly, APushBeyondTheLayout) {
  const std::byte bytes[12] = {};
  EXPECT_ERROR(refused([&](Recorder& r) { r.push_constants(layout, 0, bytes); }),
               StatusCode::kOutOfRange, "12 bytes at offset 0 of 8 push constant bytes");
  EXPECT_ERROR(refused([&](Recorder& r) { r.push_constants(layout, 0xfffffffc, {bytes, 8}); }),
               StatusCode::kOutOfRange, "8 bytes at offset 4294967292");
  EXPECT_ERROR(refused([&](Recorder& r) { r.push_constants(layout, 2, {bytes, 4}); }),
               StatusCode::kInvalidArgument, "4 bytes at offset 2; both are multiples of 4");
  EXPECT_ERROR(refused([&](Recorder& r) { r.push_constants(layout, 0, {bytes, 3}); }),
               StatusCode::kInvalidArgument, "3 bytes at offset 0");
  EXPECT_ERROR(refused([&](Recorder& r) { r.push_constants({}, 0, {bytes, 4}); }),
               StatusCode::kInvalidArgument, "(push_constants): empty pipeline layout");
}

TEST_F(BoundBadly, ADispatchWithoutABindingOrConstant) {
  const Arguments arguments{1, 2};
  EXPECT_ERROR(refused([&](Recorder& r) { r.dispatch(saxpy, {.items = 1}); }),
               StatusCode::kFailedPrecondition, "(dispatch): saxpy: nothing is bound");
  EXPECT_ERROR(refused([&](Recorder& r) {
                 r.push_constants(layout, 0, arguments.bytes()).dispatch(saxpy, {.items = 1});
               }),
               StatusCode::kFailedPrecondition, "saxpy: set 0 is not bound");
  EXPECT_ERROR(refused([&](Recorder& r) {
                 r.bind_descriptor_set(layout, 0, set);
                 r.push_constants(layout, 0, {arguments.bytes().data(), 4});
                 r.dispatch_indirect(saxpy, x);
               }),
               StatusCode::kFailedPrecondition,
               "(dispatch_indirect): saxpy: constant n (offset 4) is not pushed");
  EXPECT_ERROR(refused([&](Recorder& r) {
                 r.bind_descriptor_set(layout, 0, set).dispatch({}, {.items = 1});
               }),
               StatusCode::kInvalidArgument, "empty function");
}

TEST_F(BoundBadly, AKernelOfAnotherSignature) {
  const Function wide = executable.function("wide").value();
  EXPECT_ERROR(refused([&](Recorder& r) {
                 r.bind_descriptor_set(layout, 0, set).dispatch(wide, {.items = 1});
               }),
               StatusCode::kInvalidArgument, "wide: 2 bindings given, kernel wide has 1 (z)");
  const PipelineLayout less = device.create_pipeline_layout({xy}, 4).value();
  EXPECT_ERROR(refused([&](Recorder& r) {
                 r.bind_descriptor_set(less, 0, set).dispatch(saxpy, {.items = 1});
               }),
               StatusCode::kInvalidArgument,
               "saxpy: 8 bytes of constants, the pipeline layout has 4 bytes of push constants");
}

TEST_F(BoundBadly, AKernelWithMoreAccessThanTheLayoutAllows) {
  const auto dispatch = [&](Access for_x, Access for_y) {
    const DescriptorSetLayout of = set_layout({{0, for_x}, {1, for_y}});
    const PipelineLayout allowed = device.create_pipeline_layout({of}, 8).value();
    return refused([&](Recorder& r) {
      r.push_descriptor_set(allowed, 0, {{0, x}, {1, x}});
      r.push_constants(allowed, 0, Arguments{1, 2}.bytes()).dispatch(saxpy, {.items = 1});
    });
  };
  EXPECT_ERROR(dispatch(Access::kRead, Access::kRead), StatusCode::kPermissionDenied,
               "saxpy: binding 1 (y) is for read-write, set 0 binding 1 for read");
  EXPECT_ERROR(dispatch(Access::kRead, Access::kWrite), StatusCode::kPermissionDenied,
               "set 0 binding 1 for write");
  EXPECT_ERROR(dispatch(Access::kWrite, Access::kReadWrite), StatusCode::kPermissionDenied,
               "binding 0 (x) is for read, set 0 binding 0 for write");
  EXPECT_TRUE(dispatch(Access::kReadWrite, Access::kReadWrite).ok());
}

TEST_F(BoundBadly, AnObjectOfAnotherDevice) {
  const Device other = registry.open("fake://").value();
  const DescriptorSetLayout foreign = other.create_descriptor_set_layout({{2}, {9}}).value();
  EXPECT_ERROR(device.create_descriptor_set(foreign, {}).status(), StatusCode::kPermissionDenied,
               "create_descriptor_set: the descriptor set layout is of fake://0");
  EXPECT_ERROR(device.create_pipeline_layout({foreign}).status(), StatusCode::kPermissionDenied,
               "create_pipeline_layout: set 0: the descriptor set layout is of");
  const DescriptorSet theirs =
      other.create_descriptor_set(foreign, {{2, slot(0)}, {9, slot(1)}}).value();
  EXPECT_ERROR(refused([&](Recorder& r) { r.bind_descriptor_set(layout, 0, theirs); }),
               StatusCode::kPermissionDenied, "the descriptor set is of");
  const PipelineLayout their_layout = other.create_pipeline_layout({foreign}, 8).value();
  EXPECT_ERROR(refused([&](Recorder& r) { r.bind_descriptor_set(their_layout, 0, set); }),
               StatusCode::kPermissionDenied, "the pipeline layout is of");
  EXPECT_ERROR(refused([&](Recorder& r) { r.push_constants(their_layout, 0, {}); }),
               StatusCode::kPermissionDenied, "(push_constants): the pipeline layout is of");
  const Device apart = registry.open("fake://?domain=own").value();
  const Buffer unreachable = apart.allocate({.size = 8}).value();
  EXPECT_ERROR(device.create_descriptor_set(xy, {{2, x}, {9, unreachable}}).status(),
               StatusCode::kPermissionDenied, "binding 9: memory of");
}

TEST_F(BoundBadly, AMisalignedRange) {
  EXPECT_ERROR(refused([&](Recorder& r) {
                 r.push_descriptor_set(layout, 0, {{2, BufferRange(x, 2)}, {9, x}});
                 r.push_constants(layout, 0, Arguments{1, 2}.bytes()).dispatch(saxpy, {.items = 1});
               }),
               StatusCode::kInvalidArgument,
               "saxpy: binding 0 (x): offset 2 is no multiple of its element, float32");
}

}  // namespace
}  // namespace halyard::hal
