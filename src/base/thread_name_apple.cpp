// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/thread_name.h"

#include <pthread.h>

namespace halyard::inline v0::base {

void set_thread_name(const char* name) noexcept { ::pthread_setname_np(name); }

std::uint64_t thread_number() noexcept {
  std::uint64_t number = 0;
  ::pthread_threadid_np(::pthread_self(), &number);  // fails only for an invalid thread
  return number;
}

}  // namespace halyard::inline v0::base
