// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, launches and libraries. Source: cuda.h of CUDA 13.0 at the function that a case names.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

using SimCudaModule = DriverTest;

TEST_F(SimCudaModule, Launch_TakesPointersOrAPackedBuffer) {
  const Handle function = fill_function();
  Address a = words(130);
  ASSERT_EQ(launch_fill(function, a, 11, 130, nullptr), kSuccess);
  EXPECT_EQ(read(a + 4 * 129), 11U);
  struct {
    Address address;
    std::uint32_t value, count;
  } packed = {a, 12, 64};
  std::size_t size = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, nullptr};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra), kSuccess);
  EXPECT_EQ(read(a), 12U);
  size = 8;  // too short, which an H200 accepts
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra), kSuccess);
  LaunchConfig config{};
  config.grid_x = config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
  config.block_x = 32;
  std::uint32_t value = 13, count = 32;
  void* parameters[] = {&a, &value, &count};
  EXPECT_EQ(cuLaunchKernelEx(&config, function, parameters, nullptr), kSuccess);
  EXPECT_EQ(read(a), 13U);
}

// cuModuleUnload does not document a wait for kernels in flight. An H200 waits.
TEST_F(SimCudaModule, Unload_WaitsForTheWork) {
  Handle module = nullptr, function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kFillPtx), kSuccess);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "fill"), kSuccess);
  const Handle in = stream();
  const Address a = words(1);
  Gate gate;
  gate.hold(in);
  ASSERT_EQ(launch_fill(function, a, 3, 1, in), kSuccess);
  std::atomic<bool> is_unloaded = false;
  std::thread unloader([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
    EXPECT_EQ(cuModuleUnload(module), kSuccess);
    is_unloaded = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_unloaded);
  gate.open();
  unloader.join();
  EXPECT_EQ(read(a), 3U);
}

TEST_F(SimCudaModule, Launch_BeyondLimits_IsRefused) {
  const Handle function = fill_function();
  Address a = words(1);
  std::uint32_t value = 1, count = 1;
  void* parameters[] = {&a, &value, &count};
  const auto launch = [&](unsigned grid, unsigned block, unsigned shared) {
    return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, nullptr, parameters, nullptr);
  };
  EXPECT_EQ(launch(0, 32, 0), kInvalidValue);
  EXPECT_EQ(launch(1, 1025, 0), kInvalidValue);
  EXPECT_EQ(launch(1, 32, 200000), kInvalidValue);
  EXPECT_EQ(launch(1, 32, 0), kSuccess);
}

// CU_JIT_ERROR_LOG_BUFFER: the compiler's messages.
TEST_F(SimCudaModule, BadPtx_IsInvalid_WithALog) {
  char log[512] = {};
  int options[] = {5, 6};  // the buffer, its size
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  Handle module = nullptr;
  const std::string bad = std::string(kFillPtx) + "\n.visible .entry bad() { nonsense.u32 %r1; }";
  EXPECT_EQ(cuModuleLoadDataEx(&module, bad.c_str(), 2, options, values), kInvalidPtx);
  EXPECT_NE(std::strstr(log, "ptxas"), nullptr) << log;
  EXPECT_NE(values[1], nullptr);
}

TEST_F(SimCudaModule, Cubin_HasNoBinaryForThisGpu) {
  const char cubin[64] =
      "\x7f"
      "ELF\x02\x01\x01";
  Handle module = nullptr;
  // A GPU also reads the sections, and returns 200.
  EXPECT_EQ(cuModuleLoadData(&module, cubin), kNoBinary);
  EXPECT_EQ(cuModuleLoadData(&module, "no image"), 200);
}

// A fatbin as fatbinary of the toolkit writes it: a header, then entries with a header each.
std::vector<char> fatbin_of(const std::string& ptx, std::uint32_t capability) {
  const std::uint64_t padded = (ptx.size() + 8) / 8 * 8;
  std::vector<char> bytes(16 + 64 + padded);
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  put(0, std::uint32_t{0xba55ed50});
  put(4, std::uint16_t{1});
  put(6, std::uint16_t{16});
  put(8, std::uint64_t{64 + padded});
  put(16, std::uint16_t{1});  // PTX
  put(20, std::uint32_t{64});
  put(24, padded);
  put(44, capability);
  std::memcpy(bytes.data() + 80, ptx.data(), ptx.size());
  return bytes;
}

