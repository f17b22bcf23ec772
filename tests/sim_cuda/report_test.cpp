// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulated driver's report of a program, and the effects of its environment variables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace halyard::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Ran {
  std::string output, report;
};

// Runs a scenario; `variables` are assignments in shell syntax; `status` is the expected exit
// status.
Ran run(const std::string& scenario, const std::string& variables = "", int status = 0) {
  const std::string report = ::testing::TempDir() + "sim_cuda_" + std::to_string(::getpid());
  const std::string command = variables + " HALYARD_SIM_CUDA_REPORT=" + report + " '" +
                              HALYARD_SIM_CUDA_SCENARIOS "' " + scenario + " 2>&1";
  Ran ran;
  std::FILE* const pipe = popen(("exec env " + command).c_str(), "r");
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) ran.output += line.data();
  const int ended = pclose(pipe);
  EXPECT_EQ(WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended), status) << ran.output;
  std::ostringstream text;
  text << std::ifstream(report).rdbuf();
  ran.report = text.str();
  std::remove(report.c_str());
  return ran;
}

TEST(SimCudaReport, CountsCalls_AndNamesNothingElseOfACleanProgram) {
  const Ran ran = run("clean");
  EXPECT_THAT(ran.report, HasSubstr("calls cuStreamCreate 1\n"));
  EXPECT_THAT(ran.report, Not(HasSubstr("leak")));
  EXPECT_THAT(ran.report, Not(HasSubstr("misuse")));
}

TEST(SimCudaReport, NamesWhatWasNotReleased) {
  const std::string report = run("leak").report;
  EXPECT_THAT(report, HasSubstr("the release of the primary context of device 0: streams 1\n"));
  EXPECT_THAT(report, HasSubstr("device 0: events 1\n"));
  EXPECT_THAT(report, HasSubstr("device 0: cuMemAlloc memory 1 (1000 bytes)\n"));
  EXPECT_THAT(report, HasSubstr("leak exit: graphs 1\n"));
}

TEST(SimCudaReport, NamesMisuse) {
  const std::string report = run("misuse").report;
  for (const char* rule :
       {"attributes-of-freed-memory", "double-free", "free-of-no-allocation",
        "call-in-host-function", "record-across-contexts", "use-after-destroy",
        "launch-beyond-limits", "fill-value-beyond-its-element", "short-parameter-buffer",
        "copy-of-freed-memory"}) {
    EXPECT_THAT(report, HasSubstr("misuse " + std::string(rule) + " "));
  }
  EXPECT_THAT(report, HasSubstr("unsupported cuTexObjectCreate 1\n"));
}

TEST(SimCudaReport, IsTheSameForTheSameSeed) {
  for (const char* mode : {"strict", "adversarial", "strict,adversarial"}) {
    const std::string variables =
        std::string("HALYARD_SIM_CUDA_SEED=7 HALYARD_SIM_CUDA_MODE=") + mode;
    const std::string first = run("misuse", variables).report;
    EXPECT_EQ(first, run("misuse", variables).report);
    EXPECT_THAT(first, HasSubstr("seed 7\n"));
  }
}

TEST(SimCudaReport, StrictMode_PrintsMisuseAtOnce) {
  EXPECT_THAT(run("misuse", "HALYARD_SIM_CUDA_MODE=strict").output,
              HasSubstr("simulated CUDA: double-free: "));
  EXPECT_EQ(run("misuse").output, "");
}

// cuModuleUnload: the fate of its kernels in flight is not specified.
TEST(SimCudaReport, NamesAModuleUnloadedInFlight) {
  for (const char* mode : {"", "HALYARD_SIM_CUDA_MODE=adversarial"}) {
    const std::string report = run("unload_in_flight", mode).report;
    EXPECT_THAT(report, HasSubstr("unload-in-flight 1: a kernel ran after its module had been"));
  }
}

TEST(SimCudaFaults, FailTheCallThatTheyName) {
  const Ran ran = run("allocate",
                      "HALYARD_SIM_CUDA_FAIL=cuMemAlloc@2=OUT_OF_MEMORY,"
                      "cuStreamCreate@*=CUDA_ERROR_NOT_PERMITTED");
  EXPECT_THAT(ran.output, HasSubstr("allocate 0\nallocate 2\nallocate 0\nstream 800\n"));
}

// CUDA_ERROR_ILLEGAL_ADDRESS: "To continue using CUDA, the process must be terminated and
// relaunched." An H200 gave no new context; a second device was not observed.
TEST(SimCudaFaults, OfKernels_EndTheProcessesUseOfTheDevice) {
  const Ran ran = run("fault", "HALYARD_SIM_CUDA_FAIL=kernel@1=ILLEGAL_ADDRESS");
  EXPECT_THAT(ran.output, HasSubstr("copy 700\n"));
  EXPECT_THAT(ran.output, HasSubstr("synchronize 700\nhost 0\nnew context 700\nsecond 0\n"));
}

