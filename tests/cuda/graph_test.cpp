// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recordings as CUDA graphs: the native calls of a replay, its results, and the fallback if CUDA
// refuses a graph. CMakeLists.txt also runs these on the strict simulated library.
#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic.h"
#include "cuda/cuda_test_util.h"
#include "cuda/native_calls.h"
#include "drivers/cuda/api.h"
#include "drivers/stream/graph.h"
#include "hal/recording/command_buffer.h"

namespace halyard::cuda {
namespace {

using hal::slot;
using ::testing::AllOf;
using ::testing::Each;
using Graphs = stream::GraphCommandBuffer<CudaApi>;

constexpr std::uint32_t kItems = 64;

// Calls that put a command into a stream or a graph, or make, change or launch a graph.
int work_of(const NativeCalls& calls) {
  return calls.count("cuGraph") + calls.count("cuLaunchKernel") + calls.count("cuMemset") +
         calls.count("cuMemcpy");
}

class CudaGraph : public CudaTest {
 protected:
  ~CudaGraph() override {
    add_ = {};
    executable_ = {};
    device_ = {};
  }

  hal::Device& device(const std::string& mode = "graph") {
    if (!device_) {
      device_ = registry.open("cuda://0?command_buffer_mode=" + mode).value();
      executable_ = device_.load(kernels()).value();
      add_ = executable_.function("add").value();
    }
    return device_;
  }
  // A buffer of zeros.
  hal::Buffer words(std::uint32_t count = kItems,
                    hal::MemoryType type = hal::MemoryType::kHostVisible) {
    const hal::Buffer buffer = device().allocate({.size = count * 4, .memory = type}).value();
    check(device().queue().fill(buffer, 0, 4, {}));
    check(device().queue().barrier_and_wait({}));
    return buffer;
  }
  static std::span<std::uint32_t> of(const hal::Mapping& mapping) {
    return mapping.as<std::uint32_t>();
  }
  static std::uint32_t word(const hal::Buffer& buffer, std::size_t index = 0) {
    return buffer.map().value().as<std::uint32_t>()[index];
  }
  // y = x + a
  void add(hal::Recorder& recorder, const hal::BindingRef& x, const hal::BindingRef& y,
           std::uint32_t a) {
    recorder.dispatch(add_, {.items = {kItems}}, {x, y}, {a, kItems});
  }
  const hal::Function& add_function() const { return add_; }
  void replay(const hal::CommandBuffer& commands, std::vector<hal::BufferRange> bindings = {},
              std::vector<hal::Constant> constants = {}) {
    const Status status = device_.queue().execute_and_wait(
        commands, {.bindings = bindings, .constants = constants});
    EXPECT_TRUE(status.ok()) << status.to_string();
  }

