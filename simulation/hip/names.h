// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exported functions by name.
#pragma once

#include <span>
#include <string_view>

namespace halyard::inline v0::sim::hip {

struct Name {
  std::string_view name;
  int since;  // version of HIP
  int (*function)();
};

// Sorted by name.
std::span<const Name> names();

}  // namespace halyard::inline v0::sim::hip
