// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents of a .hyx file, as `halyard inspect --json` prints them. The description of the
// kernels has the form of a manifest (compiler/manifest.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "json.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::tools {

Json to_json(const kernel::Hyx& hyx);

// Empty if the kernel does not fix it.
std::span<const std::uint32_t> static_tile(const kernel::BindingInfo& binding);

// The two sizes by the names of their constants.
std::array<std::string, 2> names_of(const kernel::KernelInfo& info,
                                    const kernel::EqualSizes& sizes);

}  // namespace halyard::inline v0::tools
