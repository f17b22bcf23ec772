// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Combinators: operations made of operations.
//
//   value(x)                       returns x
//   zip(a, b, ...)                 a tuple of the results; a, b, ... are operations or values
//   a | map(f)                     f(result of a); f runs on the host while a is submitted. If f
//                                  returns a Result, its failure is the operation's
//   a | and_then(f)                the result of the operation f(result of a)
//   zip(a, b) | apply(f)           the result of the operation f(result of a, result of b)
//   a | inspect(f)                 the result of a, after f(const result of a&)
//   a | first, a | last            that element of the tuple; the others are dropped
//   a | boxed                      one type for all operations of one result: for loops, containers
//   a | partition(4, 4), a | unpartition      tensor.h
//   a | share, unzip(a)                       cell.h
//
// f may throw; then awaiting throws the same.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/combinators.h"
#include "halyard/async/detail/nesting.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

template <class T>
auto value(T&& value) {
  return detail::value_operation(std::forward<T>(value));
}

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

inline constexpr detail::ElementAdaptor<false> first{};
inline constexpr detail::ElementAdaptor<true> last{};

// Any operation with the result T. Costs an allocation and a virtual call.
template <class T>
class [[nodiscard("an operation does nothing until it is awaited")]] BoxedOperation {
 public:
  using Output = T;

  template <DeviceOperation Op>
    requires(std::same_as<typename Op::Output, T> && !std::same_as<Op, BoxedOperation>)
  explicit BoxedOperation(Op&& operation) : box_(new Box<Op>(std::move(operation))) {}

  Result<T> execute(Context& context) && {
    if (!box_) return detail::runs_once();
    const detail::Nesting nesting(context);
    if (Status status = nesting.status(); !status.ok()) return status;
    return std::exchange(box_, nullptr)->execute(context);
  }
  void collect(detail::OpInputs& inputs) const {
    if (box_) inputs.collect_nested(*box_);
  }

 private:
  struct Base : detail::Nested {
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
  std::unique_ptr<Base, detail::Drop> box_;
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
