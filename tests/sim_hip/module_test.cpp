// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, launches and registrations of compiled programs. Sources: files of ROCm/clr f9f995c
// hipamd/src, and, for HIP 7, of ROCm/rocm-systems projects/clr.
#include <cstring>

#include "sim_hip/test_util.h"

namespace halyard_test {
namespace {

class HipModule : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipSetDevice(0), kOk);
    ASSERT_EQ(hipModuleLoadData(&module_, kKernels), kOk);
  }
  void TearDown() override { EXPECT_EQ(hipModuleUnload(module_), kOk); }
  hipFunction_t get(const char* name) {
    hipFunction_t function = nullptr;
    EXPECT_EQ(hipModuleGetFunction(&function, module_, name), kOk) << name;
    return function;
  }
  hipModule_t module_ = nullptr;
};

TEST_F(HipModule, KernelsAndVariablesAreFoundByName) {
  hipFunction_t function = nullptr;
  EXPECT_EQ(hipModuleGetFunction(&function, module_, "absent"), kNotFound);
  EXPECT_EQ(hipModuleGetFunction(&function, module_, nullptr), kInvalidValue);
  void* counter = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(hipModuleGetGlobal(&counter, &size, module_, "absent"), kNotFound);
  ASSERT_EQ(hipModuleGetGlobal(&counter, &size, module_, "counter"), kOk);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(read(static_cast<std::uint32_t*>(counter), 1)[0], 7u);
  auto* out = device_memory<std::uint32_t>(1);
  void* parameters[] = {&out};
  for (std::uint32_t expected : {7u, 8u}) {
    ASSERT_EQ(hipModuleLaunchKernel(get("read_counter"), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters,
                                    nullptr),
              kOk);
    EXPECT_EQ(read(out, 1)[0], expected);
  }
  EXPECT_EQ(hipFree(out), kOk);
}

TEST_F(HipModule, ALaunchTakesPointersToItsParameters) {
  constexpr std::uint32_t kCount = 1000;
  auto* left = device_memory<std::uint32_t>(kCount);
  auto* right = device_memory<std::uint32_t>(kCount);
  auto* out = device_memory<std::uint32_t>(kCount);
  std::uint32_t count = kCount;
  ASSERT_EQ(hipMemsetD32(left, 30, kCount), kOk);
  ASSERT_EQ(hipMemsetD32(right, 12, kCount), kOk);
  void* parameters[] = {&out, &left, &right, &count};
  ASSERT_EQ(hipModuleLaunchKernel(get("add"), 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr),
            kOk);
  EXPECT_EQ(read(out, kCount), std::vector<std::uint32_t>(kCount, 42));
  for (void* memory : {left, right, out}) EXPECT_EQ(hipFree(memory), kOk);
}

