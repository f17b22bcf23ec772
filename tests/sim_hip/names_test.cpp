// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exports of each version of the library (hip_hcc.map.in of ROCm/clr and ROCm/rocm-systems).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace {

void* open(const char* name) {
  void* const library =
      dlopen((std::string(HALYARD_SIM_HIP_FOLDER "/") + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}
bool has(void* library, const char* name) { return dlsym(library, name) != nullptr; }

int version_of(void* library) {
  const auto ask = reinterpret_cast<int (*)(int*)>(dlsym(library, "hipRuntimeGetVersion"));
  int version = 0;
  EXPECT_EQ(ask(&version), 0);
  return version / 100'000;
}

TEST(HipNames, OfVersion56) {
  void* const library = open("libamdhip64.so.5");
  EXPECT_EQ(version_of(library), 506);
  EXPECT_TRUE(has(library, "hipStreamGetDevice"));
  EXPECT_TRUE(has(library, "hipLaunchHostFunc"));
  EXPECT_FALSE(has(library, "hipGetDevicePropertiesR0600"));
  EXPECT_FALSE(has(library, "hipGetProcAddress"));
}

TEST(HipNames, OfVersion63) {
  void* const library = open("libamdhip64.so.6");
  EXPECT_EQ(version_of(library), 603);
  EXPECT_TRUE(has(library, "hipGetDevicePropertiesR0600"));
  EXPECT_TRUE(has(library, "hipGetProcAddress"));
  EXPECT_FALSE(has(library, "hipStreamBatchMemOp"));
  EXPECT_FALSE(has(library, "hipLaunchKernelExC"));
}

TEST(HipNames, OfVersion7) {
  void* const library = open("libamdhip64.so");
  EXPECT_EQ(version_of(library), 715);
  EXPECT_TRUE(has(library, "hipLaunchKernelExC"));
  EXPECT_TRUE(has(library, "hipLibraryLoadData"));
  EXPECT_FALSE(has(library, "hiprtcCompileProgram"));  // a library of its own since 7.0
}

// Programs that hipcc linked ask for names with their nodes.
TEST(HipNames, HaveVersionNodes) {
  void* const library = open("libamdhip64.so.7");
  EXPECT_NE(dlvsym(library, "hipMalloc", "hip_4.2"), nullptr);
  EXPECT_NE(dlvsym(library, "hipMallocAsync", "hip_5.1"), nullptr);
  EXPECT_NE(dlvsym(library, "hipGetDevicePropertiesR0600", "hip_6.0"), nullptr);
  EXPECT_EQ(dlvsym(library, "hipGetDevicePropertiesR0600", "hip_4.2"), nullptr);
  EXPECT_NE(dlvsym(library, "__hipRegisterFatBinary", "hip_4.2"), nullptr);
}

TEST(HipNames, NothingElseIsExported) {
  void* const library = open("libamdhip64.so.7");
  EXPECT_FALSE(has(library, "_ZN7halyard2v03sim3gpu6kRulesE"));
  EXPECT_FALSE(has(library, "roctxMarkA"));
}

}  // namespace
