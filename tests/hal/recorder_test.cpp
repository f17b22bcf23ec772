// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hal/command_buffer.h"

#include <atomic>
#include <cstring>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "hal/fake_driver.h"
#include "halyard/hal/launch.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

class Recording : public testing::FakeWorld {
 protected:
  std::span<std::byte> bytes(const Buffer& of) { return of.map().value().bytes(); }
  Buffer zeroes(std::size_t size) {
    const Buffer made = buffer(size);
    std::ranges::fill(bytes(made), std::byte{0});
    return made;
  }
  Executable executable = load(device);
  Function saxpy = executable.function("saxpy").value();
  Function wide = executable.function("wide").value();
  Recorder recorder{device};
};

TEST_F(Recording, MayBeEmpty) {
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(commands.command_count(), 0u);
  EXPECT_EQ(commands.slot_count(), 0u);
  EXPECT_TRUE(queue.execute_and_wait(commands, {}, 20s).ok());
}

TEST_F(Recording, RunsItsCommandsOnDirectMemory) {
  const Buffer a = zeroes(16);
  const Buffer b = zeroes(16);
  const std::byte data[] = {std::byte{7}, std::byte{8}};
  recorder.fill(BufferRange(a, 0, 4), 0x01010101)
      .barrier()
      .update(BufferRange(a, 4), {data, 2})
      .barrier()
      .copy(BufferRange(a, 2, 4), BufferRange(b, 8, 4));
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(commands.command_count(), 5u);
  for (int i = 0; i < 3; ++i) {
    std::ranges::fill(bytes(b), std::byte{0});
    ASSERT_TRUE(queue.execute_and_wait(commands, {}, 20s).ok());
    EXPECT_EQ(bytes(b)[9], std::byte{1});
    EXPECT_EQ(bytes(b)[10], std::byte{7});
    EXPECT_EQ(bytes(b)[11], std::byte{8});
    EXPECT_EQ(bytes(b)[12], std::byte{0});
  }
}

TEST_F(Recording, SlotsTakeTheBindingsOfEachSubmission) {
  recorder.fill(slot(1, 4), 0x02020202).fill(slot(3, 0, 4), 0x03030303);
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(commands.slot_count(), 4u);
  for (int i = 0; i < 2; ++i) {
    const Buffer a = zeroes(12);
    const Buffer b = zeroes(12);
    // Slots 0 and 2 are not used.
    ASSERT_TRUE(
        queue.execute_and_wait(commands, {.bindings = {{}, a, {}, {b, 8}, Buffer()}}, 20s).ok());
    EXPECT_EQ(bytes(a)[3], std::byte{0});
    EXPECT_EQ(bytes(a)[4], std::byte{2});
    EXPECT_EQ(bytes(a)[11], std::byte{2});
    EXPECT_EQ(bytes(b)[7], std::byte{0});
    EXPECT_EQ(bytes(b)[8], std::byte{3});
  }
}

TEST_F(Recording, LongTablesWorkLikeShortOnes) {
  std::vector<BufferRange> table;
  const Buffer all = zeroes(400);
  for (std::uint32_t i = 0; i < 100; ++i) {
    recorder.fill(slot(i), i, 1);
    table.emplace_back(all, 4 * i, 4);
  }
  const CommandBuffer commands = recorder.finish().value();
  ASSERT_TRUE(queue.execute_and_wait(commands, {.bindings = table}, 20s).ok());
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(std::to_integer<std::uint32_t>(bytes(all)[4 * i + 3]), i);
  }
}

// Rule 19 of timelines.md, without patching: each submission has a table of its own.
class Rule19Bindings : public Recording {};

