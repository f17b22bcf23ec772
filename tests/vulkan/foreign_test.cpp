// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of another language in recordings: their constants are push constants, which a command
// buffer contains.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

#include "compiler/compile.h"
#include "compiler/process.h"
#include "drivers/vulkan/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using namespace std::chrono_literals;

class VulkanForeign : public VulkanTest {};

TEST_F(VulkanForeign, ConstantSlotsAreRecordedAgainWhereTheyDiffer) {
  const auto folder = compiler::TemporaryDirectory::create().value();
  const std::string path = folder.path() / "scale.comp";
  std::ofstream(path) << R"(#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Y { uint y[]; };
layout(push_constant) uniform P { uint a; uint n; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < n) y[i] = a + i;
}
)";
  const auto file = compiler::compile({.source = path, .targets = {"spirv-1.5"}});
  ASSERT_TRUE(file.ok()) << file.status().message();
  hal::DriverRegistry registry;
  check(register_vulkan_driver(registry));
  hal::Device device = registry.open("vulkan://").value();
  const hal::Executable executable = device.load(*file, "scale.hyx").value();
  const hal::Buffer y =
      device.allocate({.size = 256, .memory = hal::MemoryType::kHostVisible}).value();
  hal::Recorder recorder(device);
  recorder.dispatch(executable.function("scale").value(), {.groups = {1}}, {y},
                    {hal::constant_slot(0), std::uint32_t{64}});
  const hal::CommandBuffer commands = recorder.finish().value();
  // Replays each instance twice.
  constexpr std::uint32_t kReplays = 8;
  const auto replay_all = [&](std::uint32_t first, std::uint32_t step) {
    const Calls recorded("vulkan.vkBeginCommandBuffer");
    for (std::uint32_t i = 0; i < kReplays; ++i) {
      const std::uint32_t a = first + i * step;
      check(device.queue().execute_and_wait(commands, {.constants = {a}}, 60s));
      const auto words = y.map().value();
      EXPECT_EQ(words.as<std::uint32_t>()[0], a);
      EXPECT_EQ(words.as<std::uint32_t>()[63], a + 63);
    }
    return recorded.count();
  };
  replay_all(7, 0);
  EXPECT_EQ(replay_all(7, 0), 0);
  EXPECT_EQ(replay_all(100, 5), static_cast<int>(kReplays));
}

}  // namespace
}  // namespace halyard::vulkan
