// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ends of threads and of the process. halyard-sim has its own (simulated_process.cpp).
#include "sim/cuda/process.h"
#include "sim/cuda/report.h"
#include "sim/cuda/state.h"
#include "sim/cuda/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

// Ends the streams that only a thread could name, so that their threads end too.
struct ThreadEnd : ThreadState {
  ~ThreadEnd() {
    const std::lock_guard lock(state().mutex);
    for (auto& [context, stream] : per_thread_streams) {
      stream->is_destroyed = true;
      stream->arrived.notify_all();
    }
  }
};

}  // namespace

ThreadState& make_thread() {
  thread_local ThreadEnd thread;
  made_thread = &thread;
  return thread;
}

// Nothing is freed, because threads of streams may still run.
__attribute__((destructor)) static void report_at_exit() {
  {
    const std::lock_guard lock(state().mutex);
    report_unreleased();
  }
  write_report();
}

}  // namespace halyard::inline v0::sim::cuda
