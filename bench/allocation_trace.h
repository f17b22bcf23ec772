// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The allocations of B15.fragmented and N8.fragmented.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace halyard::bench {

// Sizes evenly distributed over the powers of two from 256 B to 1 MiB; a random buffer is replaced
// next.
struct Trace {
  static constexpr std::size_t kLive = 512, kSteps = 4096;
  struct Step {
    std::size_t slot;
    std::uint64_t size;
  };
  std::vector<Step> steps;
  std::uint64_t most_live = 0;

  Trace() {
    std::mt19937 random(1);
    std::vector<std::uint64_t> live(kLive);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < kSteps; ++i) {
      const std::uint64_t top = std::uint64_t{512} << random() % 12;
      const Step step{i < kLive ? i : random() % kLive, top / 2 + random() % (top / 2) + 1};
      bytes += step.size - std::exchange(live[step.slot], step.size);
      most_live = std::max(most_live, bytes);
      steps.push_back(step);
    }
  }
};

}  // namespace halyard::bench
