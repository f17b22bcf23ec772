// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/arguments.h"

#include <cassert>
#include <new>

#include "base/format.h"

namespace halyard::inline v0::vulkan {

Result<ArgumentHeap> ArgumentHeap::create(Ref<NativeDevice> device) {
  auto blocks = Ref<hal::HostBlocks>::adopt(new (std::nothrow) hal::HostBlocks);
  if (blocks) return ArgumentHeap(std::move(device), std::move(blocks));
  return Status(StatusCode::kResourceExhausted, "vulkan: no memory for argument blocks");
}

Result<hal::HostBlock> ArgumentHeap::take(std::uint64_t bytes) const {
  if (hal::HostBlock block = blocks_->take(bytes)) return block;
  HALYARD_ASSIGN_OR_RETURN(Ref<DeviceMemory> chunk,
                           DeviceMemory::allocate(device_,
                                                  {.size = hal::HostBlocks::chunk_size(bytes),
                                                   .type = hal::MemoryType::kHostVisible},
                                                  /*domain=*/nullptr));
  return blocks_->add(Ref<hal::Memory>(std::move(chunk)), bytes);
}

Status Arguments::reset(const ArgumentHeap& heap, std::uint64_t bytes) {
  used_ = 0;
  if (bytes == 0 || (memory_ && memory_.size() >= bytes)) return {};
  HALYARD_ASSIGN_OR_RETURN(memory_, heap.take(bytes));
  return {};
}

ArgumentBlock Arguments::take(std::uint64_t bytes) noexcept {
  const NativeRange at = native_range({&memory_.memory(), memory_.offset() + used_, bytes});
  std::byte* const host = memory_.data() + used_;
  const VkDeviceAddress address = memory_.memory().device_address() + memory_.offset() + used_;
  used_ += aligned(bytes);
  assert(used_ <= memory_.size());
  return {host, address, at.buffer, at.offset};
}

}  // namespace halyard::inline v0::vulkan
