// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions by the shipped kernels, with their error bounds (docs/kernels.md). Element types:
// float, double, std::int32_t and std::uint32_t.
//
//   sum(x)  max(x)  min(x)          of all elements: a tensor without dimensions, one element
//   sum(x, axis)  ...               along one dimension, which the result lacks; -1 is the last
//   sum(x, axis, into)  ...         into an existing tensor, as in arithmetic.h
//   argmax(x)  argmax(x, axis)      the index of the greatest, a std::uint32_t: of all elements,
//                                   row by row, or along one dimension, alike with `into`
//
// `x | sum`, `x | sum(axis)`, `x | max()` and `x | max(axis)` are the same, `x | argmax` as for
// sum. max and min are functions, as those of <algorithm>, and so need the parentheses.
//
// `x` is an operand as in arithmetic.h. kInvalidArgument for a dimension that it does not have.
// Without elements the sum is 0, max is -infinity or the least integer, min is infinity or the
// greatest integer, and argmax is kInvalidArgument. max, min and argmax skip NaNs; argmax of NaNs
// only is 0. Of equal elements argmax takes the first. Sums of integers wrap around, modulo 2^32.
// The order of additions depends only on the shape, so results repeat bit for bit.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
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

// Results of uint32s.
HALYARD_EXPORT Result<AnyTensor> argmax_of_all(Context& context, const ArrayRef& operand);
HALYARD_EXPORT Result<AnyTensor> argmax_of_axis(Context& context, int axis, const ArrayRef& operand,
                                                const ArrayRef* into);

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

struct CallArgmaxAll {
  Result<AnyTensor> operator()(Context& context, hal::View<ArrayRef> operands,
                               const ArrayRef*) const {
    return argmax_of_all(context, operands[0]);
  }
};
struct CallArgmaxAxis {
  Result<AnyTensor> operator()(Context& context, hal::View<ArrayRef> operands,
                               const ArrayRef* into) const {
    return argmax_of_axis(context, axis, operands[0], into);
  }
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

struct ArgmaxFunction {
  using IsArrayFunction = void;
  template <ArrayOrOperation A>
  auto operator()(A&& x) const {
    return indices<CallArgmaxAll>({}, std::forward<A>(x));
  }
  template <ArrayOrOperation A, class... Into>
  auto operator()(A&& x, int axis, Into&&... into) const {
    return indices<CallArgmaxAxis>({axis}, std::forward<A>(x), std::forward<Into>(into)...);
  }
  auto operator()(int axis) const { return bind_rest(*this, axis); }

 private:
  template <class F, class A, class... Into>
  static auto indices(F call, A&& x, Into&&... into) {
    constexpr bool kTaken = OfNumbers::kTakes<ElementOf<A>>;
    OfNumbers::check<kTaken>();
    constexpr bool kOwned =
        (std::is_same_v<typename AsOperation<Into>::Output, Tensor<std::uint32_t>> && ...);
    static_assert(kOwned && sizeof...(Into) <= 1,
                  "into: a Tensor<std::uint32_t>, which is overwritten, or an operation that "
                  "returns one");
    if constexpr (kTaken && kOwned) {
      return operation(CallArithmetic<std::uint32_t, F, sizeof...(Into) != 0>{std::move(call)},
                       std::forward<A>(x), std::forward<Into>(into)...);
    }
  }
};

}  // namespace detail

inline constexpr detail::ReduceFunction<detail::Reduction::kSum> sum{};
inline constexpr detail::ArgmaxFunction argmax{};

template <detail::ArrayOrOperation A, class... Rest>
auto max(A&& x, Rest&&... rest) {
  return detail::ReduceFunction<detail::Reduction::kMax>()(std::forward<A>(x),
                                                           std::forward<Rest>(rest)...);
}
// A template, so that max({...}) of numbers never means this.
template <std::same_as<int>... Axis>
requires(sizeof...(Axis) <= 1) auto max(Axis... axis) {
  return detail::bind_rest(detail::ReduceFunction<detail::Reduction::kMax>(), axis...);
}

template <detail::ArrayOrOperation A, class... Rest>
auto min(A&& x, Rest&&... rest) {
  return detail::ReduceFunction<detail::Reduction::kMin>()(std::forward<A>(x),
                                                           std::forward<Rest>(rest)...);
}
// A template, so that min({...}) of numbers never means this.
template <std::same_as<int>... Axis>
requires(sizeof...(Axis) <= 1) auto min(Axis... axis) {
  return detail::bind_rest(detail::ReduceFunction<detail::Reduction::kMin>(), axis...);
}

}  // namespace halyard::inline v0::async
