// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arena: memory of a recording, whose size the user decides. Allocations return null if out of
// memory. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "base/array.h"

namespace halyard::inline v0::hal {

using base::Array;

// Bytes keep their address until the arena is destroyed.
class Arena {
 public:
  Arena() noexcept = default;
  Arena(Arena&& other) noexcept
      : chunks_(std::exchange(other.chunks_, nullptr)),
        at_(std::exchange(other.at_, nullptr)),
        room_(std::exchange(other.room_, 0)) {}
  Arena& operator=(Arena&&) = delete;
  ~Arena() {
    while (chunks_ != nullptr) std::free(std::exchange(chunks_, chunks_->next));
  }

  // Aligned to 16; null when memory is exhausted.
  std::byte* allocate(std::size_t size) noexcept {
    if (size > kLimit) return nullptr;
    size = (std::max<std::size_t>(size, 1) + 15) & ~std::size_t{15};
    if (size > room_ && !add_chunk(size)) return nullptr;
    room_ -= size;
    return std::exchange(at_, at_ + size);
  }
  template <class T>
  T* allocate_array(std::size_t count) noexcept {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16);
    return count > kLimit / sizeof(T) ? nullptr : reinterpret_cast<T*>(allocate(count * sizeof(T)));
  }

 private:
  static constexpr std::size_t kLimit = std::size_t{1} << 39;  // bytes; no machine has more
  static constexpr std::size_t kChunk = 4096;
  struct alignas(16) Chunk {
    Chunk* next;
  };

  bool add_chunk(std::size_t size) noexcept {
    const std::size_t bytes = std::max(size, kChunk - sizeof(Chunk));
    Chunk* chunk = static_cast<Chunk*>(base::resize(nullptr, sizeof(Chunk) + bytes));
    if (chunk == nullptr) return false;
    chunk->next = chunks_;
    chunks_ = chunk;
    at_ = reinterpret_cast<std::byte*>(chunk + 1);
    room_ = bytes;
    return true;
  }

  Chunk* chunks_ = nullptr;
  std::byte* at_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace halyard::inline v0::hal