TEST_F(Rule19Bindings, EverySubmissionInFlightHasItsOwnTable) {
  control->automatic = false;
  recorder.fill(slot(0, 0, 1), 1, 1).fill(slot(1, 0, 1), 2, 1);
  const CommandBuffer commands = recorder.finish().value();
  const Semaphore start = device.create_semaphore().value();
  const Buffer all = zeroes(200);
  std::vector<BufferRange> table(2);
  for (std::uint32_t i = 0; i < 100; ++i) {
    table = {{all, 2 * i, 1}, {all, 2 * i + 1, 1}};
    const Point wait{start, i % 2};  // one half is issued now, the other parked
    ASSERT_TRUE(queue.execute(commands, {.bindings = table, .wait = {&wait, 1}}).ok());
  }
  ASSERT_TRUE(start.signal(1).ok());
  lane().run();
  for (std::uint32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(std::to_integer<std::uint32_t>(bytes(all)[i]), 1 + i % 2) << i;
  }
}

TEST_F(Recording, DispatchMixesSlotsAndMemory) {
  const Buffer y = buffer(64);
  recorder.dispatch(saxpy, {.groups = {2, 3, 4}}, {slot(0, 8), y}, {1.f, 2u});
  const CommandBuffer commands = recorder.finish().value();
  const Buffer x = buffer(128);
  ASSERT_TRUE(queue.execute_and_wait(commands, {.bindings = {{x, 64}}}, 20s).ok());
  ASSERT_EQ(control->launches.size(), 1u);
  EXPECT_THAT(control->launches[0].groups, ::testing::ElementsAre(2, 3, 4));
  EXPECT_EQ(control->launches[0].bindings[0].offset, 72u);
  EXPECT_EQ(control->launches[0].bindings[0].length, 56u);
  EXPECT_EQ(control->launches[0].bindings[1].length, 64u);
}

TEST_F(Recording, IndirectDispatchReadsItsGroupsInEachExecution) {
  const Buffer x = buffer(64);
  const Buffer counts = zeroes(32);
  recorder.fill(BufferRange(counts, 20, 4), 6).barrier();
  recorder.dispatch_indirect(saxpy, slot(0, 8), {x, x}, {1.f, 2u});
  const CommandBuffer commands = recorder.finish().value();
  for (const std::uint8_t y : {3, 4}) {
    bytes(counts)[16] = std::byte{y};
    ASSERT_TRUE(queue.execute_and_wait(commands, {.bindings = {{counts, 4}}}, 20s).ok());
    EXPECT_THAT(control->launches.back().groups, ::testing::ElementsAre(0, y, 6));
  }
}

TEST_F(Recording, ErrorsNameTheInnermostDebugGroup) {
  recorder.begin_debug_group("epoch").begin_debug_group("forward").barrier().fill(Buffer(), 0);
  EXPECT_ERROR(recorder.finish().status(), StatusCode::kInvalidArgument,
               "recorder for fake://0: command 1 (fill) in group forward: empty buffer");
  Recorder back(device);
  back.begin_debug_group("epoch").begin_debug_group("forward").end_debug_group().fill(Buffer(), 0);
  EXPECT_ERROR(back.finish().status(), StatusCode::kInvalidArgument,
               "command 0 (fill) in group epoch: empty buffer");
  Recorder with_long_name(device);
  with_long_name.begin_debug_group(std::string(5000, 'g')).fill(Buffer(), 0);
  EXPECT_ERROR(with_long_name.finish().status(), StatusCode::kInvalidArgument,
               "in group " + std::string(64, 'g') + ": empty buffer");
}

TEST_F(Recording, OpenDebugGroupsAreNamedByFinish) {
  recorder.begin_debug_group("outer").begin_debug_group("inner");
  EXPECT_ERROR(recorder.finish().status(), StatusCode::kFailedPrecondition,
               "finish: 2 open debug groups, the innermost is inner");
  Recorder ended_twice(device);
  ended_twice.begin_debug_group("once").end_debug_group().end_debug_group();
  EXPECT_ERROR(ended_twice.finish().status(), StatusCode::kFailedPrecondition,
               "command 0 (end_debug_group): no debug group is open");
}

// ---- Refused uses

