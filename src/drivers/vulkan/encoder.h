// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder: writes commands of the HAL into a VkCommandBuffer, with their argument blocks.
//
//     fill       vkCmdFillBuffer for whole words; bytes at the ends are copied from a block
//     update     vkCmdCopyBuffer from the host block that holds its bytes
//     copy       vkCmdCopyBuffer
//     dispatch   block, pipeline, push constants, vkCmdDispatch or vkCmdDispatchIndirect
//
// One full barrier stands for each barrier, event and edge, where something was written since the
// last one. end() adds one more: what follows on this queue, and the host, sees all of it.
#pragma once

#include <cstdint>

#include "drivers/vulkan/arguments.h"
#include "drivers/vulkan/executable.h"
#include "hal/command.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::vulkan {

// Bytes of argument blocks that the command takes at most.
std::uint64_t argument_bytes(const hal::Command& command) noexcept;

// Where the address of a binding stands that is a slot, for command buffers that are replayed.
struct SlotAddress {
  std::byte* where;  // 8 bytes of an argument block
  std::uint32_t slot;
  std::uint64_t offset;  // added to the slot's address
};

class Encoder {
 public:
  // `commands` is being recorded. `arguments` has room for the commands that follow.
  Encoder(NativeDevice& device, VkCommandBuffer commands, Arguments& arguments) noexcept
      : device_(device), vk_(device.vk()), commands_(commands), arguments_(arguments) {}

  // Writes one command with its slots from `table`. Errors are of foreign kernels alone:
  //   kInvalidArgument  a binding whose offset or length a descriptor cannot have
  Status add(const hal::Command& command, const hal::BoundRange* table);
  // A dispatch by address, without its slots' addresses, which are added to `slots`. `table` is for
  // its counts, if they are a slot.
  Status add_open(const hal::DispatchCommand& command, base::Array<SlotAddress>& slots,
                  const hal::BoundRange* table);
  // What follows runs after, and sees, everything before.
  void barrier() noexcept;
  void end() noexcept;

 private:
  void fill(const hal::FillCommand& command, const hal::BoundRange& target) noexcept;
  void copy(const NativeRange& source, const NativeRange& target) noexcept;
  void launch(const hal::DispatchCommand& command, const hal::BoundRange* table) noexcept;
  Status push_descriptors(const hal::DispatchCommand& command, const Executable& executable,
                          const hal::BoundRange* table) noexcept;
  ArgumentBlock begin_block(const hal::DispatchCommand& command) noexcept;
  void bind_block(const hal::DispatchCommand& command, const Executable& executable,
                  const ArgumentBlock& block) noexcept;
  void bind_pipeline(VkPipeline pipeline) noexcept;

  NativeDevice& device_;
  const Functions& vk_;
  const VkCommandBuffer commands_;
  Arguments& arguments_;
  VkPipeline bound_ = VK_NULL_HANDLE;
  bool written_ = false;  // since the last barrier
};

}  // namespace halyard::inline v0::vulkan
