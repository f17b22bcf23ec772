// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argument blocks: what the dispatches of one command buffer read. The host writes them, the device
// reads them while the command buffer runs.
//
//     block of a dispatch, hy-vulkan-2    address of binding 0, 1 ...; constants
//     block of a fill                     its pattern, twice, for bytes at the ends
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "drivers/vulkan/allocator.h"
#include "hal/memory/host_blocks.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::vulkan {

// One block, in memory that the host sees.
struct ArgumentBlock {
  std::byte* host = nullptr;
  VkDeviceAddress address = 0;
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0;  // in `buffer`
};

// The memory of a device's argument blocks. Thread-safe; copies share it.
class ArgumentHeap {
 public:
  // kResourceExhausted.
  static Result<ArgumentHeap> create(Ref<NativeDevice> device);

  NativeDevice& device() const noexcept { return *device_; }
  const Ref<NativeDevice>& shared_device() const noexcept { return device_; }
  // kResourceExhausted.
  Result<hal::HostBlock> take(std::uint64_t bytes) const;

 private:
  ArgumentHeap(Ref<NativeDevice> device, Ref<hal::HostBlocks> blocks) noexcept
      : device_(std::move(device)), blocks_(std::move(blocks)) {}

  Ref<NativeDevice> device_;
  Ref<hal::HostBlocks> blocks_;
};

// Hands out the blocks of one command buffer, one behind the other. Not thread-safe.
class Arguments {
 public:
  static constexpr std::uint64_t kAlignment = 16;
  static constexpr std::uint64_t aligned(std::uint64_t bytes) noexcept {
    return (bytes + kAlignment - 1) & ~(kAlignment - 1);
  }

  // Forgets all blocks and makes room for `bytes`, each block rounded up to kAlignment. Nothing on
  // the device uses the blocks before. kResourceExhausted.
  Status reset(const ArgumentHeap& heap, std::uint64_t bytes);
  // The next block. Precondition: reset() made room for it.
  ArgumentBlock take(std::uint64_t bytes) noexcept;

 private:
  hal::HostBlock memory_;
  std::uint64_t used_ = 0;
};

}  // namespace halyard::inline v0::vulkan
