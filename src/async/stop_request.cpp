// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/stop_request.h"

#include <new>

#include "base/format.h"

namespace halyard::inline v0::async::detail {

struct StopRequest::Watch {
  std::stop_callback<Signal> callback;
  Watch* next;
};

Status StopRequest::open(const QueueRef& queue) {
  HALYARD_RETURN_IF_ERROR(queue.status());
  queue_ = queue;
  HALYARD_ASSIGN_OR_RETURN(timeline_, queue_.device().state()->acquire_timeline(*queue_.state()));
  return {};
}

bool StopRequest::watch(const std::stop_token& token) {
  if (!token.stop_possible()) return true;
  if (!first_) {
    watched_ = token;
    first_.emplace(token, Signal{this});
  } else if (token != watched_) {
    auto* const watch =
        new (std::nothrow) Watch{std::stop_callback<Signal>(token, Signal{this}), more_};
    if (watch == nullptr) return false;
    more_ = watch;
  }
  return true;
}

void StopRequest::Signal::operator()() const noexcept {
  if (self->requested_.exchange(true, std::memory_order_relaxed)) return;
  const hal::Point point = self->point();
  (void)self->timeline_->semaphore().signal(point.value());
}

StopRequest::~StopRequest() {
  // From here on no callback runs.
  first_.reset();
  while (more_ != nullptr) delete std::exchange(more_, more_->next);
  if (!timeline_) return;
  if (requested_.load(std::memory_order_relaxed)) (void)timeline_->take_value();
  queue_.state()->timelines.release(std::move(timeline_));
}

}  // namespace halyard::inline v0::async::detail
