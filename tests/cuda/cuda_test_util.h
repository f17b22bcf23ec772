// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "drivers/cuda/driver.h"
#include "drivers/cuda/library.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"

namespace halyard::cuda {

// A registry with only this driver, on the simulated library.
class CudaTest : public ::testing::Test {
 protected:
  CudaTest() {
    setenv("HALYARD_CUDA_LIBRARY", HALYARD_SIM_CUDA_LIBRARY, 1);
    check(register_cuda_driver(registry));
  }
  ~CudaTest() override { check(registry.shutdown(kForever)); }

  static const Library& library() { return *Library::open({}).value(); }
  static std::string kernels() {
    return std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/cuda_kernels.hyx";
  }

  hal::DriverRegistry registry;
};

}  // namespace halyard::cuda
