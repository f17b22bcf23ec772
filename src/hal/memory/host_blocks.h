// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostBlocks: a driver's host memory for bytes that its device copies, such as the data of updates.
// A native copy from pageable memory would block, or be staged. Used by devices with
// DeviceImpl::needs_host_blocks.
//
//     chunk    a Memory of the driver, kHostLocal: 256 KiB in blocks of one size, or one block
//     block    256 B, 1 KiB, 4 KiB ... 16 MiB; a larger one is freed when it is returned
//
// Returned blocks are kept, so a steady state allocates nothing. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/mutex.h"
#include "hal/memory/memory.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::hal {

class HostBlock;

// Kept by its blocks, so it may outlive its device.
class HostBlocks final : public RefCounted {
 public:
  static constexpr std::uint64_t kSmallest = 256;
  static constexpr std::uint64_t kClasses = 9;  // each is 4 times the previous
  static constexpr std::uint64_t kLargest = kSmallest << 2 * (kClasses - 1);
  static constexpr std::uint64_t kChunk = 256 << 10;
  // Free blocks of a class with a chunk for each block, beyond this many bytes, are freed.
  static constexpr std::uint64_t kMaxFreeBytes = 64 << 20;

  // Takes a returned block of at least `size` bytes. Returns an empty HostBlock if there is no such
  // block.
  HostBlock take(std::uint64_t size) noexcept;
  // Bytes of the chunk that add() needs for a block of `size`.
  static std::uint64_t chunk_size(std::uint64_t size) noexcept;
  // Returns the first block of a new chunk and keeps the others for take(). Returns
  // kResourceExhausted if there is no memory for the bookkeeping.
  Result<HostBlock> add(Ref<Memory> chunk, std::uint64_t size);

 private:
  friend class HostBlock;
  struct Chunk;
  struct Node {
    Chunk* chunk;
    Node* next;  // free
  };
  struct SizeClass {
    base::Mutex mutex;  // guards the rest, of all blocks of the class
    Node* free = nullptr;
    std::uint64_t free_count = 0;
    Chunk* chunks = nullptr;  // those of several blocks
  };

  // Runs when all blocks have been returned.
  ~HostBlocks() override;
  static std::uint64_t class_of(std::uint64_t size) noexcept;
  static std::uint64_t bytes_of(std::uint64_t size_class) noexcept {
    return kSmallest << 2 * size_class;
  }
  static void free(Chunk* chunk) noexcept;
  void give_back(Node* node) noexcept;

  SizeClass classes_[kClasses];
};

// Owns one block; move-only, empty by default.
class HostBlock {
 public:
  HostBlock() noexcept = default;
  HostBlock(HostBlock&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  HostBlock& operator=(HostBlock&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~HostBlock();

  explicit operator bool() const noexcept { return node_ != nullptr; }
  // Precondition of the following: the block is not empty.
  std::byte* data() const noexcept { return memory().host_pointer() + offset(); }
  std::uint64_t size() const noexcept;
  Memory& memory() const noexcept;  // a driver's own
  std::uint64_t offset() const noexcept;

 private:
  friend class HostBlocks;
  explicit HostBlock(HostBlocks::Node* node) noexcept : node_(node) {}
  HostBlocks::Node* node_ = nullptr;
};

}  // namespace halyard::inline v0::hal
