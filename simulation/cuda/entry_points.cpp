// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuGetProcAddress, names of errors, and the functions of cudaProfiler.h.
#include <string_view>

#include "simulation/cuda/abi.h"
#include "simulation/cuda/names.h"
#include "simulation/gpu/call.h"
#include "simulation/gpu/options.h"

namespace halyard::inline v0::sim::cuda {
namespace {

struct ErrorText {
  int value;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
#define HALYARD_CUDA_ERROR(name, value, text) {value, #name, text},
#include "simulation/cuda/errors.inc"
#undef HALYARD_CUDA_ERROR
};

const ErrorText* find_error(int value) {
  for (const ErrorText& error : kErrors) {
    if (error.value == value) return &error;
  }
  return nullptr;
}

constexpr std::uint64_t kFlagLegacy = 1, kFlagPerThread = 2;
enum Status : int { kFound = 0, kNotFoundSymbol = 1, kTooNew = 2 };

// The version since which cuda.h maps these names to others (its section of defines at the top).
constexpr struct {
  std::string_view name, other;
  int version;
} kRenamed[] = {{"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000}};

Result get_proc_address(const char* symbol, void** function, int version, std::uint64_t flags,
                        int* status) {
  HALYARD_GPU_REQUIRE(symbol != nullptr && function != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(flags <= (kFlagLegacy | kFlagPerThread), kInvalidValue);
  *function = nullptr;
  // cuda.h, cuGetProcAddress: CUDA_ERROR_INVALID_VALUE for a version above the driver's
  HALYARD_GPU_REQUIRE(version <= options().driver_version, kInvalidValue);
  std::string_view wanted = symbol;
  for (const auto& renamed : kRenamed) {
    if (wanted == renamed.name && version >= renamed.version) wanted = renamed.other;
  }
  const bool per_thread = (flags & kFlagPerThread) != 0;
  const Name* best = nullptr;
  bool is_known = false;
  for (const Name& name : names()) {
    if (name.name != wanted) continue;
    is_known = true;
    if (name.version > version || (name.is_per_thread && !per_thread)) continue;
    // Select the highest version, and of those the form for the default stream that the flags
    // request.
    if (best == nullptr || name.version > best->version ||
        (name.is_per_thread && !best->is_per_thread)) {
      if (best != nullptr && best->is_per_thread && !name.is_per_thread) continue;
      best = &name;
    }
  }
  // cuda.h: an unknown name is not an error; the pointer is null.
  if (status != nullptr) *status = best != nullptr ? kFound : is_known ? kTooNew : kNotFoundSymbol;
  if (best != nullptr) *function = reinterpret_cast<void*>(best->function);
  return kSuccess;
}

}  // namespace

HALYARD_GPU_EXPORT Result cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                              std::uint64_t flags, int* status) {
  HALYARD_GPU_CALL(cuGetProcAddress_v2, kAnytime);
  return get_proc_address(symbol, function, version, flags, status);
}

HALYARD_GPU_EXPORT Result cuGetProcAddress(const char* symbol, void** function, int version,
                                           std::uint64_t flags) {
  HALYARD_GPU_CALL(cuGetProcAddress, kAnytime);
  return get_proc_address(symbol, function, version, flags, nullptr);
}

HALYARD_GPU_EXPORT Result cuGetErrorName(Result error, const char** name) {
  HALYARD_GPU_CALL(cuGetErrorName, kAnytime);
  HALYARD_GPU_REQUIRE(name != nullptr, kInvalidValue);
  const ErrorText* const found = find_error(error);
  *name = found != nullptr ? found->name : nullptr;
  return found != nullptr ? kSuccess : kInvalidValue;
}

HALYARD_GPU_EXPORT Result cuGetErrorString(Result error, const char** text) {
  HALYARD_GPU_CALL(cuGetErrorString, kAnytime);
  HALYARD_GPU_REQUIRE(text != nullptr, kInvalidValue);
  const ErrorText* const found = find_error(error);
  *text = found != nullptr ? found->text : nullptr;
  return found != nullptr ? kSuccess : kInvalidValue;
}

HALYARD_GPU_EXPORT Result cuProfilerStart() {
  HALYARD_GPU_CALL(cuProfilerStart, kInitialized);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuProfilerStop() {
  HALYARD_GPU_CALL(cuProfilerStop, kInitialized);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
