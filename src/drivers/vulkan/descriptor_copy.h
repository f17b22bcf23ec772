// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DescriptorCopy: a copy of a file descriptor, for Vulkan to import. A successful import takes its
// descriptor, and a failed import leaves it to the caller (vkspec VK_KHR_external_memory_fd), but
// Mesa's lavapipe closes it in both cases. So Vulkan never gets the caller's descriptor.
#pragma once

#include <sys/stat.h>

#include <utility>

#include "base/file.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::vulkan {

class DescriptorCopy {
 public:
  // Returns kInvalidArgument if `descriptor` is not a descriptor, and kResourceExhausted.
  static Result<DescriptorCopy> of(int descriptor);
  DescriptorCopy(DescriptorCopy&&) noexcept = default;
  // Closes the copy, unless Vulkan has closed it.
  ~DescriptorCopy();

  int get() const noexcept { return copy_.get(); }
  // Closes the caller's descriptor. Called after the import and all later steps have succeeded.
  void take() noexcept;

 private:
  DescriptorCopy(int callers, base::Descriptor copy, const struct stat& file) noexcept
      : callers_(callers), copy_(std::move(copy)), file_(file) {}

  int callers_;
  base::Descriptor copy_;
  struct stat file_;  // the file of the copy
};

}  // namespace halyard::inline v0::vulkan
