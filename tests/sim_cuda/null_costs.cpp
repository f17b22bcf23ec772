// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of calls that do nothing: prints the nanoseconds per call, in a single-threaded loop. For
// HALYARD_SIM_CUDA_MODE=null, where the figures are the overhead that the simulation adds to the
// host side of a measured program.
#include "sim_cuda/driver.h"
#include "sim_gpu/call_costs.h"

namespace halyard::testing::driver {
namespace {

void run() {
  Handle context = nullptr, in = nullptr, blocking = nullptr, event = nullptr, timed = nullptr,
         module = nullptr, function = nullptr;
  Address a = 0;
  void* pinned = nullptr;
  require(cuInit(0), "cuInit");
  require(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
  require(cuStreamCreate(&in, kNonBlocking), "cuStreamCreate");
  require(cuStreamCreate(&blocking, 0), "cuStreamCreate");
  require(cuEventCreate(&event, kDisableTiming), "cuEventCreate");
  require(cuEventCreate(&timed, 0), "cuEventCreate");
  require(cuModuleLoadData(&module, kFillPtx), "cuModuleLoadData");
  require(cuModuleGetFunction(&function, module, "fill"), "cuModuleGetFunction");
  require(cuMemAlloc_v2(&a, 4096), "cuMemAlloc");
  require(cuMemHostAlloc(&pinned, 4096, 0), "cuMemHostAlloc");
  // A stream whose thread has run, as in a program that has used a host function.
  require(cuLaunchHostFunc(
              in, [](void*) {}, nullptr),
          "cuLaunchHostFunc");
  require(cuStreamSynchronize(in), "cuStreamSynchronize");

  std::printf("| call | ns |\n|---|---|\n");
  measure("cuCtxGetCurrent", [&] { return cuCtxGetCurrent(&context); });
  measure("cuCtxSetCurrent", [&] { return cuCtxSetCurrent(context); });
  std::uint32_t value = 1, count = 64, pageable[16] = {};
  void* parameters[] = {&a, &value, &count};
  measure("cuLaunchKernel",
          [&] { return cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, in, parameters, nullptr); });
  measure("cuLaunchKernel, NULL stream", [&] {
    return cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
  });
  measure("cuMemcpyHtoDAsync", [&] { return cuMemcpyHtoDAsync_v2(a, pinned, 4096, in); });
  measure("cuMemcpyHtoDAsync, pageable",
          [&] { return cuMemcpyHtoDAsync_v2(a, pageable, sizeof pageable, in); });
  measure("cuMemcpyDtoDAsync", [&] { return cuMemcpyDtoDAsync_v2(a, a + 2048, 2048, in); });
  measure("cuMemsetD32Async", [&] { return cuMemsetD32Async(a, 0, 1024, in); });
  measure("cuEventRecord", [&] { return cuEventRecord(event, in); });
  measure("cuEventRecord, with timing", [&] { return cuEventRecord(timed, in); });
  measure("cuEventRecord, blocking stream", [&] { return cuEventRecord(event, blocking); });
  measure("cuStreamWaitEvent", [&] { return cuStreamWaitEvent(blocking, event, 0); });
  measure("cuEventQuery", [&] { return cuEventQuery(event); });
  measure("cuStreamQuery", [&] { return cuStreamQuery(in); });
  measure("cuStreamSynchronize", [&] { return cuStreamSynchronize(in); });
  measure("cuMemAllocAsync and cuMemFreeAsync", [&] {
    Address made = 0;
    const int result = cuMemAllocAsync(&made, 4096, in);
    return result != kSuccess ? result : cuMemFreeAsync(made, in);
  });
  require(cuCtxDestroy_v2(context), "cuCtxDestroy");
}

}  // namespace
}  // namespace halyard::testing::driver

int main() { halyard::testing::driver::run(); }
