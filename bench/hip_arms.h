// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RawHip: the functions of libamdhip64 that N1 to N6 call directly, beside hip://0.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernel/hyx.h"
#include "world.h"

namespace halyard::bench {

class RawHip {
 public:
  using Stream = void*;
  using Event = void*;
  using Address = std::uint64_t;
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
      "hip.hipGraphLaunch",        "hip.hipLaunchHostFunc", "hip.hipGraphExecKernelNodeSetParams"};

  static RawHip& get() {
    static RawHip hip;
    return hip;
  }

  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
                void**, void**) = nullptr;
  int (*create_stream)(Stream*, unsigned) = nullptr;
  int (*create_event)(Event*, unsigned) = nullptr;
  int (*record)(Event, Stream) = nullptr;
  int (*query)(Event) = nullptr;
  int (*wait)(Stream, Event, unsigned) = nullptr;
  int (*create_graph)(void**, unsigned) = nullptr;
  int (*add_kernel)(void**, void*, const void* const*, std::size_t, const void*) = nullptr;
  int (*instantiate)(void**, void*, unsigned long long) = nullptr;
  int (*set_kernel)(void*, void*, const void*) = nullptr;
  int (*launch_graph)(void*, Stream) = nullptr;
  // The kernel of bench.hyk, and a word for it, so that only the way of submission differs.
  void* add = nullptr;
  Address word = 0;

  // Before a device is opened.
  static void choose_library() {
    (void)setenv("HALYARD_HIP_LIBRARY", HALYARD_SIM_HIP_LIBRARY, /*overwrite=*/0);
    (void)setenv("HALYARD_SIM_HIP_MODE", "null", /*overwrite=*/0);
  }
  static KernelNode kernel_node(void* function, void** parameters) {
    return {{1, 1, 1}, nullptr, function, {1, 1, 1}, parameters, 0};
  }

  Stream stream() const {
    Stream made = nullptr;
    expect(create_stream(&made, 1 /* hipStreamNonBlocking */));
    return made;
  }
  Event event() const {
    Event made = nullptr;
    expect(create_event(&made, 2 /* hipEventDisableTiming */));
    return made;
  }
  static void expect(int result) {
    if (result != 0) throw std::runtime_error("libamdhip64: error " + std::to_string(result));
  }

  void put(Stream stream) const {
    Address address = word;
    std::uint32_t amount = 1;
    void* parameters[] = {&address, &amount};
    expect(launch(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }

 private:
  RawHip() {
    library_ = dlopen(std::getenv("HALYARD_HIP_LIBRARY"), RTLD_NOW);
    if (library_ == nullptr) throw Unavailable(dlerror());
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
    int (*allocate)(Address*, std::size_t) = nullptr;
    find(set_device, "hipSetDevice");
    find(load, "hipModuleLoadData");
    find(get_function, "hipModuleGetFunction");
    find(allocate, "hipMalloc");
    expect(set_device(0));
    // HIP goes on reading the bytes of an image, so that the file stays.
    static const kernel::Hyx file = kernel::Hyx::read(World::kernel_file("bench")).value();
    void* module = nullptr;
    for (const kernel::ImageInfo& image : file.images()) {
      if (image.target == "hsaco-gfx1100") expect(load(&module, image.bytes.data()));
    }
    if (module == nullptr) throw Unavailable("bench.hyx has no image for gfx1100");
    expect(get_function(&add, module, "add"));
    expect(allocate(&word, 4));
  }
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library_, name));
    if (function == nullptr) throw Unavailable(std::string("libamdhip64 has no ") + name);
  }

  void* library_ = nullptr;
};

}  // namespace halyard::bench
