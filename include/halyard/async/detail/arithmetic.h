// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of arithmetic.h and reductions.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/array_ref.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async::detail {

// A tensor whose element type is a value.
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

// The result is `into`, or a new tensor if that is null. All arrays have one element type.
// elementwise() takes one or two operands.
HALYARD_EXPORT Result<AnyTensor> elementwise(Context& context, Elementwise operation,
                                             hal::View<ArrayRef> operands, const ArrayRef* into);
HALYARD_EXPORT Result<AnyTensor> scaled(Context& context, const hal::Constant& by,
                                        hal::View<ArrayRef> operands, const ArrayRef* into);
HALYARD_EXPORT Result<AnyTensor> matrix_product(Context& context, hal::View<ArrayRef> operands,
                                                const ArrayRef* into);
HALYARD_EXPORT Result<AnyTensor> softmax_of_rows(Context& context, hal::View<ArrayRef> operands,
                                                 const ArrayRef* into);

HALYARD_EXPORT Result<AnyTensor> transposed(Context& context, hal::View<ArrayRef> operands,
                                            const ArrayRef* into);
HALYARD_EXPORT Result<AnyTensor> concatenated(Context& context, hal::View<ArrayRef> operands);

struct CallElementwise {
  Result<AnyTensor> operator()(Context& context, hal::View<ArrayRef> operands,
                               const ArrayRef* into) const {
    return elementwise(context, kernel, operands, into);
  }
  Elementwise kernel;
};
// By: a hal::Constant, or a Number.
template <class By>
struct CallScaled {
  Result<AnyTensor> operator()(Context& context, hal::View<ArrayRef> operands,
                               const ArrayRef* into) const {
    if constexpr (std::is_same_v<By, hal::Constant>) {
      return scaled(context, by, operands, into);
    } else {
      const Result<hal::Constant> slot = by.constant(context, "scale");
      return slot.ok() ? scaled(context, *slot, operands, into) : slot.status();
    }
  }
  By by;
};

// Calls `call` with arrays of T; with kInto the last one is `into`.
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

// The element types for which there are kernels. check() returns `auto`, so that the compiler looks
// into it where it is called, before it finds errors that follow from this one.
struct OfFloat {
  template <class T>
  static constexpr bool kTakes = std::is_same_v<T, float>;
  template <bool kFit>
  static constexpr auto check() {
    static_assert(
        kFit, "operands: Tensor<float> or Shared<Tensor<float>>, or operations that return one");
  }
};
struct OfReals {
  template <class T>
  static constexpr bool kTakes = std::is_same_v<T, float> || std::is_same_v<T, double>;
  template <bool kFit>
  static constexpr auto check() {
    static_assert(kFit,
                  "operands: Tensor<T> or Shared<Tensor<T>>, or operations that return one; all of "
                  "one T, float or double");
  }
};
struct OfNumbers {
  template <class T>
  static constexpr bool kTakes =
      OfReals::kTakes<T> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t>;
  template <bool kFit>
  static constexpr auto check() {
    static_assert(kFit,
                  "operands: Tensor<T> or Shared<Tensor<T>>, or operations that return one; all of "
                  "one T, float, double, std::int32_t or std::uint32_t");
  }
};

// The T of a Tensor<T> or Shared<Tensor<T>>; void for other types.
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

// The operation of `call` with kOperands operands and perhaps a further argument `into`.
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
    static_assert(kOwned, "into: a Tensor, which is overwritten, or an operation that returns one");
    if constexpr (kOwned) {
      return operation(CallArithmetic<T, F, kInto>{std::move(call)}, std::forward<First>(first),
                       std::forward<Rest>(rest)...);
    } else {
      return refused<Tensor<T>>();
    }
  } else {
    return refused<Tensor<std::conditional_t<Element<T>, T, float>>>();
  }
}

template <class T>
struct CallConcat {
  template <class... Array>
  Result<Tensor<T>> operator()(Context& context, Array&&... arrays) const {
    const ArrayRef all[] = {ArrayRef(arrays)...};
    Result<AnyTensor> made = concatenated(context, all);
    if (!made.ok()) return std::move(made).status();
    return Tensor<T>(std::move(made->storage), made->shape);
  }
};

template <class A, class... Rest>
auto concatenation(A&& a, Rest&&... rest) {
  using T = ElementOf<A>;
  constexpr bool kFit = !std::is_void_v<T> && (std::is_same_v<T, ElementOf<Rest>> && ...);
  static_assert(kFit,
                "concat: Tensor<T> or Shared<Tensor<T>>, or operations that return one; all of one "
                "T");
  if constexpr (kFit) {
    return operation(CallConcat<T>(), std::forward<A>(a), std::forward<Rest>(rest)...);
  } else {
    return refused<Tensor<std::conditional_t<Element<T>, T, float>>>();
  }
}

}  // namespace halyard::inline v0::async::detail
