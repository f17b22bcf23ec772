// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operation: a node of a tree of operations.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/nesting.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/detail/submitter.h"
#include "halyard/async/operation.h"
#include "halyard/async/policy.h"
#include "halyard/async/runtime.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

// Whether a recording may contain a call of F with these values.
template <class F, class... Values>
inline constexpr bool kRecordableCall = requires { requires F::kRecordable; };

// An operation, or its function, that submits nothing and so needs no queue.
template <class T>
concept SubmitsNothing = requires { requires T::kSubmitsNothing; };

template <class Op>
using OutputOf = typename Op::Output;

template <class... T>
struct TypeList {};

// The inputs of a tree, for a policy.
class HALYARD_EXPORT OpInputs {
 public:
  void add(const StorageRange& memory);
  template <class T>
  void add_value(const T& value) {
    if constexpr (requires { value.memory(); }) add(value.memory());
  }
  // Those of a boxed operation, unless that is nested too deep to be executed.
  template <class Box>
  void collect_nested(const Box& box) {
    if (depth_ == kMaxNesting) return;
    ++depth_;
    box.collect(*this);
    --depth_;
  }
  std::span<const OpInput> get() const noexcept { return {inputs_.data(), count_}; }

 private:
  static constexpr std::size_t kMaxInputs = 8;
  std::array<OpInput, kMaxInputs> inputs_;
  std::size_t count_ = 0;
  std::uint32_t depth_ = 0;
};

template <class T>
void collect_inputs(const T& from, OpInputs& inputs) {
  if constexpr (requires { from.collect(inputs); }) from.collect(inputs);
}

template <class Op>
QueueRef pick_queue(const Runtime& runtime, const Policy& policy, const Op& operation) {
  if (runtime.queues().empty()) return runtime.device();
  if (policy.ignores_inputs()) return policy.pick({runtime.devices(), runtime.queues()});
  OpInputs inputs;
  collect_inputs(operation, inputs);
  return policy.pick({runtime.devices(), runtime.queues(), inputs.get()});
}

// Executes `operation` as a part of the tree `whole` on `queue`.
template <class Op>
Result<typename Op::Output> execute_part(Context& whole, QueueRef queue, Op&& operation) {
  Submitter part(whole, std::move(queue));
  if (!part.status().ok()) return part.status();
  return std::move(operation).execute(part);
}

// take() is true once, in the object that was moved last.
class Once {
 public:
  Once() = default;
  Once(Once&& other) noexcept : left_(std::exchange(other.left_, false)) {}
  Once& operator=(Once&& other) noexcept {
    left_ = std::exchange(other.left_, false);
    return *this;
  }
  bool take() noexcept { return std::exchange(left_, false); }

 private:
  bool left_ = true;
};
inline Status runs_once() {
  return Status(StatusCode::kFailedPrecondition,
                "an operation runs once: this one has run, or was moved from");
}

// Executes `Ops` one after another, then `call(context, their results...)`.
template <class F, DeviceOperation... Ops>
class [[nodiscard("an operation does nothing until it is awaited")]] Operation {
  template <class... Values>
  using CallResult = std::invoke_result_t<F, Context&, Values&&...>;

 public:
  using Output = typename CallResult<typename Ops::Output...>::value_type;
  static constexpr bool kRecordable =
      (Recordable<Ops> && ...) && kRecordableCall<F, typename Ops::Output...>;
  static constexpr bool kSubmitsNothing = (SubmitsNothing<Ops> && ...) && SubmitsNothing<F>;

  explicit Operation(F call, Ops... operands)
      : call_(std::move(call)), operands_(std::move(operands)...) {}
  Operation(Operation&&) = default;
  Operation& operator=(Operation&&) = default;

  Result<Output> execute(Context& context) && {
    if (!once_.take()) return runs_once();
    return run(context);
  }
  void collect(OpInputs& inputs) const {
    collect_inputs(call_, inputs);
    std::apply([&](const Ops&... operands) { (collect_inputs(operands, inputs), ...); }, operands_);
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
  static constexpr bool kRecordable = true;
  static constexpr bool kSubmitsNothing = true;
  Result<T> operator()(Context&) && { return std::move(value); }
  void collect(OpInputs& inputs) const { inputs.add_value(value); }
  T value;
};

// The return type of a function whose arguments a static_assert refuses: an operation, so that no
// further error hides the assertion's. Not defined.
template <class T>
Operation<GiveValue<T>> refused();

template <class T>
inline constexpr bool kIsTuple = false;
template <class... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;

template <class T>
inline constexpr bool kMovedOrCopyable =
    !std::is_lvalue_reference_v<T> || std::copy_constructible<std::remove_cvref_t<T>>;

template <class T>
auto value_operation(T&& value) {
  using Value = std::decay_t<T>;
  return Operation<GiveValue<Value>>({std::forward<T>(value)});
}

// The argument itself if it is an operation, else the operation that returns it.
template <class T>
auto as_operation(T&& argument) {
  static_assert(kMovedOrCopyable<T>,
                "operations, Tensor and Partition have one owner: pass std::move(x)");
  using Given = std::decay_t<T>;
  if constexpr (!kMovedOrCopyable<T> && DeviceOperation<Given>) {
    return refused<typename Given::Output>();
  } else if constexpr (!kMovedOrCopyable<T>) {
    return refused<Given>();
  } else if constexpr (DeviceOperation<Given>) {
    return std::forward<T>(argument);
  } else {
    return value_operation(std::forward<T>(argument));
  }
}
template <class T>
using AsOperation = decltype(as_operation(std::declval<T>()));

template <class F, class... Args>
auto operation(F call, Args&&... args) {
  return Operation<F, AsOperation<Args>...>(std::move(call),
                                            as_operation(std::forward<Args>(args))...);
}

}  // namespace halyard::inline v0::async::detail
