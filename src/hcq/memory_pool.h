// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MemoryPool: the blocks of an hcq::Allocator: lent out, or kept by size for reuse.
//
// The blocks of a size are a queue in the order in which they came back. Points of a timeline are
// reached in order, so if the work before the oldest may still run, no other is free either.
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
  Point free_from{};  // work queued before it was given back may use it until then
  Block* next = nullptr;
};

class MemoryPool final : public RefCounted {
 public:
  explicit MemoryPool(Device& device) noexcept : device_(device) {}

  Device& device() const noexcept { return device_; }

  // Of at least `size` bytes. kResourceExhausted.
  Result<Block*> allocate(std::uint64_t size);
  void give_back(Block* block) noexcept;
  std::uint64_t trim() noexcept;
  AllocatorStatistics statistics() const noexcept;

  // Memory that is not kept for reuse. Null when it is exhausted.
  Block* create(MemoryType type, std::uint64_t size) noexcept;
  // To the device, once all work queued so far is done; does not wait for it.
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
  static Size round_up(std::uint64_t size) noexcept;

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
