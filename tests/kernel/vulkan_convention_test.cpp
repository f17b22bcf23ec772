// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a launch in each convention of images for Vulkan (kernel/device_abi.h).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/process.h"
#include "kernel/kernel_test_util.h"
#include "kernel/vulkan_device.h"

namespace halyard::testing {
namespace {

constexpr std::string_view kScale = R"(
HY_KERNEL(scale, 64, 1, 1, HY_IN(uint, x), HY_OUT(uint, y), HY_SCALAR(uint, a), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = a * x[HY_GLOBAL_X]; }
}
)";

kernel::Hyx hyx_of(std::string_view text) {
  return kernel::Hyx::parse(compile_text_shared(text, std::string(kVulkanTarget)).value(), "text")
      .value();
}

std::span<std::uint32_t> words_of(const VulkanBuffer& buffer) {
  return {reinterpret_cast<std::uint32_t*>(buffer.bytes.data()), buffer.bytes.size() / 4};
}

// A buffer of `count` words: 1, 2, 3, ...
VulkanBuffer numbers(std::size_t count) {
  VulkanBuffer buffer = vulkan_device().allocate(count * 4).value();
  std::iota(words_of(buffer).begin(), words_of(buffer).end(), 1u);
  return buffer;
}

TEST(VulkanConvention, AddressesABindingAtAnyElement) {
  const kernel::Hyx hyx = hyx_of(kScale);
  const VulkanBuffer x = numbers(100), y = numbers(100);
  const std::uint32_t constants[] = {10, 64};
  for (const std::size_t offset : {4u, 8u, 12u, 20u}) {
    std::iota(words_of(y).begin(), words_of(y).end(), 1u);
    const VulkanBinding bindings[] = {{&x, offset}, {&y, offset + 4}};
    ASSERT_TRUE(vulkan_device()
                    .run(hyx, "scale", {1, 1, 1}, bindings, std::as_bytes(std::span(constants)))
                    .ok());
    const std::size_t first = offset / 4 + 1;
    for (std::size_t i = 0; i < 100; ++i) {
      const bool written = i >= first && i < first + 64;
      EXPECT_EQ(words_of(y)[i], written ? 10 * i : i + 1) << "word " << i << ", offset " << offset;
    }
  }
}

TEST(VulkanConvention, PassesMoreThan128BytesOfConstants) {
  constexpr std::uint32_t kCount = 39;  // a kernel has at most 40 parameters
  std::string parameters, sum = "0u";
  std::vector<std::uint32_t> constants;
  std::uint32_t want = 0;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    parameters += fmt::format(", HY_SCALAR(uint, s{})", i);
    sum += fmt::format(" + s{} * {}u", i, i + 1);
    constants.push_back(i * 7919 + 3);
    want += constants.back() * (i + 1);
  }
  const kernel::Hyx hyx = hyx_of(fmt::format(
      "HY_KERNEL(k, 1, 1, 1, HY_OUT(uint, y){}) {{ HY_ITEMS {{ y[0] = {}; }} }}", parameters, sum));
  const VulkanBuffer y = numbers(1);
  const VulkanBinding bindings[] = {&y};
  ASSERT_TRUE(
      vulkan_device().run(hyx, "k", {1, 1, 1}, bindings, std::as_bytes(std::span(constants))).ok());
  EXPECT_EQ(words_of(y)[0], want);
}

TEST(VulkanConvention, PassesNothingToAKernelWithoutParameters) {
  const kernel::Hyx hyx =
      hyx_of("HY_KERNEL(k, 1, 1, 1, HY_SHARED(uint, t, 1)) { HY_ITEMS { t[0] = 1; } }");
  EXPECT_TRUE(vulkan_device().run(hyx, "k", {1, 1, 1}, {}, {}).ok());
}

TEST(VulkanConvention, BindsTheBuffersOfAShaderOfAnotherLanguageInOrder) {
  const auto folder = compiler::TemporaryDirectory::create().value();
  const std::string path = folder.path() / "scale.comp";
  std::ofstream(path) << R"(#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
layout(push_constant) uniform P { uint a; uint n; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < n) y[i] = a * x[i];
}
)";
  const auto bytes = compiler::compile({.source = path, .targets = {std::string(kVulkanTarget)}});
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const kernel::Hyx hyx = kernel::Hyx::parse(*bytes, path).value();
  EXPECT_EQ(hyx.images()[0].convention, kernel::kVulkanConvention);
  const VulkanBuffer x = numbers(80), y = numbers(80);
  const std::uint32_t constants[] = {10, 70};
  const VulkanBinding bindings[] = {&x, &y};
  ASSERT_TRUE(vulkan_device()
                  .run(hyx, "scale", {2, 1, 1}, bindings, std::as_bytes(std::span(constants)))
                  .ok());
  for (std::uint32_t i = 0; i < 80; ++i) {
    EXPECT_EQ(words_of(y)[i], i < 70 ? 10 * (i + 1) : i + 1);
  }
}

}  // namespace
}  // namespace halyard::testing
