// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/encoder.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::vulkan {
namespace {

constexpr std::uint64_t kPatternBytes = 8;  // a word, twice: a word begins at any byte of the first

const Executable& executable_of(const hal::DispatchCommand& command) noexcept {
  return static_cast<const Executable&>(*command.executable);
}

std::uint64_t block_bytes(const hal::DispatchCommand& command) noexcept {
  return command.binding_count * sizeof(VkDeviceAddress) + command.constants_size;
}

VkDeviceAddress address_of(const hal::BoundRange& range) noexcept {
  return range.memory->device_address() + range.offset;
}

}  // namespace

std::uint64_t argument_bytes(const hal::Command& command) noexcept {
  switch (command.kind) {
    case hal::CommandKind::kFill:
      return Arguments::aligned(kPatternBytes);
    case hal::CommandKind::kDispatch:
      return executable_of(command.dispatch).by_address()
                 ? Arguments::aligned(block_bytes(command.dispatch))
                 : 0;
    default:
      return 0;
  }
}

Status Encoder::add(const hal::Command& command, const hal::BoundRange* table) {
  switch (command.kind) {
    case hal::CommandKind::kFill:
      fill(command.fill, hal::bind(command.fill.target, table));
      break;
    case hal::CommandKind::kUpdate: {
      const hal::BoundRange target = hal::bind(command.update.target, table);
      if (target.length == 0) break;
      copy(native_range({command.update.source_memory, command.update.source_offset}),
           native_range(target));
      break;
    }
    case hal::CommandKind::kCopy:
      copy(native_range(hal::bind(command.copy.source, table)),
           native_range(hal::bind(command.copy.target, table)));
      break;
    case hal::CommandKind::kDispatch: {
      const Executable& executable = executable_of(command.dispatch);
      if (executable.by_address()) {
        const ArgumentBlock block = begin_block(command.dispatch);
        for (std::uint32_t i = 0; i < command.dispatch.binding_count; ++i) {
          const VkDeviceAddress address =
              address_of(hal::bind(command.dispatch.bindings[i], table));
          std::memcpy(block.host + i * sizeof address, &address, sizeof address);
        }
        bind_block(command.dispatch, executable, block);
      } else {
        HALYARD_RETURN_IF_ERROR(push_descriptors(command.dispatch, executable, table));
      }
      launch(command.dispatch, table);
      break;
    }
    case hal::CommandKind::kBarrier:
    case hal::CommandKind::kSetEvent:
    case hal::CommandKind::kResetEvent:
    case hal::CommandKind::kWaitEvent:
      break;  // encode() has their barriers
  }
  return {};
}

Status Encoder::add_open(const hal::DispatchCommand& command, base::Array<SlotAddress>& slots,
                         const hal::BoundRange* table) {
  const ArgumentBlock block = begin_block(command);
  for (std::uint32_t i = 0; i < command.binding_count; ++i) {
    std::byte* const where = block.host + i * sizeof(VkDeviceAddress);
    const hal::CommandRange& binding = command.bindings[i];
    if (binding.memory == nullptr) {
      if (!slots.push_back({where, binding.slot, binding.offset})) {
        return Status(StatusCode::kResourceExhausted, "vulkan: no memory for a recording's slots");
      }
    } else {
      const VkDeviceAddress address = binding.memory->device_address() + binding.offset;
      std::memcpy(where, &address, sizeof address);
    }
  }
  bind_block(command, executable_of(command), block);
  launch(command, table);
  return {};
}

ArgumentBlock Encoder::begin_block(const hal::DispatchCommand& command) noexcept {
  const ArgumentBlock block = arguments_.take(block_bytes(command));
  if (command.constants_size != 0) {
    std::memcpy(block.host + command.binding_count * sizeof(VkDeviceAddress), command.constants,
                command.constants_size);
  }
  return block;
}

void Encoder::bind_block(const hal::DispatchCommand& command, const Executable& executable,
                         const ArgumentBlock& block) noexcept {
  bind_pipeline(executable.pipeline(command.function));
  vk_.vkCmdPushConstants(commands_, device_.address_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                         sizeof block.address, &block.address);
}

// Not again for the kernel of the dispatch before: replays would do it each time.
void Encoder::bind_pipeline(VkPipeline pipeline) noexcept {
  if (pipeline == bound_) return;
  bound_ = pipeline;
  vk_.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
}