 private:
  hal::Device device_;
  hal::Executable executable_;
  hal::Function add_;
};

TEST_F(CudaGraph, ReplayOfHundredCommands_IsOneLaunch) {
  NativeCalls calls;
  hal::Recorder recorder(device());
  const hal::Buffer x = words(), y = words(), z = words();
  recorder.fill(x, 1).barrier();
  for (int i = 0; i < 33; ++i) {
    add(recorder, x, y, 1);
    recorder.barrier().copy(y, z).barrier().copy(z, x).barrier();
  }
  const hal::CommandBuffer commands = recorder.finish().value();
  replay(commands);
  EXPECT_EQ(calls.count("cuGraphInstantiate"), 1);
  calls.reset();
  constexpr int kReplays = 7;
  for (int i = 0; i < kReplays; ++i) replay(commands);
  EXPECT_EQ(calls.count("cuGraphLaunch"), kReplays);
  EXPECT_EQ(work_of(calls), kReplays);
  EXPECT_EQ(word(x), 34u);
  EXPECT_EQ(word(x, kItems - 1), 34u);
}

TEST_F(CudaGraph, ReplayWithThreeOtherSlots_IsThreeUpdatesAndOneLaunch) {
  NativeCalls calls;
  hal::Recorder recorder(device());
  constexpr std::uint32_t kSlots = 100;
  const hal::Buffer x = words(), y = words(kSlots * kItems), other = words(3 * kItems);
  std::vector<hal::BufferRange> bindings;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    add(recorder, x, slot(i), i);
    bindings.push_back({y, std::uint64_t{i} * kItems * 4, kItems * 4});
  }
  const hal::CommandBuffer commands = recorder.finish().value();
  replay(commands, bindings);
  calls.reset();
  replay(commands, bindings);
  EXPECT_EQ(work_of(calls), 1);
  for (std::uint32_t i = 0; i < 3; ++i) {
    bindings[10 * i] = {other, std::uint64_t{i} * kItems * 4, kItems * 4};
  }
  for (const int updates : {3, 0}) {
    calls.reset();
    replay(commands, bindings);
    EXPECT_EQ(calls.count("cuGraphExecKernelNodeSetParams"), updates);
    EXPECT_EQ(calls.count("cuGraphLaunch"), 1);
    EXPECT_EQ(work_of(calls), updates + 1);
  }
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(word(other, i * kItems), 10 * i);
  EXPECT_EQ(word(y, 99 * kItems), 99u);
}

TEST_F(CudaGraph, ReplayWithThreeOtherNumbers_IsThreeUpdatesAndOneLaunch) {
  NativeCalls calls;
  hal::Recorder recorder(device());
  constexpr std::uint32_t kNumbers = 20;
  const hal::Buffer x = words(), y = words(kNumbers * kItems);
  std::vector<hal::Constant> numbers;
  for (std::uint32_t i = 0; i < kNumbers; ++i) {
    const hal::BufferRange part(y, std::uint64_t{i} * kItems * 4, kItems * 4);
    recorder.dispatch(add_function(), {.items = {kItems}}, {x, part},
                      {hal::constant_slot(i), kItems});
    numbers.emplace_back(i);
  }
  const hal::CommandBuffer commands = recorder.finish().value();
  replay(commands, {}, numbers);
  for (std::uint32_t i = 0; i < 3; ++i) numbers[5 * i] = 100 + i;
  for (const int updates : {3, 0}) {
    calls.reset();
    replay(commands, {}, numbers);
    EXPECT_EQ(calls.count("cuGraphExecKernelNodeSetParams"), updates);
    EXPECT_EQ(work_of(calls), updates + 1);
  }
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(word(y, 5 * i * kItems), 100 + i);
  EXPECT_EQ(word(y, 19 * kItems), 19u);
}

// A node that uses two changed slots is updated once, with both.
TEST_F(CudaGraph, NodeWithTwoOtherSlots_IsUpdatedOnce) {
  NativeCalls calls;
  hal::Recorder recorder(device());
  const hal::Buffer a = words(), b = words(), c = words(), d = words();
  recorder.copy(slot(0, 0, 16), slot(1, 0, 16));
  const hal::CommandBuffer commands = recorder.finish().value();
  of(a.map().value())[0] = 5;
  of(c.map().value())[0] = 7;
  replay(commands, {a, b});
  calls.reset();
  replay(commands, {c, d});
  EXPECT_EQ(work_of(calls), 2);
  EXPECT_EQ(calls.count("cuGraphExecMemcpyNodeSetParams"), 1);
  EXPECT_EQ(word(b), 5u);
  EXPECT_EQ(word(d), 7u);
}

TEST_F(CudaGraph, SlotsOfEveryKindOfCommand_ChangePlaces) {
  hal::Recorder recorder(device());
  const std::array<std::uint32_t, 2> bytes = {11, 12};
  recorder.update(slot(0, 0, 8), std::as_bytes(std::span(bytes)))
      .fill(slot(0, 8, 8), 0x2233, 2)
      .barrier()
      .copy(slot(0, 0, 16), slot(1, 0, 16))
      .barrier();
  add(recorder, slot(1), slot(2), 1);
  const hal::CommandBuffer commands = recorder.finish().value();
  const hal::Buffer all = words(6 * kItems);
  for (std::uint64_t round = 0; round < 4; ++round) {
    const auto part = [&](std::uint64_t i) {
      return hal::BufferRange{all, (round * 97 + i) % 6 * kItems * 4, kItems * 4};
    };
    replay(commands, {part(0), part(1), part(2)});
    const std::size_t at = (round * 97 + 2) % 6 * kItems;
    EXPECT_EQ(word(all, at), 12u) << round;
    EXPECT_EQ(word(all, at + 1), 13u) << round;
    EXPECT_EQ(word(all, at + 3), 0x22332234u) << round;
  }
}

TEST_F(CudaGraph, FillsOfEveryAlignment_WriteTheirBytesOnly) {
  device();
  const hal::Buffer buffer =
      device().allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
  hal::Recorder recorder(device());
  recorder.fill(buffer, 0, 1).barrier();
  recorder.fill(hal::BufferRange{buffer, 1, 7}, 0xab, 1);
  recorder.fill(hal::BufferRange{buffer, 10, 6}, 0xcdef, 2);
  recorder.fill(hal::BufferRange{buffer, 20, 12}, 0x01020304, 4);
  recorder.fill(hal::BufferRange{buffer, 40, 0}, 1, 4);
  replay(recorder.finish().value());
  std::array<std::uint8_t, 256> expected{};
  for (int i = 1; i < 8; ++i) expected[i] = 0xab;
  for (int i = 10; i < 16; ++i) expected[i] = i % 2 == 0 ? 0xef : 0xcd;
  for (int i = 20; i < 32; ++i) expected[i] = static_cast<std::uint8_t>(4 - i % 4);
  const hal::Mapping mapping = buffer.map().value();
  EXPECT_THAT(mapping.as<std::uint8_t>(), ::testing::ElementsAreArray(expected));
}

TEST_F(CudaGraph, FillToTheEndOfASlot_HasEveryLength) {
  NativeCalls calls;
  hal::Recorder recorder(device());
  recorder.fill(slot(0), 0x7f, 1).barrier();
  add(recorder, slot(1), slot(1), 1);
  const hal::CommandBuffer commands = recorder.finish().value();
  const hal::Buffer y = words();
  for (const std::uint64_t length : {16, 0, 8, 256, 0, 0, 1}) {
    const hal::Buffer x =
        device().allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
    const hal::Mapping mapping = x.map().value();
    std::ranges::fill(mapping.as<std::uint8_t>(), std::uint8_t{0});
    replay(commands, {{x, 0, length}, y});
    EXPECT_THAT(mapping.as<std::uint8_t>().first(length), Each(0x7f));
    EXPECT_THAT(mapping.as<std::uint8_t>().subspan(length), Each(0));
  }
  EXPECT_EQ(calls.count("cuGraphLaunch"), 7);
}

TEST_F(CudaGraph, GridOfThreeDimensions_HasAllItsGroups) {
  constexpr std::uint32_t kGroups = 2 * 3 * 5;
  hal::Recorder recorder(device());
  const hal::Buffer x = words(kGroups + 1);
  const hal::Function count = device().load(kernels()).value().function("count").value();
  recorder.dispatch(count, {.groups = {2, 3, 5}}, {x}, {});
  const hal::CommandBuffer commands = recorder.finish().value();
  for (std::uint32_t i = 1; i <= 3; ++i) {
    replay(commands);
    const hal::Mapping mapping = x.map().value();
    EXPECT_THAT(of(mapping).first(kGroups), Each(i));
    EXPECT_EQ(of(mapping)[kGroups], 0u);
  }
}

TEST_F(CudaGraph, EmptyGrid_OrdersButRunsNothing) {
  hal::Recorder recorder(device());
  const hal::Buffer x = words(), y = words();
  const hal::CommandId first = recorder.fill(x, 3).last();
  hal::Function function = device().load(kernels()).value().function("add").value();
  recorder.after({first}).dispatch(function, {.groups = {0}}, {x, x}, {std::uint32_t{9}, kItems});
  const hal::CommandId empty = recorder.last();
  recorder.after({empty}).copy(x, y);
  const hal::CommandBuffer commands = recorder.finish().value();
  for (int i = 0; i < 2; ++i) {
    of(x.map().value())[0] = 0;
    replay(commands);
    EXPECT_EQ(word(y), 3u);
  }
}

TEST_F(CudaGraph, MemoryOfAnotherKind_IsTakenAsItIs) {
  hal::Recorder recorder(device());
  recorder.fill(slot(0), 9).barrier().copy(slot(0, 0, 64), slot(1, 0, 64));
  const hal::CommandBuffer commands = recorder.finish().value();
  const hal::Buffer out = words();
  for (int round = 0; round < 2; ++round) {
    for (const hal::MemoryType type : {hal::MemoryType::kDeviceLocal, hal::MemoryType::kHostVisible,
                                       hal::MemoryType::kHostLocal}) {
      of(out.map().value())[0] = 0;
      replay(commands, {words(kItems, type), out});
      EXPECT_EQ(word(out), 9u);
    }
  }
}

TEST_F(CudaGraph, UpdateThatIsRefused_BuildsTheInstanceAgain) {
  NativeCalls calls;
  hal::Recorder recorder(device());
  add(recorder, slot(0), slot(1), 1);
  const hal::CommandBuffer commands = recorder.finish().value();
  const hal::Buffer x = words(), y = words(), z = words();
  of(x.map().value())[0] = 1;
  replay(commands, {x, y});
  calls.reset();
  calls.fail("cuGraphExecKernelNodeSetParams", CUDA_ERROR_INVALID_VALUE, 1);
  replay(commands, {x, z});
  EXPECT_EQ(calls.count("cuGraphInstantiate"), 1);
  EXPECT_EQ(calls.count("cuGraphExecDestroy"), 1);
  EXPECT_EQ(calls.count("cuGraphDestroy"), 1);
  EXPECT_EQ(calls.count("cuGraphLaunch"), 1);
  EXPECT_EQ(word(z), 2u);
  calls.reset();
  replay(commands, {x, y});
  EXPECT_EQ(work_of(calls), 2) << "updated as before";
}

TEST_F(CudaGraph, WithoutMemoryForAGraph_CommandsAreReplayedAndItIsTriedAgain) {
  for (const char* const site : {"cuGraphCreate", "cuGraphAddKernelNode",
                                 "cuGraphInstantiateWithFlags", "cuGraphLaunch"}) {
    NativeCalls calls;
    hal::Recorder recorder(device());
    const hal::Buffer x = words();
    recorder.fill(x, 0).barrier();
    for (int i = 0; i < 4; ++i) {
      add(recorder, x, x, 1);
      recorder.barrier();
    }
    const hal::CommandBuffer commands = recorder.finish().value();
    const auto& native = static_cast<const Graphs&>(commands.object()->native());
    calls.fail(site, CUDA_ERROR_OUT_OF_MEMORY, 2);
    calls.reset();
    for (int i = 0; i < 2; ++i) {
      replay(commands);
      EXPECT_EQ(word(x), 4u) << site;
    }
    EXPECT_EQ(calls.count("cuLaunchKernel"), 8) << site;
    EXPECT_EQ(native.counts().refused, 2u) << site;
    replay(commands);
    EXPECT_EQ(native.counts().launches, 1u) << site;
    EXPECT_EQ(word(x), 4u) << site;
    EXPECT_TRUE(device().status().ok()) << site;
  }
}

TEST_F(CudaGraph, Automatically_TheThirdReplayIsAGraph) {
  NativeCalls calls;
  hal::Recorder recorder(device("auto"));
  const hal::Buffer x = words(), y = words();
  add(recorder, x, y, 1);
  recorder.barrier().copy(y, x);
  const hal::CommandBuffer commands = recorder.finish().value();
  const hal::NativeCommands& native = commands.object()->native();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(native.depth(), 2u);
    replay(commands);
  }
  EXPECT_EQ(calls.count("cuGraph"), 0);
  EXPECT_EQ(native.depth(), 1u);
  calls.reset();
  replay(commands);
  replay(commands);
  EXPECT_EQ(calls.count("cuGraphLaunch"), 2);
  EXPECT_EQ(calls.count("cuLaunchKernel"), 0);
  EXPECT_EQ(word(x), 4u);
}

