// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorded: a tree of operations as a command buffer, to be submitted as often as one likes.
//
//   Recorded step = co_await record(saxpy(2.0f, x, std::move(y)));
//   for (int i = 0; i < 1000; ++i) co_await step.replay();
//   std::vector<float> y1 = co_await step.to_host<2>();     part 2 of what the tree gives
//
// The commands of the tree are ordered by the data alone: its branches may overlap. They use the
// tensors that the tree was given, which the Recorded owns with all else that the tree gives; a
// replay computes what the tree would compute, bit for bit. Functions of map() and and_then() run
// once, when it is recorded. A recording allocates nothing and is on one device: a tree that does
// more does not compile. It is made of kernels, fill, copy, scratch and values, and of what
// combines them.
//
// A function of arrays is recorded with their shapes, and is given others with each replay:
//
//   auto step = co_await record(
//       [&](Shared<Tensor<float>> x, Tensor<float> y) { return saxpy(2.0f, x, ...); },
//       Shape{16, 16}, Shape{16, 16});
//   auto [x1, y1] = co_await step.replay(x, std::move(y));     a replay
//   auto [a, x2, y2] = co_await step(x, std::move(y1));        a replay, and what the tree gives
//
// What the function is called with stands for these arrays, and is of no use outside of the
// recording.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/kernel.h"
#include "halyard/async/operation.h"
#include "halyard/async/operations.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

HALYARD_EXPORT Result<Ref<RefCounted>> start_recording(const Context& context);
HALYARD_EXPORT Result<Ref<Storage>> add_slot(RefCounted& recording, const Shape& shape,
                                             kernel::ElementType type);
HALYARD_EXPORT Status finish_recording(RefCounted& recording);

struct CallReplay {
  template <class... Arrays>
  Result<std::tuple<Arrays...>> operator()(Context& context, Arrays&&... arrays) const {
    if (!recording) {
      return Status(StatusCode::kFailedPrecondition, "a recording that was moved or taken from");
    }
    const std::array<ArrayRef, sizeof...(Arrays)> slots{ArrayRef(arrays)...};
    if (Status status = context.execute(*recording, slots); !status.ok()) return status;
    return std::tuple<Arrays...>(std::move(arrays)...);
  }
  Ref<RefCounted> recording;
};

template <class T>
inline constexpr bool kIsSlot = false;
template <class T>
inline constexpr bool kIsSlot<Tensor<T>> = true;
template <class T>
inline constexpr bool kIsSlot<Shared<Tensor<T>>> = true;

// The parameters of a function that is recorded.
template <class F>
struct SlotsOf {
  template <std::size_t>
  static constexpr bool kFit = false;
};
template <class F>
  requires requires { &F::operator(); }
struct SlotsOf<F> : SlotsOf<decltype(&F::operator())> {};
template <class R, class C, class... P>
struct SlotsOf<R (C::*)(P...)> {
  template <std::size_t kCount>
  static constexpr bool kFit =
      kCount == sizeof...(P) && kCount <= kMaxSlots && (kIsSlot<std::remove_cvref_t<P>> && ...);
  using Types = TypeList<std::remove_cvref_t<P>...>;
};
template <class R, class C, class... P>
struct SlotsOf<R (C::*)(P...) const> : SlotsOf<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct SlotsOf<R (C::*)(P...) noexcept> : SlotsOf<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct SlotsOf<R (C::*)(P...) const noexcept> : SlotsOf<R (C::*)(P...)> {};

// What a tree gives, to be read while its owner goes on.
struct AsOutput {
  template <class T>
  auto operator()(const T& value) const noexcept {
    if constexpr (std::copy_constructible<T>) {
      return value;
    } else {
      using Array = Tensor<typename T::value_type>;
      return Shared<Array>(Array(Ref<Storage>(value.storage()), value.shape()));
    }
  }
  template <class... T>
  auto operator()(const std::tuple<T...>& values) const noexcept {
    return std::apply([this](const T&... value) { return std::tuple((*this)(value)...); }, values);
  }
};

// Whether a parameter S may be given A: a tensor that is read comes back.
template <class S, class A>
inline constexpr bool kFitsSlot = std::same_as<S, A> || std::same_as<S, Shared<A>>;

}  // namespace detail

// Of a tree that gives a T, with arrays of the types Slots from each replay. Move-only; one thread
// at a time, with its replays, what reads its output() and what uses what take() gave. A replay
// that there is when it is moved from, or taken from, still runs.
template <class T, class... Slots>
class Recorded {
 public:
  Recorded(Ref<RefCounted> recording, T&& value) noexcept
      : recording_(std::move(recording)), value_(std::move(value)) {}
  Recorded(Recorded&&) noexcept = default;
  Recorded& operator=(Recorded&&) noexcept = default;

  // Submits all of it once more, with these arrays or what operations give; gives a tuple of them.
  // kInvalidArgument: an array of another shape than was recorded, or, unless both only read it, of
  // memory that the recording has already. kFailedPrecondition: this was moved or taken from.
  template <class... Arrays>
  [[nodiscard]] auto replay(Arrays&&... arrays) const {
    constexpr bool kFit = [] {
      if constexpr (sizeof...(Arrays) == sizeof...(Slots)) {
        return (detail::kFitsSlot<Slots, detail::OutputOf<detail::AsOperation<Arrays>>> && ...);
      }
      return false;
    }();
    static_assert(kFit,
                  "replay: an array for each parameter of the function that was recorded: "
                  "Shared<Tensor<T>> (or a Tensor<T>), or Tensor<T> where it takes one");
    if constexpr (kFit) {
      return detail::operation(detail::CallReplay{recording_}, std::forward<Arrays>(arrays)...);
    }
  }

