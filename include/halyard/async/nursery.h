// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nursery: a scope in which Tasks run side by side.
//
//   Nursery nursery;
//   for (const Device& device : runtime.devices()) co_await nursery.spawn(train(device));
//   co_await nursery.spawn(to_host(x) | on(device), numbers);  // numbers receives the result
//   SpawnedTask spare = co_await nursery.spawn(train(spare_device));
//   spare.cancel();
//   co_await nursery.join();
//
// All spawned Tasks run on the thread of the Task that owns the Nursery, each while the others
// wait for devices. No Task outlives the scope; so none of them may end it, nor may it end while
// another Task awaits its join(). An exception in one stops none of the others; join() throws it,
// and without a join() it is dropped.
//
// Term and rule are Nathaniel J. Smith's, "Notes on structured concurrency" (2018).
#pragma once

#include <coroutine>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "halyard/async/detail/nursery.h"
#include "halyard/async/detail/task_promise.h"
#include "halyard/async/detail/task_runner.h"
#include "halyard/async/detail/task_scope.h"
#include "halyard/async/future.h"
#include "halyard/async/task.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

// A handle of a Task that was spawned. Copies are of the same Task. Used by the thread of the
// Nursery's Task; may outlive the Nursery.
class SpawnedTask {
 public:
  SpawnedTask() noexcept = default;  // of no Task

  // Requests a stop of this Task, of the Tasks that it awaits and of those that it has spawned:
  // from now on each of their awaits, pending ones included, fails with kCancelled. Submitted work
  // continues (future.h). join() does not throw a kCancelled error that the Task then throws.
  // Without effect once the Task has ended.
  void cancel() const noexcept {
    if (scope_) scope_->cancel();
  }

 private:
  friend class Nursery;
  explicit SpawnedTask(Ref<detail::TaskScope> scope) noexcept : scope_(std::move(scope)) {}
  Ref<detail::TaskScope> scope_;
};

class Nursery {
 public:
  Nursery() noexcept = default;
  // Destroys the unfinished Tasks. Their submitted work continues (future.h).
  ~Nursery() = default;
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;

  // Starts `task`. The await completes when the Task first waits, or has ended, and returns a
  // SpawnedTask.
  [[nodiscard("a Nursery does nothing until this is awaited")]] auto spawn(Task<>&& task) noexcept {
    return Spawn{tasks_, std::move(task)};
  }
  // Submits the future's operation and drops its result. join() waits for its end.
  template <class Op>
  [[nodiscard("a Nursery does nothing until this is awaited")]] auto spawn(
      DeviceFuture<Op> future) {
    return spawn(await_and_drop(std::move(future)));
  }
  // The same, but assigns the result to `into`, which must live until then or until ~Nursery().
  template <class Op, class T>
  [[nodiscard("a Nursery does nothing until this is awaited")]] auto spawn(DeviceFuture<Op> future,
                                                                           T& into) {
    return spawn(await_into(std::move(future), into));
  }

  // Fails to compile, with a message that names what is missing.
  template <DeviceOperation Op>
  auto spawn(Op&&) {
    constexpr bool kHasDevice = !std::is_object_v<Op>;
    static_assert(kHasDevice, "spawn: an operation needs a device: spawn(operation | on(device))");
    return spawn(Task<>(nullptr));
  }

  // These two say it, too.
  template <class U>
  auto spawn(Task<U>&) {
    constexpr bool kMoved = std::is_same_v<U, Nursery>;
    static_assert(kMoved, "spawn: a Task is moved: spawn(std::move(task))");
    return spawn(Task<>(nullptr));
  }
  template <class U>
    requires(!std::is_void_v<U>)
  auto spawn(Task<U>&&) {
    constexpr bool kHasVariable = std::is_same_v<U, Nursery>;
    static_assert(kHasVariable,
                  "spawn: a Task with a result needs a variable: spawn(task, result)");
    return spawn(Task<>(nullptr));
  }

  // Starts a Task and assigns its result to `into` in the same way.
  template <class U, class T>
    requires(!std::is_void_v<U>)
  [[nodiscard("a Nursery does nothing until this is awaited")]] auto spawn(Task<U> task, T& into) {
    return spawn(await_into(std::move(task), into));
  }

  // The await completes when at most `leave` Tasks have not ended, and throws the first exception
  // of a Task. kFailedPrecondition while another Task awaits join(). kDeadlineExceeded as
  // with_deadline() says; the Tasks then run on. A cancelled Task waits for those that it spawned,
  // which are cancelled too; if other Tasks have spawned some, its join() is kCancelled.
  // as_result() gives a Status in place of a halyard::Error; other exceptions pass through.
  [[nodiscard("a Nursery does nothing until this is awaited")]] auto join(
      std::size_t leave = 0) noexcept {
    return detail::Join{tasks_, leave};
  }

  // The number of Tasks that have not ended.
  std::size_t size() const noexcept { return tasks_.size; }
  bool empty() const noexcept { return tasks_.size == 0; }

 private:
  template <class Op>
  static Task<> await_and_drop(DeviceFuture<Op> future) {
    (void)co_await std::move(future);
  }
  template <class Awaitable, class T>
  static Task<> await_into(Awaitable awaitable, T& into) {
    into = co_await std::move(awaitable);
  }

  struct Spawn {
    struct Awaiter {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> coroutine) noexcept {
        runner.enqueue(waiter, coroutine);
        runner.run_next(child->task.coroutine_);
      }
      SpawnedTask resume_or_throw() noexcept { return SpawnedTask(std::move(scope)); }
      detail::TaskRunner& runner;
      detail::NurseryTask* child;
      Ref<detail::TaskScope> scope;
      detail::TaskWaiter waiter{};
    };
    Awaiter awaiter(const detail::TaskPlace& place) && {
      // Its clock is not read: the scope has no deadline.
      auto scope = Ref<detail::TaskScope>::adopt(new detail::TaskScope(
          Ref<detail::TaskScope>(place.scope), Clock::steady(), Deadline::kForeverTime));
      detail::TaskPromiseBase& promise = task.prepare({place.runner, scope.get()});
      tasks.note_spawn(place.scope);
      auto* const child =
          new detail::NurseryTask(tasks, std::move(task), Ref<detail::TaskScope>(scope));
      promise.detach(*child);
      return {*place.runner, child, std::move(scope)};
    }
    detail::NurseryTasks& tasks;
    Task<> task;
  };

  detail::NurseryTasks tasks_;
};

}  // namespace halyard::inline v0::async
