// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of float, done by the shipped kernels (docs/kernels.md), whose bounds of error hold.
//
//   add sub mul div relu sigmoid   element by element
//   matmul                         of matrices
//   softmax                        of each row: over the last dimension
//
// Operands are a Tensor or a Shared, or operations that give them, and are dropped. Shapes that do
// not fit are kInvalidArgument, more than 2^31 - 1 elements kOutOfRange.
//
// One operand more, `into`, is a Tensor or what gives one: it is written over and given back, where
// otherwise the result is a new tensor. This form allocates nothing, and can be recorded:
//
//   Tensor<float> c = co_await add(a, b, std::move(old));
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::async {

namespace detail {

// Into `into`, or, where it is null, a new tensor. elementwise() is `kernel` of elementwise.hyk,
// over one operand or two.
HALYARD_EXPORT Result<Tensor<float>> elementwise(Context& context, const char* kernel,
                                                 hal::View<ArrayRef> operands, Tensor<float>* into);
HALYARD_EXPORT Result<Tensor<float>> matrix_product(Context& context, hal::View<ArrayRef> operands,
                                                    Tensor<float>* into);
HALYARD_EXPORT Result<Tensor<float>> softmax_of_rows(Context& context, hal::View<ArrayRef> operands,
                                                     Tensor<float>* into);

struct CallElementwise {
  Result<Tensor<float>> operator()(Context& context, hal::View<ArrayRef> operands,
                                   Tensor<float>* into) const {
    return elementwise(context, kernel, operands, into);
  }
  const char* kernel;
};

// `call` with arrays, of which the last may be `into`.
template <class F, bool kInto>
struct CallArithmetic {
  static constexpr bool kRecordable = kInto;
  template <class... Array>
  Result<Tensor<float>> operator()(Context& context, Array&&... arrays) const {
    constexpr std::size_t kOperands = sizeof...(Array) - kInto;
    const ArrayRef all[] = {ArrayRef(arrays)...};
    Tensor<float>* into = nullptr;
    if constexpr (kInto) into = &std::get<kOperands>(std::tie(arrays...));
    return call(context, hal::View<ArrayRef>(all, kOperands), into);
  }
  F call;
};

template <class T>
inline constexpr bool kIsOperand = false;
template <>
inline constexpr bool kIsOperand<Tensor<float>> = true;
template <>
inline constexpr bool kIsOperand<Shared<Tensor<float>>> = true;

// Of so many operands, and `into` where there is one argument more.
template <std::size_t kOperands, class F, class... Args>
auto arithmetic(F call, Args&&... args) {
  constexpr bool kInto = sizeof...(Args) == kOperands + 1;
  static_assert(kInto || sizeof...(Args) == kOperands, "operands, and at most one tensor `into`");
  using Given = std::tuple<typename AsOperation<Args>::Output...>;
  constexpr bool kFit = (kIsOperand<typename AsOperation<Args>::Output> && ...);
  static_assert(kFit, "operands: Tensor<float> or Shared<Tensor<float>>, or what gives them");
  constexpr bool kOwned =
      !kInto || std::is_same_v<std::tuple_element_t<sizeof...(Args) - 1, Given>, Tensor<float>>;
  static_assert(kOwned, "into: a Tensor<float>, which is written over, or what gives one");
  if constexpr (kFit && kOwned) {
    return operation(CallArithmetic<F, kInto>{std::move(call)}, std::forward<Args>(args)...);
  }
}

}  // namespace detail

template <class A, class B, class... Into>
auto add(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<2>(detail::CallElementwise{"add"}, std::forward<A>(a),
                               std::forward<B>(b), std::forward<Into>(into)...);
}
template <class A, class B, class... Into>
auto sub(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<2>(detail::CallElementwise{"subtract"}, std::forward<A>(a),
                               std::forward<B>(b), std::forward<Into>(into)...);
}
template <class A, class B, class... Into>
auto mul(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<2>(detail::CallElementwise{"multiply"}, std::forward<A>(a),
                               std::forward<B>(b), std::forward<Into>(into)...);
}
template <class A, class B, class... Into>
auto div(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<2>(detail::CallElementwise{"divide"}, std::forward<A>(a),
                               std::forward<B>(b), std::forward<Into>(into)...);
}
template <class A, class... Into>
auto relu(A&& a, Into&&... into) {
  return detail::arithmetic<1>(detail::CallElementwise{"relu"}, std::forward<A>(a),
                               std::forward<Into>(into)...);
}
template <class A, class... Into>
auto sigmoid(A&& a, Into&&... into) {
  return detail::arithmetic<1>(detail::CallElementwise{"sigmoid"}, std::forward<A>(a),
                               std::forward<Into>(into)...);
}
// c[M,N] = a[M,K] b[K,N].
template <class A, class B, class... Into>
auto matmul(A&& a, B&& b, Into&&... into) {
  return detail::arithmetic<2>(&detail::matrix_product, std::forward<A>(a), std::forward<B>(b),
                               std::forward<Into>(into)...);
}
// e^x / sum of e^x, over the last dimension, of which there has to be one. Finite operands.
template <class A, class... Into>
auto softmax(A&& a, Into&&... into) {
  return detail::arithmetic<1>(&detail::softmax_of_rows, std::forward<A>(a),
                               std::forward<Into>(into)...);
}

}  // namespace halyard::inline v0::async
