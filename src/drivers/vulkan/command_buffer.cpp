// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/command_buffer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"
#include "hal/recording/walk.h"

namespace halyard::inline v0::vulkan {
namespace {

Status no_memory() {
  return Status(StatusCode::kResourceExhausted, "vulkan: no memory for a recording");
}

// Calls visit(slot) for each slot that the command buffer names by buffer and offset, and for each
// number that it contains.
template <class F>
void for_each_named(const hal::Command& command, F&& visit) {
  if (!is_by_address(command)) return hal::for_each_slot(command, visit);
  const hal::CommandRange* const counts = command.dispatch.counts;
  if (counts != nullptr && counts->memory == nullptr) visit(counts->slot);
}

}  // namespace

Result<std::unique_ptr<hal::NativeCommands>> CommandBuffer::create(
    const ArgumentHeap& heap, const hal::RecordedCommands& recording) {
  std::unique_ptr<CommandBuffer> commands(new (std::nothrow) CommandBuffer(heap, recording));
  if (commands == nullptr) return no_memory();
  HALYARD_RETURN_IF_ERROR(commands->open());
  return std::unique_ptr<hal::NativeCommands>(std::move(commands));
}

Status CommandBuffer::open() {
  for (const hal::Command& command : recording().commands) {
    argument_bytes_ += vulkan::argument_bytes(command);
    HALYARD_RETURN_IF_ERROR(note_names(command));
  }
  if (!is_native()) return {};
  can_be_open_ = heap_.device().has_builtins() &&
                 !std::ranges::all_of(named_slots_, [](const auto& slot) { return slot.always; });
  // Prepared now, not when slots first change, so that an issuer does not wait for a compiler.
  if (can_be_open_) HALYARD_RETURN_IF_ERROR(heap_.device().builtins().prepare(heap_.device()));
  const bool shared = recording().slot_count == 0;
  instance_count_ = shared ? 1 : kInstances;
  instances_.reset(new (std::nothrow) Instance[instance_count_]);
  if (instances_ == nullptr) return no_memory();
  for (Instance& instance : std::span(instances_.get(), instance_count_)) {
    if (!instance.named.grow(named_slots_.size())) return no_memory();
    HALYARD_RETURN_IF_ERROR(instance.arguments.reset(heap_, argument_bytes_));
  }
  {
    base::LockGuard lock(heap_.device().recording_mutex());
    VkCommandBufferAllocateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = heap_.device().recording_pool();
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    for (Instance& instance : std::span(instances_.get(), instance_count_)) {
      HALYARD_RETURN_IF_ERROR(
          heap_.device().check(heap_.device().vk().vkAllocateCommandBuffers(
                                   heap_.device().handle(), &info, &instance.commands),
                               "vkAllocateCommandBuffers"));
    }
  }
  // Recordings whose buffers are known are recorded now, which also reports their errors now.
  if (!named_slots_.empty()) return {};
  for (Instance& instance : std::span(instances_.get(), instance_count_)) {
    HALYARD_RETURN_IF_ERROR(record(instance, nullptr));
  }
  return {};
}

Status CommandBuffer::note_names(const hal::Command& command) {
  const bool always = command.kind == hal::CommandKind::kDispatch && !is_by_address(command);
  bool enough = true;
  for_each_named(command, [&](std::uint32_t slot) {
    NamedSlot* const known = std::ranges::find(named_slots_, slot, &NamedSlot::slot);
    if (known == named_slots_.end()) {
      enough = enough && named_slots_.push_back({slot, always});
    } else {
      known->always |= always;
    }
  });
  return enough ? Status() : no_memory();
}

CommandBuffer::~CommandBuffer() {
  base::LockGuard lock(heap_.device().recording_mutex());
  for (std::uint32_t i = 0; i < instance_count_ && instances_ != nullptr; ++i) {
    if (instances_[i].commands == VK_NULL_HANDLE) continue;
    heap_.device().vk().vkFreeCommandBuffers(
        heap_.device().handle(), heap_.device().recording_pool(), 1, &instances_[i].commands);
  }
}

hal::InstanceInfo CommandBuffer::instances() const noexcept {
  if (!is_native() || recording().slot_count == 0) return {};
  return {.count = kInstances, .reuse = hal::InstanceReuse::kRetired};
}

Status CommandBuffer::record(Instance& instance, const hal::BoundRange* table) const {
  const Functions& vk = heap_.device().vk();
  instance.recorded = false;
  instance.open = can_be_open_ && changes_.load(std::memory_order_relaxed);
  instance.patches.shrink(0);
  HALYARD_RETURN_IF_ERROR(instance.arguments.reset(heap_, argument_bytes_));
  base::LockGuard lock(heap_.device().recording_mutex());
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  if (recording().slot_count == 0) begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  HALYARD_RETURN_IF_ERROR(heap_.device().check(vk.vkBeginCommandBuffer(instance.commands, &begin),
                                               "vkBeginCommandBuffer"));
  Encoder encoder(heap_.device(), instance.commands, instance.arguments);
  const auto add = [&](std::uint32_t, const hal::Command& command) {
    if (command.kind == hal::CommandKind::kDispatch && !is_by_address(command)) {
      return encoder.add(command, table);
    }
    if (instance.open) return encoder.add_open(command, instance.patches);
    return is_by_address(command)
               ? encoder.add_bindings_open(command.dispatch, instance.patches, table)
               : encoder.add(command, table);
  };
  HALYARD_RETURN_IF_ERROR(hal::walk_with_barriers(recording(), [&] { encoder.barrier(); }, add));
  encoder.end();
  HALYARD_RETURN_IF_ERROR(
      heap_.device().check(vk.vkEndCommandBuffer(instance.commands), "vkEndCommandBuffer"));
  instance.recorded = true;
  return {};
}

bool CommandBuffer::names(Instance& instance, const hal::BoundRange* table) const noexcept {
  bool same = true;
  for (std::size_t i = 0; i < named_slots_.size(); ++i) {
    if (instance.open && !named_slots_[i].always) continue;
    const hal::SlotValue now = hal::SlotValue::of(table[named_slots_[i].slot]);
    same = same && now == instance.named[i];
    instance.named[i] = now;
  }
  return same;
}

Result<VkCommandBuffer> CommandBuffer::native(std::uint32_t index,
                                              const hal::BoundRange* table) const {
  Instance& instance = instances_[index];
  const bool same = names(instance, table);
  if (!same && instance.recorded) changes_.store(true, std::memory_order_relaxed);
  if (!same || !instance.recorded) HALYARD_RETURN_IF_ERROR(record(instance, table));
  for (const SlotPatch& patch : instance.patches) write(patch, table);
  return instance.commands;
}

}  // namespace halyard::inline v0::vulkan
