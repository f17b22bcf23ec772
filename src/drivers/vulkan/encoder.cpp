// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/encoder.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

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

struct PatchWriter {
  static void range(std::byte* where, const hal::BoundRange& range) noexcept {
    const VkDeviceAddress address = address_of(range);
    std::memcpy(where, &address, sizeof address);
  }
  static void rest_size(std::byte* where, std::uint64_t size) noexcept {
    const std::uint32_t groups = builtin_groups(size);
    std::memcpy(where + offsetof(BuiltinBlock, size), &size, sizeof size);
    std::memcpy(where + offsetof(BuiltinBlock, groups), &groups, sizeof groups);
  }
  static void constants(std::byte* where, std::span<const std::byte> bytes) noexcept {
    std::memcpy(where, bytes.data(), bytes.size());
  }
};

}  // namespace

bool is_by_address(const hal::Command& command) noexcept {
  return command.kind == hal::CommandKind::kDispatch &&
         executable_of(command.dispatch).by_address();
}

// Open or not.
std::uint64_t argument_bytes(const hal::Command& command) noexcept {
  constexpr std::uint64_t kOpen = Arguments::aligned(sizeof(BuiltinBlock));
  static_assert(kOpen >= Arguments::aligned(kPatternBytes));
  switch (command.kind) {
    case hal::CommandKind::kFill:
    case hal::CommandKind::kUpdate:
    case hal::CommandKind::kCopy:
      return kOpen;
    case hal::CommandKind::kDispatch:
      return (is_by_address(command) ? Arguments::aligned(block_bytes(command.dispatch)) : 0) +
             (command.dispatch.counts != nullptr ? kOpen : 0);
    default:
      return 0;
  }
}

void write(const SlotPatch& patch, const hal::BoundRange* table) noexcept {
  patch.write(table, PatchWriter());
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
        const ArgumentBlock block =
            begin_block(command.dispatch, hal::constants_of(command.dispatch, table));
        for (std::uint32_t i = 0; i < command.dispatch.binding_count; ++i) {
          const VkDeviceAddress address =
              address_of(hal::bind(command.dispatch.bindings[i], table));
          std::memcpy(block.host + i * sizeof address, &address, sizeof address);
        }
        bind_address(executable.pipeline(command.dispatch.function), block);
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
      break;  // walk_with_barriers() has their barriers
  }
  return {};
}

Status Encoder::add_open(const hal::Command& command, base::Array<SlotPatch>& patches) {
  switch (command.kind) {
    case hal::CommandKind::kFill:
      if (command.fill.target.memory != nullptr) break;
      return fill_open(command.fill, patches);
    case hal::CommandKind::kUpdate: {
      const hal::UpdateCommand& update = command.update;
      if (update.target.memory != nullptr) break;
      hal::CommandRange source;
      source.memory = update.source_memory;
      source.offset = update.source_offset;
      return copy_open(source, update.target, patches);
    }
    case hal::CommandKind::kCopy:
      if (command.copy.source.memory != nullptr && command.copy.target.memory != nullptr) break;
      return copy_open(command.copy.source, command.copy.target, patches);
    case hal::CommandKind::kDispatch:
      return launch_open(command.dispatch, patches);
    default:
      break;
  }
  return add(command, nullptr);
}

Status Encoder::add_bindings_open(const hal::DispatchCommand& command,
                                  base::Array<SlotPatch>& patches, const hal::BoundRange* table) {
  HALYARD_RETURN_IF_ERROR(bind_open(command, patches));
  launch(command, table);
  return {};
}

Status Encoder::bind_open(const hal::DispatchCommand& command, base::Array<SlotPatch>& patches) {
  const ArgumentBlock block = begin_block(command, command.constants);
  if (command.constant_use_count != 0 &&
      !patches.push_back({SlotPatch::What::kConstants, command.constants_entry,
                          block.host + command.binding_count * sizeof(VkDeviceAddress),
                          command.constants_size})) {
    return Status(StatusCode::kResourceExhausted, "vulkan: no memory for a recording's slots");
  }
  for (std::uint32_t i = 0; i < command.binding_count; ++i) {
    HALYARD_RETURN_IF_ERROR(
        put_address(command.bindings[i], block.host + i * sizeof(VkDeviceAddress), patches));
  }
  bind_address(executable_of(command).pipeline(command.function), block);
  return {};
}

Status Encoder::put_address(const hal::CommandRange& range, std::byte* where,
                            base::Array<SlotPatch>& patches) {
  if (range.memory == nullptr) {
    if (patches.push_back({SlotPatch::What::kRange, range.slot, where, range.offset})) return {};
    return Status(StatusCode::kResourceExhausted, "vulkan: no memory for a recording's slots");
  }
  const VkDeviceAddress address = range.memory->device_address() + range.offset;
  std::memcpy(where, &address, sizeof address);
  return {};
}

