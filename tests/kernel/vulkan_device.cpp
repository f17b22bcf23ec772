// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/vulkan_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/content_hash.h"
#include "base/format.h"

namespace halyard::testing {
namespace {

constexpr const char* kValidation = "VK_LAYER_KHRONOS_validation";
// Kept to the end of the process: destroying the last instance unloads the driver, and
// LeakSanitizer would then report its permanent allocations.
VkInstance instance = VK_NULL_HANDLE;

constexpr std::uint64_t kTimeoutNanoseconds = 60'000'000'000;

std::string_view words(VkResult result) {
  switch (result) {
    case VK_TIMEOUT:
      return "timeout";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "initialization failed";
    case VK_ERROR_DEVICE_LOST:
      return "device lost";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "memory cannot be mapped";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "layer not present";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "extension not present";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "no compatible driver";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      return "out of pool memory";
    default:
      return "unexpected result";
  }
}

Status check(const char* call, VkResult result) {
  if (result == VK_SUCCESS) return {};
  return error(StatusCode::kUnavailable, "{}: {} ({})", call, words(result),
               static_cast<int>(result));
}

// Calls create(device, info, handle): vkCreateFence and similar functions.
template <class Handle, class Info>
Result<VulkanHandle<Handle>> make(const char* call, VkDevice device, const Info& info,
                                  VkResult(VKAPI_PTR* create)(VkDevice, const Info*,
                                                              const VkAllocationCallbacks*,
                                                              Handle*),
                                  typename VulkanHandle<Handle>::Destroy destroy) {
  Handle handle = VK_NULL_HANDLE;
  HALYARD_RETURN_IF_ERROR(check(call, create(device, &info, nullptr, &handle)));
  return VulkanHandle<Handle>(device, handle, destroy);
}

VKAPI_ATTR VkBool32 VKAPI_CALL fail_test(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                         VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* message,
                                         void*) {
  ADD_FAILURE() << "Vulkan: " << message->pMessage;
  return VK_FALSE;
}

constexpr VkDebugUtilsMessengerCreateInfoEXT kMessenger = {
    .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
    .pNext = nullptr,
    .flags = 0,
    .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
    .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
    .pfnUserCallback = fail_test,
    .pUserData = nullptr};

bool has_validation() {
  std::uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) != VK_SUCCESS) return false;
  return std::ranges::any_of(
      layers, [](const auto& layer) { return std::strcmp(layer.layerName, kValidation) == 0; });
}

// The features of a Vulkan 1.2 device that the conventions require, for elements of all sizes.
bool has_features(VkPhysicalDevice device) {
  VkPhysicalDeviceVulkan12Features since_12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan11Features since_11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &since_12};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                        .pNext = &since_11};
  vkGetPhysicalDeviceFeatures2(device, &features);
  VkPhysicalDeviceFloatControlsProperties floats = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            .pNext = &floats};
  vkGetPhysicalDeviceProperties2(device, &properties);
  return since_12.bufferDeviceAddress == VK_TRUE && since_12.storageBuffer8BitAccess == VK_TRUE &&
         since_11.storageBuffer16BitAccess == VK_TRUE &&
         floats.shaderRoundingModeRTEFloat32 == VK_TRUE &&
         floats.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE;
}

// Storage buffers 0 to `count` - 1.
Result<VulkanHandle<VkDescriptorSetLayout>> set_layout(VkDevice device, std::size_t count) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (std::uint32_t i = 0; i < count; ++i) {
    bindings.push_back({.binding = i,
                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        .descriptorCount = 1,
                        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                        .pImmutableSamplers = nullptr});
  }
  const VkDescriptorSetLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = static_cast<std::uint32_t>(bindings.size()),
      .pBindings = bindings.data()};
  return make("vkCreateDescriptorSetLayout", device, info, vkCreateDescriptorSetLayout,
              vkDestroyDescriptorSetLayout);
}

}  // namespace

// ---- Opening -----------------------------------------------------------------------------------

Result<std::unique_ptr<VulkanDevice>> VulkanDevice::open() {
  std::unique_ptr<VulkanDevice> device(new VulkanDevice);
  HALYARD_RETURN_IF_ERROR(device->create_instance());
  HALYARD_RETURN_IF_ERROR(device->find_physical_device());
  HALYARD_RETURN_IF_ERROR(device->create_device());
  return device;
}

