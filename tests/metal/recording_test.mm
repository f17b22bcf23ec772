// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recordings and dispatches on a lane without an engine: replays that are in flight at the same
// time, argument buffers that are kept, barriers, and recordings of many commands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/metal/command_buffer.h"
#include "drivers/metal/executable.h"
#include "drivers/metal/functions.h"
#include "metal/metal_test_util.h"

namespace halyard::metal {
namespace {

constexpr std::uint32_t kWords = 64;
constexpr std::uint32_t kMix = 0, kMany = 1;

enum class On : std::uint8_t { kDevice, kAdverseDevice, kDiscreteDevice };
std::string name_of(On device) {
  constexpr const char* kNames[] = {"ADevice", "AnAdverseDevice", "AnAdverseDiscreteDevice"};
  return kNames[static_cast<int>(device)];
}

// Runs once without adversities, once with all of them, and once on a GPU of another vendor.
class MetalRecording : public MetalTest, public ::testing::WithParamInterface<On> {
 protected:
  void SetUp() override {
    sim::metal::Options options;
    if (GetParam() != On::kDevice) options.adversities = sim::metal::Adversities::all();
    options.adversities.small_pipelines = false;  // in a test of its own
    if (GetParam() == On::kDiscreteDevice) options.devices = {sim::metal::DeviceKind::kDiscrete};
    begin(options);
  }
  void TearDown() override {
    executable_ = nullptr;
    MetalTest::TearDown();
  }
  // Memory in which each word has this value.
  Ref<DeviceMemory> words(std::uint32_t value) {
    Ref<DeviceMemory> memory = native().memory(kWords * 4);
    std::ranges::fill(of(memory), value);
    return memory;
  }
  static std::span<std::uint32_t> of(const Ref<DeviceMemory>& memory) {
    return {reinterpret_cast<std::uint32_t*>(memory->host_pointer()), kWords};
  }
  static hal::CommandRange slot(std::uint32_t index) {
    hal::CommandRange range;
    range.slot = index;
    range.length = kWords * 4;
    return range;
  }
  static hal::CommandRange whole(const Ref<DeviceMemory>& memory) {
    return range(memory, 0, memory->size());
  }
  Executable& executable() {
    if (!executable_) {
      std::ifstream file(
          std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/metal_kernels.hyx",
          std::ios::binary);
      const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                    std::istreambuf_iterator<char>());
      executable_ =
          Executable::load(native().heap().shared_device(),
                           kernel::Hyx::parse(std::as_bytes(std::span(bytes)), "kernels").value())
              .value();
    }
    return static_cast<Executable&>(*executable_);
  }
  hal::Command dispatch(std::uint32_t function, std::span<const hal::CommandRange> bindings,
                        std::span<const std::uint32_t> constants) {
    check(executable().prepare(function));
    hal::DispatchCommand command{};
    command.executable = &executable();
    command.function = function;
    std::ranges::fill(command.groups, 1u);
    command.bindings = bindings.data();
    command.binding_count = static_cast<std::uint32_t>(bindings.size());
    command.constants = reinterpret_cast<const std::byte*>(constants.data());
    command.constants_size = static_cast<std::uint32_t>(constants.size_bytes());
    return hal::Command(command);
  }
  // y = 3 * y + x + by
  hal::Command mix(std::span<const hal::CommandRange> bindings,
                   std::span<const std::uint32_t> constants) {
    return dispatch(kMix, bindings, constants);
  }
  std::unique_ptr<hal::NativeCommands> prepare(const hal::RecordedCommands& recording) {
    return CommandBuffer::create(native().heap(), recording).value();
  }

 private:
  Ref<hal::ExecutableImpl> executable_;
};
INSTANTIATE_TEST_SUITE_P(Of, MetalRecording,
                         ::testing::Values(On::kDevice, On::kAdverseDevice, On::kDiscreteDevice),
                         [](const auto& which) { return name_of(which.param); });

hal::Operation replay(const hal::NativeCommands& commands, std::uint32_t instance,
                      const hal::BoundRange* table) {
  hal::Operation operation;
  operation.kind = hal::OperationKind::kExecute;
  operation.native = &commands;
  operation.instance = instance;
  operation.table = table;
  return operation;
}

constexpr std::uint32_t kConstants[] = {7, kWords};

TEST_P(MetalRecording, WithoutSlotsReplaysAreInFlightTogether) {
  Gate gate(native());
  const auto lane = native().lane();
  const auto y = words(1), x = words(5);
  const hal::CommandRange bindings[] = {whole(x), whole(y)};
  const hal::Command commands[] = {mix(bindings, kConstants)};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}};
  const auto prepared = prepare(recording);
  EXPECT_EQ(prepared->instances().count, 0u);
  const hal::Operation operation = replay(*prepared, 0, nullptr);
  ASSERT_EQ(issue(*lane, operation, 1, {gate.at(1)}).count, 1u);
  ASSERT_EQ(issue(*lane, operation, 2).count, 1u);
  ASSERT_EQ(issue(*lane, operation, 3).count, 1u);
  gate.open(1);
  wait_until(*lane, 3);
  EXPECT_EQ(of(y)[kWords - 1], ((1u * 3 + 12) * 3 + 12) * 3 + 12);
}