TEST(SimCudaFaults, OfKernels_EndTheProcessesUse_InAdversarialMode) {
  const Ran ran = run("fault",
                      "HALYARD_SIM_CUDA_MODE=adversarial "
                      "HALYARD_SIM_CUDA_FAIL=kernel@1=ILLEGAL_ADDRESS");
  EXPECT_THAT(ran.output, HasSubstr("second 700\n"));
}

TEST(SimCudaModes, Null_RunsHostFunctionsOnly) {
  const Ran ran = run("launch", "HALYARD_SIM_CUDA_MODE=null");
  EXPECT_THAT(ran.output, HasSubstr("launch 0\ncopy 0\nvalue 0\nsynchronize 0\nhost 1\n"));
  EXPECT_THAT(run("launch").output, HasSubstr("value 3\n"));
}

// cuMemAlloc: "The memory is not cleared."
TEST(SimCudaModes, Strict_FillsNewMemoryWithAPattern) {
  EXPECT_THAT(run("fresh", "HALYARD_SIM_CUDA_MODE=strict").output, HasSubstr("word cdcdcdcd"));
}

// CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: devices differ.
TEST(SimCudaModes, Adversarial_HasNoConcurrentManagedAccess) {
  EXPECT_THAT(run("managed").output, HasSubstr("concurrent 1"));
  EXPECT_THAT(run("managed", "HALYARD_SIM_CUDA_MODE=adversarial").output,
              HasSubstr("concurrent 0"));
}

// cuMemFree: "will not perform any implict synchronization when the pointer was allocated with
// cuMemAllocAsync"; "For all other pointers, this API may perform implicit synchronization."
TEST(SimCudaModes, MemFree_OfPoolMemory_DoesNotWait) {
  const Ran ran = run("free_pooled");
  EXPECT_THAT(ran.output, HasSubstr("free 0\nquery 600\nsynchronize 0\n"));
  EXPECT_THAT(ran.report, HasSubstr("misuse free-of-pool-memory-in-use 1: "));
}
// cuMemFree: "Callers must ensure that all accesses to these pointer have completed": it does not
// mention other work.
TEST(SimCudaModes, MemFree_OfPoolMemoryThatNoWorkUses_IsNoMisuse) {
  const Ran ran = run("free_pooled_beside");
  EXPECT_THAT(ran.output, HasSubstr("free 0\nquery 600\nsynchronize 0\n"));
  EXPECT_THAT(ran.report, Not(HasSubstr("misuse")));
}
TEST(SimCudaModes, Adversarial_MemFree_NeverWaits) {
  EXPECT_THAT(run("free_plain", "HALYARD_SIM_CUDA_MODE=adversarial").output,
              HasSubstr("free 0\nquery 600\nsynchronize 0\n"));
}

// cuStreamWaitValue32: "Synchronization ordering established through this API is not visible to
// CUDA. CUDA tasks that are (even indirectly) ordered by this API should also have that order
// expressed with CUDA-visible dependencies such as events."
TEST(SimCudaReport, NamesAWaitForAWriteThatCameLater) {
  EXPECT_THAT(run("wait_first").report, HasSubstr("misuse wait-for-a-later-write 1: "));
  EXPECT_THAT(run("write_first").report, Not(HasSubstr("misuse")));
}

// The library's signal handler interrupts only an instruction of the program, where no handler is
// unsafe.
constexpr const char* kTouching = "TSAN_OPTIONS=report_signal_unsafe=0 HALYARD_SIM_CUDA_MODE=";

// CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: "Device can coherently access managed memory
// concurrently with the CPU"; here it cannot. cuEventQuery: "For the purposes of Unified Memory, a
// return value of CUDA_SUCCESS is equivalent to having called cuEventSynchronize()", so it ends the
// device's use of the memory; a value that the program has read in pinned memory does not.
TEST(SimCudaModes, Adversarial_TouchOfManagedMemoryInFlight_IsASegfault) {
  constexpr int kSegmentationFault = 128 + 11;
  const Ran ran = run("touch_early", std::string(kTouching) + "adversarial", kSegmentationFault);
  EXPECT_THAT(ran.report, HasSubstr("misuse managed-memory-touched 1: "));
  EXPECT_THAT(run("touch_late", std::string(kTouching) + "adversarial").output,
              HasSubstr("synchronize 0\ntouched 2\n"));
}
TEST(SimCudaModes, StrictAdversarial_TouchOfManagedMemoryInFlight_IsReported) {
  const Ran ran = run("touch_early", std::string(kTouching) + "strict,adversarial");
  EXPECT_THAT(ran.output, HasSubstr("simulated CUDA: managed-memory-touched: "));
  EXPECT_THAT(ran.output, HasSubstr("synchronize 0\ntouched 2\n"));
}
TEST(SimCudaModes, TouchOfManagedMemoryInFlight_IsAllowedWithConcurrentAccess) {
  const Ran ran = run("touch_early", "HALYARD_SIM_CUDA_MODE=strict");
  EXPECT_THAT(ran.output, HasSubstr("touched 2\n"));
  EXPECT_THAT(ran.report, Not(HasSubstr("misuse")));
}

