// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/task_runner.h"

#include <algorithm>
#include <array>
#include <span>

#include "async/stop_request.h"
#include "base/array.h"

namespace halyard::inline v0::async::detail {

void TaskWaiter::unlink() noexcept {
  next_->previous_ = previous_;
  previous_->next_ = next_;
  next_ = previous_ = this;
}

void TaskWaiter::link_before(TaskWaiter& other) noexcept {
  next_ = &other;
  previous_ = std::exchange(other.previous_, this);
  previous_->next_ = this;
}

void TaskRunner::enqueue(TaskWaiter& waiter, std::coroutine_handle<> coroutine) noexcept {
  waiter.unlink();
  waiter.coroutine_ = coroutine;
  waiter.link_before(ready_);
}

void TaskRunner::wait(TaskWaiter& waiter, std::coroutine_handle<> coroutine,
                      const StopTokens& stop) noexcept {
  waiter.coroutine_ = coroutine;
  waiter.stop_ = &stop;
  waiter.link_before(waiting_);
}

void TaskRunner::wait_for(TaskWaiter& waiter, std::coroutine_handle<> coroutine, Submitter& context,
                          const StopTokens& stop) noexcept {
  waiter.context_ = &context;
  wait(waiter, coroutine, stop);
}

void TaskRunner::wait_until(TaskWaiter& waiter, std::coroutine_handle<> coroutine, Nanoseconds time,
                            const StopTokens& stop) noexcept {
  waiter.context_ = nullptr;
  waiter.time_ = time;
  wait(waiter, coroutine, stop);
}

void TaskRunner::run() {
  for (;;) {
    std::coroutine_handle<> next = std::exchange(next_, nullptr);
    if (!next) next = take_ready();
    if (next) {
      next.resume();
    } else if (empty(waiting_)) {
      return;
    } else {
      wait_for_any();
    }
  }
}

std::coroutine_handle<> TaskRunner::take_ready() noexcept {
  if (empty(ready_)) return nullptr;
  TaskWaiter& first = *ready_.next_;
  first.unlink();
  return first.coroutine_;
}

Clock& TaskRunner::clock() const noexcept {
  const hal::Device device = runtime_.device().hal();
  return device ? device.clock() : Clock::steady();
}

bool TaskRunner::has_ended(const TaskWaiter& waiter) const {
  const bool done =
      waiter.context_ != nullptr ? waiter.context_->finished() : waiter.time_ <= clock().now();
  return done || !waiter.stop_->check().ok();
}

bool TaskRunner::collect_ended() {
  for (TaskWaiter* waiter = waiting_.next_; waiter != &waiting_;) {
    TaskWaiter& one = *std::exchange(waiter, waiter->next_);
    if (!has_ended(one)) continue;
    one.unlink();
    one.link_before(ready_);
  }
  return !empty(ready_);
}

// Ignores errors: the awaiters receive them.
void TaskRunner::wait_for_any() {
  TaskWaiter& first = *waiting_.next_;
  if (first.next_ == &waiting_ && first.context_ != nullptr) {
    (void)first.context_->wait(*first.stop_);
    first.unlink();
    first.link_before(ready_);
    return;
  }
  if (collect_ended()) return;
  std::size_t most = 1;  // for the stop request
  for (const TaskWaiter* waiter = waiting_.next_; waiter != &waiting_; waiter = waiter->next_) {
    ++most;
  }
  std::array<hal::Point, 8> few;  // as many as hal::wait_any() takes without an allocation
  base::Array<hal::Point> many;
  const bool has_room = most <= few.size() || many.grow(most);
  const std::span<hal::Point> points =
      many.empty() ? std::span(few) : std::span(many.data(), many.size());
  std::size_t count = 0;
  Nanoseconds until = Deadline::kForeverTime;
  StopRequest request;
  for (TaskWaiter* waiter = waiting_.next_; waiter != &waiting_; waiter = waiter->next_) {
    const auto make_ready = [&] {  // a wait here is impossible
      waiter->unlink();
      waiter->link_before(ready_);
    };
    until = std::min(until, waiter->stop_->deadline());
    if (waiter->context_ == nullptr) {
      until = std::min(until, waiter->time_);
      // The point only serves the wait: without a stop it is never reached.
      if (!request && !request.open(runtime_.device()).ok()) return make_ready();
    } else {
      Result<Moment> end = waiter->context_->end();
      if (!end.ok() || !has_room) return make_ready();  // its awaiter blocks
      waiter->end_ = *std::move(end);                   // keeps the semaphore
      points[count++] = waiter->end_.point();
    }
    if (!waiter->stop_->stop_possible()) continue;
    if (!request && !request.open(waiter->context_->queue()).ok()) continue;
    (void)request.watch(*waiter->stop_);  // if out of memory, seen when another wait ends
  }
  if (request) points[count++] = request.point();
  (void)hal::wait_any({points.data(), count}, Deadline::at(until));
  (void)collect_ended();
}

}  // namespace halyard::inline v0::async::detail
