// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The report on programs that misuse HIP, each of which runs in its own process.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstring>

#include "sim_hip/test_util.h"

namespace halyard_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HipReport, CountsCallsAndLeaks) {
  const std::string report = report_of([] {
    void* memory = nullptr;
    hipMalloc(&memory, 100);
    hipMalloc(&memory, 100);
    hipStream_t stream = nullptr;
    hipStreamCreate(&stream);
  });
  EXPECT_THAT(report, HasSubstr("calls hipMalloc 2"));
  EXPECT_THAT(report, HasSubstr("exit: hipMalloc memory 2 (200 bytes)"));
  EXPECT_THAT(report, HasSubstr("exit: streams 1"));
}

TEST(HipReport, NamesWhatIsNotBuilt) {
  const std::string report = report_of([] {
    void* array = nullptr;
    hipMallocArray(&array, nullptr, 1, 1, 0);
  });
  EXPECT_THAT(report, HasSubstr("unsupported hipMallocArray 1"));
}

TEST(HipReport, UseAfterDestroy) {
  const std::string report = report_of([] {
    hipStream_t stream = nullptr;
    hipStreamCreate(&stream);
    hipStreamDestroy(stream);
    hipStreamQuery(stream);
  });
  EXPECT_THAT(report, HasSubstr("misuse use-after-destroy 1: a destroyed stream was used"));
}

TEST(HipReport, WaitForAnEventOfADestroyedStream) {
  const std::string report = report_of([] {
    hipStream_t stream = nullptr;
    hipEvent_t event = nullptr;
    hipStreamCreate(&stream);
    hipEventCreate(&event);
    Gate gate;
    gate.hold(stream);
    hipEventRecord(event, stream);
    hipStreamDestroy(stream);
    hipStreamWaitEvent(nullptr, event, 0);
    gate.open();
    hipEventSynchronize(event);
  });
  EXPECT_THAT(report, HasSubstr("misuse wait-for-event-of-destroyed-stream 1"));
}

TEST(HipReport, WaitForAValue) {
  const std::string report = report_of([] {
    void* memory = nullptr;
    hipExtMallocWithFlags(&memory, 8, 2);
    hipStreamWaitValue64(nullptr, memory, 0, 0, ~std::uint64_t{0});
    hipDeviceSynchronize();
    hipFree(memory);
  });
  EXPECT_THAT(report, HasSubstr("misuse wait-for-a-value 1"));
}

// hip_code_object.cpp: raw bytes are not copied.
TEST(HipReport, AnImageThatWasChanged) {
  setenv("HALYARD_SIM_HIP_MODE", "strict", 1);
  const std::string report = report_of([] {
    std::vector<unsigned char> image(kKernels, kKernels + kKernelBytes);
    hipModule_t module = nullptr, other = nullptr;
    hipModuleLoadData(&module, image.data());
    hipModuleLoadData(&other, kKernels);
    image[100] ^= 1;
    hipModuleUnload(module);
    hipModuleUnload(other);
  });
  unsetenv("HALYARD_SIM_HIP_MODE");
  EXPECT_THAT(report, HasSubstr("misuse image-changed-before-unload 1"));
}

TEST(HipReport, ACopyNodeOfAnotherForm) {
  const std::string report = report_of([] {
    auto* words = device_memory<std::uint32_t>(16);
    HIP_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = 2;
    copy.srcDevice = words;
    copy.dstDevice = words + 8;
    copy.WidthInBytes = 16;
    copy.Height = copy.Depth = 1;
    hipGraph_t graph = nullptr;
    hipGraphNode_t node = nullptr;
    hipGraphExec_t exec = nullptr;
    hipGraphCreate(&graph, 0);
    hipDrvGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, nullptr);
    hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
    hipGraphExecMemcpyNodeSetParams1D(exec, node, words + 8, words, 16, kDtoD);
  });
  EXPECT_THAT(report, HasSubstr("misuse copy-node-of-another-form 1"));
}

TEST(HipReport, AKernelsFaultAndItsPlace) {
  const std::string report = report_of([] {
    hipModule_t module = nullptr;
    hipFunction_t store = load(module, "store");
    std::uint64_t address = 64;
    std::uint32_t value = 1;
    void* parameters[] = {&address, &value};
    hipModuleLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
    hipDeviceSynchronize();
  });
  EXPECT_THAT(report, HasSubstr("misuse kernel-fault 1"));
  EXPECT_THAT(report, HasSubstr("store"));
}

// AMDMIGraphX#4792, ROCm/clr#272
TEST(HipReport, ACallAfterMain) {
  const std::string report = report_of([] {
    static struct Late {
      ~Late() { hipFree(memory); }
      void* memory = nullptr;
    } late;
    hipMalloc(&late.memory, 16);
    hipFree(nullptr);
  });
  EXPECT_THAT(report, HasSubstr("misuse call-after-main 1: hipFree"));
}

