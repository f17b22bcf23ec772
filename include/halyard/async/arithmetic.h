// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic by the shipped kernels, with their error bounds (docs/kernels.md).
//
//   add sub mul       element by element; float, double, std::int32_t, std::uint32_t
//   scale(x, by)      each element times the number `by`, without narrowing it; the same types.
//                     In a recording also a Number, unless of std::int32_t
//   div               element by element; float, double
//   relu sigmoid      element by element; float
//   matmul            of matrices; float
//   softmax           of each row, over the last dimension; float
//   transpose         of a matrix; float
//   concat(a, b, ...) one below the other, along dimension 0; all element types
//
// The shapes of two operands need not be equal. Counted from the last dimension, the sizes are
// equal or one of them is 1 or missing: there the operand is repeated. Other sizes are
// kInvalidArgument. So a row, a column of shape {n, 1} or one number combines with a matrix.
//
// An operand is a Tensor or Shared, or an operation that returns either; it is dropped. All
// operands and the result have the same element type. Integers wrap around, modulo 2^32.
//
// `x | relu` is relu(x), and a function without its first operand stands on the right too:
//
//   auto y = matmul(x, w) | add(b) | relu | scale(0.5f);
//
// A last argument `into`, a Tensor or an operation that returns one, is overwritten and returned;
// without it the result is a new tensor. With `into` nothing is allocated, and the operation can be
// recorded:
//
//   Tensor<float> c = co_await add(a, b, std::move(old));
//
// Errors of the await: kInvalidArgument for shapes that do not fit; kOutOfRange for more than
// 2^31 - 1 elements; kUnavailable for kernels that the device's target does not have, such as those
// of double, with the names of the kernel and its file.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "halyard/async/detail/arithmetic.h"
#include "halyard/async/detail/array_function.h"
#include "halyard/async/number.h"
#include "halyard/async/tensor.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::async {

namespace detail {

template <Elementwise kKernel, class Of, std::size_t kOperands>
struct ElementwiseFunction {
  using IsArrayFunction = void;
  template <class... Args>
  auto operator()(Args&&... args) const {
    return arithmetic<Of, kOperands>(CallElementwise{kKernel}, std::forward<Args>(args)...);
  }
};
using AddFunction = ElementwiseFunction<Elementwise::kAdd, OfNumbers, 2>;
using SubFunction = ElementwiseFunction<Elementwise::kSubtract, OfNumbers, 2>;
using MulFunction = ElementwiseFunction<Elementwise::kMultiply, OfNumbers, 2>;
using DivFunction = ElementwiseFunction<Elementwise::kDivide, OfReals, 2>;
struct MatmulFunction {
  template <class... Args>
  auto operator()(Args&&... args) const {
    return arithmetic<OfFloat, 2>(&matrix_product, std::forward<Args>(args)...);
  }
};
struct TransposeFunction {
  using IsArrayFunction = void;
  template <class... Args>
  auto operator()(Args&&... args) const {
    return arithmetic<OfFloat, 1>(&transposed, std::forward<Args>(args)...);
  }
};
struct SoftmaxFunction {
  using IsArrayFunction = void;
  template <class... Args>
  auto operator()(Args&&... args) const {
    return arithmetic<OfFloat, 1>(&softmax_of_rows, std::forward<Args>(args)...);
  }
};
struct ScaleFunction {
  template <class A, class By, class... Into>
  auto operator()(A&& x, By by, Into&&... into) const {
    using T = ElementOf<A>;
    if constexpr (kIsNumber<By>) {
      // The kernel of std::int32_t takes the bits as std::uint32_t.
      constexpr bool kSame = std::is_same_v<By, Number<T>> && !std::is_same_v<T, std::int32_t>;
      static_assert(kSame, "by: the Number<T> of the element type; not of std::int32_t");
      if constexpr (kSame) {
        return call(std::move(by), std::forward<A>(x), std::forward<Into>(into)...);
      } else {
        return refused<Tensor<T>>();
      }
    } else {
      constexpr bool kKept = !OfNumbers::kTakes<T> || requires { T{by}; };
      static_assert(kKept, "by: a number that converts to the element type without narrowing");
      hal::Constant factor;
      if constexpr (kKept && std::is_same_v<T, std::int32_t>) {
        factor = static_cast<std::uint32_t>(by);  // the same bits modulo 2^32
      } else if constexpr (kKept && OfNumbers::kTakes<T>) {
        factor = T{by};
      }
      return call(factor, std::forward<A>(x), std::forward<Into>(into)...);
    }
  }

