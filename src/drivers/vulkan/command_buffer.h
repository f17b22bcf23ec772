// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CommandBuffer: a recording as VkCommandBuffers that are recorded once and submitted often.
//
//     no slots                   one command buffer, which any number of submissions use at once
//     slots in dispatches        instances; each has its argument blocks, in which a submission
//                                writes the addresses of its slots. Nothing is recorded again
//     slots in other commands    the same, but the command buffer names their buffers and offsets.
//                                Once these differ from the previous replay, it is recorded open:
//                                the driver's own kernels (builtin_kernels.h) then do these
//                                commands and read the addresses as well
//     used once (RecordingUse)   none: the lane records it into a command buffer of its own
//
// Foreign kernels (hy-vulkan-1) have their slots in descriptors, and some devices have no builtin
// kernels. In these cases the command buffer names its slots, and is recorded again when a slot
// differs from its last use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/array.h"
#include "base/atomic.h"
#include "base/format.h"
#include "drivers/vulkan/arguments.h"
#include "drivers/vulkan/encoder.h"
#include "hal/recording/command.h"
#include "hal/recording/slots.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::vulkan {

class CommandBuffer final : public hal::NativeCommands {
 public:
  static constexpr std::uint32_t kInstances = 4;

  // `recording` outlives the result. Returns the errors of Encoder::add and kResourceExhausted.
  static Result<std::unique_ptr<hal::NativeCommands>> create(
      const ArgumentHeap& heap, const hal::RecordedCommands& recording);
  ~CommandBuffer() override;

  hal::InstanceInfo instances() const noexcept override;

  std::uint64_t argument_bytes() const noexcept { return argument_bytes_; }
  // Whether native() may be called.
  bool is_native() const noexcept { return recording().use == hal::RecordingUse::kOften; }
  // The command buffer for a submission with this table, for queues of the compute family. No other
  // submission may use `instance` meanwhile. Errors are those of create().
  Result<VkCommandBuffer> native(std::uint32_t instance, const hal::BoundRange* table) const;

 private:
  // A slot that command buffers may name. `always`: a foreign kernel uses it, so it cannot be open.
  struct NamedSlot {
    std::uint32_t slot = 0;
    bool always = false;
  };
  struct Instance {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    bool recorded = false;
    bool open = false;
    Arguments arguments;
    base::Array<SlotPatch> patches;
    base::Array<hal::SlotValue> named;  // a value for each of named_slots_
  };

  CommandBuffer(const ArgumentHeap& heap, const hal::RecordedCommands& recording) noexcept
      : hal::NativeCommands(recording), heap_(heap) {}
  Status open();
  Status note_names(const hal::Command& command);
  Status record(Instance& instance, const hal::BoundRange* table) const;
  // Whether the named slots of the command buffer equal those of the table; stores the table's
  // values.
  bool names(Instance& instance, const hal::BoundRange* table) const noexcept;

  const ArgumentHeap heap_;
  std::uint64_t argument_bytes_ = 0;
  base::Array<NamedSlot> named_slots_;         // of commands other than dispatches by address
  bool can_be_open_ = false;                   // some can, and the device has builtins
  mutable base::Atomic<bool> changes_{false};  // a replay had other slots than its predecessor
  std::uint32_t instance_count_ = 0;
  std::unique_ptr<Instance[]> instances_;
};

}  // namespace halyard::inline v0::vulkan
