// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/shape.h"

#include <algorithm>

#include "base/format.h"
#include "halyard/async/shape.h"

namespace halyard::inline v0::async::detail {

std::string text_of(const hal::Extents& extents, const char* between) {
  if (extents.rank() == 0) return "()";
  std::string text;
  for (std::size_t d = 0; d < std::min(extents.rank(), hal::kMaxTensorRank); ++d) {
    base::append(text, "{}{}", d == 0 ? "" : between, base::number(extents[d]));
  }
  return text;
}

Status check_reshape(const Shape& from, const Shape& to) {
  if (to.rank() > hal::kMaxTensorRank) {
    return error(StatusCode::kInvalidArgument, "reshape: {} dimensions; the most is {}", to.rank(),
                 hal::kMaxTensorRank);
  }
  if (from.elements() == to.elements()) return {};
  return error(StatusCode::kInvalidArgument,
               "reshape({}) of a tensor of {}: both need the same number of elements",
               to.rank() == 0 ? "" : text_of(to, ", "), text_of(from));
}

Status check_rows(const Shape& from, std::uint64_t first, std::uint64_t count) {
  if (from.rank() == 0) {
    return error(StatusCode::kOutOfRange, "rows({}, {}) of a tensor without dimensions",
                 base::number(first), base::number(count));
  }
  if (first <= from[0] && count <= from[0] - first) return {};
  return error(StatusCode::kOutOfRange, "rows({}, {}) of a tensor with {}", base::number(first),
               base::number(count), base::counted(from[0], "row"));
}

Result<std::uint64_t> byte_size(const hal::Extents& shape, kernel::ElementType type) {
  if (shape.rank() > hal::kMaxTensorRank) {
    return error(StatusCode::kInvalidArgument, "a tensor of {} dimensions; the most is {}",
                 shape.rank(), hal::kMaxTensorRank);
  }
  std::uint64_t size = kernel::size_of(type);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (__builtin_mul_overflow(size, shape[d], &size)) {
      return error(StatusCode::kOutOfRange, "{} elements of {}: a tensor of 2^64 bytes or more",
                   text_of(shape), to_string(type));
    }
  }
  return size;
}

}  // namespace halyard::inline v0::async::detail
