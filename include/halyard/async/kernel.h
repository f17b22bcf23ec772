// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel: a kernel of a .hyx file as a function that makes operations.
//
//   constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};
//   auto [a, x, y] = co_await saxpy(2.0f, ones<float>({16, 16}) | share,
//                                   ones<float>({16, 16}) | partition(4, 4));
//
//   parameter          takes
//   const Tensor<T>&   a Shared<Tensor<T>>, or a Tensor<T>
//   Tensor<T>&         a Partition<Tensor<T>>: one workgroup for each of its tiles
//   Partition<Tensor<T>, 4, 4>&     just that: the tile is the declaration's
//   float, int, ...    a number that needs no narrowing
//
// or operations that give these. Anything else does not compile. The operation gives a tuple of the
// arguments. Tensors are in the order of the kernel's bindings, numbers in that of its scalars.
//
// When a device uses the kernel first, the file is searched (RuntimeInfo::kernels) and loaded, and
// its reflection is compared with the signature. Awaiting the operation gives what is wrong:
// kNotFound with the folders; kInvalidArgument: another number or type of parameters, a tensor that
// is to be written but is read only, an array that is written but no tensor; ranks, tiles and
// shapes as hal::Launch.
//
// A kernel that writes a flat array is taken at the caller's word, that its workgroups do not get
// in each other's way:  unchecked(kernel, {.items = n})(2.0f, x, y, n);  there `Tensor<T>&` takes a
// Tensor<T>.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/kernel_signature.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/launch.h"

namespace halyard::inline v0::async {

template <class Signature>
class Kernel;

namespace detail {

// What is passed for a parameter P. Anything but these is no parameter of a kernel.
template <class P>
struct ParameterRule {
  static_assert(
      std::is_arithmetic_v<P> && Element<P> && sizeof(P) >= 4,
      "a kernel's parameters are numbers of 4 or 8 bytes, const Tensor<T>&, Tensor<T>& and "
      "Partition<Tensor<T>, ...>&");
  static constexpr KernelParameter kParameter{KernelParameter::Kind::kScalar, kElementType<P>};
  template <class A>
  static constexpr bool takes =
      std::is_arithmetic_v<A> && !std::is_same_v<A, bool> && requires(A a) { P{a}; };
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

// What a launch is made of, from the arguments in their order. A view of them.
template <std::size_t kArrays, std::size_t kScalars>
struct Arguments {
  template <class P, class A>
  void add(const A& argument) noexcept {
    if constexpr (std::is_arithmetic_v<A>) {
      scalars[scalar++] = static_cast<P>(argument);  // numbers get the parameter's type
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
};

template <class Grid, class... P>
struct CallKernel {
  static constexpr bool kRecordable = true;
  template <class... A>
  Result<std::tuple<A...>> operator()(Context& context, A&&... given) const {
    constexpr std::size_t kTensors = Parameters<P...>::kTensors;
    Arguments<kTensors, sizeof...(P) - kTensors> all;
    (all.template add<P>(given), ...);
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

template <class Op>
using OutputOf = typename Op::Output;

template <class... P>
struct TypeList {};

// The operation of a call, once the arguments are known to fit. Otherwise one error, and a type
// that brings no other.
template <class Rules, class Grid, class... P, class... Args>
auto call_kernel(TypeList<P...>, const KernelSignature& signature, const Grid& grid,
                 Args&&... args) {
  constexpr bool kCount = sizeof...(P) == sizeof...(Args);
  static_assert(kCount, "kernel arguments: one for each parameter of the Kernel's signature");
  if constexpr (kCount) {
    constexpr bool kFit = (Rules::template takes<P, OutputOf<AsOperation<Args>>> && ...);
    static_assert(kFit,
                  "kernel arguments: 'const Tensor<T>&' takes Shared<Tensor<T>> (use | share), "
                  "'Tensor<T>&' takes Partition<Tensor<T>> (use | partition(...)), "
                  "'Partition<Tensor<T>, 4, 4>&' takes that (use | partition<4, 4>()), numbers are "
                  "passed by value and never narrowed");
    if constexpr (kFit) {
      return operation(CallKernel<Grid, P...>{signature, grid}, std::forward<Args>(args)...);
    }
  }
}

struct CheckedRules {
  template <class P, class A>
  static constexpr bool takes = ParameterRule<P>::template takes<A>;
};
// Nothing is divided into tiles.
struct UncheckedRules {
  template <class P, class A>
  static constexpr bool takes = ParameterRule<P>::kParameter.kind == KernelParameter::Kind::kOutput
                                    ? std::is_same_v<A, std::remove_reference_t<P>>
                                    : CheckedRules::takes<P, A>;
};

template <class... P>
struct UncheckedKernel {
  template <class... Args>
  auto operator()(Args&&... args) const {
    return call_kernel<UncheckedRules>(TypeList<P...>{}, signature, grid,
                                       std::forward<Args>(args)...);
  }
  KernelSignature signature;
  hal::Grid grid;
};

}  // namespace detail

// A literal type; declare it constexpr at namespace scope. Both names live as long as the program.
template <class... P>
class Kernel<void(P...)> {
 public:
  // `file` is a name, or a path, in one of the runtime's folders, or an absolute path; ".hyx" may
  // be left out.
  constexpr explicit Kernel(const char* name) noexcept : Kernel(name, name) {}
  constexpr Kernel(const char* name, const char* file) noexcept : name_(name), file_(file) {}

  template <class... Args>
  auto operator()(Args&&... args) const {
    return detail::call_kernel<detail::CheckedRules>(detail::TypeList<P...>{}, signature(false),
                                                     detail::GridOfTiles{},
                                                     std::forward<Args>(args)...);
  }

  template <class... Q>
  friend constexpr detail::UncheckedKernel<Q...> unchecked(const Kernel<void(Q...)>& kernel,
                                                           const hal::Grid& grid) noexcept;

 private:
  constexpr detail::KernelSignature signature(bool unchecked) const noexcept {
    return {name_, file_, detail::Parameters<P...>::kAll, unchecked};
  }

  const char* name_;
  const char* file_;
};

template <class... P>
constexpr detail::UncheckedKernel<P...> unchecked(const Kernel<void(P...)>& kernel,
                                                  const hal::Grid& grid) noexcept {
  return {kernel.signature(true), grid};
}

}  // namespace halyard::inline v0::async
