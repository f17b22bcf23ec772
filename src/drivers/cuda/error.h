// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUresult as a Status.
#pragma once

#include <string>
#include <string_view>

#include "drivers/cuda/results.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::cuda {

// Returns ok for CUDA_SUCCESS. Otherwise the status has the code of results.h, the message "cuda:
// <call> failed", and the name and number of the result as native error.
[[nodiscard]] Status to_status(CUresult result, std::string_view call);

// Such as "CUDA_ERROR_OUT_OF_MEMORY (2)"; "CUresult (77)" for a number that CUDA 13.0 does not
// define.
std::string native_name(CUresult result);

StatusCode status_code(CUresult result) noexcept;

}  // namespace halyard::inline v0::cuda
