// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images that programs load: fatbins, and variables of modules.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

#include "sim_cuda/ptx_fatbins.inc"

extern "C" int cuModuleGetGlobal_v2(Address*, std::size_t*, Handle, const char*);

bool has_zstd() { return dlopen("libzstd.so.1", RTLD_NOW) != nullptr; }

class SimCudaImage : public DriverTest {
 protected:
  // The output of the image's kernel `answer`; empty if the image cannot be loaded.
  std::vector<std::uint32_t> answer_of(const void* image) {
    Handle module = nullptr, function = nullptr;
    if (cuModuleLoadData(&module, image) != kSuccess) return {};
    EXPECT_EQ(cuModuleGetFunction(&function, module, "answer"), kSuccess);
    Address out = words(4);
    void* parameters[] = {&out};
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
              kSuccess);
    std::vector<std::uint32_t> results;
    for (Address i = 0; i < 4; ++i) results.push_back(read(out + 4 * i));
    EXPECT_EQ(cuModuleUnload(module), kSuccess);
    return results;
  }
};

const std::vector<std::uint32_t> kAnswer = {42, 43, 44, 45};

TEST_F(SimCudaImage, FatbinOfLz4_IsLoaded) { EXPECT_EQ(answer_of(kLz4Fatbin), kAnswer); }

TEST_F(SimCudaImage, FatbinOfZstd_IsLoaded) {
  if (!has_zstd()) GTEST_SKIP() << "no libzstd.so.1";
  EXPECT_EQ(answer_of(kZstdFatbin), kAnswer);
}

// Damage in the compressed bytes, which follow two headers, of 16 and of 80 bytes.
TEST_F(SimCudaImage, DamagedFatbin_IsRefusedOrLoaded) {
  constexpr std::size_t kDataBegin = 96;
  const auto damage = [](const auto& image) {
    std::size_t refused = 0;
    for (std::size_t at = kDataBegin; at < sizeof(image); ++at) {
      for (const unsigned char bits : {0x01, 0x80, 0xff}) {
        std::vector<unsigned char> copy(std::begin(image), std::end(image));
        copy[at] ^= bits;
        Handle module = nullptr;
        if (cuModuleLoadData(&module, copy.data()) != kSuccess) {
          ++refused;
        } else {
          EXPECT_EQ(cuModuleUnload(module), kSuccess);
        }
      }
    }
    return refused;
  };
  EXPECT_GT(damage(kLz4Fatbin), 0U);
  if (has_zstd()) {
    EXPECT_GT(damage(kZstdFatbin), 0U);
  }
}

TEST_F(SimCudaImage, FatbinWithAFalseSize_IsRefused) {
  constexpr std::size_t kSizeAt = 16 + 56;
  for (const unsigned char size : {0x00, 0x01, 0xff}) {
    auto copy = std::to_array(kLz4Fatbin);
    copy[kSizeAt] = size;
    EXPECT_TRUE(answer_of(copy.data()).empty()) << int{size};
  }
}

// Fatbins of the installed toolkit, with each of its compressions, together with machine code.
TEST_F(SimCudaImage, FatbinsOfNvcc_AreLoaded) {
  const std::string nvcc = "PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin nvcc ";
  if (std::system((nvcc + "--version >/dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "no nvcc";
  if (!has_zstd()) GTEST_SKIP() << "no libzstd.so.1";
  std::string folder = (std::filesystem::temp_directory_path() / "halyard-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/a.cu") << R"(extern "C" __global__ void answer(int* p) {
    for (int i = 0; i < 4; ++i) p[i] = 42 + i;
  })";
  for (const char* const mode : {"none", "default", "speed", "balance", "size"}) {
    const std::string command =
        nvcc + "-fatbin -gencode 'arch=compute_80,code=[sm_80,compute_80]' -compress-mode=" + mode +
        " -o " + folder + "/a.fatbin " + folder + "/a.cu";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream file(folder + "/a.fatbin", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(answer_of(bytes.c_str()), kAnswer) << command;
  }
  std::filesystem::remove_all(folder);
}

// CUDA C++ Programming Guide, "Managed variables"
TEST_F(SimCudaImage, ManagedVariable_IsTheHostsToo) {
  const std::string text = R"(.version 7.8
.target sm_80
.address_size 64
.global .attribute(.managed) .align 4 .u32 shared_value = 20;
.visible .entry k() { .reg .b32 %r;
ld.global.u32 %r, [shared_value]; add.u32 %r, %r, 1; st.global.u32 [shared_value], %r; ret; })";
  Handle module = nullptr, function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, text.c_str()), kSuccess);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "k"), kSuccess);
  Address address = 0;
  std::size_t size = 0;
  ASSERT_EQ(cuModuleGetGlobal_v2(&address, &size, module, "shared_value"), kSuccess);
  auto& value = *reinterpret_cast<std::uint32_t*>(address);
  EXPECT_EQ(value, 20U);
  value = 41;
  ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), kSuccess);
  ASSERT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(value, 42U);
  EXPECT_EQ(cuModuleUnload(module), kSuccess);
}

}  // namespace
}  // namespace halyard::testing::driver