TEST_F(Recording, TheFirstErrorSticksAndNamesItsCommand) {
  const Buffer a = buffer(16);
  recorder.fill(a, 0).fill(a, 0, 3).fill(Buffer(), 0);
  EXPECT_ERROR(recorder.finish().status(), StatusCode::kInvalidArgument,
               "recorder for fake://0: command 1 (fill): a pattern of 3 bytes");
}

TEST_F(Recording, AFinishedRecorderIsEmpty) {
  ASSERT_TRUE(recorder.finish().ok());
  recorder.barrier();
  EXPECT_ERROR(recorder.finish().status(), StatusCode::kFailedPrecondition, "finished");
}

TEST_F(Recording, NeedsADevice) {
  Recorder none{Device()};
  none.barrier();
  EXPECT_ERROR(none.finish().status(), StatusCode::kInvalidArgument, "empty handle");
}

TEST_F(Recording, AnErrorOfTheDriverIsReturned) {
  control->fail_prepare = Status(StatusCode::kResourceExhausted, "no graph today");
  EXPECT_ERROR(recorder.barrier().finish().status(), StatusCode::kResourceExhausted,
               "finish: no graph today");
}

TEST_F(Recording, CommandsRefuseTheSameArgumentsAsQueueOperations) {
  const Buffer a = buffer(16);
  const auto error_of = [&](auto&& record) {
    Recorder one(device);
    record(one);
    return one.finish().status();
  };
  EXPECT_ERROR(error_of([&](Recorder& r) { r.fill(BufferRange(a, 8, 9), 0, 1); }),
               StatusCode::kOutOfRange, "9 bytes at offset 8");
  EXPECT_ERROR(error_of([&](Recorder& r) {
                 r.update(BufferRange(a, 0, 8), {nullptr, 0});
               }),
               StatusCode::kInvalidArgument, "0 bytes for a target of 8");
  EXPECT_ERROR(error_of([&](Recorder& r) { r.copy(BufferRange(a, 0, 8), BufferRange(a, 4, 8)); }),
               StatusCode::kInvalidArgument, "overlap");
  EXPECT_ERROR(error_of([&](Recorder& r) { r.copy(BufferRange(a, 0, 8), slot(0, 0, 4)); }),
               StatusCode::kInvalidArgument, "8 bytes to a target of 4");
  EXPECT_ERROR(error_of([&](Recorder& r) { r.copy(slot(0, 0, 8), slot(0, 4, 8)); }),
               StatusCode::kInvalidArgument, "overlap");
  EXPECT_ERROR(error_of([&](Recorder& r) { r.copy(slot(0), slot(1)); }),
               StatusCode::kInvalidArgument, "without a length");
  EXPECT_ERROR(error_of([&](Recorder& r) { r.dispatch(saxpy, {.items = 1}, {a}, {1.f, 1u}); }),
               StatusCode::kInvalidArgument, "1 binding given");
  EXPECT_ERROR(error_of([&](Recorder& r) { r.dispatch(saxpy, {.items = 1}, {a, a}, {1.f, 1.f}); }),
               StatusCode::kInvalidArgument, "saxpy: constant 1 (n) is uint32, given float32");
  EXPECT_ERROR(error_of([&](Recorder& r) {
                 r.dispatch(saxpy, {.items = 1}, {slot(0, 2), a}, {1.f, 1u});
               }),
               StatusCode::kInvalidArgument, "saxpy: binding 0 (x): offset 2");
  EXPECT_ERROR(error_of([&](Recorder& r) {
                 r.dispatch(saxpy, {}, {a, a}, {1.f, 1u});
               }),
               StatusCode::kInvalidArgument, "neither items nor groups");
  EXPECT_ERROR(error_of([&](Recorder& r) { r.dispatch({}, {.items = 1}, {}, {}); }),
               StatusCode::kInvalidArgument, "empty function");
}