// hip_module.cpp:251-372: {1, buffer, 2, &size, 3}; CUDA's end mark is null.
TEST_F(HipModule, ThePackedBufferEndsWith3) {
  struct {
    std::uint32_t* out;
    std::uint32_t value, count;
  } buffer{device_memory<std::uint32_t>(4), 9, 4};
  std::size_t size = sizeof buffer;
  const auto mark = [](std::uintptr_t value) { return reinterpret_cast<void*>(value); };
  void* extra[] = {mark(1), &buffer, mark(2), &size, mark(3)};
  void* of_cuda[] = {mark(1), &buffer, mark(2), &size, nullptr};
  void* parameters[] = {&buffer.out, &buffer.value, &buffer.count};
  hipFunction_t fill = get("fill");
  const auto launch = [&](void** pointers, void** packed) {
    return hipModuleLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, nullptr, pointers, packed);
  };
  EXPECT_EQ(launch(nullptr, extra), kOk);
  EXPECT_EQ(read(buffer.out, 4)[3], 9u);
  EXPECT_EQ(launch(nullptr, of_cuda), kInvalidValue);
  EXPECT_EQ(launch(parameters, extra), kInvalidValue);  // both
  EXPECT_EQ(launch(nullptr, nullptr), kInvalidValue);   // neither, but the kernel has parameters
  EXPECT_EQ(hipFree(buffer.out), kOk);
  // HIP 7: a size for a kernel without parameters
  EXPECT_EQ(hipModuleLaunchKernel(get("none"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            is_since(700) ? kLaunchOutOfResources : kOk);
}

// hip_module.cpp, hipModuleLaunchKernel and ihipLaunchKernel_validate
TEST_F(HipModule, LaunchesAreChecked) {
  hipFunction_t none = get("none");
  const auto launch = [&](hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned block,
                          unsigned shared) {
    return hipModuleLaunchKernel(function, grid_x, grid_y, 1, block, 1, 1, shared, nullptr, nullptr,
                                 nullptr);
  };
  EXPECT_EQ(launch(none, 1, 1, 1, 0), kOk);
  EXPECT_EQ(launch(nullptr, 1, 1, 1, 0), kInvalidHandle);
  EXPECT_EQ(launch(none, 0, 1, 1, 0), kInvalidValue);
  EXPECT_EQ(launch(none, 1, 1, 0, 0), is_since(700) ? kInvalidValue : kInvalidConfiguration);
  EXPECT_EQ(launch(none, 1, 65537, 1, 0), kInvalidValue);
  EXPECT_EQ(launch(none, 0x80000000, 1, 1, 0), kInvalidValue);
  EXPECT_EQ(launch(none, 0x400000, 1, 1024, 0), kInvalidConfiguration);  // 2^32 work items
  EXPECT_EQ(launch(none, 1, 1, 1025, 0), kInvalidValue);
  EXPECT_EQ(launch(none, 1, 1, 1, 65537), kInvalidValue);
  // More than .max_flat_workgroup_size: a refused launch, with the number of CUDA's lost device.
  EXPECT_EQ(launch(none, 1, 1, 512, 0), kLaunchFailure);
  EXPECT_EQ(launch(none, 1, 1, 256, 0), kOk);
  EXPECT_EQ(hipDeviceSynchronize(), kOk);
}

TEST_F(HipModule, AStreamOfAnotherDeviceIsRefusedSince7) {
  ASSERT_EQ(hipSetDevice(1), kOk);
  hipModule_t module = nullptr;
  hipFunction_t none = load(module, "none");
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), kOk);
  ASSERT_EQ(hipSetDevice(0), kOk);
  EXPECT_EQ(hipModuleLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr),
            is_since(700) ? kInvalidHandle : kOk);
  EXPECT_EQ(hipStreamSynchronize(stream), kOk);
  EXPECT_EQ(hipStreamDestroy(stream), kOk);
  EXPECT_EQ(hipModuleUnload(module), kOk);
}

TEST_F(HipModule, KernelsSeeTheirShape) {
  auto* out = device_memory<std::uint32_t>(9);
  void* parameters[] = {&out};
  ASSERT_EQ(hipModuleLaunchKernel(get("shape"), 3, 4, 5, 2, 3, 4, 0, nullptr, parameters, nullptr),
            kOk);
  EXPECT_EQ(read(out, 9), (std::vector<std::uint32_t>{3, 4, 5, 2, 3, 4, 6, 12, 20}));
  EXPECT_EQ(hipFree(out), kOk);
}

// Dynamic LDS, whose parameter is a pointer of 4 bytes without a value.
TEST_F(HipModule, DynamicMemoryOfAWorkgroup) {
  auto* in = device_memory<std::uint32_t>(512);
  auto* out = device_memory<std::uint32_t>(2);
  ASSERT_EQ(hipMemsetD32(in, 2, 512), kOk);
  std::uint32_t scratch = 0;
  void* parameters[] = {&out, &in, &scratch};
  ASSERT_EQ(
      hipModuleLaunchKernel(get("sum"), 2, 1, 1, 256, 1, 1, 1024, nullptr, parameters, nullptr),
      kOk);
  EXPECT_EQ(read(out, 2), (std::vector<std::uint32_t>{512, 512}));
  EXPECT_EQ(hipFree(in), kOk);
  EXPECT_EQ(hipFree(out), kOk);
}

// hip_module.cpp, hipExtModuleLaunchKernel: the grid is in work items.
TEST_F(HipModule, TheExtFormCountsWorkItems) {
  auto* out = device_memory<std::uint32_t>(128);
  hipEvent_t start = nullptr, stop = nullptr;
  ASSERT_EQ(hipEventCreate(&start), kOk);
  ASSERT_EQ(hipEventCreate(&stop), kOk);
  void* parameters[] = {&out};
  ASSERT_EQ(hipExtModuleLaunchKernel(get("of_64"), 128, 1, 1, 64, 1, 1, 0, nullptr, parameters,
                                     nullptr, start, stop, 0),
            kOk);
  EXPECT_EQ(read(out, 128)[127], 63u);
  float milliseconds = -1;
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, start, stop), kOk);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(hipEventDestroy(start), kOk);
  EXPECT_EQ(hipEventDestroy(stop), kOk);
  EXPECT_EQ(hipFree(out), kOk);
}

