// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AsyncProgram: the ways to await a tree, for every type of tree.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "base/format.h"
#include "simulation/async/async_program.h"
#include "simulation/scheduler.h"

namespace halyard::inline v0::sim {

template <class Value>
async::Task<Value> pass_on(async::Task<Value> task) {
  co_return co_await std::move(task);
}

template <class Op>
auto ask(async::DeviceFuture<Op> future)
    -> async::Task<decltype(async::sync_wait(async::as_result(std::move(future))))> {
  co_return co_await async::as_result(std::move(future));
}

template <class Op>
async::DeviceFuture<async::BoxedOperation<typename Op::Output>> AsyncProgram::place(Tree& tree,
                                                                                    Op operation) {
  const async::QueueRef queue = std::exchange(tree.queue, {});
  const async::Runtime runtime = std::exchange(tree.runtime, {});
  if (!runtime) return std::move(operation) | async::boxed | async::on(queue);
  return std::move(operation) | async::schedule(any_policy(tree.device)) | async::boxed |
         async::on(runtime);
}

template <class Op, class Take>
void AsyncProgram::await(Actor& actor, Tree& tree, Op operation, Take take) {
  auto future = place(tree, std::move(operation));
  switch (actor.random.below(actor.may_block ? 8 : 3)) {
    case 0:
      tree.outcome = Tree::Outcome::kDone;  // it contains nothing that can fail
      return note(tree, "is dropped");
    case 1:
    case 2:
      note(tree, "is an errand");
      if (actor.random.one_in(2)) {
        tree.stop = stop_.get_token();
        future = std::move(future) | async::stop_with(tree.stop);
      }
      run_errand(errands_.emplace_back(), *this, tree, actor.random.next(), std::move(future),
                 std::move(take));
      return;
    case 3:
    case 4: {
      note(tree, "is a task's");
      const async::Runtime runtime = runtime_;
      auto task = ask(std::move(future));
      if (actor.random.one_in(2)) task = pass_on(std::move(task));
      return ended(tree, async::sync_wait(std::move(task), runtime), std::move(take));
    }
    default:
      note(tree, "is waited for");
      return ended(tree, async::sync_wait(async::as_result(std::move(future))), std::move(take));
  }
}

template <class Op, class Take>
Errand::Started AsyncProgram::run_errand(Errand&, AsyncProgram& program, Tree& tree,
                                         std::uint64_t seed, async::DeviceFuture<Op> future,
                                         Take take) {
  // A tree that has ended owns nothing.
  program.ended(tree, co_await async::as_result(std::move(future)), std::move(take));
  Actor actor{Random(seed), {}, false};
  actor.devices.resize(program.plan_.devices);
  std::ranges::copy(program.runtime_.devices(), actor.devices.begin());
  if (actor.random.one_in(2)) program.act(actor);
}

template <class Answer, class Take>
void AsyncProgram::ended(Tree& tree, Answer answer, Take take) {
  tree.status = answer.status();
  // Without a stop request, it failed because of another tree that was stopped (check_failures()).
  const bool cancelled =
      (tree.status.code() == StatusCode::kCancelled && tree.stop.stop_requested()) ||
      (tree.status.code() == StatusCode::kDeadlineExceeded && tree.has_deadline);
  check(cancelled || !tree.stopped,
        base::format("tree {}: whether a stop was requested: {}", tree.number,
                     tree.status.to_string()));
  check(!tree.fails || !answer.ok(),
        base::format("tree {}: an operation of it fails, and it does not", tree.number));
  tree.outcome = answer.ok() ? Tree::Outcome::kDone
                 : cancelled ? Tree::Outcome::kCancelled  // its work continues
                             : Tree::Outcome::kFailed;
  if (Scheduler::current()->tracing()) {
    std::string text = tree.status.to_string();
    for (const Tree* operand : tree.operands) text += base::format(", after {}", operand->number);
    note(tree, text);
  }
  if (answer.ok()) take(*std::move(answer));
}

}  // namespace halyard::inline v0::sim