TEST_F(Recording, SlotsAreBounded) {
  EXPECT_ERROR(recorder.fill(slot(kMaxSlots), 0).finish().status(), StatusCode::kOutOfRange,
               "slot 4096");
  Recorder second(device);
  EXPECT_ERROR(second.fill(slot(0, ~0ull - 3, 8), 0).finish().status(), StatusCode::kOutOfRange,
               "slot 0: 8 bytes at offset 2^64 - 4 overflow 64 bits");
  Recorder third(device);
  const Buffer a = buffer(16);
  EXPECT_ERROR(third.copy(slot(0, ~0ull - 3), a).finish().status(), StatusCode::kOutOfRange,
               "overflow");
  Recorder fourth(device);
  EXPECT_ERROR(fourth.fill(slot(0, ~0ull - 2, 1), 0, 2).finish().status(),
               StatusCode::kInvalidArgument, "offset 2^64 - 3 is no multiple of the pattern's 2");
}

TEST_F(Recording, TooFewBindings_AreRefusedWithBothNumbers) {
  const CommandBuffer commands = recorder.fill(slot(0), 0).finish().value();
  EXPECT_ERROR(queue.execute(commands, {}), StatusCode::kOutOfRange,
               "0 bindings given, the recording has 1 slot");
}

TEST_F(Recording, TakesPartsOfBuffersInBraces) {
  const Buffer x = buffer(16), y = buffer(16);
  recorder.copy({x, 0, 4}, {y, 8, 4}).fill({y, 12}, 0);
  recorder.dispatch(saxpy, {.items = 1}, {{x, 0, 8}, {y, 8}}, {0.5f, 2u});
  ASSERT_TRUE(queue.execute(recorder.finish().value(), {}).ok());
}

// --- constant slots ------------------------------------------------------------------------------

struct SaxpyConstants {
  float a;
  std::uint32_t n;
};

TEST_F(Recording, ConstantSlotsTakeTheNumbersOfEachSubmission) {
  const Buffer x = buffer(16), y = buffer(16);
  recorder.dispatch(saxpy, {.items = 1}, {slot(0), y}, {constant_slot(2), 7u});
  recorder.dispatch(saxpy, {.items = 1}, {x, slot(0)}, {0.5f, constant_slot(0)});
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(commands.slot_count(), 1u);
  EXPECT_EQ(commands.constant_slot_count(), 3u);
  for (const float a : {1.0f, -2.0f}) {
    control->launches.clear();
    ASSERT_TRUE(queue
                    .execute_and_wait(
                        commands, {.bindings = {x}, .constants = {3u, 0.0, a}}, 20s)
                    .ok());
    ASSERT_EQ(control->launches.size(), 2u);
    const auto constants = [&](std::size_t launch) {
      SaxpyConstants result;
      EXPECT_EQ(control->launches[launch].constants.size(), sizeof result);
      std::memcpy(&result, control->launches[launch].constants.data(), sizeof result);
      return result;
    };
    EXPECT_EQ(constants(0).a, a);
    EXPECT_EQ(constants(0).n, 7u);
    EXPECT_EQ(constants(1).a, 0.5f);
    EXPECT_EQ(constants(1).n, 3u);
  }
}

TEST_F(Recording, ConstantSlotsAreOfOneTypeAndBounded) {
  const Buffer x = buffer(16);
  recorder.dispatch(saxpy, {.items = 1}, {x, x}, {constant_slot(1), 1u});
  recorder.dispatch(saxpy, {.items = 1}, {x, x}, {1.f, constant_slot(1)});
  EXPECT_ERROR(recorder.finish().status(), StatusCode::kInvalidArgument,
               "saxpy: constant slot 1 is uint32 here, float32 before");
  Recorder second(device);
  second.dispatch(saxpy, {.items = 1}, {x, x}, {constant_slot(kMaxSlots), 1u});
  EXPECT_ERROR(second.finish().status(), StatusCode::kOutOfRange,
               "constant slot 4096; the highest is 4095");
}

