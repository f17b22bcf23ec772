// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/numa.h"

#include "base/format.h"

namespace halyard::inline v0::cpu {

Status bind_to_node(void*, std::uint64_t size, unsigned node) {
  return error(StatusCode::kUnimplemented,
               "cpu: {} bytes for NUMA node {}: this system binds no memory", size, node);
}

}  // namespace halyard::inline v0::cpu
