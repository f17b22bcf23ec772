// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library that is too old, has no device, or fails: CMakeLists.txt runs each case in a separate
// process, with the environment variables of the simulated library that it needs.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "cuda/cuda_test_util.h"

namespace halyard::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class CudaFault : public CudaTest {
 protected:
  // A kernel that has a fault on the device of `uri`.
  void lose(const char* uri);
  void SetUp() override {
    for (const char* const name :
         {"HALYARD_SIM_CUDA_FAIL", "HALYARD_SIM_CUDA_VERSION", "HALYARD_SIM_CUDA_DEVICES"}) {
      if (std::getenv(name) != nullptr) return;
    }
    GTEST_SKIP() << "run by ctest";
  }
};

TEST_F(CudaFault, ADriverThatIsTooOldNamesTheSymbol) {
  EXPECT_THAT(registry.enumerate().value(), SizeIs(0));
  const Status status = registry.open("cuda://0").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no cuDeviceGetUuid_v2"));
}

TEST_F(CudaFault, NoDeviceIsAnEmptyList) {
  EXPECT_THAT(registry.enumerate().value(), SizeIs(0));
  EXPECT_EQ(registry.open("cuda://0").status().code(), StatusCode::kNotFound);
}

TEST_F(CudaFault, ALibraryThatCannotStartIsAnEmptyListAndUnavailable) {
  EXPECT_THAT(registry.enumerate().value(), SizeIs(0));
  const Status status = registry.open("cuda://0").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.native_error(), "CUDA_ERROR_UNKNOWN (999)");
}

// Work that has ended may hold memory, so the second call follows once that work is retired.
TEST_F(CudaFault, AllocationWithoutMemoryIsAskedForTwice) {
  const hal::Device device = registry.open("cuda://0").value();
  const Status status = device.allocate({.size = 12345}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.native_error(), "CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_THAT(std::string(status.message()), HasSubstr("12345"));
  EXPECT_TRUE(device.allocate({.size = 12345}).ok());
  EXPECT_TRUE(device.status().ok());
}

TEST_F(CudaFault, AnImageThatIsRefusedIsReported) {
  const hal::Device device = registry.open("cuda://0?cache=0").value();
  const Status status = device.load(kernels()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.native_error(), "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)");
  EXPECT_THAT(std::string(status.message()), HasSubstr("ptx-sm_80"));
  EXPECT_TRUE(device.load(kernels()).ok());
}

// Loses a device with a sleeping waiter for each of its semaphores.
void CudaFault::lose(const char* uri) {
  const hal::Device device = registry.open(uri).value();
  const hal::Buffer x = device.allocate({.size = 256}).value();
  const hal::Semaphore gate = device.create_semaphore().value();
  const hal::Semaphore done = device.create_semaphore().value();
  const hal::Executable executable = device.load(kernels()).value();
  check(device.queue().dispatch(executable.function("add").value(), {.items = {64}}, {x, x},
                                {std::uint32_t{1}, std::uint32_t{64}},
                                {.wait = {{gate, 1}}, .signal = {{done, 1}}}));
  check(device.queue().fill(x, 0, 4, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  const auto waits = [&](std::uint64_t value) {
    const Status lost = done.wait(value, kForever);
    EXPECT_EQ(lost.code(), StatusCode::kDeviceLost);
    EXPECT_EQ(lost.native_error(), "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  };
  std::thread one(waits, 1), two(waits, 2);
  check(gate.signal(1));
  one.join();
  two.join();
  EXPECT_EQ(device.status().code(), StatusCode::kDeviceLost);
  // The other GPU continues.
  const hal::Device other = registry.open("cuda://1").value();
  EXPECT_TRUE(other.status().ok());
  const hal::Semaphore filled = other.create_semaphore().value();
  const hal::Buffer y = other.allocate({.size = 256}).value();
  check(other.queue().fill(y, 0, 4, {.signal = {{filled, 1}}}));
  EXPECT_TRUE(filled.wait(1, kForever).ok());
}

TEST_F(CudaFault, OfAKernelLosesTheDeviceAndWakesItsWaiters) { lose("cuda://0"); }
TEST_F(CudaFault, OfAKernelWakesThoseThatSleepOnEvents) { lose("cuda://0?completion_mode=event"); }
TEST_F(CudaFault, OfAKernelWakesThoseThatSleepOnAFlag) { lose("cuda://0?completion_mode=flag"); }

TEST_F(CudaFault, ADriverWhoseStreamsWriteNothingHasNoFlags) {
  const Status status = registry.open("cuda://0?completion_mode=flag").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("completion_mode=flag"));
  EXPECT_TRUE(registry.open("cuda://0?completion_mode=event").ok());
}

TEST_F(CudaFault, WithoutALinkerPtxIsLoadedAsItIs) {
  const std::string folder = ::testing::TempDir() + "hy-no-linker-" + std::to_string(::getpid());
  setenv("HALYARD_CACHE_DIR", folder.c_str(), 1);
  const hal::Device device = registry.open("cuda://0").value();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(device.load(kernels()).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace halyard::cuda
