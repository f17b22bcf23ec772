// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/executable.h"

#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "base/format.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::vulkan {
namespace {

constexpr std::string_view kTargets[] = {kTarget};

// Whether the module has a compute shader of that name. Vulkan does not check this: creating a
// pipeline for a missing shader is undefined. The words are described in section 2.3 of the SPIR-V
// specification.
bool has_entry_point(std::span<const std::uint32_t> module, std::string_view name) noexcept {
  constexpr std::size_t kHeaderWords = 5;
  constexpr std::uint32_t kOpEntryPoint = 15, kGlCompute = 5;
  for (std::size_t at = kHeaderWords; at < module.size();) {
    const std::size_t length = module[at] >> 16;
    if (length == 0 || length > module.size() - at) return false;
    // Execution model, id, name with a zero at its end.
    if ((module[at] & 0xffff) == kOpEntryPoint && length > 3 && module[at + 1] == kGlCompute) {
      const auto* const text = reinterpret_cast<const char*>(&module[at + 3]);
      if (name == std::string_view(text, strnlen(text, (length - 3) * sizeof module[0]))) {
        return true;
      }
    }
    at += length;
  }
  return false;
}

bool has_capability(std::span<const std::uint32_t> module, std::uint32_t capability) noexcept {
  constexpr std::size_t kHeaderWords = 5;
  constexpr std::uint32_t kOpCapability = 2 << 16 | 17;
  // Capabilities come first.
  for (std::size_t at = kHeaderWords; at + 1 < module.size() && module[at] == kOpCapability;) {
    if (module[at + 1] == capability) return true;
    at += 2;
  }
  return false;
}

Status no_executable_memory() {
  return Status(StatusCode::kResourceExhausted, "vulkan: no memory for an executable");
}

}  // namespace

Result<Ref<hal::ExecutableImpl>> Executable::load(Ref<NativeDevice> device, kernel::Hyx file,
                                                  bool caches) {
  auto executable = Ref<Executable>::adopt(
      new (std::nothrow) Executable(std::move(device), std::move(file), caches));
  if (!executable) return no_executable_memory();
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
  vk.vkDestroyShaderModule(device_->handle(), module_, nullptr);
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
    return no_executable_memory();
  }
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
  for (const kernel::KernelInfo& kernel : file().kernels()) {
    if (has_entry_point({words.data(), words.size()}, kernel.name)) continue;
    return error(StatusCode::kDataLoss, "vulkan: {}: the image {} has no entry {}", file().name(),
                 (*image)->target, kernel.name);
  }
  HALYARD_RETURN_IF_ERROR(check_storage({words.data(), words.size()}));
  VkShaderModuleCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = words.size() * sizeof(std::uint32_t);
  info.pCode = words.data();
  return device_->check(
      device_->vk().vkCreateShaderModule(device_->handle(), &info, nullptr, &module_),
      "vkCreateShaderModule");
}

// Checks the module's capabilities: using one whose feature the device lacks is undefined.
Status Executable::check_storage(std::span<const std::uint32_t> module) const {
  constexpr std::uint32_t kStorageBuffer8BitAccess = 4448, kStorageBuffer16BitAccess = 4433;
  const PhysicalDevice& physical = device_->physical();
  const struct {
    std::uint32_t capability;
    bool has;
    int bits;
  } rows[] = {{kStorageBuffer8BitAccess, physical.stores_8_bits, 8},
              {kStorageBuffer16BitAccess, physical.stores_16_bits, 16}};
  for (const auto& [capability, has, bits] : rows) {
    if (has || !has_capability(module, capability)) continue;
    return error(StatusCode::kUnavailable,
                 "vulkan: {}: its kernels have elements of {} bits; {} lacks "
                 "storageBuffer{}BitAccess",
                 file().name(), bits, physical.name, bits);
  }
  return {};
}

Status Executable::prepare(std::uint32_t function) {
  const kernel::KernelInfo& kernel = file().kernels()[function];
  base::LockGuard lock(mutex_);
  Entry& entry = entries_[function];
  if (entry.pipeline != VK_NULL_HANDLE) return {};
  if (!by_address_ && entry.layout == VK_NULL_HANDLE) {
    HALYARD_RETURN_IF_ERROR(create_layout(kernel, entry));
  }
  return create_pipeline(kernel, entry);
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
  if (entry.bindings == VK_NULL_HANDLE) {
    HALYARD_RETURN_IF_ERROR(device_->check(
        vk.vkCreateDescriptorSetLayout(device_->handle(), &set, nullptr, &entry.bindings),
        "vkCreateDescriptorSetLayout"));
  }
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

Status Executable::create_pipeline(const kernel::KernelInfo& kernel, Entry& entry) {
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
  char name[kernel::kMaxNameLength + 1] = {};  // zero-terminated, unlike the file's
  kernel.name.copy(name, kernel::kMaxNameLength);
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module_;
  info.stage.pName = name;
  info.layout = by_address_ ? device_->address_layout() : entry.layout;
  const VkPipelineCache cache = caches_ ? device_->pipeline_cache() : VK_NULL_HANDLE;
  return device_->check(device_->vk().vkCreateComputePipelines(device_->handle(), cache, 1u, &info,
                                                               nullptr, &entry.pipeline),
                        "vkCreateComputePipelines");
}

}  // namespace halyard::inline v0::vulkan
