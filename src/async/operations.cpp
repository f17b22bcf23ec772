// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/operations.h"

#include <algorithm>

#include "async/device_state.h"
#include "base/format.h"

namespace halyard::inline v0::async::detail {
bool same(const hal::Extents& a, const hal::Extents& b) {
  bool same = a.rank() == b.rank();
  for (std::size_t d = 0; same && d < a.rank(); ++d) same = a[d] == b[d];
  return same;
}

Result<std::uint64_t> byte_size(const hal::Extents& shape, kernel::ElementType type) {
  if (shape.rank() > hal::kMaxTensorRank) {
    return error(StatusCode::kInvalidArgument, "a tensor of {} dimensions; the most is {}",
                 shape.rank(), hal::kMaxTensorRank);
  }
  std::uint64_t size = kernel::size_of(type);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (__builtin_mul_overflow(size, shape[d], &size)) {
      return Status(StatusCode::kOutOfRange, "a tensor of 2^64 bytes or more");
    }
  }
  return size;
}

Result<Ref<Storage>> allocate(Context& context, const Shape& shape, kernel::ElementType type) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, byte_size(shape, type));
  return context.allocate(size);
}

Result<Ref<Storage>> scratch(Context& context, const Shape& shape, kernel::ElementType type) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t size, byte_size(shape, type));
  return context.scratch(size);
}

Status read_back(const Storage& storage, std::span<std::byte> target) {
  HALYARD_ASSIGN_OR_RETURN(const hal::Mapping mapping,
                           storage.buffer().map(0, target.size(), hal::MapMode::kRead));
  HALYARD_RETURN_IF_ERROR(mapping.invalidate());
  std::ranges::copy(mapping.bytes(), target.begin());
  return {};
}

}  // namespace halyard::inline v0::async::detail
