// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Autorelease pools. The token of a pool is the number of objects that its thread had autoreleased
// when the pool began.
#include "simulation/metal/objc/accounting.h"
#include "simulation/metal/objc/runtime.h"
#include "simulation/metal/objc/thread_state.h"

namespace halyard::inline v0::sim::objc {

void ThreadState::release_down_to(std::size_t size) {
  while (autoreleased.size() > size) {
    Object* const last = autoreleased.back();
    autoreleased.pop_back();
    send<void>(last, selectors().release);
  }
}

}  // namespace halyard::inline v0::sim::objc

using namespace halyard::sim::objc;

HALYARD_OBJC_EXPORT void* objc_autoreleasePoolPush() {
  ThreadState& thread = this_thread();
  ++thread.pools;
  return reinterpret_cast<void*>(thread.autoreleased.size() + 1);
}

HALYARD_OBJC_EXPORT void objc_autoreleasePoolPop(void* token) {
  ThreadState& thread = this_thread();
  thread.release_down_to(reinterpret_cast<std::size_t>(token) - 1);
  if (thread.pools != 0) --thread.pools;
}

HALYARD_OBJC_EXPORT Object* _objc_rootAutorelease(Object* object) {
  if (object == nullptr) return nullptr;
  ThreadState& thread = this_thread();
  if (thread.pools == 0) {
    report(Misuse::kMissingPool, "an object of class " + object->isa->state->name +
                                     " is autoreleased where no pool is");
  }
  thread.autoreleased.push_back(object);
  return object;
}
