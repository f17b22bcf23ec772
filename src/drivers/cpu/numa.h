// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding memory to a NUMA node.
#pragma once

#include <cstdint>

#include "halyard/base/status.h"

namespace halyard::inline v0::cpu {

// Binds the pages of a mapping to `node`. Precondition: no thread has touched them yet. Returns
// kUnimplemented if the system cannot bind them.
Status bind_to_node(void* pointer, std::uint64_t size, unsigned node);

}  // namespace halyard::inline v0::cpu
