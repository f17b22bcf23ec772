// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

namespace halyard::inline v0::base {

timespec modification_time(const struct stat& info) noexcept { return info.st_mtimespec; }

}  // namespace halyard::inline v0::base
