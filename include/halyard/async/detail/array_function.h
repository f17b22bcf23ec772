// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of an array that can be on the right of `|`: `x | relu`, `x | add(b)`.
//
// `x | relu` needs an object named relu: the name of a function template is not an operand. Names
// that other headers may also define (add, div, max) stay functions; called without their first
// argument, they return a Bound.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/operation.h"

namespace halyard::inline v0::async::detail {

// Excludes numbers, whose max and min must not be hidden by functions of these names.
template <class T>
concept ArrayOrOperation =
    DeviceOperation<std::remove_cvref_t<T>> || requires(const T& array) { array.memory(); };

template <class F>
concept ArrayFunction = requires { typename F::IsArrayFunction; };

// `array | function` is `function(array)`.
template <class Array, ArrayFunction F>
auto operator|(Array&& array, F function) {
  return std::move(function)(std::forward<Array>(array));
}

// A function without its first argument.
template <class F, class... Rest>
struct Bound {
  using IsArrayFunction = void;
  template <class Array>
  auto operator()(Array&& array) && {
    return std::apply(
        [&](Rest&... given) { return call(std::forward<Array>(array), std::move(given)...); },
        rest);
  }
  [[no_unique_address]] F call;
  [[no_unique_address]] std::tuple<Rest...> rest;
};

template <class F, class... Rest>
Bound<F, std::decay_t<Rest>...> bind_rest(F call, Rest&&... rest) {
  return {std::move(call), {std::forward<Rest>(rest)...}};
}

}  // namespace halyard::inline v0::async::detail
