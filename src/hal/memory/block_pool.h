// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BlockPool: memory for the parts of submissions that do not fit inline (binding tables, arguments,
// update data). Freed blocks are kept by size class, so a steady state allocates nothing.
//
//   class   256 B   1 KiB   4 KiB   16 KiB   64 KiB
//
// A larger block is allocated and freed each time. Safe from any thread. The pool outlives its
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/mutex.h"

namespace halyard::inline v0::hal {

class Block;

class BlockPool {
 public:
  static constexpr std::size_t kSmallest = 256;
  static constexpr std::size_t kClasses = 5;  // each is 4 times the previous
  static constexpr std::size_t kLargest = kSmallest << 2 * (kClasses - 1);
  // Free blocks of a class beyond this many bytes go back to the system: a burst of submissions
  // must not hold its memory for the rest of the device's life.
  static constexpr std::size_t kMaxFreeBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMost = std::size_t{1} << 39;  // bytes; no machine has more

  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Returns a block of at least `size` bytes, aligned to 16; an empty block if out of memory.
  Block allocate(std::size_t size) noexcept;

 private:
  friend class Block;
  // Precedes the bytes of a block.
  struct alignas(16) Header {
    BlockPool* pool;
    union {
      std::size_t size_class;  // in use; kClasses: no class
      Header* next;            // free
    };
  };
  struct SizeClass {
    base::Mutex mutex;
    Header* free = nullptr;
    std::size_t free_count = 0;
  };

  static constexpr std::size_t bytes_of(std::size_t size_class) {
    return kSmallest << 2 * size_class;
  }
  void give_back(Header* header) noexcept;

  SizeClass classes_[kClasses];
};

// Owns one block; move-only, empty by default.
class Block {
 public:
  Block() noexcept = default;
  Block(Block&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(header_, other.header_);
    return *this;
  }
  ~Block() {
    if (header_ != nullptr) header_->pool->give_back(header_);
  }

  explicit operator bool() const noexcept { return header_ != nullptr; }
  // Precondition: not empty.
  std::byte* data() const noexcept { return reinterpret_cast<std::byte*>(header_ + 1); }

 private:
  friend class BlockPool;
  explicit Block(BlockPool::Header* header) noexcept : header_(header) {}
  BlockPool::Header* header_ = nullptr;
};

}  // namespace halyard::inline v0::hal
