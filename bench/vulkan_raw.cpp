// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "vulkan_raw.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "harness.h"
#include "kernel/device_abi.h"

namespace halyard::bench {
namespace {

constexpr std::uint32_t kMostQueues = 4;
constexpr std::string_view kTarget = "spirv-1.5";

void check_vk(VkResult result, const char* call) {
  if (result != VK_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": VkResult " +
                             std::to_string(static_cast<int>(result)));
  }
}

VkInstance create_instance() {
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  if (vkCreateInstance(&info, nullptr, &instance) != VK_SUCCESS) {
    throw Unavailable("there is no Vulkan driver");
  }
  return instance;
}

// The first one, in the loader's order.
VkPhysicalDevice first_device(VkInstance instance) {
  std::uint32_t count = 1;
  VkPhysicalDevice device = VK_NULL_HANDLE;
  const VkResult result = vkEnumeratePhysicalDevices(instance, &count, &device);
  if ((result != VK_SUCCESS && result != VK_INCOMPLETE) || count == 0) {
    throw Unavailable("there is no Vulkan device");
  }
  return device;
}

std::uint32_t compute_family(VkPhysicalDevice device, std::uint32_t& queues) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  // The same choice as Halyard's: a family without graphics, if there is such a family.
  for (const VkQueueFlags lacks : {VkQueueFlags{VK_QUEUE_GRAPHICS_BIT}, VkQueueFlags{0}}) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
      if ((families[i].queueFlags & lacks) != 0) continue;
      queues = std::min(families[i].queueCount, kMostQueues);
      return i;
    }
  }
  throw Unavailable("the Vulkan device has no queue for compute");
}

}  // namespace

std::string describe_vulkan() {
  VkInstance instance = VK_NULL_HANDLE;
  std::string text;
  try {
    instance = create_instance();
    VkPhysicalDeviceDriverProperties driver = {};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    VkPhysicalDeviceProperties2 properties = {};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &driver;
    vkGetPhysicalDeviceProperties2(first_device(instance), &properties);
    text = properties.properties.deviceName + std::string(", ") + driver.driverInfo;
    if (driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE) {
      const char* const threads = std::getenv("LP_NUM_THREADS");
      text += std::string(" (lavapipe, a CPU; LP_NUM_THREADS ") +
              (threads != nullptr ? threads : "not set") + ")";
    }
  } catch (const Unavailable& reason) {
    text = reason.what();
  }
  if (instance != VK_NULL_HANDLE) vkDestroyInstance(instance, nullptr);
  return text;
}

std::shared_ptr<RawVulkan> RawVulkan::open(const std::string& kernels) {
  return std::shared_ptr<RawVulkan>(new RawVulkan(kernels));
}

RawVulkan::RawVulkan(const std::string& kernels)
    : kernels_(std::move(kernel::Hyx::read(kernels).value())), instance_(create_instance()) {
  physical_ = first_device(instance_);
  VkPhysicalDeviceProperties properties = {};
  vkGetPhysicalDeviceProperties(physical_, &properties);
  name_ = properties.deviceName;
  create_device();
  load_functions();

  VkCommandPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family_;
  check_vk(vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");

  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(VkDeviceAddress)};
  VkPipelineLayoutCreateInfo layout = {};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  check_vk(vkCreatePipelineLayout(device_, &layout, nullptr, &layout_), "vkCreatePipelineLayout");

  const auto image = kernels_.image_for({&kTarget, 1}, kernel::kVulkanAddressConvention);
  if (!image.ok()) throw Unavailable("kernels: " + image.status().to_string());
  std::vector<std::uint32_t> words((*image)->bytes.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), (*image)->bytes.data(), words.size() * sizeof(std::uint32_t));
  VkShaderModuleCreateInfo module = {};
  module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module.codeSize = words.size() * sizeof(std::uint32_t);
  module.pCode = words.data();
  check_vk(vkCreateShaderModule(device_, &module, nullptr, &module_), "vkCreateShaderModule");
}

void RawVulkan::create_device() {
  std::uint32_t queues = 0;
  family_ = compute_family(physical_, queues);
  const std::vector<float> priorities(queues, 0.5f);
  VkDeviceQueueCreateInfo queue = {};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = family_;
  queue.queueCount = queues;
  queue.pQueuePriorities = priorities.data();
  VkPhysicalDeviceVulkan13Features f13 = {};
  f13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  f13.synchronization2 = VK_TRUE;
  VkPhysicalDeviceVulkan12Features f12 = {};
  f12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  f12.pNext = &f13;
  f12.timelineSemaphore = VK_TRUE;
  f12.bufferDeviceAddress = VK_TRUE;
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &f12;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  check_vk(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
  queues_.resize(queues);
  for (std::uint32_t i = 0; i < queues; ++i) vkGetDeviceQueue(device_, family_, i, &queues_[i]);
}

void RawVulkan::load_functions() {
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        vkGetDeviceProcAddr(device_, name));
    if (function == nullptr) throw Unavailable(std::string("the Vulkan device has no ") + name);
  };
  load(vk_.begin, "vkBeginCommandBuffer");
  load(vk_.bind, "vkCmdBindPipeline");
  load(vk_.dispatch, "vkCmdDispatch");
  load(vk_.barrier, "vkCmdPipelineBarrier2");
  load(vk_.push, "vkCmdPushConstants");
  load(vk_.end, "vkEndCommandBuffer");
  load(vk_.value, "vkGetSemaphoreCounterValue");
  load(vk_.submit, "vkQueueSubmit2");
  load(vk_.wait, "vkWaitSemaphores");
}

