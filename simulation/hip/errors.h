// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and descriptions of hipError_t.
#pragma once

#include <string_view>

#include "simulation/hip/abi.h"

namespace halyard::inline v0::sim::hip {

// Returns "hipErrorUnknown" for an unknown number.
const char* error_name(Result result);
const char* error_text(Result result);

// The number of a name, with or without "hipError"; -1 if unknown.
int error_from_name(std::string_view name);

}  // namespace halyard::inline v0::sim::hip