TEST_F(CudaGraph, Automatically_RefusedGraphsPauseAndComeBack) {
  NativeCalls calls;
  hal::Recorder recorder(device("auto"));
  const hal::Buffer x = words();
  recorder.fill(x, 1).barrier().fill(hal::BufferRange{x, 0, 4}, 2);
  const hal::CommandBuffer commands = recorder.finish().value();
  const auto& native = static_cast<const Graphs&>(commands.object()->native());
  for (std::uint32_t i = 0; i < Graphs::kStreamReplays; ++i) replay(commands);
  calls.fail("cuGraphInstantiateWithFlags", CUDA_ERROR_OUT_OF_MEMORY, 1);
  replay(commands);
  EXPECT_EQ(native.counts().refused, 1u);
  calls.reset();
  for (std::uint32_t i = 0; i < Graphs::kPause; ++i) replay(commands);
  EXPECT_EQ(calls.count("cuGraph"), 0);
  replay(commands);
  EXPECT_EQ(native.counts().launches, 1u);
}

// A changed length cannot be updated in a graph, and a graph that is built for every replay gains
// nothing.
TEST_F(CudaGraph, Automatically_GraphsThatAreBuiltEachTimePause) {
  hal::Recorder recorder(device("auto"));
  const hal::Buffer x = words();
  recorder.fill(slot(0), 1, 1).fill(slot(1), 2, 1);
  const hal::CommandBuffer commands = recorder.finish().value();
  const auto& native = static_cast<const Graphs&>(commands.object()->native());
  for (std::uint32_t i = 0; i < 40; ++i) replay(commands, {{x, 0, i % 2}, {x, 4, i % 2}});
  EXPECT_EQ(native.counts().launches, 1 + Graphs::kMostRebuilds);
  EXPECT_EQ(native.counts().builds, 1 + Graphs::kMostRebuilds);
}

