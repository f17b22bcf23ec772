// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceOperation: work for a device, as a value.
//
// An operation does nothing until it is awaited (future.h, task.h). Awaiting submits the whole tree
// of operations to one queue, and the host waits once, for its end. combinators.h makes trees.
//
// An operation is move-only and runs once. Its tree is part of its type. The first error ends it:
// the operations after it are not submitted, and the results before it are dropped.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

// Output is the result type. execute() submits the operation; it is called at most once.
template <class T>
concept DeviceOperation = !std::is_reference_v<T> && requires(T&& operation, Context& context) {
  { std::move(operation).execute(context) } -> std::same_as<Result<typename T::Output>>;
};

// An operation that can be recorded (recorded.h): it calls no functions of its Context but fill(),
// update(), copy(), launch() and scratch().
template <class T>
concept Recordable = DeviceOperation<T> && requires { requires T::kRecordable; };

}  // namespace halyard::inline v0::async
