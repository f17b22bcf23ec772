// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every name of cuda.h, as a weak symbol that answers CUDA_ERROR_NOT_SUPPORTED. Other sources of
// the library define the functions that are built; the linker prefers those.
#include "simulation/gpu/report.h"
#include "simulation/gpu/types.h"

using halyard::sim::gpu::Entry;
using halyard::sim::gpu::kNotSupported;

#define HALYARD_CUDA_NAME(exported, name, version, per_thread)             \
  extern "C" __attribute__((weak, visibility("default"))) int exported() { \
    static constinit Entry entry(#exported, false);                        \
    entry.count();                                                         \
    return kNotSupported;                                                  \
  }
#include "simulation/cuda/names.inc"
#undef HALYARD_CUDA_NAME
