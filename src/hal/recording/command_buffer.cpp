// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/recording/command_buffer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "hal/device/driver.h"
#include "hal/memory/pool.h"
#include "hal/object.h"
#include "hal/validate.h"

namespace halyard::inline v0::hal {
namespace {

Status no_memory() { return Status(StatusCode::kResourceExhausted, "no memory to record it"); }

}  // namespace

trace::Name name_of(const Command& command) noexcept {
  switch (command.kind) {
    case CommandKind::kFill:
      return trace::kFill;
    case CommandKind::kUpdate:
      return trace::kUpdate;
    case CommandKind::kCopy:
      return trace::kCopy;
    case CommandKind::kDispatch:
      return command.dispatch.executable->names()[command.dispatch.function];
    case CommandKind::kBarrier:
    case CommandKind::kSetEvent:
    case CommandKind::kResetEvent:
    case CommandKind::kWaitEvent:
      break;
  }
  return trace::kBarrier;
}

Ref<CommandBufferObject> CommandBufferObject::create(DeviceObject& device,
                                                     RecordingUse use) noexcept {
  return Ref<CommandBufferObject>::adopt(new (std::nothrow) CommandBufferObject(device, use));
}

CommandBufferObject::CommandBufferObject(DeviceObject& device, RecordingUse use) noexcept
    : device_(device) {
  recording_.use = use;
  reclaim_by(device.reclaimer());
}

CommandBufferObject::~CommandBufferObject() {
  native_.reset();
  for (RefCounted* object : retained_) object->release();
}

Status CommandBufferObject::check_counts(const SlotValues& values) const {
  const std::size_t bindings = values.bindings.size(), slots = slots_.size();
  if (bindings < slots) [[unlikely]] {
    return error(StatusCode::kOutOfRange, "{} given, the recording has {}",
                 base::counted(bindings, "binding"), base::counted(slots, "slot"));
  }
  const std::size_t constants = values.constants.size(), numbers = constant_slots_.size();
  if (constants == numbers) [[likely]]
    return {};
  return error(constants < numbers ? StatusCode::kOutOfRange : StatusCode::kInvalidArgument,
               "{} given, the recording has {}{}", base::counted(constants, "constant"),
               constants < numbers ? "" : "only ", base::counted(numbers, "constant slot"));
}

Status CommandBufferObject::bind(const SlotValues& values, BoundRange* table) const {
  HALYARD_RETURN_IF_ERROR(check_counts(values));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SlotNeed& need = slots_[i];
    table[i] = {};
    if (!need.used) continue;
    if (Status status = resolve(device_, values.bindings[i], table[i]); !status.ok()) [[unlikely]] {
      return at(status, "slot {}", i);
    }
    if (table[i].length < need.extent) [[unlikely]] {
      return error(StatusCode::kOutOfRange, "slot {}: {} bound, its commands reach {}", i,
                   base::counted(table[i].length, "byte"), need.extent);
    }
    if (kValidation && table[i].offset % need.alignment != 0) [[unlikely]] {
      return error(StatusCode::kInvalidArgument, "slot {}: bound at offset {}, no multiple of {}",
                   i, table[i].offset, need.alignment);
    }
    if (kValidation && table[i].length % need.length_multiple != 0) [[unlikely]] {
      return error(StatusCode::kInvalidArgument,
                   "slot {}: {} bound, filled to the end with a pattern of {}", i,
                   base::counted(table[i].length, "byte"), need.length_multiple);
    }
  }
  for (std::size_t i = 0; i < pooled_.size(); ++i) {
    if (pooled_[i]->deallocated()) [[unlikely]] {
      return error(StatusCode::kFailedPrecondition, "a recorded buffer of {} was deallocated",
                   base::counted(pooled_[i]->size(), "byte"));
    }
    table[slots_.size() + i] = {pooled_[i], 0, pooled_[i]->size()};
  }
  for (const std::size_t index : unchecked_copies_) {
    const CopyCommand& copy = commands_[index].copy;
    if (Status status =
            check_copy({hal::bind(copy.source, table)}, {hal::bind(copy.target, table)});
        !status.ok()) [[unlikely]] {
      return at(status, "command {} (copy)", index);
    }
  }
  return constant_slots_.empty() ? Status() : bind_constants(values.constants, table);
}

