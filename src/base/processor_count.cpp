// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sched.h>

#include <algorithm>

#include "base/machine.h"

namespace halyard::inline v0::base {

unsigned processor_count() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace halyard::inline v0::base
