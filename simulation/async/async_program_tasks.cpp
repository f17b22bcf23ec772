// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AsyncProgram: operations that several trees share, concurrent trees in a nursery, and requests to
// a small pool.
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "simulation/async/async_program.h"
#include "simulation/async/async_program_awaits.h"

namespace halyard::inline v0::sim {

using async::boxed;
using async::zip;

// --- operations that are held -------------------------------------------------------------------

// Holds a tree of its own, on the queue of the operation that is awaited first. Its parts, or
// copies of a share, wait for their trees.
void AsyncProgram::hold_something(Actor& actor) {
  Random& random = actor.random;
  const auto device = static_cast<std::uint32_t>(random.below(plan_.devices));
  if (!actor.devices[device].status().ok()) return;
  Tree& tree = plant(actor, device, sizes_[random.below(2)]);
  tree.is_cell = true;
  Draft first = grow(random, tree, random.below(3));
  const auto put = [&](auto operation, Contents contents) {
    const Held last = std::exchange(held_[random.below(held_.size())],
                                    Held{std::move(operation), std::move(contents), &tree});
  };
  if (random.one_in(2)) {
    put(std::move(first.operation) | async::share, std::move(first.contents));
  } else {
    Draft second = grow(random, tree, random.below(2));
    auto [one, other] = async::unzip(zip(std::move(first.operation), std::move(second.operation)));
    put(std::move(one) | boxed, std::move(first.contents));
    put(std::move(other) | boxed, std::move(second.contents));
  }
  tree.queue = {};
  tree.runtime = {};
}

std::optional<AsyncProgram::Draft> AsyncProgram::from_held(Random& random, Tree& tree) {
  Held& held = held_[random.below(held_.size())];
  if (held.contents.size() != tree.size || held.tree->device != tree.device) return {};
  tree.operands.push_back(held.tree);
  tree.fails |= held.tree->fails;
  if (const auto* const shared = std::get_if<async::SharedOperation<Shared>>(&held.operation)) {
    tree.allocates = true;
    return Draft{*shared | async::and_then([](Shared share) {
                   return Copied<Shared>{std::move(share)};
                 }) | boxed,
                 held.contents};
  }
  Held taken = std::exchange(held, {});
  return Draft{std::get<async::BoxedOperation<Tensor>>(std::move(taken.operation)),
               std::move(taken.contents)};
}

// --- nurseries ----------------------------------------------------------------------------------

async::Task<> AsyncProgram::run_nursery(const AsyncProgram& program,
                                        std::vector<async::Task<>>& children, Random& random,
                                        const std::size_t& ended) {
  async::Nursery nursery;
  std::size_t spawned = 0;
  for (async::Task<>& child : children) {
    co_await nursery.spawn(std::move(child));
    program.check(nursery.size() + ended == ++spawned,
                  "a child that has not ended is the nursery's");
    if (!random.one_in(3)) continue;
    const std::size_t leave = random.below(3);
    co_await nursery.join(leave);
    program.check(nursery.size() <= leave, "a nursery has more children than were to be left");
  }
  if (random.one_in(3)) co_return;  // children that have not ended are cancelled
  co_await nursery.join();
  program.check(nursery.empty() && ended == children.size(),
                "a nursery was joined, and has children");
}

// The children wait for their devices on a single thread. A child that ends may stop them all.
void AsyncProgram::run_children(Actor& actor) {
  if (!runtime_ || !actor.may_block) return;
  const async::Runtime runtime = runtime_;
  Random& random = actor.random;
  std::stop_source stop;
  std::size_t ended = 0;
  std::vector<async::Task<>> children;
  for (std::uint64_t left = random.between(2, 4); left != 0; --left) {
    const auto device = static_cast<std::uint32_t>(random.below(plan_.devices));
    if (!actor.devices[device].status().ok()) continue;
    Tree& tree = plant(actor, device, sizes_[random.below(2)]);
    tree.stop = stop.get_token();
    auto [operation, contents] = grow(random, tree, random.below(3));
    const bool stops = random.one_in(6);
    auto future = place(tree, std::move(operation));
    const Destination keep = any_destination(random, tree, std::move(contents));
    children.push_back([](AsyncProgram& program, Tree& its, decltype(future) awaited,
                          Destination put, std::stop_source source, bool requests,
                          std::size_t& count) -> async::Task<> {
      its.stopped = source.stop_requested();
      program.ended(its, co_await async::as_result(std::move(awaited)), put);
      if (requests) source.request_stop();
      ++count;
    }(*this, tree, std::move(future), keep, stop, stops, ended));
  }
  async::sync_wait(run_nursery(*this, children, random, ended), runtime, stop.get_token());
}

// --- a small pool -------------------------------------------------------------------------------

// Holds an array and requests two more, while others do the same.
async::Task<> AsyncProgram::request(Actor& actor, std::uint32_t device, std::size_t& ended_count) {
  Random& random = actor.random;
  const hal::Pool pool = small_pools_[device];
  const auto plant_here = [&]() -> Tree& {
    Tree& tree = plant(actor, device, sizes_[1]);
    tree.allocates = tree.has_deadline = true;
    return tree;
  };
  const auto within = [&](auto future) {
    const std::chrono::nanoseconds time(random.below(random.one_in(2) ? 20'000 : 3'000'000));
    return as_result(async::with_deadline(std::move(future), time));
  };
  std::optional<Tensor> held;
  const Contents contents = draw_contents(random, sizes_[1]);
  Tree& first = plant_here();
  auto filled = place(first, async::from_host(contents, {first.size}) | async::allocate_from(pool));
  ended(first, co_await within(std::move(filled)),
        [&](Tensor tensor) { held = std::move(tensor); });
  if (held) {
    const Contents other = draw_contents(random, sizes_[1]);
    Tree& second = plant_here();
    second.operands.push_back(&first);
    auto swapped = place(
        second,
        async::to_host(
            zip(async::value(*std::move(held)), async::from_host(other, {second.size})) |
            async::apply([](Tensor a, Tensor b) { return Swapped{std::move(a), std::move(b)}; }) |
            async::first | async::allocate_from(pool)));
    ended(second, co_await within(std::move(swapped)),
          [&](const Contents& read) { check_contents(second, read, other); });
  }
  ++ended_count;
}

// Requests that hold memory for which the others wait release it at their deadlines. After that,
// the pool serves a request without a deadline.
void AsyncProgram::use_small_pool(Actor& actor) {
  if (!runtime_ || !actor.may_block) return;
  const async::Runtime runtime = runtime_;
  const auto device = static_cast<std::uint32_t>(actor.random.below(plan_.devices));
  if (!actor.devices[device].status().ok()) return;
  std::size_t ended_count = 0;
  std::vector<async::Task<>> children;
  for (std::uint64_t left = actor.random.between(2, 5); left != 0; --left) {
    children.push_back(request(actor, device, ended_count));
  }
  async::sync_wait(run_nursery(*this, children, actor.random, ended_count), runtime);
  Tree& tree = plant(actor, device, sizes_[1]);
  tree.allocates = true;
  const Contents contents = draw_contents(actor.random, tree.size);
  auto last = place(tree, async::to_host(async::from_host(contents, {tree.size}) |
                                         async::allocate_from(small_pools_[device])));
  ended(tree, async::sync_wait(async::as_result(std::move(last))),
        [&](const Contents& read) { check_contents(tree, read, contents); });
}

}  // namespace halyard::inline v0::sim
