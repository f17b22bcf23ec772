// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs images of the convention hy-metal-2 for tests: one launch at a time, by the part of the
// simulated Metal framework that executes the Metal Shading Language (simulation/metal/msl). The
// argument buffer is written by the ids that the text gives its members, as MTLArgumentEncoder
// does.
//
// A launch fails if it accesses memory outside of its bindings, writes a binding that the
// reflection declares as read, has a race, or has a barrier that not all items of a group reach.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "halyard/base/status.h"
#include "kernel/hyx.h"

namespace halyard::testing {

inline constexpr std::string_view kMetalTarget = "msl-3.0";

bool has_metal_image(const kernel::Hyx& hyx);

// `constants` is the kernel's whole struct. Returns at the kernel's end. Errors: kInvalidArgument
// if the text is refused or does not follow the convention; kInternal, with a description, if the
// kernel fails.
Status run_on_metal(const kernel::Hyx& hyx, std::string_view kernel,
                    const std::array<std::size_t, 3>& groups,
                    std::span<const std::span<std::byte>> bindings,
                    std::span<const std::byte> constants);

}  // namespace halyard::testing
