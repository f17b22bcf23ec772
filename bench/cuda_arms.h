// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the arms of N1 to N10: raw calls of libcuda, and a Halyard device on the same library
// and context.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "raw_streams.h"
#include "stream_rows.h"
#include "world.h"

namespace halyard::bench {

class RawCuda : public RawStreams {
 public:
  // CUDA_KERNEL_NODE_PARAMS of CUDA 10.
  struct KernelNode {
    void* function;
    unsigned grid[3], block[3], shared;
    void** parameters;
    void** extra;
  };
  static constexpr std::string_view kDriver = "cuda";
  // Calls that hand work to the device.
  static constexpr std::string_view kWork[] = {
      "cuda.cuLaunchKernel",      "cuda.cuEventRecord",    "cuda.cuStreamWaitEvent",
      "cuda.cuGraphLaunch",       "cuda.cuLaunchHostFunc", "cuda.cuGraphExecKernelNodeSetParams",
      "cuda.cuStreamWriteValue64"};

  static RawCuda& get() {
    static RawCuda cuda;
    return cuda;
  }

  int (*synchronize)(Stream) = nullptr;
  int (*synchronize_event)(Event) = nullptr;
  int (*call_host)(Stream, void (*)(void*), void*) = nullptr;
  int (*wait_value)(Stream, Address, std::uint64_t, unsigned) = nullptr;
  int (*write_value)(Stream, Address, std::uint64_t, unsigned) = nullptr;
  int (*free)(Address) = nullptr;
  int (*allocate_async)(Address*, std::size_t, Stream) = nullptr;
  int (*free_async)(Address, Stream) = nullptr;
  int (*default_pool)(void**, int) = nullptr;
  int (*set_pool)(void*, int, void*) = nullptr;
  int (*allocate_host)(void**, std::size_t, unsigned) = nullptr;
  int (*copy)(Address, Address, std::size_t, Stream) = nullptr;
  int (*fill)(Address, unsigned, std::size_t, Stream) = nullptr;
  void* triad = nullptr;  // the kernel of bench.hyk

  // Before a device is opened.
  static void choose_library() {
    (void)setenv("HALYARD_CUDA_LIBRARY", HALYARD_SIM_CUDA_LIBRARY, /*overwrite=*/0);
    (void)setenv("HALYARD_SIM_CUDA_MODE", "null", /*overwrite=*/0);
  }
  static KernelNode kernel_node(void* function, void** parameters) {
    return {function, {1, 1, 1}, {1, 1, 1}, 0, parameters, nullptr};
  }

 private:
  RawCuda() : RawStreams("HALYARD_CUDA_LIBRARY") {
    find(launch, "cuLaunchKernel");
    find(create_stream, "cuStreamCreate");
    find(create_event, "cuEventCreate");
    find(record, "cuEventRecord");
    find(query, "cuEventQuery");
    find(wait, "cuStreamWaitEvent");
    find(create_graph, "cuGraphCreate");
    find(add_kernel, "cuGraphAddKernelNode");  // with the parameters of CUDA 10
    find(instantiate, "cuGraphInstantiateWithFlags");
    find(set_kernel, "cuGraphExecKernelNodeSetParams");
    find(launch_graph, "cuGraphLaunch");
    find(synchronize, "cuStreamSynchronize");
    find(synchronize_event, "cuEventSynchronize");
    find(call_host, "cuLaunchHostFunc");
    find(wait_value, "cuStreamWaitValue64_v2");
    find(write_value, "cuStreamWriteValue64_v2");
    find(allocate, "cuMemAlloc_v2");
    find(free, "cuMemFree_v2");
    find(allocate_async, "cuMemAllocAsync");
    find(free_async, "cuMemFreeAsync");
    find(default_pool, "cuDeviceGetDefaultMemPool");
    find(set_pool, "cuMemPoolSetAttribute");
    find(allocate_host, "cuMemHostAlloc");
    find(copy, "cuMemcpyAsync");
    find(fill, "cuMemsetD32Async");
    int (*init)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    int (*load)(void**, const char*) = nullptr;
    int (*get_function)(void**, void*, const char*) = nullptr;
    find(init, "cuInit");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(set_current, "cuCtxSetCurrent");
    find(load, "cuModuleLoadData");
    find(get_function, "cuModuleGetFunction");
    void* context = nullptr;
    expect(init(0));
    expect(retain(&context, 0));
    expect(set_current(context));
    void* module = nullptr;
    expect(load(&module, kKernels));
    expect(get_function(&add, module, "add"));
    expect(get_function(&triad, module, "triad"));
    expect(allocate(&word, 4));
  }

  static constexpr const char* kKernels = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 x, .param .u32 amount) {
  .reg .u32 %r<3>;
  .reg .u64 %d<2>;
  ld.param.u64 %d1, [x];
  ld.param.u32 %r1, [amount];
  ld.global.u32 %r2, [%d1];
  add.u32 %r2, %r2, %r1;
  st.global.u32 [%d1], %r2;
  ret;
}
.visible .entry triad(.param .u64 a, .param .u64 b, .param .u64 c, .param .f32 scale,
                      .param .u32 n) {
  .reg .pred %p;
  .reg .u32 %r<5>;
  .reg .u64 %d<5>;
  .reg .f32 %f<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  ld.param.u32 %r4, [n];
  setp.ge.u32 %p, %r1, %r4;
  @%p ret;
  mul.wide.u32 %d4, %r1, 4;
  ld.param.u64 %d1, [a];
  ld.param.u64 %d2, [b];
  ld.param.u64 %d3, [c];
  add.u64 %d1, %d1, %d4;
  add.u64 %d2, %d2, %d4;
  add.u64 %d3, %d3, %d4;
  ld.global.f32 %f1, [%d2];
  ld.global.f32 %f2, [%d3];
  ld.param.f32 %f3, [scale];
  mul.rn.f32 %f2, %f2, %f3;
  add.rn.f32 %f1, %f1, %f2;
  st.global.f32 [%d1], %f1;
  ret;
}
)";
};

using CudaDevice = StreamDevice<RawCuda>;

}  // namespace halyard::bench
