// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads kernels from the enumerators that HY_KERNEL defines (halyard/kernel.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "compiler/diagnostics.h"
#include "compiler/hyx_writer.h"

namespace halyard::inline v0::compiler {

// `enum hy_reflect_<name>` describes the kernel <name>.
inline constexpr std::string_view kReflectPrefix = "hy_reflect_";

struct Reflected {
  Kernel kernel;
  std::set<std::string> privates;  // parameters of which each item has its own
  std::map<std::string, std::uint32_t> counts;  // elements of shared arrays, and of private ones
};

// Throws std::exception if the enumeration is not from halyard/kernel.h.
Reflected reflect(const Json& enumeration, Diagnostics& diagnostics);

// Reports a name that is reserved for the header.
void check_name(const Json& node, const std::string& name, Diagnostics& diagnostics);

}  // namespace halyard::inline v0::compiler