// ROCm/legacy-rocm-build#6577
TEST(HipReport, ModulesThatTwoThreadsLoad) {
  const std::string report = report_of([] {
    std::atomic<bool> is_over = false;
    const auto load_some = [&] {
      for (int i = 0; i < 200 && !is_over.load(); ++i) {
        hipModule_t module = nullptr;
        load(module, "none");
        hipModuleUnload(module);
      }
      is_over.store(true);
    };
    std::thread other(load_some);
    load_some();
    other.join();
  });
  EXPECT_THAT(report, HasSubstr("misuse modules-loaded-concurrently"));
}

TEST(HipReport, ALaunchBeyondTheLimits) {
  const std::string report = report_of([] {
    hipModule_t module = nullptr;
    hipModuleLaunchKernel(load(module, "none"), 1, 1, 1, 512, 1, 1, 0, nullptr, nullptr, nullptr);
    hipModuleUnload(module);
  });
  EXPECT_THAT(report, HasSubstr("misuse launch-beyond-limits 1"));
}

TEST(HipReport, FaultsAreInjectedByName) {
  setenv("HALYARD_SIM_HIP_FAIL", "hipMalloc@2=hipErrorOutOfMemory", 1);
  const std::string report = report_of([] {
    void* memory = nullptr;
    EXPECT_EQ(hipMalloc(&memory, 4), kOk);
    EXPECT_EQ(hipMalloc(&memory, 4), kOutOfMemory);
    EXPECT_EQ(hipMalloc(&memory, 4), kOk);
  });
  unsetenv("HALYARD_SIM_HIP_FAIL");
  EXPECT_THAT(report, HasSubstr("calls hipMalloc 3"));
}

// The variables of the real library.
TEST(HipEnvironment, DevicesAreHidden) {
  setenv("HIP_VISIBLE_DEVICES", "1", 1);
  setenv("HALYARD_SIM_HIP_DEVICES", "3", 1);
  report_of([] {
    int count = 0;
    char id[16];
    EXPECT_EQ(hipGetDeviceCount(&count), kOk);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(hipDeviceGetPCIBusId(id, sizeof id, 0), kOk);
    EXPECT_STREQ(id, "0000:02:00.0");
  });
  setenv("ROCR_VISIBLE_DEVICES", "2,0", 1);  // before HIP counts
  report_of([] {
    char id[16];
    EXPECT_EQ(hipDeviceGetPCIBusId(id, sizeof id, 0), kOk);
    EXPECT_STREQ(id, "0000:01:00.0");
  });
  unsetenv("HIP_VISIBLE_DEVICES");
  unsetenv("ROCR_VISIBLE_DEVICES");
  unsetenv("HALYARD_SIM_HIP_DEVICES");
}

TEST(HipEnvironment, WithoutDevicesEveryCallSaysSo) {
  setenv("HIP_VISIBLE_DEVICES", "-1", 1);
  report_of([] {
    int count = 5;
    EXPECT_EQ(hipGetDeviceCount(&count), kNoDevice);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(hipInit(0), kNoDevice);
    void* memory = nullptr;
    EXPECT_EQ(hipMalloc(&memory, 4), kNoDevice);
    int version = 0;
    EXPECT_EQ(hipRuntimeGetVersion(&version), kOk);
  });
  unsetenv("HIP_VISIBLE_DEVICES");
}

TEST(HipEnvironment, PoolsAreTurnedOff) {
  setenv("HIP_MEM_POOL_SUPPORT", "0", 1);
  report_of([] {
    int value = 1;
    EXPECT_EQ(hipDeviceGetAttribute(&value, 88, 0), kOk);
    EXPECT_EQ(value, 0);
    void* memory = nullptr;
    EXPECT_EQ(hipMallocAsync(&memory, 4, nullptr), kNotSupported);
  });
  unsetenv("HIP_MEM_POOL_SUPPORT");
}

TEST(HipEnvironment, LaunchesBlock) {
  setenv("HIP_LAUNCH_BLOCKING", "1", 1);
  report_of([] {
    hipModule_t module = nullptr;
    hipStream_t stream = nullptr;
    hipStreamCreateWithFlags(&stream, 1);
    auto* out = device_memory<std::uint32_t>(64);
    std::uint32_t value = 1, count = 64;
    void* parameters[] = {&out, &value, &count};
    EXPECT_EQ(hipModuleLaunchKernel(load(module, "fill"), 2, 1, 1, 32, 1, 1, 0, stream, parameters,
                                    nullptr),
              kOk);
    EXPECT_EQ(hipStreamQuery(stream), kOk);
  });
  unsetenv("HIP_LAUNCH_BLOCKING");
}

// The form of HIP_ERROR_PRINT (hip_internal.hpp)
TEST(HipEnvironment, CallsAreLogged) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("AMD_LOG_LEVEL", "3", 1);
  EXPECT_EXIT(
      {
        hipSetDevice(99);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "hipSetDevice: Returned hipErrorInvalidDevice");
  unsetenv("AMD_LOG_LEVEL");
}

TEST(HipEnvironment, TheProcessorIsOverridden) {
  setenv("HSA_OVERRIDE_GFX_VERSION", "9.4.2", 1);
  report_of([] {
    std::vector<char> properties(4096);
    EXPECT_EQ(hipGetDevicePropertiesR0600(properties.data(), 0), kOk);
    EXPECT_STREQ(properties.data() + 1160, "gfx942");
  });
  unsetenv("HSA_OVERRIDE_GFX_VERSION");
}

