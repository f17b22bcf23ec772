// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions by the shipped kernels, with their error bounds (docs/kernels.md). Element types:
// float, double, std::int32_t and std::uint32_t.
//
//   sum(x)  max(x)  min(x)          of all elements: a tensor without dimensions, one element
//   sum(x, axis)  ...               along one dimension, which the result lacks; -1 is the last
//   sum(x, axis, into)  ...         into an existing tensor, as in arithmetic.h
//
// `x` is an operand as in arithmetic.h. kInvalidArgument for a dimension that it does not have.
// Without elements the sum is 0, max is -infinity or the least integer, and min is infinity or the
// greatest integer. max and min propagate NaN. Sums of integers wrap around, modulo 2^32. The order
// of additions depends on the shape alone, so results repeat bit for bit.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "halyard/async/detail/arithmetic.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::async {

namespace detail {

// The kernels of reduce.hyk.
enum class Reduction : std::uint8_t { kSum, kMax, kMin };

// As in detail/arithmetic.h.
HALYARD_EXPORT Result<AnyTensor> reduce_all(Context& context, Reduction reduction,
                                            const ArrayRef& operand);
HALYARD_EXPORT Result<AnyTensor> reduce_axis(Context& context, Reduction reduction, int axis,
                                             const ArrayRef& operand, const ArrayRef* into);

struct CallReduceAll {
  Result<AnyTensor> operator()(Context& context, hal::View<ArrayRef> operands,
                               const ArrayRef*) const {
    return reduce_all(context, reduction, operands[0]);
  }
  Reduction reduction;
};
struct CallReduceAxis {
  Result<AnyTensor> operator()(Context& context, hal::View<ArrayRef> operands,
                               const ArrayRef* into) const {
    return reduce_axis(context, reduction, axis, operands[0], into);
  }
  Reduction reduction;
  int axis;
};

// Excludes numbers, whose max and min these functions must not hide.
template <class T>
concept ArrayOrOperation =
    DeviceOperation<std::remove_cvref_t<T>> || requires(const T& array) { array.memory(); };

}  // namespace detail

template <detail::ArrayOrOperation A>
auto sum(A&& x) {
  return detail::arithmetic<detail::OfNumbers, 1>(detail::CallReduceAll{detail::Reduction::kSum},
                                                  std::forward<A>(x));
}
template <detail::ArrayOrOperation A, class... Into>
auto sum(A&& x, int axis, Into&&... into) {
  return detail::arithmetic<detail::OfNumbers, 1>(
      detail::CallReduceAxis{detail::Reduction::kSum, axis}, std::forward<A>(x),
      std::forward<Into>(into)...);
}

template <detail::ArrayOrOperation A>
auto max(A&& x) {
  return detail::arithmetic<detail::OfNumbers, 1>(detail::CallReduceAll{detail::Reduction::kMax},
                                                  std::forward<A>(x));
}
template <detail::ArrayOrOperation A, class... Into>
auto max(A&& x, int axis, Into&&... into) {
  return detail::arithmetic<detail::OfNumbers, 1>(
      detail::CallReduceAxis{detail::Reduction::kMax, axis}, std::forward<A>(x),
      std::forward<Into>(into)...);
}

template <detail::ArrayOrOperation A>
auto min(A&& x) {
  return detail::arithmetic<detail::OfNumbers, 1>(detail::CallReduceAll{detail::Reduction::kMin},
                                                  std::forward<A>(x));
}
template <detail::ArrayOrOperation A, class... Into>
auto min(A&& x, int axis, Into&&... into) {
  return detail::arithmetic<detail::OfNumbers, 1>(
      detail::CallReduceAxis{detail::Reduction::kMin, axis}, std::forward<A>(x),
      std::forward<Into>(into)...);
}

}  // namespace halyard::inline v0::async
