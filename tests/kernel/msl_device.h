// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs images of hy-metal-2 on the CPU, as simulation/metal executes them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "halyard/base/status.h"
#include "kernel/hyx.h"

namespace halyard::testing {

// Runs a kernel with one span for each binding, and the struct of constants. Accesses outside of
// the spans, writes to bindings that are only read, races and divergence are errors.
Status run_msl(const kernel::Hyx& hyx, std::string_view kernel,
               std::span<const std::size_t, 3> groups,
               std::span<const std::span<std::byte>> bindings,
               std::span<const std::byte> constants);

bool has_msl_image(const kernel::Hyx& hyx);

}  // namespace halyard::testing
