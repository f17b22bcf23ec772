// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/errors.h"

#include <charconv>

#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {
namespace {

struct ErrorText {
  int value;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
#define HALYARD_HIP_ERROR(name, value, text) {value, #name, text},
#include "simulation/hip/errors.inc"
#undef HALYARD_HIP_ERROR
};

const ErrorText* find_error(int value) {
  for (const ErrorText& error : kErrors) {
    if (error.value == value) return &error;
  }
  return nullptr;
}

}  // namespace

const char* error_name(Result result) {
  const ErrorText* const error = find_error(result);
  return error != nullptr ? error->name : "hipErrorUnknown";
}

const char* error_text(Result result) {
  const ErrorText* const error = find_error(result);
  return error != nullptr ? error->text : "unknown error";
}

int error_from_name(std::string_view name) {
  constexpr std::string_view kPrefix = "hipError";
  for (const ErrorText& error : kErrors) {
    const std::string_view whole = error.name;
    if (name == whole || (whole.starts_with(kPrefix) && name == whole.substr(kPrefix.size()))) {
      return error.value;
    }
  }
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? number : -1;
}

HALYARD_HIP_EXPORT const char* hipGetErrorName(Result error) { return error_name(error); }

HALYARD_HIP_EXPORT const char* hipGetErrorString(Result error) { return error_text(error); }

// hip_error.cpp: these two return an error for an unknown number, but write a name nevertheless.
HALYARD_HIP_EXPORT Result hipDrvGetErrorName(Result error, const char** name) {
  HALYARD_HIP_CALL(hipDrvGetErrorName, gpu::kAnytime) {
    HALYARD_GPU_REQUIRE(name != nullptr, gpu::kInvalidValue);
    *name = error_name(error);
    return find_error(error) != nullptr ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipDrvGetErrorString(Result error, const char** text) {
  HALYARD_HIP_CALL(hipDrvGetErrorString, gpu::kAnytime) {
    HALYARD_GPU_REQUIRE(text != nullptr, gpu::kInvalidValue);
    *text = error_text(error);
    return find_error(error) != nullptr ? kSuccess : gpu::kInvalidValue;
  };
}

// These two do not count as calls: they neither fail nor set the last error.
HALYARD_HIP_EXPORT Result hipGetLastError() {
  static constinit gpu::Entry entry("hipGetLastError", true);
  entry.count();
  const Result last = hip_thread().last_error;
  hip_thread().last_error = kSuccess;
  return last;
}

HALYARD_HIP_EXPORT Result hipExtGetLastError() {
  static constinit gpu::Entry entry("hipExtGetLastError", true);
  entry.count();
  const Result last = hip_thread().last_error;
  hip_thread().last_error = kSuccess;
  return last;
}

HALYARD_HIP_EXPORT Result hipPeekAtLastError() {
  static constinit gpu::Entry entry("hipPeekAtLastError", true);
  entry.count();
  return hip_thread().last_error;
}

}  // namespace halyard::inline v0::sim::hip
