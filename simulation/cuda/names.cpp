// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/names.h"

// Their types are those of the sources that define them; here only addresses are taken.
#define HALYARD_CUDA_NAME(exported, name, version, per_thread) extern "C" int exported();
#include "simulation/cuda/names.inc"
#undef HALYARD_CUDA_NAME

namespace halyard::inline v0::sim::cuda {

std::span<const Name> names() {
  static constexpr Name kNames[] = {
#define HALYARD_CUDA_NAME(exported, name, version, per_thread) \
  {#exported, #name, version, per_thread != 0, &::exported},
#include "simulation/cuda/names.inc"
#undef HALYARD_CUDA_NAME
  };
  return kNames;
}

}  // namespace halyard::inline v0::sim::cuda
