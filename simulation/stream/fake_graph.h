// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs of the fake library. A launch puts the nodes into the stream one by one, always the latest
// of the ready nodes first, so that a missing dependency shows.
//
// As in CUDA's driver API, launches of an executable graph do not overlap, a changed node applies
// to later launches, and graphs are not thread-safe: concurrent use by two threads is a violation.
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
// Returns kInvalidValue for no bytes, no groups, or a dependency that is a duplicate or of another
// graph.
Code add_node(Graph* graph, std::span<const GraphNode> behind, GraphNode& node,
              const NodeWork& work) noexcept;
// Instantiates in the current context.
Code instantiate(Graph* graph, ExecutableGraph*& executable) noexcept;
// Returns kInvalidValue as add_node() does, and for another kind of node or a fill of another size,
// which CUDA may refuse.
Code set_node(ExecutableGraph* executable, GraphNode node, const NodeWork& work) noexcept;
Code launch_graph(ExecutableGraph* executable, Stream* stream) noexcept;
Code destroy(ExecutableGraph* executable) noexcept;

}  // namespace halyard::inline v0::stream::fake
