// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/command_buffer.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "base/format.h"
#include "drivers/metal/arguments.h"

namespace halyard::inline v0::metal {
namespace {

Status no_memory() {
  return error(StatusCode::kResourceExhausted, "metal: no memory for a recording");
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
  std::uint64_t bytes = 0;
  std::size_t dispatches = 0, slots = 0;
  for (const hal::Command& command : recording().commands) {
    work_count_ += hal::does_work(command.kind) ? 1 : 0;
    if (command.kind != hal::CommandKind::kDispatch) continue;
    ++dispatches;
    bytes += argument_bytes(command);
    for (std::uint32_t i = 0; i < command.dispatch.binding_count; ++i) {
      slots += command.dispatch.bindings[i].memory == nullptr ? 1 : 0;
    }
  }
  per_buffer_ = heap_.device().options().split_after;
  depth_ = std::max((work_count_ + per_buffer_ - 1) / per_buffer_, 1u);
  const bool shared = recording().slot_count == 0;
  instance_count_ = shared || recording().use == hal::RecordingUse::kOnce ? 1 : kInstances;
  instances_.reset(new (std::nothrow) Instance[instance_count_]);
  if (instances_ == nullptr) return no_memory();
  for (Instance& instance : std::span(instances_.get(), instance_count_)) {
    if (!instance.blocks.make_room(dispatches) || !instance.written.grow(slots)) {
      return no_memory();
    }
    HALYARD_RETURN_IF_ERROR(instance.arguments.reset(heap_, bytes));
    for (const hal::Command& command : recording().commands) {
      if (command.kind != hal::CommandKind::kDispatch) continue;
      const std::uint64_t needs = argument_bytes(command);
      (void)instance.blocks.push_back(needs != 0 ? instance.arguments.take(needs)
                                                 : hal::ArgumentBlock());
    }
  }
  // Without slots all bindings are known now, and concurrent submissions only read the blocks.
  if (shared) write_arguments(0, nullptr);
  return {};
}

hal::InstanceInfo CommandBuffer::instances() const noexcept {
  if (recording().slot_count == 0) return {};
  return {.count = instance_count_, .reuse = hal::InstanceReuse::kRetired};
}

void CommandBuffer::write_arguments(std::uint32_t index, const hal::BoundRange* table) const {
  Instance& instance = instances_[index];
  const bool all = !instance.encoded;
  if (!all && instance.written.empty()) return;
  std::size_t dispatch = 0, slot = 0;
  for (const hal::Command& command : recording().commands) {
    if (command.kind != hal::CommandKind::kDispatch) continue;
    const hal::ArgumentBlock& block = instance.blocks[dispatch++];
    if (command.dispatch.binding_count == 0) continue;
    // Locks the encoder only for a dispatch whose bindings have changed.
    std::size_t its = slot;
    bool changed = all;
    for (std::uint32_t i = 0; i < command.dispatch.binding_count; ++i) {
      const hal::CommandRange& range = command.dispatch.bindings[i];
      if (range.memory != nullptr) continue;
      changed |= instance.written[its++] != hal::SlotValue::of(hal::bind(range, table));
    }
    if (changed) {
      ArgumentWriter writer(command.dispatch, block);
      its = slot;
      for (std::uint32_t i = 0; i < command.dispatch.binding_count; ++i) {
        const hal::CommandRange& range = command.dispatch.bindings[i];
        const hal::BoundRange bound = hal::bind(range, table);
        if (range.memory == nullptr) {
          hal::SlotValue& written = instance.written[its++];
          const hal::SlotValue now = hal::SlotValue::of(bound);
          if (!all && written == now) continue;
          written = now;
        } else if (!all) {
          continue;
        }
        writer.set(i, bound);
      }
    }
    slot = its;
  }
  instance.encoded = true;
}

timeline::CommandSpan CommandBuffer::work_in(timeline::CommandSpan native) const noexcept {
  const std::uint32_t first = native.first * per_buffer_;
  const std::uint32_t end = std::min((native.first + native.count) * per_buffer_, work_count_);
  return {.first = first, .count = end > first ? end - first : 0};
}

}  // namespace halyard::inline v0::metal
