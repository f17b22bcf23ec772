// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recordings on a lane without an engine: replays that are in flight at the same time, and
// barriers.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/vulkan/driver.h"
#include "drivers/vulkan/executable.h"
#include "hal/registry.h"
#include "halyard/halyard.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kWords = 64;

std::string kernels() {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/vulkan_kernels.hyx";
}

class VulkanRecording : public VulkanTest {
 protected:
  void TearDown() override {
    executable_ = nullptr;
    native_.reset();
    VulkanTest::TearDown();
  }
  Native& native() {
    if (native_ == nullptr) native_ = std::make_unique<Native>();
    return *native_;
  }
  // Words of memory, all of this value.
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
  // y = 3 * y + x + by
  hal::Command mix(const hal::CommandRange (&bindings)[2], const std::uint32_t (&constants)[2]) {
    if (!executable_) {
      std::ifstream file(kernels(), std::ios::binary);
      const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                    std::istreambuf_iterator<char>());
      executable_ =
          Executable::load(Ref<NativeDevice>(&native().device()),
                           kernel::Hyx::parse(std::as_bytes(std::span(bytes)), "kernels").value())
              .value();
      check(executable_->prepare(0));
    }
    hal::DispatchCommand command{};
    command.executable = executable_.get();
    std::ranges::fill(command.groups, 1u);
    command.bindings = bindings;
    command.binding_count = 2;
    command.constants = reinterpret_cast<const std::byte*>(constants);
    command.constants_size = sizeof constants;
    return hal::Command(command);
  }

 private:
  std::unique_ptr<Native> native_;
  Ref<hal::ExecutableImpl> executable_;
};

hal::Operation replay(const hal::NativeCommands& commands, std::uint32_t instance,
                      const hal::BoundRange* table) {
  hal::Operation operation;
  operation.kind = hal::OperationKind::kExecute;
  operation.native = &commands;
  operation.instance = instance;
  operation.table = table;
  return operation;
}

TEST_F(VulkanRecording, WithoutSlotsReplaysAreInFlightTogether) {
  Gate gate(native());
  const auto lane = native().lane();
  const auto y = words(1), x = words(5);
  const hal::CommandRange bindings[] = {range(x, 0, kWords * 4), range(y, 0, kWords * 4)};
  const std::uint32_t constants[] = {7, kWords};
  const hal::Command commands[] = {mix(bindings, constants)};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}};
  const auto prepared = CommandBuffer::create(native().heap(), recording).value();
  EXPECT_EQ(prepared->instances().count, 0u);
  const hal::Operation operation = replay(*prepared, 0, nullptr);
  ASSERT_EQ(issue(*lane, operation, 1, {gate.at(1)}).count, 1u);
  ASSERT_EQ(issue(*lane, operation, 2).count, 1u);
  ASSERT_EQ(issue(*lane, operation, 3).count, 1u);
  gate.open(1);
  wait_until(*lane, 3);
  EXPECT_EQ(of(y)[kWords - 1], ((1u * 3 + 12) * 3 + 12) * 3 + 12);
}

TEST_F(VulkanRecording, EachInstanceHasItsOwnAddresses) {
  Gate gate(native());
  const auto lane = native().lane();
  const auto x = words(5);
  const hal::CommandRange bindings[] = {slot(0), slot(1)};
  const std::uint32_t constants[] = {7, kWords};
  const hal::Command commands[] = {mix(bindings, constants)};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 2};
  const auto prepared = CommandBuffer::create(native().heap(), recording).value();
  ASSERT_EQ(prepared->instances().count, CommandBuffer::kInstances);
  EXPECT_EQ(prepared->instances().reuse, hal::InstanceReuse::kRetired);
  std::vector<Ref<DeviceMemory>> targets;
  hal::BoundRange tables[CommandBuffer::kInstances][2];
  hal::Operation operations[CommandBuffer::kInstances];
  const Calls begins("vulkan.vkBeginCommandBuffer");
  for (std::uint32_t i = 0; i < CommandBuffer::kInstances; ++i) {
    targets.push_back(words(i));
    tables[i][0] = {x.get(), 0, kWords * 4};
    tables[i][1] = {targets[i].get(), 0, kWords * 4};
    operations[i] = replay(*prepared, i, tables[i]);
    ASSERT_EQ(issue(*lane, operations[i], i + 1, {gate.at(1)}).count, 1u);
  }
  EXPECT_EQ(begins.count(), 0);
  gate.open(1);
  wait_until(*lane, CommandBuffer::kInstances);
  for (std::uint32_t i = 0; i < CommandBuffer::kInstances; ++i) {
    EXPECT_EQ(of(targets[i])[0], i * 3 + 12) << "instance " << i;
  }
}