Status CommandBufferObject::bind_constants(View<Constant> constants, BoundRange* table) const {
  for (std::size_t i = 0; i < constant_slots_.size(); ++i) {
    BoundRange& entry = table[range_count() + i];
    entry = {};
    const ConstantNeed& need = constant_slots_[i];
    if (!need.used) continue;
    if (constants[i].indirect() || constants[i].type() != need.type) [[unlikely]] {
      const DispatchCommand& dispatch = commands_[need.command].dispatch;
      return error(StatusCode::kInvalidArgument, "constant slot {}: is {} of {}, given {}", i,
                   to_string(need.type), dispatch.executable->file().kernels()[dispatch.function].name,
                   constants[i].indirect() ? "a slot" : to_string(constants[i].type()));
    }
    std::memcpy(&entry.offset, constants[i].data(), constants[i].size());
  }
  for (const std::size_t index : with_constants_) {
    const DispatchCommand& dispatch = commands_[index].dispatch;
    auto* const bytes = reinterpret_cast<std::byte*>(table + dispatch.constants_entry);
    std::memcpy(bytes, dispatch.constants, dispatch.constants_size);
    for (std::uint32_t i = 0; i < dispatch.constant_use_count; ++i) {
      const ConstantUse& use = dispatch.constant_uses[i];
      std::memcpy(bytes + use.offset, &table[use.slot].offset, kernel::size_of(use.type));
    }
  }
  for (const std::size_t index : unchecked_tensors_) {
    HALYARD_RETURN_IF_ERROR(check_tensors(index, table));
  }
  return {};
}

Status CommandBufferObject::check_tensors(std::size_t index, const BoundRange* table) const {
  const DispatchCommand& dispatch = commands_[index].dispatch;
  const kernel::KernelInfo& kernel = dispatch.executable->file().kernels()[dispatch.function];
  for (std::size_t i = 0; i < dispatch.binding_count; ++i) {
    std::uint64_t length = hal::bind(dispatch.bindings[i], table).length;
    if (Status status = check_tensor(kernel, i, constants_of(dispatch, table), length);
        !status.ok()) [[unlikely]] {
      return at(status, "command {} (dispatch of {})", index, kernel.name);
    }
  }
  return {};
}

Status CommandBufferObject::add(const Command& command) {
  if (does_work(command.kind)) {
    last_work_ = static_cast<std::uint32_t>(commands_.size());
  } else {
    HALYARD_RETURN_IF_ERROR(no_open_edges());
  }
  if (device_.engine().tracer() != nullptr) [[unlikely]] {
    if (!labels_.push_back({name_of(command), group_})) return no_memory();
  }
  return commands_.push_back(command) ? Status() : no_memory();
}

Status CommandBufferObject::add_edge(std::uint32_t before) {
  const auto after = static_cast<std::uint32_t>(commands_.size());
  return edges_.push_back({before, after}) ? Status() : no_memory();
}

Status CommandBufferObject::no_open_edges() const {
  if (edges_.empty() || edges_[edges_.size() - 1].after != commands_.size()) return {};
  return Status(StatusCode::kFailedPrecondition,
                "after() orders a dispatch, fill, update or copy, and none follows it");
}

Status CommandBufferObject::add_event(CommandKind kind, EventObject& event) {
  std::size_t end = events_.size();
  while (end != 0 && events_[end - 1].event != &event) --end;  // recent ones first
  if (end == 0) {
    HALYARD_RETURN_IF_ERROR(retain_until_end(event));
    if (!events_.push_back({.event = &event})) return no_memory();
    end = events_.size();
  }
  EventUse& use = events_[end - 1];
  if (kind == CommandKind::kSetEvent) {
    use.after = EventUse::After::kSet;
  } else if (kind == CommandKind::kResetEvent) {
    use.after = EventUse::After::kReset;
  } else if (use.after == EventUse::After::kReset) {
    return Status(StatusCode::kFailedPrecondition, "the event was reset before, and not set since");
  } else if (use.after == EventUse::After::kUnchanged && use.first_wait == EventUse::kNone) {
    use.first_wait = commands_.size();
  }
  return add(Command(kind, EventCommand{static_cast<std::uint32_t>(end - 1)}));
}

