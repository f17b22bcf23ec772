// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/names.h"

// Other sources define the functions with their types; here only their addresses are taken.
#define HALYARD_HIP_NAME(name, node, since) extern "C" int name();
#include "simulation/hip/names.inc"
#undef HALYARD_HIP_NAME

namespace halyard::inline v0::sim::hip {

std::span<const Name> names() {
  static constexpr Name kNames[] = {
#define HALYARD_HIP_NAME(name, node, since) {#name, since, &::name},
#include "simulation/hip/names.inc"
#undef HALYARD_HIP_NAME
  };
  return kNames;
}

}  // namespace halyard::inline v0::sim::hip
