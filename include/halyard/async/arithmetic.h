// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic by the shipped kernels, with their error bounds (docs/kernels.md).
//
//   add sub mul       element by element; float, double, std::int32_t, std::uint32_t
//   scale(x, by)      each element times the number `by`, without narrowing it; the same types
//   div               element by element; float, double
//   relu sigmoid      element by element; float
//   matmul            of matrices; float
//   softmax           of each row, over the last dimension; float
//
// An operand is a Tensor or Shared, or an operation that returns one; it is dropped. All operands
// have one element type, which is also the result's. Integers wrap around, modulo 2^32.
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
#include "halyard/async/tensor.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::async {

template <class A, class B, class... Into>
auto add(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<detail::OfNumbers, 2>(
      detail::CallElementwise{detail::Elementwise::kAdd}, std::forward<A>(a), std::forward<B>(b),
      std::forward<Into>(into)...);
}
template <class A, class B, class... Into>
auto sub(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<detail::OfNumbers, 2>(
      detail::CallElementwise{detail::Elementwise::kSubtract}, std::forward<A>(a),
      std::forward<B>(b), std::forward<Into>(into)...);
}
template <class A, class B, class... Into>
auto mul(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<detail::OfNumbers, 2>(
      detail::CallElementwise{detail::Elementwise::kMultiply}, std::forward<A>(a),
      std::forward<B>(b), std::forward<Into>(into)...);
}
template <class A, class B, class... Into>
auto div(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<detail::OfReals, 2>(
      detail::CallElementwise{detail::Elementwise::kDivide}, std::forward<A>(a), std::forward<B>(b),
      std::forward<Into>(into)...);
}
template <class A, class Number, class... Into>
auto scale(A&& x, Number by, Into&&... into) {
  using T = detail::ElementOf<A>;
  constexpr bool kKept = !detail::OfNumbers::kTakes<T> || requires { T{by}; };
  static_assert(kKept, "by: a number that converts to the element type without narrowing");
  hal::Constant factor;
  if constexpr (kKept && std::is_same_v<T, std::int32_t>) {
    factor = static_cast<std::uint32_t>(by);  // the same bits modulo 2^32
  } else if constexpr (kKept && detail::OfNumbers::kTakes<T>) {
    factor = T{by};
  }
  return detail::arithmetic<detail::OfNumbers, 1>(detail::CallScaled{factor}, std::forward<A>(x),
                                                  std::forward<Into>(into)...);
}
template <class A, class... Into>
auto relu(A&& a, Into&&... into) {
  return detail::arithmetic<detail::OfFloat, 1>(detail::CallElementwise{detail::Elementwise::kRelu},
                                                std::forward<A>(a), std::forward<Into>(into)...);
}
template <class A, class... Into>
auto sigmoid(A&& a, Into&&... into) {
  return detail::arithmetic<detail::OfFloat, 1>(
      detail::CallElementwise{detail::Elementwise::kSigmoid}, std::forward<A>(a),
      std::forward<Into>(into)...);
}
// c[M,N] = a[M,K] b[K,N].
template <class A, class B, class... Into>
auto matmul(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<detail::OfFloat, 2>(&detail::matrix_product, std::forward<A>(a),
                                                std::forward<B>(b), std::forward<Into>(into)...);
}
// e^x / sum of e^x over the last dimension. kInvalidArgument without dimensions. Finite operands.
template <class A, class... Into>
auto softmax(A&& a, Into&&... into) {
  return detail::arithmetic<detail::OfFloat, 1>(&detail::softmax_of_rows, std::forward<A>(a),
                                                std::forward<Into>(into)...);
}

}  // namespace halyard::inline v0::async
