// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic, done by the shipped kernels (docs/kernels.md), whose bounds of error hold.
//
//   add sub mul       element by element; of float, double, std::int32_t, std::uint32_t
//   scale(x, by)      each element times the number `by`, which is not narrowed; of the same types
//   div               element by element; of float and double
//   relu sigmoid      element by element; of float
//   matmul            of matrices of float
//   softmax           of each row of float: over the last dimension
//
// Operands have one type of elements, which is the result's. Each is a Tensor or a Shared, or an
// operation that gives one, and is dropped. Integers wrap around, modulo 2^32. Shapes that do not
// fit are kInvalidArgument, more than 2^31 - 1 elements kOutOfRange. The kernels of double have
// files of their own, as not every target has doubles: where a device finds no image in one, as in
// any file, the await is kUnavailable and names the kernel and the file.
//
// One operand more, `into`, is a Tensor or what gives one: it is written over and given back, where
// otherwise the result is a new tensor. This form allocates nothing, and can be recorded:
//
//   Tensor<float> c = co_await add(a, b, std::move(old));
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/hal/executable.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async {

namespace detail {

// A tensor whose type of elements is a value.
struct AnyTensor {
  StorageRange memory() const noexcept {
    return {storage.get(), 0, shape.elements() * kernel::size_of(type)};
  }
  Ref<Storage> storage;
  Shape shape;
  kernel::ElementType type;
};

// Kernels of elementwise.hyk.
enum class Elementwise : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kRelu, kSigmoid };

// Into `into`, or, where it is null, a new tensor. Operands are of one type of elements, which is
// into's. elementwise() has one operand or two.
HALYARD_EXPORT Result<AnyTensor> elementwise(Context& context, Elementwise operation,
                                             hal::View<ArrayRef> operands, const ArrayRef* into);
HALYARD_EXPORT Result<AnyTensor> scaled(Context& context, const hal::Constant& by,
                                        hal::View<ArrayRef> operands, const ArrayRef* into);
HALYARD_EXPORT Result<AnyTensor> matrix_product(Context& context, hal::View<ArrayRef> operands,
                                                const ArrayRef* into);
HALYARD_EXPORT Result<AnyTensor> softmax_of_rows(Context& context, hal::View<ArrayRef> operands,
                                                 const ArrayRef* into);

struct CallElementwise {
  Result<AnyTensor> operator()(Context& context, hal::View<ArrayRef> operands,
                               const ArrayRef* into) const {
    return elementwise(context, kernel, operands, into);
  }
  Elementwise kernel;
};
struct CallScaled {
  Result<AnyTensor> operator()(Context& context, hal::View<ArrayRef> operands,
                               const ArrayRef* into) const {
    return scaled(context, by, operands, into);
  }
  hal::Constant by;
};

// `call` with arrays of T, of which the last may be `into`.
template <class T, class F, bool kInto>
struct CallArithmetic {
  static constexpr bool kRecordable = kInto;
  template <class... Array>
  Result<Tensor<T>> operator()(Context& context, Array&&... arrays) const {
    constexpr std::size_t kOperands = sizeof...(Array) - kInto;
    const ArrayRef all[] = {ArrayRef(arrays)...};
    Result<AnyTensor> made =
        call(context, hal::View<ArrayRef>(all, kOperands), kInto ? &all[kOperands] : nullptr);
    if (!made.ok()) return std::move(made).status();
    return Tensor<T>(std::move(made->storage), made->shape);
  }
  F call;
};

// Of what there are kernels.
struct OfFloat {
  template <class T>
  static constexpr bool kTakes = std::is_same_v<T, float>;
  template <bool kFit>
  static constexpr void check() {
    static_assert(kFit, "operands: Tensor<float> or Shared<Tensor<float>>, or what gives them");
  }
};
struct OfReals {
  template <class T>
  static constexpr bool kTakes = std::is_same_v<T, float> || std::is_same_v<T, double>;
  template <bool kFit>
  static constexpr void check() {
    static_assert(kFit,
                  "operands: Tensor<T> or Shared<Tensor<T>>, or what gives them; all of one T, "
                  "float or double");
  }
};
struct OfNumbers {
  template <class T>
  static constexpr bool kTakes =
      OfReals::kTakes<T> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t>;
  template <bool kFit>
  static constexpr void check() {
    static_assert(kFit,
                  "operands: Tensor<T> or Shared<Tensor<T>>, or what gives them; all of one T, "
                  "float, double, std::int32_t or std::uint32_t");
  }
};

// T of a Tensor<T> or Shared<Tensor<T>>; void of all else.
template <class Array>
struct OperandOf {
  using Type = void;
};
template <class T>
struct OperandOf<Tensor<T>> {
  using Type = T;
};
template <class T>
struct OperandOf<Shared<Tensor<T>>> {
  using Type = T;
};
template <class Arg>
using ElementOf = typename OperandOf<typename AsOperation<Arg>::Output>::Type;

// Of so many operands, and `into` where there is one argument more.
template <class Of, std::size_t kOperands, class F, class First, class... Rest>
auto arithmetic(F call, First&& first, Rest&&... rest) {
  constexpr bool kInto = sizeof...(Rest) == kOperands;
  static_assert(kInto || sizeof...(Rest) + 1 == kOperands,
                "operands, and at most one tensor `into`");
  using T = ElementOf<First>;
  constexpr bool kFit = Of::template kTakes<T> && (std::is_same_v<T, ElementOf<Rest>> && ...);
  Of::template check<kFit>();
  if constexpr (kFit) {
    using Given =
        std::tuple<typename AsOperation<First>::Output, typename AsOperation<Rest>::Output...>;
    constexpr bool kOwned =
        !kInto || std::is_same_v<std::tuple_element_t<sizeof...(Rest), Given>, Tensor<T>>;
    static_assert(kOwned, "into: a Tensor, which is written over, or what gives one");
    if constexpr (kOwned) {
      return operation(CallArithmetic<T, F, kInto>{std::move(call)}, std::forward<First>(first),
                       std::forward<Rest>(rest)...);
    }
  }
}

}  // namespace detail

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
  static_assert(kKept, "by: a number that needs no narrowing to be one of the elements");
  hal::Constant factor;
  if constexpr (kKept && std::is_same_v<T, std::int32_t>) {
    factor = static_cast<std::uint32_t>(by);  // modulo 2^32 that is all the same
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
// e^x / sum of e^x, over the last dimension, of which there has to be one. Finite operands.
template <class A, class... Into>
auto softmax(A&& a, Into&&... into) {
  return detail::arithmetic<detail::OfFloat, 1>(&detail::softmax_of_rows, std::forward<A>(a),
                                                std::forward<Into>(into)...);
}

}  // namespace halyard::inline v0::async