TEST_F(HipModule, FunctionsHaveAttributes) {
  int value = -1;
  EXPECT_EQ(hipFuncGetAttribute(&value, 0, get("none")), kOk);
  EXPECT_EQ(value, 256);
  EXPECT_EQ(hipFuncGetAttribute(&value, 8, get("none")), kOk);
  EXPECT_EQ(value, 65536);
  EXPECT_EQ(hipFuncGetAttribute(&value, 4, get("add")), kOk);
  EXPECT_GT(value, 0);
  EXPECT_EQ(hipFuncGetAttribute(&value, 10, get("none")), kInvalidValue);
  EXPECT_EQ(hipFuncGetAttribute(&value, 0, nullptr), kInvalidHandle);
  // hip_module.cpp:179: up to 6.x only the host's address of a kernel
  EXPECT_EQ(hipFuncSetAttribute(get("none"), 8, 100), is_since(700) ? kOk : kInvalidDeviceFunction);
  EXPECT_EQ(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&value, get("none"), 256, 32768),
            kOk);
  EXPECT_EQ(value, 2);
  // 720 for more blocks than the device holds at a time
  EXPECT_EQ(
      hipModuleLaunchCooperativeKernel(get("none"), 17, 1, 1, 256, 1, 1, 32768, nullptr, nullptr),
      kCooperativeTooLarge);
  EXPECT_EQ(
      hipModuleLaunchCooperativeKernel(get("none"), 16, 1, 1, 256, 1, 1, 32768, nullptr, nullptr),
      kOk);
}

// hip_fatbin.cpp, hip_code_object.cpp
TEST(HipImage, ErrorsOfLoadingAreOfTheVersion) {
  hipModule_t module = nullptr;
  alignas(8) const char text[4096] = "neither a bundle nor an ELF";
  EXPECT_EQ(hipModuleLoadData(&module, text), kInvalidImage);
  EXPECT_EQ(hipModuleLoadData(&module, nullptr), kInvalidValue);
  EXPECT_EQ(hipModuleLoad(&module, "/no/such/file"), 301);
  // Another processor: EF_AMDGPU_MACH in the low byte of e_flags, gfx942 is 0x4c
  std::vector<unsigned char> other(kKernels, kKernels + kKernelBytes);
  other[48] = 0x4c;
  EXPECT_EQ(hipModuleLoadData(&module, other.data()), kNoBinaryForGpu);
  // A bundle without an entry for gfx1100
  std::vector<unsigned char> bundle(4096);
  const std::string id = "hipv4-amdgcn-amd-amdhsa--gfx942";
  std::memcpy(bundle.data(), "__CLANG_OFFLOAD_BUNDLE__", 24);
  const std::uint64_t numbers[] = {1, 4096, kKernelBytes, id.size()};
  std::memcpy(bundle.data() + 24, numbers, sizeof numbers);
  std::memcpy(bundle.data() + 56, id.data(), id.size());
  bundle.insert(bundle.end(), other.begin(), other.end());
  EXPECT_EQ(hipModuleLoadData(&module, bundle.data()),
            is_since(700) ? kInvalidImage : kNoBinaryForGpu);
}

TEST(HipImage, ABundleHasTheFittingImage) {
  const std::string id = "hipv4-amdgcn-amd-amdhsa--gfx1100";
  std::vector<unsigned char> bundle(4096);
  std::memcpy(bundle.data(), "__CLANG_OFFLOAD_BUNDLE__", 24);
  const std::uint64_t numbers[] = {1, 4096, kKernelBytes, id.size()};
  std::memcpy(bundle.data() + 24, numbers, sizeof numbers);
  std::memcpy(bundle.data() + 56, id.data(), id.size());
  bundle.insert(bundle.end(), kKernels, kKernels + kKernelBytes);
  hipModule_t module = nullptr;
  ASSERT_EQ(hipModuleLoadDataEx(&module, bundle.data(), 0, nullptr, nullptr), kOk);
  hipFunction_t none = nullptr;
  EXPECT_EQ(hipModuleGetFunction(&none, module, "none"), kOk);
  EXPECT_EQ(hipModuleUnload(module), kOk);
  EXPECT_EQ(hipModuleUnload(module), kInvalidHandle);
}

