// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostSpan: elements in host memory, indexed by a shape, row-major like a tensor's.
//
//   std::vector<float> values = co_await to_host(std::move(y));
//   const HostSpan matrix(values, {16, 16});
//   std::printf("%g\n", matrix(15, 0));
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>

#include "halyard/async/shape.h"

namespace halyard::inline v0::async {

// A view: valid as long as the elements are, cheap to copy. Asserts that the number of elements is
// the shape's, that each dimension has an index, and that each index is below its dimension's size.
template <class T>
class HostSpan {
 public:
  constexpr HostSpan(std::span<T> elements, const Shape& shape) noexcept
      : elements_(elements), shape_(shape) {
    assert(elements.size() == shape.elements());
  }

  constexpr const Shape& shape() const noexcept { return shape_; }

  template <std::convertible_to<std::uint64_t>... Index>
    requires(sizeof...(Index) <= hal::kMaxTensorRank)
  constexpr T& operator()(Index... indices) const noexcept {
    assert(sizeof...(Index) == shape_.rank());
    std::uint64_t place = 0;
    [[maybe_unused]] std::size_t d = 0;
    (..., (assert(static_cast<std::uint64_t>(indices) < shape_[d]),
           place = place * shape_[d++] + static_cast<std::uint64_t>(indices)));
    return elements_[place];
  }

 private:
  std::span<T> elements_;
  Shape shape_;
};

template <std::ranges::contiguous_range Elements>
HostSpan(Elements&, const Shape&)
    -> HostSpan<std::remove_reference_t<std::ranges::range_reference_t<Elements>>>;

}  // namespace halyard::inline v0::async
