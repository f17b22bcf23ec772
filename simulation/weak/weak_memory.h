// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a small program (simulation/explore/program.h) many times under Relacy: in orders drawn at
// random, on the C++11 memory model. A load may see an old value where nothing forbids it, memory
// that is not atomic (simulation/explore/plain.h) must be ordered by what is, and what sleeps must
// be woken. Waiting for a futex synchronises nothing, and may end without a reason; a deadline may
// pass at any point.
//
// Limits of the model: it has no load buffering (loads that read the results of stores later in
// program order), and a load chooses from the last three values of an atomic only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "simulation/explore/program.h"

namespace halyard::inline v0::sim {

// A place in the source where an atomic is accessed with more than relaxed order.
struct OrderedSite {
  const char* file;
  const char* function;
  unsigned line;
  const char* access;  // "load", "store", "exchange", "fence" ...
  std::uint64_t runs;  // in which it was reached
  std::uint64_t last_run;
};

struct WeakOptions {
  std::uint64_t runs = 1000;
  // Not null: relaxed where it says so, whatever the code says.
  std::function<bool(const OrderedSite&)> relaxed;
};

struct WeakResult {
  std::string failure;  // Relacy's words and the history of the run; empty: there was none
  std::uint64_t runs = 0;
};

WeakResult run_on_weak_memory(void (*build)(Program&), const WeakOptions& options);

// All that runs have reached so far.
std::span<const OrderedSite> ordered_sites();

}  // namespace halyard::inline v0::sim
