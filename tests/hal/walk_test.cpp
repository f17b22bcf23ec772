// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where barriers go when a recording is replayed in its order, slots and argument blocks of its
// native form, and the memory that a submission touches.
#include "hal/recording/walk.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "hal/fake_driver.h"
#include "hal/recording/accesses.h"
#include "hal/recording/arguments.h"
#include "hal/recording/slots.h"

namespace halyard::hal {
namespace {

using testing::FakeMemory;
using timeline::AccessKind;

Command fill(std::uint32_t slot = 0) {
  FillCommand command = {};
  command.target = {{nullptr, 8, kWholeSize}, slot};
  return Command(command);
}
Command set(std::uint32_t event) { return Command(CommandKind::kSetEvent, EventCommand{event}); }
Command wait(std::uint32_t event) { return Command(CommandKind::kWaitEvent, EventCommand{event}); }
Command reset(std::uint32_t event) {
  return Command(CommandKind::kResetEvent, EventCommand{event});
}

// "0 1 | 3": the indices of commands that do work, and the barriers between them.
std::string walked(const std::vector<Command>& commands,
                   const std::vector<CommandEdge>& edges = {}) {
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  const RecordedCommands recording = {.commands = commands, .edges = edges};
  EXPECT_TRUE(walk_with_barriers(
                  recording, [&] { add("|"); },
                  [&](std::uint32_t index, const Command& command) {
                    EXPECT_EQ(&command, &recording.commands[index]);
                    add(std::to_string(index));
                    return Status();
                  })
                  .ok());
  return text;
}

TEST(WalkWithBarriers, PutsNoneBetweenCommandsThatNothingOrders) {
  EXPECT_EQ(walked({fill(), fill(), fill()}), "0 1 2");
  EXPECT_EQ(walked({}), "");
}

TEST(WalkWithBarriers, PutsOneWhereTheRecordingHasOneOrWaitsForAnEvent) {
  EXPECT_EQ(walked({fill(), Command(), fill()}), "0 | 2");
  EXPECT_EQ(walked({fill(), set(0), fill(), wait(0), fill(), reset(0)}), "0 2 | 4");
}

TEST(WalkWithBarriers, PutsOneBeforeACommandThatFollowsAnother) {
  EXPECT_EQ(walked({fill(), fill(), fill()}, {{0, 2}}), "0 1 | 2");
  EXPECT_EQ(walked({fill(), fill(), fill()}, {{0, 1}, {1, 2}}), "0 | 1 | 2");
}

TEST(WalkWithBarriers, PutsOneForAllEdgesThatItOrders) {
  EXPECT_EQ(walked({fill(), fill(), fill(), fill()}, {{0, 2}, {0, 3}, {1, 3}}), "0 1 | 2 3");
  EXPECT_EQ(walked({fill(), fill(), fill(), fill()}, {{0, 2}, {2, 3}}), "0 1 | 2 | 3");
  EXPECT_EQ(walked({fill(), Command(), fill(), fill()}, {{0, 2}, {0, 3}, {2, 3}}), "0 | 2 | 3");
}

TEST(WalkWithBarriers, EndsWithTheFirstErrorOfACommand) {
  const std::vector<Command> commands = {fill(), fill(), fill()};
  int count = 0;
  const Status status = walk_with_barriers(
      {.commands = commands}, [] {},
      [&](std::uint32_t index, const Command&) {
        ++count;
        return index == 1 ? Status(StatusCode::kInvalidArgument, "no") : Status();
      });
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(count, 2);
}

std::vector<std::uint32_t> prefixes(const std::vector<Command>& commands) {
  OrderedPrefix prefix;
  EXPECT_TRUE(prefix.open(2));
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < commands.size(); ++i) result.push_back(prefix.pass(i, commands[i]));
  return result;
}

TEST(OrderedPrefix, EndsAtTheLatestBarrierAndTheSetsThatWereWaitedFor) {
  using Prefixes = std::vector<std::uint32_t>;
  EXPECT_EQ(prefixes({fill(), fill()}), (Prefixes{0, 0}));
  EXPECT_EQ(prefixes({fill(), Command(), fill()}), (Prefixes{0, 1, 1}));
  EXPECT_EQ(prefixes({fill(), set(0), fill(), wait(0), fill()}), (Prefixes{0, 0, 0, 1, 1}));
  // Set again: the latest counts; a wait without a set orders nothing.
  EXPECT_EQ(prefixes({fill(), set(0), fill(), set(0), wait(1), fill(), wait(0)}),
            (Prefixes{0, 0, 0, 0, 0, 0, 3}));
  // A wait for commands that an earlier barrier covers changes nothing.
  EXPECT_EQ(prefixes({set(1), fill(), Command(), wait(1), fill()}), (Prefixes{0, 0, 2, 2, 2}));
}

struct World {
  std::shared_ptr<testing::Control> control = std::make_shared<testing::Control>();
  Ref<FakeMemory> memory(std::uint64_t size) {
    return Ref<FakeMemory>::adopt(
        new FakeMemory(control, size, MemoryType::kHostLocal, /*domain=*/nullptr));
  }
};

TEST(SlotPatch, WritesTheRangeFromItsOffsetToTheSlotsEnd) {
  struct Writer {
    void range(int where, const BoundRange& range) { ranges[where] = range; }
    void rest_size(int where, std::uint64_t size) { sizes[where] = size; }
    void constants(int where, std::span<const std::byte> bytes) {
      constant[where].assign(bytes.begin(), bytes.end());
    }
    std::map<int, BoundRange> ranges;
    std::map<int, std::uint64_t> sizes;
    std::map<int, std::vector<std::byte>> constant;
  } writer;
  World world;
  const Ref<FakeMemory> memory = world.memory(100);
  BoundRange table[2] = {{memory.get(), 20, 60}, {}};
  std::memset(static_cast<void*>(&table[1]), 7, sizeof table[1]);
  using Patch = SlotPatch<int>;
  Patch{Patch::What::kRange, 0, 1, 16}.write(table, writer);
  Patch{Patch::What::kRestSize, 0, 2, 16}.write(table, writer);
  Patch{Patch::What::kConstants, 1, 3, 12}.write(table, writer);
  ASSERT_EQ(writer.ranges.size() + writer.sizes.size() + writer.constant.size(), 3u);
  EXPECT_EQ(writer.ranges[1].memory, memory.get());
  EXPECT_EQ(writer.ranges[1].offset, 36u);
  EXPECT_EQ(writer.ranges[1].length, 44u);
  EXPECT_EQ(writer.sizes[2], 44u);
  EXPECT_EQ(writer.constant[3], std::vector<std::byte>(12, std::byte{7}));
}

TEST(SlotValue, DiffersWithTheMemoryThePlaceAndTheNumber) {
  World world;
  const Ref<FakeMemory> a = world.memory(100), b = world.memory(100);
  const SlotValue value = SlotValue::of({a.get(), 4, 8});
  EXPECT_EQ(value, SlotValue::of({a.get(), 4, 8}));
  EXPECT_NE(value, SlotValue::of({b.get(), 4, 8}));
  EXPECT_NE(value, SlotValue::of({a.get(), 5, 8}));
  EXPECT_NE(value, SlotValue::of({a.get(), 4, 9}));
  EXPECT_EQ(SlotValue::of({nullptr, 4, 0}), SlotValue::of({nullptr, 4, 0}));
  EXPECT_NE(SlotValue::of({nullptr, 4, 0}), SlotValue::of({nullptr, 5, 0}));
}

TEST(ForEachSlot, VisitsMemoryCountsAndNumbers) {
  const CommandRange bindings[] = {{{}, 3}, {{}, 1}};
  const CommandRange counts({}, 4);
  const ConstantUse uses[] = {{.slot = 6}};
  DispatchCommand dispatch = {};
  dispatch.bindings = bindings;
  dispatch.binding_count = 2;
  dispatch.counts = &counts;
  dispatch.constant_uses = uses;
  dispatch.constant_use_count = 1;
  World world;
  const Ref<FakeMemory> memory = world.memory(8);
  CopyCommand copy = {};
  copy.source.memory = memory.get();
  copy.target.slot = 5;
  std::vector<std::uint32_t> slots;
  const auto visit = [&](std::uint32_t slot) { slots.push_back(slot); };
  for_each_slot(Command(dispatch), visit);
  for_each_slot(Command(copy), visit);
  for_each_slot(set(2), visit);
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{3, 1, 4, 6, 5}));
}

