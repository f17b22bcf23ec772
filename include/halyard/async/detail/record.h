// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of recorded.h: recording a tree, and replaying it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/array_ref.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/number.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async {

template <class T, class... Slots>
class Recorded;

namespace detail {

// The most parameters of a recorded function.
inline constexpr std::size_t kMaxSlots = 16;

HALYARD_EXPORT Result<Ref<RefCounted>> start_recording(Context& whole);
// The context whose operations are recorded, between start_recording() and finish_recording().
HALYARD_EXPORT Context& recorder_of(RefCounted& recording) noexcept;
HALYARD_EXPORT Result<Ref<Storage>> add_slot(RefCounted& recording, const Shape& shape,
                                             kernel::ElementType type, std::size_t parameter);
HALYARD_EXPORT Status finish_recording(RefCounted& recording);
// The index of the replay's array whose placeholder `storage` is, or the number of arrays.
HALYARD_EXPORT std::size_t slot_of(const RefCounted& recording, const Storage* storage) noexcept;

template <class... Slots>
inline constexpr std::size_t kArrays = (std::size_t{0} + ... + !kIsNumber<Slots>);

template <class... Slots>
struct CallReplay {
  template <class... Given>
  Result<std::tuple<Given...>> operator()(Context& context, Given&&... given) const {
    if (!recording) {
      return Status(StatusCode::kFailedPrecondition, "a recording that was moved or taken from");
    }
    std::array<ArrayRef, kArrays<Slots...>> arrays;
    std::array<hal::Constant, sizeof...(Slots) - kArrays<Slots...>> numbers;
    [[maybe_unused]] std::size_t array = 0, number = 0;
    [[maybe_unused]] const auto add = [&]<class Slot>(TypeList<Slot>, const auto& value) {
      if constexpr (kIsNumber<Slot>) {
        numbers[number++] = static_cast<typename Slot::value_type>(value);
      } else {
        arrays[array++] = ArrayRef(value);
      }
    };
    (add(TypeList<Slots>(), given), ...);
    if (Status status = context.execute(*recording, arrays, numbers); !status.ok()) return status;
    return std::tuple<Given...>(std::move(given)...);
  }
  Ref<RefCounted> recording;
};

template <class T>
inline constexpr bool kIsSlot = kIsNumber<T>;
template <class T>
inline constexpr bool kIsSlot<Tensor<T>> = true;
template <class T>
inline constexpr bool kIsSlot<Shared<Tensor<T>>> = true;

// The parameters of a recorded function.
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
  static constexpr bool kFit = kCount == kArrays<std::remove_cvref_t<P>...> &&
                               sizeof...(P) <= kMaxSlots &&
                               (kIsSlot<std::remove_cvref_t<P>> && ...) &&
                               // A parameter is made for the call.
                               (std::convertible_to<std::remove_cvref_t<P>, P> && ...);
  using Types = TypeList<std::remove_cvref_t<P>...>;
};
template <class R, class C, class... P>
struct SlotsOf<R (C::*)(P...) const> : SlotsOf<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct SlotsOf<R (C::*)(P...) noexcept> : SlotsOf<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct SlotsOf<R (C::*)(P...) const noexcept> : SlotsOf<R (C::*)(P...)> {};

// Makes the outputs of a recording from the results of its tree: copies and Shared arrays.
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

// Makes the outputs of a replay: a parameter is replaced by the array of this replay.
struct OutputOfReplay {
  template <class T, class... Given>
  Shared<Tensor<T>> operator()(const Shared<Tensor<T>>& output,
                               const std::tuple<Given...>& given) const {
    std::size_t slot = slot_of(*recording, output.storage());
    Storage* storage = output.storage();
    const auto check_at = [&](const auto& array) {
      if constexpr (requires { array.storage(); }) {
        if (slot-- == 0) storage = array.storage();
      }
    };
    std::apply([&](const auto&... each) { (check_at(each), ...); }, given);
    return Shared<Tensor<T>>(Tensor<T>(Ref<Storage>(storage), output.shape()));
  }
  template <class T, class Given>
  T operator()(const T& output, const Given&) const {
    return output;
  }
  template <class... T, class Given>
  std::tuple<T...> operator()(const std::tuple<T...>& outputs, const Given& given) const {
    return std::apply(
        [&](const T&... output) { return std::tuple<T...>((*this)(output, given)...); }, outputs);
  }
  Ref<RefCounted> recording;
};