Status CommandBufferObject::range_of(const BindingRef& ref, CommandRange& range) {
  if (!ref.indirect) {
    range.slot = 0;
    HALYARD_RETURN_IF_ERROR(resolve(device_, ref.range, range));
    if (range.memory->of_pool()) return use_pooled(range);
    return retain_until_end(*range.memory);
  }
  const Slot& slot = ref.slot;
  HALYARD_RETURN_IF_ERROR(check_slot(slot));
  range = {{nullptr, slot.offset, slot.length}, slot.index};
  return {};
}

// Pool memory has no address before a submission is issued. So the range moves to a slot.
Status CommandBufferObject::use_pooled(CommandRange& range) {
  auto* const memory = static_cast<PoolMemory*>(std::exchange(range.memory, nullptr));
  const std::size_t index =
      static_cast<std::size_t>(std::find(pooled_.begin(), pooled_.end(), memory) - pooled_.begin());
  if (index == pooled_.size() && !pooled_.push_back(memory)) return no_memory();
  range.slot = static_cast<std::uint32_t>(kMaxSlots + index);
  return retain_until_end(*memory);
}

// Called when the number of slots is final.
void CommandBufferObject::place_pooled() noexcept {
  const auto place = [&](CommandRange& range) {
    if (range.memory != nullptr || range.slot < kMaxSlots) return;
    range.slot += static_cast<std::uint32_t>(slots_.size()) - kMaxSlots;
  };
  for (Command& command : commands_) {
    switch (command.kind) {
      case CommandKind::kBarrier:
      case CommandKind::kSetEvent:
      case CommandKind::kResetEvent:
      case CommandKind::kWaitEvent:
        break;
      case CommandKind::kFill:
        place(command.fill.target);
        break;
      case CommandKind::kUpdate:
        place(command.update.target);
        break;
      case CommandKind::kCopy:
        place(command.copy.source);
        place(command.copy.target);
        break;
      case CommandKind::kDispatch:
        for (std::uint32_t i = 0; i < command.dispatch.binding_count; ++i) {
          // The cast is safe: the bindings are in this recording's arena, and it is not finished.
          place(const_cast<CommandRange&>(command.dispatch.bindings[i]));
        }
        if (command.dispatch.counts != nullptr) {
          place(const_cast<CommandRange&>(*command.dispatch.counts));
        }
        break;
    }
  }
}

// Assigns the final table entries of constant slots, and room for the constants of each dispatch.
void CommandBufferObject::place_constants() noexcept {
  table_size_ = range_count() + constant_slots_.size();
  for (const std::size_t index : with_constants_) {
    DispatchCommand& dispatch = commands_[index].dispatch;
    for (std::uint32_t i = 0; i < dispatch.constant_use_count; ++i) {
      // The cast is safe as in place_pooled().
      const_cast<ConstantUse&>(dispatch.constant_uses[i]).slot +=
          static_cast<std::uint32_t>(range_count());
    }
    dispatch.constants_entry = static_cast<std::uint32_t>(table_size_);
    table_size_ += (dispatch.constants_size + sizeof(BoundRange) - 1) / sizeof(BoundRange);
  }
}

Status CommandBufferObject::use_constants(View<ConstantUse> uses, DispatchCommand& command) {
  if (uses.empty()) return {};
  auto* const kept = arena_.allocate_array<ConstantUse>(uses.size());
  if (kept == nullptr || !with_constants_.push_back(commands_.size())) return no_memory();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const ConstantUse& use = kept[i] = uses[i];
    if (use.slot >= kMaxSlots) {
      return error(StatusCode::kOutOfRange, "constant slot {}; the highest is {}", use.slot,
                   kMaxSlots - 1);
    }
    if (use.slot >= constant_slots_.size() && !constant_slots_.grow(use.slot + 1)) {
      return no_memory();
    }
    ConstantNeed& need = constant_slots_[use.slot];
    if (need.used && need.type != use.type) {
      return error(StatusCode::kInvalidArgument, "constant slot {} is {} here, {} before", use.slot,
                   to_string(use.type), to_string(need.type));
    }
    need = {use.type, true, commands_.size()};
  }
  command.constant_uses = kept;
  command.constant_use_count = static_cast<std::uint32_t>(uses.size());
  return {};
}

