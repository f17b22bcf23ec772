// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AsyncProgram: calls of kernels. Some are the simulation's own and run over partitions, the others
// ship with async.
#include <utility>

#include "simulation/async/async_kernels.h"
#include "simulation/async/async_program.h"

namespace halyard::inline v0::sim {
namespace {

using async::boxed;
using async::map;

}  // namespace

// Applies a kernel to the draft and another operand.
AsyncProgram::Draft AsyncProgram::compute(Random& random, Tree& tree, Draft draft,
                                          std::uint64_t depth) {
  // The code of a kernel is in the device's memory.
  if (plan_.driver == Plan::Driver::kHip) tree.allocates = true;
  auto [operation, contents] = std::move(draft);
  auto [other, operand] = grow(random, tree, random.below(depth));
  const auto a = static_cast<Element>(random.next());
  const auto tile = async::partition(random.between(kTile, 2 * tree.size + kTile));
  switch (random.below(8)) {
    case 0: {  // its operand is dropped with the call
      add_reversed(a, operand, contents);
      return {kAddReversed(a, std::move(other), std::move(operation) | tile) | async::last |
                  async::unpartition | boxed,
              std::move(contents)};
    }
    case 1:
    case 2: {  // a part of a share that may also be in a slot
      const Part part = Part::any(random, tree.size);
      add_reversed(a, part(operand), contents);
      auto share = std::move(other) | async::share |
                   map([leaves = random.one_in(2),
                        put = any_destination(random, tree, std::move(operand))](Shared shared) {
                     if (leaves) put(shared);
                     return shared;
                   }) |
                   map(part);
      return {kAddReversed(a, std::move(share), std::move(operation) | tile) | async::last |
                  async::unpartition | boxed,
              std::move(contents)};
    }
    case 3:
    case 4: {  // writes both tensors
      add_and_swap(contents, operand);
      auto both = kAddAndSwap(std::move(operation) | tile, std::move(other) | tile);
      if (random.one_in(2)) {
        return {std::move(both) | async::first | async::unpartition | boxed, std::move(contents)};
      }
      return {std::move(both) | async::last | async::unpartition | boxed, std::move(operand)};
    }
    case 5:
    case 6: {  // over flat arrays; into a new tensor or an existing one
      for (std::size_t i = 0; i < contents.size(); ++i) contents[i] *= operand[i];
      if (random.one_in(2)) {
        Draft into = grow(random, tree, 0);
        return {async::mul(std::move(operation), std::move(other) | async::share,
                           std::move(into.operation)) |
                    boxed,
                std::move(contents)};
      }
      tree.allocates = true;
      return {async::mul(std::move(operation), std::move(other)) | boxed, std::move(contents)};
    }
    default: {
      for (Element& element : operand) element *= a;
      return {async::scale(std::move(other), a, std::move(operation)) | boxed, std::move(operand)};
    }
  }
}

}  // namespace halyard::inline v0::sim
