// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions by the shipped kernels, with their error bounds (docs/kernels.md). Element types:
// float, double, std::int32_t and std::uint32_t.
//
//   sum(x)  max(x)  min(x)          of all elements: a tensor without dimensions, one element
//   sum(x, axis)  ...               along one dimension, which the result lacks; -1 is the last
//   sum(x, axis, into)  ...         into an existing tensor, as in arithmetic.h
//
// `x | sum`, `x | sum(axis)`, `x | max()` and `x | max(axis)` are the same. max and min are
// functions, as those of <algorithm>, and so need the parentheses.
//
// `x` is an operand as in arithmetic.h. kInvalidArgument for a dimension that it does not have.
// Without elements the sum is 0, max is -infinity or the least integer, and min is infinity or the
// greatest integer. max and min propagate NaN. Sums of integers wrap around, modulo 2^32. The order
// of additions depends on the shape alone, so results repeat bit for bit.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "halyard/async/detail/arithmetic.h"
#include "halyard/async/detail/array_function.h"
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

template <Reduction kReduction>
struct ReduceFunction {
  using IsArrayFunction = void;
  template <ArrayOrOperation A>
  auto operator()(A&& x) const {
    return arithmetic<OfNumbers, 1>(CallReduceAll{kReduction}, std::forward<A>(x));
  }
  template <ArrayOrOperation A, class... Into>
  auto operator()(A&& x, int axis, Into&&... into) const {
    return arithmetic<OfNumbers, 1>(CallReduceAxis{kReduction, axis}, std::forward<A>(x),
                                    std::forward<Into>(into)...);
  }
  auto operator()(int axis) const { return bind_rest(*this, axis); }
};

}  // namespace detail

inline constexpr detail::ReduceFunction<detail::Reduction::kSum> sum{};

template <detail::ArrayOrOperation A, class... Rest>
auto max(A&& x, Rest&&... rest) {
  return detail::ReduceFunction<detail::Reduction::kMax>()(std::forward<A>(x),
                                                           std::forward<Rest>(rest)...);
}
// A template, so that max({...}) of numbers never means this.
template <std::same_as<int>... Axis>
  requires(sizeof...(Axis) <= 1)
auto max(Axis... axis) {
  return detail::bind_rest(detail::ReduceFunction<detail::Reduction::kMax>(), axis...);
}

template <detail::ArrayOrOperation A, class... Rest>
auto min(A&& x, Rest&&... rest) {
  return detail::ReduceFunction<detail::Reduction::kMin>()(std::forward<A>(x),
                                                           std::forward<Rest>(rest)...);
}
// A template, so that min({...}) of numbers never means this.
template <std::same_as<int>... Axis>
  requires(sizeof...(Axis) <= 1)
auto min(Axis... axis) {
  return detail::bind_rest(detail::ReduceFunction<detail::Reduction::kMin>(), axis...);
}

}  // namespace halyard::inline v0::async