TEST_F(CudaGraph, Automatically_OnceOrOneCommandIsNoGraph) {
  NativeCalls calls;
  device("auto");
  const hal::Buffer x = words(), y = words();
  for (const bool once : {true, false}) {
    hal::Recorder recorder(device(), once ? hal::RecordingUse::kOnce : hal::RecordingUse::kOften);
    add(recorder, x, y, 1);
    if (once) recorder.barrier().copy(y, x);
    const hal::CommandBuffer commands = recorder.finish().value();
    for (int i = 0; i < 5; ++i) replay(commands);
  }
  EXPECT_EQ(calls.count("cuGraph"), 0);
}

TEST_F(CudaGraph, ModeStream_HasNoGraphs) {
  NativeCalls calls;
  hal::Recorder recorder(device("stream"));
  const hal::Buffer x = words();
  recorder.fill(x, 1).barrier().fill(x, 2);
  const hal::CommandBuffer commands = recorder.finish().value();
  for (int i = 0; i < 5; ++i) replay(commands);
  EXPECT_EQ(calls.count("cuGraph"), 0);
  EXPECT_EQ(commands.object()->native().depth(), 2u);
  EXPECT_EQ(commands.object()->native().instances().count, 0u);
}

// More commands than an empty lane takes: a single launch instead of parts.
TEST_F(CudaGraph, Automatically_ADeepRecordingIsOneLaunchAtOnce) {
  NativeCalls calls;
  constexpr std::uint32_t kCommands = 5000;
  hal::Recorder recorder(device("auto"));
  ASSERT_LT(device().info().limits.max_in_flight, kCommands);
  const hal::Buffer x = words(kCommands);
  for (std::uint32_t i = 0; i < kCommands; ++i) {
    recorder.fill(hal::BufferRange{x, std::uint64_t{i} * 4, 4}, i);
  }
  const hal::CommandBuffer commands = recorder.finish().value();
  calls.reset();
  replay(commands);
  EXPECT_EQ(calls.count("cuGraphLaunch"), 1);
  EXPECT_EQ(calls.count("cuMemsetD32Async"), 0);
  const hal::Mapping mapping = x.map().value();
  for (std::uint32_t i = 0; i < kCommands; ++i) ASSERT_EQ(of(mapping)[i], i);
}

