// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Combinators: operations of operations.
//
//   zip(a, b, ...)                 a tuple of what they give; a, b, ... are operations or values
//   a | map(f)                     f(what a gives); f runs on the host as a is submitted. Where it
//                                  gives a Result, its failure is the operation's
//   a | and_then(f)                what the operation f(what a gives) gives
//   zip(a, b) | apply(f)           what the operation f(what a gives, what b gives) gives
//   a | inspect(f)                 what a gives, after f(const what a gives&)
//   a | first, a | last            of the tuple; the rest is dropped
//   a | boxed                      of one type for all that give the same: for loops and containers
//   a | partition(4, 4), a | unpartition      tensor.h
//   a | share, unzip(a)                       cell.h
//
// f may throw; then awaiting throws it.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

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
    using Value = std::invoke_result_t<F, T&&>;
    static_assert(!std::is_void_v<Value>, "map: the function gives a value");
    static_assert(!std::is_reference_v<Value> && !std::is_same_v<Value, Status>,
                  "map: the function gives a value or a Result, no reference and no Status");
    using Given = std::conditional_t<kIsResult<Value>, Value, Result<Value>>;
    return Given(std::invoke(std::move(fn), std::move(value)));
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
                  "and_then: the function gives an operation; map otherwise");
    return std::invoke(std::move(fn), std::move(value)).execute(context);
  }
  [[no_unique_address]] F fn;
};

template <class F>
struct CallApply {
  template <class... T>
  auto operator()(Context& context, std::tuple<T...>&& values) && {
    using Next = std::invoke_result_t<F, T&&...>;
    static_assert(DeviceOperation<Next>, "apply: the function gives an operation; map otherwise");
    return std::apply(std::move(fn), std::move(values)).execute(context);
  }
  [[no_unique_address]] F fn;
};

template <class F, class T>
inline constexpr bool kRecordableCall<CallAndThen<F>, T> = Recordable<std::invoke_result_t<F, T&&>>;
template <class F, class... T>
inline constexpr bool kRecordableCall<CallApply<F>, std::tuple<T...>> =
    Recordable<std::invoke_result_t<F, T&&...>>;

// What `operation | combinator` makes of the operation.
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

}  // namespace detail

template <class... Args>
auto zip(Args&&... args) {
  return detail::operation(detail::GiveTuple(), std::forward<Args>(args)...);
}

template <class F>
detail::Combinator<detail::CallMap, std::decay_t<F>> map(F&& fn) {
  return {std::forward<F>(fn)};
}
template <class F>
detail::Combinator<detail::CallInspect, std::decay_t<F>> inspect(F&& fn) {
  return {std::forward<F>(fn)};
}
template <class F>
detail::Combinator<detail::CallAndThen, std::decay_t<F>> and_then(F&& fn) {
  return {std::forward<F>(fn)};
}
template <class F>
detail::Combinator<detail::CallApply, std::decay_t<F>> apply(F&& fn) {
  return {std::forward<F>(fn)};
}

// In detail, where all adaptors and combinators are, so that an operation of any namespace finds
// it.
namespace detail {
template <class Op, IsCombinator C>
auto operator|(Op&& operation, C combinator) {
  static_assert(DeviceOperation<std::decay_t<Op>>, "what stands before | is no operation");
  static_assert(detail::kMovedOrCopyable<Op>,
                "an operation has one owner: std::move(operation) | ...");
  if constexpr (detail::kMovedOrCopyable<Op>) {
    return std::move(combinator)(std::decay_t<Op>(std::forward<Op>(operation)));
  }
}

template <class T, Adaptor A>
auto operator|(T&& argument, const A& adaptor) {
  static_assert(detail::kMovedOrCopyable<T>,
                "operations, Tensor and Partition have one owner: std::move(x) | ...");
  if constexpr (DeviceOperation<std::decay_t<T>>) {
    return std::forward<T>(argument) | map(adaptor);
  } else if constexpr (detail::kMovedOrCopyable<T>) {
    return adaptor(std::forward<T>(argument));
  }
}
}  // namespace detail

namespace detail {
struct FirstAdaptor {
  using IsAdaptor = void;
  template <class... T>
  auto operator()(std::tuple<T...>&& values) const {
    return std::get<0>(std::move(values));
  }
};
struct LastAdaptor {
  using IsAdaptor = void;
  template <class... T>
  auto operator()(std::tuple<T...>&& values) const {
    return std::get<sizeof...(T) - 1>(std::move(values));
  }
};
}  // namespace detail

inline constexpr detail::FirstAdaptor first{};
inline constexpr detail::LastAdaptor last{};

// Any operation that gives a T; costs an allocation and a virtual call.
template <class T>
class [[nodiscard("an operation does nothing until it is awaited")]] BoxedOperation {
 public:
  using Output = T;

  template <DeviceOperation Op>
    requires(std::same_as<typename Op::Output, T> && !std::same_as<Op, BoxedOperation>)
  explicit BoxedOperation(Op&& operation) : box_(std::make_unique<Box<Op>>(std::move(operation))) {}

  Result<T> execute(Context& context) && {
    if (!box_) return detail::runs_once();
    return std::exchange(box_, nullptr)->execute(context);
  }
  void collect(detail::OpInputs& inputs) const {
    if (box_) box_->collect(inputs);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual Result<T> execute(Context& context) = 0;
    virtual void collect(detail::OpInputs& inputs) const = 0;
  };
  template <class Op>
  struct Box final : Base {
    explicit Box(Op&& op) : operation(std::move(op)) {}
    Result<T> execute(Context& context) override { return std::move(operation).execute(context); }
    void collect(detail::OpInputs& inputs) const override {
      detail::collect_inputs(operation, inputs);
    }
    Op operation;
  };
  std::unique_ptr<Base> box_;
};

namespace detail {
struct Boxed {
  using IsCombinator = void;
  template <DeviceOperation Op>
  auto operator()(Op&& operation) && {
    return BoxedOperation<typename Op::Output>(std::move(operation));
  }
};
}  // namespace detail

inline constexpr detail::Boxed boxed{};

}  // namespace halyard::inline v0::async
