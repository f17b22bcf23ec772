// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of the process, and children of fork(2). halyard-sim has neither.
#include <pthread.h>

#include "simulation/metal/framework/device.h"
#include "simulation/metal/framework/process.h"

namespace halyard::inline v0::sim::metal {
namespace {

// A child has only the thread that called fork(2): nothing would execute its command buffers.
void before_fork() { state().mutex.lock(); }
void in_parent() { state().mutex.unlock(); }
void in_child() {
  state().is_child.store(true);
  state().mutex.unlock();
}

__attribute__((constructor)) void prepare_process() {
  pthread_atfork(&before_fork, &in_parent, &in_child);
}

// Nothing is freed, because queues' threads may still run, and the program may still call Metal.
__attribute__((destructor)) void report_at_exit() {
  if (state().is_child.load()) return;
  write_report();
  const gpu::Lock lock(state().mutex);
  join_ended_workers();
}

}  // namespace
}  // namespace halyard::inline v0::sim::metal
