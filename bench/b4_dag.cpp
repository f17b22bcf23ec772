// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B4: graphs of 100,000 one-item kernels, recorded once and replayed by two threads: a wavefront
// (each node of a square follows its left and its upper neighbour), a binary tree, and the graphs
// of Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel
// Runtime Performance", SC 2020), where a node follows columns of the step before.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "world.h"

namespace halyard::bench {
namespace {

constexpr std::uint32_t kRounds = 150;     // about 250 ns
constexpr std::size_t kWordsPerCell = 16;  // a cache line
constexpr unsigned kThreads = 2;           // the device's worker, and the waiting thread

// ---- Shapes: for each node the earlier nodes that it follows ---------------------------------

using Nodes = std::vector<std::uint32_t>;
using Shape = std::vector<Nodes> (*)();

std::vector<Nodes> wavefront() {
  constexpr std::uint32_t kSide = 316;
  std::vector<Nodes> after(kSide * kSide);
  for (std::uint32_t i = 0; i < after.size(); ++i) {
    if (i % kSide != 0) after[i].push_back(i - 1);
    if (i >= kSide) after[i].push_back(i - kSide);
  }
  return after;
}

std::vector<Nodes> tree() {
  std::vector<Nodes> after(100'000);
  for (std::uint32_t i = 1; i < after.size(); ++i) after[i] = {(i - 1) / 2};
  return after;
}

constexpr int kWidth = 256;
constexpr int kSteps = 391;
constexpr int kDoublings = std::bit_width(unsigned{kWidth}) - 1;

struct Columns {
  int begin = 0, end = kWidth;
};

// Nodes for `columns(step)` of each step. Each follows those columns of `before(step, column)` that
// the previous step has.
template <class OfStep, class Before>
std::vector<Nodes> by_steps(int steps, OfStep columns, Before before) {
  std::vector<Nodes> after;
  Columns last{0, 0};
  std::size_t first = 0;  // node of `last`
  for (int step = 0; step < steps; ++step) {
    const std::size_t next = after.size();
    const Columns now = columns(step);
    for (int column = now.begin; column < now.end; ++column) {
      Nodes& list = after.emplace_back();
      for (const int other : before(step, column)) {
        if (other < last.begin || other >= last.end) continue;
        list.push_back(static_cast<std::uint32_t>(first) + other - last.begin);
      }
    }
    last = now;
    first = next;
  }
  return after;
}

Columns all(int) { return {}; }

std::vector<Nodes> trivial() {
  return by_steps(kSteps, all, [](int, int) { return std::array<int, 0>(); });
}

std::vector<Nodes> stencil() {
  return by_steps(kSteps, all, [](int, int at) { return std::array{at - 1, at, at + 1}; });
}

std::vector<Nodes> fft() {
  return by_steps(kSteps, all, [](int step, int at) {
    const int distance = 1 << (step + kDoublings - 1) % kDoublings;
    return std::array{at - distance, at, at + distance};
  });
}

// "dom": the steps are the diagonals of a field of kWidth by kSteps.
std::vector<Nodes> sweep() {
  return by_steps(
      kWidth + kSteps - 1,
      [](int step) { return Columns{std::max(0, step + 1 - kSteps), std::min(kWidth, step + 1)}; },
      [](int, int at) { return std::array{at - 1, at}; });
}

// Steps double until they are full. From then on half of the nodes have two children, the others
// none.
std::vector<Nodes> tree_by_steps() {
  return by_steps(
      kSteps, [](int step) { return Columns{0, 1 << std::min(step, kDoublings)}; },
      [](int, int at) { return std::array{at / 2}; });
}

// "random_nearest": the node's own column, and each neighbour with a probability. Radius and
// probability are Task Bench's defaults.
std::vector<Nodes> random() {
  std::mt19937 bits(1);
  std::bernoulli_distribution connected(0.25);
  return by_steps(kSteps, all, [&](int, int at) {
    const int left = connected(bits) ? at - 1 : -1;
    const int right = connected(bits) ? at + 1 : -1;
    return std::array{left, at, right};
  });
}

// ---- Arms

// Every arm has its own cells. The last cell stays 0 and replaces missing predecessors.
struct Graph {
  Dag dag;
  Words cells;
  std::uint32_t rounds;
  std::size_t inputs = 2;  // of the kernel
  hal::Function function;
  std::vector<void*> pointers;
  std::vector<std::uint32_t> expected;

  std::uint32_t size() const { return static_cast<std::uint32_t>(dag.after.size()); }

  Graph(World& world, Shape shape, std::uint32_t rounds_)
      : dag{.calls = {}, .after = shape(), .before = {}},
        cells(world.device(), (dag.after.size() + 1) * kWordsPerCell),
        rounds(rounds_) {
    dag.before.resize(size());
    for (std::uint32_t i = 0; i < size(); ++i) {
      inputs = std::max(inputs, dag.after[i].size());
      for (const std::uint32_t before : dag.after[i]) dag.before[before].push_back(i);
    }
    function = world.function(inputs == 2 ? "node" : "node_of_three");
    expected.resize(size() + 1);
    for (std::uint32_t i = 0; i < size(); ++i) {
      std::uint32_t x = 1, weight = 1;
      for (const std::uint32_t cell : arguments(i)) {
        pointers.push_back(&cells[cell * kWordsPerCell]);
        x += std::exchange(weight, weight + 2) * expected[cell];  // its own is still 0
      }
      for (std::uint32_t round = 0; round < rounds; ++round) x = (x ^ x >> 15) * 1664525;
      expected[i] = x;
    }
    const hcq::Kernel kernel = World::entry(function);
    for (std::uint32_t i = 0; i < size(); ++i) {
      dag.calls.push_back({kernel, &pointers[(inputs + 1) * i], &rounds});
    }
  }

  // The cells of a node's kernel: those that it reads, and its own.
  Nodes arguments(std::uint32_t node) const {
    Nodes list = dag.after[node];
    list.resize(inputs, size());
    list.push_back(node);
    return list;
  }

  hal::CommandBuffer record(World& world) const {
    hal::Recorder recorder(world.device());
    std::vector<hal::CommandId> nodes, before;
    std::vector<hal::BindingRef> bindings;
    for (std::uint32_t i = 0; i < size(); ++i) {
      before.clear();
      for (const std::uint32_t node : dag.after[i]) before.push_back(nodes[node]);
      bindings.clear();
      for (const std::uint32_t cell : arguments(i)) {
        bindings.push_back(hal::BufferRange(cells.buffer(), cell * kWordsPerCell * 4, 4));
      }
      recorder.after(before).dispatch(function, {.groups = 1}, bindings, {rounds});
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

// Runs all calls in order, on this thread.
void call_all(const Dag& dag) {
  const Call* calls = dag.calls.data();
  asm volatile("" : "+r"(calls));
  for (std::size_t i = 0; i < dag.calls.size(); ++i) calls[i]();
}

// Runs all calls unordered, on two threads: the cost of the graph without its edges.
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
  const std::vector<Target> at_most_a_peer{{Kind::kPeer, 1}};
  const std::vector<Target> long_kernels{{Kind::kPeer, 1.05}, {Kind::kLimit, 1.15}};
  const auto row = [](std::string id, std::string measures, Shape shape,
                      std::uint32_t rounds, std::vector<Target> targets) {
    return Row{id, measures, std::move(targets),
               [=](World& world) { return dag_row(world, shape, rounds); }};
  };
  return {row("B4.wavefront",
              "100,000 one-item kernels, each after its left and upper neighbour; per kernel",
              wavefront, 0, {{Kind::kPeer, 0.9}}),
          row("B4.tree", "the same, each after its parent in a binary tree", tree, 0,
              {{Kind::kPeer, 0.6}}),
          row("B4.wavefront.250ns", "the wavefront with kernels of 250 ns", wavefront, kRounds,
              long_kernels),
          row("B4.tree.250ns", "the tree with kernels of 250 ns", tree, kRounds, long_kernels),
          row("B4.trivial", "256 columns of 391 steps, without edges; per kernel", trivial, 0,
              at_most_a_peer),
          row("B4.stencil", "each after its column and both neighbours of the step before", stencil,
              0, at_most_a_peer),
          row("B4.fft", "each after its column and those 1, 2, 4 ... 128 to both sides", fft, 0,
              at_most_a_peer),
          row("B4.sweep", "each after its column and its left one; steps are diagonals", sweep, 0,
              at_most_a_peer),
          row("B4.tree.steps", "each after half its column: half of them have two children",
              tree_by_steps, 0, at_most_a_peer),
          row("B4.random", "each after its column and, one in four, a neighbour to each side",
              random, 0, at_most_a_peer),
          row("B4.trivial.250ns", "the trivial graph with kernels of 250 ns", trivial, kRounds,
              at_most_a_peer),
          row("B4.stencil.250ns", "the stencil with kernels of 250 ns", stencil, kRounds,
              at_most_a_peer),
          row("B4.fft.250ns", "the butterfly with kernels of 250 ns", fft, kRounds, at_most_a_peer),
          row("B4.sweep.250ns", "the sweep with kernels of 250 ns", sweep, kRounds, at_most_a_peer),
          row("B4.tree.steps.250ns", "the tree by steps with kernels of 250 ns", tree_by_steps,
              kRounds, at_most_a_peer),
          row("B4.random.250ns", "the random graph with kernels of 250 ns", random, kRounds,
              at_most_a_peer)};
}

}  // namespace halyard::bench
