// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/stop_request.h"

#include "base/format.h"

namespace halyard::inline v0::async::detail {

Status StopRequest::open(const QueueRef& queue) {
  queue_ = queue;
  HALYARD_ASSIGN_OR_RETURN(timeline_, queue_.device().state()->take_timeline(*queue_.state()));
  return {};
}

void StopRequest::watch(const std::stop_token& token) {
  if (!first_) {
    watched_ = token;
    first_.emplace(token, Signal{this});
  } else if (token != watched_) {
    more_.emplace_front(token, Signal{this});
  }
}

void StopRequest::Signal::operator()() const noexcept {
  if (self->requested_.exchange(true, std::memory_order_relaxed)) return;
  const hal::Point point = self->point();
  (void)self->timeline_->semaphore().signal(point.value());
}

StopRequest::~StopRequest() {
  // No callback runs from here on.
  first_.reset();
  more_.clear();
  if (!timeline_) return;
  if (requested_.load(std::memory_order_relaxed)) (void)timeline_->take_value();
  DeviceState::give_timeline(*queue_.state(), std::move(timeline_));
}

}  // namespace halyard::inline v0::async::detail
