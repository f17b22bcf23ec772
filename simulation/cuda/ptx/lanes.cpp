// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/ptx/lanes.h"

namespace halyard::inline v0::sim::ptx {
namespace {

#if defined(HALYARD_PTX_HAS_V3)
bool has_v3() {
  static const bool value = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                            __builtin_cpu_supports("bmi2");
  return value;
}
#endif

}  // namespace

bool lower_lanes(Lowering& lowering) {
#if defined(HALYARD_PTX_HAS_V3)
  if (has_v3()) {
    return isa_v3::lower_float(lowering) || isa_v3::lower_half(lowering) ||
           isa_v3::lower_integer(lowering) || isa_v3::lower_bits(lowering) ||
           isa_v3::lower_compare(lowering) || isa_v3::lower_convert(lowering);
  }
#endif
  return isa_base::lower_float(lowering) || isa_base::lower_half(lowering) ||
         isa_base::lower_integer(lowering) || isa_base::lower_bits(lowering) ||
         isa_base::lower_compare(lowering) || isa_base::lower_convert(lowering);
}

}  // namespace halyard::inline v0::sim::ptx
