// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/stream/fake_graph.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "base/array.h"
#include "base/atomic.h"
#include "simulation/stream/fake_stream.h"

namespace halyard::inline v0::stream::fake {
namespace {

struct Node {
  NodeWork work;                     // without its arguments
  base::Array<std::byte> arguments;  // of a launch
  base::Array<std::uint32_t> behind;
};

Code assign(Node& node, const NodeWork& work) noexcept {
  using Kind = NodeWork::Kind;
  const bool moves = work.kind == Kind::kFill || work.kind == Kind::kCopy;
  if (moves && work.size == 0) return Code::kInvalidValue;
  if (work.kind == Kind::kFill &&
      (work.target % work.pattern_size != 0 || work.size % work.pattern_size != 0)) {
    return Code::kInvalidValue;
  }
  if (work.kind == Kind::kLaunch && std::ranges::find(work.groups, 0u) != std::end(work.groups)) {
    return Code::kInvalidValue;
  }
  if (!node.arguments.grow(work.arguments.size())) return Code::kOutOfMemory;
  node.arguments.shrink(work.arguments.size());
  std::ranges::copy(work.arguments, node.arguments.begin());
  node.work = work;
  node.work.arguments = {};
  return Code::kSuccess;
}

// A call with the graph. Only one may run at a time.
class Turn {
 public:
  explicit Turn(base::Atomic<bool>& taken) noexcept : taken_(taken) {
    if (taken_.exchange(true)) note_violation("two threads use one graph at a time");
  }
  ~Turn() { taken_.store(false); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  base::Atomic<bool>& taken_;
};

}  // namespace

class Graph {
 public:
  base::Atomic<bool> taken{false};
  base::Array<Node> nodes;
};

class ExecutableGraph {
 public:
  base::Atomic<bool> taken{false};
  Graph* graph = nullptr;  // only compared: it may be destroyed
  base::Array<Node> nodes;
  base::Array<std::uint32_t> order;  // of the nodes, in a launch
  Event* end = nullptr;              // of its latest launch
};

namespace {

// Returns false if out of memory.
bool find_order(const base::Array<Node>& nodes, base::Array<std::uint32_t>& order) noexcept {
  const auto count = static_cast<std::uint32_t>(nodes.size());
  base::Array<std::uint32_t> left, firsts, after, ready;  // a heap
  std::size_t edges = 0;
  for (const Node& node : nodes) edges += node.behind.size();
  if (!left.grow(count) || !firsts.grow(count + 2) || !after.grow(edges) ||
      !ready.make_room(count) || !order.make_room(count)) {
    return false;
  }
  for (const Node& node : nodes) {
    for (const std::uint32_t before : node.behind) ++firsts[before + 2];
  }
  for (std::uint32_t i = 2; i < count + 2; ++i) firsts[i] += firsts[i - 1];
  for (std::uint32_t i = 0; i < count; ++i) {
    left[i] = static_cast<std::uint32_t>(nodes[i].behind.size());
    for (const std::uint32_t before : nodes[i].behind) after[firsts[before + 1]++] = i;
    if (left[i] == 0) (void)ready.push_back(i);
  }
  std::ranges::make_heap(ready);
  while (!ready.empty()) {
    std::ranges::pop_heap(ready);
    const std::uint32_t latest = ready.back();
    ready.shrink(ready.size() - 1);
    (void)order.push_back(latest);  // there is room
    for (std::uint32_t i = firsts[latest]; i < firsts[latest + 1]; ++i) {
      if (--left[after[i]] != 0) continue;
      (void)ready.push_back(after[i]);
      std::ranges::push_heap(ready);
    }
  }
  return true;
}

}  // namespace

Code create_graph(Graph*& graph) noexcept {
  graph = new (std::nothrow) Graph;
  return graph != nullptr ? Code::kSuccess : Code::kOutOfMemory;
}

Code destroy(Graph* graph) noexcept {
  delete graph;
  return Code::kSuccess;
}

Code add_node(Graph* graph, std::span<const GraphNode> behind, GraphNode& node,
              const NodeWork& work) noexcept {
  const Turn turn(graph->taken);
  Node made;
  const auto index = static_cast<std::uint32_t>(graph->nodes.size());
  for (const GraphNode& before : behind) {
    if (before.graph != graph || before.index >= index ||
        std::ranges::find(made.behind, before.index) != made.behind.end()) {
      note_violation("a dependency that a node cannot have");
      return Code::kInvalidValue;
    }
    if (!made.behind.push_back(before.index)) return Code::kOutOfMemory;
  }
  if (const Code code = assign(made, work); code != Code::kSuccess) return code;
  if (!graph->nodes.push_back(std::move(made))) return Code::kOutOfMemory;
  node = {graph, index};
  return Code::kSuccess;
}

Code instantiate(Graph* graph, ExecutableGraph*& executable) noexcept {
  const Turn turn(graph->taken);
  if (const Code code = enter_unsafe(); code != Code::kSuccess) return code;
  std::unique_ptr<ExecutableGraph> made(new (std::nothrow) ExecutableGraph);
  const std::size_t count = graph->nodes.size();
  if (made == nullptr || !made->nodes.make_room(count)) return Code::kOutOfMemory;
  for (const Node& node : graph->nodes) {
    Node copy;
    copy.work = node.work;
    if (!copy.arguments.grow(node.arguments.size()) || !copy.behind.grow(node.behind.size())) {
      return Code::kOutOfMemory;
    }
    std::ranges::copy(node.arguments, copy.arguments.begin());
    std::ranges::copy(node.behind, copy.behind.begin());
    (void)made->nodes.push_back(std::move(copy));  // there is room
  }
  if (!find_order(made->nodes, made->order)) return Code::kOutOfMemory;
  if (const Code code = create_event(made->end); code != Code::kSuccess) return code;
  made->graph = graph;
  executable = made.release();
  return Code::kSuccess;
}

Code set_node(ExecutableGraph* executable, GraphNode node, const NodeWork& work) noexcept {
  const Turn turn(executable->taken);
  if (node.graph != executable->graph) {
    note_violation("a node of another graph");
    return Code::kInvalidValue;
  }
  Node& its = executable->nodes[node.index];
  if (its.work.kind != work.kind) {
    note_violation("a node cannot become one of another kind");
    return Code::kInvalidValue;
  }
  if (work.kind == NodeWork::Kind::kFill && its.work.size != work.size) return Code::kInvalidValue;
  return assign(its, work);
}

// If memory runs out, only a part of the graph may be in the stream, unlike in CUDA; no test causes
// that.
Code launch_graph(ExecutableGraph* executable, Stream* stream) noexcept {
  const Turn turn(executable->taken);
  if (const Code code = wait(stream, executable->end); code != Code::kSuccess) return code;
  for (const std::uint32_t index : executable->order) {
    const Node& node = executable->nodes[index];
    const NodeWork& work = node.work;
    Code code = Code::kSuccess;
    switch (work.kind) {
      case NodeWork::Kind::kEmpty:
        break;
      case NodeWork::Kind::kFill:
        code = fill_async(work.target, work.pattern, work.pattern_size, work.size, stream);
        break;
      case NodeWork::Kind::kCopy:
        code = copy_async(work.target, work.source, work.size, stream);
        break;
      case NodeWork::Kind::kLaunch:
        code = launch_kernel(work.function, work.groups, node.arguments.data(),
                             node.arguments.size(), stream);
        break;
    }
    if (code != Code::kSuccess) return code;
  }
  return record(executable->end, stream);
}

Code destroy(ExecutableGraph* executable) noexcept {
  (void)destroy(executable->end);
  delete executable;
  return Code::kSuccess;
}

}  // namespace halyard::inline v0::stream::fake
