// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arena and Array: memory of a recording, whose size the user decides. They answer null or false
// when memory is exhausted, where std::vector would throw. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace halyard::inline v0::hal {

namespace detail {
// realloc(3), which allocates where `memory` is null.
void* resize(void* memory, std::size_t size) noexcept;
}  // namespace detail

// Bytes that stay where they are until the arena goes.
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
    Chunk* chunk = static_cast<Chunk*>(detail::resize(nullptr, sizeof(Chunk) + bytes));
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

// A vector of trivially copyable elements.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() noexcept = default;
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Array& operator=(Array&&) = delete;
  ~Array() { std::free(static_cast<void*>(data_)); }

  [[nodiscard]] bool push_back(const T& element) noexcept {
    if (size_ == capacity_ && !reserve(std::max<std::size_t>(2 * size_, 8))) return false;
    data_[size_++] = element;
    return true;
  }
  // Adds default elements up to `size`.
  [[nodiscard]] bool grow(std::size_t size) noexcept {
    if (size > capacity_ && !reserve(std::max(size, 2 * size_))) return false;
    while (size_ < size) data_[size_++] = T{};
    return true;
  }
  void shrink(std::size_t size) noexcept { size_ = size; }

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t index) const noexcept { return data_[index]; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }

 private:
  bool reserve(std::size_t capacity) noexcept {
    void* data = detail::resize(static_cast<void*>(data_), capacity * sizeof(T));
    if (data == nullptr) return false;
    data_ = static_cast<T*>(data);
    capacity_ = capacity;
    return true;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace halyard::inline v0::hal
