// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_group.h>

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
  return {{"TBB flow", {}, flow_chain}, {"TBB task_group", spawn, task_chain}};
}

}  // namespace halyard::bench
