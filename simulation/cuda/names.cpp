// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/names.h"

// Other sources define the functions with their types; here only their addresses are taken.
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