  const T& value() const noexcept { return value_; }
  T take() && noexcept {
    recording_ = nullptr;  // an owner of these tensors, too
    return std::move(value_);
  }

  // replay(arrays...), and then output().
  template <class... Arrays>
  [[nodiscard]] auto operator()(Arrays&&... arrays) const {
    return replay(std::forward<Arrays>(arrays)...) |
           map([given = output()](auto&&) mutable { return std::move(given); });
  }

  // What the tree gives, or a part of it, its arrays as Shared: what the replays have made of them
  // that were submitted before they are used.
  template <std::size_t... I>
  [[nodiscard]] auto output() const noexcept {
    static_assert(sizeof...(I) <= 1, "output<I>(), to_host<I>(): one part");
    if constexpr (sizeof...(I) == 0) {
      return detail::AsOutput()(value_);
    } else if constexpr (sizeof...(I) == 1) {
      return detail::AsOutput()(std::get<I...>(value_));
    }
  }
  // As to_host() of it.
  template <std::size_t... I>
  [[nodiscard]] auto to_host() const {
    return async::to_host(output<I...>());
  }

 private:
  Ref<RefCounted> recording_;
  T value_;
};

namespace detail {

// Records what `make(slots...)` gives.
template <class Make, class... Slots>
struct CallRecord {
  using Op = std::invoke_result_t<Make&&, Slots&&...>;
  using Output = Recorded<typename Op::Output, Slots...>;

  Result<Output> operator()(Context& context) && {
    return record(context, std::index_sequence_for<Slots...>());
  }
  template <std::size_t... I>
  Result<Output> record(Context& context, std::index_sequence<I...>) {
    Result<Ref<RefCounted>> recording = start_recording(context);
    if (!recording.ok()) return recording.status();
    [[maybe_unused]] std::array<Ref<Storage>, sizeof...(Slots)> slots;
    Status status;
    (add<Slots>(**recording, shapes[I], slots[I], status), ...);
    if (!status.ok()) return status;
    Context recorder(context, **recording);
    auto given = std::invoke(std::move(make), as_slot<Slots>(std::move(slots[I]), shapes[I])...)
                     .execute(recorder);
    if (!given.ok()) return std::move(given).status();
    if (status = finish_recording(**recording); !status.ok()) return status;
    return Output(*std::move(recording), *std::move(given));
  }
  template <class Slot>
  static void add(RefCounted& recording, const Shape& shape, Ref<Storage>& slot, Status& status) {
    if (!status.ok()) return;
    Result<Ref<Storage>> added =
        add_slot(recording, shape, kElementType<typename Slot::value_type>);
    if (!added.ok()) {
      status = added.status();
    } else {
      slot = *std::move(added);
    }
  }
  template <class Slot>
  static Slot as_slot(Ref<Storage> storage, const Shape& shape) {
    return Slot(Tensor<typename Slot::value_type>(std::move(storage), shape));
  }

  Make make;
  std::array<Shape, sizeof...(Slots)> shapes;
};

template <class... Slots, class Make>
auto record_call(Make make, const std::array<Shape, sizeof...(Slots)>& shapes) {
  constexpr bool kFit = Recordable<std::invoke_result_t<Make&&, Slots&&...>>;
  static_assert(kFit,
                "record: a recording allocates nothing and is on one device: kernels on tensors "
                "that are there, scratch, fill, copy, and what combines them");
  if constexpr (kFit) {
    return operation(CallRecord<Make, Slots...>{std::move(make), shapes});
  }
}

template <class Op>
struct GiveOperation {
  Op operator()() && { return std::move(operation); }
  Op operation;
};

}  // namespace detail

// The operation that records another, which is not run.
template <class Op>
  requires DeviceOperation<std::decay_t<Op>>
auto record(Op&& operation) {
  static_assert(DeviceOperation<Op>, "an operation has one owner: record(std::move(operation))");
  if constexpr (DeviceOperation<Op>) {
    return detail::record_call<>(detail::GiveOperation<Op>{std::move(operation)}, {});
  }
}

// The same of the operation that `fn` gives, which is called once. Its parameters are
// Shared<Tensor<T>>, which is only read, and Tensor<T>, at most 16 of them; a shape for each.
template <class F, std::convertible_to<Shape>... Shapes>
auto record(F&& fn, const Shapes&... shapes) {
  using Slots = detail::SlotsOf<std::decay_t<F>>;
  constexpr bool kFit = Slots::template kFit<sizeof...(Shapes)>;
  static_assert(kFit,
                "record: an operation, or a function with parameters Shared<Tensor<T>> and "
                "Tensor<T>, by name and not by auto, and a shape for each");
  if constexpr (kFit) {
    return [&]<class... S>(detail::TypeList<S...>) {
      return detail::record_call<S...>(std::decay_t<F>(std::forward<F>(fn)), {Shape(shapes)...});
    }(typename Slots::Types());
  }
}

}  // namespace halyard::inline v0::async
