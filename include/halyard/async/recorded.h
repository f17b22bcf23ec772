// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorded: a tree of operations as a command buffer, which can be submitted many times.
//
//   Recorded step = co_await record(saxpy(2.0f, x, std::move(y)));
//   for (int i = 0; i < 1000; ++i) co_await step.replay();
//   std::vector<float> y1 = co_await step.to_host<2>();     element 2 of the tree's result
//
// Only the data orders the commands: branches of the tree may overlap. A replay computes what the
// tree would compute, bit for bit. The Recorded owns the tree's result and the tensors that its
// commands use. Functions of map() and and_then() run once, while the tree is recorded.
//
// A recording allocates nothing and is on one device: it holds kernels, fill, copy, scratch, values
// and their combinators. Other trees do not compile.
//
// A function of arrays is recorded with their shapes; each replay takes other arrays:
//
//   auto step = co_await record(
//       [&](Shared<Tensor<float>> x, Tensor<float> y) { return saxpy(2.0f, x, ...); },
//       Shape{16, 16}, Shape{16, 16});
//   auto [x1, y1] = co_await step.replay(x, std::move(y));     a replay
//   auto [a, x2, y2] = co_await step(x, std::move(y1));        a replay; returns the tree's result
//
// The arguments of the function are placeholders of these arrays. Other uses of them are
// kInvalidArgument. A parameter Number<T> (number.h) is a placeholder of a number, which each
// replay gives.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/record.h"
#include "halyard/async/operation.h"
#include "halyard/async/operations.h"
#include "halyard/async/tensor.h"
#include "halyard/base/ref.h"

namespace halyard::inline v0::async {

// A recorded tree with the result T; each replay takes arrays and numbers of the types Slots.
// Move-only. One thread at a time uses it, submits its replays, and submits uses of output() and of
// the result of take(). A replay that was made before a move or take() still runs.
template <class T, class... Slots>
class Recorded {
 public:
  Recorded(Ref<RefCounted> recording, T&& value) noexcept
      : recording_(std::move(recording)), value_(std::move(value)) {}
  Recorded(Recorded&&) noexcept = default;
  Recorded& operator=(Recorded&&) noexcept = default;

  // Submits the recorded commands with these arrays and numbers, or with the results of these
  // operations, and returns a tuple of them. Errors of the await:
  //
  //   kInvalidArgument     an array has another shape than was recorded, or is memory that the
  //                        recording already uses and one of the two uses writes
  //   kFailedPrecondition  this was moved or taken from
  template <class... Arrays>
  [[nodiscard]] auto replay(Arrays&&... arrays) const {
    constexpr bool kFit = [] {
      if constexpr (sizeof...(Arrays) == sizeof...(Slots)) {
        return (detail::kFitsSlot<Slots, detail::OutputOf<detail::AsOperation<Arrays>>> && ...);
      }
      return false;
    }();
    static_assert(kFit,
                  "replay: an argument for each parameter of the function that was recorded: a "
                  "Shared<Tensor<T>> (or a Tensor<T>), a Tensor<T> where it takes one, a number "
                  "without narrowing for a Number<T>");
    if constexpr (kFit) {
      return detail::operation(detail::CallReplay<Slots...>{recording_},
                               std::forward<Arrays>(arrays)...);
    } else {
      return detail::refused<int>();
    }
  }

  // The result of the tree. take() moves it out and drops the recording. Shares that output() has
  // given see what is then written to it.
  const T& value() const noexcept { return value_; }
  T take() && noexcept {
    recording_ = nullptr;  // it owns these tensors too
    return std::move(value_);
  }

  // replay(arrays...), but returns output(), with the arrays of this replay in place of the
  // function's parameters.
  template <class... Arrays>
  [[nodiscard]] auto operator()(Arrays&&... arrays) const {
    return replay(std::forward<Arrays>(arrays)...) |
           map([outputs = output(), of = detail::OutputOfReplay{recording_}](const auto& given) {
             return of(outputs, given);
           });
  }

  // The result of the tree, or element I of it, with its arrays as Shared. A use of them sees the
  // replays that were submitted before that use. An element that is a parameter cannot be used.
  template <std::size_t... I>
  [[nodiscard]] auto output() const noexcept {
    static_assert(sizeof...(I) <= 1, "output<I>(), to_host<I>(): one element");
    if constexpr (sizeof...(I) == 0) {
      return detail::AsOutput()(value_);
    } else if constexpr (sizeof...(I) == 1) {
      return detail::AsOutput()(std::get<I...>(value_));
    }
  }
  // async::to_host(output()).
  template <std::size_t... I>
  [[nodiscard]] auto to_host() const {
    return async::to_host(output<I...>());
  }

 private:
  Ref<RefCounted> recording_;
  T value_;
};

// Records `operation` without running it.
template <class Op>
  requires DeviceOperation<std::decay_t<Op>>
auto record(Op&& operation) {
  static_assert(DeviceOperation<Op>, "an operation has one owner: record(std::move(operation))");
  if constexpr (DeviceOperation<Op>) {
    return detail::record_call<>(detail::GiveOperation<Op>{std::move(operation)}, {});
  } else {
    return detail::refused<int>();
  }
}

// Records the operation that `fn` returns; fn is called once. Its parameters are Shared<Tensor<T>>,
// which are only read, Tensor<T> and Number<T>, at most 16; `shapes` are those of the arrays.
template <class F, std::convertible_to<Shape>... Shapes>
auto record(F&& fn, const Shapes&... shapes) {
  using Slots = detail::SlotsOf<std::decay_t<F>>;
  constexpr bool kFit = Slots::template kFit<sizeof...(Shapes)>;
  static_assert(kFit,
                "record: an operation, or a function with parameters Shared<Tensor<T>>, Tensor<T> "
                "and Number<T>, by name and not by auto, by value or const reference, and a shape "
                "for each array");
  if constexpr (kFit) {
    return [&]<class... S>(detail::TypeList<S...>) {
      return detail::record_call<S...>(std::decay_t<F>(std::forward<F>(fn)), {Shape(shapes)...});
    }(typename Slots::Types());
  } else {
    return detail::refused<int>();
  }
}

}  // namespace halyard::inline v0::async
