// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable: the kernels of one .hyx as compute pipelines. Each pipeline is created when prepare()
// is first called for its function. Two calling conventions (kernel/device_abi.h):
//
//     hy-vulkan-2   by address: one pipeline layout for all kernels of a device
//     hy-vulkan-1   foreign shaders: storage buffers of descriptor set 0, pushed by each dispatch
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/array.h"
#include "base/mutex.h"
#include "drivers/vulkan/native_device.h"
#include "hal/device/driver.h"
#include "halyard/base/result.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::vulkan {

inline constexpr std::string_view kTarget = "spirv-1.5";

class Executable final : public hal::ExecutableImpl {
 public:
  // `caches`: pipelines are cached on disk. Returns kUnavailable if there is no image for the
  // device, or the device cannot store elements of their size; kDataLoss if a kernel is not in the
  // module; and kResourceExhausted.
  static Result<Ref<hal::ExecutableImpl>> load(Ref<NativeDevice> device, kernel::Hyx file,
                                               bool caches);

  Status prepare(std::uint32_t function) override;

  // If false, bindings are descriptors and constants are push constants.
  bool by_address() const noexcept { return by_address_; }
  // Precondition: prepare() has accepted the function.
  VkPipeline pipeline(std::uint32_t function) const noexcept { return entries_[function].pipeline; }
  VkPipelineLayout layout(std::uint32_t function) const noexcept {
    return by_address_ ? device_->address_layout() : entries_[function].layout;
  }

 private:
  struct Entry {
    VkDescriptorSetLayout bindings = VK_NULL_HANDLE;  // of foreign kernels, as is `layout`
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
  };

  Executable(Ref<NativeDevice> device, kernel::Hyx file, bool caches) noexcept
      : ExecutableImpl(std::move(file)), device_(std::move(device)), caches_(caches) {}
  ~Executable() override;

  Status create();
  Status check_storage(std::span<const std::uint32_t> module) const;
  Status check_foreign(const kernel::KernelInfo& kernel) const;
  Status create_layout(const kernel::KernelInfo& kernel, Entry& entry);
  Status create_pipeline(const kernel::KernelInfo& kernel, Entry& entry);

  const Ref<NativeDevice> device_;
  const bool caches_;
  bool by_address_ = false;
  VkShaderModule module_ = VK_NULL_HANDLE;
  base::Mutex mutex_;           // held by prepare(), which writes an entry once
  base::Array<Entry> entries_;  // in the order of file().kernels()
};

}  // namespace halyard::inline v0::vulkan
