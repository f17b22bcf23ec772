// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the system. Objects that are still in a thread's pools are released when the thread
// ends, but not by exit() on the main thread. Apple's runtime (objc4, NSObject.mm, tls_dealloc)
// does the same in a destructor of a pthread key, which exit() does not run.
#include <pthread.h>

#include "base/mutex.h"
#include "simulation/metal/objc/thread_state.h"

namespace halyard::inline v0::sim::objc {
namespace {

// Linked, so that leak checkers reach the states of threads that still run when the process ends:
// they do not see all thread-local variables of libraries.
struct Owned {
  ThreadState state;
  Owned* next = nullptr;
  Owned* previous = nullptr;
};

constinit base::Mutex mutex;  // guards the links
constinit Owned* first = nullptr;
thread_local Owned* own = nullptr;

void end_thread(void* ended) {
  auto* const it = static_cast<Owned*>(ended);
  it->state.release_down_to(0);
  own = nullptr;
  {
    base::LockGuard lock(mutex);
    (it->previous != nullptr ? it->previous->next : first) = it->next;
    if (it->next != nullptr) it->next->previous = it->previous;
  }
  delete it;
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
    own = new Owned;
    {
      base::LockGuard lock(mutex);
      own->next = first;
      if (first != nullptr) first->previous = own;
      first = own;
    }
    pthread_setspecific(key, own);
  }
  return own->state;
}

}  // namespace halyard::inline v0::sim::objc
