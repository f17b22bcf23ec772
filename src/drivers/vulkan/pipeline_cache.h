// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PipelineCache: what Vulkan's driver has compiled for a VkDevice, kept on disk between processes
// (base/disk_cache.h, in base::default_cache_folder()).
//
//     first kernel      entry of this device and driver ──> vkCreatePipelineCache
//     device destroyed  vkGetPipelineCacheData ──> entry, if there is more than there was
//
// Nothing fails for want of it: without a folder, or with an entry that is damaged or another
// device's, kernels are compiled anew. Of processes that run at the same time the last one's entry
// stays.
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
  // The entry's name: of the physical device and its driver, both with versions.
  static base::ContentHash key_of(const PhysicalDevice& physical) noexcept;

  // Opened by the first call. VK_NULL_HANDLE: there is none. Thread-safe.
  VkPipelineCache get(NativeDevice& device);
  // Stores what is new, and destroys it. Nothing uses it any more.
  void close(NativeDevice& device);

 private:
  void open(NativeDevice& device);

  base::Mutex mutex_;
  bool opened_ = false;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  base::ContentHash stored_;  // of the bytes in the entry
};

}  // namespace halyard::inline v0::vulkan
