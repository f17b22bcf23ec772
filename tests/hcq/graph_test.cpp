// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "drivers/cpu/hcq_device.h"
#include "halyard/hcq/cpu.h"
#include "hcq_test_util.h"

namespace halyard::hcq {
namespace {

using namespace std::chrono_literals;
using Cells = std::vector<std::uint64_t>;

// out[i] = 3 * out[i] + in[i] + by for n cells: different orders of such steps give different
// results.
void mix(const Workgroup*, void* const* buffers, const void* constants) {
  std::uint64_t words[2];
  std::memcpy(words, constants, sizeof words);
  const auto* in = static_cast<const std::uint64_t*>(buffers[0]);
  auto* out = static_cast<std::uint64_t*>(buffers[1]);
  for (std::uint64_t i = 0; i < words[1]; ++i) out[i] = 3 * out[i] + in[i] + words[0];
}

Program mix_program() {
  ProgramInfo info{.name = "mix", .buffer_count = 2};
  info.constants = {{"by", Value::Type::kUint64, 0}, {"n", Value::Type::kUint64, 8}};
  info.constants_size = 16;
  info.reads_only = 0b01;
  return cpu_program(&mix, info).value();
}

Buffer all(Cells& cells) { return {cells.data(), cells.size() * 8}; }

class HcqGraph : public testing::Test {
 protected:
  // Blocks `device` until the host raises the gate.
  void hold(Device& device) {
    ComputeQueue q;
    ASSERT_TRUE(q.wait(gate, 1).signal(device.next_timeline()).submit(device).ok());
  }
  GraphRecorder& record_mix(GraphRecorder& recorder, Device& device, const GraphBuffer& in,
                            const GraphBuffer& out, std::uint64_t by) {
    return recorder.exec(device, program, {in, out}, {by, out.size() / 8}, {1, 1, 1});
  }

