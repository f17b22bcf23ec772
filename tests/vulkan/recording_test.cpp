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
#include "hal/device/registry.h"
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
  // Memory whose words all have this value.
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
                           kernel::Hyx::parse(std::as_bytes(std::span(bytes)), "kernels").value(),
                           false)
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

  // Replays a fill 20 times, each time with its slot at another place. `recorded`: the expected
  // number of recordings.
  void fill_at_other_places(int recorded);

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

// A slot may move within its memory, or to memory that reuses the handle of freed memory.
void VulkanRecording::fill_at_other_places(int recorded) {
  const Calls begins("vulkan.vkBeginCommandBuffer");
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
  EXPECT_EQ(begins.count(), recorded);
}

TEST_F(VulkanRecording, IsRecordedOpenForAnotherOffsetOrOtherMemory) { fill_at_other_places(2); }

TEST_F(VulkanRecording, IsRecordedAgainEachTimeWithoutByteStorage) {
  fake().lacks = "storageBuffer8BitAccess";
  fill_at_other_places(20);
}

TEST_F(VulkanRecording, IsRecordedAgainEachTimeOnACpu) {
  fake().gpu = false;
  fill_at_other_places(20);
}

TEST_F(VulkanRecording, AnOpenReplayCopiesAndFillsAtAnyAddress) {
  constexpr std::uint64_t kMargin = 64, kMost = 5000, kBytes = kMost + 2 * kMargin;
  const auto lane = native().lane();
  const auto x = native().memory(kBytes), y = native().memory(kBytes);
  const auto z = native().memory(kBytes);
  for (std::uint64_t i = 0; i < kBytes; ++i) x->host_pointer()[i] = static_cast<std::byte>(i * 7);
  std::uint64_t sequence = 0;
  for (const std::uint64_t size : {1, 2, 3, 4, 7, 15, 16, 17, 31, 32, 47, 100, 1023, 1040, 5000}) {
    hal::CommandRange source = slot(0), target = slot(1);
    source.length = target.length = size;
    hal::CommandRange rest = slot(2);
    rest.offset = 1;
    rest.length = hal::kWholeSize;
    const hal::Command commands[] = {
        hal::Command(hal::CopyCommand{source, target}),
        hal::Command(hal::FillCommand{rest, 0x4030'2010, 4}),
    };
    const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 3};
    const auto prepared = CommandBuffer::create(native().heap(), recording).value();
    const Calls begins("vulkan.vkBeginCommandBuffer");
    for (std::uint64_t i = 0; i < 17 * 17; ++i) {
      const std::uint64_t from = i % 17, to = kMargin + i / 17;
      std::ranges::fill(std::span(y->host_pointer(), kBytes), std::byte{0xee});
      std::ranges::fill(std::span(z->host_pointer(), kBytes), std::byte{0xee});
      const hal::BoundRange table[] = {
          {x.get(), from, kMost}, {y.get(), to, kMost}, {z.get(), to, size + 1}};
      const hal::Operation operation = replay(*prepared, 0, table);
      ASSERT_EQ(issue(*lane, operation, ++sequence).count, 1u);
      wait_until(*lane, sequence);
      for (std::uint64_t k = 0; k < kBytes; ++k) {
        const bool copied = k >= to && k < to + size;
        ASSERT_EQ(y->host_pointer()[k], copied ? x->host_pointer()[from + k - to] : std::byte{0xee})
            << size << " bytes from " << from << " to " << to << ", at " << k;
        const bool filled = k >= to + 1 && k < to + 1 + size;
        ASSERT_EQ(z->host_pointer()[k],
                  filled ? static_cast<std::byte>(0x10 * ((k - to - 1) % 4 + 1)) : std::byte{0xee})
            << size << " bytes filled at " << to + 1 << ", at " << k;
      }
    }
    EXPECT_EQ(begins.count(), 2);  // with the first slots, and open
  }
}

// The grid is bounded, so a larger copy takes several passes of the grid.
TEST_F(VulkanRecording, AnOpenReplayCopiesMoreThanItsGrid) {
  constexpr std::uint64_t kBytes = (std::uint64_t{20} << 20) + 5;
  const auto lane = native().lane();
  const auto x = native().memory(kBytes + 8), y = native().memory(kBytes + 8);
  for (std::uint64_t i = 0; i < kBytes + 8; ++i) {
    x->host_pointer()[i] = static_cast<std::byte>(i * 7 + (i >> 16));
  }
  hal::CommandRange source = slot(0), target = slot(1);
  source.length = target.length = kBytes;
  const hal::Command commands[] = {hal::Command(hal::CopyCommand{source, target})};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 2};
  const auto prepared = CommandBuffer::create(native().heap(), recording).value();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const hal::BoundRange table[] = {{x.get(), i, kBytes}, {y.get(), 4, kBytes}};
    const hal::Operation operation = replay(*prepared, 0, table);
    ASSERT_EQ(issue(*lane, operation, i).count, 1u);
    wait_until(*lane, i);
    EXPECT_EQ(std::memcmp(y->host_pointer() + 4, x->host_pointer() + i, kBytes), 0)
        << "replay " << i;
  }
}