Status VulkanDevice::create_instance() {
  const bool validated = has_validation();
  const char* const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  // SPIR-V 1.5 requires Vulkan 1.2.
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                         .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pNext = validated ? &kMessenger : nullptr,
                                     .pApplicationInfo = &application,
                                     .enabledLayerCount = validated ? 1u : 0u,
                                     .ppEnabledLayerNames = &kValidation,
                                     .enabledExtensionCount = validated ? 1u : 0u,
                                     .ppEnabledExtensionNames = &extension};
  HALYARD_RETURN_IF_ERROR(check("vkCreateInstance", vkCreateInstance(&info, nullptr, &instance)));
  if (!validated) return {};
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
  return check("vkCreateDebugUtilsMessengerEXT",
               create(instance, &kMessenger, nullptr, &messenger));
}

Status VulkanDevice::find_physical_device() {
  std::uint32_t count = 0;
  HALYARD_RETURN_IF_ERROR(
      check("vkEnumeratePhysicalDevices", vkEnumeratePhysicalDevices(instance, &count, nullptr)));
  std::vector<VkPhysicalDevice> devices(count);
  HALYARD_RETURN_IF_ERROR(check("vkEnumeratePhysicalDevices",
                                vkEnumeratePhysicalDevices(instance, &count, devices.data())));
  for (const VkPhysicalDevice device : devices) {
    vkGetPhysicalDeviceProperties(device, &properties_);
    if (properties_.apiVersion < VK_API_VERSION_1_2 || !has_features(device)) continue;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    const auto family = std::ranges::find_if(
        families, [](const auto& each) { return (each.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });
    if (family == families.end()) continue;
    physical_ = device;
    queue_family_ = static_cast<std::uint32_t>(family - families.begin());
    return {};
  }
  return error(
      StatusCode::kUnavailable,
      "none of {} devices has Vulkan 1.2, a compute queue, addresses of buffers, storage of 8 and "
      "16 bits and the float controls",
      devices.size());
}

Status VulkanDevice::create_device() {
  const float priority = 1.0f;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = queue_family_,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  VkPhysicalDeviceVulkan12Features since_12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .storageBuffer8BitAccess = VK_TRUE,
      .bufferDeviceAddress = VK_TRUE};
  VkPhysicalDeviceVulkan11Features since_11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
      .pNext = &since_12,
      .storageBuffer16BitAccess = VK_TRUE};
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = &since_11,
                                   .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queue};
  HALYARD_RETURN_IF_ERROR(
      check("vkCreateDevice", vkCreateDevice(physical_, &info, nullptr, &device_)));
  vkGetDeviceQueue(device_, queue_family_, 0, &queue_);

  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kernel::kMaxBindings};
  const VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = 1,
                                           .poolSizeCount = 1,
                                           .pPoolSizes = &size};
  HALYARD_ASSIGN_OR_RETURN(sets_, make("vkCreateDescriptorPool", device_, sets,
                                       vkCreateDescriptorPool, vkDestroyDescriptorPool));
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = queue_family_};
  HALYARD_ASSIGN_OR_RETURN(
      pool_, make("vkCreateCommandPool", device_, pool, vkCreateCommandPool, vkDestroyCommandPool));
  const VkCommandBufferAllocateInfo commands = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = *pool_,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1};
  HALYARD_RETURN_IF_ERROR(
      check("vkAllocateCommandBuffers", vkAllocateCommandBuffers(device_, &commands, &commands_)));
  const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  HALYARD_ASSIGN_OR_RETURN(done_,
                           make("vkCreateFence", device_, fence, vkCreateFence, vkDestroyFence));
  return {};
}

VulkanDevice::~VulkanDevice() {
  images_.clear();
  arguments_ = {};
  done_ = {};
  pool_ = {};
  sets_ = {};
  if (device_ != VK_NULL_HANDLE) vkDestroyDevice(device_, nullptr);
}

// ---- Memory and kernels ------------------------------------------------------------------------

Result<VulkanBuffer> VulkanDevice::allocate(std::size_t bytes) const {
  VulkanBuffer result;
  const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = std::max<std::size_t>(bytes, 4),  // at least one element
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
      .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
  HALYARD_ASSIGN_OR_RETURN(result.buffer,
                           make("vkCreateBuffer", device_, info, vkCreateBuffer, vkDestroyBuffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_, *result.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  constexpr VkMemoryPropertyFlags kMapped =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  // The specification guarantees a type that is both, for every buffer.
  std::uint32_t type = 0;
  while ((needs.memoryTypeBits >> type & 1) == 0 ||
         (memory.memoryTypes[type].propertyFlags & kMapped) != kMapped) {
    ++type;
  }
  const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                           .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .pNext = &flags,
                                           .allocationSize = needs.size,
                                           .memoryTypeIndex = type};
  HALYARD_ASSIGN_OR_RETURN(
      result.memory, make("vkAllocateMemory", device_, allocation, vkAllocateMemory, vkFreeMemory));
  HALYARD_RETURN_IF_ERROR(
      check("vkBindBufferMemory", vkBindBufferMemory(device_, *result.buffer, *result.memory, 0)));
  void* data = nullptr;
  HALYARD_RETURN_IF_ERROR(
      check("vkMapMemory", vkMapMemory(device_, *result.memory, 0, VK_WHOLE_SIZE, 0, &data)));
  result.bytes = {static_cast<std::byte*>(data), bytes};
  const VkBufferDeviceAddressInfo of = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                        .buffer = *result.buffer};
  result.address = vkGetBufferDeviceAddress(device_, &of);
  return result;
}

