// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/native_call.h"
#include "drivers/cuda/driver.h"
#include "drivers/cuda/library.h"
#include "hal/registry.h"
#include "halyard/halyard.h"

namespace halyard::cuda {

// Counts the calls of a function.
class Count final : public base::CallObserver {
 public:
  explicit Count(const base::CallSite& site) : site_(site) { base::observe_calls(this); }
  ~Count() { base::observe_calls(nullptr); }
  int before(const base::CallSite& site) noexcept override {
    if (&site == &site_) ++calls_;
    return 0;
  }
  int take() { return calls_.exchange(0); }

 private:
  const base::CallSite& site_;
  std::atomic<int> calls_{0};
};

// A registry with this driver alone, on the simulated library.
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
