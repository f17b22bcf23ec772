// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, launches and faults of code that the core knows only by its interface.
#include <cstring>

#include "sim_gpu/core.h"
#include "simulation/gpu/launch.h"

namespace halyard::testing {
namespace {

TestCode::Kernel nothing() {
  return [](const gpu::KernelRun&, gpu::ContextMemory&) { return gpu::Outcome{}; };
}

TEST(SimGpuCode, AVariableIsInItsSegmentWhichKnowsItsAddress) {
  const gpu::Module module = load(0, nothing());
  gpu::DevicePointer address = 0;
  std::size_t size = 0;
  ASSERT_EQ(
      call_on(
          0, [&](gpu::Call&) { return gpu::module_variable(&address, &size, module, "variable"); }),
      gpu::kSuccess);
  EXPECT_EQ(size, 8U);
  const gpu::DevicePointer segment = address - 16;
  EXPECT_EQ(segment % 4096, 0U);
  std::uint64_t word = 0;
  std::memcpy(&word, gpu::memory().find(segment)->host, sizeof word);
  EXPECT_EQ(word, segment);
}

TEST(SimGpuCode, ALaunchPacksItsParameters) {
  std::vector<std::byte> seen;
  unsigned grid = 0;
  const gpu::Function function =
      kernel_of(load(0, [&](const gpu::KernelRun& run, gpu::ContextMemory&) {
        seen.assign(run.parameters.begin(), run.parameters.end());
        grid = run.grid[0];
        return gpu::Outcome{};
      }));
  const gpu::Stream stream = make_stream(0);
  const unsigned extent[3] = {7, 1, 1}, one[3] = {1, 1, 1};
  std::uint64_t pointer = 0x1122334455667788;
  std::uint32_t number = 42;
  void* parameters[] = {&pointer, &number};
  ASSERT_EQ(call_on(0,
                    [&](gpu::Call& call) {
                      return gpu::launch(call, function, {extent, one, 0, parameters, nullptr},
                                         stream);
                    }),
            gpu::kSuccess);
  ASSERT_EQ(synchronize(stream), gpu::kSuccess);
  ASSERT_EQ(seen.size(), 12U);
  EXPECT_EQ(std::memcmp(seen.data(), &pointer, 8), 0);
  EXPECT_EQ(std::memcmp(seen.data() + 8, &number, 4), 0);
  EXPECT_EQ(grid, 7U);
}

TEST(SimGpuCode, AListOfParametersEndsWithTheLibrarysMark) {
  const gpu::Function function = kernel_of(load(0, nothing()));
  const gpu::Stream stream = make_stream(0);
  const unsigned one[3] = {1, 1, 1};
  std::byte buffer[12]{};
  std::size_t size = sizeof buffer;
  const auto launch_with = [&](std::uintptr_t end) {
    void* extra[] = {reinterpret_cast<void*>(gpu::kParamBufferPointer),
                     buffer,
                     reinterpret_cast<void*>(gpu::kParamBufferSize),
                     &size,
                     reinterpret_cast<void*>(end),
                     nullptr};
    return call_on(0, [&](gpu::Call& call) {
      return gpu::launch(call, function, {one, one, 0, nullptr, extra}, stream);
    });
  };
  EXPECT_EQ(launch_with(3), gpu::kSuccess);
  EXPECT_EQ(launch_with(0), gpu::kInvalidValue);
}

TEST(SimGpuCode, ALaunchBeyondTheLimitsAnswersAsTheLibrarySays) {
  const gpu::Function function = kernel_of(load(0, nothing()));
  const auto launch_of = [&](unsigned blocks, unsigned threads, unsigned shared) {
    const unsigned grid[3] = {blocks, 1, 1}, block[3] = {threads, 1, 1};
    std::uint64_t pointer = 0;
    std::uint32_t number = 0;
    void* parameters[] = {&pointer, &number};
    return call_on(0, [&](gpu::Call& call) {
      return gpu::launch(call, function, {grid, block, shared, parameters, nullptr}, nullptr);
    });
  };
  EXPECT_EQ(launch_of(1, 128, 65536), gpu::kSuccess);
  EXPECT_EQ(launch_of(1, 129, 0), kBeyond);  // of the kernel
  EXPECT_EQ(launch_of(1, 257, 0), gpu::kInvalidValue);
  EXPECT_EQ(launch_of(1001, 1, 0), gpu::kInvalidValue);
  EXPECT_EQ(launch_of(1000, 128, 0), gpu::kInvalidValue);  // more than 65536 threads in all
  EXPECT_EQ(launch_of(1, 128, 65537), gpu::kInvalidValue);
}

// Runs in a child process, because a fault ends the process's use of the library.
class SimGpuFaultDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static gpu::Result fault_on(gpu::DeviceId device) {
    const gpu::Function function =
        kernel_of(load(device, [](const gpu::KernelRun&, gpu::ContextMemory&) {
          return gpu::Outcome{gpu::kIllegalAddress, "a fault of the test", {}};
        }));
    const gpu::Stream stream = make_stream(device);
    if (launch(device, function, stream) != gpu::kSuccess) return gpu::kUnknown;
    return synchronize(stream);
  }
  static gpu::Result any_call_on(gpu::DeviceId device) {
    return call_on(device, [](gpu::Call&) { return gpu::kSuccess; });
  }
};

TEST_F(SimGpuFaultDeathTest, OfOneDeviceIsOneOfTheProcess) {
  EXPECT_EXIT(
      {
        reach_of_faults = gpu::FaultReach::kProcess;
        const bool was_well = any_call_on(0) == gpu::kSuccess;
        const bool has_fault = fault_on(1) == gpu::kIllegalAddress;
        std::exit(was_well && has_fault && any_call_on(0) == gpu::kIllegalAddress ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(SimGpuFaultDeathTest, OfOneDeviceIsNoneOfOthers) {
  EXPECT_EXIT(
      {
        reach_of_faults = gpu::FaultReach::kDevice;
        const bool has_fault = fault_on(1) == gpu::kIllegalAddress;
        std::exit(has_fault && any_call_on(1) == gpu::kIllegalAddress &&
                          any_call_on(0) == gpu::kSuccess
                      ? 0
                      : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(SimGpuFaultDeathTest, EndsTheProcessWhereTheLibrarySaysSo) {
  EXPECT_EXIT(
      {
        reach_of_faults = gpu::FaultReach::kAbort;
        fault_on(0);
      },
      ::testing::KilledBySignal(SIGABRT), "simulated GPU: a fault of device 0 ends the process");
}

TEST_F(SimGpuFaultDeathTest, CanBeAskedForByTheNameThatTheLibraryHas) {
  EXPECT_EXIT(
      {
        setenv("HALYARD_SIM_TEST_FAIL", "function@2=broken", 1);
        const bool first = any_call_on(0) == gpu::kSuccess;
        const bool second = any_call_on(0) == gpu::kIllegalAddress;
        std::exit(first && second && any_call_on(0) == gpu::kSuccess ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace halyard::testing
