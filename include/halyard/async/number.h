// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Number: a parameter of a recorded function (recorded.h), for a number that each replay brings.
//
//   auto step = co_await record(
//       [](Number<float> rate, Shared<Tensor<float>> x, Tensor<float> y) {
//         return scale(x, rate, std::move(y));
//       },
//       Shape{4}, Shape{4});
//   auto [rate, x1, y1] = co_await step.replay(0.5f, x, std::move(y));
//
// In the recording a Number is a placeholder of that number: as the argument of a kernel whose
// parameter is a T, and in scale(). It has no arithmetic, and using it elsewhere returns
// kInvalidArgument.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/executable.h"

namespace halyard::inline v0::async {

class Context;

namespace detail {

// kInvalidArgument, with the name of what uses it, unless `context` makes this recording (null: the
// number was moved from).
HALYARD_EXPORT Result<hal::Constant> number_of(const Context& context, const char* user,
                                               const RefCounted* recording, std::uint32_t slot);

}  // namespace detail

// A handle, which keeps the recording.
template <class T>
class Number {
 public:
  using value_type = T;
  static_assert(std::is_constructible_v<hal::Constant, T>, "Number<T>: a T that kernels take");

  Number(Ref<RefCounted> recording, std::uint32_t slot) noexcept
      : recording_(std::move(recording)), slot_(slot) {}

  // For Context::launch().
  Result<hal::Constant> constant(const Context& context, const char* user) const {
    return detail::number_of(context, user, recording_.get(), slot_);
  }

 private:
  Ref<RefCounted> recording_;
  std::uint32_t slot_;
};

namespace detail {

template <class T>
inline constexpr bool kIsNumber = false;
template <class T>
inline constexpr bool kIsNumber<Number<T>> = true;

// Whether a parameter T takes a number of type A: without narrowing.
template <class T, class A>
inline constexpr bool kTakesNumber =
    std::is_arithmetic_v<A> && !std::is_same_v<A, bool> && requires(A a) {
  T{a};
};

}  // namespace detail
}  // namespace halyard::inline v0::async
