// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ends of threads and of the process, and children of fork(2). halyard-sim has its own
// (simulated_process.cpp).
#include <pthread.h>

#include <memory>
#include <vector>

#include "simulation/gpu/options.h"
#include "simulation/gpu/process.h"
#include "simulation/gpu/report.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/state.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {
namespace {

pthread_key_t thread_key;
bool has_thread_key = false;

// Ends the streams that only this thread could name, so that their threads end as well. A later
// call of the thread, from another key's destructor, creates a new state.
void end_thread(void* ended) {
  const std::unique_ptr<ThreadState> thread(static_cast<ThreadState*>(ended));
  made_thread = nullptr;
  const std::lock_guard lock(state().mutex);
  for (auto& [context, stream] : thread->per_thread_streams) {
    stream->is_destroyed = true;
    stream->arrived.notify_all();
  }
}

// The child has only the thread that called fork(2), so no other thread may hold a lock during the
// fork. An initialized driver is unusable in the child, where no thread would complete its work.
void before_fork() {
  // Creates these objects now, so that no other thread is in their construction during the fork.
  // Reads the options only if the library was called: until the first call the program may set the
  // variables.
  if (Entry::is_any_known()) (void)options();
  (void)memory();
  state().mutex.lock();
  lock_report();
}
void unlock_all() {
  unlock_report();
  state().mutex.unlock();
}
void in_child() {
  State& all = state();
  if (all.is_initialized.exchange(false)) all.is_child = true;
  unlock_all();
}

__attribute__((constructor)) void prepare_process() {
  has_thread_key = pthread_key_create(&thread_key, &end_thread) == 0;
  pthread_atfork(&before_fork, &unlock_all, &in_child);
}

}  // namespace

// Uses a pthread key instead of a thread_local object with a destructor, because the program's own
// thread_local objects, and its globals on the first thread, may call the driver after such an
// object is destroyed. A key's destructor runs after them, and does not run on the thread that
// calls exit(3).
ThreadState& make_thread() {
  made_thread = new ThreadState;
  if (has_thread_key) pthread_setspecific(thread_key, made_thread);
  return *made_thread;
}

std::vector<int> visible_devices(int count) { return rules().visible_devices(count); }

// Nothing is freed, because threads of streams may still run and the program may still call.
__attribute__((destructor)) static void report_at_exit() {
  {
    const std::lock_guard lock(state().mutex);
    if (state().is_child) return;  // the report is its parent's
    report_unreleased();
  }
  write_report();
}

}  // namespace halyard::inline v0::sim::gpu
