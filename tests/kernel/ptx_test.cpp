// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares entries of PTX texts with manifests.
#include "compiler/ptx.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace halyard::compiler {
namespace {

using kernel::Access;
using kernel::ElementType;
using ::testing::HasSubstr;

constexpr std::string_view kSaxpy = R"(
// .entry in_a_comment(
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.visible .entry saxpy(
  .param .u64 .ptr .global .align 4 saxpy_param_0, /* .param .u32 hidden, */
  .param .u64 saxpy_param_1,
  .param .f32 saxpy_param_2,
  .param .u32 saxpy_param_3
)
.maxntid 256, 1, 1
{
  .param .b32 param0;
  ret;
}
.visible .entry nothing()
.reqntid 8, 4
{
  ret;
}
)";

// The reflection of saxpy in the text.
Kernel saxpy() {
  return {.name = "saxpy",
          .workgroup_size = {256, 1, 1},
          .bindings = {{"x", Access::kRead, ElementType::kFloat32},
                       {"y", Access::kReadWrite, ElementType::kFloat32}},
          .constants = {{"a", ElementType::kFloat32, 0}, {"n", ElementType::kUint32, 4}},
          .constants_bytes = 8};
}

std::string fault(std::string_view ptx, Kernel kernel) {
  std::vector<Kernel> kernels = {std::move(kernel)};
  const Status status = fit_to_ptx("k.cu", ptx, kernels);
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInvalidArgument);
  return std::string(status.message());
}

// One entry `k` with these parameters.
std::string entry(const std::string& parameters) {
  return ".visible .entry k(" + parameters + ") { ret; }";
}

TEST(Ptx, AnEntryFitsItsManifest) { EXPECT_EQ(fault(kSaxpy, saxpy()), ""); }

TEST(Ptx, AMissingEntryIsNamedWithTheExistingOnes) {
  Kernel kernel = saxpy();
  kernel.name = "in_a_comment";
  EXPECT_THAT(
      fault(kSaxpy, kernel),
      AllOf(HasSubstr("k.cu: kernel in_a_comment is not an .entry of its PTX, which has saxpy, "
                      "nothing"),
            HasSubstr("extern \"C\"")));
  EXPECT_THAT(fault("not PTX at all", saxpy()), HasSubstr("which has none"));
}

TEST(Ptx, TooManyAndTooFewParametersAreNamed) {
  Kernel kernel = saxpy();
  kernel.constants.pop_back();
  kernel.constants_bytes = 4;
  EXPECT_THAT(fault(kSaxpy, kernel),
              HasSubstr("kernel saxpy: parameter 3, .u32, is not a constant"));
  kernel = saxpy();
  kernel.constants.push_back({"m", ElementType::kUint32, 8});
  EXPECT_THAT(fault(kSaxpy, kernel), HasSubstr("constant m has no parameter; the entry has 4"));
  kernel = saxpy();
  kernel.bindings.push_back({"z", Access::kRead, ElementType::kFloat32});
  EXPECT_THAT(fault(kSaxpy, kernel), HasSubstr("parameter 2 is .f32; binding z is an address"));
  EXPECT_THAT(fault(entry(""), {.name = "k",
                                .workgroup_size = {1, 1, 1},
                                .bindings = {{"x", Access::kRead, ElementType::kFloat32}}}),
              HasSubstr("binding x has no parameter; the entry has 0"));
}

TEST(Ptx, AConstantOfAnotherTypeOrPlaceIsNamed) {
  Kernel kernel = saxpy();
  kernel.constants[0].type = ElementType::kUint32;
  EXPECT_THAT(fault(kSaxpy, kernel),
              HasSubstr("parameter 2 is .f32 at byte 0; constant a is uint32 at byte 0"));
  kernel = saxpy();
  kernel.constants[1] = {"n", ElementType::kUint64, 8};
  EXPECT_THAT(fault(kSaxpy, kernel), HasSubstr("constant n is uint64 at byte 8"));
  kernel = saxpy();
  std::swap(kernel.constants[0].name, kernel.constants[1].name);
  EXPECT_EQ(fault(kSaxpy, kernel), "") << "names are the manifest's own";
  // Alignment places the double at 8, after the float at 0.
  const std::string mixed = entry(".param .u64 a, .param .f32 b, .param .f64 c");
  Kernel two = {.name = "k",
                .workgroup_size = {1, 1, 1},
                .bindings = {{"x", Access::kRead, ElementType::kFloat32}},
                .constants = {{"b", ElementType::kFloat32, 0}, {"c", ElementType::kFloat64, 8}},
                .constants_bytes = 16};
  EXPECT_EQ(fault(mixed, two), "");
  two.constants[1].offset = 4;
  EXPECT_THAT(fault(mixed, two), HasSubstr("parameter 2 is .f64 at byte 8"));
}

