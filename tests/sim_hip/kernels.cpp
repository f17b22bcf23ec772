// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim_hip/test_util.h"

namespace halyard_test {

alignas(4096) constinit const unsigned char kKernels[] = {
#include "sim_hip/kernels.inc"
};
constinit const std::size_t kKernelBytes = sizeof kKernels;

}  // namespace halyard_test
