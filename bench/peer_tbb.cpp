// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <deque>

#include "harness.h"
#include "peers.h"

namespace halyard::bench {
namespace {

namespace flow = oneapi::tbb::flow;

std::function<void()> flow_chain(std::span<const Call> calls) {
  using Node = flow::continue_node<flow::continue_msg>;
  struct Chain {
    flow::graph graph;
    std::deque<Node> nodes;
  };
  auto chain = std::make_shared<Chain>();
  for (const Call& call : calls) {
    chain->nodes.emplace_back(chain->graph, [call](const flow::continue_msg&) { call(); });
    if (chain->nodes.size() > 1) {
      flow::make_edge(chain->nodes[chain->nodes.size() - 2], chain->nodes.back());
    }
  }
  return [chain] {
    chain->nodes.front().try_put(flow::continue_msg());
    chain->graph.wait_for_all();
  };
}

struct Step {
  oneapi::tbb::task_group* group;
  const Call* next;
  const Call* end;
  void operator()() const {
    (*next)();
    if (next + 1 != end) group->run(Step{group, next + 1, end});
  }
};

std::function<void()> task_chain(std::span<const Call> calls) {
  auto group = std::make_shared<oneapi::tbb::task_group>();
  return [group, calls] {
    group->run(Step{group.get(), calls.data(), calls.data() + calls.size()});
    group->wait();
  };
}

std::function<void()> flow_dag(const Dag& dag) {
  using Node = flow::continue_node<flow::continue_msg>;
  struct Graph {
    flow::graph graph;
    std::deque<Node> nodes;
    std::vector<Node*> roots;
  };
  auto graph = std::make_shared<Graph>();
  for (std::size_t i = 0; i < dag.calls.size(); ++i) {
    graph->nodes.emplace_back(graph->graph,
                              [call = dag.calls[i]](const flow::continue_msg&) { call(); });
    for (const std::uint32_t before : dag.after[i]) {
      flow::make_edge(graph->nodes[before], graph->nodes.back());
    }
    if (dag.after[i].empty()) graph->roots.push_back(&graph->nodes.back());
  }
  return [graph] {
    for (Node* root : graph->roots) root->try_put(flow::continue_msg());
    graph->graph.wait_for_all();
  };
}

// Tasks that count their predecessors. One ready successor runs at once.
struct Tasks {
  explicit Tasks(const Dag& of) : dag(of), pending(of.calls.size()) {}
  void run(std::uint32_t node) {
    for (;;) {
      dag.calls[node]();
      std::uint32_t next = kNone;
      for (const std::uint32_t after : dag.before[node]) {
        if (pending[after].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        pending[after].store(static_cast<std::uint32_t>(dag.after[after].size()),
                             std::memory_order_relaxed);
        if (next == kNone) {
          next = after;
        } else {
          group.run([this, after] { run(after); });
        }
      }
      if (next == kNone) return;
      node = next;
    }
  }
  static constexpr std::uint32_t kNone = ~0u;
  const Dag& dag;
  std::vector<std::atomic<std::uint32_t>> pending;
  oneapi::tbb::task_group group;
};

std::function<void()> task_dag(const Dag& dag) {
  auto tasks = std::make_shared<Tasks>(dag);
  for (std::size_t i = 0; i < dag.calls.size(); ++i) {
    tasks->pending[i] = static_cast<std::uint32_t>(dag.after[i].size());
  }
  return [tasks] {
    for (std::uint32_t i = 0; i < tasks->dag.calls.size(); ++i) {
      if (tasks->dag.after[i].empty())
        tasks->group.run([tasks = tasks.get(), i] { tasks->run(i); });
    }
    tasks->group.wait();
  };
}

double spawn(const Call& call, std::uint64_t count) {
  oneapi::tbb::task_group group;
  const double each = time_each(count, [&] {
    for (std::uint64_t i = 0; i < count; ++i) group.run([&call] { call(); });
  });
  group.wait();
  return each;
}

}  // namespace

std::vector<TaskPeer> tbb_peers() {
  return {{"TBB flow", {}, flow_chain, flow_dag}, {"TBB task_group", spawn, task_chain, task_dag}};
}

}  // namespace halyard::bench