  const Program program = mix_program();
  std::unique_ptr<Device> a = open_cpu(2).value();
  std::unique_ptr<Device> b = open_cpu(1).value();
  Signal gate = a->create_signal().value();
  Cells x = Cells(64, 1), y = Cells(64, 2), z = Cells(64, 3);
};

TEST_F(HcqGraph, ReplaysGiveWhatTheSameCallsInOrderGive) {
  GraphRecorder recorder;
  record_mix(recorder, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 5);
  recorder.copy(*a, GraphBuffer(all(z)), GraphBuffer(all(y)), 512);
  record_mix(recorder, *b, GraphBuffer(all(z)), GraphBuffer(all(x)), 7);
  Graph graph = recorder.finish().value();
  std::uint64_t ex = 1, ey = 2;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(graph.replay().ok());
    ey = 3 * ey + ex + 5;
    ex = 3 * ex + ey + 7;
  }
  ASSERT_TRUE(graph.wait(20s).ok());
  EXPECT_EQ(x, Cells(64, ex));
  EXPECT_EQ(y, Cells(64, ey));
  EXPECT_EQ(z, Cells(64, ey));
}

TEST_F(HcqGraph, EachReplayTakesItsOwnInputs) {
  GraphRecorder recorder;
  const GraphBuffer in = recorder.add_input(512), out = recorder.add_input(512);
  record_mix(recorder, *a, in, GraphBuffer(all(y)), 0);
  recorder.copy(*a, out, GraphBuffer(all(y)), 512);
  Graph graph = recorder.finish().value();
  std::vector<Cells> ins, outs(10, Cells(64));
  for (std::uint64_t i = 0; i < 10; ++i) ins.push_back(Cells(64, i));
  for (std::size_t i = 0; i < 10; ++i) {
    const Buffer inputs[] = {all(ins[i]), all(outs[i])};
    ASSERT_TRUE(graph.replay(inputs).ok());
  }
  ASSERT_TRUE(graph.wait(20s).ok());
  std::uint64_t value = 2;
  for (std::uint64_t i = 0; i < 10; ++i) {
    value = 3 * value + i;
    EXPECT_EQ(outs[i], Cells(64, value));
  }
}

TEST_F(HcqGraph, ValuesChangeConstantsSizesAndCustomWords) {
  GraphRecorder recorder;
  const Symbol by = recorder.add_value(1), groups = recorder.add_value(0);
  std::uint64_t seen = 0;
  recorder.exec(*a, program, {GraphBuffer(all(x)), GraphBuffer(all(y))},
                {Value(Value::Type::kUint64, by), std::uint64_t{1}}, {groups, 1, 1});
  recorder.custom(
      *a, QueueType::kCopy,
      {"store",
       [](const std::uint64_t* words) { *reinterpret_cast<std::uint64_t*>(words[0]) = words[1]; }},
      {word(&seen), by + 1}, {}, {GraphBuffer(Buffer(&seen, 8))});
  Graph graph = recorder.finish().value();
  ASSERT_TRUE(graph.replay().ok());
  ASSERT_TRUE(graph.wait(20s).ok());
  EXPECT_EQ(y[0], 2u);
  EXPECT_EQ(seen, 2u);
  graph.set(by, 10);
  graph.set(groups, 1);
  ASSERT_TRUE(graph.replay().ok());
  ASSERT_TRUE(graph.wait(20s).ok());
  EXPECT_EQ(y[0], 3 * 2u + 1 + 10);
  EXPECT_EQ(seen, 11u);
}

// A replay is one submission on all its devices.
TEST_F(HcqGraph, ReplayFollowsTheEarlierWorkOfItsDevices) {
  GraphRecorder recorder;
  record_mix(recorder, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
  record_mix(recorder, *b, GraphBuffer(all(x)), GraphBuffer(all(z)), 0);
  Graph graph = recorder.finish().value();
  hold(*b);
  ASSERT_TRUE(graph.replay().ok());
  EXPECT_EQ(graph.wait(1ms).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(a->synchronize(1ms).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(y, Cells(64, 2));
  EXPECT_EQ(z, Cells(64, 3));
  gate.set(1);
  ASSERT_TRUE(a->synchronize(20s).ok());
  EXPECT_EQ(y, Cells(64, 7));
  EXPECT_EQ(z, Cells(64, 10));
}

TEST_F(HcqGraph, WorkAfterAReplayFollowsAllOfIt) {
  GraphRecorder recorder;
  record_mix(recorder, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
  recorder.copy(*b, GraphBuffer(all(z)), GraphBuffer(all(y)), 512);
  Graph graph = recorder.finish().value();
  for (int i = 0; i < 50; ++i) {
    std::fill(y.begin(), y.end(), i);
    ASSERT_TRUE(graph.replay().ok());
    std::uint64_t seen = 0;
    TimelineTurn turn(*a);
    CopyQueue q;
    q.wait(turn.last()).copy(Buffer(&seen, 8), Buffer(&z[63], 8), 8).signal(turn.next());
    ASSERT_TRUE(q.submit(*a).ok());
    turn.commit();
    ASSERT_TRUE(turn.last().wait(20s).ok());
    EXPECT_EQ(seen, 3u * i + 1);
  }
}

TEST_F(HcqGraph, ReplayWaitsForTheOneBeforeUntilItsDeadline) {
  GraphRecorder recorder;
  record_mix(recorder, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
  Graph graph = recorder.finish().value();
  hold(*a);
  ASSERT_TRUE(graph.replay().ok());
  EXPECT_EQ(graph.replay({}, 1ms).code(), StatusCode::kDeadlineExceeded);
  gate.set(1);
  EXPECT_TRUE(graph.replay({}, 20s).ok());
  ASSERT_TRUE(graph.wait(20s).ok());
  EXPECT_EQ(y, Cells(64, 3 * (3 * 2 + 1) + 1));
}

TEST_F(HcqGraph, DifferentGraphsOfOneDeviceFollowEachOther) {
  GraphRecorder first, second, third;
  record_mix(first, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
  second.copy(*a, GraphBuffer(all(z)), GraphBuffer(all(y)), 512);
  record_mix(third, *a, GraphBuffer(all(z)), GraphBuffer(all(x)), 0);
  std::vector<Graph> graphs;
  for (GraphRecorder* recorder : {&first, &second, &third}) {
    graphs.push_back(recorder->finish().value());
  }
  hold(*a);
  for (Graph& graph : graphs) ASSERT_TRUE(graph.replay().ok());
  gate.set(1);
  ASSERT_TRUE(graphs.back().wait(20s).ok());
  EXPECT_EQ(x, Cells(64, 3 + 7));
}

TEST_F(HcqGraph, GraphMayGoWhileItsReplayIsInFlight) {
  {
    GraphRecorder recorder;
    record_mix(recorder, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
    recorder.copy(*b, GraphBuffer(all(z)), GraphBuffer(all(y)), 512);
    Graph graph = recorder.finish().value();
    hold(*a);
    ASSERT_TRUE(graph.replay().ok());
  }
  gate.set(1);
  ASSERT_TRUE(b->synchronize(20s).ok());
  EXPECT_EQ(z, Cells(64, 7));
}

TEST_F(HcqGraph, ProfileHasTheTimesOfEachCall) {
  GraphRecorder recorder({.profiling = true});
  record_mix(recorder, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
  recorder.copy(*b, GraphBuffer(all(z)), GraphBuffer(all(y)), 512);
  // An unnamed command has times too.
  recorder.custom(*b, QueueType::kCopy, {{}, [](const std::uint64_t*) {}}, {}, {},
                  {GraphBuffer(all(z))});
  record_mix(recorder, *a, GraphBuffer(all(z)), GraphBuffer(all(x)), 0);
  Graph graph = recorder.finish().value();
  const Nanoseconds before = Clock::steady().now();
  ASSERT_TRUE(graph.replay().ok());
  ASSERT_TRUE(graph.wait(20s).ok());
  const Nanoseconds after = Clock::steady().now();
  const std::vector<CallTimes> times = graph.profile();
  ASSERT_EQ(times.size(), 4u);
  const char* const names[] = {"mix", "copy", "", "mix"};
  Nanoseconds last = before;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(times[i].call, i);
    EXPECT_EQ(times[i].name, names[i]);
    EXPECT_EQ(times[i].device, i == 1 || i == 2 ? b.get() : a.get());
    EXPECT_LE(last, times[i].begin);  // each depends on the previous one
    EXPECT_LE(times[i].begin, times[i].end);
    last = times[i].end;
  }
  EXPECT_LE(last, after);
}

TEST_F(HcqGraph, IndependentCallsOfOneQueueNeedNoWaits) {
  GraphRecorder recorder;
  for (int i = 0; i < 10; ++i) {
    record_mix(recorder, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
  }
  const Graph graph = recorder.finish().value();
  EXPECT_EQ(graph.statistics().queues, 1u);
  EXPECT_EQ(graph.statistics().waits, 0u);
  EXPECT_EQ(graph.statistics().signals, 0u);
}

TEST_F(HcqGraph, OneWaitCoversAllThatItsQueueDidBefore) {
  GraphRecorder recorder;
  for (int i = 0; i < 10; ++i) {
    record_mix(recorder, *a, GraphBuffer(all(x)).slice(0, 8),
               GraphBuffer(all(y)).slice(8u * static_cast<unsigned>(i), 8), 0);
  }
  for (int i = 9; i >= 0; --i) {
    recorder.copy(*b, GraphBuffer(all(z)).slice(8u * static_cast<unsigned>(i), 8),
                  GraphBuffer(all(y)).slice(8u * static_cast<unsigned>(i), 8), 8);
  }
  const Graph graph = recorder.finish().value();
  EXPECT_EQ(graph.statistics().waits, 1u);
}

// Random work on four devices, compared with the same steps on the host.
TEST_F(HcqGraph, RandomGraphsGiveWhatTheHostGives) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < 4; ++i) devices.push_back(open_cpu(1).value());
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    Cells memory(40), expected(40);
    for (std::size_t i = 0; i < 40; ++i) memory[i] = expected[i] = i;
    struct Step {
      bool copy;
      std::uint64_t target, source, n, by;
    };
    std::vector<Step> steps;
    GraphRecorder recorder;
    // Cells from 30 on are an input.
    const GraphBuffer fixed(Buffer(memory.data(), 240)), input = recorder.add_input(80);
    const auto view = [&](std::uint64_t begin, std::uint64_t n) {
      return begin < 30 ? fixed.slice(8 * begin, 8 * n) : input.slice(8 * (begin - 30), 8 * n);
    };
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t n = 1 + below(4);
      const auto place = [&] {
        const std::uint64_t at = below(41 - n);
        return at < 30 && at + n > 30 ? 30 - n : at;
      };
      Step step{below(3) == 0, place(), place(), n, below(100)};
      Device& device = *devices[below(4)];
      const bool apart = step.target + n <= step.source || step.source + n <= step.target;
      if (step.copy && !apart) continue;
      if (step.copy) {
        recorder.copy(device, view(step.target, n), view(step.source, n), 8 * n);
      } else {
        record_mix(recorder, device, view(step.source, n), view(step.target, n), step.by);
      }
      steps.push_back(step);
    }
    Graph graph = recorder.finish().value();
    const Buffer inputs[] = {Buffer(memory.data() + 30, 80)};
    for (int replay = 0; replay < 20; ++replay) {
      ASSERT_TRUE(graph.replay(inputs).ok());
      for (const Step& s : steps) {
        for (std::uint64_t i = 0; i < s.n; ++i) {
          expected[s.target + i] = s.copy
                                       ? expected[s.source + i]
                                       : 3 * expected[s.target + i] + expected[s.source + i] + s.by;
        }
      }
    }
    ASSERT_TRUE(graph.wait(20s).ok());
    ASSERT_EQ(memory, expected) << "seed " << seed;
  }
}

TEST_F(HcqGraph, LivesAcrossTheWrapsOf32BitTimelines) {
  auto narrow = cpu::HcqDevice::create(1, {.signal_bits = 32, .timeline_limit = 3}).value();
  auto other = cpu::HcqDevice::create(1, {.signal_bits = 32, .timeline_limit = 5}).value();
  GraphRecorder recorder;
  record_mix(recorder, *narrow, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
  recorder.copy(*other, GraphBuffer(all(z)), GraphBuffer(all(y)), 512);
  Graph graph = recorder.finish().value();
  std::uint64_t expected = 2;
  for (int i = 0; i < 40; ++i) {
    // The signals also wrap between replays, by other work.
    ComputeQueue q;
    ASSERT_TRUE(q.signal(narrow->next_timeline()).submit(*narrow).ok());
    ASSERT_TRUE(graph.replay().ok());
    expected = 3 * expected + 1;
  }
  ASSERT_TRUE(narrow->synchronize(20s).ok());
  EXPECT_EQ(z, Cells(64, expected));
}

// Half of its submissions are queued, the rest refused.
TEST_F(HcqGraph, ReplayThatIsRefusedHalfWayRunsNothingAndCanBeRepeated) {
  auto full =
      cpu::HcqDevice::create(
          1, {.limits = {.ring_packets = 4, .kernargs_bytes = 1 << 14, .backlog_packets = 8}})
          .value();
  GraphRecorder recorder;
  record_mix(recorder, *a, GraphBuffer(all(x)), GraphBuffer(all(y)), 0);
  record_mix(recorder, *full, GraphBuffer(all(x)), GraphBuffer(all(z)), 0);
  record_mix(recorder, *b, GraphBuffer(all(x)), GraphBuffer(all(z)), 0);
  Graph graph = recorder.finish().value();
  ComputeQueue blocked;
  blocked.wait(gate, 1);
  while (blocked.submit(*full).ok()) {
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(graph.replay().code(), StatusCode::kResourceExhausted);
    EXPECT_TRUE(graph.wait(20s).ok());
    EXPECT_TRUE(a->synchronize(20s).ok());
    EXPECT_TRUE(b->synchronize(20s).ok());
  }
  EXPECT_EQ(y, Cells(64, 2));
  EXPECT_EQ(z, Cells(64, 3));
  gate.set(1);
  // The worker empties the ring; there is a free place once a submission is accepted.
  ComputeQueue last;
  last.signal(gate, 2);
  while (!last.submit(*full).ok()) std::this_thread::yield();
  ASSERT_TRUE(gate.wait(2, 20s).ok());
  ASSERT_TRUE(graph.replay().ok());
  ASSERT_TRUE(graph.wait(20s).ok());
  EXPECT_EQ(y, Cells(64, 7));
  EXPECT_EQ(z, Cells(64, 3 * (3 * 3 + 1) + 1));
}

TEST_F(HcqGraph, ManyThreadsMayReplayTheirGraphsOfTheSameDevices) {
  std::vector<std::jthread> threads;
  std::deque<std::array<Cells, 2>> memory(4, {Cells(8, 1), Cells(8, 2)});
  std::array<bool, 4> good{};
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      GraphRecorder recorder;
      auto& [in, out] = memory[t];
      record_mix(recorder, t % 2 == 0 ? *a : *b, GraphBuffer(all(in)), GraphBuffer(all(out)), t);
      recorder.copy(t % 2 == 0 ? *b : *a, GraphBuffer(all(in)), GraphBuffer(all(out)), 64);
      Graph graph = recorder.finish().value();
      std::uint64_t ei = 1, eo = 2;
      for (int i = 0; i < 50; ++i) {
        if (!graph.replay({}, 20s).ok()) return;
        ei = eo = 3 * eo + ei + t;
      }
      good[t] = graph.wait(20s).ok() && in == Cells(8, ei) && out == Cells(8, eo);
    });
  }
  threads.clear();
  EXPECT_TRUE(std::ranges::all_of(good, std::identity()));
}

// ---- Misuse.

TEST_F(HcqGraph, WrongRecordingsAreErrors) {
  const auto code_of = [&](auto record) {
    GraphRecorder recorder;
    record(recorder);
    return recorder.finish().status().code();
  };
  const GraphBuffer gx(all(x)), gy(all(y));
  EXPECT_EQ(code_of([](GraphRecorder&) {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([&](GraphRecorder& r) { r.exec(*a, program, {gx}, {}, {1, 1, 1}); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([&](GraphRecorder& r) { r.copy(*a, gx, gy, 513); }), StatusCode::kOutOfRange);
  EXPECT_EQ(code_of([&](GraphRecorder& r) { r.copy(*a, gx, gx.slice(8, 16), 16); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([&](GraphRecorder& r) {
              r.custom(*a, QueueType::kCopy, {"none", nullptr}, {}, {}, {});
            }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([&](GraphRecorder& r) {
              GraphRecorder other;
              r.copy(*a, other.add_input(8), gx, 8);
            }),
            StatusCode::kInvalidArgument);
}

TEST_F(HcqGraph, WrongInputsAreErrorsAndTheGraphStaysUsable) {
  GraphRecorder recorder;
  const GraphBuffer in = recorder.add_input(512), out = recorder.add_input(512);
  record_mix(recorder, *a, in, out, 0);
  recorder.copy(*a, GraphBuffer(all(z)), in, 512);
  Graph graph = recorder.finish().value();
  const auto code_of = [&](std::vector<Buffer> inputs) { return graph.replay(inputs).code(); };
  Cells w(128);
  EXPECT_EQ(code_of({all(x)}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({all(x), Buffer(y.data(), 511)}), StatusCode::kOutOfRange);
  EXPECT_EQ(code_of({all(w), Buffer(w.data() + 63, 520)}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({all(z), all(x)}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({all(x), all(z)}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({all(x), all(y)}), StatusCode::kOk);
  ASSERT_TRUE(graph.wait(20s).ok());
  EXPECT_EQ(y, Cells(64, 7));
  EXPECT_EQ(z, x);
}

}  // namespace
}  // namespace halyard::hcq
