// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs images of the conventions hy-vulkan-2 and hy-vulkan-1 for tests: one launch at a time, on
// the first device that Vulkan's loader finds. Not a driver of the HAL.
//
// One thread uses it. If the Khronos validation layer is installed, each of its messages fails the
// running test.
#pragma once

#include <vulkan/vulkan.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "halyard/base/result.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"

namespace halyard::testing {

inline constexpr std::string_view kVulkanTarget = "spirv-1.5";

inline bool has_vulkan_image(const kernel::Hyx& hyx) {
  return hyx.image_for({&kVulkanTarget, 1}, kernel::kVulkanAddressConvention).ok() ||
         hyx.image_for({&kVulkanTarget, 1}, kernel::kVulkanConvention).ok();
}

// A handle and the call that destroys it.
template <class Handle>
class VulkanHandle {
 public:
  using Destroy = void(VKAPI_PTR*)(VkDevice, Handle, const VkAllocationCallbacks*);
  VulkanHandle() = default;
  VulkanHandle(VkDevice device, Handle handle, Destroy destroy)
      : device_(device), handle_(handle), destroy_(destroy) {}
  VulkanHandle(VulkanHandle&& other) noexcept { swap(other); }
  VulkanHandle& operator=(VulkanHandle other) noexcept {
    swap(other);
    return *this;
  }
  ~VulkanHandle() {
    if (destroy_ != nullptr) destroy_(device_, handle_, nullptr);
  }
  const Handle& operator*() const { return handle_; }

 private:
  void swap(VulkanHandle& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
  }

  VkDevice device_ = VK_NULL_HANDLE;
  Handle handle_ = VK_NULL_HANDLE;
  Destroy destroy_ = nullptr;
};

// A storage buffer in coherent memory that the host can access. Destroy it before its device.
struct VulkanBuffer {
  VulkanHandle<VkDeviceMemory> memory;
  VulkanHandle<VkBuffer> buffer;  // destroyed before its memory is freed
  std::span<std::byte> bytes;
  VkDeviceAddress address = 0;
};

// A buffer from `offset` to its end.
struct VulkanBinding {
  VulkanBinding(const VulkanBuffer* whole, std::size_t from = 0) : buffer(whole), offset(from) {}
  const VulkanBuffer* buffer;
  std::size_t offset;  // for hy-vulkan-1 a multiple of minStorageBufferOffsetAlignment
};

class VulkanDevice {
 public:
  // Errors: kUnavailable, with the reason: no driver, or no device that meets the convention.
  static Result<std::unique_ptr<VulkanDevice>> open();
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;
  ~VulkanDevice();

  const char* name() const { return properties_.deviceName; }

  Result<VulkanBuffer> allocate(std::size_t bytes) const;
  // Runs a kernel of the file's image for Vulkan, and returns at its end; `constants` is the
  // kernel's whole struct. Ends the process after a minute, since objects that a launch still uses
  // cannot be released.
  Status run(const kernel::Hyx& hyx, std::string_view kernel,
             const std::array<std::size_t, 3>& groups, std::span<const VulkanBinding> bindings,
             std::span<const std::byte> constants);

 private:
  struct Entry {
    VulkanHandle<VkDescriptorSetLayout> bindings;  // null for hy-vulkan-2
    VulkanHandle<VkPipelineLayout> layout;
    VulkanHandle<VkPipeline> pipeline;
  };
  // An image, with an entry for each kernel that has run.
  struct Image {
    VulkanHandle<VkShaderModule> module;
    bool by_address = false;  // hy-vulkan-2
    std::map<std::string, Entry, std::less<>> entries;
  };

  VulkanDevice() = default;
  Status create_instance();
  Status find_physical_device();
  Status create_device();
  Result<Image*> image(const kernel::Hyx& hyx);
  Result<const Entry*> entry(Image& image, const kernel::KernelInfo& info);
  Status check_launch(const kernel::KernelInfo& info, const std::array<std::size_t, 3>& groups,
                      std::size_t bindings, std::size_t constants) const;
  Result<VkDescriptorSet> descriptors(const Entry& entry, std::span<const VulkanBinding> bindings);
  // Writes the argument block of hy-vulkan-2 and returns its address.
  Result<VkDeviceAddress> write_arguments(std::span<const VulkanBinding> bindings,
                                          std::span<const std::byte> constants);
  // Record the arguments of a launch, for each convention.
  Status bind_address(const Entry& entry, std::span<const VulkanBinding> bindings,
                      std::span<const std::byte> constants);
  Status bind_descriptors(const Entry& entry, std::span<const VulkanBinding> bindings,
                          std::span<const std::byte> constants);
  Status submit_and_wait(std::string_view kernel);

  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties_ = {};
  std::uint32_t queue_family_ = 0;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VulkanBuffer arguments_;
  VulkanHandle<VkDescriptorPool> sets_;
  VulkanHandle<VkCommandPool> pool_;
  VulkanHandle<VkFence> done_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::map<std::uint64_t, Image> images_;  // by content
};

// The device of this process, open while its tests run.
VulkanDevice& vulkan_device();

}  // namespace halyard::testing
