// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every exported name, as a weak symbol that answers hipErrorNotSupported. Other sources of the
// library define the functions that are built; the linker prefers those.
#include "simulation/hip/refused.h"

#define HALYARD_HIP_NAME(name, node, since)                            \
  extern "C" __attribute__((weak, visibility("default"))) int name() { \
    static constinit halyard::sim::gpu::Entry entry(#name, false);     \
    return halyard::sim::hip::refuse(entry);                           \
  }
#include "simulation/hip/names.inc"
#undef HALYARD_HIP_NAME