Status Encoder::push_descriptors(const hal::DispatchCommand& command, const Executable& executable,
                                 const hal::BoundRange* table) noexcept {
  const VkPhysicalDeviceLimits& limits = device_.physical().limits;
  VkDescriptorBufferInfo ranges[kernel::kMaxBindings];
  VkWriteDescriptorSet writes[kernel::kMaxBindings];
  for (std::uint32_t i = 0; i < command.binding_count; ++i) {
    const NativeRange range = native_range(hal::bind(command.bindings[i], table));
    if (range.offset % limits.minStorageBufferOffsetAlignment != 0 ||
        range.length > limits.maxStorageBufferRange) {
      return error(StatusCode::kInvalidArgument,
                   "vulkan: binding {} has {} bytes at offset {}; a descriptor of this device has "
                   "up to {}, at a multiple of {}",
                   i, range.length, range.offset, limits.maxStorageBufferRange,
                   limits.minStorageBufferOffsetAlignment);
    }
    ranges[i] = {range.buffer, range.offset, range.length};
    if (range.length == 0) ranges[i] = {range.buffer, 0, 4};  // a descriptor is never empty
    writes[i] = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                 .pNext = nullptr,
                 .dstSet = VK_NULL_HANDLE,
                 .dstBinding = i,
                 .dstArrayElement = 0,
                 .descriptorCount = 1,
                 .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                 .pImageInfo = nullptr,
                 .pBufferInfo = &ranges[i],
                 .pTexelBufferView = nullptr};
  }
  const VkPipelineLayout layout = executable.layout(command.function);
  bind_pipeline(executable.pipeline(command.function));
  if (command.binding_count != 0) {
    vk_.vkCmdPushDescriptorSetKHR(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0,
                                  command.binding_count, writes);
  }
  if (command.constants_size != 0) {
    vk_.vkCmdPushConstants(commands_, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           command.constants_size, command.constants);
  }
  return {};
}

void Encoder::launch(const hal::DispatchCommand& command, const hal::BoundRange* table) noexcept {
  written_ = true;
  if (command.counts != nullptr) {
    const NativeRange counts = native_range(hal::bind(*command.counts, table));
    vk_.vkCmdDispatchIndirect(commands_, counts.buffer, counts.offset);
  } else {
    vk_.vkCmdDispatch(commands_, command.groups[0], command.groups[1], command.groups[2]);
  }
}

void Encoder::copy(const NativeRange& source, const NativeRange& target) noexcept {
  if (target.length == 0) return;
  written_ = true;
  const VkBufferCopy region = {source.offset, target.offset, target.length};
  vk_.vkCmdCopyBuffer(commands_, source.buffer, target.buffer, 1, &region);
}

// vkCmdFillBuffer takes whole words at multiples of 4. A pattern of 1 or 2 bytes is repeated to a
// word, which begins, in the words of the buffer, at the byte that stands there.
void Encoder::fill(const hal::FillCommand& command, const hal::BoundRange& range) noexcept {
  const NativeRange target = native_range(range);
  if (target.length == 0) return;
  written_ = true;
  std::uint8_t bytes[kPatternBytes];  // of the pattern, from the first byte of the target on
  for (std::uint64_t i = 0; i < kPatternBytes; ++i) {
    bytes[i] = static_cast<std::uint8_t>(command.pattern >> 8 * (i % command.pattern_size));
  }
  const std::uint64_t head = std::min<std::uint64_t>(-target.offset & 3, target.length);
  const std::uint64_t middle = (target.length - head) & ~std::uint64_t{3};
  const std::uint64_t tail = target.length - head - middle;
  if (middle != 0) {
    std::uint32_t word;
    std::memcpy(&word, bytes + head, sizeof word);
    vk_.vkCmdFillBuffer(commands_, target.buffer, target.offset + head, middle, word);
  }
  if (head == 0 && tail == 0) return;
  const ArgumentBlock block = arguments_.take(kPatternBytes);
  std::memcpy(block.host, bytes, kPatternBytes);
  const VkBufferCopy ends[] = {{block.offset, target.offset, head},
                               {block.offset + head, target.offset + head + middle, tail}};
  vk_.vkCmdCopyBuffer(commands_, block.buffer, target.buffer, (head != 0) + (tail != 0),
                      head != 0 ? ends : ends + 1);
}

void Encoder::barrier() noexcept {
  if (!written_) return;
  written_ = false;
  VkMemoryBarrier2 barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
  barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  barrier.srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT;
  barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  barrier.dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
  VkDependencyInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  info.memoryBarrierCount = 1;
  info.pMemoryBarriers = &barrier;
  vk_.vkCmdPipelineBarrier2(commands_, &info);
}

void Encoder::end() noexcept {
  VkMemoryBarrier2 barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
  barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  barrier.srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT;
  barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT;
  barrier.dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT |
                          VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT;
  VkDependencyInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  info.memoryBarrierCount = 1;
  info.pMemoryBarriers = &barrier;
  vk_.vkCmdPipelineBarrier2(commands_, &info);
}

}  // namespace halyard::inline v0::vulkan
