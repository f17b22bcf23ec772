// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Array: a vector whose functions return false if memory is exhausted. The library has no
// exceptions, and its own threads could not catch one, so std::vector is not an option. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace halyard::inline v0::base {

// realloc(3); allocates if `memory` is null.
[[nodiscard]] void* resize(void* memory, std::size_t size) noexcept;

template <class T>
class Array {
  static_assert(std::is_nothrow_move_constructible_v<T> && alignof(T) <= alignof(std::max_align_t));
  static constexpr bool kIsTrivial = std::is_trivially_copyable_v<T>;

 public:
  Array() noexcept = default;
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Array& operator=(Array&&) = delete;
  ~Array() {
    shrink(0);
    std::free(static_cast<void*>(data_));
  }

  [[nodiscard]] bool push_back(T element) noexcept {
    if (size_ == capacity_ && !make_room(1)) return false;
    ::new (static_cast<void*>(data_ + size_++)) T(std::move(element));
    return true;
  }
  // Adds default elements up to `size`.
  [[nodiscard]] bool grow(std::size_t size) noexcept {
    if (size > size_ && !make_room(size - size_)) return false;
    while (size_ < size) ::new (static_cast<void*>(data_ + size_++)) T{};
    return true;
  }
  // Reserves memory for `count` more elements.
  [[nodiscard]] bool make_room(std::size_t count) noexcept {
    if (count <= capacity_ - size_) return true;
    const std::size_t capacity = std::max({size_ + count, 2 * size_, std::size_t{8}});
    void* const old = kIsTrivial ? static_cast<void*>(data_) : nullptr;
    auto* const data = static_cast<T*>(resize(old, capacity * sizeof(T)));
    if (data == nullptr) return false;
    if constexpr (!kIsTrivial) {
      for (std::size_t i = 0; i < size_; ++i) {
        ::new (static_cast<void*>(data + i)) T(std::move(data_[i]));
        data_[i].~T();
      }
      std::free(static_cast<void*>(data_));
    }
    data_ = data;
    capacity_ = capacity;
    return true;
  }
  void shrink(std::size_t size) noexcept {
    while (!kIsTrivial && size_ > size) data_[--size_].~T();
    size_ = size;
  }

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t index) const noexcept { return data_[index]; }
  T& back() const noexcept { return data_[size_ - 1]; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace halyard::inline v0::base
