// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A first look at an NVIDIA GPU, without any driver of Halyard's: every shipped kernel's PTX
// against its reference, the packing of tensor parameters, and what the raw driver's calls cost,
// measured at the start and at the end; the spread between the two is the noise.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>

#include "base/format.h"
#include "gpu/cost_table.h"
#include "gpu/cuda_api.h"

namespace halyard::testing::cuda {
namespace {

constexpr int kNoGpu = 77;  // as CTest's tests that are skipped

void print_costs(const char* when) {
  fmt::print("\n## Costs of the raw driver API, {}\n", when);
  CostTable table;
  for (const auto print : {print_host_costs, print_launch_costs, print_graph_costs,
                           print_order_costs, print_memory_costs}) {
    try {
      print(table);
    } catch (const std::exception& exception) {
      fmt::print("\nThe rest of this group is missing: {}\n", exception.what());
    }
  }
}

int run(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  Gpu found;
  if (const std::string reason = find_gpu(found); !reason.empty()) {
    fmt::print("no NVIDIA GPU: {}\n", reason);
    return kNoGpu;
  }
  int clock_rate = 0;
  found.api.device_attribute(&clock_rate, kClockRate, found.device);
  fmt::print("# {}\n\nsm_{}, {} MHz; the driver knows CUDA {}.{}\n", gpu().name,
             gpu().compute_capability, clock_rate / 1000, gpu().driver_version / 1000,
             gpu().driver_version % 1000 / 10);
  print_costs("at the start");
  fmt::print("\n## Kernels\n\n```\n");
  const int failed = RUN_ALL_TESTS();
  fmt::print("```\n");
  print_costs("at the end");
  return failed;
}

}  // namespace
}  // namespace halyard::testing::cuda

int main(int count, char** arguments) { return halyard::testing::cuda::run(count, arguments); }
