// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBufferObject: a recording, the objects it keeps alive, and its requirements on a binding
// table.
//
// Handles keep its device open; before finish() the recorder does. Submissions in flight keep only
// the object, so that a device can close while they end. A Recorder builds it; it is immutable
// after finish().
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "hal/device/device.h"
#include "hal/memory/arena.h"
#include "hal/recording/command.h"
#include "hal/recording/instances.h"
#include "hal/recording/recorded_accesses.h"
#include "hal/sync/event.h"
#include "halyard/base/ref.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/command_buffer.h"

namespace halyard::inline v0::hal {

// The combined requirements of all commands on the range bound to a slot, so that a submission
// checks it once.
struct SlotNeed {
  std::uint64_t extent = 0;           // minimum length in bytes
  std::uint32_t alignment = 1;        // of its start in the allocation
  std::uint32_t length_multiple = 1;  // for commands that reach to its end
  bool used = false;                  // otherwise the entry may be empty
};

// The requirement on the constant of a slot.
struct ConstantNeed {
  kernel::ElementType type{};
  bool used = false;        // otherwise any constant is accepted
  std::size_t command = 0;  // the last dispatch with it, for messages
};

// What a submission gives to the slots: bindings[i] to slot i, constants[i] to constant slot i.
struct SlotValues {
  const View<BufferRange>& bindings;
  const View<Constant>& constants;
};

class PoolMemory;

class CommandBufferObject final : public Reclaimed {
 public:
  // Null if out of memory.
  static Ref<CommandBufferObject> create(DeviceObject& device, RecordingUse use) noexcept;

  DeviceObject& device() const noexcept { return device_; }
  const NativeCommands& native() const noexcept { return *native_; }
  Instances& instances() noexcept { return instances_; }
  std::size_t command_count() const noexcept { return commands_.size(); }
  std::size_t slot_count() const noexcept { return slots_.size(); }
  std::size_t constant_slot_count() const noexcept { return constant_slots_.size(); }
  // After the slots, the table has the pool memory that the recording refers to directly, because
  // its addresses are not known before a submission is issued.
  std::size_t range_count() const noexcept { return slots_.size() + pooled_.size(); }
  // After these ranges, the table has the numbers, then the constants of each dispatch that uses
  // numbers.
  std::size_t table_size() const noexcept { return table_size_; }
  bool needs_compute() const noexcept { return needs_compute_; }
  // Precondition: DeviceObject::checks().
  const RecordedAccesses& accesses() const noexcept { return *accesses_; }
  std::span<const EventUse> events() const noexcept { return {events_.data(), events_.size()}; }

  // Checks `values` and fills `table`; the entry of an unused slot is empty. Returns kOutOfRange if
  // there are too few values, and kFailedPrecondition if recorded memory was deallocated.
  Status bind(const SlotValues& values, BoundRange* table) const;

  // ---- While recording: each function appends to the recording, or returns an error.

  Status add(const Command& command);
  // Orders the next command after `before`, the index of a command that does work.
  Status add_edge(std::uint32_t before);
  static constexpr std::uint32_t kNoCommand = ~std::uint32_t{0};
  // The latest command that does work, or kNoCommand.
  std::uint32_t last_work() const noexcept { return last_work_; }
  Status add_event(CommandKind kind, EventObject& event);
  // Converts `ref` to a range of a command. Resolves kWholeSize of direct memory.
  Status range_of(const BindingRef& ref, CommandRange& range);
  // Adds the requirements on range.slot, if the range is in a slot. Returns the errors of
  // check_slot().
  Status need(const CommandRange& range, std::uint32_t alignment, std::uint32_t length_multiple);
  // Assigns constant slots to `command`, which must be passed to add() next. Returns
  // kInvalidArgument if a slot is already used with another type, or kOutOfRange.
  Status use_constants(View<ConstantUse> uses, DispatchCommand& command);
  Status retain_until_end(RefCounted& object);
  Status check_copy_at_bind();     // of the command added last
  Status check_tensors_at_bind();  // of the dispatch that is added next
  // Copies `bytes` to memory that the device copies from.
  Status keep_bytes(Bytes bytes, UpdateCommand& update);
  Arena& arena() noexcept { return arena_; }
  void set_needs_compute() noexcept { needs_compute_ = true; }
  // Sets the group of the commands that follow, for traces.
  void set_group(trace::Name group) noexcept { group_ = group; }

  // Hands the recording to the driver. Precondition: the caller keeps the device open.
  Result<CommandBuffer> finish();

 private:
  CommandBufferObject(DeviceObject& device, RecordingUse use) noexcept;
  ~CommandBufferObject() override;
  void on_last_handle() noexcept override { keeps_open_ = {}; }
  Status no_open_edges() const;
  Status use_pooled(CommandRange& range);
  Status check_counts(const SlotValues& values) const;
  Status bind_constants(View<Constant> constants, BoundRange* table) const;
  Status check_tensors(std::size_t index, const BoundRange* table) const;
  void place_pooled() noexcept;
  void place_constants() noexcept;

  DeviceObject& device_;
  // Set while user handles exist. An object that never had a handle has no on_last_handle(), and
  // the runtime's thread may free it much later, when it must not keep the device open.
  HandleRef<DeviceObject> keeps_open_;
  Arena arena_;                   // bindings, constants and update data
  Array<HostBlock> host_blocks_;  // update data, if the device needs them
  std::uint64_t host_room_ = 0;   // bytes left in the last of them
  Array<Command> commands_;
  Array<CommandEdge> edges_;
  std::uint32_t last_work_ = kNoCommand;
  Array<SlotNeed> slots_;
  Array<ConstantNeed> constant_slots_;
  Array<std::size_t> with_constants_;     // dispatches with constant slots
  Array<std::size_t> unchecked_tensors_;  // dispatches with slots for sizes or strides
  std::size_t table_size_ = 0;            // from finish() on
  Array<EventUse> events_;
  Array<PoolMemory*> pooled_;            // entry i is slot kMaxSlots + i until finish()
  Array<std::size_t> unchecked_copies_;  // whose overlap depends on the table
  Array<RefCounted*> retained_;
  Array<trace::Label> labels_;  // while tracing, one for each command
  trace::Name group_ = trace::kNoName;
  bool needs_compute_ = false;
  RecordedCommands recording_;
  std::unique_ptr<RecordedAccesses> accesses_;  // null unless DeviceObject::checks()
  std::unique_ptr<NativeCommands> native_;      // may point into the members above
  Instances instances_;
};

}  // namespace halyard::inline v0::hal
