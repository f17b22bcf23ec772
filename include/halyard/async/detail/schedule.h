// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations and combinators of schedule.h.
#pragma once

#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/operation_tree.h"
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
}  // namespace halyard::inline v0::async
