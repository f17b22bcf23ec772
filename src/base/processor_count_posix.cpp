// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <unistd.h>

#include "base/machine.h"

namespace halyard::inline v0::base {

// _SC_NPROCESSORS_ONLN is not in POSIX, but all POSIX systems have it.
unsigned processor_count() noexcept {
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

}  // namespace halyard::inline v0::base
