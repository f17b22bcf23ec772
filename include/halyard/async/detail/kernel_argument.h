// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compile errors of a kernel call. The text of a static_assert is a literal, so positions and
// types are in the names of the conditions, which compilers print beside the text.
#pragma once

#include "halyard/async/detail/kernel_signature.h"

namespace halyard::inline v0::async::detail {

// Parameter<2, const Tensor<float>&>::got<double>: of the second argument.
template <int kPosition, class P>
struct Parameter {
  template <class Given>
  static constexpr bool got = false;
};

// ParameterCount<3>::got<2>
template <int kCount>
struct ParameterCount {
  template <int kGiven>
  static constexpr bool got = false;
};

// Returns `auto`, as the functions that check arguments do, so that the compiler looks inside
// before it finds fault with the void that a refused call returns.
template <int kCount, int kGiven>
constexpr auto check_count() {
  if constexpr (kCount != kGiven) {
    static_assert(ParameterCount<kCount>::template got<kGiven>,
                  "kernel call: one argument for each parameter of the Kernel's signature");
  }
}

// Makes the error for an argument of type Given. kUnchecked: of a call by unchecked(kernel, grid).
template <int kPosition, class P, class Given, KernelParameter::Kind kKind, bool kHasTile,
          bool kUnchecked>
constexpr auto refuse_argument() {
  if constexpr (kKind == KernelParameter::Kind::kScalar) {
    static_assert(Parameter<kPosition, P>::template got<Given>,
                  "kernel call: this parameter takes a number, by value and without narrowing, or "
                  "its Number<T> of a recording");
  } else if constexpr (kKind == KernelParameter::Kind::kInput) {
    static_assert(Parameter<kPosition, P>::template got<Given>,
                  "kernel call: 'const Tensor<T>&' takes a Shared<Tensor<T>> (use | share) or a "
                  "Tensor<T>");
  } else if constexpr (kUnchecked) {
    static_assert(Parameter<kPosition, P>::template got<Given>,
                  "kernel call: 'Tensor<T>&' of an unchecked kernel takes a Tensor<T>");
  } else if constexpr (kHasTile) {
    static_assert(Parameter<kPosition, P>::template got<Given>,
                  "kernel call: 'Partition<Tensor<T>, 4, 4>&' takes that type only (use | "
                  "partition<4, 4>())");
  } else {
    static_assert(Parameter<kPosition, P>::template got<Given>,
                  "kernel call: 'Tensor<T>&' takes a Partition<Tensor<T>> (use | "
                  "partition(...))");
  }
}

}  // namespace halyard::inline v0::async::detail
