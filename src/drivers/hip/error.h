// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hipError_t as a Status.
#pragma once

#include <string>
#include <string_view>

#include "drivers/hip/results.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hip {

// Returns ok for hipSuccess. Otherwise the status has the code of results.h, the message "hip:
// <call> failed", and the name and number of the result as native error.
[[nodiscard]] Status to_status(hipError_t result, std::string_view call);

// Such as "hipErrorOutOfMemory (2)"; "hipError_t (77)" for a number that is not in results.h.
std::string native_name(hipError_t result);

StatusCode status_code(hipError_t result) noexcept;

}  // namespace halyard::inline v0::hip
