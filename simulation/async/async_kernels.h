// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of simulated.hyk as async calls them, and their effect on reference contents.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "halyard/async.h"
#include "simulation/async/async_operations.h"

namespace halyard::inline v0::sim {

// y += a * x, with x reversed. Restarts at the end of x when y is longer.
inline constexpr async::Kernel<void(Element, const Tensor&, Tensor&)> kAddReversed{"add_reversed",
                                                                                   "simulated"};
inline void add_reversed(Element a, std::span<const Element> x, Contents& y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[x.size() - 1 - i % x.size()];
}

// x, y = y, x + y
inline constexpr async::Kernel<void(Tensor&, Tensor&)> kAddAndSwap{"add_and_swap", "simulated"};
inline void add_and_swap(Contents& x, Contents& y) {
  for (std::size_t i = 0; i < y.size(); ++i) x[i] = std::exchange(y[i], x[i] + y[i]);
}

// A part of a share that begins at element `first`.
struct Part {
  static Part any(Random& random, std::size_t size) {
    const std::size_t first = random.below(size);
    return {first, random.between(1, size - first)};
  }
  Shared operator()(const Shared& share) const { return share.rows(first, count); }
  std::span<const Element> operator()(const Contents& contents) const {
    return std::span(contents).subspan(first, count);
  }
  std::size_t first = 0, count = 0;
};

}  // namespace halyard::inline v0::sim
