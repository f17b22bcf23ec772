// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeApi: CUDA and HIP as a DeviceApi (native_calls.h), except for the parts that differ:
// copies, images, how a stream is finished, and the context that a stream belongs to.
//
//     struct HipApi : stream::NativeApi<HipApi, HipNames> { ... };
//
// This header adds the graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/stream/native_memory_api.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

template <class Api, class Names>
struct NativeApi : NativeMemoryApi<Api, Names> {
  using Calls = NativeCalls<Api, Names>;
  using Calls::call, Calls::check, Calls::check_on, Calls::self, Calls::pointer_to;
  using typename Calls::Stream;
  using typename NativeStreamApi<Api, Names>::Function;
  using NativeStreamApi<Api, Names>::launch;
  using NativeMemoryApi<Api, Names>::destroy;
  using Graph = typename Names::Graph;
  using GraphNode = typename Names::GraphNode;
  using ExecutableGraph = typename Names::ExecutableGraph;

  Status create_graph(Graph& graph) const noexcept { return check(Names::GraphCreate, &graph, 0u); }
  void destroy(Graph graph) const noexcept { (void)call(Names::GraphDestroy, graph); }
  Status add_empty(Graph graph, std::span<const GraphNode> behind, GraphNode& node) const noexcept {
    return check(Names::GraphAddEmptyNode, &node, graph, behind.data(), behind.size());
  }
  Status add_fill(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                  std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                  std::uint64_t size) const noexcept {
    const auto parameters = fill_node(target, pattern, pattern_size, size);
    if constexpr (Names::kGraphsHaveContexts) {
      return check(Names::GraphAddMemsetNode, &node, graph, behind.data(), behind.size(),
                   &parameters, self().graph_context);
    } else {
      return check(Names::GraphAddMemsetNode, &node, graph, behind.data(), behind.size(),
                   &parameters);
    }
  }
  Status add_launch(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                    const Function& function, const std::uint32_t (&groups)[3],
                    std::span<const std::byte> arguments) const noexcept {
    PackedArguments packed(arguments, Names::kLaunchEnd);
    const auto parameters = kernel_node(function, groups, packed);
    return check(Names::GraphAddKernelNode, &node, graph, behind.data(), behind.size(),
                 &parameters);
  }
  Status instantiate(Graph graph, ExecutableGraph& executable) const noexcept {
    return check(Names::GraphInstantiateWithFlags, &executable, graph, 0ull);
  }
  Status set_fill(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                  std::uint32_t pattern, std::uint32_t pattern_size,
                  std::uint64_t size) const noexcept {
    const auto parameters = fill_node(target, pattern, pattern_size, size);
    if constexpr (Names::kGraphsHaveContexts) {
      return check(Names::GraphExecMemsetNodeSetParams, executable, node, &parameters,
                   self().graph_context);
    } else {
      return check(Names::GraphExecMemsetNodeSetParams, executable, node, &parameters);
    }
  }
  Status set_launch(ExecutableGraph executable, GraphNode node, const Function& function,
                    const std::uint32_t (&groups)[3],
                    std::span<const std::byte> arguments) const noexcept {
    PackedArguments packed(arguments, Names::kLaunchEnd);
    const auto parameters = kernel_node(function, groups, packed);
    return check(Names::GraphExecKernelNodeSetParams, executable, node, &parameters);
  }
  Status launch(Stream stream, ExecutableGraph executable) const noexcept {
    return check_on(stream, Names::GraphLaunch, executable, stream);
  }
  void destroy(ExecutableGraph executable) const noexcept {
    (void)call(Names::GraphExecDestroy, executable);
  }

 private:
  static auto kernel_node(const Function& function, const std::uint32_t (&groups)[3],
                          PackedArguments& packed) noexcept {
    typename Names::KernelNodeParameters parameters = {};
    parameters.func = function.handle;
    Names::set_grid(parameters, groups, function.workgroup_size);
    parameters.sharedMemBytes = function.dynamic_shared_bytes;
    parameters.extra = packed.extra();
    return parameters;
  }
  // One row: the only shape whose parameters an executable graph lets change. CUDA does not specify
  // the bits of a value beyond its element, and an H200 writes them.
  static auto fill_node(std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                        std::uint64_t size) noexcept {
    typename Names::FillNodeParameters parameters = {};
    parameters.dst = pointer_to(target);
    parameters.value = pattern & ~std::uint32_t{0} >> (32 - 8 * pattern_size);
    parameters.elementSize = pattern_size;
    parameters.width = size / pattern_size;
    parameters.height = 1;
    return parameters;
  }
};

}  // namespace halyard::inline v0::stream