RawVulkan::~RawVulkan() {
  vkDeviceWaitIdle(device_);
  for (const VkPipeline pipeline : pipelines_) vkDestroyPipeline(device_, pipeline, nullptr);
  for (const VkSemaphore semaphore : semaphores_) vkDestroySemaphore(device_, semaphore, nullptr);
  for (const Memory& memory : memories_) {
    vkDestroyBuffer(device_, memory.buffer, nullptr);
    vkFreeMemory(device_, memory.memory, nullptr);
  }
  vkDestroyShaderModule(device_, module_, nullptr);
  vkDestroyPipelineLayout(device_, layout_, nullptr);
  vkDestroyCommandPool(device_, pool_, nullptr);
  vkDestroyDevice(device_, nullptr);
  vkDestroyInstance(instance_, nullptr);
}

VkSemaphore RawVulkan::timeline() {
  VkSemaphoreTypeCreateInfo type = {};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  VkSemaphore semaphore = VK_NULL_HANDLE;
  check_vk(vkCreateSemaphore(device_, &info, nullptr, &semaphore), "vkCreateSemaphore");
  semaphores_.push_back(semaphore);
  return semaphore;
}

VkCommandBuffer RawVulkan::command_buffer() {
  VkCommandBufferAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check_vk(vkAllocateCommandBuffers(device_, &info, &commands), "vkAllocateCommandBuffers");
  return commands;
}

RawVulkan::Memory RawVulkan::allocate(std::size_t bytes) {
  Memory memory;
  VkBufferCreateInfo buffer = {};
  buffer.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  buffer.size = bytes;
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  check_vk(vkCreateBuffer(device_, &buffer, nullptr, &memory.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs = {};
  vkGetBufferMemoryRequirements(device_, memory.buffer, &needs);

  // Like Halyard's kHostVisible: device-local and mapped, otherwise mapped.
  VkPhysicalDeviceMemoryProperties types = {};
  vkGetPhysicalDeviceMemoryProperties(physical_, &types);
  constexpr VkMemoryPropertyFlags kMapped =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  std::uint32_t chosen = ~0u;
  for (const VkMemoryPropertyFlags has : {kMapped, kMapped | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT}) {
    for (std::uint32_t i = types.memoryTypeCount; i-- != 0;) {
      if ((needs.memoryTypeBits & 1u << i) == 0) continue;
      if ((types.memoryTypes[i].propertyFlags & has) == has) chosen = i;
    }
  }
  if (chosen == ~0u) throw Unavailable("the Vulkan device has no mapped memory");

  VkMemoryAllocateFlagsInfo flags = {};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = &flags;
  info.allocationSize = needs.size;
  info.memoryTypeIndex = chosen;
  check_vk(vkAllocateMemory(device_, &info, nullptr, &memory.memory), "vkAllocateMemory");
  check_vk(vkBindBufferMemory(device_, memory.buffer, memory.memory, 0), "vkBindBufferMemory");
  void* host = nullptr;
  check_vk(vkMapMemory(device_, memory.memory, 0, VK_WHOLE_SIZE, 0, &host), "vkMapMemory");
  memory.host = static_cast<std::byte*>(host);
  std::memset(host, 0, bytes);
  VkBufferDeviceAddressInfo address = {};
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = memory.buffer;
  memory.address = vkGetBufferDeviceAddress(device_, &address);
  memories_.push_back(memory);
  return memory;
}

VkPipeline RawVulkan::pipeline(const std::string& kernel) {
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module_;
  info.stage.pName = kernel.c_str();
  info.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  check_vk(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
           "vkCreateComputePipelines");
  pipelines_.push_back(pipeline);
  return pipeline;
}

void RawVulkan::begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags) const {
  VkCommandBufferBeginInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = flags;
  check_vk(vk_.begin(commands, &info), "vkBeginCommandBuffer");
}

void RawVulkan::bind(VkCommandBuffer commands, VkPipeline pipeline) const {
  vk_.bind(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
}

void RawVulkan::dispatch(VkCommandBuffer commands, VkDeviceAddress arguments) const {
  vk_.push(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof arguments, &arguments);
  vk_.dispatch(commands, 1, 1, 1);
}

void RawVulkan::end(VkCommandBuffer commands) const {
  VkMemoryBarrier2 barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
  barrier.srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
  barrier.srcAccessMask = VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
  barrier.dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_HOST_BIT;
  barrier.dstAccessMask = VK_ACCESS_2_SHADER_STORAGE_READ_BIT |
                          VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT;
  VkDependencyInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  info.memoryBarrierCount = 1;
  info.pMemoryBarriers = &barrier;
  vk_.barrier(commands, &info);
  check_vk(vk_.end(commands), "vkEndCommandBuffer");
}

void RawVulkan::submit(std::span<const VkSubmitInfo2> submits, std::size_t queue) const {
  check_vk(vk_.submit(queues_[queue], static_cast<std::uint32_t>(submits.size()), submits.data(),
                      VK_NULL_HANDLE),
           "vkQueueSubmit2");
}

void RawVulkan::wait(std::span<const VkSemaphore> semaphores,
                     std::span<const std::uint64_t> values) const {
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = static_cast<std::uint32_t>(semaphores.size());
  info.pSemaphores = semaphores.data();
  info.pValues = values.data();
  check_vk(vk_.wait(device_, &info, ~std::uint64_t{0}), "vkWaitSemaphores");
}

std::uint64_t RawVulkan::value(VkSemaphore semaphore) const {
  std::uint64_t value = 0;
  check_vk(vk_.value(device_, semaphore, &value), "vkGetSemaphoreCounterValue");
  return value;
}

}  // namespace halyard::bench
