// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The awaits of times and of a Nursery's Tasks.
#include <string>

#include "base/format.h"
#include "halyard/async/deadline.h"
#include "halyard/async/detail/nursery.h"

namespace halyard::inline v0::async::detail {

Status with_missing(const Status& status, const std::string& missing) {
  if (status.code() != StatusCode::kDeadlineExceeded) return status;
  return error(status.code(), "{}: {}", status.message(), missing);
}

Status may_start(Once& once, const StopTokens& stop, const Submitter& context) {
  if (!once.take()) return runs_once();
  HALYARD_RETURN_IF_ERROR(stop.check());
  return context.status();
}

Status StopTokens::check() const {
  if (stop_requested()) return stopped();
  return scope == nullptr ? Status() : scope->check();
}

Nanoseconds StopTokens::deadline() const noexcept {
  return scope == nullptr ? Deadline::kForeverTime : scope->first_deadline();
}

Status check(const TaskPlace& place) {
  if (place.runner->stop().stop_requested()) return stopped();
  return place.scope == nullptr ? Status() : place.scope->check();
}

TimeAwaiter::TimeAwaiter(Deadline when, const TaskPlace& place)
    : runner_(*place.runner),
      time_(when.resolve(runner_.clock())),
      stop_{runner_.stop(), {}, place.scope} {}

bool TimeAwaiter::await_ready() const {
  return !stop_.check().ok() || time_ <= runner_.clock().now();
}

Status TimeAwaiter::await_resume() const {
  const Nanoseconds now = runner_.clock().now();
  if (time_ <= now) return {};
  if (const Status status = stop_.check(); !status.ok()) {
    return with_missing(status,
                        "after: " + std::to_string((time_ - now) / 1'000'000) + " ms were left");
  }
  HALYARD_RETURN_IF_ERROR(runner_.runtime().device().status());
  return Status(StatusCode::kResourceExhausted, "after: no memory to wait");
}

void NurseryTasks::note_spawn(TaskScope* in) noexcept {
  if (size == 0) {
    spawned_in = Ref<TaskScope>(in);
    by_several = false;
  } else {
    by_several |= spawned_in.get() != in;
  }
}

bool JoinAwaiter::await_suspend(std::coroutine_handle<> waiting) noexcept {
  is_second = tasks.joining != nullptr;
  if (is_second) return false;
  coroutine = waiting;
  tasks.joining = this;
  if (may_end_early()) runner.wait_until(waiter, waiting, Deadline::kForeverTime, stop);
  return true;
}

Status JoinAwaiter::ended() const {
  if (is_second) {
    return Status(StatusCode::kFailedPrecondition,
                  "join: another Task awaits the end of this Nursery already");
  }
  if (is_done()) return {};
  const Status status = stop.check();
  if (status.ok()) return Status(StatusCode::kResourceExhausted, "join: no memory to wait");
  return with_missing(
      status, "join: " + base::counted(tasks.size, "Task") + " of the Nursery had not ended");
}

bool JoinAwaiter::may_end_early() const noexcept {
  return stop.deadline() != Deadline::kForeverTime ||
         (stop.scope != nullptr && (tasks.by_several || tasks.spawned_in.get() != stop.scope));
}

}  // namespace halyard::inline v0::async::detail
