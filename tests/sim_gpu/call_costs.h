// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the nanoseconds per call of a GPU's library, in a single-threaded loop.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace halyard::testing {

inline constexpr int kCalls = 200'000, kRounds = 7;

inline void require(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: %d\n", what, result);
  std::exit(1);
}

// The fastest of some rounds, so that a round in which another process ran does not count.
template <class Call>
void measure(const char* name, Call call) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) require(call(), name);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - began;
    best = std::min(best, spent.count() / kCalls);
  }
  std::printf("| %s | %.1f |\n", name, best);
}

}  // namespace halyard::testing
