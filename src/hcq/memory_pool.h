// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MemoryPool: the blocks of an hcq::Allocator, in use or cached by size.
//
// The cached blocks of a size form a queue in the order of their return. Points of a timeline are
// reached in order, so if work may still use the oldest block, no other one is free either.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hcq/allocator.h"
#include "halyard/hcq/device.h"

namespace halyard::inline v0::hcq::detail {

struct Block {
  MemoryType type;
  Buffer memory;
  Point free_from{};  // work queued before its return may use it until then
  Block* next = nullptr;
};

class MemoryPool final : public RefCounted {
 public:
  explicit MemoryPool(Device& device) noexcept : device_(device) {}

  Device& device() const noexcept { return device_; }

  // Returns a block of at least `size` bytes. Errors: kResourceExhausted.
  Result<Block*> allocate(std::uint64_t size);
  void give_back(Block* block) noexcept;
  std::uint64_t trim() noexcept;
  AllocatorStatistics statistics() const noexcept;

  // Allocates a block that is never cached. Null when memory is exhausted.
  Block* create(MemoryType type, std::uint64_t size) noexcept;
  // Frees the block once all work queued so far is complete; does not wait for it.
  void retire(Block* block) noexcept;

 private:
  // Eight sizes for each doubling from 512 bytes on, multiples of 64 bytes below.
  static constexpr std::uint64_t kGranule = 64;
  static constexpr std::uint64_t kStepsPerDoubling = 8;
  static constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;
  static constexpr std::size_t kSizes = kStepsPerDoubling * (1 + 62 - 9);
  struct Size {
    std::uint64_t bytes;
    std::size_t index;
  };
  static constexpr Size round_up(std::uint64_t size) noexcept;

  struct Queue {
    Block* first = nullptr;
    Block* last = nullptr;
  };

  ~MemoryPool() override;
  Block* take_cached(Size size) noexcept;

  Device& device_;
  mutable base::Mutex mutex_;
  Queue cached_[kSizes];
  AllocatorStatistics statistics_;
};

}  // namespace halyard::inline v0::hcq::detail
