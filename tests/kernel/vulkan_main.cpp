// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the Vulkan device for the tests of this program. Without one it skips them, or fails if
// HALYARD_REQUIRE_VULKAN is set.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/format.h"
#include "kernel/vulkan_device.h"

namespace halyard::testing {
namespace {

std::unique_ptr<VulkanDevice> opened;

// Closes the device while a message of the validation layer can still fail the program.
struct Closing final : ::testing::Environment {
  void TearDown() override { opened = nullptr; }
};

}  // namespace

VulkanDevice& vulkan_device() { return *opened; }

}  // namespace halyard::testing

int main(int argc, char** argv) {
  namespace vulkan = halyard::testing;
  constexpr int kSkipped = 77;  // SKIP_RETURN_CODE of these tests
  ::testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  auto device = vulkan::VulkanDevice::open();
  if (!device.ok()) {
    const bool required = std::getenv("HALYARD_REQUIRE_VULKAN") != nullptr;
    fmt::print(stderr, "{}: no Vulkan device: {}\n",
               required ? "failed, since HALYARD_REQUIRE_VULKAN is set" : "skipped",
               device.status().message());
    return required ? 1 : kSkipped;
  }
  vulkan::opened = *std::move(device);
  fmt::print("on {}\n", vulkan::opened->name());
  ::testing::AddGlobalTestEnvironment(new vulkan::Closing);
  return RUN_ALL_TESTS();
}
