// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argument blocks: data that the commands of a native command buffer read, such as addresses and
// constants of dispatches. The host writes them, the device reads them while the commands run.
//
//     ArgumentHeap    of a device: the memory of all blocks, kept for reuse
//                     (hal/memory/host_blocks.h)
//     Arguments       of a command buffer: its blocks, contiguous in a HostBlock
//
// A command buffer computes beforehand how many bytes its blocks take, so a steady state allocates
// nothing.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/format.h"
#include "hal/memory/host_blocks.h"
#include "hal/memory/memory.h"
#include "hal/recording/command.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::hal {

// One block, in memory that the host sees. Valid until Arguments::reset() or the destructor of
// Arguments.
struct ArgumentBlock {
  std::byte* host = nullptr;
  Memory* memory = nullptr;   // a driver's own
  std::uint64_t offset = 0;   // in `memory`
  std::uint64_t address = 0;  // on the device; meaningless where memory has handles only

  // The bytes [begin, begin + bytes) of the block, as a range for commands.
  BoundRange range(std::uint64_t begin, std::uint64_t bytes) const noexcept {
    return {memory, offset + begin, bytes};
  }
};

// The memory of a device's argument blocks. Safe from any thread; copies share the memory.
//
//     struct Traits {
//       using Device = ...;                         // a RefCounted; its heap keeps it
//       static constexpr const char* kDriver;       // begins a message
//       // Memory that the host and the device see at the same time, without flush().
//       static Result<Ref<Memory>> allocate(const Ref<Device>&, std::uint64_t bytes);
//     };
template <class Traits>
class ArgumentHeap {
 public:
  using Device = typename Traits::Device;

  // Returns kResourceExhausted if out of memory.
  static Result<ArgumentHeap> create(Ref<Device> device) {
    auto blocks = Ref<HostBlocks>::adopt(new (std::nothrow) HostBlocks);
    if (blocks) return ArgumentHeap(std::move(device), std::move(blocks));
    return error(StatusCode::kResourceExhausted, "{}: no memory for argument blocks",
                 Traits::kDriver);
  }

  Device& device() const noexcept { return *device_; }
  const Ref<Device>& shared_device() const noexcept { return device_; }

  // Returns the errors of Traits::allocate(), and kResourceExhausted.
  Result<HostBlock> take(std::uint64_t bytes) const {
    if (HostBlock block = blocks_->take(bytes)) return block;
    HALYARD_ASSIGN_OR_RETURN(Ref<Memory> chunk,
                             Traits::allocate(device_, HostBlocks::chunk_size(bytes)));
    return blocks_->add(std::move(chunk), bytes);
  }

 private:
  ArgumentHeap(Ref<Device> device, Ref<HostBlocks> blocks) noexcept
      : device_(std::move(device)), blocks_(std::move(blocks)) {}

  Ref<Device> device_;
  Ref<HostBlocks> blocks_;
};

// Allocates the blocks of one command buffer. Each begins at a multiple of kBlockAlignment. Not
// thread-safe.
template <std::uint64_t kBlockAlignment>
class Arguments {
 public:
  // Blocks of a HostBlocks begin at multiples of the smallest.
  static_assert((kBlockAlignment & (kBlockAlignment - 1)) == 0 &&
                kBlockAlignment <= HostBlocks::kSmallest);
  static constexpr std::uint64_t kAlignment = kBlockAlignment;
  static constexpr std::uint64_t aligned(std::uint64_t bytes) noexcept {
    return (bytes + kAlignment - 1) & ~(kAlignment - 1);
  }

  // Drops all blocks and makes room for `bytes`: the sum of aligned() over the blocks that will be
  // taken. Returns the errors of ArgumentHeap::take(). Precondition: the device uses none of the
  // dropped blocks.
  template <class Traits>
  Status reset(const ArgumentHeap<Traits>& heap, std::uint64_t bytes) {
    used_ = 0;
    if (bytes == 0 || (memory_ && memory_.size() >= bytes)) return {};
    HALYARD_ASSIGN_OR_RETURN(memory_, heap.take(bytes));
    return {};
  }

  // Returns the next block. Precondition: reset() made room for it.
  ArgumentBlock take(std::uint64_t bytes) noexcept {
    Memory& memory = memory_.memory();
    const std::uint64_t offset = memory_.offset() + used_;
    std::byte* const host = memory_.data() + used_;
    used_ += aligned(bytes);
    assert(used_ <= memory_.size());
    return {host, &memory, offset, memory.device_address() + offset};
  }

 private:
  HostBlock memory_;
  std::uint64_t used_ = 0;
};

}  // namespace halyard::inline v0::hal
