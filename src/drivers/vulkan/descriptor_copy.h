// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DescriptorCopy: what Vulkan gets to import. An import that succeeds takes its descriptor, and one
// that fails leaves it to the caller (vkspec VK_KHR_external_memory_fd); but Mesa's lavapipe closes
// it in both cases. So the caller's own stays out of it.
#pragma once

#include <sys/stat.h>

#include <utility>

#include "base/file.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::vulkan {

class DescriptorCopy {
 public:
  // kInvalidArgument: `descriptor` is none. kResourceExhausted.
  static Result<DescriptorCopy> of(int descriptor);
  DescriptorCopy(DescriptorCopy&&) noexcept = default;
  // Closes the copy, unless Vulkan has.
  ~DescriptorCopy();

  int get() const noexcept { return copy_.get(); }
  // The import has succeeded, and all that could fail after it: closes the caller's.
  void take() noexcept;

 private:
  DescriptorCopy(int callers, base::Descriptor copy, const struct stat& file) noexcept
      : callers_(callers), copy_(std::move(copy)), file_(file) {}

  int callers_;
  base::Descriptor copy_;
  struct stat file_;  // that it refers to
};

}  // namespace halyard::inline v0::vulkan
