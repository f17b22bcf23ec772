// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/lane_operation.h"

#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx {

const LaneOperations& lane_operations() {
  static const LaneOperations operations = [] {
    LaneOperations result;
#if defined(HALYARD_GFX_HAS_V3)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
      isa_v3::add_lane_operations(result);
      return result;
    }
#endif
    isa_base::add_lane_operations(result);
    return result;
  }();
  return operations;
}

}  // namespace halyard::inline v0::sim::gfx
