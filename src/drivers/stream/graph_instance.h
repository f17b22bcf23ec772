// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GraphInstance: the executable graph of a recording for one lane. Its launches run one after
// another, which costs nothing, since the launches of a lane do so anyway. Only the lane's issuer
// uses it, so two threads never use it at once.
//
//     first replay      build: nodes, dependencies, instantiate, with the slots' addresses
//     next replays      update: new parameters for the nodes whose slots (memory or numbers) differ
//                       from its last replay; launches in flight keep theirs. Other memory at the
//                       same address also differs: cuGraphLaunch crashed (driver 580, H200) if a
//                       copy named memory that had been freed, whatever lay at its address then
//     changes that no   build again: the length of a fill that the library does not take, a slot
//     update expresses  that becomes or stops being empty, memory of another kind
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "base/array.h"
#include "base/format.h"
#include "drivers/stream/api.h"
#include "drivers/stream/context.h"
#include "drivers/stream/graph_plan.h"
#include "drivers/stream/native_command.h"
#include "drivers/stream/slot_uses.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

// The data that all instances of a recording share.
struct GraphShape {
  const hal::RecordedCommands& recording;
  GraphPlan plan;
  SlotUses uses;
};

template <GraphApi Api>
class GraphInstance {
 public:
  enum class Update : std::uint8_t { kDone, kMustBuild };

  GraphInstance() noexcept = default;
  GraphInstance(const GraphInstance&) = delete;
  GraphInstance& operator=(const GraphInstance&) = delete;

  bool is_built() const noexcept { return is_built_; }
  typename Api::ExecutableGraph executable() const noexcept { return executable_; }

  // Returns the library's errors and kResourceExhausted; then nothing is built.
  Status build(const Api& api, const GraphShape& shape, const hal::BoundRange* table,
               Arguments& arguments) noexcept {
    const ScopedCaptureMode relaxed(api);
    destroy(api);
    const Status status = try_build(api, shape, table, arguments);
    if (!status.ok()) destroy(api);
    return status;
  }

  // Updates the executable graph to `table`, and adds the number of changed nodes to `updated`.
  // After kMustBuild only some nodes may be changed. The only error is kDeviceLost. Precondition:
  // is_built().
  Result<Update> update(const Api& api, const GraphShape& shape, const hal::BoundRange* table,
                        Arguments& arguments, std::uint32_t& updated) noexcept {
    ++replay_;
    for (const std::uint32_t slot : shape.uses.slots()) {
      const Bound now = bound(table[slot]);
      Bound& known = bounds_[slot];
      if (now == known) continue;
      const bool moved = now.address != known.address;
      known = now;
      for (const std::uint32_t index : shape.uses.nodes_of(slot)) {
        Node& node = nodes_[index];
        const hal::Command& command = shape.recording.commands[shape.plan.nodes()[index].command];
        // A kernel gets only the address, or the number, as bytes.
        if (!moved && command.kind == hal::CommandKind::kDispatch) continue;
        if (node.updated_in == replay_) continue;
        node.updated_in = replay_;
        if constexpr (requires { api.updates_graphs; }) {
          if (!api.updates_graphs) return Update::kMustBuild;
        }
        bool does_work = true;
        const Status status =
            put_native<Api>(command, table, arguments, Setter{api, executable_, node, does_work});
        if (status.code() == StatusCode::kDeviceLost) return status;
        if (!status.ok() || does_work == node.is_empty) return Update::kMustBuild;
        updated += does_work ? 1 : 0;
      }
    }
    return Update::kDone;
  }

  void destroy(const Api& api) noexcept {
    is_built_ = false;
    if (has_executable_) api.destroy(executable_);
    if (has_graph_) api.destroy(graph_);
    has_executable_ = has_graph_ = false;
  }

 private:
  struct Node {
    typename Api::GraphNode handle{};
    bool is_empty = false;  // the command had no work when it was built
    std::uint64_t updated_in = 0;
    std::unique_ptr<std::byte[]> arguments;  // where graphs keep them
  };

  // Copies the arguments of a kernel to memory that lives as long as its node, for an Api with
  // kGraphsKeepArguments. Returns an empty span if there are no arguments or no memory.
  static std::span<const std::byte> keep(Node& node,
                                         std::span<const std::byte> arguments) noexcept {
    if constexpr (requires { Api::kGraphsKeepArguments; }) {
      if (arguments.empty()) return arguments;
      if (node.arguments == nullptr) {
        node.arguments.reset(new (std::nothrow) std::byte[arguments.size()]);
      }
      if (node.arguments == nullptr) return {};
      std::memcpy(node.arguments.get(), arguments.data(), arguments.size());
      return {node.arguments.get(), arguments.size()};
    }
    return arguments;
  }
  // The value of a slot in the executable graph. For a number, `address` holds its bits.
  struct Bound {
    std::uint64_t serial = 0;  // of the memory
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    friend bool operator==(const Bound&, const Bound&) noexcept = default;
  };
  using Nodes = std::span<const typename Api::GraphNode>;