struct ArgumentTraits {
  struct Device final : RefCounted {
    explicit Device(World& w) : world(w) {}
    World& world;
  };
  static constexpr const char* kDriver = "fake";
  static Result<Ref<Memory>> allocate(const Ref<Device>& device, std::uint64_t bytes) {
    if (!device->world.control->fail_allocate.ok()) return device->world.control->fail_allocate;
    return Ref<Memory>(device->world.memory(bytes));
  }
};

TEST(Arguments, AreBlocksOneAfterTheOtherAndAreUsedAgain) {
  World world;
  const auto heap = ArgumentHeap<ArgumentTraits>::create(
                        Ref<ArgumentTraits::Device>::adopt(new ArgumentTraits::Device(world)))
                        .value();
  {
    Arguments<32> arguments;
    ASSERT_TRUE(arguments.reset(heap, 2 * arguments.aligned(40)).ok());
    const ArgumentBlock first = arguments.take(40);
    const ArgumentBlock second = arguments.take(33);
    EXPECT_EQ(first.offset % 32, 0u);
    EXPECT_EQ(second.offset, first.offset + 64);
    EXPECT_EQ(second.host, first.host + 64);
    EXPECT_EQ(second.address, first.memory->device_address() + second.offset);
    EXPECT_EQ(second.host, second.memory->host_pointer() + second.offset);
    EXPECT_EQ(second.range(8, 4).offset, second.offset + 8);
    ASSERT_TRUE(arguments.reset(heap, 64).ok());
    EXPECT_EQ(arguments.take(64).host, first.host);
  }
  const int memories = world.control->live_memories;
  Arguments<32> again;
  world.control->fail_allocate = Status(StatusCode::kResourceExhausted, "none");
  EXPECT_TRUE(again.reset(heap, 128).ok());
  EXPECT_EQ(world.control->live_memories, memories);
  Arguments<16> large;
  EXPECT_EQ(large.reset(heap, 1 << 20).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(large.reset(heap, 0).ok());
}

class Touched : public testing::FakeWorld {
 protected:
  struct Touch {
    const Memory* memory;
    std::uint64_t offset, length;
    AccessKind kind;
    friend bool operator==(const Touch&, const Touch&) = default;
  };
  static std::vector<Touch> touched(const Operation& operation) {
    std::vector<Touch> result;
    for_each_memory(operation, [&](const BoundRange& range, AccessKind kind) {
      result.push_back({range.memory, range.offset, range.length, kind});
    });
    return result;
  }
};

TEST_F(Touched, MemoryOfASubmissionIsThatOfItsCommandsAndItsTable) {
  World world;
  const Ref<FakeMemory> a = world.memory(64), b = world.memory(64), staging = world.memory(64);
  UpdateCommand update = {};
  update.target = {{a.get(), 4, 8}};
  update.source_memory = staging.get();
  update.source_offset = 16;
  CopyCommand copy = {};
  copy.source = {{a.get(), 0, 8}};
  copy.target = {{nullptr, 8, kWholeSize}, 0};
  const std::vector<Command> commands = {Command(update), Command(), Command(copy)};
  const RecordedCommands recording = {.commands = commands, .slot_count = 1};
  testing::FakeCommands native(*world.control, recording);
  const BoundRange table[] = {{b.get(), 10, 30}};
  Operation operation;
  EXPECT_EQ(touched(operation), std::vector<Touch>());
  operation.kind = OperationKind::kExecute;
  operation.native = &native;
  operation.table = table;
  EXPECT_EQ(touched(operation), (std::vector<Touch>{{a.get(), 4, 8, AccessKind::kWrite},
                                                    {staging.get(), 16, 8, AccessKind::kRead},
                                                    {a.get(), 0, 8, AccessKind::kRead},
                                                    {b.get(), 18, 22, AccessKind::kWrite}}));
  operation.kind = OperationKind::kCommand;
  operation.command = Command(update);
  EXPECT_EQ(touched(operation), (std::vector<Touch>{{a.get(), 4, 8, AccessKind::kWrite},
                                                    {staging.get(), 16, 8, AccessKind::kRead}}));
}

}  // namespace
}  // namespace halyard::hal