// Slots of queues that replay one recording at once do not mix.
TEST_F(CudaGraph, QueuesThatReplayARecording_HaveTheirOwnGraphs) {
  NativeCalls calls;
  device();
  constexpr std::uint32_t kQueues = 3, kRounds = 50;
  hal::Recorder recorder(device());
  add(recorder, slot(0), slot(1), 1);
  recorder.barrier().copy(slot(1, 0, kItems * 4), slot(0, 0, kItems * 4));
  const hal::CommandBuffer commands = recorder.finish().value();
  std::vector<hal::Queue> queues;
  std::vector<hal::Buffer> buffers;
  std::vector<hal::Semaphore> ends;
  for (std::uint32_t i = 0; i < kQueues; ++i) {
    queues.push_back(device().create_queue({}).value());
    ends.push_back(device().create_semaphore().value());
    for (int k = 0; k < 2; ++k) buffers.push_back(words());
    of(buffers[2 * i].map().value())[0] = 1000 * i;
  }
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    for (std::uint32_t i = 0; i < kQueues; ++i) {
      check(queues[i].execute(commands, {.bindings = {buffers[2 * i], buffers[2 * i + 1]},
                                         .signal = {{ends[i], round}}}));
    }
  }
  for (std::uint32_t i = 0; i < kQueues; ++i) {
    check(ends[i].wait(kRounds, kForever));
    EXPECT_EQ(word(buffers[2 * i]), 1000 * i + kRounds);
  }
  EXPECT_EQ(calls.count("cuGraphLaunch"), static_cast<int>(kQueues * kRounds));
  EXPECT_EQ(calls.count("cuGraphInstantiate"), static_cast<int>(kQueues));
}

TEST_F(CudaGraph, DroppedRecording_DestroysItsGraphs) {
  NativeCalls calls;
  const hal::Buffer x = words();
  {
    hal::Recorder recorder(device());
    recorder.fill(x, 1);
    const hal::CommandBuffer commands = recorder.finish().value();
    check(device().queue().execute(commands, {}));  // still in flight when it is dropped
  }
  const hal::Semaphore end = device().create_semaphore().value();
  check(device().queue().barrier({.signal = {{end, 1}}}));
  check(end.wait(1, kForever));
  EXPECT_EQ(word(x), 1u);
  while (calls.count("cuGraphDestroy") == 0) base::spin_pause();  // by the reclaim thread
  EXPECT_EQ(calls.count("cuGraphExecDestroy"), 1);
}

TEST_F(CudaGraph, UnknownMode_IsRefused) {
  const Status status = registry.open("cuda://0?command_buffer_mode=fast").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("auto, graph or stream"));
}

}  // namespace
}  // namespace halyard::cuda
