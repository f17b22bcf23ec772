// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operation of a kernel call: checks the types of its arguments and launches the kernel.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/combinators.h"
#include "halyard/async/detail/kernel_argument.h"
#include "halyard/async/detail/kernel_signature.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/storage.h"
#include "halyard/async/number.h"
#include "halyard/async/tensor.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/launch.h"

namespace halyard::inline v0::async::detail {

// The kernel parameter for a C++ parameter P, and the arguments that it takes.
template <class P>
struct ParameterRule {
  static_assert(
      std::is_arithmetic_v<P> && Element<P> && sizeof(P) >= 4,
      "a kernel's parameters are numbers of 4 or 8 bytes, const Tensor<T>&, Tensor<T>& and "
      "Partition<Tensor<T>, ...>&");
  static constexpr KernelParameter kParameter{KernelParameter::Kind::kScalar, kElementType<P>};
  template <class A>
  static constexpr bool takes = kTakesNumber<P, A> || std::is_same_v<A, Number<P>>;
};
template <class T>
struct ParameterRule<const Tensor<T>&> {
  static constexpr KernelParameter kParameter{KernelParameter::Kind::kInput, kElementType<T>};
  template <class A>
  static constexpr bool takes =
      std::is_same_v<A, Shared<Tensor<T>>> || std::is_same_v<A, Tensor<T>>;
};
template <class T, class A>
inline constexpr bool kIsPartitionOf = false;
template <class T, std::uint64_t... kTile>
inline constexpr bool kIsPartitionOf<T, Partition<Tensor<T>, kTile...>> = true;
template <class T>
struct ParameterRule<Tensor<T>&> {
  static constexpr KernelParameter kParameter{KernelParameter::Kind::kOutput, kElementType<T>};
  template <class A>
  static constexpr bool takes = kIsPartitionOf<T, A>;
};
template <class T, std::uint64_t... kTile>
struct ParameterRule<Partition<Tensor<T>, kTile...>&> {
  static_assert(sizeof...(kTile) != 0,
                "a kernel's partition has a tile: Partition<Tensor<T>, 4, 4>&");
  static constexpr KernelParameter kParameter{KernelParameter::Kind::kOutput, kElementType<T>,
                                              hal::Extents({kTile...})};
  template <class A>
  static constexpr bool takes = std::is_same_v<A, Partition<Tensor<T>, kTile...>>;
};

template <class... P>
struct Parameters {
  static constexpr std::array<KernelParameter, sizeof...(P)> kAll = {
      ParameterRule<P>::kParameter...};
  static constexpr std::size_t kTensors =
      (std::size_t{0} + ... +
       (ParameterRule<P>::kParameter.kind != KernelParameter::Kind::kScalar));
};

// The arguments of a launch, split into arrays and scalars in their order. A view.
template <std::size_t kArrays, std::size_t kScalars>
struct Arguments {
  // Not after an error.
  template <class P, class A>
  void add(const Context& context, const char* kernel, const A& argument) {
    if constexpr (std::is_arithmetic_v<A>) {
      scalars[scalar++] = static_cast<P>(argument);  // converts to the parameter's type
    } else if constexpr (kIsNumber<A>) {
      Result<hal::Constant> slot = argument.constant(context, kernel);
      if (slot.ok()) {
        scalars[scalar++] = *slot;
      } else {
        status = slot.status();
      }
    } else {
      KernelArray& given = arrays[array++];
      given.memory = argument.memory();
      given.shape = &argument.shape();
      if constexpr (requires { argument.tile(); }) given.tile = &argument.tile();
      given.type = kElementType<typename A::value_type>;
      given.is_written = ParameterRule<P>::kParameter.kind == KernelParameter::Kind::kOutput;
    }
  }

