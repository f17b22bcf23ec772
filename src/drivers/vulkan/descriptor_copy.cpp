// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/descriptor_copy.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/error_name.h"
#include "base/format.h"
#include "base/native_call.h"

namespace halyard::inline v0::vulkan {
namespace {

HALYARD_CALL_SITE(kDuplicate, "vulkan.duplicate", EMFILE);
HALYARD_CALL_SITE(kStat, "vulkan.stat", EBADF);
HALYARD_CALL_SITE(kLook, "vulkan.look", 0, base::Failing::kErrno,
                  "fstat(2) of the driver's own copy fails if the driver has closed it");

}  // namespace

Result<DescriptorCopy> DescriptorCopy::of(int descriptor) {
  base::Descriptor copy(
      base::native_call(kDuplicate, [&] { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }));
  struct stat file = {};
  if (copy.get() < 0 || base::native_call(kStat, [&] { return ::fstat(copy.get(), &file); }) != 0) {
    const int code = errno;
    return Status(code == EBADF ? StatusCode::kInvalidArgument : StatusCode::kResourceExhausted,
                  base::format("vulkan: descriptor {}: {}", descriptor, std::strerror(code)),
                  base::error_name(code));
  }
  return DescriptorCopy(descriptor, std::move(copy), file);
}

DescriptorCopy::~DescriptorCopy() {
  if (copy_.get() < 0) return;
  // If the driver has closed it, another file may have its number by now.
  struct stat now = {};
  if (base::native_call(kLook, [&] { return ::fstat(copy_.get(), &now); }) != 0 ||
      now.st_dev != file_.st_dev || now.st_ino != file_.st_ino) {
    (void)copy_.release();
  }
}

void DescriptorCopy::take() noexcept {
  (void)copy_.release();
  const base::Descriptor closes(callers_);
}

}  // namespace halyard::inline v0::vulkan
