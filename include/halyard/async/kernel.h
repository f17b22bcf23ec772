// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel: a kernel of a .hyx file as a function that returns operations.
//
//   constexpr Kernel<void(float, const Tensor<float>&, Tensor<float>&)> saxpy{"saxpy_tile"};
//   auto [a, x, y] = co_await saxpy(2.0f, ones<float>({16, 16}) | share,
//                                   ones<float>({16, 16}) | partition(4, 4));
//
//   parameter                    takes
//   const Tensor<T>&             a Shared<Tensor<T>>, or a Tensor<T>
//   Tensor<T>&                   a Partition<Tensor<T>>: one workgroup for each of its tiles
//   Partition<Tensor<T>, 4, 4>&  that type only
//   float, int, ...              a number, without narrowing; in a recording also its Number
//
// or operations that return these. Other arguments do not compile; the error names the argument:
// Parameter<1, float>::got<double>. The operation returns a tuple of its arguments. Tensors are in
// the order of the kernel's bindings, numbers in that of its scalars.
//
// The first use on a device finds the file (RuntimeInfo::kernels), loads it, and compares the
// kernel's reflection with the signature. Errors of the await:
//
//   kNotFound         no such file; the message lists the folders
//   kInvalidArgument  number or types of the parameters differ; the kernel only reads an output or
//                     writes an input; it writes a flat array, which needs unchecked(); or as
//                     hal::Launch for ranks, tiles and shapes
//
// unchecked(kernel, {.items = n})(2.0f, x, y, n) calls a kernel that writes flat arrays. The caller
// guarantees that its workgroups write disjoint elements. There `Tensor<T>&` takes a Tensor<T>.
#pragma once

#include <utility>

#include "halyard/async/detail/kernel_call.h"
#include "halyard/async/detail/kernel_signature.h"
#include "halyard/async/operation.h"
#include "halyard/async/tensor.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::async {

template <class Signature>
class Kernel;

// Kernel `name` of `file`. A literal type: declare it constexpr at namespace scope. Both strings
// live as long as the program. Safe from any thread.
template <class... P>
class Kernel<void(P...)> {
 public:
  // `file` is an absolute path, or a path in one of the folders RuntimeInfo::kernels. The suffix
  // ".hyx" is optional.
  constexpr explicit Kernel(const char* name) noexcept : Kernel(name, name) {}
  constexpr Kernel(const char* name, const char* file) noexcept : name_(name), file_(file) {}

  template <class... Args>
  auto operator()(Args&&... args) const {
    return detail::call_kernel<detail::CheckedRules>(detail::TypeList<P...>{}, signature(false),
                                                     detail::GridOfTiles{},
                                                     std::forward<Args>(args)...);
  }

  // `array | kernel` calls it with that array; `operation | kernel` with the operation's result, or
  // with the elements of a result that is a tuple.
  template <class A>
  friend auto operator|(A&& argument, const Kernel& kernel) {
    return detail::call_with(std::forward<A>(argument), kernel);
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
