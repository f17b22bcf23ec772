// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/error_name.h"

#include <cstring>

namespace halyard::inline v0::base {

const char* error_name(int number) noexcept { return ::strerrorname_np(number); }

const char* error_text(int number) noexcept { return ::strerrordesc_np(number); }

}  // namespace halyard::inline v0::base
