// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StopRequest: stop tokens as a point that a thread can wait for beside others.
#pragma once

#include <optional>
#include <stop_token>

#include "async/device_state.h"

namespace halyard::inline v0::async::detail {

class StopRequest {
 public:
  StopRequest() = default;
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // Takes a timeline of that queue. Before the others.
  Status open(const QueueRef& queue);
  explicit operator bool() const noexcept { return static_cast<bool>(timeline_); }  // is open
  hal::Point point() const noexcept { return {timeline_->semaphore(), timeline_->last() + 1}; }
  // Any request of one of the tokens that were watched reaches the point. False: no memory for them
  // all; there is for a first.
  bool watch(const StopTokens& tokens) { return watch(tokens.own) && watch(tokens.outer); }

 private:
  struct Signal {
    void operator()() const noexcept;
    StopRequest* self;
  };

  QueueRef queue_;
  Ref<Timeline> timeline_;
  base::Atomic<bool> requested_{false};
  std::stop_token watched_;  // by first_; Tasks that wait side by side have one token as a rule
  std::optional<std::stop_callback<Signal>> first_;
  struct Watch;
  bool watch(const std::stop_token& token);
  Watch* more_ = nullptr;  // of others
};

}  // namespace halyard::inline v0::async::detail
