// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches, graphs.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/format.h"
#include "gpu/cost_objects.h"
#include "gpu/cost_table.h"

namespace halyard::testing::cuda {
namespace {

constexpr std::size_t kCalls = 20000;
constexpr std::size_t kBurst = 128;  // below the depth at which a launch blocks

// Device time per kernel of the work that `enqueue` adds to the stream. The stream waits for a word
// until all of it is queued, which excludes the host's own time.
std::vector<double> chain_time(std::size_t kernels, const std::function<void(Stream)>& enqueue) {
  const OwnStream stream;
  const MappedWord word;
  const OwnEvent first, last;
  std::vector<double> samples;
  for (std::uint64_t turn = 1; turn <= 100; ++turn) {
    word.make_stream_wait(stream, turn);
    first.record(stream);
    enqueue(stream);
    last.record(stream);
    word.word->store(turn);
    stream.synchronize();
    if (turn > 10) samples.push_back(between(first, last) / static_cast<double>(kernels));
  }
  return samples;
}

// Both threads launch at the same time. The samples are those of the first thread.
std::vector<double> launches_beside_another_thread(const EmptyKernels& kernels) {
  std::atomic<bool> stop = false;
  std::jthread other([&] {
    check(gpu().api.set_context(gpu().context), "cuCtxSetCurrent");
    const OwnStream stream;
    while (!stop.load(std::memory_order_relaxed)) {
      for (std::size_t i = 0; i < kBurst; ++i) kernels.launch(stream);
      stream.synchronize();
    }
  });
  const OwnStream stream;
  std::vector<double> samples =
      time_each(kCalls, kBurst, [&] { kernels.launch(stream); }, [&] { stream.synchronize(); });
  stop = true;
  return samples;
}

// Launches into a stream that waits, until a call blocks; a watcher then releases the stream.
std::vector<double> depth_at_which_a_launch_blocks(const EmptyKernels& kernels) {
  constexpr std::uint64_t kMost = 1 << 16;
  const OwnStream stream;
  const MappedWord word;
  word.make_stream_wait(stream, 1);
  std::atomic<std::uint64_t> launched = 0;
  std::uint64_t depth = kMost;
  {
    std::jthread watcher([&](std::stop_token stop) {
      std::uint64_t before = ~std::uint64_t{0};
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        const std::uint64_t count = launched.load();
        if (count == before) {
          depth = count;
          break;
        }
        before = count;
      }
      word.word->store(1);
    });
    for (; launched.load() < kMost && word.word->load() == 0; ++launched) kernels.launch(stream);
  }
  stream.synchronize();
  if (depth == kMost) throw std::runtime_error(fmt::format("none up to {} launches", kMost));
  return {static_cast<double>(depth)};
}

}  // namespace

void print_launch_costs(CostTable& table) {
  const Api& api = gpu().api;
  const EmptyKernels kernels;
  const OwnStream stream;
  const auto drain = [&] { stream.synchronize(); };
  table.group("Launch");
  table.line("cuLaunchKernel, empty", "us a call",
             [&] { return time_each(kCalls, kBurst, [&] { kernels.launch(stream); }, drain); });
  table.line("cuLaunchKernel, 8 arguments", "us a call", [&] {
    std::uint64_t values[8] = {};
    void* parameters[8];
    for (std::size_t i = 0; i < 8; ++i) parameters[i] = &values[i];
    return time_each(
        kCalls, kBurst,
        [&] {
          check(api.launch(kernels.eight, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr),
                "cuLaunchKernel");
        },
        drain);
  });
  table.line("cuLaunchKernel and cuStreamSynchronize", "us both", [&] {
    return time_each(
        kCalls, kBurst,
        [&] {
          kernels.launch(stream);
          stream.synchronize();
        },
        [] {});
  });
  table.line("cuLaunchKernel while another thread launches to its own stream", "us a call",
             [&] { return launches_beside_another_thread(kernels); });
  constexpr std::size_t kChain = 500;
  table.line("chain of 500 in a stream", "us of the device per kernel", [&] {
    return chain_time(kChain, [&](Stream to) {
      for (std::size_t i = 0; i < kChain; ++i) kernels.launch(to);
    });
  });
  for (const auto& [what, shape] :
       {std::pair("chain of 500 in a graph", OwnGraph::Shape::kChain),
        std::pair("the same with programmatic edges", OwnGraph::Shape::kProgrammaticChain)}) {
    table.line(what, "us of the device per kernel", [&] {
      OwnGraph graph(kernels, kChain, shape);
      graph.instantiate();
      return chain_time(
          kChain, [&](Stream to) { check(api.launch_graph(graph.exec, to), "cuGraphLaunch"); });
    });
  }
  table.line("launches in a waiting stream before a call blocks", "launches",
             [&] { return depth_at_which_a_launch_blocks(kernels); });
}

void print_graph_costs(CostTable& table) {
  const Api& api = gpu().api;
  const EmptyKernels kernels;
  const OwnStream stream;
  table.group("Graph");
  for (const auto& [name, shape] : {std::pair("chain", OwnGraph::Shape::kChain),
                                    std::pair("layers of 4", OwnGraph::Shape::kLayers)}) {
    for (const std::size_t count : {1, 10, 100, 1000, 4096}) {
      const double nodes = static_cast<double>(count);
      const std::size_t turns = count > 500 ? 20 : 200;
      const auto per_node = [&](std::vector<double> samples) {
        for (double& sample : samples) sample /= nodes;
        return samples;
      };
      table.line(fmt::format("cuGraphLaunch, {} of {}", name, count), "us a call", [&] {
        OwnGraph graph(kernels, count, shape);
        graph.instantiate();
        return time_each(
            10 * turns, 1, [&] { check(api.launch_graph(graph.exec, stream), "cuGraphLaunch"); },
            [&] { stream.synchronize(); });
      });
      table.line(fmt::format("cuGraphInstantiate, {} of {}", name, count), "us a node", [&] {
        const OwnGraph graph(kernels, count, shape);
        GraphExec exec = nullptr;
        return per_node(time_each(
            turns, 1, [&] { check(api.instantiate(&exec, graph.graph, 0), "cuGraphInstantiate"); },
            [&] { check(api.destroy_exec(exec), "cuGraphExecDestroy"); }));
      });
      table.line(fmt::format("cuGraphExecUpdate, {} of {}", name, count), "us a node", [&] {
        OwnGraph graph(kernels, count, shape), same(kernels, count, shape);
        graph.instantiate();
        return per_node(time_each(
            turns, 1,
            [&] {
              GraphUpdateResult result = {};
              check(api.update_graph(graph.exec, same.graph, &result), "cuGraphExecUpdate");
            },
            [] {}));
      });
      table.line(fmt::format("cuGraphExecKernelNodeSetParams, {} of {}", name, count), "us a node",
                 [&] {
                   OwnGraph graph(kernels, count, shape);
                   graph.instantiate();
                   const KernelNodeParams params = {kernels.empty, {2, 1, 1}, {1, 1, 1}, 0,
                                                    nullptr,       nullptr,   nullptr,   nullptr};
                   std::size_t next = 0;
                   return time_each(
                       2000, 100,
                       [&] {
                         check(api.set_node_params(graph.exec, graph.nodes[next], &params),
                               "cuGraphExecKernelNodeSetParams");
                         next = (next + 1) % count;
                       },
                       [] {});
                 });
    }
  }
}

}  // namespace halyard::testing::cuda
