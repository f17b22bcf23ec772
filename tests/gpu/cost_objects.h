// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owners of CUDA objects, and empty kernels, for measuring the costs of calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "gpu/cuda_api.h"

namespace halyard::testing::cuda {

// The kernels `empty` and `eight_arguments`. PTX 6.3, sm_52: recent drivers accept it.
inline constexpr const char* kEmptyKernels = R"(
.version 6.3
.target sm_52
.address_size 64
.visible .entry empty() { ret; }
.visible .entry eight_arguments(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3,
                                .param .u64 p4, .param .u64 p5, .param .u64 p6, .param .u64 p7)
{ ret; }
)";

struct EmptyKernels {
  EmptyKernels() {
    check(gpu().api.load_module(&module, kEmptyKernels), "cuModuleLoadData");
    check(gpu().api.get_function(&empty, module, "empty"), "cuModuleGetFunction");
    check(gpu().api.get_function(&eight, module, "eight_arguments"), "cuModuleGetFunction");
  }
  EmptyKernels(const EmptyKernels&) = delete;
  EmptyKernels& operator=(const EmptyKernels&) = delete;
  ~EmptyKernels() { gpu().api.unload_module(module); }

  void launch(Stream stream) const {
    check(gpu().api.launch(empty, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
  }

  Module module = nullptr;
  Function empty = nullptr;
  Function eight = nullptr;
};

struct OwnStream {
  OwnStream() { check(gpu().api.create_stream(&stream, kNonBlockingStream), "cuStreamCreate"); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { gpu().api.destroy_stream(stream); }
  operator Stream() const { return stream; }
  void synchronize() const { check(gpu().api.synchronize(stream), "cuStreamSynchronize"); }

  Stream stream = nullptr;
};

struct OwnEvent {
  explicit OwnEvent(unsigned flags = 0) {
    check(gpu().api.create_event(&event, flags), "cuEventCreate");
  }
  OwnEvent(const OwnEvent&) = delete;
  OwnEvent& operator=(const OwnEvent&) = delete;
  ~OwnEvent() { gpu().api.destroy_event(event); }
  operator Event() const { return event; }
  void record(Stream stream) const {
    check(gpu().api.record_event(event, stream), "cuEventRecord");
  }

  Event event = nullptr;
};

// Microseconds between two events that the device has reached.
inline double between(const OwnEvent& first, const OwnEvent& last) {
  float milliseconds = 0;
  check(gpu().api.elapsed(&milliseconds, first, last), "cuEventElapsedTime");
  return double{milliseconds} * 1e3;
}

// A 64-bit word of host memory that the device can access.
struct MappedWord {
  MappedWord() {
    void* memory = nullptr;
    check(gpu().api.allocate_host(&memory, 64, kHostPortable | kHostMapped), "cuMemHostAlloc");
    word = new (memory) std::atomic<std::uint64_t>(0);
    check(gpu().api.host_pointer(&address, memory, 0), "cuMemHostGetDevicePointer");
  }
  MappedWord(const MappedWord&) = delete;
  MappedWord& operator=(const MappedWord&) = delete;
  ~MappedWord() { gpu().api.free_host(word); }

  void make_stream_wait(Stream stream, std::uint64_t value) const {
    check(gpu().api.wait_value(stream, address, value, kWaitGreaterOrEqual), "cuStreamWaitValue64");
  }
  void make_stream_write(Stream stream, std::uint64_t value) const {
    check(gpu().api.write_value(stream, address, value, 0), "cuStreamWriteValue64");
  }

  std::atomic<std::uint64_t>* word = nullptr;
  DevicePointer address = 0;
};

// A chain of empty kernels, or layers of four, where each node waits for all four of the previous
// layer.
struct OwnGraph {
  enum class Shape { kChain, kProgrammaticChain, kLayers };

  OwnGraph(const EmptyKernels& kernels, std::size_t count, Shape shape) {
    const Api& api = gpu().api;
    check(api.create_graph(&graph, 0), "cuGraphCreate");
    const KernelNodeParams params = {kernels.empty, {1, 1, 1}, {1, 1, 1}, 0,
                                     nullptr,       nullptr,   nullptr,   nullptr};
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t layer = shape == Shape::kLayers ? 4 : 1;
      const std::size_t row = i / layer * layer;
      const bool plain = shape != Shape::kProgrammaticChain;
      const std::size_t edges = plain && row != 0 ? layer : 0;
      nodes.push_back(nullptr);
      check(api.add_kernel_node(&nodes.back(), graph, nodes.data() + row - edges, edges, &params),
            "cuGraphAddKernelNode");
      if (!plain && i != 0) {
        if (api.add_edges == nullptr) throw std::runtime_error("no cuGraphAddDependencies_v2");
        check(api.add_edges(graph, &nodes[i - 1], &nodes[i], &kProgrammaticEdge, 1),
              "cuGraphAddDependencies");
      }
    }
  }
  OwnGraph(const OwnGraph&) = delete;
  OwnGraph& operator=(const OwnGraph&) = delete;
  ~OwnGraph() {
    if (exec != nullptr) gpu().api.destroy_exec(exec);
    gpu().api.destroy_graph(graph);
  }
  // Call it once.
  void instantiate() { check(gpu().api.instantiate(&exec, graph, 0), "cuGraphInstantiate"); }

  Graph graph = nullptr;
  GraphExec exec = nullptr;
  std::vector<GraphNode> nodes;
};

}  // namespace halyard::testing::cuda