TEST_F(SimCudaModule, Fatbin_IsLoadedFromItsPtx) {
  Handle module = nullptr, function = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, fatbin_of(kFillPtx, 80).data()), kSuccess);
  EXPECT_EQ(cuModuleGetFunction(&function, module, "fill"), kSuccess);
  EXPECT_EQ(cuModuleGetFunction(&function, module, "empty"), kNotFound);
  EXPECT_EQ(cuModuleUnload(module), kSuccess);
  EXPECT_EQ(cuModuleUnload(module), kInvalidHandle);
  EXPECT_EQ(cuModuleLoadData(&module, fatbin_of(kFillPtx, 900).data()), kNoBinary);
}

// A full disk may truncate the file at any length. The result is 200 here; on an H200 it is 209 or
// 999, and a certain length crashed the process.
TEST_F(SimCudaModule, FatbinFile_CutOffAnywhere_IsAnInvalidImage) {
  const std::vector<char> whole = fatbin_of(kFillPtx, 80);
  const std::string path =
      ::testing::TempDir() + "sim_cuda_cut." + std::to_string(::getpid()) + ".fatbin";
  const auto load = [&](std::size_t size) {
    std::ofstream(path, std::ios::binary) << std::string_view(whole.data(), size);
    Handle module = nullptr;
    return cuModuleLoad(&module, path.c_str());
  };
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(load(size), 200) << size;
  }
  EXPECT_EQ(load(whole.size()), kSuccess);
  std::remove(path.c_str());
}

TEST_F(SimCudaModule, Library_GivesAFunctionToEachContext) {
  Handle library = nullptr, kernel = nullptr, function = nullptr;
  ASSERT_EQ(cuLibraryLoadData(&library, kFillPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
            kSuccess);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "fill"), kSuccess);
  ASSERT_EQ(cuKernelGetFunction(&function, kernel), kSuccess);
  const Address a = words(1);
  EXPECT_EQ(launch_fill(function, a, 21, 1, nullptr), kSuccess);
  EXPECT_EQ(read(a), 21U);
  EXPECT_EQ(launch_fill(kernel, a, 22, 1, nullptr), kSuccess);  // a CUkernel as a CUfunction
  EXPECT_EQ(read(a), 22U);
  EXPECT_EQ(cuLibraryUnload(library), kSuccess);
  EXPECT_EQ(launch_fill(function, a, 23, 1, nullptr), kInvalidHandle);
}

// The limits of a kernel: registers, threads per block.
std::pair<int, int> limits_of(Handle module, const char* name) {
  Handle function = nullptr;
  int registers = 0, threads = 0;
  EXPECT_EQ(cuModuleGetFunction(&function, module, name), kSuccess);
  EXPECT_EQ(cuFuncGetAttribute(&registers, 4, function), kSuccess);
  EXPECT_EQ(cuFuncGetAttribute(&threads, 0, function), kSuccess);
  return {registers, threads};
}

// Kernels with about 200 registers, the second with its own directives.
std::string kernels_of_many_registers() {
  std::string body = "(.param .u64 a) {directives} { .reg .b32 %r<200>; .reg .b64 %rd; "
                     "ld.param.u64 %rd, [a]; ld.global.u32 %r0, [%rd];\n";
  body.replace(body.find("{directives}"), 12, "DIRECTIVES");
  for (int i = 1; i < 200; ++i) {
    body += "add.u32 %r" + std::to_string(i) + ", %r" + std::to_string(i - 1) + ", 1;\n";
  }
  body += "st.global.u32 [%rd], %r199; ret; }\n";
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (const auto& [name, directives] :
       {std::pair("plain", ""), std::pair("directed", ".maxntid 128 .maxnreg 64")}) {
    std::string own = body;
    own.replace(own.find("DIRECTIVES"), 10, directives);
    text += std::string(".visible .entry ") + name + own;
  }
  return text;
}

struct JitCase {
  std::vector<std::pair<int, std::uintptr_t>> options;
  std::pair<int, int> plain, directed;  // registers, threads; registers at most
};

