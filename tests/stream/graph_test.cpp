// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs of recordings over the fake library, on lanes without an engine: the cost of a replay, and
// the fallback if the library refuses a graph. tests/cuda has the same through the HAL.
#include "drivers/stream/graph.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "counts/allocations.h"
#include "stream/opened_lane.h"

namespace halyard::stream {
namespace {

using Graphs = GraphCommandBuffer<FakeApi>;

hal::CommandRange slot_range(std::uint32_t slot, std::uint64_t offset, std::uint64_t length) {
  return {{nullptr, offset, length}, slot};
}

// A recording that fills the first word of each of `slots` slots with its number and 1.
struct SlotFills {
  explicit SlotFills(OpenedContext& its_context, std::uint32_t slots,
                     CommandBufferMode mode = CommandBufferMode::kGraph, std::uint64_t length = 4)
      : context(its_context), table(slots) {
    for (std::uint32_t i = 0; i < slots; ++i) {
      commands.emplace_back(hal::FillCommand{slot_range(i, 0, length), i + 1, 4});
    }
    recording.commands = commands;
    recording.slot_count = slots;
    const timeline::Visit inside(*context.guard);
    native = Graphs::create(context.api, recording, mode, 64).value();
    operation.kind = hal::OperationKind::kExecute;
    operation.native = native.get();
    operation.table = table.data();
  }
  ~SlotFills() {
    const timeline::Visit inside(*context.guard);
    native.reset();
  }
  GraphCounts counts() const { return static_cast<const Graphs&>(*native).counts(); }

  OpenedContext& context;
  std::vector<hal::Command> commands;
  hal::RecordedCommands recording;
  std::vector<hal::BoundRange> table;
  std::unique_ptr<hal::NativeCommands> native;
  hal::Operation operation;
};

Ref<hal::Memory> zeros(OpenedContext& context) {
  Ref<hal::Memory> memory = context.allocate(256);
  std::memset(memory->host_pointer(), 0, 256);
  return memory;
}
std::uint32_t word(const Ref<hal::Memory>& memory, std::size_t index) {
  return reinterpret_cast<const std::uint32_t*>(memory->host_pointer())[index];
}

TEST(StreamGraph, SteadyReplays_AllocateNothing) {
  if (!counts::counts_allocations()) GTEST_SKIP() << "malloc is replaced";
  constexpr std::uint32_t kSlots = 50;
  OpenedContext context;
  const auto memory = context.allocate(8 * kSlots);
  SlotFills fills(context, kSlots);
  Gates gates;
  GatedLane lane(context);
  std::uint64_t sequence = 0;
  const auto replay = [&](std::uint64_t offset) {
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      fills.table[i] = {memory.get(), 8 * i + offset, 4};
    }
    lane.issue(fills.operation, ++sequence);
  };
  // The replays are queued after a running kernel, so the fake library allocates all packets that
  // it will ever need.
  lane.issue(kGate, ++sequence);
  for (int i = 0; i < 8; ++i) replay(4 * (i % 2));
  gates.open = true;
  lane.wait_until(sequence);
  std::uint64_t allocations = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t before = counts::thread_allocations();
    replay(4 * (i % 2));
    allocations += counts::thread_allocations() - before;
    lane.wait_until(sequence);
  }
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(fills.counts().launches, 108u);
  EXPECT_EQ(fills.counts().builds, 1u);
  EXPECT_EQ(fills.counts().updated_nodes, 107u * kSlots);
  EXPECT_EQ(word(memory, 2 * kSlots - 1), kSlots);
}

TEST(StreamGraph, OnlyChangedSlots_AreUpdated) {
  OpenedContext context;
  const auto memory = zeros(context), other = zeros(context);
  SlotFills fills(context, 10);
  OpenedLane<> lane(context);
  for (std::uint32_t i = 0; i < 10; ++i) fills.table[i] = {memory.get(), 4 * i, 4};
  lane.issue(fills.operation, 1);
  lane.issue(fills.operation, 2);
  EXPECT_EQ(fills.counts().updated_nodes, 0u);
  for (const std::uint32_t i : {2, 5, 9}) fills.table[i] = {other.get(), 4 * i, 4};
  lane.issue(fills.operation, 3);
  lane.issue(fills.operation, 4);
  EXPECT_EQ(fills.counts().updated_nodes, 3u);
  lane.wait_until(4);
  EXPECT_EQ(word(other, 9), 10u);
  EXPECT_EQ(word(other, 8), 0u);
}

// A copy in a CUDA graph refers to the memory, not only to its address.
TEST(StreamGraph, OtherMemoryAtTheSameAddress_IsUpdated) {
  struct SameAddress final : hal::Memory {
    explicit SameAddress(const hal::Memory& it)
        : Memory(it.size(), it.type(), it.host_pointer(), it.device_address(), it.domain()) {}
    // The object itself also has the same address as the earlier object.
    static void* operator new(std::size_t) {
      alignas(std::max_align_t) static std::byte place[sizeof(hal::Memory)];
      return place;
    }
    static void operator delete(void*) {}
  };
  OpenedContext context;
  const auto memory = zeros(context);
  auto it = Ref<SameAddress>::adopt(new SameAddress(*memory));
  SlotFills fills(context, 1);
  OpenedLane<> lane(context);
  fills.table[0] = {it.get(), 0, 4};
  lane.issue(fills.operation, 1);
  lane.issue(fills.operation, 2);
  EXPECT_EQ(fills.counts().updated_nodes, 0u);
  lane.wait_until(2);
  it = {};
  it = Ref<SameAddress>::adopt(new SameAddress(*memory));
  lane.issue(fills.operation, 3);
  EXPECT_EQ(fills.counts().updated_nodes, 1u);
  lane.wait_until(3);
}

