// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images for spirv-1.5 and msl-3.0: their conventions, and that every shipped kernel has them.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "kernel/device_abi.h"
#include "kernel/shader_test_util.h"
#include "kernel/shipped_sources.h"

namespace halyard::testing {
namespace {

using ::testing::HasSubstr;

// Numbers of https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html
constexpr std::uint32_t kName = 5, kMemoryModel = 14, kEntryPoint = 15, kExecutionMode = 16,
                        kCapability = 17, kVariable = 59, kDecorate = 71, kMemberDecorate = 72,
                        kLocalSize = 17, kBuiltIn = 11, kWorkgroupSize = 25, kBinding = 33,
                        kDescriptorSet = 34, kNoContraction = 42, kOffset = 35, kPushConstant = 9,
                        kRestrictPointer = 5355, kPhysicalStorageBufferAddresses = 5347,
                        kPhysicalStorageBuffer64 = 5348;

constexpr const char* kTwo = R"(
HY_KERNEL(first, 64, 2, 1, HY_IN(float, x), HY_SCALAR(float, a), HY_INOUT(float, y),
          HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = -(a * x[HY_GLOBAL_X] + y[HY_GLOBAL_X]) / 3.0f - 1.0f; }
}
HY_KERNEL(second, 32, 1, 1, HY_OUT(float, y), HY_SHARED(float, t, 32)) {
  HY_ITEMS { t[HY_X] = 1.5f * (float)HY_X; }
  HY_ITEMS { y[HY_X] = t[31 - HY_X]; }
}
)";

TEST(ShaderImage, ExistsOfEveryShippedKernelButThoseOfDoubles) {
  const auto sources = shipped_sources();
  ASSERT_GT(sources.size(), 1u);
  for (const std::string& path : sources) {
    const auto images = shaders_of_file(path, {"spirv-1.5", "msl-3.0"});
    if (path.ends_with("_double.hyk")) {
      EXPECT_THAT(images.status().message(), ::testing::HasSubstr("double")) << path;
      continue;
    }
    ASSERT_TRUE(images.ok()) << images.status().message();
    EXPECT_EQ(invalid(images->at(0)), "") << path;
    EXPECT_EQ(malformed(images->at(1)), "") << path;
  }
}

TEST(ShaderImage, ExistsOfTheKernelsOfTheConformanceSuite) {
  const auto module =
      shader_of_file(HALYARD_SOURCE_DIR "/conformance/conformance.hyk", "spirv-1.5");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(invalid(*module), "");
}

TEST(ShaderImage, NamesItsTargetAndConvention) {
  const TextFile source(kTwo);
  const auto bytes =
      compiler::compile({.source = source.path(), .targets = {"msl-3.0", "x86-64", "spirv-1.5"}});
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes.value(), "k").value();
  ASSERT_EQ(hyx.images().size(), 3u);
  EXPECT_EQ(hyx.images()[0].target, "msl-3.0");
  EXPECT_EQ(hyx.images()[0].convention, "hy-metal-2");
  EXPECT_EQ(hyx.images()[2].target, "spirv-1.5");
  EXPECT_EQ(hyx.images()[2].convention, "hy-vulkan-2");
}

TEST(ShaderImage, IsOneSpirvModuleWithAnEntryForEachKernel) {
  const std::string module = shader_of(kTwo, "spirv-1.5").value();
  ASSERT_EQ(invalid(module), "");
  EXPECT_EQ(module.substr(0, 8), std::string("\x03\x02\x23\x07\x00\x05\x01\x00", 8));
  std::map<std::uint32_t, std::string> entries;
  std::map<std::string, std::vector<std::uint32_t>> sizes;
  for (const SpirvInstruction& instruction : instructions_of(module)) {
    const auto& operands = instruction.operands;
    if (instruction.opcode == kEntryPoint) entries[operands[1]] = instruction.text_at(2);
    if (instruction.opcode == kExecutionMode && operands[1] == kLocalSize) {
      sizes[entries[operands[0]]] = {operands[2], operands[3], operands[4]};
    }
    // The builtin WorkgroupSize would apply to all entry points.
    if (instruction.opcode == kDecorate && operands[1] == kBuiltIn) {
      EXPECT_NE(operands[2], kWorkgroupSize);
    }
  }
  EXPECT_EQ(sizes, (std::map<std::string, std::vector<std::uint32_t>>{{"first", {64, 2, 1}},
                                                                      {"second", {32, 1, 1}}}));
}

TEST(ShaderImage, RoundsEverySpirvOperationOnItsOwn) {
  std::set<std::uint32_t> arithmetic, alone;
  for (const SpirvInstruction& instruction :
       instructions_of(shader_of(kTwo, "spirv-1.5").value())) {
    static constexpr std::uint32_t kOpcodes[] = {127, 129, 131, 133, 136};  // FNegate to FDiv
    if (std::ranges::count(kOpcodes, instruction.opcode) > 0) {
      arithmetic.insert(instruction.operands[1]);
    }
    if (instruction.opcode == kDecorate && instruction.operands[1] == kNoContraction) {
      alone.insert(instruction.operands[0]);
    }
  }
  EXPECT_EQ(arithmetic.size(), 6u);
  EXPECT_EQ(alone, arithmetic);
}