TEST_P(MetalRecording, EachInstanceHasItsOwnArguments) {
  Gate gate(native());
  const auto lane = native().lane();
  const auto x = words(5);
  const hal::CommandRange bindings[] = {slot(0), slot(1)};
  const hal::Command commands[] = {mix(bindings, kConstants)};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 2};
  const auto prepared = prepare(recording);
  ASSERT_EQ(prepared->instances().count, CommandBuffer::kInstances);
  EXPECT_EQ(prepared->instances().reuse, hal::InstanceReuse::kRetired);
  std::vector<Ref<DeviceMemory>> targets;
  hal::BoundRange tables[CommandBuffer::kInstances][2];
  hal::Operation operations[CommandBuffer::kInstances];
  for (std::uint32_t i = 0; i < CommandBuffer::kInstances; ++i) {
    targets.push_back(words(i));
    tables[i][0] = {x.get(), 0, kWords * 4};
    tables[i][1] = {targets[i].get(), 0, kWords * 4};
    operations[i] = replay(*prepared, i, tables[i]);
    ASSERT_EQ(issue(*lane, operations[i], i + 1, {gate.at(1)}).count, 1u);
  }
  gate.open(1);
  wait_until(*lane, CommandBuffer::kInstances);
  for (std::uint32_t i = 0; i < CommandBuffer::kInstances; ++i) {
    EXPECT_EQ(of(targets[i])[0], i * 3 + 12);
  }
}

TEST_P(MetalRecording, DispatchesInFlightHaveTheirOwnArguments) {
  Gate gate(native());
  const auto lane = native().lane();
  const auto x = words(5);
  std::vector<Ref<DeviceMemory>> targets;
  std::vector<hal::CommandRange> bindings;
  std::vector<hal::Operation> operations;
  for (std::uint32_t i = 0; i < 4; ++i) {
    targets.push_back(words(i));
    bindings.push_back(whole(x));
    bindings.push_back(whole(targets.back()));
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    operations.push_back(command(mix(std::span(bindings).subspan(2 * i, 2), kConstants)));
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_EQ(issue(*lane, operations[i], i + 1, {gate.at(1)}).count, 1u);
  }
  gate.open(1);
  wait_until(*lane, 4);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(of(targets[i])[0], i * 3 + 12);
}

// In one encoder, the first dispatch reads the memory and the second writes it.
TEST_P(MetalRecording, MemoryIsReadAndThenWritten) {
  const auto lane = native().lane();
  const auto x = words(5), y = words(1);
  const hal::CommandRange bindings[] = {whole(x), whole(y)}, back[] = {whole(y), whole(x)};
  const hal::Command commands[] = {mix(bindings, kConstants), hal::Command(),
                                   mix(back, kConstants)};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}};
  const auto prepared = prepare(recording);
  ASSERT_EQ(issue(*lane, replay(*prepared, 0, nullptr), 1).count, 1u);
  wait_until(*lane, 1);
  EXPECT_EQ(of(y)[7], 15u);
  EXPECT_EQ(of(x)[7], 5u * 3 + 15 + 7);
}

// The issue needs more buffers than there is room for. None is made, as the last would block.
TEST_P(MetalRecording, OfSeveralBuffersIsBusyUntilThereIsRoomForAll) {
  Native in_parts({.page = 16384, .split_after = 1});
  Gate gate(in_parts);
  const auto memory = in_parts.memory(64);
  const hal::Command fill_all(hal::FillCommand{range(memory, 0, 64), 1, 4});
  const hal::Command commands[] = {fill_all, hal::Command(), fill_all, hal::Command(), fill_all};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}};
  const auto prepared = CommandBuffer::create(in_parts.heap(), recording).value();
  const hal::Operation operation = replay(*prepared, 0, nullptr);
  const auto lane = in_parts.lane();
  std::uint64_t sequence = 0;
  while (sequence < kMaxInFlight - 2) {
    ASSERT_EQ(issue(*lane, kBarrier, ++sequence, {gate.at(1)}).count, 1u);
  }
  timeline::Issue whole{
      .waits = {}, .operation = &operation, .sequence = sequence + 1, .want_marker = false};
  whole.commands = {.first = 0, .count = 3};
  const auto refused = lane->issue({&whole, 1}, timeline::Doorbell::kRing);
  EXPECT_EQ(refused.count, 0u);
  EXPECT_TRUE(refused.busy);
  gate.open(1);
  wait_until(*lane, sequence);
  EXPECT_EQ(lane->issue({&whole, 1}, timeline::Doorbell::kRing).count, 1u);
  wait_until(*lane, sequence + 1);
}

