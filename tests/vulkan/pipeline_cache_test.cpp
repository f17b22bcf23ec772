// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines that a process has compiled and the next process need not compile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/disk_cache.h"
#include "drivers/vulkan/driver.h"
#include "drivers/vulkan/pipeline_cache.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

class VulkanPipelineCache : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    folder_ = ::testing::TempDir() + "hy-pipelines-" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    setenv("HALYARD_CACHE_DIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    VulkanTest::TearDown();
  }

  // Imitates a process: compiles a kernel and ends. Returns the size of the cache that it began
  // with.
  static std::uint64_t run(const std::string& uri = "vulkan://") {
    fake().cached = 0;
    hal::DriverRegistry registry;
    check(register_vulkan_driver(registry));
    const hal::Device device = registry.open(uri).value();
    const std::string path =
        std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/vulkan_kernels.hyx";
    const hal::Executable executable = device.load(path).value();
    EXPECT_TRUE(executable.function("mix").ok());
    return fake().cached;
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    if (!std::filesystem::exists(folder_)) return all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      all.push_back(entry.path());
    }
    return all;
  }
  // The bytes of this device's cache entry.
  std::vector<std::byte> stored() const {
    const auto disk = base::DiskCache::open(folder_, 1 << 20).value();
    const auto entry = disk.find(key());
    return {entry.bytes().begin(), entry.bytes().end()};
  }
  void store(std::span<const std::byte> bytes) const {
    check(base::DiskCache::open(folder_, 1 << 20).value().put(key(), bytes));
  }
  static base::ContentHash key() {
    return PipelineCache::key_of(Library::open().value()->devices()[0]);
  }

  std::string folder_;
};

TEST_F(VulkanPipelineCache, IsReadByTheNextProcess) {
  EXPECT_EQ(run(), 0u);
  const std::vector<std::byte> bytes = stored();
  EXPECT_GE(bytes.size(), sizeof(VkPipelineCacheHeaderVersionOne));
  EXPECT_EQ(run(), bytes.size());
}

TEST_F(VulkanPipelineCache, IsNotWrittenAgainWhileItIsTheSame) {
  const Calls created("cache.create");
  (void)run();
  EXPECT_EQ(created.count(), 1);
  EXPECT_NE(run(), 0u);
  EXPECT_EQ(created.count(), 1);
}

TEST_F(VulkanPipelineCache, ADamagedEntryIsIgnoredAndReplaced) {
  (void)run();
  const std::vector<std::byte> bytes = stored();
  ASSERT_EQ(files().size(), 1u);
  std::filesystem::resize_file(files()[0], std::filesystem::file_size(files()[0]) - 1);
  EXPECT_EQ(run(), 0u);
  EXPECT_EQ(stored(), bytes);
}

TEST_F(VulkanPipelineCache, AnEntryOfAnotherDeviceIsIgnored) {
  (void)run();
  const std::vector<std::byte> bytes = stored();
  for (const std::size_t at :
       {std::size_t{0}, offsetof(VkPipelineCacheHeaderVersionOne, headerVersion),
        offsetof(VkPipelineCacheHeaderVersionOne, vendorID),
        offsetof(VkPipelineCacheHeaderVersionOne, deviceID),
        offsetof(VkPipelineCacheHeaderVersionOne, pipelineCacheUUID)}) {
    std::vector<std::byte> foreign = bytes;
    foreign[at] ^= std::byte{1};
    store(foreign);
    EXPECT_EQ(run(), 0u) << "header byte " << at;
  }
  store(std::span(bytes).first(sizeof(VkPipelineCacheHeaderVersionOne) - 1));
  EXPECT_EQ(run(), 0u);
}

TEST_F(VulkanPipelineCache, AnotherDriverHasAnEntryOfItsOwn) {
  (void)run();
  fake().another_driver = true;
  EXPECT_EQ(run(), 0u);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(VulkanPipelineCache, IsTurnedOffByTheUri) {
  const Calls caches("vulkan.vkCreatePipelineCache");
  (void)run("vulkan://?cache=0");
  EXPECT_EQ(caches.count(), 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(VulkanPipelineCache, KernelsAreCompiledWithoutIt) {
  for (const char* const call : {"vulkan.vkCreatePipelineCache", "vulkan.vkGetPipelineCacheData"}) {
    Calls calls(call);
    calls.fail();
    (void)run();
    EXPECT_EQ(calls.failed(), 1) << call;
    EXPECT_TRUE(files().empty()) << call;
  }
  setenv("HALYARD_CACHE_DIR", "/proc/no folder", 1);
  (void)run();
}

}  // namespace
}  // namespace halyard::vulkan
