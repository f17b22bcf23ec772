// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of HIP's functions without a library: memory is host memory, and operations of a stream
// run immediately. A test replaces single functions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "drivers/hip/api.h"

namespace halyard::hip {

// Results of the functions below, and the arguments they received.
struct FakeCopy {
  void* target = nullptr;
  const void* source = nullptr;
  std::size_t size = 0;
  hipMemcpyKind kind{};
};
struct FakeState {
  hipError_t of_query = hipSuccess, of_launch = hipSuccess, of_load = hipSuccess;
  hipError_t of_record = hipSuccess, of_event = hipSuccess;
  bool capturing = false, knows_memory = true, forgets_updates = false;
  int queries = 0, allocations = 0, registrations = 0, loads = 0, graph_launches = 0;
  int memory_type = 2;
  unsigned event_flags = 0, host_flags = 0;
  unsigned char first_byte = 0;
  const void* image = nullptr;
  std::vector<void*> extra;
  hipMemsetParams fill{};
  FakeCopy copy;
};

// Only one may exist at a time.
class FakeTable {
 public:
  using State = FakeState;

  FakeTable() {
    state = {};
    table.version = 7'02'00000;
    table.hipGetDevice.pointer = [](int* current) { return *current = 0, hipSuccess; };
    table.hipSetDevice.pointer = [](int) { return hipSuccess; };
    table.hipThreadExchangeStreamCaptureMode.pointer = [](hipStreamCaptureMode*) {
      return hipSuccess;
    };
    table.hipStreamCreateWithPriority.pointer = [](hipStream_t* stream, unsigned, int) {
      *stream = reinterpret_cast<hipStream_t>(std::uintptr_t{0x1000});
      return hipSuccess;
    };
    table.hipStreamIsCapturing.pointer = [](hipStream_t, hipStreamCaptureStatus* status) {
      *status = static_cast<hipStreamCaptureStatus>(state.capturing ? 1 : 0);
      return hipSuccess;
    };
    table.hipStreamQuery.pointer = [](hipStream_t) { return ++state.queries, state.of_query; };
    table.hipStreamDestroy.pointer = [](hipStream_t) { return hipSuccess; };
    table.hipStreamWaitEvent.pointer = [](hipStream_t, hipEvent_t, unsigned) { return hipSuccess; };
    table.hipEventCreateWithFlags.pointer = [](hipEvent_t* event, unsigned flags) {
      state.event_flags = flags;
      *event = reinterpret_cast<hipEvent_t>(std::uintptr_t{0x2000});
      return hipSuccess;
    };
    table.hipEventDestroy.pointer = [](hipEvent_t) { return hipSuccess; };
    table.hipEventRecord.pointer = [](hipEvent_t, hipStream_t) { return state.of_record; };
    table.hipEventQuery.pointer = [](hipEvent_t) { return state.of_event; };
    table.hipMalloc.pointer = [](void**, std::size_t) {
      return ++state.allocations, hipErrorOutOfMemory;
    };
    table.hipHostMalloc.pointer = [](void** pointer, std::size_t size, unsigned flags) {
      state.host_flags = flags;
      *pointer = ::operator new(size);
      return hipSuccess;
    };
    table.hipHostFree.pointer = [](void* pointer) {
      return ::operator delete(pointer), hipSuccess;
    };
    table.hipHostGetDevicePointer.pointer = [](void** address, void* pointer, unsigned) {
      *address = pointer;
      return state.knows_memory ? hipSuccess : hipErrorInvalidValue;
    };
    table.hipHostRegister.pointer = [](void*, std::size_t, unsigned) {
      return ++state.registrations, hipSuccess;
    };
    table.hipPointerGetAttribute.pointer = [](void* data, hipPointer_attribute attribute, void*) {
      *static_cast<int*>(data) =
          attribute == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE ? state.memory_type : 3;
      return hipSuccess;
    };
    table.hipModuleLoadData.pointer = [](hipModule_t* module, const void* image) {
      ++state.loads;
      state.image = image;
      *module = reinterpret_cast<hipModule_t>(std::uintptr_t{0x3000});
      return state.of_load;
    };
    table.hipModuleUnload.pointer = [](hipModule_t) {
      // The image is still there.
      if (state.image != nullptr) {
        state.first_byte = *static_cast<const unsigned char*>(state.image);
      }
      return hipSuccess;
    };
    table.hipModuleLaunchKernel.pointer = [](hipFunction_t, unsigned, unsigned, unsigned, unsigned,
                                             unsigned, unsigned, unsigned, hipStream_t,
                                             void** parameters, void** extra) {
      EXPECT_EQ(parameters, nullptr);
      state.extra.assign(extra, extra + 5);
      return state.of_launch;
    };
    table.hipGraphCreate.pointer = [](hipGraph_t* graph, unsigned) {
      *graph = reinterpret_cast<hipGraph_t>(std::uintptr_t{0x4000});
      return hipSuccess;
    };
    table.hipGraphAddMemsetNode.pointer = [](hipGraphNode_t* node, hipGraph_t,
                                             const hipGraphNode_t*, std::size_t,
                                             const hipMemsetParams* parameters) {
      *node = reinterpret_cast<hipGraphNode_t>(std::uintptr_t{1});
      state.fill = *parameters;
      return hipSuccess;
    };
    table.hipGraphAddMemcpyNode1D.pointer =
        [](hipGraphNode_t* node, hipGraph_t, const hipGraphNode_t*, std::size_t, void* target,
           const void* source, std::size_t size, hipMemcpyKind kind) {
          *node = reinterpret_cast<hipGraphNode_t>(std::uintptr_t{2});
          state.copy = {target, source, size, kind};
          return hipSuccess;
        };
    table.hipGraphAddKernelNode.pointer = [](hipGraphNode_t* node, hipGraph_t,
                                             const hipGraphNode_t*, std::size_t,
                                             const hipKernelNodeParams* parameters) {
      *node = reinterpret_cast<hipGraphNode_t>(std::uintptr_t{3});
      state.extra.assign(parameters->extra, parameters->extra + 5);
      return hipSuccess;
    };
    table.hipGraphExecKernelNodeSetParams.pointer = [](hipGraphExec_t, hipGraphNode_t,
                                                       const hipKernelNodeParams* parameters) {
      state.extra.assign(parameters->extra, parameters->extra + 5);
      return hipSuccess;
    };
    table.hipModuleGetFunction.pointer = [](hipFunction_t*, hipModule_t, const char*) {
      return hipSuccess;
    };
    table.hipGraphInstantiateWithFlags.pointer = [](hipGraphExec_t* executable, hipGraph_t,
                                                    unsigned long long) {
      *executable = reinterpret_cast<hipGraphExec_t>(std::uintptr_t{0x5000});
      return hipSuccess;
    };
    table.hipGraphExecMemsetNodeSetParams.pointer = [](hipGraphExec_t, hipGraphNode_t,
                                                       const hipMemsetParams* parameters) {
      if (!state.forgets_updates) state.fill = *parameters;
      return hipSuccess;
    };
    table.hipGraphExecMemcpyNodeSetParams1D.pointer = [](hipGraphExec_t, hipGraphNode_t,
                                                         void* target, const void* source,
                                                         std::size_t size, hipMemcpyKind kind) {
      // Like HIP, refuses a kind that differs from the node's kind.
      if (kind != state.copy.kind) return hipErrorInvalidValue;
      if (!state.forgets_updates) state.copy = {target, source, size, kind};
      return hipSuccess;
    };
    table.hipGraphLaunch.pointer = [](hipGraphExec_t, hipStream_t) {
      ++state.graph_launches;
      auto* const words = static_cast<std::uint32_t*>(state.fill.dst);
      for (std::size_t i = 0; i < state.fill.width; ++i) words[i] = state.fill.value;
      std::memcpy(state.copy.target, state.copy.source, state.copy.size);
      return hipSuccess;
    };
    table.hipGraphExecDestroy.pointer = [](hipGraphExec_t) { return hipSuccess; };
    table.hipGraphDestroy.pointer = [](hipGraph_t) { return hipSuccess; };
  }

  HipApi api(bool sleeps = false) { return HipApi::of(table, device, sleeps); }

  static inline State state;

  Functions table;
  PhysicalDevice device;
};

inline hipStream_t a_stream() { return reinterpret_cast<hipStream_t>(std::uintptr_t{0x1000}); }

}  // namespace halyard::hip
