// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions by name.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "simulation/hip/call.h"
#include "simulation/hip/names.h"
#include "simulation/hip/per_thread.h"

namespace halyard::inline v0::sim::hip {
namespace {

enum Status : int { kFound = 0, kNoSuchName = 1, kTooOld = 2 };

const Name* find(std::string_view name) {
  const std::span<const Name> all = names();
  const auto at = std::ranges::lower_bound(all, name, {}, &Name::name);
  return at != all.end() && at->name == name ? &*at : nullptr;
}

// `version` is HIP_VERSION of the caller's headers: headers of 6.0 and later select the newer
// layouts by macros.
Result get_address(const char* symbol, void** function, int version, int* status) {
  if (symbol == nullptr) {
    gpu::report_misuse("null-symbol",
                       "hipGetProcAddress was called without a name, on which the "
                       "real library ends the process");
    return gpu::kInvalidValue;
  }
  HALYARD_GPU_REQUIRE(function != nullptr, gpu::kInvalidValue);
  std::string_view name = symbol;
  if (version / 10'000'000 >= 6) {
    if (name == "hipGetDeviceProperties") name = "hipGetDevicePropertiesR0600";
    if (name == "hipChooseDevice") name = "hipChooseDeviceR0600";
  }
  *function = nullptr;
  const Name* const found = find(name);
  const bool is_there = found != nullptr && found->since <= settings().version;
  if (status != nullptr) *status = is_there ? kFound : kNoSuchName;
  HALYARD_GPU_REQUIRE(is_there, gpu::kInvalidValue);
  *function = reinterpret_cast<void*>(found->function);
  return kSuccess;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipGetProcAddress(const char* symbol, void** function, int version,
                                            std::uint64_t, int* status) {
  HALYARD_HIP_CALL(hipGetProcAddress, gpu::kAnytime) {
    return get_address(symbol, function, version, status);
  };
}

HALYARD_HIP_EXPORT Result hipGetDriverEntryPoint(const char* symbol, void** function,
                                                 unsigned long long, int* status) {
  HALYARD_HIP_CALL(hipGetDriverEntryPoint, gpu::kAnytime) {
    return get_address(symbol, function, hip_version(), status);
  };
}

// Names the numbers that tracers get; there are no tracers here.
HALYARD_HIP_EXPORT const char* hipApiName(std::uint32_t) { return "unknown"; }

HALYARD_HIP_PER_THREAD(hipGetProcAddress, 5)
HALYARD_HIP_PER_THREAD(hipGetDriverEntryPoint, 4)

}  // namespace halyard::inline v0::sim::hip
