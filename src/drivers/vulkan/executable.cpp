// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/executable.h"

#include <cstring>
#include <new>
#include <string>

#include "base/format.h"
#include "hal/validate.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::vulkan {
namespace {

constexpr std::string_view kTargets[] = {kTarget};

Status no_memory() {
  return Status(StatusCode::kResourceExhausted, "vulkan: no memory for an executable");
}

}  // namespace

Result<Ref<hal::ExecutableImpl>> Executable::load(Ref<NativeDevice> device, kernel::Hyx file) {
  auto executable =
      Ref<Executable>::adopt(new (std::nothrow) Executable(std::move(device), std::move(file)));
  if (!executable) return no_memory();
  HALYARD_RETURN_IF_ERROR(executable->create());
  return Ref<hal::ExecutableImpl>(std::move(executable));
}

Executable::~Executable() {
  const Functions& vk = device_->vk();
  for (const Entry& entry : entries_) {
    vk.vkDestroyPipeline(device_->handle(), entry.pipeline, nullptr);
    vk.vkDestroyPipelineLayout(device_->handle(), entry.layout, nullptr);
    vk.vkDestroyDescriptorSetLayout(device_->handle(), entry.bindings, nullptr);
  }
}

Status Executable::create() {
  auto image = file().image_for(kTargets, kernel::kVulkanAddressConvention);
  by_address_ = image.ok();
  if (!by_address_) {
    const Status none = image.status();
    image = file().image_for(kTargets, kernel::kVulkanConvention);
    if (!image.ok()) return none;
  }
  const std::span<const std::byte> bytes = (*image)->bytes;
  base::Array<std::uint32_t> words;  // an image is not aligned in its file
  if (!words.grow(bytes.size() / sizeof(std::uint32_t)) ||
      !entries_.grow(file().kernels().size())) {
    return no_memory();
  }
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
  VkShaderModuleCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = words.size() * sizeof(std::uint32_t);
  info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  HALYARD_RETURN_IF_ERROR(
      device_->check(device_->vk().vkCreateShaderModule(device_->handle(), &info, nullptr, &module),
                     "vkCreateShaderModule"));
  Status status;
  for (std::size_t i = 0; i < entries_.size() && status.ok(); ++i) {
    const kernel::KernelInfo& kernel = file().kernels()[i];
    // Vulkan does not refuse what is beyond its limits; the HAL does, when the function is asked
    // for.
    if (!hal::check_limits(limits_of(device_->physical()), kernel).ok()) continue;
    if (!by_address_) status = create_layout(kernel, entries_[i]);
    if (status.ok()) status = create_pipeline(kernel, module, entries_[i]);
  }
  device_->vk().vkDestroyShaderModule(device_->handle(), module, nullptr);
  return status;
}

Status Executable::check_foreign(const kernel::KernelInfo& kernel) const {
  const PhysicalDevice& physical = device_->physical();
  const struct {
    std::string_view what;
    std::uint64_t needs, most;
  } rows[] = {
      {"descriptors", kernel.bindings.size(), physical.max_push_descriptors},
      {"bytes of push constants", kernel.constants_bytes, physical.limits.maxPushConstantsSize}};
  for (const auto& [what, needs, most] : rows) {
    if (needs > most) {
      return error(StatusCode::kUnavailable, "vulkan: kernel {} needs {} {}; the device has {}{}",
                   kernel.name, needs, what, most,
                   physical.max_push_descriptors == 0 ? ": it lacks VK_KHR_push_descriptor" : "");
    }
  }
  return {};
}

Status Executable::create_layout(const kernel::KernelInfo& kernel, Entry& entry) {
  HALYARD_RETURN_IF_ERROR(check_foreign(kernel));
  VkDescriptorSetLayoutBinding bindings[kernel::kMaxBindings];
  const auto count = static_cast<std::uint32_t>(kernel.bindings.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    bindings[i] = {.binding = i,
                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                   .descriptorCount = 1,
                   .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                   .pImmutableSamplers = nullptr};
  }
  VkDescriptorSetLayoutCreateInfo set = {};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  set.bindingCount = count;
  set.pBindings = bindings;
  const Functions& vk = device_->vk();
  HALYARD_RETURN_IF_ERROR(device_->check(
      vk.vkCreateDescriptorSetLayout(device_->handle(), &set, nullptr, &entry.bindings),
      "vkCreateDescriptorSetLayout"));
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, kernel.constants_bytes};
  VkPipelineLayoutCreateInfo layout = {};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &entry.bindings;
  layout.pushConstantRangeCount = kernel.constants_bytes != 0 ? 1 : 0;
  layout.pPushConstantRanges = &range;
  return device_->check(
      vk.vkCreatePipelineLayout(device_->handle(), &layout, nullptr, &entry.layout),
      "vkCreatePipelineLayout");
}

Status Executable::create_pipeline(const kernel::KernelInfo& kernel, VkShaderModule module,
                                   Entry& entry) {
  const VkPhysicalDeviceLimits& limits = device_->physical().limits;
  for (int d = 0; d < 3; ++d) {
    if (kernel.workgroup_size[d] > limits.maxComputeWorkGroupSize[d]) {
      return error(StatusCode::kUnavailable,
                   "vulkan: kernel {} has {} items in dimension {} of a workgroup; the device has "
                   "{}",
                   kernel.name, kernel.workgroup_size[d], "xyz"[d],
                   limits.maxComputeWorkGroupSize[d]);
    }
  }
  char name[kernel::kMaxNameLength + 1] = {};  // zero-terminated, which the file's is not
  kernel.name.copy(name, kernel::kMaxNameLength);
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = name;
  info.layout = by_address_ ? device_->address_layout() : entry.layout;
  return device_->check(
      device_->vk().vkCreateComputePipelines(device_->handle(), VkPipelineCache{VK_NULL_HANDLE}, 1u,
                                             &info, nullptr, &entry.pipeline),
      "vkCreateComputePipelines");
}

}  // namespace halyard::inline v0::vulkan
