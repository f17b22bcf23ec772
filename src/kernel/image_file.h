// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ImageFile: a file of this process for the dynamic linker to load.
#pragma once

#include "base/file.h"

namespace halyard::inline v0::kernel {

struct ImageFile {
  // The call that creates it, for messages.
  static const char* const kCreatedBy;

  // Creates an empty file, open for writing. If the system refuses it, the descriptor is negative
  // and the error is in errno.
  static ImageFile create() noexcept;
  // Removes its name, if it has one on a disk, once it is loaded or no longer needed.
  void remove_name() noexcept;

  base::Descriptor descriptor{-1};
  // Null-terminated; valid while the descriptor is open and before remove_name(). An array, because
  // memory may be exhausted when it is needed.
  char path[256] = {};
};

}  // namespace halyard::inline v0::kernel
