// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels from the enumerators that HY_KERNEL leaves behind (halyard/kernel.h).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "compiler/diagnostics.h"
#include "compiler/hyx_writer.h"

namespace halyard::inline v0::compiler {

// `enum hy_reflect_<name>` is of the kernel <name>.
inline constexpr std::string_view kReflectPrefix = "hy_reflect_";

struct Reflected {
  Kernel kernel;
  std::set<std::string> privates;  // parameters that each item has for itself
};

// Throws std::exception if the enumeration is not what halyard/kernel.h produces.
Reflected reflect(const Json& enumeration, Diagnostics& diagnostics);

// Complains of a name that only the header's own may have.
void check_name(const Json& node, const std::string& name, Diagnostics& diagnostics);

}  // namespace halyard::inline v0::compiler
