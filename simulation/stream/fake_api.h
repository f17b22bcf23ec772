// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeApi: the fake library as an Api (api.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "drivers/stream/api.h"
#include "halyard/base/result.h"
#include "simulation/stream/fake_graph.h"
#include "simulation/stream/fake_library.h"

namespace halyard::inline v0::stream {

struct FakeApi {
  using Stream = fake::Stream*;
  using Event = fake::Event*;
  using Context = fake::Context*;
  using CaptureMode = fake::CaptureMode;
  using Module = fake::Module*;
  using Function = fake::Function;
  using Graph = fake::Graph*;
  using GraphNode = fake::GraphNode;
  using ExecutableGraph = fake::ExecutableGraph*;
  static constexpr std::string_view kDriver = "stream";
  static constexpr CaptureMode kRelaxedCapture = CaptureMode::kRelaxed;

  Status create_stream(Stream& stream, int) const noexcept;
  void finish(Stream stream) const noexcept;
  timeline::Abandoned stop(Stream stream) const noexcept;
  void destroy(Stream stream) const noexcept;
  Status query(Stream stream) const noexcept;
  Status create_event(Event& event) const noexcept;
  void destroy(Event event) const noexcept;
  Status record(Event event, Stream stream) const noexcept;
  Result<bool> query(Event event) const noexcept;
  Status wait(Stream stream, Event event) const noexcept;
  Status call_host(Stream stream, HostFunction function, void* argument) const noexcept;
  Status check_capture(Stream) const noexcept { return {}; }  // no stream is captured

  Status retain_context(unsigned ordinal, Context& context) const noexcept;
  void release_context(unsigned ordinal) const noexcept;
  Status current_context(Context& context) const noexcept;
  Status set_current_context(Context context) const noexcept;
  Status exchange_capture_mode(CaptureMode& mode) const noexcept;

  Status allocate(std::uint64_t& address, std::uint64_t size) const noexcept;
  void free(std::uint64_t address) const noexcept;
  Status fill(Stream stream, std::uint64_t target, std::uint32_t pattern,
              std::uint32_t pattern_size, std::uint64_t size) const noexcept;
  Status copy(Stream stream, std::uint64_t target, std::uint64_t source,
              std::uint64_t size) const noexcept;
  Status copy_in(Stream stream, std::uint64_t target, const std::byte* source,
                 std::uint64_t size) const noexcept;
  Status load(const kernel::Hyx& file, Module& module) const noexcept;
  void unload(Module module) const noexcept;
  Status find_function(Module module, const kernel::KernelInfo& kernel,
                       Function& function) const noexcept;
  Status launch(Stream stream, const Function& function, const std::uint32_t (&groups)[3],
                std::span<const std::byte> arguments) const noexcept;
  Status launch_indirect(Stream stream, const Function& function, std::uint64_t counts,
                         std::span<const std::byte> arguments) const noexcept;

  Status create_graph(Graph& graph) const noexcept;
  void destroy(Graph graph) const noexcept;
  Status add_empty(Graph graph, std::span<const GraphNode> behind, GraphNode& node) const noexcept;
  Status add_fill(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                  std::uint64_t target, std::uint32_t pattern, std::uint32_t pattern_size,
                  std::uint64_t size) const noexcept;
  Status add_copy(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                  std::uint64_t target, std::uint64_t source, std::uint64_t size) const noexcept;
  Status add_launch(Graph graph, std::span<const GraphNode> behind, GraphNode& node,
                    const Function& function, const std::uint32_t (&groups)[3],
                    std::span<const std::byte> arguments) const noexcept;
  Status instantiate(Graph graph, ExecutableGraph& executable) const noexcept;
  Status set_fill(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                  std::uint32_t pattern, std::uint32_t pattern_size,
                  std::uint64_t size) const noexcept;
  Status set_copy(ExecutableGraph executable, GraphNode node, std::uint64_t target,
                  std::uint64_t source, std::uint64_t size) const noexcept;
  Status set_launch(ExecutableGraph executable, GraphNode node, const Function& function,
                    const std::uint32_t (&groups)[3],
                    std::span<const std::byte> arguments) const noexcept;
  Status launch(Stream stream, ExecutableGraph executable) const noexcept;
  void destroy(ExecutableGraph executable) const noexcept;

  bool unstoppable = false;  // stop() does not stop running work
};

static_assert(ContextApi<FakeApi> && GraphApi<FakeApi>);

}  // namespace halyard::inline v0::stream
