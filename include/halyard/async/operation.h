// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations: what is to be done on a device, as a value. Nothing happens before it is awaited;
// then the whole tree is submitted to one queue, and the host hears of it once, at its end.
//
//   value(x)                       gives x
//   zip(a, b, ...)                 a tuple of what they give; a, b, ... are operations or values
//   a | map(f)                     f(what a gives); f runs on the host as a is submitted
//   a | and_then(f)                what the operation f(what a gives) gives
//   zip(a, b) | apply(f)           what the operation f(what a gives, what b gives) gives
//   a | first, a | last            of the tuple; the rest is dropped
//   a | boxed                      of one type for all that give the same: for loops and containers
//   a | share, a | partition(4, 4), a | unpartition      tensor.h
//
// An operation is a static tree, move-only, and runs once. Errors end it: what follows is not
// submitted, and what was made so far is dropped. f may throw; then awaiting throws it.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/tensor.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

// Output is what it gives; execute() submits it and may be called once, on an rvalue.
template <class T>
concept DeviceOperation = !std::is_reference_v<T> && requires(T&& operation, Context& context) {
  { std::move(operation).execute(context) } -> std::same_as<Result<typename T::Output>>;
};

namespace detail {

// Moves out of a moved-from operation are seen.
class Once {
 public:
  Once() = default;
  Once(Once&& other) noexcept : here_(std::exchange(other.here_, false)) {}
  bool take() noexcept { return std::exchange(here_, false); }

 private:
  bool here_ = true;
};

// Every operation but a boxed one: the operations `Ops` one after another, then
// `call(context, what each gave...)`.
template <class F, DeviceOperation... Ops>
class [[nodiscard("an operation does nothing until it is awaited")]] Operation {
  template <class... Values>
  using CallResult = std::invoke_result_t<F, Context&, Values&&...>;

 public:
  using Output = typename CallResult<typename Ops::Output...>::value_type;

  explicit Operation(F call, Ops... operands)
      : call_(std::move(call)), operands_(std::move(operands)...) {}
  Operation(Operation&&) = default;

  Result<Output> execute(Context& context) && {
    if (!once_.take()) return Status(StatusCode::kFailedPrecondition, "an operation runs once");
    return run(context);
  }

 private:
  template <class... Values>
  Result<Output> run(Context& context, Values&&... values) {
    constexpr std::size_t kNext = sizeof...(Values);
    if constexpr (kNext == sizeof...(Ops)) {
      return std::move(call_)(context, std::move(values)...);
    } else {
      auto value = std::get<kNext>(std::move(operands_)).execute(context);
      if (!value.ok()) return std::move(value).status();
      return run(context, std::move(values)..., *std::move(value));
    }
  }

  [[no_unique_address]] F call_;
  [[no_unique_address]] std::tuple<Ops...> operands_;
  Once once_;
};

template <class T>
struct GiveValue {
  Result<T> operator()(Context&) && { return std::move(value); }
  T value;
};

struct GiveTuple {
  template <class... T>
  Result<std::tuple<T...>> operator()(Context&, T&&... values) const {
    return std::tuple<T...>(std::move(values)...);
  }
};

template <class F>
struct CallMap {
  template <class T>
  auto operator()(Context&, T&& value) && {
    using Value = std::invoke_result_t<F, T&&>;
    static_assert(!std::is_void_v<Value>, "map: the function gives a value");
    return Result<Value>(std::invoke(std::move(fn), std::move(value)));
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

template <class T>
inline constexpr bool kMovedOrCopyable =
    !std::is_lvalue_reference_v<T> || std::copy_constructible<std::remove_cvref_t<T>>;

}  // namespace detail

template <class T>
auto value(T&& value) {
  using Value = std::decay_t<T>;
  return detail::Operation<detail::GiveValue<Value>>({std::forward<T>(value)});
}

namespace detail {
// An argument as an operation.
template <class T>
auto as_operation(T&& argument) {
  static_assert(kMovedOrCopyable<T>,
                "operations, Tensor and Partition have one owner: pass std::move(x)");
  if constexpr (!kMovedOrCopyable<T>) {
    return value(0);  // said above
  } else if constexpr (DeviceOperation<std::decay_t<T>>) {
    return std::forward<T>(argument);
  } else {
    return value(std::forward<T>(argument));
  }
}
template <class T>
using AsOperation = decltype(as_operation(std::declval<T>()));

template <class F, class... Args>
auto operation(F call, Args&&... args) {
  return Operation<F, AsOperation<Args>...>(std::move(call),
                                            as_operation(std::forward<Args>(args))...);
}
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
detail::Combinator<detail::CallAndThen, std::decay_t<F>> and_then(F&& fn) {
  return {std::forward<F>(fn)};
}
template <class F>
detail::Combinator<detail::CallApply, std::decay_t<F>> apply(F&& fn) {
  return {std::forward<F>(fn)};
}

template <class Op, detail::IsCombinator C>
auto operator|(Op&& operation, C combinator) {
  static_assert(DeviceOperation<Op>, "an operation has one owner: std::move(operation) | ...");
  return std::move(combinator)(std::move(operation));
}

template <class T, Adaptor A>
auto operator|(T&& argument, const A& adaptor) {
  static_assert(detail::kMovedOrCopyable<T>,
                "operations, Tensor and Partition have one owner: std::move(x) | ...");
  if constexpr (DeviceOperation<T>) {
    return std::move(argument) | map(adaptor);
  } else if constexpr (detail::kMovedOrCopyable<T>) {
    return adaptor(std::forward<T>(argument));
  }
}

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
    if (!box_) return Status(StatusCode::kFailedPrecondition, "an operation runs once");
    return std::exchange(box_, nullptr)->execute(context);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual Result<T> execute(Context& context) = 0;
  };
  template <class Op>
  struct Box final : Base {
    explicit Box(Op&& op) : operation(std::move(op)) {}
    Result<T> execute(Context& context) override { return std::move(operation).execute(context); }
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