  std::array<KernelArray, kArrays> arrays{};
  std::array<hal::Constant, kScalars> scalars{};
  std::size_t array = 0, scalar = 0;
  Status status{};
};

template <class Grid, class... P>
struct CallKernel {
  static constexpr bool kRecordable = true;
  template <class... A>
  Result<std::tuple<A...>> operator()(Context& context, A&&... given) const {
    constexpr std::size_t kTensors = Parameters<P...>::kTensors;
    Arguments<kTensors, sizeof...(P) - kTensors> all;
    ((all.template add<P>(context, signature.name, given), all.status.ok()) && ...);
    if (!all.status.ok()) return std::move(all.status);
    const hal::Grid* over = nullptr;
    if constexpr (!std::is_empty_v<Grid>) over = &grid;
    if (Status status = context.launch(signature, all.arrays, all.scalars, over); !status.ok()) {
      return status;
    }
    return std::tuple<A...>(std::move(given)...);
  }

  KernelSignature signature;
  [[no_unique_address]] Grid grid{};
};

struct GridOfTiles {};

struct CheckedRules {
  static constexpr bool kUnchecked = false;
  template <class P, class A>
  static constexpr bool takes = ParameterRule<P>::template takes<A>;
};
// Arguments of an unchecked kernel: whole tensors, no partitions.
struct UncheckedRules {
  static constexpr bool kUnchecked = true;
  template <class P, class A>
  static constexpr bool takes = ParameterRule<P>::kParameter.kind == KernelParameter::Kind::kOutput
                                    ? std::is_same_v<A, std::remove_reference_t<P>>
                                    : CheckedRules::takes<P, A>;
};

// Makes an error if Arg, a value or an operation that returns one, does not fit the parameter P.
template <class Rules, int kPosition, class P, class Arg>
constexpr auto check_argument() {
  using Given = OutputOf<AsOperation<Arg>>;  // the only error for an operation that is not moved
  if constexpr (kMovedOrCopyable<Arg> && !Rules::template takes<P, Given>) {
    constexpr KernelParameter kParameter = ParameterRule<P>::kParameter;
    refuse_argument<kPosition, P, Given, kParameter.kind, kParameter.tile.rank() != 0,
                    Rules::kUnchecked>();
  }
}

// The operation of a kernel call. Arguments that do not fit make errors and return void, which
// makes no further error.
template <class Rules, class Grid, class... P, class... Args>
auto call_kernel(TypeList<P...>, const KernelSignature& signature, const Grid& grid,
                 Args&&... args) {
  check_count<sizeof...(P), sizeof...(Args)>();
  if constexpr (sizeof...(P) == sizeof...(Args)) {
    constexpr bool kFit = (Rules::template takes<P, OutputOf<AsOperation<Args>>> && ...);
    if constexpr (kFit) {
      return operation(CallKernel<Grid, P...>{signature, grid}, std::forward<Args>(args)...);
    } else {
      []<int... kIndex>(std::integer_sequence<int, kIndex...>) {
        (check_argument<Rules, kIndex + 1, P, Args>(), ...);
      }(std::make_integer_sequence<int, sizeof...(P)>{});
    }
  }
}

// Implements `argument | kernel`.
template <class A, class K>
auto call_with(A&& argument, const K& kernel) {
  if constexpr (kIsTuple<OutputOf<AsOperation<A>>>) {
    return std::forward<A>(argument) | Combinator<CallApply, K>{kernel};
  } else {
    return kernel(std::forward<A>(argument));
  }
}

template <class... P>
struct UncheckedKernel {
  template <class... Args>
  auto operator()(Args&&... args) const {
    return call_kernel<UncheckedRules>(TypeList<P...>{}, signature, grid,
                                       std::forward<Args>(args)...);
  }
  template <class A>
  friend auto operator|(A&& argument, const UncheckedKernel& kernel) {
    return call_with(std::forward<A>(argument), kernel);
  }
  KernelSignature signature;
  hal::Grid grid;
};

}  // namespace halyard::inline v0::async::detail
