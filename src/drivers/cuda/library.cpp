// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/library.h"

#include <cstdlib>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/cuda/error.h"
#include "drivers/cuda/loader.h"

namespace halyard::inline v0::cuda {
namespace {

std::string file_of(std::string_view chosen) {
  if (!chosen.empty()) return std::string(chosen);
  const char* const variable = std::getenv("HALYARD_CUDA_LIBRARY");
  return variable != nullptr && *variable != '\0' ? variable : "libcuda.so.1";
}

}  // namespace

Result<const Library*> Library::open(std::string_view chosen) {
  std::string file = file_of(chosen);
  auto& [mutex, libraries] = loaded_libraries();
  base::LockGuard lock(mutex);
  for (const Library* known = libraries; known != nullptr; known = known->next_.get()) {
    if (known->file_ == file) return known;
  }
  std::unique_ptr<Library> library(new (std::nothrow) Library(std::move(file)));
  if (library == nullptr) {
    return error(StatusCode::kResourceExhausted, "cuda: no memory for the library");
  }
  HALYARD_RETURN_IF_ERROR(library->load());
  library->next_.reset(libraries);
  libraries = library.release();
  return static_cast<const Library*>(libraries);
}

Status Library::load() {
  std::string reason;
  void* const handle = open_library(file_.c_str(), reason);
  if (handle == nullptr) {
    return error(StatusCode::kNotFound, "cuda: {} cannot be opened: {}", file_, reason);
  }
  if (const char* const missing = functions_.load(handle); missing != nullptr) {
    return error(StatusCode::kUnavailable, "cuda: {} has no {}; a driver of CUDA 11.4 is needed",
                 file_, missing);
  }
  if (const CUresult result = functions_.cuInit(0u); result != CUDA_SUCCESS) {
    const Status status = to_status(result, "cuInit");
    if (status.code() == StatusCode::kNotFound) return status;
    // A kernel module of another version, a container without devices ...: also CUDA_ERROR_UNKNOWN.
    return Status(StatusCode::kUnavailable, status.message(), status.native_error());
  }
  int version = 0;
  HALYARD_RETURN_IF_ERROR(to_status(functions_.cuDriverGetVersion(&version), "cuDriverGetVersion"));
  HALYARD_ASSIGN_OR_RETURN(devices_, find_physical_devices(functions_, version));
  if (devices_.empty()) return error(StatusCode::kNotFound, "cuda: there is no device");
  if (devices_.size() > kMaxDevices) devices_.resize(kMaxDevices);
  return {};
}

}  // namespace halyard::inline v0::cuda
