// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a small program (simulation/explore/program.h) many times under Relacy: in orders drawn at
// random, on the C++11 memory model. A load may return an old value unless the model forbids it.
// Atomics must order accesses to memory that is not atomic (simulation/explore/plain.h), and
// sleeping threads must be woken. Waiting for a futex does not synchronise, and may end spuriously;
// a deadline may pass at any point.
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
  std::uint64_t runs;  // that reached it
  std::uint64_t last_run;
};

struct WeakOptions {
  std::uint64_t runs = 1000;
  // If not null, decides which accesses are relaxed, whatever their order in the code.
  std::function<bool(const OrderedSite&)> relaxed;
};

struct WeakResult {
  std::string failure;  // Relacy's message and the history of the run; empty: success
  std::uint64_t runs = 0;
};

WeakResult run_on_weak_memory(void (*build)(Program&), const WeakOptions& options);

// The accesses that runs have reached so far.
std::span<const OrderedSite> ordered_sites();

}  // namespace halyard::inline v0::sim