TEST_F(Recording, NumbersAreCheckedAgainstTheConstantSlots) {
  const Buffer x = buffer(16);
  recorder.dispatch(saxpy, {.items = 1}, {x, x}, {constant_slot(1), 1u});
  const CommandBuffer commands = recorder.finish().value();
  const auto execute = [&](View<Constant> constants) {
    return queue.execute_and_wait(commands, {.constants = constants}, 20s);
  };
  EXPECT_ERROR(execute({1.0f}), StatusCode::kOutOfRange,
               "1 constant given, the recording has 2 constant slots");
  EXPECT_ERROR(execute({1.0f, 1.0}), StatusCode::kInvalidArgument,
               "constant slot 1: is float32 of saxpy, given float64");
  EXPECT_ERROR(execute({1.0f, constant_slot(0)}), StatusCode::kInvalidArgument,
               "constant slot 1: is float32 of saxpy, given a slot");
  EXPECT_ERROR(execute({1u, 1.0f, 5}), StatusCode::kInvalidArgument,
               "3 constants given, the recording has only 2 constant slots");
  EXPECT_ERROR(queue.execute_and_wait(Recorder(device).finish().value(), {.constants = {1}}, 20s),
               StatusCode::kInvalidArgument,
               "1 constant given, the recording has only 0 constant slots");
  EXPECT_TRUE(execute({1u, 1.0f}).ok()) << "slot 0 is not used";
}

TEST_F(Recording, Dispatch_WithAConstantTooMany_IsRefused) {
  const Buffer x = buffer(16);
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const char* const text = "3 constants given, kernel saxpy has 2 (a: float32, n: uint32)";
  EXPECT_ERROR(queue.dispatch(saxpy, {.items = 1}, {x, x}, {1.f, 1u, 1u}, {}), kInvalid, text);
  EXPECT_ERROR(queue.dispatch_indirect(saxpy, x, {x, x}, {1.f, 1u, 1u}, {}), kInvalid, text);
  recorder.dispatch(saxpy, {.items = 1}, {x, x}, {1.f, 1u, constant_slot(0)});
  EXPECT_ERROR(recorder.finish().status(), kInvalid, text);
  EXPECT_ERROR(Launch::create(saxpy, {x, x}, {1.f, 1u, 1u}).status(), kInvalid,
               "3 scalars given, it has 2 beside its tensors");
}

// The second thread arrives while the first thread is inside a driver call.
TEST_F(Recording, Recorder_UsedDuringACallOfAnotherThread_FailsTheRecording) {
  control->needs_host_blocks = true;
  const Device own = registry.open("fake://").value();
  const Buffer x = own.allocate({.size = 16}).value();
  Recorder both(own);
  bool came = false;
  control->inside = [&](const char* call) {
    if (std::string_view(call) != "allocate" || std::exchange(came, true)) return;
    std::thread([&] {
      both.fill(x, 1).begin_debug_group("theirs");
      EXPECT_EQ(both.last(), CommandId());
      EXPECT_ERROR(both.finish().status(), StatusCode::kFailedPrecondition,
                   "recorder: finish: used by two threads at once");
    }).join();
  };
  const std::byte data[4] = {};
  both.update(BufferRange(x, 0, 4), data);
  EXPECT_TRUE(came);
  EXPECT_EQ(both.last(), CommandId()) << "after an error";
  Recorder moved(std::move(both));
  moved.fill(slot(0, 1), 0);  // is refused too, but later
  EXPECT_ERROR(moved.finish().status(), StatusCode::kFailedPrecondition,
               "recorder for fake://0 #2: used by two threads at once");
  EXPECT_ERROR(moved.finish().status(), StatusCode::kFailedPrecondition, "finished recorder");
  control->inside = {};
}

TEST_F(Recording, Recorder_UsedDuringFinish_GivesNoCommandBuffer) {
  control->on_prepare = [&](const RecordedCommands&) {
    std::thread([&] { recorder.barrier(); }).join();
  };
  EXPECT_ERROR(recorder.barrier().finish().status(), StatusCode::kFailedPrecondition,
               "recorder for fake://0: used by two threads at once");
  control->on_prepare = {};
  EXPECT_EQ(control->live_recordings, 0);
}

