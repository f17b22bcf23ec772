// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the system by name. From any thread.
#pragma once

#include "halyard/base/export.h"

namespace halyard::inline v0::base {

// The name of an errno value, "ENOENT"; null for a number that has none.
HALYARD_EXPORT const char* error_name(int number) noexcept;
// What it means, "No such file or directory"; null for a number that has no meaning.
HALYARD_EXPORT const char* error_text(int number) noexcept;

}  // namespace halyard::inline v0::base