// Each lane has an instance with the addresses of its replays.
TEST(StreamGraph, LanesThatReplayARecording_DoNotMix) {
  OpenedContext context;
  const auto memory = zeros(context), other = zeros(context);
  SlotFills fills(context, 2);
  EXPECT_EQ(fills.native->depth(), 1u);
  OpenedLane<> first(context), second(context, 64, StreamCommands<FakeApi>(1));
  for (std::uint64_t sequence = 1; sequence < 20; ++sequence) {
    for (std::uint32_t i = 0; i < 2; ++i) fills.table[i] = {memory.get(), 4 * i, 4};
    first.issue(fills.operation, sequence);
    for (std::uint32_t i = 0; i < 2; ++i) fills.table[i] = {other.get(), 4 * i, 4};
    second.issue(fills.operation, sequence);
  }
  first.wait_until(19);
  second.wait_until(19);
  EXPECT_EQ(fills.counts().builds, 2u);
  EXPECT_EQ(fills.counts().updated_nodes, 0u);
  EXPECT_EQ(word(memory, 1), 2u);
  EXPECT_EQ(word(other, 1), 2u);
}

TEST(StreamGraph, FillOfAnotherLength_IsBuiltAgain) {
  OpenedContext context;
  const auto memory = zeros(context);
  SlotFills fills(context, 1, CommandBufferMode::kGraph, hal::kWholeSize);
  OpenedLane<> lane(context);
  std::uint64_t sequence = 0;
  for (const std::uint64_t length : {4, 8, 0, 12}) {
    fills.table[0] = {memory.get(), 0, length};
    lane.issue(fills.operation, ++sequence);
  }
  lane.wait_until(sequence);
  EXPECT_EQ(fills.counts().builds, 4u);
  EXPECT_EQ(fills.counts().refused, 0u);
  EXPECT_EQ(word(memory, 2), 1u);
  EXPECT_EQ(word(memory, 3), 0u);
}

TEST(StreamGraph, RefusedLaunch_PutsTheCommandsIntoTheStream) {
  OpenedContext context;
  const auto memory = zeros(context);
  SlotFills fills(context, 3);
  OpenedLane<> lane(context);
  for (std::uint32_t i = 0; i < 3; ++i) fills.table[i] = {memory.get(), 4 * i, 4};
  {
    FailingCalls failing("stream.launch_graph", 1);
    lane.issue(fills.operation, 1);
    EXPECT_EQ(failing.failed(), 1);
  }
  lane.wait_until(1);
  EXPECT_EQ(word(memory, 2), 3u);
  EXPECT_EQ(fills.counts().refused, 1u);
  lane.issue(fills.operation, 2);
  lane.wait_until(2);
  EXPECT_EQ(fills.counts().launches, 1u);
  EXPECT_EQ(fills.counts().builds, 1u) << "the graph itself was fine";
}

TEST(StreamGraph, NoMemoryForARecording_IsExhausted) {
  if (!counts::counts_allocations()) GTEST_SKIP() << "malloc is replaced";
  std::vector<hal::Command> commands(100,
                                     hal::Command(hal::FillCommand{slot_range(0, 0, 4), 1, 4}));
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .slot_count = 1};
  int failures = 0;
  for (std::uint64_t n = 1;; ++n) {
    const counts::FailingAllocation failing(n);
    const auto made = Graphs::create({}, recording, CommandBufferMode::kGraph, 64);
    if (!failing.has_failed()) break;
    ++failures;
    EXPECT_EQ(made.status().code(), StatusCode::kResourceExhausted) << n;
  }
  EXPECT_GT(failures, 5);
}

TEST(StreamGraph, RecordingsThatSuitNoGraph_AreLeftAlone) {
  const hal::Command fill_one(hal::FillCommand{slot_range(0, 0, 4), 1, 4});
  const hal::Command one[] = {fill_one, hal::Command()};
  const hal::Command two[] = {fill_one, hal::Command(), fill_one};
  const hal::Command none[] = {hal::Command(), hal::Command()};
  hal::DispatchCommand indirect{};
  const hal::CommandRange counts = slot_range(0, 0, 12);
  indirect.counts = &counts;
  const hal::Command reads[] = {fill_one, hal::Command(indirect)};
  const trace::Label labels[3] = {};
  using Mode = CommandBufferMode;
  EXPECT_TRUE(Graphs::suits({.commands = two, .edges = {}}, Mode::kAuto));
  EXPECT_FALSE(Graphs::suits({.commands = two, .edges = {}}, Mode::kStream));
  EXPECT_FALSE(Graphs::suits({.commands = one, .edges = {}}, Mode::kAuto));
  EXPECT_TRUE(Graphs::suits({.commands = one, .edges = {}}, Mode::kGraph));
  EXPECT_FALSE(Graphs::suits({.commands = none, .edges = {}}, Mode::kGraph));
  EXPECT_FALSE(Graphs::suits({.commands = reads, .edges = {}}, Mode::kGraph));
  EXPECT_FALSE(Graphs::suits({.commands = two, .edges = {}, .labels = labels}, Mode::kGraph));
  hal::RecordedCommands once{.commands = two, .edges = {}};
  once.use = hal::RecordingUse::kOnce;
  EXPECT_FALSE(Graphs::suits(once, Mode::kAuto));
  EXPECT_TRUE(Graphs::suits(once, Mode::kGraph));
}

}  // namespace
}  // namespace halyard::stream
