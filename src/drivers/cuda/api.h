// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CudaApi: the CUDA driver API as an Api of the stream driver (drivers/stream/api.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "drivers/cuda/functions.h"
#include "drivers/cuda/physical_device.h"
#include "drivers/stream/api.h"
#include "drivers/stream/completion.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::cuda {

struct CudaApi {
  using Stream = CUstream;
  using Event = CUevent;
  using Context = CUcontext;
  using CaptureMode = CUstreamCaptureMode;
  using Module = CUmodule;
  using Graph = CUgraph;
  using GraphNode = CUgraphNode;
  using ExecutableGraph = CUgraphExec;
  using Flag = std::uint64_t*;  // pinned; its address is the device's as well
  // With what each launch of it repeats.
  struct Function {
    CUfunction handle = nullptr;
    std::uint32_t workgroup_size[3] = {};
    std::uint32_t dynamic_shared_bytes = 0;
  };
  static constexpr std::string_view kDriver = "cuda";
  static constexpr CaptureMode kRelaxedCapture = CU_STREAM_CAPTURE_MODE_RELAXED;

  // Work that has been submitted cannot be stopped; a stream that is idle has. Of one whose context
  // has faulted nothing will say that its work has ended: kStillRunning.
  Status create_stream(Stream& stream) const noexcept;
  void finish(Stream stream) const noexcept;
  timeline::Abandoned stop(Stream stream) const noexcept;
  void destroy(Stream stream) const noexcept;
  Status query(Stream stream) const noexcept;
  Status create_event(Event& event) const noexcept;
  void destroy(Event event) const noexcept;
  Status record(Event event, Stream stream) const noexcept;
  Result<bool> query(Event event) const noexcept;
  Status wait(Stream stream, Event event) const noexcept;
  Status call_host(Stream stream, stream::HostFunction function, void* argument) const noexcept;
  Status check_capture(Stream stream) const noexcept;

  Status synchronize(Event event) const noexcept;
  Status create_flag(Flag& flag) const noexcept;
  void destroy(Flag flag) const noexcept;
  Status write(Stream stream, Flag flag, std::uint64_t value) const noexcept;
  std::uint64_t read(Flag flag) const noexcept;

  // `ordinal` is a CUdevice.
  Status retain_context(unsigned ordinal, Context& context) const noexcept;
  void release_context(unsigned ordinal) const noexcept;
  Status current_context(Context& context) const noexcept;
  Status set_current_context(Context context) const noexcept;
  Status exchange_capture_mode(CaptureMode& mode) const noexcept;

  Status fill(Stream stream, std::uint64_t target, std::uint32_t pattern,
              std::uint32_t pattern_size, std::uint64_t size) const noexcept;
  Status copy(Stream stream, std::uint64_t target, std::uint64_t source,
              std::uint64_t size) const noexcept;
  Status copy_in(Stream stream, std::uint64_t target, const std::byte* source,
                 std::uint64_t size) const noexcept;
  // The best image for the device (images.cpp). kUnavailable: there is none, or the driver's
  // compiler refuses it; kDataLoss: the image is not valid. The message has the compiler's log.
  Status load(const kernel::Hyx& file, Module& module) const noexcept;
  void unload(Module module) const noexcept;
  Status find_function(Module module, const kernel::KernelInfo& kernel,
                       Function& function) const noexcept;
  Result<hal::FunctionResources> resources(const Function& function) const noexcept;
  Status launch(Stream stream, const Function& function, const std::uint32_t (&groups)[3],
                std::span<const std::byte> arguments) const noexcept;
  Status launch_indirect(Stream stream, const Function& function, std::uint64_t counts,
                         std::span<const std::byte> arguments) const noexcept;

  // Copies and fills of a graph run in graph_context.
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

  // Both live until the process ends.
  const Functions* cuda = nullptr;
  const PhysicalDevice* device = nullptr;
  int priority = 0;               // of streams that are created: CUDA's, lower numbers first
  bool sleeps_on_events = false;  // synchronize() is called: it gives its processor away
  CUcontext graph_context = nullptr;
};

static_assert(stream::ContextApi<CudaApi> && stream::GraphApi<CudaApi> &&
              stream::CompletionApi<CudaApi>);

}  // namespace halyard::inline v0::cuda
