// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream: words in memory that a queue fetches before it executes them. A queue executes what it
// fetched, whatever the host writes there later; consume() tells whether that differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace halyard::inline v0::sim::kfd {

class Stream {
 public:
  // `capacity` words at `address`, whose bytes are `words`. A ring wraps; positions do not.
  Stream(const std::byte* words, std::uint64_t address, std::uint64_t capacity)
      : words_(words), address_(address), capacity_(capacity) {}

  // Words in front of this position may be fetched.
  void set_end(std::uint64_t end) { end_ = end; }
  std::uint64_t end() const { return end_; }
  std::uint64_t position() const { return position_; }
  std::uint64_t available() const { return end_ - position_; }
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t address() const { return address_; }
  // The address of the word at a position.
  std::uint64_t address_of(std::uint64_t position) const {
    return address_ + 4 * (position % capacity_);
  }

  // Fetches up to `depth` words, or more if `count` is greater, and returns the next `count`. They
  // stay valid until the next call. Precondition: count <= available().
  std::span<const std::uint32_t> peek(std::uint64_t count, std::uint64_t depth);
  // Moves on. Returns the position of the first word that was changed in memory after it was
  // fetched, or kUnchanged. Precondition: count <= words that peek() returned.
  std::uint64_t consume(std::uint64_t count);
  static constexpr std::uint64_t kUnchanged = ~std::uint64_t{0};

  bool overlaps(std::uint64_t address, std::uint64_t size) const {
    return address < address_ + 4 * capacity_ && address_ < address + size;
  }

 private:
  std::uint32_t load(std::uint64_t position) const;

  const std::byte* words_;
  std::uint64_t address_, capacity_;
  std::uint64_t position_ = 0, end_ = 0;
  std::vector<std::uint32_t> fetched_;  // from position_ on
};

}  // namespace halyard::inline v0::sim::kfd
