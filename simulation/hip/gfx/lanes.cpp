// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {

void add_lane_operations(LaneOperations& operations) {
  add_bits(operations);
  add_integer(operations);
  add_float(operations);
  add_transcendental(operations);
  add_double(operations);
  add_half(operations);
  add_compare(operations);
  add_convert(operations);
  add_packed(operations);
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