TEST(HipLibrary, IsLoadedOnEachDevice) {
  void *library = nullptr, *kernel = nullptr;
  ASSERT_EQ(hipLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0), kOk);
  unsigned count = 0;
  EXPECT_EQ(hipLibraryGetKernelCount(&count, library), kOk);
  EXPECT_GE(count, 9u);
  EXPECT_EQ(hipLibraryGetKernel(&kernel, library, "absent"), kNotFound);
  ASSERT_EQ(hipLibraryGetKernel(&kernel, library, "fill"), kOk);
  const char* name = nullptr;
  EXPECT_EQ(hipKernelGetName(&name, kernel), kOk);
  EXPECT_STREQ(name, "fill");
  for (int device : {1, 0}) {
    ASSERT_EQ(hipSetDevice(device), kOk);
    hipFunction_t function = nullptr;
    ASSERT_EQ(hipKernelGetFunction(&function, kernel), kOk);
    auto* out = device_memory<std::uint32_t>(4);
    std::uint32_t value = 8, items = 4;
    void* parameters[] = {&out, &value, &items};
    ASSERT_EQ(hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr),
              kOk);
    EXPECT_EQ(read(out, 4)[3], 8u);
    EXPECT_EQ(hipFree(out), kOk);
  }
  EXPECT_EQ(hipLibraryUnload(library), kOk);
}

// What hipcc puts into a program: hip_platform.cpp.
TEST(HipRegistered, KernelsAreLaunchedByTheirHostAddress) {
  const struct {
    std::uint32_t magic = 0x48495046, version = 1;  // "HIPF"
    const void* binary = kKernels;
    void* unused = nullptr;
  } wrapper;
  static char fill_on_host, counter_on_host, unknown;
  void** binary = __hipRegisterFatBinary(&wrapper);
  ASSERT_NE(binary, nullptr);
  char name[] = "fill", variable[] = "counter";
  __hipRegisterFunction(binary, &fill_on_host, name, name, 0, nullptr, nullptr, nullptr, nullptr,
                        nullptr);
  __hipRegisterVar(binary, &counter_on_host, variable, variable, 0, 4, 0, 0);
  for (int device : {1, 0}) {
    ASSERT_EQ(hipSetDevice(device), kOk);
    auto* out = device_memory<std::uint32_t>(64);
    std::uint32_t value = 5, count = 64;
    void* parameters[] = {&out, &value, &count};
    ASSERT_EQ(__hipPushCallConfiguration({2, 1, 1}, {32, 1, 1}, 0, nullptr), kOk);
    dim3 grid, block;
    std::size_t shared = 99;
    hipStream_t stream = nullptr;
    ASSERT_EQ(__hipPopCallConfiguration(&grid, &block, &shared, &stream), kOk);
    EXPECT_EQ(grid.x, 2u);
    ASSERT_EQ(hipLaunchKernel(&fill_on_host, grid, block, parameters, shared, stream), kOk);
    EXPECT_EQ(read(out, 64), std::vector<std::uint32_t>(64, 5));
    EXPECT_EQ(hipLaunchKernel(&unknown, grid, block, parameters, shared, stream),
              kInvalidDeviceFunction);
    EXPECT_EQ(hipFree(out), kOk);
  }
  std::uint32_t value = 99;
  std::size_t size = 0;
  EXPECT_EQ(hipGetSymbolSize(&size, &counter_on_host), kOk);
  EXPECT_EQ(size, 4u);
  ASSERT_EQ(hipMemcpyToSymbol(&counter_on_host, &value, 4, 0, kHtoD), kOk);
  value = 0;
  ASSERT_EQ(hipMemcpyFromSymbol(&value, &counter_on_host, 4, 0, kDtoH), kOk);
  EXPECT_EQ(value, 99u);
  EXPECT_EQ(hipMemcpyFromSymbol(&value, &unknown, 4, 0, kDtoH), kInvalidSymbol);
  __hipUnregisterFatBinary(binary);
}

// rocvirtual.cpp:2896: abort(); HIP 7, hip_internal.hpp, IsGPUInError: a state of the process
TEST(HipFaultDeathTest, AFaultEndsTheProcessOrAllItsDevices) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run = [] {
    hipModule_t module = nullptr;
    hipFunction_t store = load(module, "store");
    std::uint64_t address = 64;
    std::uint32_t value = 1;
    void* parameters[] = {&address, &value};
    hipModuleLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
    const int first = hipDeviceSynchronize();
    const int second = hipSetDevice(1);
    void* memory = nullptr;
    const int third = hipMalloc(&memory, 16);
    std::fprintf(stderr, "answers %d %d %d\n", first, second, third);
    std::_Exit(0);
  };
  if (is_since(700)) {
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "answers 700 700 700");
  } else {
    EXPECT_EXIT(run(), testing::KilledBySignal(SIGABRT), "ends the process");
  }
}

}  // namespace
}  // namespace halyard_test
