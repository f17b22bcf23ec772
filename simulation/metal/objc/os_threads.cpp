// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the system. Objects that are still in a thread's pools are released when the thread
// ends, but not by exit() on the main thread. Apple's runtime (objc4, NSObject.mm, tls_dealloc)
// does the same in a destructor of a pthread key, which exit() does not run.
#include <pthread.h>

#include "simulation/metal/objc/thread_state.h"

namespace halyard::inline v0::sim::objc {
namespace {

thread_local ThreadState* own = nullptr;

void end_thread(void* state) {
  static_cast<ThreadState*>(state)->release_down_to(0);
  own = nullptr;
  delete static_cast<ThreadState*>(state);
}

pthread_key_t make_key() {
  pthread_key_t key{};
  pthread_key_create(&key, end_thread);
  return key;
}

}  // namespace

ThreadState& this_thread() {
  if (own == nullptr) {
    static const pthread_key_t key = make_key();
    own = new ThreadState;
    pthread_setspecific(key, own);
  }
  return *own;
}

}  // namespace halyard::inline v0::sim::objc
