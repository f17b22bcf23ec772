// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of float, done by the shipped kernels (docs/kernels.md), whose bounds of error hold.
//
//   sum(x)  max(x)  min(x)          of all elements: a tensor of no dimensions, one element
//   sum(x, axis)  ...               along one dimension, which the result lacks; -1 is the last
//   sum(x, axis, into)  ...         into a tensor that is there, as arithmetic.h's
//
// Of nothing the sum is 0, the greatest -infinity, the least infinity; a NaN is passed by max and
// min. The order of additions depends on the shape alone, so results repeat bit for bit. `x` is an
// operand as arithmetic.h's. kInvalidArgument for a dimension that it does not have.
#pragma once

#include <type_traits>
#include <utility>

#include "halyard/async/arithmetic.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::async {

namespace detail {

// Kernels of reduce.hyk.
struct Reduction {
  const char *name, *all, *rows, *columns;
};
inline constexpr Reduction kSum{"sum", "sum_float", "sum_rows", "sum_columns"};
inline constexpr Reduction kMax{"max", "max_float", "max_rows", "max_columns"};
inline constexpr Reduction kMin{"min", "min_float", "min_rows", "min_columns"};

HALYARD_EXPORT Result<Tensor<float>> reduce_all(Context& context, const Reduction& reduction,
                                                const ArrayRef& operand);
HALYARD_EXPORT Result<Tensor<float>> reduce_axis(Context& context, const Reduction& reduction,
                                                 int axis, hal::View<ArrayRef> operands,
                                                 Tensor<float>* into);

struct CallReduceAll {
  Result<Tensor<float>> operator()(Context& context, hal::View<ArrayRef> operands,
                                   Tensor<float>*) const {
    return reduce_all(context, *reduction, operands[0]);
  }
  const Reduction* reduction;
};
struct CallReduceAxis {
  Result<Tensor<float>> operator()(Context& context, hal::View<ArrayRef> operands,
                                   Tensor<float>* into) const {
    return reduce_axis(context, *reduction, axis, operands, into);
  }
  const Reduction* reduction;
  int axis;
};

// So that the max and min of numbers are none of ours, whatever is in scope.
template <class T>
concept ArrayOrOperation =
    DeviceOperation<std::remove_cvref_t<T>> || requires(const T& array) { array.memory(); };

}  // namespace detail

template <detail::ArrayOrOperation A>
auto sum(A&& x) {
  return detail::arithmetic<1>(detail::CallReduceAll{&detail::kSum}, std::forward<A>(x));
}
template <detail::ArrayOrOperation A, class... Into>
auto sum(A&& x, int axis, Into&&... into) {
  return detail::arithmetic<1>(detail::CallReduceAxis{&detail::kSum, axis}, std::forward<A>(x),
                               std::forward<Into>(into)...);
}

template <detail::ArrayOrOperation A>
auto max(A&& x) {
  return detail::arithmetic<1>(detail::CallReduceAll{&detail::kMax}, std::forward<A>(x));
}
template <detail::ArrayOrOperation A, class... Into>
auto max(A&& x, int axis, Into&&... into) {
  return detail::arithmetic<1>(detail::CallReduceAxis{&detail::kMax, axis}, std::forward<A>(x),
                               std::forward<Into>(into)...);
}

template <detail::ArrayOrOperation A>
auto min(A&& x) {
  return detail::arithmetic<1>(detail::CallReduceAll{&detail::kMin}, std::forward<A>(x));
}
template <detail::ArrayOrOperation A, class... Into>
auto min(A&& x, int axis, Into&&... into) {
  return detail::arithmetic<1>(detail::CallReduceAxis{&detail::kMin, axis}, std::forward<A>(x),
                               std::forward<Into>(into)...);
}

}  // namespace halyard::inline v0::async
