// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images for NVIDIA's and AMD's GPUs, convention hy-kernarg-1. No GPU is needed: the assembler and
// the code object's own metadata show whether a launch would match.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/code_object.h"
#include "compiler/compile.h"
#include "compiler/process.h"
#include "kernel/device_abi.h"
#include "kernel/kernel_test_util.h"
#include "kernel/shipped_sources.h"

namespace halyard::testing {
namespace {

using compiler::CompileOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kPtxTargets = {"ptx-sm_75", "ptx-sm_80", "ptx-sm_90"};
const std::vector<std::string> kHsacoTargets = {
    "hsaco-gfx908",  "hsaco-gfx90a",  "hsaco-gfx942",       "hsaco-gfx1030",
    "hsaco-gfx1100", "hsaco-gfx1201", "hsaco-gfx11-generic"};

// All parameter kinds, and a kernel without constants.
constexpr std::string_view kMixed = R"(
HY_KERNEL(mixed, 16, 4, 2, HY_IN(float, x), HY_SCALAR(float, a), HY_OUT_TILE2(float, y, 8, 32),
          HY_SCALAR(uint, n), HY_INOUT(uint, z), HY_SHARED2(float, t, 4, 16), HY_PRIVATE(float, p)) {
  HY_ITEMS { HY_MY(p) = a / hy_sqrt(x[HY_X]) + a * x[HY_X]; t[HY_Y][HY_X] = HY_MY(p); }
  HY_TILE_ITEMS2(y, i, j) { HY_Y2(y, i, j) = t[i % 4][j % 16]; }
  HY_ITEMS_BELOW(n) { hy_atomic_add(z[HY_GROUPS_Y], hy_atomic_compare_exchange(z[0], 1u, 2u)); }
}
HY_KERNEL(bare, 64, 1, 1, HY_INOUT(int, x)) { HY_ITEMS { hy_atomic_max(x[0], x[1 + HY_X]); } }
)";

// The image of one target.
std::string image_of(std::string_view text, const std::string& target,
                     CompileOptions options = {}) {
  const TextFile file(text);
  options.source = file.path();
  options.targets = {target};
  const auto bytes = compiler::compile(options);
  if (!bytes.ok()) return bytes.status().to_string();
  const kernel::Hyx hyx = kernel::Hyx::parse(*bytes, "k").value();
  EXPECT_EQ(hyx.images()[0].target, target);
  EXPECT_EQ(hyx.images()[0].convention, kernel::kKernargConvention);
  const auto image = hyx.images()[0].bytes;
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

TEST(DeviceImage, PtxHasTheOldestVersionThatKnowsTheProcessor) {
  EXPECT_THAT(image_of(kMixed, "ptx-sm_75"), HasSubstr("\n.version 7.0\n.target sm_75\n"));
  EXPECT_THAT(image_of(kMixed, "ptx-sm_80"), HasSubstr("\n.version 7.0\n.target sm_80\n"));
  EXPECT_THAT(image_of(kMixed, "ptx-sm_90"), HasSubstr("\n.version 7.8\n.target sm_90\n"));
}

TEST(DeviceImage, PtxTakesBuffersAndThenConstantsAndStatesItsGroupSize) {
  const std::string ptx = image_of(kMixed, "ptx-sm_80");
  EXPECT_THAT(ptx, HasSubstr(".visible .entry mixed(\n"
                             "\t.param .u64 mixed_param_0,\n"
                             "\t.param .u64 mixed_param_1,\n"
                             "\t.param .u64 mixed_param_2,\n"
                             "\t.param .align 4 .b8 mixed_param_3[20]\n)\n"
                             ".reqntid 16, 4, 2\n"));
  EXPECT_THAT(ptx, HasSubstr(".visible .entry bare(\n"
                             "\t.param .u64 bare_param_0\n)\n"
                             ".reqntid 64, 1, 1"));
}

TEST(DeviceImage, PtxRoundsEveryOperation) {
  const std::string ptx = image_of(kMixed, "ptx-sm_80");
  EXPECT_THAT(ptx, AllOf(HasSubstr("div.rn.f32"), HasSubstr("sqrt.rn.f32"), HasSubstr("mul.rn.f32"),
                         HasSubstr("add.rn.f32"), Not(HasSubstr("fma")), Not(HasSubstr(".ftz"))));
}

TEST(DeviceImage, PtxUsesTheMemoryThatWasDeclared) {
  const std::string ptx = image_of(kMixed, "ptx-sm_80");
  EXPECT_THAT(ptx, AllOf(HasSubstr("ld.global.nc.f32"), HasSubstr("st.shared.f32"),
                         HasSubstr("atom.global.cas.b32"), HasSubstr("bar.sync")));
  EXPECT_THAT(ptx, Not(HasSubstr("ld.local"))) << "a private value is not in a register";
  EXPECT_THAT(ptx, Not(HasSubstr(".extern"))) << "something is left for the driver to link";
}

TEST(DeviceImage, CodeObjectsStateArgumentsGroupSizeAndSharedBytes) {
  for (const std::string& target : kHsacoTargets) {
    SCOPED_TRACE(target);
    const compiler::CodeObject object =
        compiler::read_code_object(image_of(kMixed, target), target).value();
    EXPECT_THAT(object.target, HasSubstr(target.substr(std::string_view("hsaco-").size())));
    const auto& kernels = object.kernels;
    ASSERT_EQ(kernels.size(), 2u);
    const compiler::CodeObjectKernel& mixed = kernels[0];
    EXPECT_EQ(mixed.name, "mixed");
    EXPECT_EQ(mixed.workgroup_size, (std::array<std::uint32_t, 3>{16, 4, 2}));
    EXPECT_EQ(mixed.shared_bytes, 4u * 16 * 4);
    EXPECT_EQ(mixed.argument_bytes, 44u);
    EXPECT_EQ(mixed.private_bytes, 0u);
    EXPECT_EQ(mixed.max_items, 16u * 4 * 2);
    EXPECT_EQ(mixed.wave_size, target.starts_with("hsaco-gfx9") ? 64u : 32u);
    EXPECT_GT(mixed.vector_registers, 0u);
    EXPECT_GT(mixed.scalar_registers, 0u);
    EXPECT_EQ(mixed.vector_spills + mixed.scalar_spills, 0u);
    ASSERT_EQ(mixed.arguments.size(), 4u);
    for (std::uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(mixed.arguments[i].kind, "global_buffer");
      EXPECT_EQ(mixed.arguments[i].offset, 8 * i);
    }
    EXPECT_EQ(mixed.arguments[3].kind, "by_value");
    EXPECT_EQ(mixed.arguments[3].offset, 24u);
    EXPECT_EQ(mixed.arguments[3].size, 20u);
    EXPECT_EQ(kernels[1].name, "bare");
    EXPECT_EQ(kernels[1].arguments.size(), 1u);
  }
}

TEST(DeviceImage, EveryShippedKernelCompilesForAmd) {
  for (const std::string& source : shipped_sources()) {
    // compile() itself compares the metadata with the reflection.
    const auto bytes = compiler::compile({.source = source, .targets = kHsacoTargets});
    EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  }
}

TEST(DeviceImage, PtxasAcceptsEveryShippedKernelWithoutSpills) {
  std::string ptxas = compiler::find_program("ptxas");
  if (ptxas.empty()) ptxas = compiler::find_program("/usr/local/cuda/bin/ptxas");
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas: the CUDA toolkit is not installed";
  const auto scratch = compiler::TemporaryDirectory::create().value();
  for (const std::string& source : shipped_sources()) {
    const auto bytes = compiler::compile({.source = source, .targets = kPtxTargets}).value();
    const kernel::Hyx hyx = kernel::Hyx::parse(bytes, source).value();
    for (const kernel::ImageInfo& image : hyx.images()) {
      const std::string path = (scratch.path() / "k.ptx").string();
      ASSERT_TRUE(compiler::write_file(
                      path, {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()})
                      .ok());
      const auto output =
          compiler::run_process({ptxas, "-v", "-arch=" + std::string(image.target.substr(4)), path,
                                 "-o", path + ".cubin"},
                                scratch)
              .value();
      EXPECT_EQ(output.exit_code, 0) << source << " for " << image.target << ": " << output.err;
      EXPECT_THAT(output.err, Not(::testing::ContainsRegex("[1-9][0-9]* bytes spill"))) << source;
    }
  }
}

TEST(DeviceImage, CheckedIndicesTrap) {
  constexpr std::string_view kText = R"(
HY_KERNEL(k, 64, 1, 1, HY_IN_TENSOR1(float, x), HY_OUT_TILE1(float, y, 64)) {
  HY_TILE_ITEMS1(y, i) { HY_Y1(y, i) = HY_AT1(x, i + 1); }
}
)";
  EXPECT_THAT(image_of(kText, "ptx-sm_80"), Not(HasSubstr("trap;")));
  EXPECT_THAT(image_of(kText, "ptx-sm_80", {.checked = true}), HasSubstr("trap;"));
}

TEST(DeviceImage, EveryOptimizationLevelAndDebugInformationBuild) {
  for (int level = 0; level <= 3; ++level) {
    for (const std::string target : {"ptx-sm_80", "hsaco-gfx942"}) {
      const std::string image =
          image_of(kMixed, target, {.optimization = level, .debug = level % 2 == 0});
      EXPECT_THAT(image, HasSubstr("mixed")) << target << " at level " << level;
      EXPECT_THAT(image, Not(HasSubstr("InvalidArgument"))) << target << " at level " << level;
    }
  }
}

TEST(DeviceImage, DependsOnTheSourceAndNotOnItsPath) {
  // Each call compiles another file.
  for (const std::string target : {"ptx-sm_80", "hsaco-gfx942"}) {
    EXPECT_EQ(image_of(kMixed, target), image_of(kMixed, target)) << target;
  }
}

TEST(DeviceImage, IsRebuiltWhenTheDeviceFormOfTheLanguageChanges) {
  const TextFile file(kMixed);
  std::vector<std::string> inputs;
  ASSERT_TRUE(
      compiler::compile({.source = file.path(), .targets = {"ptx-sm_80"}, .inputs = &inputs}).ok());
  EXPECT_THAT(inputs, ::testing::Contains(::testing::EndsWith("halyard/kernel/device.h")));
}

TEST(CodeObject, ThatDiffersFromTheReflectionIsRefusedByKernelAndValue) {
  const std::string image = image_of(kMixed, "hsaco-gfx942");
  const auto check = [&](const compiler::Kernel& kernel) {
    return std::string(compiler::check_code_object(image, "k.hsaco", {&kernel, 1}).message());
  };
  const compiler::Binding buffer{"x", kernel::Access::kRead, kernel::ElementType::kFloat32};
  compiler::Kernel bare{
      .name = "bare", .workgroup_size = {64, 1, 1}, .bindings = {buffer}, .constants = {}};
  EXPECT_EQ(check(bare), "");
  bare.constants_bytes = 4;
  EXPECT_THAT(check(bare),
              HasSubstr("'bare' takes 1 buffer and 0 bytes of constants, not 1 and 4"));
  bare.constants_bytes = 0;
  bare.bindings.push_back(buffer);
  EXPECT_THAT(check(bare),
              HasSubstr("'bare' takes 1 buffer and 0 bytes of constants, not 2 and 0"));
  bare.workgroup_size = {32, 2, 1};
  EXPECT_THAT(check(bare), HasSubstr("'bare' requires groups of 64 x 1 x 1 items, not 32 x 2 x 1"));
  bare.name = "absent";
  EXPECT_THAT(check(bare), HasSubstr("k.hsaco: kernel 'absent' is not in the code object"));
}

TEST(CodeObject, ThatIsDamagedIsAnErrorWhateverIsMissing) {
  const std::string image = image_of(kMixed, "hsaco-gfx942");
  ASSERT_TRUE(compiler::read_code_object(image, "whole").ok());
  std::size_t refused = 0;
  for (std::size_t size = 0; size < image.size(); size += 7) {
    refused += !compiler::read_code_object(image.substr(0, size), "cut").ok();
  }
  EXPECT_GT(refused, 100u) << "the metadata is at the front, the code behind it";
  // Changes every byte of the headers and of the metadata: each time a result, and no fault.
  for (std::size_t i = 0; i < 2048; ++i) {
    std::string changed = image;
    changed[i] = static_cast<char>(~changed[i]);
    const auto kernels = compiler::read_code_object(changed, "changed");
    EXPECT_TRUE(kernels.ok() || kernels.status().code() == StatusCode::kInvalidArgument) << i;
  }
  EXPECT_FALSE(compiler::read_code_object("not an ELF file", "text").ok());
}

}  // namespace
}  // namespace halyard::testing
