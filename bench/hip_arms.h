// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RawHip: the functions of libamdhip64 that N1 to N6 call directly, for comparison with hip://0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kernel/hyx.h"
#include "raw_streams.h"
#include "world.h"

namespace halyard::bench {

class RawHip : public RawStreams {
 public:
  // hipKernelNodeParams, whose members are in the order of their names.
  struct KernelNode {
    unsigned block[3];
    void** extra;
    void* function;
    unsigned grid[3];
    void** parameters;
    unsigned shared;
  };
  static_assert(offsetof(KernelNode, function) == 24 && offsetof(KernelNode, shared) == 56);
  static constexpr std::string_view kDriver = "hip";
  // Calls that hand work to the device.
  static constexpr std::string_view kWork[] = {
      "hip.hipModuleLaunchKernel", "hip.hipEventRecord",    "hip.hipStreamWaitEvent",
      "hip.hipGraphLaunch",        "hip.hipLaunchHostFunc", "hip.hipGraphExecKernelNodeSetParams",
      "hip.hipStreamWriteValue64"};

  static RawHip& get() {
    static RawHip hip;
    return hip;
  }

  // Before a device is opened.
  static void choose_library() {
    (void)setenv("HALYARD_HIP_LIBRARY", HALYARD_SIM_HIP_LIBRARY, /*overwrite=*/0);
    (void)setenv("HALYARD_SIM_HIP_MODE", "null", /*overwrite=*/0);
  }
  static KernelNode kernel_node(void* function, void** parameters) {
    return {{1, 1, 1}, nullptr, function, {1, 1, 1}, parameters, 0};
  }

 private:
  RawHip() : RawStreams("HALYARD_HIP_LIBRARY") {
    find(launch, "hipModuleLaunchKernel");
    find(create_stream, "hipStreamCreateWithFlags");
    find(create_event, "hipEventCreateWithFlags");
    find(record, "hipEventRecord");
    find(query, "hipEventQuery");
    find(wait, "hipStreamWaitEvent");
    find(create_graph, "hipGraphCreate");
    find(add_kernel, "hipGraphAddKernelNode");
    find(instantiate, "hipGraphInstantiateWithFlags");
    find(set_kernel, "hipGraphExecKernelNodeSetParams");
    find(launch_graph, "hipGraphLaunch");
    int (*set_device)(int) = nullptr;
    int (*load)(void**, const void*) = nullptr;
    int (*get_function)(void**, void*, const char*) = nullptr;
    find(set_device, "hipSetDevice");
    find(load, "hipModuleLoadData");
    find(get_function, "hipModuleGetFunction");
    find(allocate, "hipMalloc");
    expect(set_device(0));
    // HIP may read the bytes of a loaded image later, so the file is kept.
    static const kernel::Hyx file = kernel::Hyx::read(World::kernel_file("bench")).value();
    void* module = nullptr;
    for (const kernel::ImageInfo& image : file.images()) {
      if (image.target == "hsaco-gfx1100") expect(load(&module, image.bytes.data()));
    }
    if (module == nullptr) throw Unavailable("bench.hyx has no image for gfx1100");
    expect(get_function(&add, module, "add"));
    expect(allocate(&word, 4));
  }
};

}  // namespace halyard::bench