TEST(Ptx, AStructHoldsSeveralConstantsAndItsPadding) {
  std::vector<Kernel> kernels = {
      {.name = "k",
       .workgroup_size = {1, 1, 1},
       .bindings = {{"x", Access::kRead, ElementType::kFloat32}},
       .constants = {{"a", ElementType::kFloat64, 0}, {"b", ElementType::kUint32, 8}},
       .constants_bytes = 12}};
  const std::string padded = entry(".param .u64 x, .param .align 8 .b8 p[16]");
  EXPECT_TRUE(fit_to_ptx("k.cu", padded, kernels).ok());
  EXPECT_EQ(kernels[0].constants_bytes, 16u);
  kernels[0].constants_bytes = 20;
  EXPECT_THAT(fault(padded, kernels[0]), HasSubstr("constants_bytes is 20, the entry takes 16"));
  kernels[0].constants_bytes = 12;
  EXPECT_THAT(fault(entry(".param .u64 x, .param .align 8 .b8 p[10]"), kernels[0]),
              HasSubstr("parameter 1 is .b8[10] at byte 0; constant b is uint32 at byte 8"));
}

TEST(Ptx, AConstantBehindAFullStructIsTheNextParameter) {
  const Kernel kernel = {.name = "k",
                         .workgroup_size = {1, 1, 1},
                         .bindings = {{"x", Access::kRead, ElementType::kFloat32}},
                         .constants = {{"a", ElementType::kFloat64, 0},
                                       {"b", ElementType::kUint32, 8},
                                       {"n", ElementType::kUint32, 12}},
                         .constants_bytes = 16};
  EXPECT_EQ(fault(entry(".param .u64 x, .param .align 8 .b8 p[12], .param .u32 n"), kernel), "");
}

TEST(Ptx, AWorkgroupThatTheEntryExcludesIsRefused) {
  Kernel kernel = saxpy();
  kernel.workgroup_size = {256, 2, 1};
  EXPECT_THAT(fault(kSaxpy, kernel),
              HasSubstr("workgroup_size is 256 x 2 x 1, the entry allows 256 items"));
  Kernel other = {.name = "nothing", .workgroup_size = {8, 4, 1}};
  EXPECT_EQ(fault(kSaxpy, other), "");
  other.workgroup_size = {4, 8, 1};
  EXPECT_THAT(fault(kSaxpy, other), HasSubstr("the entry requires 8 x 4 x 1"));
}

TEST(Ptx, AnUndefinedFunctionIsNamed) {
  const std::string ptx = ".extern .func (.param .f32 r) _Z4sqrtf (.param .f32 a);\n" + entry("");
  EXPECT_THAT(fault(ptx, {.name = "k", .workgroup_size = {1, 1, 1}}),
              HasSubstr("calls _Z4sqrtf, which it does not define"));
}

TEST(Ptx, EveryCutOffTextIsRefusedOrFits) {
  for (std::size_t length = 0; length < kSaxpy.size(); ++length) {
    const std::string message = fault(kSaxpy.substr(0, length), saxpy());
    EXPECT_TRUE(length >= kSaxpy.find("saxpy_param_3") || !message.empty()) << length;
  }
  for (const char* const parameters :
       {".param .u64", ".param .u64 x[", ".param .u64 x[4", ".param .b8 x[99999999999]",
        ".param .align 0 .b8 x[1]", ".param x", "u64 x", ".param .u12 x", ".param .b8 x[32765]",
        ".param .align x .u64 y", ".param .pred x"}) {
    EXPECT_THAT(fault(entry(parameters), {.name = "k", .workgroup_size = {1, 1, 1}}),
                HasSubstr("cannot be parsed"))
        << parameters;
  }
}

}  // namespace
}  // namespace halyard::compiler