TEST_P(MetalRecording, AReplayWritesTheBindingsThatHaveChanged) {
  const auto lane = native().lane();
  const auto first = words(5), second = words(6), y = words(1), z = words(2);
  const hal::CommandRange mixed[] = {slot(0), slot(1)}, fixed[] = {whole(first), slot(1)};
  const hal::Command commands[] = {mix(mixed, kConstants), hal::Command(), mix(fixed, kConstants)};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 2};
  const auto prepared = prepare(recording);
  std::uint64_t sequence = 0;
  std::uint32_t expected[] = {1, 2};
  const auto run = [&](const Ref<DeviceMemory>& x, std::uint32_t x_value, int target) {
    const hal::BoundRange table[] = {{x.get(), 0, kWords * 4},
                                     {(target == 0 ? y : z).get(), 0, kWords * 4}};
    const hal::Operation operation = replay(*prepared, 0, table);
    ASSERT_EQ(issue(*lane, operation, ++sequence).count, 1u);
    wait_until(*lane, sequence);
    expected[target] = (expected[target] * 3 + x_value + 7) * 3 + 12;
    EXPECT_EQ(of(y)[3], expected[0]) << sequence;
    EXPECT_EQ(of(z)[3], expected[1]) << sequence;
  };
  run(first, 5, 0);
  run(first, 5, 0);
  run(second, 6, 0);
  run(second, 6, 1);
  run(first, 5, 1);
  run(first, 5, 0);
}

// Every command depends on the previous command, which is of another kind, only through barriers.
TEST_P(MetalRecording, BarriersOrderCommandsOfEveryKind) {
  const auto lane = native().lane();
  const auto x = words(5), y = words(1), z = words(0);
  const hal::CommandRange bindings[] = {whole(x), whole(y)}, back[] = {whole(y), whole(x)};
  const hal::Command barrier;
  const hal::Command commands[] = {
      mix(bindings, kConstants),  // y = 15
      barrier,
      hal::Command(hal::CopyCommand{whole(y), whole(z)}),  // z = 15
      barrier,
      hal::Command(hal::FillCommand{whole(y), 2, 4}),  // by a kernel: y = 2
      barrier,
      mix(back, kConstants),  // x = 15 + 2 + 7 = 24
      barrier,
      hal::Command(hal::FillCommand{whole(y), 0, 1}),  // by a blit: y = 0
      barrier,
      hal::Command(hal::CopyCommand{whole(x), whole(y)}),  // y = 24
      barrier,
      mix(bindings, kConstants),  // y = 72 + 24 + 7
  };
  const hal::RecordedCommands recording{.commands = commands, .edges = {}};
  const auto prepared = prepare(recording);
  ASSERT_EQ(issue(*lane, replay(*prepared, 0, nullptr), 1).count, 1u);
  wait_until(*lane, 1);
  EXPECT_EQ(of(z)[9], 15u);
  EXPECT_EQ(of(x)[9], 24u);
  EXPECT_EQ(of(y)[9], 103u);
}

// More commands than a command buffer should hold go into several buffers, in order, as one
// submission or in parts.
TEST_P(MetalRecording, OfManyCommandsIsSplit) {
  const auto lane = native().lane();
  const auto x = words(5), y = words(1);
  const hal::CommandRange bindings[] = {whole(x), whole(y)};
  std::vector<hal::Command> commands;
  std::uint32_t expected = 1;
  for (int i = 0; i < 200; ++i) {
    commands.push_back(mix(bindings, kConstants));
    commands.push_back(hal::Command());
    expected = expected * 3 + 12;
  }
  const hal::RecordedCommands recording{.commands = commands, .edges = {}};
  const auto prepared = prepare(recording);
  EXPECT_EQ(prepared->depth(), 4u);
  const hal::Operation operation = replay(*prepared, 0, nullptr);
  timeline::Issue issue{.waits = {}, .operation = &operation, .sequence = 1, .want_marker = false};
  issue.commands = {.first = 0, .count = 4};
  // Another lane waits for all of them.
  const auto behind = native().lane();
  const auto z = words(0);
  const hal::Operation copy = command(hal::Command(hal::CopyCommand{whole(y), whole(z)}));
  ASSERT_EQ(lane->issue({&issue, 1}, timeline::Doorbell::kRing).count, 1u);
  ASSERT_EQ(metal::issue(*behind, copy, 1, {Edge{lane.get(), 1}}).count, 1u);
  wait_until(*behind, 1);
  EXPECT_EQ(of(z)[kWords - 1], expected);
  EXPECT_EQ(of(y)[kWords - 1], expected);
  std::ranges::fill(of(y), 1u);
  issue.sequence = 2;
  issue.commands = {.first = 0, .count = 3};
  ASSERT_EQ(lane->issue({&issue, 1}, timeline::Doorbell::kRing).count, 1u);
  issue.sequence = 3;
  issue.commands = {.first = 3, .count = 1};
  ASSERT_EQ(lane->issue({&issue, 1}, timeline::Doorbell::kRing).count, 1u);
  wait_until(*lane, 3);
  EXPECT_EQ(of(y)[kWords - 1], expected);
}