TEST_F(Recording, Recorder_HandedOver_IsUsedByOneThreadAtATime) {
  const Buffer x = buffer(16);
  for (int i = 0; i < 3; ++i) std::thread([&] { recorder.fill(x, 1).barrier(); }).join();
  EXPECT_EQ(recorder.finish().value().command_count(), 6u);
}

// Whether calls overlap is up to the scheduler: there is a recording or an error, and no crash.
TEST_F(Recording, Recorder_UsedByTwoThreads_NeverCrashes) {
  const Buffer x = buffer(16);
  for (int round = 0; round < 20; ++round) {
    Recorder both(device);
    std::atomic<int> ready = 0;
    const auto use = [&] {
      ++ready;
      while (ready != 2) std::this_thread::yield();
      for (int i = 0; i < 100; ++i) {
        both.dispatch(saxpy, {.items = 1}, {slot(0), x}, {1.f, constant_slot(3)}).fill(x, 1);
        (void)both.last();
      }
      const Status status = both.finish().status();
      if (status.ok()) return;
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
      EXPECT_TRUE(status.message().ends_with("used by two threads at once") ||
                  status.message().ends_with("finish of a finished recorder"))
          << status.to_string();
    };
    std::thread other(use);
    use();
    other.join();
  }
}

TEST_F(Recording, ConstantSlotsAreForRecordings) {
  const Buffer x = buffer(16);
  EXPECT_ERROR(queue.dispatch(saxpy, {.items = 1}, {x, x}, {constant_slot(0), 1u}, {}),
               StatusCode::kInvalidArgument, "constant 0 (a) is a slot; recordings have these");
  Launch launch = Launch::create(saxpy, {x, x}, {constant_slot(0), 1u}).value();
  EXPECT_ERROR(queue.dispatch(launch.over({.items = 1}), {}), StatusCode::kInvalidArgument,
               "a launch with a constant slot; recordings have these");
  recorder.dispatch(launch);
  const CommandBuffer commands = recorder.finish().value();
  ASSERT_TRUE(queue.execute_and_wait(commands, {.constants = {2.5f}}, 20s).ok());
  float a;
  std::memcpy(&a, control->launches.back().constants.data(), sizeof a);
  EXPECT_EQ(a, 2.5f);
  ASSERT_TRUE(launch.set_scalars({1.5f, 2u}).ok());
  EXPECT_TRUE(queue.dispatch(launch, {}).ok()) << "it has a number again";
}