// SPV_KHR_float_controls: modes and capabilities SignedZeroInfNanPreserve and RoundingModeRTE.
TEST(ShaderImage, KeepsSpecialNumbersAndRoundsToTheNearestEvenInEveryEntry) {
  using Modes = std::multiset<std::vector<std::uint32_t>>;
  std::map<std::uint32_t, Modes> modes;
  std::set<std::uint32_t> capabilities;
  for (const SpirvInstruction& instruction :
       instructions_of(shader_of(kTwo, "spirv-1.5").value())) {
    const auto& operands = instruction.operands;
    if (instruction.opcode == 17) capabilities.insert(operands[0]);  // OpCapability
    if (instruction.opcode == kExecutionMode && operands[1] != kLocalSize) {
      modes[operands[0]].insert({operands.begin() + 1, operands.end()});
    }
  }
  ASSERT_EQ(modes.size(), 2u);
  for (const auto& [entry, its] : modes) EXPECT_EQ(its, (Modes{{4461, 32}, {4462, 32}}));
  EXPECT_TRUE(capabilities.contains(4466) && capabilities.contains(4467));
}

TEST(ShaderImage, FindsItsArgumentsInABlockThatThePushConstantsPointTo) {
  // A single kernel, so that each instruction occurs once.
  const std::string module =
      shader_of(std::string_view(kTwo).substr(0, std::string_view(kTwo).find("HY_KERNEL(second")),
                "spirv-1.5")
          .value();
  std::map<std::string, std::uint32_t> structs;  // by name
  std::map<std::uint32_t, std::vector<std::uint32_t>> offsets;
  std::set<std::uint32_t> capabilities;
  std::vector<std::uint32_t> model;
  int push_constants = 0, restricted = 0;
  for (const SpirvInstruction& instruction : instructions_of(module)) {
    const auto& operands = instruction.operands;
    if (instruction.opcode == kName) structs[instruction.text_at(1)] = operands[0];
    if (instruction.opcode == kCapability) capabilities.insert(operands[0]);
    if (instruction.opcode == kMemoryModel) model = operands;
    if (instruction.opcode == kDecorate) {
      EXPECT_NE(operands[1], kBinding);
      EXPECT_NE(operands[1], kDescriptorSet);
      if (operands[1] == kRestrictPointer) ++restricted;
    }
    if (instruction.opcode == kMemberDecorate && operands[2] == kOffset) {
      offsets[operands[0]].push_back(operands[3]);
    }
    if (instruction.opcode == kVariable && operands[2] == kPushConstant) ++push_constants;
  }
  using Offsets = std::vector<std::uint32_t>;
  EXPECT_EQ(offsets[structs["hy_launch"]], Offsets{0});
  EXPECT_EQ(offsets[structs["hy_arguments"]], (Offsets{0, 8, 16, 20}));  // x, y, a, n
  EXPECT_EQ(push_constants, 1);
  EXPECT_EQ(restricted, 2);
  EXPECT_EQ(model[0], kPhysicalStorageBuffer64);
  EXPECT_TRUE(capabilities.contains(kPhysicalStorageBufferAddresses));
}

TEST(ShaderImage, IsMetalSourceWithAFunctionForEachKernel) {
  const std::string metal = shader_of(kTwo, "msl-3.0").value();
  EXPECT_EQ(malformed(metal), "");
  EXPECT_THAT(metal, HasSubstr("[[max_total_threads_per_threadgroup(128)]]\n"
                               "kernel void first(constant hy_bindings_0& hy_b [[buffer(0)]], "
                               "constant hy_constants_0& hy_c [[buffer(1)]], uint3 "));
  EXPECT_THAT(metal, HasSubstr("struct hy_bindings_0 {\n"
                               "  device const float* hy_p_x [[id(0)]];\n"
                               "  device float* hy_p_y [[id(1)]];\n"
                               "};\n"));
  EXPECT_THAT(metal, HasSubstr("  device const float* const hy_p_x = hy_b.hy_p_x;\n"));
  // Without constants there is no buffer 1.
  EXPECT_THAT(metal, HasSubstr("[[max_total_threads_per_threadgroup(32)]]\n"
                               "kernel void second(constant hy_bindings_1& hy_b [[buffer(0)]], "
                               "uint3 "));
  EXPECT_THAT(metal, HasSubstr("threadgroup float hy_p_t[32];\n"));
}

