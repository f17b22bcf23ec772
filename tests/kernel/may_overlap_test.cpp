// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HY_MAY_OVERLAP in the reflection, in the code of each target, and in the rules. in_place_test.cpp
// runs such kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/manifest.h"
#include "compiler/process.h"
#include "kernel/rejected.h"
#include "kernel/shader_test_util.h"

namespace halyard::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Reads x twice around a write to y.
std::string doubling(const std::string& statement) {
  return "HY_KERNEL(k, 256, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n)" +
         statement +
         ") {\n  HY_ITEMS_BELOW(n) {\n    y[HY_GLOBAL_X] = x[HY_GLOBAL_X] + 1.0f;\n"
         "    y[HY_GLOBAL_X] = y[HY_GLOBAL_X] * x[HY_GLOBAL_X];\n  }\n}\n";
}
const std::string kApart = doubling("");
const std::string kOverlapping = doubling(", HY_MAY_OVERLAP");

kernel::Hyx parsed(const std::string& text, const std::string& target = "x86-64") {
  return kernel::Hyx::parse(compile_text(text, target).value(), "k").value();
}

std::string code_for(const std::string& text, const std::string& target) {
  const kernel::Hyx hyx = parsed(text, target);
  const auto bytes = hyx.images()[0].bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MayOverlap, Stated_IsInTheReflectionOfItsKernelAlone) {
  const kernel::Hyx hyx = parsed(kOverlapping +
                                 "HY_KERNEL(other, 4, 1, 1, HY_OUT(int, y)) { HY_ITEMS {} }\n"
                                 "HY_KERNEL(tile, 4, 1, 1, HY_MAY_OVERLAP, HY_IN_TENSOR1(int, x), "
                                 "HY_OUT_TILE1(int, y, 4)) { HY_ITEMS {} }\n");
  EXPECT_TRUE(hyx.find("k").value()->may_overlap);
  EXPECT_FALSE(hyx.find("other").value()->may_overlap);
  EXPECT_TRUE(hyx.find("tile").value()->may_overlap);
  EXPECT_EQ(hyx.find("k").value()->bindings.size(), 2u);
  EXPECT_EQ(hyx.find("k").value()->constants.size(), 1u);
}

TEST(MayOverlap, Manifest_StatesIt) {
  const auto kernels = [](const std::string& field) {
    return compiler::parse_manifest(
        R"({"kernels": [{"name": "k", "workgroup_size": [64])" + field + "}]}", "k.json");
  };
  EXPECT_FALSE(kernels("").value()[0].may_overlap);
  EXPECT_FALSE(kernels(R"(, "may_overlap": false)").value()[0].may_overlap);
  EXPECT_TRUE(kernels(R"(, "may_overlap": true)").value()[0].may_overlap);
  EXPECT_EQ(kernels(R"(, "may_overlap": 1)").status().message(),
            "k.json: kernel k: has a 'may_overlap' that is not true or false");
}

// If x and y do not overlap, x is read once, by loads for memory that nothing writes.
TEST(MayOverlap, Ptx_ReadsAgainWhatMayHaveBeenWritten) {
  EXPECT_THAT(code_for(kApart, "ptx-sm_80"), HasSubstr("ld.global.nc"));
  EXPECT_THAT(code_for(kOverlapping, "ptx-sm_80"), Not(HasSubstr("ld.global.nc")));
  EXPECT_EQ(occurrences(code_for(kOverlapping, "ptx-sm_80"), "ld.global.f32"), 2u);
}

TEST(MayOverlap, Spirv_DeclaresNoBindingRestrictedOrNotWritable) {
  constexpr std::uint32_t kDecorate = 71, kMemberDecorate = 72, kNonWritable = 24,
                          kRestrictPointer = 5355, kAliasedPointer = 5356;
  const auto count = [](const std::string& text, std::uint32_t decoration) {
    int found = 0;
    for (const SpirvInstruction& each : instructions_of(code_for(text, "spirv-1.5"))) {
      found += each.opcode == kDecorate && each.operands[1] == decoration;
      found += each.opcode == kMemberDecorate && each.operands[2] == decoration;
    }
    return found;
  };
  EXPECT_EQ(count(kApart, kRestrictPointer), 2);
  EXPECT_EQ(count(kOverlapping, kRestrictPointer), 0);
  EXPECT_EQ(count(kOverlapping, kAliasedPointer), 2);
  // Neither kernel writes the block of the arguments.
  EXPECT_EQ(count(kApart, kNonWritable), count(kOverlapping, kNonWritable) + 1);
}

TEST(MayOverlap, EveryTarget_Builds) {
  for (const std::string target :
       {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "ptx-sm_75", "hsaco-gfx90a",
        "hsaco-gfx942", "hsaco-gfx1100", "spirv-1.5", "msl-3.0"}) {
    EXPECT_TRUE(compile_text(kOverlapping, target).ok()) << target;
  }
  const std::string metal = code_for(kOverlapping, "msl-3.0");
  EXPECT_EQ(malformed(metal), "");
  EXPECT_THAT(metal, Not(HasSubstr("restrict")));
}

// Items of a block are still independent: rule 6.
TEST(MayOverlap, Cpu_WorksOnEightElementsAtOnce) {
  const auto scratch = compiler::TemporaryDirectory::create().value();
  const std::string path = (scratch.path() / "image.so").string();
  ASSERT_TRUE(compiler::write_file(path, code_for(kOverlapping, "x86-64-v3")).ok());
  const std::string code =
      compiler::run_process({compiler::find_program("objdump"), "-d", path}, scratch).value().out;
  EXPECT_THAT(code, ::testing::ContainsRegex("vaddps[^\n]*ymm"));
  EXPECT_THAT(code, ::testing::ContainsRegex("vmulps[^\n]*ymm"));
}

TEST(MayOverlap, StatedTwice_IsRefused) {
  expect_rejected({"twice", "\nHY_KERNEL(k, 4, 1, 1, HY_MAY_OVERLAP, HY_MAY_OVERLAP) {}\n", 2,
                   "a second HY_MAY_OVERLAP"});
}

// On a GPU another item may already run the next block.
TEST(MayOverlap, BlockThatWritesABinding_AfterAReadOfAnother_IsRefused) {
  const auto text = [](const std::string& statement) {
    return "\nHY_KERNEL(k, 64, 1, 1, HY_IN(float, x), HY_OUT_TILE1(float, y, 64), "
           "HY_SHARED(float, s, 1)" +
           statement +
           ") {\n  HY_ITEMS { s[0] = 1.0f; }\n  const float first = x[0];\n"
           "  HY_TILE_ITEMS1(y, i) { HY_Y1(y, i) = first; }\n}\n";
  };
  EXPECT_TRUE(compile_text(text("")).ok());
  const std::string overlapping = text(", HY_MAY_OVERLAP");
  expect_rejected({"overlap", overlapping.c_str(), 5,
                   "a block writes 'y', which may overlap (HY_MAY_OVERLAP) what is read"});
}

TEST(MayOverlap, BlockThatWritesASharedArray_AfterAReadOfABinding_IsFine) {
  EXPECT_TRUE(compile_text(R"(
HY_KERNEL(k, 64, 1, 1, HY_INOUT(float, y), HY_SHARED(float, s, 64), HY_MAY_OVERLAP) {
  const float first = y[0];
  HY_ITEMS { s[HY_X] = first; }
  HY_ITEMS { y[HY_X] = s[HY_X]; }
}
)")
                  .ok());
}

}  // namespace
}  // namespace halyard::testing