 private:
  template <class By, class... Args>
  static auto call(By by, Args&&... args) {
    return arithmetic<OfNumbers, 1>(CallScaled<By>{std::move(by)}, std::forward<Args>(args)...);
  }
};

}  // namespace detail

// The overloads without the first operand are for the right of `|`.
template <class A, class B, class... Into>
auto add(A&& a, B&& b, Into&&... into) {
  return detail::AddFunction()(std::forward<A>(a), std::forward<B>(b), std::forward<Into>(into)...);
}
template <detail::ArrayOrOperation B>
auto add(B&& b) {
  return detail::bind_rest(detail::AddFunction(), std::forward<B>(b));
}
template <class A, class B, class... Into>
auto sub(A&& a, B&& b, Into&&... into) {
  return detail::SubFunction()(std::forward<A>(a), std::forward<B>(b), std::forward<Into>(into)...);
}
template <detail::ArrayOrOperation B>
auto sub(B&& b) {
  return detail::bind_rest(detail::SubFunction(), std::forward<B>(b));
}
template <class A, class B, class... Into>
auto mul(A&& a, B&& b, Into&&... into) {
  return detail::MulFunction()(std::forward<A>(a), std::forward<B>(b), std::forward<Into>(into)...);
}
template <detail::ArrayOrOperation B>
auto mul(B&& b) {
  return detail::bind_rest(detail::MulFunction(), std::forward<B>(b));
}
template <class A, class B, class... Into>
auto div(A&& a, B&& b, Into&&... into) {
  return detail::DivFunction()(std::forward<A>(a), std::forward<B>(b), std::forward<Into>(into)...);
}
template <detail::ArrayOrOperation B>
auto div(B&& b) {
  return detail::bind_rest(detail::DivFunction(), std::forward<B>(b));
}
template <class A, class By, class... Into>
auto scale(A&& x, By by, Into&&... into) {
  return detail::ScaleFunction()(std::forward<A>(x), std::move(by), std::forward<Into>(into)...);
}
template <class By>
  requires std::is_arithmetic_v<By> || detail::kIsNumber<By>
auto scale(By by) {
  return detail::bind_rest(detail::ScaleFunction(), std::move(by));
}
inline constexpr detail::ElementwiseFunction<detail::Elementwise::kRelu, detail::OfFloat, 1> relu{};
inline constexpr detail::ElementwiseFunction<detail::Elementwise::kSigmoid, detail::OfFloat, 1>
    sigmoid{};
// c[M,N] = a[M,K] b[K,N].
template <class A, class B, class... Into>
auto matmul(A&& a, B&& b, Into&&... into) {
  return detail::MatmulFunction()(std::forward<A>(a), std::forward<B>(b),
                                  std::forward<Into>(into)...);
}
template <detail::ArrayOrOperation B>
auto matmul(B&& b) {
  return detail::bind_rest(detail::MatmulFunction(), std::forward<B>(b));
}
// e^x / sum of e^x over the last dimension. kInvalidArgument without dimensions. Finite operands.
inline constexpr detail::SoftmaxFunction softmax{};
// b[N,M] of a[M,N]. kInvalidArgument unless of two dimensions.
inline constexpr detail::TransposeFunction transpose{};
// The rows of the first operand, then those of the next. All have one element type and the same
// sizes but for dimension 0, else kInvalidArgument. A copy of each; never `into` a tensor.
template <detail::ArrayOrOperation A, detail::ArrayOrOperation... Rest>
auto concat(A&& a, Rest&&... rest) {
  return detail::concatenation(std::forward<A>(a), std::forward<Rest>(rest)...);
}

}  // namespace halyard::inline v0::async
