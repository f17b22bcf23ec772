// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C that shaders support has the same results on a device as on the CPU.
#include <gtest/gtest.h>

#include "kernel/kernel_test_util.h"
#include "kernel/shader_constructs.h"

namespace halyard::testing {
namespace {

TEST(Constructs, MeanOnADeviceWhatTheyMeanOnTheCpu) {
  const Kernels cpu = Kernels::of_text(kShaderConstructs, "x86-64");
  const Kernels device = Kernels::of_text(kShaderConstructs);
  for (const kernel::KernelInfo& kernel : cpu.hyx().kernels()) {
    const int n = 5;
    Elements want, got;
    cpu.run(kernel.name, {1, 1, 1}, {want.u, want.f}, &n);
    device.run(kernel.name, {1, 1, 1}, {got.u, got.f}, &n);
    expect_same(kernel.name, got, want);
  }
}

}  // namespace
}  // namespace halyard::testing
