// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the combinators' operations, and `operation | combinator`.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/tensor_adaptors.h"
#include "halyard/async/operation.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

struct GiveTuple {
  static constexpr bool kRecordable = true;
  static constexpr bool kSubmitsNothing = true;
  template <class... T>
  Result<std::tuple<T...>> operator()(Context&, T&&... values) const {
    return std::tuple<T...>(std::move(values)...);
  }
};

template <class T>
inline constexpr bool kIsResult = false;
template <class T>
inline constexpr bool kIsResult<Result<T>> = true;

template <class F>
struct CallMap {
  static constexpr bool kRecordable = true;
  static constexpr bool kSubmitsNothing = true;
  template <class T>
  auto operator()(Context&, T&& value) && {
    constexpr bool kTakes = std::is_invocable_v<F, T&&>;
    static_assert(kTakes,
                  "map: the function does not take what the operation returns (the elements of "
                  "to_host() exist only after its await)");
    if constexpr (!kTakes) {
      return Result<int>(0);  // no second error
    } else {
      using Value = std::invoke_result_t<F, T&&>;
      constexpr bool kFit =
          !std::is_void_v<Value> && !std::is_reference_v<Value> && !std::is_same_v<Value, Status>;
      static_assert(kFit,
                    "map: the function returns a value or a Result, no reference and no Status");
      if constexpr (!kFit) {
        return Result<int>(0);
      } else {
        using Given = std::conditional_t<kIsResult<Value>, Value, Result<Value>>;
        return Given(std::invoke(std::move(fn), std::move(value)));
      }
    }
  }
  [[no_unique_address]] F fn;
};

template <class F>
struct CallInspect {
  static constexpr bool kRecordable = true;
  static constexpr bool kSubmitsNothing = true;
  template <class T>
  Result<T> operator()(Context&, T&& value) && {
    std::invoke(std::move(fn), std::as_const(value));
    return std::move(value);
  }
  [[no_unique_address]] F fn;
};

template <class F>
struct CallAndThen {
  template <class T>
  auto operator()(Context& context, T&& value) && {
    using Next = std::invoke_result_t<F, T&&>;
    static_assert(DeviceOperation<Next>,
                  "and_then: the function returns an operation; use map otherwise");
    if constexpr (DeviceOperation<Next>) {
      return std::invoke(std::move(fn), std::move(value)).execute(context);
    } else {
      return Result<int>(0);
    }
  }
  [[no_unique_address]] F fn;
};

template <class F>
struct CallApply {
  template <class... T>
  auto operator()(Context& context, std::tuple<T...>&& values) && {
    using Next = std::invoke_result_t<F, T&&...>;
    static_assert(DeviceOperation<Next>,
                  "apply: the function returns an operation; use map otherwise");
    if constexpr (DeviceOperation<Next>) {
      return std::apply(std::move(fn), std::move(values)).execute(context);
    } else {
      return Result<int>(0);
    }
  }
  template <class T>
  auto operator()(Context&, T&&) && {
    static_assert(kIsTuple<T>,
                  "apply: of several results, as zip() returns; use and_then otherwise");
    return Result<int>(0);
  }
  [[no_unique_address]] F fn;
};

template <class F, class T>
inline constexpr bool kRecordableCall<CallAndThen<F>, T> = Recordable<std::invoke_result_t<F, T&&>>;
template <class F, class... T>
inline constexpr bool kRecordableCall<CallApply<F>, std::tuple<T...>> =
    Recordable<std::invoke_result_t<F, T&&...>>;

// Makes an Operation<Call<F>, Op> of an operation.
template <template <class> class Call, class F>
struct Combinator {
  using IsCombinator = void;
  template <DeviceOperation Op>
  auto operator()(Op&& operation) && {
    return Operation<Call<F>, Op>(Call<F>{std::move(fn)}, std::move(operation));
  }
  [[no_unique_address]] F fn;
};

template <class T>
concept IsCombinator = requires { typename std::remove_cvref_t<T>::IsCombinator; };

// The operators | are in the namespace of all combinators and adaptors, where argument-dependent
// lookup finds them for operations of any namespace.
template <class Op, IsCombinator C>
auto operator|(Op&& operation, C combinator) {
  constexpr bool kFit = DeviceOperation<std::decay_t<Op>>;
  static_assert(kFit, "the left operand of | is no operation; value(x) makes one");
  static_assert(kMovedOrCopyable<Op>, "an operation has one owner: std::move(operation) | ...");
  if constexpr (kFit && kMovedOrCopyable<Op>) {
    return std::move(combinator)(std::decay_t<Op>(std::forward<Op>(operation)));
  } else {
    return refused<int>();
  }
}

// An adaptor of an operation's result. If the adaptor refuses the result, the operation fails.
template <Adaptor A>
struct CheckedAdaptor {
  template <class T>
  auto operator()(T&& value) const {
    if constexpr (requires { adaptor.check(value); }) {
      using Given = Result<decltype(adaptor(std::forward<T>(value)))>;
      if (Status status = adaptor.check(value); !status.ok()) return Given(std::move(status));
      return Given(adaptor(std::forward<T>(value)));
    } else {
      return adaptor(std::forward<T>(value));
    }
  }
  [[no_unique_address]] A adaptor;
};

template <class T, Adaptor A>
auto operator|(T&& argument, const A& adaptor) {
  static_assert(kMovedOrCopyable<T>,
                "operations, Tensor and Partition have one owner: std::move(x) | ...");
  if constexpr (DeviceOperation<std::decay_t<T>>) {
    return std::forward<T>(argument) | Combinator<CallMap, CheckedAdaptor<A>>{{adaptor}};
  } else if constexpr (kMovedOrCopyable<T>) {
    return adaptor(std::forward<T>(argument));
  } else {
    return refused<int>();
  }
}

// One of several results, such as a kernel's arrays.
template <bool kLast>
struct ElementAdaptor {
  using IsAdaptor = void;
  template <class... T>
  auto operator()(std::tuple<T...>&& values) const {
    return std::get<kLast ? sizeof...(T) - 1 : 0>(std::move(values));
  }
  template <class T>
  auto operator()(T&&) const {
    static_assert(kIsTuple<T>, "first, last: of several results, as a kernel or zip() returns");
    return refused_value<std::remove_cvref_t<T>>();
  }
};

}  // namespace halyard::inline v0::async::detail