// CUjit_option: CU_JIT_MAX_REGISTERS (0), CU_JIT_THREADS_PER_BLOCK (1), CU_JIT_MIN_CTA_PER_SM (31),
// CU_JIT_MAX_THREADS_PER_BLOCK (32), CU_JIT_OVERRIDE_DIRECTIVE_VALUES (33). Numba and CuPy set the
// first of these.
TEST_F(SimCudaModule, JitOptions_LimitRegistersAndThreads) {
  const std::string text = kernels_of_many_registers();
  const JitCase cases[] = {
      {{}, {255, 1024}, {64, 128}},
      {{{0, 38}}, {38, 1024}, {64, 128}},
      {{{0, 38}, {33, 1}}, {38, 1024}, {38, 128}},
      {{{1, 1024}}, {64, 1024}, {64, 128}},
      {{{1, 500}}, {128, 1024}, {64, 128}},
      {{{32, 256}}, {255, 256}, {64, 128}},
      {{{32, 256}, {33, 1}}, {255, 256}, {64, 256}},
      {{{32, 512}, {31, 2}}, {64, 512}, {64, 128}},
      {{{32, 512}, {31, 2}, {0, 100}}, {100, 512}, {64, 128}},
  };
  for (const JitCase& each : cases) {
    std::vector<int> options;
    std::vector<void*> values;
    for (const auto& [option, value] : each.options) {
      options.push_back(option);
      values.push_back(reinterpret_cast<void*>(value));
    }
    const auto count = static_cast<unsigned>(options.size());
    for (const bool is_linked : {false, true}) {
      SCOPED_TRACE(::testing::PrintToString(each.options) + (is_linked ? " linked" : ""));
      Handle module = nullptr, link = nullptr;
      if (is_linked) {
        void* image = nullptr;
        std::size_t size = 0;
        std::string copy = text;
        ASSERT_EQ(cuLinkCreate_v2(count, options.data(), values.data(), &link), kSuccess);
        ASSERT_EQ(cuLinkAddData_v2(link, 1, copy.data(), copy.size(), "k", 0, nullptr, nullptr),
                  kSuccess);
        ASSERT_EQ(cuLinkComplete(link, &image, &size), kSuccess);
        ASSERT_EQ(cuModuleLoadData(&module, image), kSuccess);
        ASSERT_EQ(cuLinkDestroy(link), kSuccess);
      } else {
        ASSERT_EQ(cuModuleLoadDataEx(&module, text.c_str(), count, options.data(), values.data()),
                  kSuccess);
      }
      const auto plain = limits_of(module, "plain"), directed = limits_of(module, "directed");
      EXPECT_LE(plain.first, each.plain.first);
      EXPECT_GE(plain.first, std::min(each.plain.first, 150));
      EXPECT_EQ(plain.second, each.plain.second);
      EXPECT_EQ(directed.first, each.directed.first);
      EXPECT_EQ(directed.second, each.directed.second);
      EXPECT_EQ(cuModuleUnload(module), kSuccess);
    }
  }
}

// CU_JIT_MAX_THREADS_PER_BLOCK: "Exceeding the the maximum number of threads results in runtime
// error or kernel launch failure." Occupancy follows the registers.
TEST_F(SimCudaModule, JitOptions_ChangeLaunchesAndOccupancy) {
  const std::string text = kernels_of_many_registers();
  int blocks[2] = {};
  for (int i = 0; i < 2; ++i) {
    int options[] = {0, 32};
    void* values[] = {reinterpret_cast<void*>(std::uintptr_t{i == 0 ? 255U : 32U}),
                      reinterpret_cast<void*>(std::uintptr_t{128})};
    Handle module = nullptr, function = nullptr;
    ASSERT_EQ(cuModuleLoadDataEx(&module, text.c_str(), 2, options, values), kSuccess);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "plain"), kSuccess);
    EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks[i], function, 128, 0), kSuccess);
    Address a = words(4);
    void* parameters[] = {&a};
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr),
              kInvalidValue);
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
              kSuccess);
    EXPECT_EQ(read(a), 199U);
  }
  EXPECT_GE(blocks[1], 4 * blocks[0]);
}

// CU_JIT_WALL_TIME (2) is overwritten; CU_JIT_GLOBAL_SYMBOL_COUNT (19), which would put variables
// at host addresses, is refused, with a message in the log.
TEST_F(SimCudaModule, JitOptions_AreAnsweredOrRefusedInWords) {
  Handle module = nullptr;
  char log[256] = {};
  int options[] = {2, 5, 6, 19};
  void* values[] = {reinterpret_cast<void*>(~std::uintptr_t{0}), log,
                    reinterpret_cast<void*>(sizeof log), nullptr};
  ASSERT_EQ(cuModuleLoadDataEx(&module, kFillPtx, 4, options, values), kSuccess);
  float milliseconds = -1;
  std::memcpy(&milliseconds, &values[0], sizeof milliseconds);
  EXPECT_GE(milliseconds, 0);
  EXPECT_STREQ(log, "");
  values[2] = reinterpret_cast<void*>(sizeof log);
  values[3] = reinterpret_cast<void*>(std::uintptr_t{1});
  EXPECT_EQ(cuModuleLoadDataEx(&module, kFillPtx, 4, options, values), kNotSupported);
  EXPECT_NE(std::string(log).find("CU_JIT_GLOBAL_SYMBOL_ADDRESSES"), std::string::npos);
}

