// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B4: graphs of 100,000 one-item kernels, recorded once and replayed by two threads: a wavefront
// (each node of a square follows its left and its upper neighbour) and a binary tree.
#include <memory>
#include <thread>

#include "world.h"

namespace halyard::bench {
namespace {

constexpr std::uint32_t kSide = 316;
constexpr std::uint32_t kTreeNodes = 100'000;
constexpr std::uint32_t kRounds = 150;     // about 250 ns
constexpr std::size_t kWordsPerCell = 16;  // a cache line
constexpr unsigned kThreads = 2;           // the worker of the device, and who waits

enum class Shape { kWavefront, kTree };

// Every arm has its own cells. The last one stays 0 and stands for a missing predecessor.
struct Graph {
  Words cells;
  std::uint32_t rounds;
  std::vector<void*> pointers;  // three for each node
  Dag dag;
  std::vector<std::uint32_t> expected;

  std::uint32_t size() const { return static_cast<std::uint32_t>(dag.after.size()); }
  std::uint32_t nothing() const { return size(); }

  Graph(World& world, Shape shape, std::uint32_t rounds_)
      : cells(world.device(), (std::max(kSide * kSide, kTreeNodes) + 1) * kWordsPerCell),
        rounds(rounds_) {
    dag.after.resize(shape == Shape::kTree ? kTreeNodes : kSide * kSide);
    dag.before.resize(size());
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (shape == Shape::kTree && i != 0) dag.after[i] = {(i - 1) / 2};
      if (shape == Shape::kWavefront && i % kSide != 0) dag.after[i].push_back(i - 1);
      if (shape == Shape::kWavefront && i >= kSide) dag.after[i].push_back(i - kSide);
      for (const std::uint32_t before : dag.after[i]) dag.before[before].push_back(i);
    }
    const hcq::Kernel kernel = World::entry(world.function("node"));
    for (std::uint32_t i = 0; i < size(); ++i) {
      const auto [left, right] = inputs(i);
      for (const std::uint32_t cell : {left, right, i}) {
        pointers.push_back(&cells[cell * kWordsPerCell]);
      }
      const auto value = [&](std::uint32_t of) { return of == nothing() ? 0 : expected[of]; };
      std::uint32_t x = value(left) + 3 * value(right) + 1;
      for (std::uint32_t round = 0; round < rounds; ++round) x = (x ^ x >> 15) * 1664525;
      expected.push_back(x);
    }
    for (std::uint32_t i = 0; i < size(); ++i) {
      dag.calls.push_back({kernel, &pointers[3 * i], &rounds});
    }
  }

  std::pair<std::uint32_t, std::uint32_t> inputs(std::uint32_t node) const {
    const auto& after = dag.after[node];
    return {after.empty() ? nothing() : after[0], after.size() < 2 ? nothing() : after[1]};
  }

  hal::CommandBuffer record(World& world) const {
    const hal::Function function = world.function("node");
    const auto cell = [&](std::uint32_t of) {
      return hal::BufferRange(cells.buffer(), of * kWordsPerCell * 4, 4);
    };
    hal::Recorder recorder(world.device());
    std::vector<hal::CommandId> nodes, before;
    for (std::uint32_t i = 0; i < size(); ++i) {
      const auto [left, right] = inputs(i);
      before.clear();
      for (const std::uint32_t node : dag.after[i]) before.push_back(nodes[node]);
      recorder.after(before).dispatch(function, {.groups = 1}, {cell(left), cell(right), cell(i)},
                                      {rounds});
      nodes.push_back(recorder.last());
    }
    return recorder.finish().value();
  }

  template <class F>
  Sample replay(int count, F&& run, bool check_results = true) {
    Sample sample;
    for (int turn = 0; turn < count; ++turn) {
      for (std::uint32_t i = 0; i < size(); ++i) cells[i * kWordsPerCell] = ~0u;
      sample.times.push_back(time_each(size(), run));
      for (std::uint32_t i = 0; i < size() && check_results; ++i) {
        verify(cells[i * kWordsPerCell] == expected[i], "a graph of kernels");
      }
    }
    return sample;
  }
};

// All calls in the order of their numbers, on this thread.
void call_all(const Dag& dag) {
  const Call* calls = dag.calls.data();
  asm volatile("" : "+r"(calls));
  for (std::size_t i = 0; i < dag.calls.size(); ++i) calls[i]();
}

// All calls in no order, on two threads: what the graph would cost without its edges.
void call_halves(const Dag& dag) {
  const std::size_t half = dag.calls.size() / kThreads;
  std::jthread other([&] {
    for (std::size_t i = 0; i < half; ++i) dag.calls[i]();
  });
  for (std::size_t i = half; i < dag.calls.size(); ++i) dag.calls[i]();
}

Arms dag_row(World& world, Shape shape, std::uint32_t rounds) {
  const auto fresh = [&] { return std::make_shared<Graph>(world, shape, rounds); };
  const int count = world.turns(rounds == 0 ? 10 : 2);

  auto graph = fresh();
  const Arm halyard{
      "halyard: execute_and_wait",
      [graph, commands = graph->record(world), queue = world.device().queue(), count] {
        Sample sample = graph->replay(count, [&] { check(queue.execute_and_wait(commands, {})); });
        const double serial = median(graph->replay(1, [&] { call_all(graph->dag); }).times);
        sample.metrics["efficiency"] = serial / kThreads / median(sample.times);
        return sample;
      }};
  const Arm limit =
      rounds == 0
          ? Arm{"call loop, one thread",
                [own = fresh(), count] { return own->replay(count, [&] { call_all(own->dag); }); }}
          : Arm{"calls without edges, two threads", [own = fresh(), count] {
                  return own->replay(count, [&] { call_halves(own->dag); }, false);
                }};
  std::vector<Arm> peers;
  for (const TaskPeer& peer : world.task_peers()) {
    if (!peer.dag) continue;
    auto own = fresh();
    peers.push_back({peer.name, [own, replay = peer.dag(own->dag), count] {
                       return own->replay(count, replay);
                     }});
  }
  return {halyard, limit, std::move(peers)};
}

}  // namespace

std::vector<Row> dag_rows() {
  using Kind = Target::Kind;
  const auto row = [](Shape shape, std::uint32_t rounds) {
    return [=](World& world) { return dag_row(world, shape, rounds); };
  };
  return {{"B4.wavefront",
           "100,000 one-item kernels, each after its left and upper neighbour; per kernel",
           {{Kind::kPeer, 0.9}},
           row(Shape::kWavefront, 0)},
          {"B4.tree",
           "the same, each after its parent in a binary tree",
           {{Kind::kPeer, 0.6}},
           row(Shape::kTree, 0)},
          {"B4.wavefront.250ns",
           "the wavefront with kernels of 250 ns",
           {{Kind::kPeer, 1.05}, {Kind::kLimit, 1.15}},
           row(Shape::kWavefront, kRounds)},
          {"B4.tree.250ns",
           "the tree with kernels of 250 ns",
           {{Kind::kPeer, 1.05}, {Kind::kLimit, 1.15}},
           row(Shape::kTree, kRounds)}};
}

}  // namespace halyard::bench
