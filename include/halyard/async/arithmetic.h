// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of float, done by the shipped kernels (docs/kernels.md), whose bounds of error hold.
//
//   add sub mul div relu sigmoid   element by element
//   matmul                         of matrices
//
// Operands are a Tensor or a Shared, or operations that give them, and are dropped. Shapes that do
// not fit are kInvalidArgument, more than 2^31 - 1 elements kOutOfRange.
#pragma once

#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::async {

namespace detail {

// What an arithmetic operation reads.
struct Operand {
  template <class Array>
  Operand(const Array& array) noexcept : memory(array.memory()), shape(array.shape()) {}
  StorageRange memory;
  Shape shape;
};
// `kernel` of elementwise.hyk, over one operand or two.
HALYARD_EXPORT Result<Tensor<float>> elementwise(Context& context, const char* kernel,
                                                 hal::View<Operand> operands);
HALYARD_EXPORT Result<Tensor<float>> matrix_product(Context& context, const Operand& a,
                                                    const Operand& b);

struct CallElementwise {
  template <class... Array>
  Result<Tensor<float>> operator()(Context& context, const Array&... operands) const {
    return elementwise(context, kernel, {Operand(operands)...});
  }
  const char* kernel;
};

struct CallMatmul {
  template <class A, class B>
  Result<Tensor<float>> operator()(Context& context, const A& a, const B& b) const {
    return matrix_product(context, a, b);
  }
};

template <class T>
inline constexpr bool kIsOperand = false;
template <>
inline constexpr bool kIsOperand<Tensor<float>> = true;
template <>
inline constexpr bool kIsOperand<Shared<Tensor<float>>> = true;

template <class F, class... Args>
auto arithmetic(F call, Args&&... args) {
  constexpr bool kFit = (kIsOperand<typename AsOperation<Args>::Output> && ...);
  static_assert(kFit, "operands: Tensor<float> or Shared<Tensor<float>>, or what gives them");
  if constexpr (kFit) return operation(call, std::forward<Args>(args)...);
}

}  // namespace detail

template <class A, class B>
auto add(A&& a, B&& b) {
  return detail::arithmetic(detail::CallElementwise{"add"}, std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
auto sub(A&& a, B&& b) {
  return detail::arithmetic(detail::CallElementwise{"subtract"}, std::forward<A>(a),
                            std::forward<B>(b));
}
template <class A, class B>
auto mul(A&& a, B&& b) {
  return detail::arithmetic(detail::CallElementwise{"multiply"}, std::forward<A>(a),
                            std::forward<B>(b));
}
template <class A, class B>
auto div(A&& a, B&& b) {
  return detail::arithmetic(detail::CallElementwise{"divide"}, std::forward<A>(a),
                            std::forward<B>(b));
}
template <class A>
auto relu(A&& a) {
  return detail::arithmetic(detail::CallElementwise{"relu"}, std::forward<A>(a));
}
template <class A>
auto sigmoid(A&& a) {
  return detail::arithmetic(detail::CallElementwise{"sigmoid"}, std::forward<A>(a));
}
// c[M,N] = a[M,K] b[K,N].
template <class A, class B>
auto matmul(A&& a, B&& b) {
  return detail::arithmetic(detail::CallMatmul(), std::forward<A>(a), std::forward<B>(b));
}

}  // namespace halyard::inline v0::async
