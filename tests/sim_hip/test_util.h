// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests run once for each version of HIP that is simulated, as HALYARD_SIM_HIP_VERSION says.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sim_hip/hip.h"

namespace halyard_test {

// Numbers of hipError_t by their names.
enum Error : int {
  kOk = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidConfiguration = 9,
  kInvalidPitch = 12,
  kInvalidSymbol = 13,
  kInvalidDirection = 21,
  kInvalidDeviceFunction = 98,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kContextInUse = 216,
  kInvalidKernelFile = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kPeerAlreadyEnabled = 704,
  kPeerNotEnabled = 705,
  kContextIsDestroyed = 709,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kLaunchFailure = 719,
  kCooperativeTooLarge = 720,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
};
enum Kind : int { kHtoH = 0, kHtoD = 1, kDtoH = 2, kDtoD = 3, kDefault = 4 };

// The version of HIP as major * 100 + minor.
inline int version() {
  static const int known = [] {
    int number = 0;
    hipRuntimeGetVersion(&number);
    return number / 10'000'000 * 100 + number / 100'000 % 100;
  }();
  return known;
}
inline bool is_since(int wanted) { return version() >= wanted; }

// A function that waits, in a stream, until it is told to go on.
class Gate {
 public:
  void hold(hipStream_t stream) {
    ASSERT_EQ(hipLaunchHostFunc(
                  stream,
                  [](void* gate) {
                    while (!static_cast<Gate*>(gate)->is_open_.load()) {
                      std::this_thread::sleep_for(std::chrono::microseconds(50));
                    }
                  },
                  this),
              kOk);
  }
  void open() { is_open_.store(true); }

 private:
  std::atomic<bool> is_open_ = false;
};

template <class T>
T* device_memory(std::size_t count) {
  void* pointer = nullptr;
  EXPECT_EQ(hipMalloc(&pointer, count * sizeof(T)), kOk);
  return static_cast<T*>(pointer);
}

template <class T>
std::vector<T> read(const T* device, std::size_t count) {
  std::vector<T> host(count);
  EXPECT_EQ(hipMemcpy(host.data(), device, count * sizeof(T), kDtoH), kOk);
  return host;
}

// The code object of kernels.cl.
extern const unsigned char kKernels[];
extern const std::size_t kKernelBytes;

inline hipFunction_t load(hipModule_t& module, const char* name) {
  EXPECT_EQ(hipModuleLoadData(&module, kKernels), kOk);
  hipFunction_t function = nullptr;
  EXPECT_EQ(hipModuleGetFunction(&function, module, name), kOk);
  return function;
}

// Runs `body` in a process of its own, that has `variables`, and returns its report. Ends the test
// unless that process ends with 0. Not after the test's first call of HIP.
template <class Body>
std::string report_of(Body body) {
  const std::string path = testing::TempDir() + "hip_report_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
                           std::to_string(getpid());
  // The second process of a death test runs the test again, up to here.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  if (std::getenv("HALYARD_SIM_HIP_REPORT") == nullptr) {
    setenv("HALYARD_SIM_HIP_REPORT", path.c_str(), 1);
  }
  const std::string file = std::getenv("HALYARD_SIM_HIP_REPORT");
  EXPECT_EXIT(
      {
        body();
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
  unsetenv("HALYARD_SIM_HIP_REPORT");
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  std::remove(file.c_str());
  return text.str();
}

}  // namespace halyard_test
