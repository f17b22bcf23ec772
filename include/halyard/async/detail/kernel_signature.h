// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KernelSignature: the declaration of a Kernel, which the library compares with the kernel.
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
  hal::Extents tile{};  // rank 0 unless the parameter is a Partition with a tile
};

struct KernelSignature {
  const char* name;
  const char* file;
  hal::View<KernelParameter> parameters;  // of static storage
  bool unchecked;                         // the kernel may write flat arrays
  const char* function = nullptr;         // that was called, for messages; null: the kernel itself

  const char* called() const noexcept { return function != nullptr ? function : name; }
};

// Different for a kernel that is declared twice: it is then only bound twice.
inline bool operator==(const KernelSignature& a, const KernelSignature& b) noexcept {
  const auto same = [](const char* x, const char* y) { return x == y || std::string_view(x) == y; };
  return a.parameters.data() == b.parameters.data() && a.unchecked == b.unchecked &&
         same(a.name, b.name) && same(a.file, b.file);
}

}  // namespace halyard::inline v0::async::detail
