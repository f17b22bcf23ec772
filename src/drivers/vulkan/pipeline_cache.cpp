// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/pipeline_cache.h"

#include <cstring>
#include <span>
#include <string>

#include "base/array.h"
#include "base/disk_cache.h"
#include "base/format.h"
#include "drivers/vulkan/native_device.h"

namespace halyard::inline v0::vulkan {
namespace {

Result<base::DiskCache> open_disk() {
  const std::string folder = base::default_cache_folder();
  if (folder.empty()) return Status(StatusCode::kNotFound, "vulkan: there is no folder for caches");
  return base::DiskCache::open(folder, base::DiskCache::kDefaultMaxBytes);
}

// Whether the bytes have the cache header of this device. Vulkan also checks it, but not all
// drivers do so well.
bool is_of(const PhysicalDevice& physical, std::span<const std::byte> bytes) noexcept {
  VkPipelineCacheHeaderVersionOne header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.headerSize == sizeof header &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == physical.vendor && header.deviceID == physical.device &&
         std::memcmp(header.pipelineCacheUUID, physical.cache_uuid, VK_UUID_SIZE) == 0;
}

}  // namespace

base::ContentHash PipelineCache::key_of(const PhysicalDevice& physical) noexcept {
  const std::uint32_t numbers[] = {physical.vendor, physical.device, physical.driver_version};
  return base::content_hash({"vulkan pipelines", base::text_of(std::as_bytes(std::span(numbers))),
                             base::text_of(std::as_bytes(std::span(physical.cache_uuid)))});
}

VkPipelineCache PipelineCache::get(NativeDevice& device) {
  base::LockGuard lock(mutex_);
  if (!opened_) open(device);
  opened_ = true;
  return cache_;
}

void PipelineCache::open(NativeDevice& device) {
  const Result<base::DiskCache> disk = open_disk();
  if (!disk.ok()) return;
  const base::DiskCache::Entry entry = disk->find(key_of(device.physical()));
  VkPipelineCacheCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  if (entry && is_of(device.physical(), entry.bytes())) {
    info.initialDataSize = entry.bytes().size();
    info.pInitialData = entry.bytes().data();
    stored_ = base::content_hash({base::text_of(entry.bytes())});
  }
  const VkResult result =
      device.vk().vkCreatePipelineCache(device.handle(), &info, nullptr, &cache_);
  if (result != VK_SUCCESS) cache_ = VK_NULL_HANDLE;
  (void)device.check(result, "vkCreatePipelineCache");  // notes a loss
}

void PipelineCache::close(NativeDevice& device) {
  if (cache_ == VK_NULL_HANDLE) return;
  const Functions& vk = device.vk();
  std::size_t size = 0;
  base::Array<std::byte> bytes;
  // The cache does not grow between the two calls, since nothing else uses it.
  if (vk.vkGetPipelineCacheData(device.handle(), cache_, &size, nullptr) == VK_SUCCESS &&
      bytes.grow(size) &&
      vk.vkGetPipelineCacheData(device.handle(), cache_, &size, bytes.data()) == VK_SUCCESS) {
    const std::span<const std::byte> data(bytes.data(), size);
    if (base::content_hash({base::text_of(data)}) != stored_) {
      if (const Result<base::DiskCache> disk = open_disk(); disk.ok()) {
        (void)disk->put(key_of(device.physical()), data);
      }
    }
  }
  vk.vkDestroyPipelineCache(device.handle(), cache_, nullptr);
  cache_ = VK_NULL_HANDLE;
}

}  // namespace halyard::inline v0::vulkan
