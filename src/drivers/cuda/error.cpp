// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/error.h"

#include "base/format.h"

namespace halyard::inline v0::cuda {
namespace {

struct Named {
  CUresult result;
  StatusCode code;
  const char* name;
};

constexpr Named kNamed[] = {
#define HALYARD_CUDA_NAMED(name, number, code) {name, StatusCode::code, #name},
    HALYARD_CUDA_RESULTS(HALYARD_CUDA_NAMED)
#undef HALYARD_CUDA_NAMED
};

const Named* find(CUresult result) noexcept {
  for (const Named& named : kNamed) {
    if (named.result == result) return &named;
  }
  return nullptr;
}

}  // namespace

StatusCode status_code(CUresult result) noexcept {
  const Named* const named = find(result);
  return named != nullptr ? named->code : StatusCode::kInternal;
}

std::string native_name(CUresult result) {
  const Named* const named = find(result);
  return base::format("{} ({})", named != nullptr ? named->name : "CUresult",
                      static_cast<int>(result));
}

Status to_status(CUresult result, std::string_view call) {
  if (result == CUDA_SUCCESS) return {};
  return Status(status_code(result), base::format("cuda: {} failed", call), native_name(result));
}

}  // namespace halyard::inline v0::cuda