// ROCm/rocm-systems#8119
TEST(HipEnvironment, AChildOfAForkHasNoHip) {
  report_of([] {
    EXPECT_EQ(hipInit(0), kOk);
    const pid_t child = fork();
    if (child == 0) _exit(hipInit(0) == 3 && hipDeviceSynchronize() == 3 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

// numba-hip#7, ROCm/hip#3775, ROCm/clr#42
TEST(HipBugs, AreChosenByName) {
  setenv("HALYARD_SIM_HIP_BUGS", "uuid,pools,stale-nodes", 1);
  report_of([] {
    char uuid[16];
    EXPECT_EQ(hipDeviceGetUuid(uuid, 0), kOk);
    EXPECT_STREQ(uuid, "XX");
    void* memory = nullptr;
    EXPECT_EQ(hipMallocAsync(&memory, 4, nullptr), kOutOfMemory);
    auto* out = device_memory<std::uint32_t>(32);
    std::uint32_t value = 1, count = 32;
    void* parameters[] = {&out, &value, &count};
    hipModule_t module = nullptr;
    hipKernelNodeParams of{};
    of.func = load(module, "fill");
    of.gridDim = {1, 1, 1};
    of.blockDim = {32, 1, 1};
    of.kernelParams = parameters;
    hipGraph_t graph = nullptr;
    hipGraphNode_t node = nullptr;
    hipGraphExec_t exec = nullptr;
    hipGraphCreate(&graph, 0);
    EXPECT_EQ(hipGraphAddKernelNode(&node, graph, nullptr, 0, &of), kOk);
    EXPECT_EQ(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), kOk);
    value = 2;
    EXPECT_EQ(hipGraphExecKernelNodeSetParams(exec, node, &of), kOk);
    EXPECT_EQ(hipGraphLaunch(exec, nullptr), kOk);
    EXPECT_EQ(read(out, 1)[0], 1u);  // the old argument
  });
  unsetenv("HALYARD_SIM_HIP_BUGS");
}

// ROCm/rocm-systems#11678
TEST(HipBugs, AQueryWaitsForAWait) {
  setenv("HALYARD_SIM_HIP_BUGS", "blocking", 1);
  report_of([] {
    hipStream_t held = nullptr, other = nullptr;
    hipStreamCreateWithFlags(&held, 1);
    hipStreamCreateWithFlags(&other, 1);
    Gate gate;
    gate.hold(held);
    std::thread waiter([&] { EXPECT_EQ(hipStreamSynchronize(held), kOk); });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::atomic<bool> has_returned = false;
    std::thread asker([&] {
      EXPECT_EQ(hipStreamQuery(other), kOk);
      has_returned.store(true);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_FALSE(has_returned.load());
    gate.open();
    waiter.join();
    asker.join();
  });
  unsetenv("HALYARD_SIM_HIP_BUGS");
}

// ROCm/rocm-systems#10943
TEST(HipBugs, MemoryOfAPoolIsClearedUnlessItsThresholdIsTheLargest) {
  setenv("HALYARD_SIM_HIP_BUGS", "pool-zero", 1);
  report_of([] {
    const auto survivor = [] {
      void* memory = nullptr;
      EXPECT_EQ(hipMallocAsync(&memory, 4, nullptr), kOk);
      EXPECT_EQ(hipMemsetD32(memory, 7, 1), kOk);
      EXPECT_EQ(hipStreamSynchronize(nullptr), kOk);
      return read(static_cast<std::uint32_t*>(memory), 1)[0];
    };
    EXPECT_EQ(survivor(), 0u);
    hipMemPool_t pool = nullptr;
    std::uint64_t most = ~std::uint64_t{0};
    EXPECT_EQ(hipDeviceGetDefaultMemPool(&pool, 0), kOk);
    EXPECT_EQ(hipMemPoolSetAttribute(pool, 4, &most), kOk);
    EXPECT_EQ(survivor(), 7u);
  });
  unsetenv("HALYARD_SIM_HIP_BUGS");
}

TEST(HipArchitecture, OfAnotherOneNothingIsExecuted) {
  setenv("HALYARD_SIM_HIP_ARCH", "gfx942:sramecc+:xnack-", 1);
  report_of([] {
    int warp = 0;
    EXPECT_EQ(hipDeviceGetAttribute(&warp, 87, 0), kOk);
    EXPECT_EQ(warp, 64);
    std::vector<char> properties(4096);
    EXPECT_EQ(hipGetDevicePropertiesR0600(properties.data(), 0), kOk);
    EXPECT_STREQ(properties.data() + 1160, "gfx942:sramecc+:xnack-");
    hipModule_t module = nullptr;
    EXPECT_EQ(hipModuleLoadData(&module, kKernels), kNotSupported);
  });
  unsetenv("HALYARD_SIM_HIP_ARCH");
}

}  // namespace
}  // namespace halyard_test
