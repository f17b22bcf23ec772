// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KernelSignature: what a Kernel's declaration says, for the library to compare with the kernel.
#pragma once

#include <cstdint>
#include <string_view>

#include "halyard/hal/types.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async::detail {

struct KernelParameter {
  enum class Kind : std::uint8_t { kScalar, kInput, kOutput };
  Kind kind;
  kernel::ElementType type;
};

struct KernelSignature {
  const char* name;
  const char* file;
  hal::View<KernelParameter> parameters;  // of static storage
  bool unchecked;                         // outputs may be flat arrays
};

// One kernel declared twice is bound twice; nothing else comes of it.
inline bool operator==(const KernelSignature& a, const KernelSignature& b) noexcept {
  return a.parameters.data() == b.parameters.data() && a.unchecked == b.unchecked &&
         std::string_view(a.name) == b.name && std::string_view(a.file) == b.file;
}

}  // namespace halyard::inline v0::async::detail