TEST_F(SimCudaModule, Linker_MakesAnImageThatLoads) {
  Handle link = nullptr, module = nullptr;
  void* image = nullptr;
  std::size_t size = 0;
  std::string text = kFillPtx;
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), kSuccess);
  ASSERT_EQ(cuLinkAddData_v2(link, 1, text.data(), text.size(), "fill", 0, nullptr, nullptr),
            kSuccess);
  ASSERT_EQ(cuLinkComplete(link, &image, &size), kSuccess);
  EXPECT_EQ(cuModuleLoadData(&module, image), kSuccess);
  EXPECT_EQ(cuLinkDestroy(link), kSuccess);
}

extern "C" int cuLinkAddFile_v2(Handle, int, const char*, unsigned, int*, void**);

TEST_F(SimCudaModule, Linker_JoinsItsInputs) {
  constexpr const char* kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";
  std::string caller = std::string(kHead) + R"(
.extern .func (.param .b32 result) twice(.param .b32 value);
.visible .entry run(.param .u64 a)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, 21;
  {
    .param .b32 value;
    st.param.b32 [value], %r1;
    .param .b32 result;
    call.uni (result), twice, (value);
    ld.param.b32 %r2, [result];
  }
  st.global.u32 [%rd1], %r2;
  ret;
}
)";
  const std::string callee = std::string(kHead) + R"(
.visible .func (.param .b32 result) twice(.param .b32 value)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [value];
  add.u32 %r2, %r1, %r1;
  st.param.b32 [result], %r2;
  ret;
}
)";
  const std::string path = ::testing::TempDir() + "sim_cuda_callee.ptx";
  std::ofstream(path) << callee;
  Handle link = nullptr, module = nullptr, function = nullptr;
  void* image = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), kSuccess);
  ASSERT_EQ(cuLinkAddData_v2(link, 1, caller.data(), caller.size(), "caller", 0, nullptr, nullptr),
            kSuccess);
  EXPECT_NE(cuLinkComplete(link, &image, &size), kSuccess);  // `twice` is undefined
  EXPECT_EQ(cuLinkAddFile_v2(link, 1, path.c_str(), 0, nullptr, nullptr), kInvalidValue);
  ASSERT_EQ(cuLinkDestroy(link), kSuccess);
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), kSuccess);
  ASSERT_EQ(cuLinkAddData_v2(link, 1, caller.data(), caller.size(), "caller", 0, nullptr, nullptr),
            kSuccess);
  ASSERT_EQ(cuLinkAddFile_v2(link, 1, path.c_str(), 0, nullptr, nullptr), kSuccess);
  std::remove(path.c_str());
  ASSERT_EQ(cuLinkComplete(link, &image, &size), kSuccess);
  const std::vector<char> copy(static_cast<char*>(image), static_cast<char*>(image) + size);
  ASSERT_EQ(cuLinkDestroy(link), kSuccess);
  ASSERT_EQ(cuModuleLoadData(&module, copy.data()), kSuccess);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "run"), kSuccess);
  Address a = words(1);
  void* parameters[] = {&a};
  ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), kSuccess);
  EXPECT_EQ(read(a), 42U);
}

TEST_F(SimCudaModule, Occupancy_FollowsThreadsAndSharedMemory) {
  const Handle function = fill_function();
  int blocks = 0, grid = 0, block = 0, most = 0;
  EXPECT_EQ(cuFuncGetAttribute(&most, 0, function), kSuccess);
  EXPECT_EQ(most, 1024);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1024, 0), kSuccess);
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 64, 48000), kSuccess);
  EXPECT_GE(blocks, 3);  // as many as the multiprocessor's shared memory holds: on an H200 4
  EXPECT_LT(blocks, 6);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0), kSuccess);
  EXPECT_EQ(block % 32, 0);
  EXPECT_GT(grid, 0);
}

TEST_F(SimCudaModule, Function_OfAnotherContext_IsRefused) {
  const Handle function = fill_function();
  Handle other = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&other, 0, 0), kSuccess);
  EXPECT_EQ(launch_fill(function, words(1), 1, 1, nullptr), kInvalidHandle);
  EXPECT_EQ(cuCtxDestroy_v2(other), kSuccess);
}

}  // namespace
}  // namespace halyard::testing::driver
