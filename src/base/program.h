// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The running program: its file, its name, its environment. From any thread.
#pragma once

#include <string>

#include "halyard/base/export.h"

namespace halyard::inline v0::base {

// The value of an environment variable. Null if it is not set, or if the program runs with more
// rights than its caller, which controls the value.
HALYARD_EXPORT const char* environment(const char* name) noexcept;

// The path of the program's file, absolute and without links; empty if the system does not report
// it.
HALYARD_EXPORT std::string program_path();

// The last part of the name by which the program was started.
HALYARD_EXPORT const char* program_name() noexcept;

}  // namespace halyard::inline v0::base
