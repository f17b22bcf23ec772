// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BufferView: a buffer's bytes as a dense row-major array of elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/types.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::hal {

using kernel::ElementType;

// A value: copies share the buffer. Immutable, so safe from any thread.
class HALYARD_EXPORT BufferView {
 public:
  static constexpr std::size_t kMaxRank = 8;

  BufferView() noexcept = default;

  // A view whose first element is at byte `offset`, a multiple of the element's size. The last
  // dimension is contiguous. An empty shape is one element. Errors:
  //   kInvalidArgument  empty buffer, unknown element type, wrong offset, more than kMaxRank
  //                     dimensions
  //   kOutOfRange       more elements than the buffer holds
  static Result<BufferView> create(const Buffer& buffer, ElementType element,
                                   View<std::uint64_t> shape, std::uint64_t offset = 0);

  const Buffer& buffer() const noexcept { return buffer_; }
  std::uint64_t offset() const noexcept { return offset_; }  // bytes
  ElementType element() const noexcept { return element_; }
  std::size_t rank() const noexcept { return rank_; }
  View<std::uint64_t> shape() const noexcept { return {shape_.data(), rank_}; }
  std::uint64_t element_count() const noexcept;
  std::uint64_t size() const noexcept { return element_count() * size_of(element_); }  // bytes

  // The bytes, for operations of queues and recordings; valid as long as this view.
  BufferRange range() const noexcept { return BufferRange(buffer_, offset_, size()); }

  // The same elements in another shape. kInvalidArgument: a shape of another number of elements.
  Result<BufferView> reshape(View<std::uint64_t> shape) const;
  // Rows [first, first + count) of the outermost dimension. Errors: kOutOfRange; kInvalidArgument
  // for a view without dimensions.
  Result<BufferView> rows(std::uint64_t first, std::uint64_t count) const;

 private:
  Buffer buffer_;
  std::uint64_t offset_ = 0;
  std::array<std::uint64_t, kMaxRank> shape_{};
  std::size_t rank_ = 0;
  ElementType element_ = ElementType::kUint8;
};

}  // namespace halyard::inline v0::hal
