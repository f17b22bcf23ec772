// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KernelSignature: what a Kernel's declaration says, for the library to compare with the kernel.
#pragma once

#include <cstdint>
#include <string_view>

#include "halyard/hal/launch.h"
#include "halyard/hal/types.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async::detail {

struct KernelParameter {
  enum class Kind : std::uint8_t { kScalar, kInput, kOutput };
  Kind kind;
  kernel::ElementType type;
  hal::Extents tile{};  // of a Partition that has one
};

struct KernelSignature {
  const char* name;
  const char* file;
  hal::View<KernelParameter> parameters;  // of static storage
  bool unchecked;                         // outputs may be flat arrays
};

// One kernel declared twice is bound twice; nothing else comes of it.
inline bool operator==(const KernelSignature& a, const KernelSignature& b) noexcept {
  const auto same = [](const char* x, const char* y) { return x == y || std::string_view(x) == y; };
  return a.parameters.data() == b.parameters.data() && a.unchecked == b.unchecked &&
         same(a.name, b.name) && same(a.file, b.file);
}

}  // namespace halyard::inline v0::async::detail
