// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a tree on queues of their own, which a policy picks (policy.h), ordered by the data
// alone:
//
//   schedule(a, policy), a | schedule(policy)   a on the queue that `policy` picks
//   schedule(a, policy, runtime)                the same as a DeviceFuture, for any coroutine
//   join(a, b, ...)                             as zip, each on the queue that the runtime's policy
//                                               picks for it
//
// Under on(device) or on(queue), in a Task too, there is no runtime: join() takes the queues of
// that device one after another, and schedule() that names none is kFailedPrecondition.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/future.h"
#include "halyard/async/operation.h"
#include "halyard/async/policy.h"
#include "halyard/async/runtime.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

template <DeviceOperation Op>
class [[nodiscard("an operation does nothing until it is awaited")]] ScheduledOperation {
 public:
  using Output = typename Op::Output;

  ScheduledOperation(Op&& operation, Policy policy)
      : operation_(std::move(operation)), policy_(std::move(policy)) {}

  Result<Output> execute(Context& whole) && {
    if (whole.runtime() == nullptr) {
      return Status(StatusCode::kFailedPrecondition,
                    "schedule: awaited on a device; a policy needs a runtime: on(runtime)");
    }
    QueueRef queue = detail::pick_queue(*whole.runtime(), policy_, operation_);
    return detail::execute_part(whole, std::move(queue), std::move(operation_));
  }

 private:
  Op operation_;
  Policy policy_;
};

namespace detail {

template <DeviceOperation Op>
class JoinedPart {
 public:
  using Output = typename Op::Output;

  explicit JoinedPart(Op&& operation) : operation_(std::move(operation)) {}

  Result<Output> execute(Context& whole) && {
    const Runtime* const runtime = whole.runtime();
    QueueRef queue = runtime != nullptr ? pick_queue(*runtime, runtime->policy(), operation_)
                                        : whole.queue().device().next_queue();
    return execute_part(whole, std::move(queue), std::move(operation_));
  }

 private:
  Op operation_;
};

struct Schedule {
  using IsCombinator = void;
  template <DeviceOperation Op>
  ScheduledOperation<Op> operator()(Op&& operation) && {
    return {std::move(operation), std::move(policy)};
  }
  Policy policy;
};

struct ScheduleOn {
  using IsCombinator = void;
  template <DeviceOperation Op>
  DeviceFuture<Op> operator()(Op&& operation) && {
    return {std::move(operation), runtime, policy};
  }
  Policy policy;
  Runtime runtime;
};

}  // namespace detail

inline detail::Schedule schedule(Policy policy) noexcept { return {std::move(policy)}; }
template <class Op>
auto schedule(Op&& operation, Policy policy) {
  return std::forward<Op>(operation) | schedule(std::move(policy));
}

// The policy picks now.
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