Status CommandBufferObject::need(const CommandRange& range, std::uint32_t alignment,
                                 std::uint32_t length_multiple) {
  if (range.memory != nullptr || range.slot >= kMaxSlots) return {};
  // Checked again because a copy's length may come from its other side.
  HALYARD_RETURN_IF_ERROR(check_slot({range.slot, range.offset, range.length}));
  const bool to_the_end = range.length == kWholeSize;
  if (range.slot >= slots_.size() && !slots_.grow(range.slot + 1)) return no_memory();
  SlotNeed& need = slots_[range.slot];
  need.used = true;
  need.extent = std::max(need.extent, range.offset + (to_the_end ? 0 : range.length));
  need.alignment = std::max(need.alignment, alignment);  // powers of two
  if (to_the_end) need.length_multiple = std::max(need.length_multiple, length_multiple);
  return {};
}

Status CommandBufferObject::retain_until_end(RefCounted& object) {
  // Most commands use the same object as the previous command; finish() removes the other
  // duplicates.
  if (!retained_.empty() && retained_[retained_.size() - 1] == &object) return {};
  if (!retained_.push_back(&object)) return no_memory();
  object.retain();
  return {};
}

Status CommandBufferObject::check_copy_at_bind() {
  return unchecked_copies_.push_back(commands_.size() - 1) ? Status() : no_memory();
}

Status CommandBufferObject::check_tensors_at_bind() {
  return unchecked_tensors_.push_back(commands_.size()) ? Status() : no_memory();
}

Status CommandBufferObject::keep_bytes(Bytes bytes, UpdateCommand& update) {
  std::byte* data = nullptr;
  if (device_.needs_host_blocks() && !bytes.empty()) {
    constexpr std::uint64_t kLeast = 4096;  // several small updates share a block
    const std::uint64_t size = (bytes.size() + 15) & ~std::uint64_t{15};
    if (host_room_ < size) {
      HALYARD_ASSIGN_OR_RETURN(HostBlock block,
                               device_.allocate_host_block(std::max(size, kLeast)));
      host_room_ = block.size();
      if (!host_blocks_.push_back(std::move(block))) return host_room_ = 0, no_memory();
    }
    const HostBlock& block = host_blocks_.back();
    const std::uint64_t offset = block.size() - host_room_;
    host_room_ -= size;
    data = block.data() + offset;
    update.source_memory = &block.memory();
    update.source_offset = block.offset() + offset;
  } else {
    data = arena_.allocate(bytes.size());
    if (data == nullptr) return hal::no_memory(bytes.size());
  }
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  update.source = data;
  return {};
}

Result<CommandBuffer> CommandBufferObject::finish() {
  HALYARD_RETURN_IF_ERROR(no_open_edges());
  std::sort(retained_.begin(), retained_.end(), std::less<>());
  std::size_t kept = 0;
  for (RefCounted* object : retained_) {
    if (kept != 0 && retained_[kept - 1] == object) {
      object->release();
    } else {
      retained_[kept++] = object;
    }
  }
  retained_.shrink(kept);
  if (!pooled_.empty()) place_pooled();
  place_constants();
  recording_.commands = {commands_.data(), commands_.size()};
  recording_.edges = {edges_.data(), edges_.size()};
  recording_.labels = {labels_.data(), labels_.size()};
  recording_.event_count = static_cast<std::uint32_t>(events_.size());
  recording_.slot_count = static_cast<std::uint32_t>(range_count() + constant_slots_.size());
  if (device_.checks()) [[unlikely]] {
    HALYARD_ASSIGN_OR_RETURN(accesses_, RecordedAccesses::create(recording_));
  }
  HALYARD_ASSIGN_OR_RETURN(native_, device_.driver()->prepare(recording_));
  instances_.reset(native_->instances());
  keeps_open_ = HandleRef<DeviceObject>(&device_);
  return CommandBuffer(this);
}

std::size_t CommandBuffer::command_count() const noexcept {
  return object() ? object()->command_count() : 0;
}

std::size_t CommandBuffer::slot_count() const noexcept {
  return object() ? object()->slot_count() : 0;
}

std::size_t CommandBuffer::constant_slot_count() const noexcept {
  return object() ? object()->constant_slot_count() : 0;
}

}  // namespace halyard::inline v0::hal
