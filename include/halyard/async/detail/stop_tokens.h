// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StopTokens: the stop tokens of an await, and the scope of its Task.
#pragma once

#include <stop_token>
#include <string>

#include "halyard/async/detail/task_scope.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

// The result of a stopped await.
inline Status stopped() { return Status(StatusCode::kCancelled, "a stop was requested"); }

// Returns `status`. If a deadline has passed, its message gets `missing`: the events that were not
// reached.
HALYARD_EXPORT Status with_missing(const Status& status, const std::string& missing);

struct StopTokens {
  // Ok, or the error with which the await ends early.
  HALYARD_EXPORT Status check() const;
  bool may_end_early() const noexcept { return scope != nullptr || stop_possible(); }
  HALYARD_EXPORT Nanoseconds deadline() const noexcept;

  bool stop_possible() const noexcept { return own.stop_possible() || outer.stop_possible(); }
  bool stop_requested() const noexcept { return own.stop_requested() || outer.stop_requested(); }

  std::stop_token own{};       // stop_with()'s, or that of the Task which awaits an operation
  std::stop_token outer{};     // that of the Task, Asio slot or receiver which awaits a future
  TaskScope* scope = nullptr;  // of that Task
};

}  // namespace halyard::inline v0::async::detail