Status Encoder::copy_open(const hal::CommandRange& source, const hal::CommandRange& target,
                          base::Array<SlotPatch>& patches) {
  if (target.length == 0) return {};  // of copies and updates it is known
  const ArgumentBlock block = arguments_.take(sizeof(BuiltinBlock));
  const BuiltinBlock values = {.size = target.length};
  std::memcpy(block.host, &values, sizeof values);
  HALYARD_RETURN_IF_ERROR(
      put_address(source, block.host + offsetof(BuiltinBlock, source), patches));
  HALYARD_RETURN_IF_ERROR(
      put_address(target, block.host + offsetof(BuiltinBlock, target), patches));
  bind_address(device_.builtins().copy(), block);
  written_ = true;
  vk_.vkCmdDispatch(commands_, builtin_groups(target.length), 1, 1);
  return {};
}

Status Encoder::fill_open(const hal::FillCommand& command, base::Array<SlotPatch>& patches) {
  const bool is_rest = command.target.length == hal::kWholeSize;
  if (command.target.length == 0) return {};
  BuiltinBlock values = {.size = is_rest ? 0 : command.target.length};
  for (std::uint32_t i = 0; i < sizeof values.pattern; ++i) {
    const std::uint32_t byte = command.pattern >> 8 * (i % command.pattern_size) & 0xff;
    values.pattern |= byte << 8 * i;
  }
  const ArgumentBlock block = arguments_.take(sizeof(BuiltinBlock));
  std::memcpy(block.host, &values, sizeof values);
  HALYARD_RETURN_IF_ERROR(
      put_address(command.target, block.host + offsetof(BuiltinBlock, target), patches));
  bind_address(device_.builtins().fill(), block);
  written_ = true;
  if (!is_rest) {
    vk_.vkCmdDispatch(commands_, builtin_groups(values.size), 1, 1);
    return {};
  }
  const hal::CommandRange& target = command.target;
  if (!patches.push_back({SlotPatch::What::kRestSize, target.slot, block.host, target.offset})) {
    return Status(StatusCode::kResourceExhausted, "vulkan: no memory for a recording's slots");
  }
  launch_from(block);
  return {};
}

Status Encoder::launch_open(const hal::DispatchCommand& command, base::Array<SlotPatch>& patches) {
  if (command.counts == nullptr || command.counts->memory != nullptr) {
    return add_bindings_open(command, patches, nullptr);
  }
  // The counts are copied into the block of that copy, from which the dispatch reads them.
  const ArgumentBlock block = arguments_.take(sizeof(BuiltinBlock));
  const BuiltinBlock values = {.target = block.address + offsetof(BuiltinBlock, groups),
                               .size = sizeof values.groups};
  std::memcpy(block.host, &values, sizeof values);
  HALYARD_RETURN_IF_ERROR(
      put_address(*command.counts, block.host + offsetof(BuiltinBlock, source), patches));
  bind_address(device_.builtins().copy(), block);
  vk_.vkCmdDispatch(commands_, 1, 1, 1);
  written_ = true;
  barrier();
  HALYARD_RETURN_IF_ERROR(bind_open(command, patches));
  written_ = true;
  launch_from(block);
  return {};
}

ArgumentBlock Encoder::begin_block(const hal::DispatchCommand& command,
                                   const std::byte* constants) noexcept {
  const ArgumentBlock block = arguments_.take(block_bytes(command));
  if (command.constants_size != 0) {
    std::memcpy(block.host + command.binding_count * sizeof(VkDeviceAddress), constants,
                command.constants_size);
  }
  return block;
}

void Encoder::bind_address(VkPipeline pipeline, const ArgumentBlock& block) noexcept {
  bind_pipeline(pipeline);
  vk_.vkCmdPushConstants(commands_, device_.address_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                         sizeof block.address, &block.address);
}

// Skips the bind if the previous dispatch used the same pipeline, since replays would repeat it.
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
                           command.constants_size, hal::constants_of(command, table));
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

// Dispatches the group counts in the block.
void Encoder::launch_from(const ArgumentBlock& block) noexcept {
  const NativeRange groups =
      native_range(block.range(offsetof(BuiltinBlock, groups), sizeof(BuiltinBlock::groups)));
  vk_.vkCmdDispatchIndirect(commands_, groups.buffer, groups.offset);
}

void Encoder::copy(const NativeRange& source, const NativeRange& target) noexcept {
  if (target.length == 0) return;
  written_ = true;
  const VkBufferCopy region = {source.offset, target.offset, target.length};
  vk_.vkCmdCopyBuffer(commands_, source.buffer, target.buffer, 1, &region);
}

// vkCmdFillBuffer takes whole words at multiples of 4. A pattern of 1 or 2 bytes is repeated to a
// word, rotated so that it fits the target's offset within the buffer's words.
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
  const NativeRange source = native_range(block.range(0, kPatternBytes));
  const VkBufferCopy ends[] = {{source.offset, target.offset, head},
                               {source.offset + head, target.offset + head + middle, tail}};
  vk_.vkCmdCopyBuffer(commands_, source.buffer, target.buffer, (head != 0) + (tail != 0),
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
