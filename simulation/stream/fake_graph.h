// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs of the fake library. A launch puts the nodes into the stream one by one: of those whose
// dependencies allow it, always the latest first, so that a dependency that is missing shows.
//
// As CUDA's driver API says, an executable graph runs once at a time, a changed node applies to
// later launches, and graphs are not thread-safe: two threads in one at a time are a violation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "simulation/stream/fake_library.h"

namespace halyard::inline v0::stream::fake {

class Graph;
class ExecutableGraph;
struct GraphNode {
  Graph* graph = nullptr;
  std::uint32_t index = 0;
};

// The work of a node. Calls that take a NodeWork copy it.
struct NodeWork {
  enum class Kind : std::uint8_t { kEmpty, kFill, kCopy, kLaunch };
  Kind kind = Kind::kEmpty;
  Address target = 0;
  Address source = 0;
  std::uint64_t size = 0;
  std::uint32_t pattern = 0;
  std::uint32_t pattern_size = 0;
  Function function;
  std::uint32_t groups[3] = {};
  std::span<const std::byte> arguments;
};

Code create_graph(Graph*& graph) noexcept;
Code destroy(Graph* graph) noexcept;
// kInvalidValue: no bytes, no groups, or a dependency that is twice there or of another graph.
Code add_node(Graph* graph, std::span<const GraphNode> behind, GraphNode& node,
              const NodeWork& work) noexcept;
// In the current context.
Code instantiate(Graph* graph, ExecutableGraph*& executable) noexcept;
// kInvalidValue: as add_node(), another kind of node, or a fill of another size. CUDA may refuse
// that, and this always does.
Code set_node(ExecutableGraph* executable, GraphNode node, const NodeWork& work) noexcept;
Code launch_graph(ExecutableGraph* executable, Stream* stream) noexcept;
Code destroy(ExecutableGraph* executable) noexcept;

}  // namespace halyard::inline v0::stream::fake