TEST_F(Rule19Bindings, EverySubmissionInFlightHasItsOwnNumbers) {
  control->automatic = false;
  const Buffer x = buffer(16);
  recorder.dispatch(saxpy, {.items = 1}, {x, x}, {1.f, constant_slot(0)});
  const CommandBuffer commands = recorder.finish().value();
  const Semaphore start = device.create_semaphore().value();
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Point wait{start, i % 2};  // one half is issued now, the other parked
    ASSERT_TRUE(queue.execute(commands, {.constants = {i}, .wait = {&wait, 1}}).ok());
  }
  ASSERT_TRUE(start.signal(1).ok());
  lane().run();
  std::set<std::uint32_t> seen;
  for (const auto& launch : control->launches) {
    std::uint32_t n;
    std::memcpy(&n, launch.constants.data() + 4, sizeof n);
    seen.insert(n);
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST_F(Recording, ATableIsCheckedAgainstTheRangesOfTheCommands) {
  const Buffer a = buffer(16);
  recorder.fill(slot(0, 4, 8), 0).fill(slot(1), 0, 2).dispatch(wide, {.items = 1}, {slot(2)}, {1l});
  const CommandBuffer commands = recorder.finish().value();
  const auto execute = [&](View<BufferRange> table) {
    return queue.execute(commands, {.bindings = table});
  };
  EXPECT_TRUE(execute({{a, 0, 12}, {a, 0, 2}, {a, 8}}).ok());
  EXPECT_ERROR(execute({a, a}), StatusCode::kOutOfRange,
               "2 bindings given, the recording has 3 slots");
  EXPECT_ERROR(execute({{a, 0, 11}, a, a}), StatusCode::kOutOfRange,
               "slot 0: 11 bytes bound, its commands reach 12");
  EXPECT_ERROR(execute({a, Buffer(), a}), StatusCode::kInvalidArgument, "slot 1: empty buffer");
  EXPECT_ERROR(execute({a, {a, 8, 9}, a}), StatusCode::kOutOfRange, "slot 1: 9 bytes at offset 8");
  EXPECT_ERROR(execute({a, {a, 1, 2}, a}), StatusCode::kInvalidArgument,
               "slot 1: bound at offset 1, no multiple of 2");
  EXPECT_ERROR(execute({a, {a, 0, 3}, a}), StatusCode::kInvalidArgument, "slot 1: 3 bytes bound");
  EXPECT_ERROR(execute({a, a, {a, 4}}), StatusCode::kInvalidArgument,
               "slot 2: bound at offset 4, no multiple of 8");
}

TEST_F(Recording, OverlapThatDependsOnTheTableIsFoundAtSubmit) {
  const Buffer a = buffer(16);
  const Buffer b = buffer(16);
  recorder.barrier().copy(slot(0, 0, 8), slot(1, 0, 8)).copy(BufferRange(a, 0, 4), slot(0));
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_ERROR(queue.execute(commands, {.bindings = {b, {b, 4}}}), StatusCode::kInvalidArgument,
               "command 1 (copy)");
  EXPECT_ERROR(queue.execute(commands, {.bindings = {a, b}}), StatusCode::kInvalidArgument,
               "command 2 (copy)");
  EXPECT_TRUE(queue.execute(commands, {.bindings = {b, {b, 8}}}).ok());
}

// ---- after()

TEST_F(Recording, GivesTheDriverTheEdgesBetweenCommands) {
  std::vector<CommandEdge> edges;
  control->on_prepare = [&](const hal::RecordedCommands& recording) {
    edges.assign(recording.edges.begin(), recording.edges.end());
  };
  const Buffer a = zeroes(16);
  const CommandId first = recorder.fill(BufferRange(a, 0, 4), 1).last();
  const CommandId second = recorder.fill(BufferRange(a, 4, 4), 2).barrier().last();
  recorder.after({first}).after({second, first}).copy(BufferRange(a, 0, 8), BufferRange(a, 8, 8));
  recorder.fill(BufferRange(a, 0, 4), 1);
  ASSERT_TRUE(recorder.finish().ok());
  ASSERT_EQ(edges.size(), 3u);
  for (const CommandEdge& edge : edges) EXPECT_EQ(edge.after, 3u);  // the barrier is number 2
  EXPECT_EQ(edges[0].before, 0u);
  EXPECT_EQ(edges[1].before, 1u);
  EXPECT_EQ(edges[2].before, 0u);
}

TEST_F(Recording, RefusesToFollowAForeignOrEmptyCommand) {
  const Buffer a = zeroes(16);
  Recorder other(device);
  const CommandId foreign = other.fill(a, 1).last();
  const CommandId none = recorder.last();
  for (const CommandId& id : {foreign, none, CommandId()}) {
    Recorder r(device);
    const CommandId own = r.fill(a, 1).last();
    r.after({own, id}).fill(a, 2);
    const Status status = r.finish().status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("command 1 (after): entry 1"), std::string_view::npos)
        << status.to_string();
  }
}

TEST_F(Recording, RefusesAfterWithoutACommandThatDoesWork) {
  const Buffer a = zeroes(16);
  const Event event = device.create_event().value();
  for (int next = 0; next < 3; ++next) {
    Recorder r(device);
    const CommandId own = r.fill(a, 1).last();
    r.after({own});
    if (next == 1) r.barrier().fill(a, 2);
    if (next == 2) r.set_event(event).fill(a, 2);
    EXPECT_EQ(r.finish().status().code(), StatusCode::kFailedPrecondition) << next;
  }
  Recorder nothing(device);
  EXPECT_TRUE(nothing.after({}).barrier().finish().ok());
}

}  // namespace
}  // namespace halyard::hal