TEST(ShaderImage, IsMetalSourceWithMoreBindingsThanMetalHasBuffers) {
  std::string parameters;
  for (int i = 0; i < 39; ++i) parameters += "HY_INOUT(uint, b" + std::to_string(i) + "), ";
  const std::string kernel = "HY_KERNEL(wide, 1, 1, 1, " + parameters +
                             "HY_SCALAR(uint, n)) { HY_ITEMS { b38[0] = b0[0] + n; } }";
  const auto metal = shader_of(kernel, "msl-3.0");
  ASSERT_TRUE(metal.ok()) << metal.status().message();
  EXPECT_EQ(malformed(*metal), "");
  EXPECT_THAT(*metal, HasSubstr("device uint* hy_p_b38 [[id(38)]];\n"));
  EXPECT_THAT(*metal, HasSubstr("constant hy_constants_0& hy_c [[buffer(1)]]"));
}

TEST(ShaderImage, OfMetalHasNoArgumentsThatItsKernelDoesNotHave) {
  const std::string metal =
      shader_of("HY_KERNEL(k, 1, 1, 1, HY_SCALAR(uint, n)) { HY_ITEMS {} }", "msl-3.0").value();
  EXPECT_EQ(malformed(metal), "");
  EXPECT_THAT(metal,
              HasSubstr("kernel void k(constant hy_constants_0& hy_c [[buffer(1)]], uint3 "));
}

TEST(ShaderImage, HasTensors) {
  const char* const text = R"(
HY_KERNEL(k, 8, 4, 1, HY_IN_TENSOR3(float, x), HY_OUT_TENSOR2(float, y), HY_OUT_TILE1(uint, z, 4),
          HY_SCALAR(float, a)) {
  HY_TILE_ITEMS2(y, i, j) {
    HY_Y2(y, i, j) = a * HY_AT3(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j, HY_SIZE(x, 2) - 1);
  }
  HY_ITEMS {
    if (HY_INSIDE1(z, HY_X)) hy_atomic_add(HY_Y1(z, HY_X), (uint)HY_TILE(y, 0) + 1u);
  }
}
)";
  EXPECT_EQ(invalid(shader_of(text, "spirv-1.5").value()), "");
  const std::string metal = shader_of(text, "msl-3.0").value();
  EXPECT_EQ(malformed(metal), "");
  // x: 3 sizes, 2 strides; y: 2 sizes, a stride, 2 tiles; z: a size, with its tile from the source.
  EXPECT_THAT(metal, HasSubstr("hy_view_in(3, hy_c.hy_k0, hy_c.hy_k1, hy_c.hy_k2, hy_c.hy_k3, "
                               "hy_c.hy_k4);"));
  EXPECT_THAT(metal, HasSubstr("hy_view_out(2, hy_c.hy_k5, hy_c.hy_k6, 0u, hy_c.hy_k7, 0u, "
                               "hy_c.hy_k8, hy_c.hy_k9, 0u, hy_group.x, hy_group.y, hy_group.z);"));
  EXPECT_THAT(metal, HasSubstr("hy_view_out(1, hy_c.hy_k10, 0u, 0u, 0u, 0u, 4u, 1u, 1u, "));
}

TEST(ShaderImage, IsTheSameWheneverTheSourceIs) {
  for (const std::string target : {"spirv-1.5", "msl-3.0"}) {
    // The image does not contain the source's path.
    const auto folder = compiler::TemporaryDirectory::create().value();
    const std::string here = folder.path() / "k.hyk";
    const std::string there = folder.path() / "deeper" / "k.hyk";
    std::filesystem::create_directory(folder.path() / "deeper");
    std::ofstream(here) << kTwo;
    std::ofstream(there) << kTwo;
    EXPECT_EQ(shader_of_file(here, target).value(), shader_of_file(there, target).value());
  }
}

TEST(ShaderImage, HoldsMoreConstantsThanPushConstantsWould) {
  std::string parameters = "HY_OUT(uint, y)";
  for (int i = 0; i < 39; ++i) parameters += ", HY_SCALAR(uint, s" + std::to_string(i) + ")";
  const auto module = shader_of(
      "HY_KERNEL(k, 1, 1, 1, " + parameters + ") { HY_ITEMS { y[0] = s38; } }", "spirv-1.5");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(invalid(*module), "");
}

TEST(ShaderImage, CannotBeChecked) {
  const TextFile source(kTwo);
  const auto checked =
      compiler::compile({.source = source.path(), .targets = {"spirv-1.5"}, .checked = true});
  EXPECT_EQ(checked.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(checked.status().message()), HasSubstr("spirv-1.5 has no trap"));
}

TEST(ShaderImage, NamesThePackageOfAMissingProgram) {
  const TextFile source(kTwo);
  const std::string clang = compiler::find_toolchain({}).value().clang;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  const auto result =
      compiler::compile({.source = source.path(), .targets = {"spirv-1.5"}, .clang = clang});
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("no glslangValidator in PATH: install glslang-tools"));
}

}  // namespace
}  // namespace halyard::testing