// cuMemHostRegister: "If any device visible to the application has a zero value for the device
// attribute, the device pointer returned by cuMemHostGetDevicePointer() will not match the original
// host pointer".
TEST(SimCudaModes, Adversarial_RegisteredMemory_HasAnotherAddressOnTheDevice) {
  EXPECT_THAT(run("registered").output,
              HasSubstr("may use 1\nsame 1\ndevice pointer 0\nvalue 3\nhost pointer 0\n"));
  EXPECT_THAT(run("registered", "HALYARD_SIM_CUDA_MODE=adversarial").output,
              HasSubstr("may use 0\nsame 0\ndevice pointer 0\nvalue 3\nhost pointer 700\n"));
}

// NVIDIA, "API synchronization behavior", of pageable memory: "the function will return once the
// pageable buffer has been copied to the staging memory for DMA transfer to device memory, but the
// DMA to final destination may not have completed."
TEST(SimCudaModes, Adversarial_CopyOfPageableMemory_ReturnsBeforeItHasArrived) {
  EXPECT_THAT(run("pageable").output, HasSubstr("early 0"));
  EXPECT_THAT(run("pageable", "HALYARD_SIM_CUDA_MODE=adversarial").output, HasSubstr("early 1"));
}

TEST(SimCudaModes, MalformedVariables_AreNamedAndIgnored) {
  const Ran ran = run("clean", "HALYARD_SIM_CUDA_DEVICES=many HALYARD_SIM_CUDA_FAIL=cuInit");
  EXPECT_THAT(ran.output, HasSubstr("HALYARD_SIM_CUDA_DEVICES: cannot read \"many\", ignored"));
  EXPECT_THAT(ran.output, HasSubstr("HALYARD_SIM_CUDA_FAIL: cannot read \"cuInit\", ignored"));
  EXPECT_THAT(ran.output, HasSubstr("synchronize 0"));
}

// The destructor of a global may call the driver, and other threads may be inside calls meanwhile.
// CUDA_ERROR_DEINITIALIZED would be correct as well (cuda.h: "the CUDA driver is in the process of
// shutting down").
TEST(SimCudaProcess, Exit_LeavesTheDriverToDestructorsOfGlobals) {
  const Ran ran = run("exit_with_globals");
  EXPECT_EQ(ran.output, "kept 1\ncopy 0\nfree 0\nstream 0\nsynchronize 0\n");
  EXPECT_THAT(ran.report, Not(HasSubstr("cuMemAlloc memory")));
}

// A child of a process that has initialized the driver gets CUDA_ERROR_NOT_INITIALIZED, even from
// cuInit (triton-lang/triton, pull request 10443), and does not wait for threads of its parent.
TEST(SimCudaProcess, Fork_OfAProcessThatUsesTheDriver_IsNotInitialized) {
  EXPECT_EQ(run("fork_in_use").output, "children 400\n");
}

TEST(SimCudaProcess, Fork_BeforeCuInit_MayUseTheDriver) {
  EXPECT_EQ(run("fork_before_use").output, "synchronize 0\nchild 0\n");
}

// NVIDIA, "CUDA C++ Programming Guide", environment variables.
TEST(SimCudaProcess, VisibleDevices_AreThoseOfTheVariable) {
  const auto seen = [](const std::string& visible) {
    return run("devices", "HALYARD_SIM_CUDA_DEVICES=4 CUDA_VISIBLE_DEVICES=" + visible).output;
  };
  EXPECT_EQ(seen("1"), "init 0\ndevice 1\n");
  EXPECT_EQ(seen("2,1"), "init 0\ndevice 2\ndevice 1\n");
  EXPECT_EQ(seen("0,2,-1,1"), "init 0\ndevice 0\ndevice 2\n");
  EXPECT_EQ(seen("3,9,1"), "init 0\ndevice 3\n");
  EXPECT_EQ(seen("GPU-68616c79-6172-642d-7369-6d2d63756402,0"), "init 0\ndevice 2\ndevice 0\n");
  EXPECT_EQ(seen("GPU-68616c79"), "init 0\ndevice 0\n");
  EXPECT_EQ(seen(""), "init 100\n");
  EXPECT_EQ(seen("1,1"), "init 100\n");
}

}  // namespace
}  // namespace halyard::testing
