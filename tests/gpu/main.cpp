// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First run on an NVIDIA GPU, without a Halyard driver. Runs every shipped kernel's PTX against its
// reference, checks the packing of tensor parameters, and measures the raw driver's calls at the
// start and at the end; the difference between the two is the noise.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <string>

#include "base/file.h"
#include "base/format.h"
#include "base/machine.h"
#include "gpu/cores.h"
#include "gpu/cost_table.h"
#include "gpu/cuda_api.h"

namespace halyard::testing::cuda {
namespace {

constexpr int kNoGpu = 77;  // as in CTest's skipped tests

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

std::string utc() {
  const std::time_t time = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%F %R UTC", std::gmtime(&time));
  return text;
}

// Version of the kernel module; libcuda only has the newest CUDA version it supports.
std::string driver_version() {
  const std::string text = base::read_text("/proc/driver/nvidia/version");
  return text.empty() ? "/proc/driver/nvidia/version is not there"
                      : text.substr(0, text.find('\n'));
}

int run(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  const std::string pinned = pin_to_two_cores();  // before libcuda starts threads
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
  fmt::print("\n- Date: {}\n- Driver: {}\n- Host: {}, {}\n", utc(), driver_version(),
             base::processor_name(), pinned);
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
