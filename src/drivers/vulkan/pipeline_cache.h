// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PipelineCache: the pipelines that Vulkan's driver has compiled for a VkDevice, cached on disk
// (base/disk_cache.h, in base::default_cache_folder()).
//
//     first kernel      entry of this device and driver ──> vkCreatePipelineCache
//     device destroyed  vkGetPipelineCacheData ──> entry, if it has grown
//
// The cache is optional: without a folder, or if the entry is damaged or belongs to another device,
// kernels are compiled again. If several processes run at the same time, the entry of the last to
// end stays.
#pragma once

#include <cstdint>

#include "base/content_hash.h"
#include "base/mutex.h"
#include "drivers/vulkan/functions.h"

namespace halyard::inline v0::vulkan {

class NativeDevice;
struct PhysicalDevice;

class PipelineCache {
 public:
  // The key of the entry: the physical device and its driver, both with versions.
  static base::ContentHash key_of(const PhysicalDevice& physical) noexcept;

  // The first call opens the cache. VK_NULL_HANDLE if there is none. Thread-safe.
  VkPipelineCache get(NativeDevice& device);
  // Stores the cache if it has changed, and destroys it. Precondition: nothing uses it any more.
  void close(NativeDevice& device);

 private:
  void open(NativeDevice& device);

  base::Mutex mutex_;
  bool opened_ = false;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  base::ContentHash stored_;  // of the bytes in the entry
};

}  // namespace halyard::inline v0::vulkan
