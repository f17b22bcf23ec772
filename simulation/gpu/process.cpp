// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/process.h"

#include <vector>

#include "simulation/gpu/report.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/state.h"

namespace halyard::inline v0::sim::gpu {

namespace {

std::vector<void (*)()>& resets() {
  static auto* const all = new std::vector<void (*)()>;
  return *all;
}

}  // namespace

void at_end_of_process(void (*reset)()) { resets().push_back(reset); }

void reset_process() {
  while (!resets().empty()) {
    void (*const reset)() = resets().back();
    resets().pop_back();
    reset();
  }
}

void report_unreleased() {
  const State& all = state();
  for (const auto& context : all.contexts) {
    if (context->is_destroyed.load()) continue;
    if (rules().has_contexts) {
      report_leak("exit", context->is_primary ? "primary contexts" : "contexts", 1, 0);
    }
    report_leaks(*context, "exit");
  }
  report_leak("exit", "graphs", all.live_graphs, 0);
  report_leak("exit", "executable graphs", all.live_execs, 0);
  report_leak("exit", "libraries", all.live_libraries, 0);
  report_leak("exit", "memory pools", all.live_pools, 0);
}

}  // namespace halyard::inline v0::sim::gpu
