// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "drivers/cuda/driver.h"
#include "drivers/cuda/library.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"

namespace halyard::cuda {

// Holds all later work of a stream until it is opened: a host function waits for it.
class Gate {
 public:
  Gate(const Functions& cuda, CUstream stream) {
    const CUhostFn hold = [](void* gate) {
      static_cast<Gate*>(gate)->open_.wait(false);
      static_cast<Gate*>(gate)->passed_ = true;
      static_cast<Gate*>(gate)->passed_.notify_all();
    };
    EXPECT_EQ(cuda.cuLaunchHostFunc(stream, hold, static_cast<void*>(this)), CUDA_SUCCESS);
  }
  ~Gate() {
    open();
    passed_.wait(false);
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_{false}, passed_{false};
};

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