TEST_F(VulkanRecording, AnOpenReplayReadsTheGroupsOfItsSlot) {
  const auto lane = native().lane();
  const auto x = words(5), groups = words(0);
  // The device has written the counts just before.
  const std::uint32_t rows[][3] = {{1, 1, 1}, {0, 1, 1}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}};
  hal::CommandRange given = slot(0), counts = slot(1);
  given.length = counts.length = sizeof rows[0];
  const hal::CommandRange bindings[] = {range(x, 0, kWords * 4), slot(2)};
  const std::uint32_t constants[] = {7, kWords};
  hal::Command dispatch = mix(bindings, constants);
  dispatch.dispatch.counts = &counts;
  const hal::Command commands[] = {hal::Command(hal::CopyCommand{given, counts}), hal::Command(),
                                   dispatch};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 3};
  const auto prepared = CommandBuffer::create(native().heap(), recording).value();
  const auto written = native().memory(sizeof rows);
  std::memcpy(written->host_pointer(), rows, sizeof rows);
  const Calls begins("vulkan.vkBeginCommandBuffer");
  const std::uint64_t barriers = fake().barriers;
  for (std::uint64_t i = 0; i < std::size(rows); ++i) {
    const auto y = words(1);
    const hal::BoundRange table[] = {{written.get(), i * sizeof rows[0], sizeof rows[0]},
                                     {groups.get(), i * 4, sizeof rows[0]},
                                     {y.get(), 0, kWords * 4}};
    const hal::Operation operation = replay(*prepared, 0, table);
    ASSERT_EQ(issue(*lane, operation, i + 1).count, 1u);
    wait_until(*lane, i + 1);
    const bool ran = rows[i][0] * rows[i][1] * rows[i][2] != 0;
    EXPECT_EQ(of(y)[kWords - 1], ran ? 1u * 3 + 12 : 1u) << "replay " << i;
  }
  EXPECT_EQ(begins.count(), 2);
  // Recorded with the first slots, and open. The open recording copies the counts before it reads
  // them.
  EXPECT_EQ(fake().barriers - barriers, 2u + 3);
}

TEST_F(VulkanRecording, ReplaysWithTheSameSlotsCopyWithoutKernels) {
  const auto lane = native().lane();
  const auto x = words(5), y = words(0);
  const hal::Command commands[] = {hal::Command(hal::CopyCommand{slot(0), slot(1)})};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 2};
  const auto prepared = CommandBuffer::create(native().heap(), recording).value();
  const std::uint64_t before = fake().dispatches;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const hal::BoundRange table[] = {{x.get(), 0, kWords * 4}, {y.get(), 0, kWords * 4}};
    const hal::Operation operation = replay(*prepared, i % 2, table);
    ASSERT_EQ(issue(*lane, operation, i).count, 1u);
    wait_until(*lane, i);
  }
  EXPECT_EQ(fake().dispatches - before, 0u);
  EXPECT_EQ(of(y)[0], 5u);
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

// A replay needs an instance whose previous replay has retired. Being ordered after it is not
// enough.
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
