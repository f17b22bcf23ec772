// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StopTokens: the stop tokens of an await.
#pragma once

#include <stop_token>

#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

struct StopTokens {
  bool stop_possible() const noexcept { return own.stop_possible() || outer.stop_possible(); }
  bool stop_requested() const noexcept { return own.stop_requested() || outer.stop_requested(); }

  std::stop_token own{};    // stop_with()'s, or that of the Task which awaits an operation
  std::stop_token outer{};  // that of the Task, Asio slot or receiver which awaits a future
};

// The result of a stopped await.
inline Status stopped() { return Status(StatusCode::kCancelled, "a stop was requested"); }

}  // namespace halyard::inline v0::async::detail
