// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hal/buffer_view.h"

#include <algorithm>

#include "hal/memory/buffer.h"
#include "hal/object.h"

namespace halyard::inline v0::hal {

Result<BufferView> BufferView::create(const Buffer& buffer, ElementType element,
                                      View<std::uint64_t> shape, std::uint64_t offset) {
  if (!buffer) return empty_handle("buffer view", "create");
  const std::uint64_t element_size = size_of(element);
  if (element_size == 0) {
    return error(StatusCode::kInvalidArgument, "buffer view: element type {}",
                 static_cast<int>(element));
  }
  if (shape.size() > kMaxRank) {
    return error(StatusCode::kInvalidArgument, "buffer view: {} dimensions, at most {}",
                 shape.size(), kMaxRank);
  }
  if (offset % element_size != 0) {
    return error(StatusCode::kInvalidArgument, "buffer view: offset {} is no multiple of {} ({})",
                 offset, element_size, to_string(element));
  }
  std::uint64_t bytes = element_size;
  // Checked first: if a dimension is 0, the others may have any size.
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) bytes = 0;
  for (const std::uint64_t extent : shape) {
    if (bytes != 0 && __builtin_mul_overflow(bytes, extent, &bytes)) {
      return error(StatusCode::kOutOfRange, "buffer view: 2^64 bytes or more");
    }
  }
  if (Status status = resolve_length(offset, bytes, buffer.size()); !status.ok()) {
    return at(status, "buffer view");
  }
  BufferView view;
  view.buffer_ = buffer;
  view.offset_ = offset;
  view.element_ = element;
  view.rank_ = shape.size();
  std::copy(shape.begin(), shape.end(), view.shape_.begin());
  return view;
}

std::uint64_t BufferView::element_count() const noexcept {
  if (!buffer_) return 0;
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape()) count *= extent;
  return count;
}

Result<BufferView> BufferView::reshape(View<std::uint64_t> shape) const {
  if (!buffer_) return empty_handle("buffer view", "reshape");
  HALYARD_ASSIGN_OR_RETURN(BufferView view, create(buffer_, element_, shape, offset_));
  if (view.element_count() != element_count()) {
    return error(StatusCode::kInvalidArgument, "buffer view: reshape of {} to {}",
                 base::counted(element_count(), "element"), view.element_count());
  }
  return view;
}

Result<BufferView> BufferView::rows(std::uint64_t first, std::uint64_t count) const {
  if (!buffer_) return empty_handle("buffer view", "rows");
  if (rank_ == 0) {
    return Status(StatusCode::kInvalidArgument, "buffer view: rows of a view without dimensions");
  }
  if (first > shape_[0] || count > shape_[0] - first) {
    return error(StatusCode::kOutOfRange, "buffer view: {} from {} on; it has {}",
                 base::counted(count, "row"), base::number(first), base::counted(shape_[0], "row"));
  }
  BufferView view = *this;
  view.offset_ += shape_[0] == 0 ? 0 : size() / shape_[0] * first;
  view.shape_[0] = count;
  return view;
}

}  // namespace halyard::inline v0::hal
