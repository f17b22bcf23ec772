// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <taskflow/taskflow.hpp>
#include <thread>

#include "harness.h"
#include "peers.h"

namespace halyard::bench {
namespace {

// Runs one graph. The executor's threads sleep between two runs.
struct Graph {
  tf::Executor executor{std::thread::hardware_concurrency()};
  tf::Taskflow flow;
  std::vector<tf::Task> tasks;

  void add(const Call& call) {
    tasks.push_back(flow.emplace([call] { call(); }));
  }
};

std::function<void()> chain(std::span<const Call> calls) {
  auto graph = std::make_shared<Graph>();
  for (const Call& call : calls) {
    graph->add(call);
    if (graph->tasks.size() > 1) graph->tasks[graph->tasks.size() - 2].precede(graph->tasks.back());
  }
  return [graph] { graph->executor.run(graph->flow).wait(); };
}

std::function<void()> dag_of(const Dag& dag) {
  auto graph = std::make_shared<Graph>();
  for (std::size_t i = 0; i < dag.calls.size(); ++i) {
    graph->add(dag.calls[i]);
    for (const std::uint32_t before : dag.after[i]) graph->tasks[before].precede(graph->tasks[i]);
  }
  return [graph] { graph->executor.run(graph->flow).wait(); };
}

double spawn(const Call& call, std::uint64_t count) {
  static tf::Executor executor(std::thread::hardware_concurrency());
  const double each = time_each(count, [&] {
    for (std::uint64_t i = 0; i < count; ++i) executor.silent_async([&call] { call(); });
  });
  executor.wait_for_all();
  return each;
}

}  // namespace

std::vector<TaskPeer> taskflow_peers() { return {{"Taskflow", spawn, chain, dag_of}}; }

}  // namespace halyard::bench
