// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/thread_name.h"

#include <pthread.h>

#include <atomic>

namespace halyard::inline v0::base {

// The form of glibc, musl and the BSDs: POSIX names no threads.
void set_thread_name(const char* name) noexcept { ::pthread_setname_np(::pthread_self(), name); }

std::uint64_t thread_number() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  static thread_local const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace halyard::inline v0::base