Result<VulkanDevice::Image*> VulkanDevice::image(const kernel::Hyx& hyx) {
  const auto addressed = hyx.image_for({&kVulkanTarget, 1}, kernel::kVulkanAddressConvention);
  HALYARD_ASSIGN_OR_RETURN(
      const kernel::ImageInfo* const image,
      addressed.ok() ? addressed : hyx.image_for({&kVulkanTarget, 1}, kernel::kVulkanConvention));
  const std::uint64_t key = base::content_hash({base::text_of(image->bytes)}).low;
  if (const auto found = images_.find(key); found != images_.end()) return &found->second;
  if (image->bytes.size() % 4 != 0) {
    return error(StatusCode::kDataLoss, "{}: {} bytes of SPIR-V are no whole number of words",
                 hyx.name(), image->bytes.size());
  }
  std::vector<std::uint32_t> words(image->bytes.size() / 4);
  std::memcpy(words.data(), image->bytes.data(), image->bytes.size());
  const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = image->bytes.size(),
                                         .pCode = words.data()};
  HALYARD_ASSIGN_OR_RETURN(auto module, make("vkCreateShaderModule", device_, info,
                                             vkCreateShaderModule, vkDestroyShaderModule));
  return &images_.emplace(key, Image{std::move(module), addressed.ok(), {}}).first->second;
}

Result<const VulkanDevice::Entry*> VulkanDevice::entry(Image& image,
                                                       const kernel::KernelInfo& info) {
  if (const auto found = image.entries.find(info.name); found != image.entries.end()) {
    return &found->second;
  }
  Entry entry;
  VkPushConstantRange pushed = {VK_SHADER_STAGE_COMPUTE_BIT, 0, kernel::kAddressBytes};
  if (!image.by_address) {
    HALYARD_ASSIGN_OR_RETURN(entry.bindings, set_layout(device_, info.bindings.size()));
    pushed.size = info.constants_bytes;
  }
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = image.by_address ? 0u : 1u,
                                             .pSetLayouts = &*entry.bindings,
                                             .pushConstantRangeCount = pushed.size > 0 ? 1u : 0u,
                                             .pPushConstantRanges = &pushed};
  HALYARD_ASSIGN_OR_RETURN(entry.layout, make("vkCreatePipelineLayout", device_, layout,
                                              vkCreatePipelineLayout, vkDestroyPipelineLayout));
  const std::string name(info.name);
  const VkComputePipelineCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = *image.module,
                .pName = name.c_str()},
      .layout = *entry.layout};
  VkPipeline pipeline = VK_NULL_HANDLE;
  HALYARD_RETURN_IF_ERROR(
      check("vkCreateComputePipelines",
            vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &create, nullptr, &pipeline)));
  entry.pipeline = VulkanHandle<VkPipeline>(device_, pipeline, vkDestroyPipeline);
  return &image.entries.emplace(name, std::move(entry)).first->second;
}

// ---- Launching ---------------------------------------------------------------------------------

Status VulkanDevice::check_launch(const kernel::KernelInfo& info,
                                  const std::array<std::size_t, 3>& groups, std::size_t bindings,
                                  std::size_t constants) const {
  if (bindings != info.bindings.size()) {
    return error(StatusCode::kInvalidArgument, "{}: {} buffers for {} bindings", info.name,
                 bindings, info.bindings.size());
  }
  if (constants != info.constants_bytes) {
    return error(StatusCode::kInvalidArgument, "{}: {} bytes of constants; it has {}", info.name,
                 constants, info.constants_bytes);
  }
  for (std::size_t d = 0; d < groups.size(); ++d) {
    if (groups[d] > properties_.limits.maxComputeWorkGroupCount[d]) {
      return error(StatusCode::kInvalidArgument,
                   "{}: {} groups in dimension {}, where the device takes {}", info.name, groups[d],
                   d, properties_.limits.maxComputeWorkGroupCount[d]);
    }
  }
  return {};
}

