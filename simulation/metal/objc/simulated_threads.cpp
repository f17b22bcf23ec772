// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of halyard-sim: fibers.
#include <memory>
#include <vector>

#include "base/thread.h"
#include "simulation/metal/objc/thread_state.h"

namespace halyard::inline v0::sim::objc {

namespace {

// By the scheduler's thread numbers. Needs no lock: no other simulated thread runs meanwhile.
std::vector<std::unique_ptr<ThreadState>>& threads() {
  static auto* const all = new std::vector<std::unique_ptr<ThreadState>>;
  return *all;
}

}  // namespace

ThreadState& this_thread() {
  const std::uint64_t number = base::this_thread();
  if (threads().size() <= number) threads().resize(number + 1);
  std::unique_ptr<ThreadState>& thread = threads()[number];
  if (thread == nullptr) thread = std::make_unique<ThreadState>();
  return *thread;
}

void forget_threads() {
  for (std::size_t i = 0; i < threads().size(); ++i) {
    if (threads()[i] != nullptr) threads()[i]->release_down_to(0);
  }
  threads().clear();
  threads().shrink_to_fit();
}

}  // namespace halyard::inline v0::sim::objc
