// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder: writes commands of the HAL into a VkCommandBuffer, with their argument blocks.
//
//     fill       vkCmdFillBuffer for whole words; bytes at the ends are copied from a block
//     update     vkCmdCopyBuffer from the host block that holds its bytes
//     copy       vkCmdCopyBuffer
//     dispatch   block, pipeline, push constants, vkCmdDispatch or vkCmdDispatchIndirect
//
// Command buffers that are replayed with changing slots do not name the slots' buffers (add_open):
//
//     fill, update, copy    a kernel of the driver's own; its block has the addresses
//     counts of a dispatch  such a kernel copies them into a block, from which they are read
//
// Each barrier, event and edge becomes one full barrier if something was written since the last
// barrier. end() adds another, so later work on this queue, and the host, sees all writes.
#pragma once

#include <cstdint>

#include "drivers/vulkan/arguments.h"
#include "drivers/vulkan/executable.h"
#include "hal/recording/command.h"
#include "hal/recording/slots.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::vulkan {

// The largest number of bytes of argument blocks that the command needs.
std::uint64_t argument_bytes(const hal::Command& command) noexcept;

// A value that a replay writes into an argument block: the start address of a slot, or its size in
// a BuiltinBlock.
using SlotPatch = hal::SlotPatch<std::byte*>;
void write(const SlotPatch& patch, const hal::BoundRange* table) noexcept;

// Whether the command dispatches a kernel that finds its bindings by address.
bool is_by_address(const hal::Command& command) noexcept;

class Encoder {
 public:
  // Precondition: `commands` is being recorded, and `arguments` has room for the commands to add.
  Encoder(NativeDevice& device, VkCommandBuffer commands, Arguments& arguments) noexcept
      : device_(device), vk_(device.vk()), commands_(commands), arguments_(arguments) {}

  // Writes one command with its slots from `table`. Only foreign kernels have errors:
  //   kInvalidArgument  a binding whose offset or length a descriptor cannot have
  Status add(const hal::Command& command, const hal::BoundRange* table);
  // Writes one command without the addresses of its slots, and adds to `patches` where a replay
  // writes them. Returns kResourceExhausted without memory. Preconditions: not a dispatch of a
  // foreign kernel; for fills, updates, copies and counts, the device's builtins are prepared.
  Status add_open(const hal::Command& command, base::Array<SlotPatch>& patches);
  // Writes a dispatch by address of which only the bindings are open; its counts are a slot of
  // `table`.
  Status add_bindings_open(const hal::DispatchCommand& command, base::Array<SlotPatch>& patches,
                           const hal::BoundRange* table);
  // Later commands run after all earlier commands, and see their writes.
  void barrier() noexcept;
  void end() noexcept;

 private:
  Status bind_open(const hal::DispatchCommand& command, base::Array<SlotPatch>& patches);
  Status put_address(const hal::CommandRange& range, std::byte* where,
                     base::Array<SlotPatch>& patches);
  // Writes a copy by the builtin kernel. `source` and `target` may be slots or memory.
  Status copy_open(const hal::CommandRange& source, const hal::CommandRange& target,
                   base::Array<SlotPatch>& patches);
  Status fill_open(const hal::FillCommand& command, base::Array<SlotPatch>& patches);
  Status launch_open(const hal::DispatchCommand& command, base::Array<SlotPatch>& patches);
  void bind_address(VkPipeline pipeline, const ArgumentBlock& block) noexcept;
  void fill(const hal::FillCommand& command, const hal::BoundRange& target) noexcept;
  void copy(const NativeRange& source, const NativeRange& target) noexcept;
  void launch(const hal::DispatchCommand& command, const hal::BoundRange* table) noexcept;
  void launch_from(const ArgumentBlock& block) noexcept;
  Status push_descriptors(const hal::DispatchCommand& command, const Executable& executable,
                          const hal::BoundRange* table) noexcept;
  // Begins the block of a dispatch by address, with these constants.
  ArgumentBlock begin_block(const hal::DispatchCommand& command,
                            const std::byte* constants) noexcept;
  void bind_pipeline(VkPipeline pipeline) noexcept;

  NativeDevice& device_;
  const Functions& vk_;
  const VkCommandBuffer commands_;
  Arguments& arguments_;
  VkPipeline bound_ = VK_NULL_HANDLE;
  bool written_ = false;  // since the last barrier
};

}  // namespace halyard::inline v0::vulkan
