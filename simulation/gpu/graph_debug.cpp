// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a graph in the language of Graphviz.
#include <cstdio>

#include "simulation/gpu/graph.h"
#include "simulation/gpu/graph_structure.h"
#include "simulation/gpu/module.h"

namespace halyard::inline v0::sim::gpu {
namespace {

constexpr unsigned kMostFlags = 0xffff;

constexpr Result kOperatingSystem = static_cast<Result>(304);

const char* name_of(NodeType type) {
  switch (type) {
    case kKernelNode:
      return "KERNEL";
    case kCopyNode:
      return "MEMCPY";
    case kFillNode:
      return "MEMSET";
    case kHostNode:
      return "HOST";
    case kGraphNode:
      return "GRAPH";
    case kEmptyNode:
      return "EMPTY";
    case kWaitEventNode:
      return "EVENT_WAIT";
    case kRecordEventNode:
      return "EVENT_RECORD";
    case kAllocNode:
      return "MEM_ALLOC";
    case kFreeNode:
      return "MEM_FREE";
    case kMemOpNode:
      return "BATCH_MEM_OP";
  }
  return "";
}

std::string label_of(const NodeState& node) {
  std::string label = name_of(type_of(node.work));
  const auto add = [&](const std::string& text) { label += "\\n" + text; };
  const auto add_address = [&](DevicePointer address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    add(text);
  };
  if (const auto* kernel = std::get_if<KernelWork>(&node.work)) {
    add(kernel->function->info().name);
    const auto extent = [](const unsigned* size) {
      return std::to_string(size[0]) + "," + std::to_string(size[1]) + "," +
             std::to_string(size[2]);
    };
    add("<<<{" + extent(kernel->grid) + "},{" + extent(kernel->block) + "}," +
        std::to_string(kernel->shared_bytes) + ">>>");
  } else if (const auto* fill = std::get_if<FillWork>(&node.work)) {
    add_address(fill->fill.dst);
    add(std::to_string(fill->fill.width) + " x " + std::to_string(fill->fill.height) + " of " +
        std::to_string(fill->fill.element_size));
  } else if (const auto* copy = std::get_if<CopyWork>(&node.work)) {
    add(std::to_string(copy->copy.width) + " x " + std::to_string(copy->copy.height) + " x " +
        std::to_string(copy->copy.depth));
  } else if (const auto* allocation = std::get_if<AllocNodeWork>(&node.work)) {
    add_address(allocation->memory->address);
    add(std::to_string(allocation->size));
  } else if (const auto* free = std::get_if<FreeNodeWork>(&node.work)) {
    add_address(free->address);
  }
  return label;
}

void print(std::FILE* file, const GraphState& graph, int& graphs) {
  const int number = graphs++;
  std::fprintf(file, "subgraph cluster_%d {\nlabel=\"graph_%d\" graph[style=\"dashed\"];\n", number,
               number);
  for (const auto& node : graph.nodes) {
    std::fprintf(file, "\"node_%llu\" [shape=\"rectangle\" label=\"%s\"];\n",
                 static_cast<unsigned long long>(node->serial), label_of(*node).c_str());
  }
  for (const auto& node : graph.nodes) {
    for (const NodeState* before : node->dependencies) {
      std::fprintf(file, "\"node_%llu\" -> \"node_%llu\";\n",
                   static_cast<unsigned long long>(before->serial),
                   static_cast<unsigned long long>(node->serial));
    }
    if (const auto* child = std::get_if<GraphWork>(&node->work)) {
      print(file, *child->graph, graphs);
    }
  }
  std::fprintf(file, "}\n");
}

}  // namespace

Result print_graph(Graph handle, const char* path, unsigned flags) {
  const GraphState* const graph = resolve(handle);
  HALYARD_GPU_REQUIRE(graph != nullptr && path != nullptr && flags <= kMostFlags, kInvalidValue);
  std::FILE* const file = std::fopen(path, "w");
  HALYARD_GPU_REQUIRE(file != nullptr, kOperatingSystem);
  int graphs = 0;
  std::fprintf(file, "digraph dot {\n");
  print(file, *graph, graphs);
  std::fprintf(file, "}\n");
  return std::fclose(file) == 0 ? kSuccess : kOperatingSystem;
}

}  // namespace halyard::inline v0::sim::gpu
