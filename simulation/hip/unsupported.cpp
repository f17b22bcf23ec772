// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every exported name, as a weak symbol that returns hipErrorNotSupported. Other sources of the
// library define the implemented functions, which the linker prefers.
#include "simulation/hip/refused.h"

#define HALYARD_HIP_NAME(name, node, since)                            \
  extern "C" __attribute__((weak, visibility("default"))) int name() { \
    static constinit halyard::sim::gpu::Entry entry(#name, false);     \
    return halyard::sim::hip::refuse(entry);                           \
  }
#include "simulation/hip/names.inc"
#undef HALYARD_HIP_NAME