  // Adds the native command as a node.
  struct Adder {
    const Api& api;
    typename Api::Graph graph;
    Nodes behind;
    Node& node;

    Status nothing() noexcept {
      node.is_empty = true;
      return api.add_empty(graph, behind, node.handle);
    }
    Status fill(std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                std::uint64_t size) noexcept {
      return api.add_fill(graph, behind, node.handle, target, pattern, pattern_size, size);
    }
    Status copy(std::uint64_t target, std::uint64_t source, std::uint64_t size) noexcept {
      return api.add_copy(graph, behind, node.handle, target, source, size);
    }
    Status copy_in(std::uint64_t target, const std::byte* source, std::uint64_t size) noexcept {
      return copy(target, reinterpret_cast<std::uintptr_t>(source), size);
    }
    Status launch(const typename Api::Function& function, const std::uint32_t (&groups)[3],
                  std::span<const std::byte> arguments) noexcept {
      const std::span<const std::byte> kept = keep(node, arguments);
      if (kept.size() != arguments.size()) return no_memory();
      return api.add_launch(graph, behind, node.handle, function, groups, kept);
    }
    Status launch_indirect(const typename Api::Function&, std::uint64_t,
                           std::span<const std::byte>) noexcept {
      return no_indirect();
    }
  };

  // Sets the parameters of a node, unless it has to become another kind of node.
  struct Setter {
    const Api& api;
    typename Api::ExecutableGraph executable;
    Node& node;
    bool& does_work;

    Status nothing() noexcept { return does_work = false, Status(); }
    Status fill(std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                std::uint64_t size) noexcept {
      if (node.is_empty) return {};
      return api.set_fill(executable, node.handle, target, pattern, pattern_size, size);
    }
    Status copy(std::uint64_t target, std::uint64_t source, std::uint64_t size) noexcept {
      return node.is_empty ? Status() : api.set_copy(executable, node.handle, target, source, size);
    }
    Status copy_in(std::uint64_t target, const std::byte* source, std::uint64_t size) noexcept {
      return copy(target, reinterpret_cast<std::uintptr_t>(source), size);
    }
    Status launch(const typename Api::Function& function, const std::uint32_t (&groups)[3],
                  std::span<const std::byte> arguments) noexcept {
      if (node.is_empty) return {};
      return api.set_launch(executable, node.handle, function, groups, keep(node, arguments));
    }
    Status launch_indirect(const typename Api::Function&, std::uint64_t,
                           std::span<const std::byte>) noexcept {
      return no_indirect();
    }
  };

  static Status no_indirect() {
    return Status(StatusCode::kUnimplemented, "no node of a graph reads its groups from memory");
  }

  static Status no_memory() {
    return error(StatusCode::kResourceExhausted, "{}: no memory for a graph", Api::kDriver);
  }

  static Bound bound(const hal::BoundRange& range) noexcept {
    if (range.memory == nullptr) return {.address = range.offset};
    return {range.memory->root().serial(), address_of(range), range.length};
  }

  Status try_build(const Api& api, const GraphShape& shape, const hal::BoundRange* table,
                   Arguments& arguments) noexcept {
    const std::span<const GraphPlan::Node> nodes = shape.plan.nodes();
    nodes_.shrink(0);
    if (!nodes_.grow(nodes.size()) || !bounds_.grow(shape.recording.slot_count) ||
        !behind_.grow(shape.plan.most_dependencies())) {
      return no_memory();
    }
    for (const std::uint32_t slot : shape.uses.slots()) bounds_[slot] = bound(table[slot]);
    HALYARD_RETURN_IF_ERROR(api.create_graph(graph_));
    has_graph_ = true;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const std::span<const std::uint32_t> dependencies = shape.plan.dependencies(nodes[i]);
      for (std::uint32_t k = 0; k < dependencies.size(); ++k) {
        behind_[k] = nodes_[dependencies[k]].handle;
      }
      Adder adder{api, graph_, Nodes(behind_.data(), dependencies.size()), nodes_[i]};
      HALYARD_RETURN_IF_ERROR(nodes[i].command == GraphPlan::kJoin
                                  ? adder.nothing()
                                  : put_native<Api>(shape.recording.commands[nodes[i].command],
                                                    table, arguments, adder));
    }
    HALYARD_RETURN_IF_ERROR(api.instantiate(graph_, executable_));
    has_executable_ = is_built_ = true;
    return {};
  }

  typename Api::Graph graph_{};
  typename Api::ExecutableGraph executable_{};
  bool has_graph_ = false;
  bool has_executable_ = false;
  bool is_built_ = false;
  std::uint64_t replay_ = 0;
  base::Array<Node> nodes_;                      // by node of the plan
  base::Array<Bound> bounds_;                    // by slot
  base::Array<typename Api::GraphNode> behind_;  // scratch
};

}  // namespace halyard::inline v0::stream
