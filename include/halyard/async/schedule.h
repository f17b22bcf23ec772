// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs parts of a tree on queues that a policy picks (policy.h). Only the data orders a part with
// the rest of the tree.
//
//   schedule(a, policy), a | schedule(policy)   a, on the queue that `policy` picks
//   schedule(a, policy, runtime)                the same as a DeviceFuture, for any coroutine
//   join(a, b, ...)                             zip; the runtime's policy picks a queue for each
//
// Without a runtime (under on(device) or on(queue), in a Task too) join() uses the device's queues
// round-robin, and schedule(a, policy) is kFailedPrecondition.
#pragma once

#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/schedule.h"
#include "halyard/async/future.h"
#include "halyard/async/policy.h"
#include "halyard/async/runtime.h"

namespace halyard::inline v0::async {

inline detail::Schedule schedule(Policy policy) noexcept { return {std::move(policy)}; }
template <class Op>
auto schedule(Op&& operation, Policy policy) {
  return std::forward<Op>(operation) | schedule(std::move(policy));
}

// The policy picks when this is called, not when the future is awaited.
inline detail::ScheduleOn schedule(Policy policy, Runtime runtime) noexcept {
  return {std::move(policy), std::move(runtime)};
}
template <class Op>
auto schedule(Op&& operation, Policy policy, Runtime runtime) {
  return std::forward<Op>(operation) | schedule(std::move(policy), std::move(runtime));
}

template <class... Args>
auto join(Args&&... args) {
  return zip(detail::JoinedPart(detail::as_operation(std::forward<Args>(args)))...);
}

}  // namespace halyard::inline v0::async