TEST_F(VulkanRecording, EachInstanceNamesItsOwnBuffers) {
  Gate gate(native());
  const auto lane = native().lane();
  const hal::Command commands[] = {hal::Command(hal::CopyCommand{slot(0), slot(1)})};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 2};
  const auto prepared = CommandBuffer::create(native().heap(), recording).value();
  std::vector<Ref<DeviceMemory>> sources, targets;
  hal::BoundRange tables[2 * CommandBuffer::kInstances][2];
  hal::Operation operations[2 * CommandBuffer::kInstances];
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < CommandBuffer::kInstances; ++i) {
      const std::uint32_t n = round * CommandBuffer::kInstances + i;
      sources.push_back(words(100 + n));
      targets.push_back(words(0));
      tables[n][0] = {sources[n].get(), 0, kWords * 4};
      tables[n][1] = {targets[n].get(), 0, kWords * 4};
      operations[n] = replay(*prepared, i, tables[n]);
      ASSERT_EQ(issue(*lane, operations[n], n + 1, {gate.at(round + 1)}).count, 1u);
    }
    gate.open(round + 1);
    wait_until(*lane, (round + 1) * CommandBuffer::kInstances);
  }
  for (std::uint32_t n = 0; n < 2 * CommandBuffer::kInstances; ++n) {
    EXPECT_EQ(of(targets[n])[kWords - 1], 100 + n) << "replay " << n;
  }
}

// A slot may move within its memory, or to memory that has the handle of one that is gone.
TEST_F(VulkanRecording, IsRecordedAgainForAnotherOffsetOrOtherMemory) {
  const auto lane = native().lane();
  hal::CommandRange half = slot(0);
  half.length = 4;
  const hal::Command commands[] = {hal::Command(hal::FillCommand{half, 0x0707'0707, 4})};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 1};
  const auto prepared = CommandBuffer::create(native().heap(), recording).value();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const auto y = words(0);
    const hal::BoundRange table[] = {{y.get(), i % 4 * 4, 16}};
    const hal::Operation operation = replay(*prepared, 0, table);
    ASSERT_EQ(issue(*lane, operation, i).count, 1u);
    wait_until(*lane, i);
    for (std::uint32_t word = 0; word < 8; ++word) {
      EXPECT_EQ(of(y)[word], word == i % 4 ? 0x0707'0707u : 0u) << "replay " << i;
    }
  }
}

TEST_F(VulkanRecording, EveryOrderIsABarrier) {
  const auto y = words(0), x = words(1);
  const hal::CommandRange all_y = range(y, 0, kWords * 4), all_x = range(x, 0, kWords * 4);
  const hal::CommandRange bindings[] = {all_x, all_y};
  const std::uint32_t constants[] = {7, kWords};
  const hal::Command fill_y(hal::FillCommand{all_y, 1, 4});
  const hal::Command copy(hal::CopyCommand{all_y, all_x});
  const hal::Command dispatch = mix(bindings, constants);
  const hal::Command barrier;
  hal::Command set, wait;
  set.kind = hal::CommandKind::kSetEvent;
  wait.kind = hal::CommandKind::kWaitEvent;
  struct Row {
    std::vector<hal::Command> commands;
    std::vector<hal::CommandEdge> edges;
    std::uint64_t barriers;  // with the one at the end
  };
  const Row rows[] = {
      {{fill_y}, {}, 1},
      {{fill_y, dispatch}, {}, 1},
      {{fill_y, barrier, copy}, {}, 2},
      {{copy, barrier, fill_y}, {}, 2},
      {{dispatch, barrier, dispatch, barrier, copy}, {}, 3},
      {{barrier, barrier, fill_y, barrier}, {}, 2},
      {{fill_y, set, dispatch, wait, copy}, {}, 2},
      {{fill_y, copy}, {{.before = 0, .after = 1}}, 2},
      {{fill_y, dispatch, copy}, {{.before = 0, .after = 1}, {.before = 1, .after = 2}}, 3},
      {{fill_y, dispatch, copy}, {{.before = 0, .after = 1}, {.before = 0, .after = 2}}, 2},
  };
  for (const Row& row : rows) {
    const hal::RecordedCommands recording{
        .commands = row.commands, .edges = row.edges, .event_count = 1};
    const std::uint64_t before = fake().barriers;
    const auto prepared = CommandBuffer::create(native().heap(), recording).value();
    EXPECT_EQ(fake().barriers - before, row.barriers) << "row " << &row - rows;
  }
}

// The engine gives a replay an instance that has retired: not one that is only ordered before.
TEST_F(VulkanRecording, ReplaysBeyondTheInstancesWaitUntilTheHostHasSeenOneEnd) {
  hal::DriverRegistry registry;
  check(register_vulkan_driver(registry));
  const hal::Device device = registry.open("vulkan://").value();
  const hal::Semaphore done = device.create_semaphore().value();
  hal::Recorder recorder(device);
  recorder.copy(hal::slot(0), hal::slot(1, 0, 256));
  const hal::CommandBuffer commands = recorder.finish().value();
  constexpr std::uint64_t kReplays = 3 * CommandBuffer::kInstances;
  std::vector<hal::Buffer> buffers;
  for (std::uint64_t i = 0; i <= kReplays; ++i) {
    buffers.push_back(
        device.allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value());
    std::ranges::fill(buffers.back().map().value().bytes(), static_cast<std::byte>(i + 1));
  }
  fake().frozen = true;
  const std::uint64_t before = fake().submits;
  for (std::uint64_t i = 0; i < kReplays; ++i) {
    check(device.queue().execute(
        commands, {.bindings = {{buffers[i], 0, 256}, buffers[i + 1]}, .signal = {{done, i + 1}}}));
  }
  EXPECT_EQ(fake().submits - before, CommandBuffer::kInstances);
  fake().frozen = false;
  check(done.wait(kReplays, 60s));
  EXPECT_EQ(fake().submits - before, kReplays);
}

}  // namespace
}  // namespace halyard::vulkan
