// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AsyncProgram: trees of operations over the tensors in the slots.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "simulation/async/async_program.h"

namespace halyard::inline v0::sim {
namespace {

using async::and_then;
using async::boxed;
using async::map;
using async::zip;

constexpr auto copied = []<class Source>(Source&& source) {
  return Copied<std::remove_cvref_t<Source>>{std::move(source)};
};

}  // namespace

AsyncProgram::Destination AsyncProgram::any_destination(Random& random, const Tree& tree,
                                                        Contents contents) {
  return {this, &tree, any_slot(random), std::move(contents)};
}

OnDevice AsyncProgram::any_policy(std::uint32_t device) {
  return {policies_[random_.below(policies_.size())], device, queues_};
}

AsyncProgram::Tree& AsyncProgram::plant(Actor& actor, std::uint32_t device, std::size_t size) {
  const bool on_runtime = runtime_ && actor.random.one_in(4);
  return trees_.emplace_back(Tree{.number = static_cast<std::uint32_t>(trees_.size()),
                                  .device = device,
                                  .devices = on_runtime ? (1u << plan_.devices) - 1 : 1u << device,
                                  .queue = actor.devices[device].queue(actor.random.below(queues_)),
                                  .runtime = on_runtime ? runtime_ : async::Runtime(),
                                  .size = size});
}

AsyncProgram::Draft AsyncProgram::grow(Random& random, Tree& tree, std::uint64_t depth) {
  if (depth == 0) return leaf(random, tree);
  auto [operation, contents] = grow(random, tree, random.below(depth));
  switch (random.below(20)) {
    case 0:
      tree.allocates = true;
      return {std::move(operation) | and_then(copied) | boxed, std::move(contents)};
    case 1: {
      const auto element = static_cast<Element>(random.next());
      return {std::move(operation) | and_then([element](Tensor tensor) {
                return Filled{std::move(tensor), element};
              }) | boxed,
              Contents(tree.size, element)};
    }
    case 2: {
      Contents values = draw_contents(random, tree.size);
      return {std::move(operation) | and_then([values](Tensor tensor) {
                return Updated{std::move(tensor), values};
              }) | boxed,
              values};
    }
    case 3:
    case 4: {
      tree.allocates = true;
      Draft other = grow(random, tree, random.below(depth));
      auto swapped =
          zip(std::move(operation), std::move(other.operation)) |
          async::apply([](Tensor a, Tensor b) { return Swapped{std::move(a), std::move(b)}; });
      if (random.one_in(2)) {
        return {std::move(swapped) | async::first | boxed, std::move(other.contents)};
      }
      return {std::move(swapped) | async::last | boxed, std::move(contents)};
    }
    case 5: {  // the first goes to a slot, or is dropped at once
      Draft other = grow(random, tree, random.below(depth));
      const bool leaves = random.one_in(2);
      const Destination put = any_destination(random, tree, std::move(contents));
      return {zip(std::move(operation) | map([leaves, put](Tensor tensor) {
                    return leaves ? put(std::move(tensor)) : 0;
                  }),
                  std::move(other.operation)) |
                  async::last | boxed,
              std::move(other.contents)};
    }
    case 6: {  // one share goes to a slot
      tree.allocates = true;
      return {std::move(operation) | async::share |
                  map([put = any_destination(random, tree, contents)](Shared shared) {
                    (void)put(shared);
                    return shared;
                  }) |
                  and_then(copied) | boxed,
              std::move(contents)};
    }
    case 7:
    case 8:
    case 9:
      return replay(random, tree, {std::move(operation), std::move(contents)}, depth);
    case 10: {  // a part on a queue of its own
      if (tree.runtime && !tree.is_cell && random.one_in(2)) {
        return {std::move(operation) | async::schedule(any_policy(tree.device)) | boxed,
                std::move(contents)};
      }
      async::QueueRef queue = tree.queue.device().queue(random.below(queues_));
      return {std::move(operation) | async::on(std::move(queue)) | boxed, std::move(contents)};
    }
    case 11: {  // parts in any order; one may be dropped
      Draft other = grow(random, tree, random.below(depth));
      auto [first, second] = async::unzip(zip(std::move(operation), std::move(other.operation)));
      if (random.one_in(3)) return {std::move(second) | boxed, std::move(other.contents)};
      return {zip(std::move(second), std::move(first)) | async::last | boxed, std::move(contents)};
    }
    case 12: {  // each on a queue of its own
      if (tree.runtime || tree.is_cell) return {std::move(operation), std::move(contents)};
      Draft other = grow(random, tree, random.below(depth));
      return {async::join(std::move(operation), std::move(other.operation)) | async::last | boxed,
              std::move(other.contents)};
    }
    case 13:
      return {std::move(operation) | map([this](Tensor tensor) {
                std::optional<Tensor> again = (std::move(tensor) | async::share).try_unwrap();
                check(again.has_value(), "a share has one owner, and is no tensor");
                return *std::move(again);
              }) | boxed,
              std::move(contents)};
    case 14:
      if (plan_.faulty && random.one_in(3)) {
        ++faults_;
        tree.fails = true;
        Status status(StatusCode::kDataLoss, "planted");
        return {std::move(operation) | and_then([status](Tensor tensor) {
                  return Refused{std::move(tensor), status};
                }) | boxed,
                std::move(contents)};
      }
      [[fallthrough]];
    case 15:
      return {std::move(operation) | async::partition(kTile) | async::unpartition | boxed,
              std::move(contents)};
    default:
      return compute(random, tree, {std::move(operation), std::move(contents)}, depth);
  }
}

AsyncProgram::Draft AsyncProgram::leaf(Random& random, Tree& tree) {
  if (random.one_in(4)) {
    if (std::optional<Draft> draft = from_held(random, tree)) return *std::move(draft);
  }
  if (!random.one_in(3)) {
    if (std::optional<Draft> draft = from_slot(random, tree)) return *std::move(draft);
  }
  tree.allocates = true;
  const async::Shape shape{tree.size};
  switch (random.below(4)) {
    case 0:
      return {async::zeros<Element>(shape) | boxed, Contents(tree.size)};
    case 3: {
      Contents contents(tree.size);
      std::iota(contents.begin(), contents.end(), Element{0});
      return {async::arange<Element>(tree.size) | boxed, std::move(contents)};
    }
    case 1: {
      const auto element = static_cast<Element>(random.next());
      return {async::full<Element>(shape, element) | boxed, Contents(tree.size, element)};
    }
    default: {
      Contents contents = draw_contents(random, tree.size);
      return {async::from_host(contents, shape) | boxed, std::move(contents)};
    }
  }
}

std::optional<AsyncProgram::Draft> AsyncProgram::from_slot(Random& random, Tree& tree) {
  const std::size_t first = any_slot(random);
  std::size_t at = 0;
  const auto fits = [&](const Array& array) { return array.contents.size() == tree.size; };
  while (at < slots_.size() && !fits(slots_[(first + at) % slots_.size()])) ++at;
  if (at == slots_.size()) return {};
  Array& slot = slots_[(first + at) % slots_.size()];
  auto* const shared = std::get_if<Shared>(&slot.handle);
  const std::uint32_t from = slot.users->front()->device;
  // A tensor of another device is read. Without a common domain neither device sees the other's
  // memory.
  const bool reachable = shared != nullptr && !plan_.options.own_domains;
  if (from != tree.device && !reachable) return {};
  if (shared != nullptr) {
    tree.operands.push_back(slot.users->front());
    slot.users->push_back(&tree);
  } else {
    tree.operands.insert(tree.operands.end(), slot.users->begin(), slot.users->end());
  }
  if (from != tree.device) {
    tree.allocates = true;
    tree.devices |= 1u << from;
    return Draft{async::value(*shared) | async::copy_to(tree.queue) | boxed, slot.contents};
  }
  if (shared != nullptr && random.one_in(2)) {
    tree.allocates = true;
    return Draft{async::value(*shared) | and_then(copied) | boxed, slot.contents};
  }
  Array array = std::exchange(slot, {});
  Contents& contents = array.contents;
  if (auto* const tensor = std::get_if<Tensor>(&array.handle)) {
    return Draft{async::value(std::move(*tensor)) | boxed, std::move(contents)};
  }
  if (auto* const partition = std::get_if<Partition>(&array.handle)) {
    return Draft{async::value(std::move(*partition)) | async::unpartition | boxed,
                 std::move(contents)};
  }
  tree.allocates = true;
  return Draft{async::value(std::get<Shared>(std::move(array.handle))) | and_then(copied) | boxed,
               std::move(contents)};
}

}  // namespace halyard::inline v0::sim
