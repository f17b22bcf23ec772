// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StopRequest: a point that is reached when a stop is requested, so that a wait for other points
// can include it.
#pragma once

#include <optional>
#include <stop_token>

#include "async/device_state.h"
#include "halyard/async/detail/stop_tokens.h"

namespace halyard::inline v0::async::detail {

class StopRequest {
 public:
  StopRequest() = default;
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // Acquires a timeline of `queue`. Called before the other functions.
  Status open(const QueueRef& queue);
  // Whether it is open.
  explicit operator bool() const noexcept { return static_cast<bool>(timeline_); }
  hal::Point point() const noexcept { return timeline_->next(); }
  // A request of any watched token reaches the point. Returns false if out of memory, which can
  // only happen after the first token.
  bool watch(const StopTokens& tokens) { return watch(tokens.own) && watch(tokens.outer); }

 private:
  struct Signal {
    void operator()() const noexcept;
    StopRequest* self;
  };

  QueueRef queue_;
  Ref<TreeTimeline> timeline_;
  base::Atomic<bool> requested_{false};
  std::stop_token watched_;  // the token of first_; usually Tasks that wait together share it
  std::optional<std::stop_callback<Signal>> first_;
  struct Watch;
  bool watch(const std::stop_token& token);
  Watch* more_ = nullptr;  // for further tokens
};

}  // namespace halyard::inline v0::async::detail
