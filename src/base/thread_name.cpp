// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/thread_name.h"

#include <pthread.h>
#include <unistd.h>

namespace halyard::inline v0::base {

void set_thread_name(const char* name) noexcept { ::pthread_setname_np(::pthread_self(), name); }

std::uint64_t thread_number() noexcept { return static_cast<std::uint64_t>(::gettid()); }

}  // namespace halyard::inline v0::base