TEST_P(MetalRecording, HasMoreBindingsThanMetalHasBuffers) {
  const auto lane = native().lane();
  const auto z = words(0);
  std::vector<Ref<DeviceMemory>> values;
  std::vector<hal::CommandRange> bindings{whole(z)};
  for (std::uint32_t i = 0; i < 33; ++i) {
    values.push_back(words(i));
    bindings.push_back(whole(values.back()));
  }
  const std::uint32_t kOne[] = {1};
  const hal::Operation operation = command(dispatch(kMany, bindings, kOne));
  ASSERT_EQ(issue(*lane, operation, 1).count, 1u);
  wait_until(*lane, 1);
  EXPECT_EQ(of(z)[0], 0u + 9 * 2 + 19 * 3 + 29 * 5 + 32 * 7);
}

TEST_P(MetalRecording, GroupCountsAreReadWhenTheDispatchRuns) {
  const auto lane = native().lane();
  const auto x = words(5), y = words(1), counts = words(0);
  const hal::CommandRange bindings[] = {whole(x), whole(y)};
  const hal::CommandRange read = range(counts, 16, 12);
  hal::Command indirect = mix(bindings, kConstants);
  indirect.dispatch.counts = &read;
  const hal::Command commands[] = {indirect,  // of no groups
                                   hal::Command(),
                                   hal::Command(hal::FillCommand{range(counts, 16, 12), 1, 4}),
                                   hal::Command(), indirect};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}};
  const auto prepared = prepare(recording);
  ASSERT_EQ(issue(*lane, replay(*prepared, 0, nullptr), 1).count, 1u);
  wait_until(*lane, 1);
  EXPECT_EQ(of(y)[0], 15u);
}

// Mathematics is fast by default in MSL, and functions are fast even with safe mathematics.
TEST_P(MetalRecording, TextsComputeAsTheirArithmeticSays) {
  constexpr std::string_view kText = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void compute(device const float* x [[buffer(0)]], device float* y [[buffer(1)]]) {
      y[0] = (x[0] + x[1]) - x[0];
      y[1] = sin(x[2]) - precise::sin(x[2]);
    })";
  const id<MTLDevice> device = native().device().handle();
  const auto library = compile(device, kText).value();
  const auto function = new_function(library.get(), make_string("compute").get());
  const auto pipeline = new_pipeline(device, function.get(), nullptr);
  const auto x = native().memory(16), y = native().memory(8);
  const float numbers[] = {1e8f, 1, 0.7f};  // 1 is less than half of the last bit of 1e8
  std::memcpy(x->host_pointer(), numbers, sizeof numbers);
  const auto queue = new_queue(device, 1);
  const auto buffer = new_command_buffer(queue.get());
  const auto encoder = new_compute_encoder(buffer.get());
  [encoder.get() setComputePipelineState:pipeline.get()];
  [encoder.get() setBuffer:x->buffer() offset:x->offset_in_buffer() atIndex:0];
  [encoder.get() setBuffer:y->buffer() offset:y->offset_in_buffer() atIndex:1];
  [encoder.get() dispatchThreadgroups:MTLSizeMake(1, 1, 1)
                threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder.get() endEncoding];
  commit(buffer.get());
  [buffer.get() waitUntilCompleted];
  float results[2];
  std::memcpy(results, y->host_pointer(), sizeof results);
  EXPECT_EQ(results[0], 0);
  EXPECT_EQ(results[1], 0);
}

TEST_P(MetalRecording, APipelineThatTakesFewerItemsIsUnavailable) {
  executable();  // none from an earlier process
  sim::metal::Options options;
  options.max_threads = 32;
  TearDown();
  begin(options);
  const Status status = executable().prepare(kMix);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("64 items in a workgroup; its pipeline takes 32"),
            std::string_view::npos)
      << status.message();
  EXPECT_TRUE(executable().prepare(kMany).ok());
}

// A warning comes with a library and an error.
TEST_P(MetalRecording, ALibraryWithAWarningIsALibrary) {
  sim::metal::Options options;
  options.compile_warnings = true;
  begin(options);
  EXPECT_TRUE(executable().prepare(kMix).ok());
}

}  // namespace
}  // namespace halyard::metal
