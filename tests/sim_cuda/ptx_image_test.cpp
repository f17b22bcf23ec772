// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images that programs load: what the linker returns, and fatbins.
#include <string>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

using SimCudaImage = DriverTest;

TEST_F(SimCudaImage, LinkerResult_HoldsEveryInput) {
  const std::string head = ".version 7.8\n.target sm_80\n.address_size 64\n";
  const std::string kernel = head + R"(
.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<2>;
{ .param .b32 p; .param .b32 q; st.param.b32 [p], 21; call (q), twice, (p); ld.param.b32 %r2, [q]; }
ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r2; ret; })";
  const std::string function = head + R"(
.visible .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r<2>;
ld.param.b32 %r1, [x]; add.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; })";
  constexpr int kPtx = 1;
  Handle link = nullptr, module = nullptr, entry = nullptr;
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), kSuccess);
  for (const std::string& text : {kernel, function}) {
    std::string copy = text;
    ASSERT_EQ(
        cuLinkAddData_v2(link, kPtx, copy.data(), copy.size() + 1, "text", 0, nullptr, nullptr),
        kSuccess);
  }
  void* image = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(cuLinkComplete(link, &image, &size), kSuccess);
  ASSERT_EQ(cuModuleLoadData(&module, image), kSuccess);
  ASSERT_EQ(cuLinkDestroy(link), kSuccess);
  ASSERT_EQ(cuModuleGetFunction(&entry, module, "k"), kSuccess);
  Address out = words(1);
  void* parameters[] = {&out};
  ASSERT_EQ(cuLaunchKernel(entry, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), kSuccess);
  EXPECT_EQ(read(out), 42U);
}

}  // namespace
}  // namespace halyard::testing::driver
