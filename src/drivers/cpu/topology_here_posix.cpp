// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/topology.h"

namespace halyard::inline v0::cpu {

Result<Topology> Topology::here() {
  return Status(
      StatusCode::kUnimplemented,
      "cpu: affinity: this system binds no thread to a processor and no memory to a node");
}

}  // namespace halyard::inline v0::cpu
