// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of halyard-sim: fibers.
#include <memory>
#include <vector>

#include "base/thread.h"
#include "simulation/metal/objc/thread_state.h"

namespace halyard::inline v0::sim::objc {

ThreadState& this_thread() {
  // By the scheduler's numbers. Not guarded: no other simulated thread runs meanwhile.
  static auto* const threads = new std::vector<std::unique_ptr<ThreadState>>;
  const std::uint64_t number = base::this_thread();
  if (threads->size() <= number) threads->resize(number + 1);
  std::unique_ptr<ThreadState>& thread = (*threads)[number];
  if (thread == nullptr) thread = std::make_unique<ThreadState>();
  return *thread;
}

}  // namespace halyard::inline v0::sim::objc
