// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/kernel_test_util.h"

namespace halyard::testing {

std::string tested_target() { return std::string(kernel::cpu_targets().front()); }

std::unique_ptr<HostKernels> load_kernels(kernel::Hyx hyx) {
  return std::make_unique<CpuKernels>(std::move(hyx));
}

}  // namespace halyard::testing