Result<VkDescriptorSet> VulkanDevice::descriptors(const Entry& entry,
                                                  std::span<const VulkanBinding> bindings) {
  HALYARD_RETURN_IF_ERROR(
      check("vkResetDescriptorPool", vkResetDescriptorPool(device_, *sets_, 0)));
  const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = *sets_,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &*entry.bindings};
  VkDescriptorSet set = VK_NULL_HANDLE;
  HALYARD_RETURN_IF_ERROR(
      check("vkAllocateDescriptorSets", vkAllocateDescriptorSets(device_, &info, &set)));
  for (std::uint32_t i = 0; i < bindings.size(); ++i) {
    const VkDescriptorBufferInfo range = {*bindings[i].buffer->buffer, bindings[i].offset,
                                          VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set,
                                        .dstBinding = i,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &range};
    vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  }
  return set;
}

Result<VkDeviceAddress> VulkanDevice::write_arguments(std::span<const VulkanBinding> bindings,
                                                      std::span<const std::byte> constants) {
  std::vector<std::byte> block(bindings.size() * kernel::kAddressBytes);
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const VkDeviceAddress address = bindings[i].buffer->address + bindings[i].offset;
    std::memcpy(&block[i * kernel::kAddressBytes], &address, kernel::kAddressBytes);
  }
  block.insert(block.end(), constants.begin(), constants.end());
  // The previous launch has ended, so its block is free.
  if (arguments_.address == 0 || arguments_.bytes.size() < block.size()) {
    HALYARD_ASSIGN_OR_RETURN(arguments_, allocate(block.size()));
  }
  std::ranges::copy(block, arguments_.bytes.begin());
  return arguments_.address;
}

Status VulkanDevice::bind_address(const Entry& entry, std::span<const VulkanBinding> bindings,
                                  std::span<const std::byte> constants) {
  HALYARD_ASSIGN_OR_RETURN(const VkDeviceAddress block, write_arguments(bindings, constants));
  vkCmdPushConstants(commands_, *entry.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                     kernel::kAddressBytes, &block);
  return {};
}

Status VulkanDevice::bind_descriptors(const Entry& entry, std::span<const VulkanBinding> bindings,
                                      std::span<const std::byte> constants) {
  HALYARD_ASSIGN_OR_RETURN(const VkDescriptorSet set, descriptors(entry, bindings));
  vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, *entry.layout, 0, 1, &set, 0,
                          nullptr);
  if (!constants.empty()) {
    vkCmdPushConstants(commands_, *entry.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       static_cast<std::uint32_t>(constants.size()), constants.data());
  }
  return {};
}

Status VulkanDevice::run(const kernel::Hyx& hyx, std::string_view kernel,
                         const std::array<std::size_t, 3>& groups,
                         std::span<const VulkanBinding> bindings,
                         std::span<const std::byte> constants) {
  HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* const info, hyx.find(kernel));
  HALYARD_RETURN_IF_ERROR(check_launch(*info, groups, bindings.size(), constants.size()));
  HALYARD_ASSIGN_OR_RETURN(Image* const from, image(hyx));
  HALYARD_ASSIGN_OR_RETURN(const Entry* const entry, this->entry(*from, *info));

  HALYARD_RETURN_IF_ERROR(check("vkResetCommandPool", vkResetCommandPool(device_, *pool_, 0)));
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                          .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  HALYARD_RETURN_IF_ERROR(check("vkBeginCommandBuffer", vkBeginCommandBuffer(commands_, &begin)));
  vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, *entry->pipeline);
  HALYARD_RETURN_IF_ERROR(from->by_address ? bind_address(*entry, bindings, constants)
                                           : bind_descriptors(*entry, bindings, constants));
  // check_launch() has checked the limits.
  vkCmdDispatch(commands_, static_cast<std::uint32_t>(groups[0]),
                static_cast<std::uint32_t>(groups[1]), static_cast<std::uint32_t>(groups[2]));
  // A fence does not make writes visible to the host.
  const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       0, 1, &to_host, 0, nullptr, 0, nullptr);
  HALYARD_RETURN_IF_ERROR(check("vkEndCommandBuffer", vkEndCommandBuffer(commands_)));
  return submit_and_wait(kernel);
}

Status VulkanDevice::submit_and_wait(std::string_view kernel) {
  HALYARD_RETURN_IF_ERROR(check("vkResetFences", vkResetFences(device_, 1, &*done_)));
  const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .commandBufferCount = 1,
                             .pCommandBuffers = &commands_};
  HALYARD_RETURN_IF_ERROR(check("vkQueueSubmit", vkQueueSubmit(queue_, 1, &info, *done_)));
  const VkResult waited = vkWaitForFences(device_, 1, &*done_, VK_TRUE, kTimeoutNanoseconds);
  if (waited == VK_TIMEOUT) {
    fmt::print(stderr, "{} still runs on {} after {} s\n", kernel, name(),
               kTimeoutNanoseconds / 1'000'000'000);
    std::abort();
  }
  return check("vkWaitForFences", waited);
}

}  // namespace halyard::testing
