// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <unistd.h>

#include "base/machine.h"

namespace halyard::inline v0::base {

// Not in POSIX, but on every system that has it.
unsigned processor_count() noexcept {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

}  // namespace halyard::inline v0::base
