// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of calls that do nothing: prints the nanoseconds per call, in a single-threaded loop. For
// HALYARD_SIM_HIP_MODE=null, where the figures are the overhead that the simulation adds to the
// host side of a measured program.
#include "sim_gpu/call_costs.h"
#include "sim_hip/test_util.h"

namespace halyard_test {
namespace {

using halyard::testing::measure;
using halyard::testing::require;

void run() {
  hipStream_t in = nullptr, blocking = nullptr;
  hipEvent_t event = nullptr, timed = nullptr;
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  void *a = nullptr, *pinned = nullptr;
  require(hipSetDevice(0), "hipSetDevice");
  require(hipStreamCreateWithFlags(&in, 1), "hipStreamCreate");
  require(hipStreamCreate(&blocking), "hipStreamCreate");
  require(hipEventCreateWithFlags(&event, 2), "hipEventCreate");
  require(hipEventCreate(&timed), "hipEventCreate");
  require(hipModuleLoadData(&module, kKernels), "hipModuleLoadData");
  require(hipModuleGetFunction(&function, module, "fill"), "hipModuleGetFunction");
  require(hipMalloc(&a, 4096), "hipMalloc");
  require(hipHostMalloc(&pinned, 4096, 0), "hipHostMalloc");
  // A stream whose thread has run, as in a program that has used a host function.
  require(hipLaunchHostFunc(in, [](void*) {}, nullptr), "hipLaunchHostFunc");
  require(hipStreamSynchronize(in), "hipStreamSynchronize");

  std::printf("| call | ns |\n|---|---|\n");
  int device = 0;
  measure("hipGetDevice", [&] { return hipGetDevice(&device); });
  measure("hipSetDevice", [&] { return hipSetDevice(0); });
  std::uint32_t value = 1, count = 64, pageable[16] = {};
  void* parameters[] = {&a, &value, &count};
  measure("hipModuleLaunchKernel", [&] {
    return hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, in, parameters, nullptr);
  });
  measure("hipModuleLaunchKernel, null stream", [&] {
    return hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
  });
  measure("hipMemcpyAsync", [&] { return hipMemcpyAsync(a, pinned, 4096, kDefault, in); });
  measure("hipMemcpyAsync, pageable",
          [&] { return hipMemcpyAsync(a, pageable, sizeof pageable, kHtoD, in); });
  measure("hipMemsetD32Async", [&] { return hipMemsetD32Async(a, 0, 1024, in); });
  measure("hipEventRecord", [&] { return hipEventRecord(event, in); });
  measure("hipEventRecord, with timing", [&] { return hipEventRecord(timed, in); });
  measure("hipStreamWaitEvent", [&] { return hipStreamWaitEvent(blocking, event, 0); });
  measure("hipEventQuery", [&] { return hipEventQuery(event); });
  measure("hipStreamQuery", [&] { return hipStreamQuery(in); });
  measure("hipStreamSynchronize", [&] { return hipStreamSynchronize(in); });
  measure("hipMallocAsync and hipFreeAsync", [&] {
    void* made = nullptr;
    const int result = hipMallocAsync(&made, 4096, in);
    return result != kOk ? result : hipFreeAsync(made, in);
  });
}

}  // namespace
}  // namespace halyard_test

int main() { halyard_test::run(); }
