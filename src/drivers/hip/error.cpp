// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/hip/error.h"

#include "base/format.h"

namespace halyard::inline v0::hip {

StatusCode status_code(hipError_t result) noexcept {
  switch (result) {
#define HALYARD_HIP_CASE(name, number, code) \
  case name:                                 \
    return StatusCode::code;
    HALYARD_HIP_RESULTS(HALYARD_HIP_CASE)
#undef HALYARD_HIP_CASE
  }
  return StatusCode::kInternal;
}

std::string native_name(hipError_t result) {
  const char* name = "hipError_t";
  switch (result) {
#define HALYARD_HIP_CASE(known, number, code) \
  case known:                                 \
    name = #known;                            \
    break;
    HALYARD_HIP_RESULTS(HALYARD_HIP_CASE)
#undef HALYARD_HIP_CASE
  }
  return base::format("{} ({})", name, static_cast<int>(result));
}

Status to_status(hipError_t result, std::string_view call) {
  if (result == hipSuccess) return {};
  return Status(status_code(result), base::format("hip: {} failed", call), native_name(result));
}

}  // namespace halyard::inline v0::hip