// Whether a slot of type S takes an argument A. A slot that is only read also takes a Tensor.
template <class S, class A>
inline constexpr bool kFitsSlot = std::same_as<S, A> || std::same_as<S, Shared<A>>;
template <class T, class A>
inline constexpr bool kFitsSlot<Number<T>, A> = kTakesNumber<T, A>;

// Records the operation `make(slots...)`.
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
    [[maybe_unused]] std::array<Ref<Storage>, kArrays<Slots...>> slots;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Result<Ref<Storage>> added = add_slot(**recording, shapes[i], kTypes[i], kOfArrays[i]);
      if (!added.ok()) return added.status();
      slots[i] = *std::move(added);
    }
    auto given = std::invoke(std::move(make), as_slot<Slots, kPlaces[I]>(*recording, slots)...)
                     .execute(recorder_of(**recording));
    if (!given.ok()) return std::move(given).status();
    if (Status status = finish_recording(**recording); !status.ok()) return status;
    return Output(*std::move(recording), *std::move(given));
  }
  // The argument for a parameter, the kPlace-th of the arrays or of the numbers.
  template <class Slot, std::size_t kPlace>
  Slot as_slot(const Ref<RefCounted>& recording,
               std::array<Ref<Storage>, kArrays<Slots...>>& slots) const {
    if constexpr (kIsNumber<Slot>) {
      return Slot(recording, kPlace);
    } else {
      return Slot(Tensor<typename Slot::value_type>(std::move(slots[kPlace]), shapes[kPlace]));
    }
  }
  static constexpr auto kPlaces = [] {
    constexpr std::array<bool, sizeof...(Slots)> kNumbers = {kIsNumber<Slots>...};
    std::array<std::size_t, sizeof...(Slots)> places{};
    for (std::size_t i = 0, number = 0, array = 0; i < places.size(); ++i) {
      places[i] = kNumbers[i] ? number++ : array++;
    }
    return places;
  }();
  static constexpr auto kOfArrays = [] {  // the parameters that are arrays
    constexpr std::array<bool, sizeof...(Slots)> kNumbers = {kIsNumber<Slots>...};
    std::array<std::size_t, kArrays<Slots...>> parameters{};
    for (std::size_t i = 0; i < kNumbers.size(); ++i) {
      if (!kNumbers[i]) parameters[kPlaces[i]] = i;
    }
    return parameters;
  }();
  static constexpr auto kTypes = [] {  // of the arrays
    std::array<kernel::ElementType, kArrays<Slots...>> types{};
    [[maybe_unused]] std::size_t i = 0;
    (void)((kIsNumber<Slots> || (types[i++] = kElementType<typename Slots::value_type>, true)) &&
           ...);
    return types;
  }();

  Make make;
  std::array<Shape, kArrays<Slots...>> shapes;
};

template <class... Slots, class Make>
auto record_call(Make make, const std::array<Shape, kArrays<Slots...>>& shapes) {
  constexpr bool kFit = Recordable<std::invoke_result_t<Make&&, Slots&&...>>;
  static_assert(kFit,
                "record: a recording allocates nothing and is on one device: kernels on existing "
                "tensors, scratch, fill, copy, and combinators of these");
  if constexpr (kFit) {
    return operation(CallRecord<Make, Slots...>{std::move(make), shapes});
  } else {
    return refused<int>();
  }
}

template <class Op>
struct GiveOperation {
  Op operator()() && { return std::move(operation); }
  Op operation;
};

}  // namespace detail
}  // namespace halyard::inline v0::async
