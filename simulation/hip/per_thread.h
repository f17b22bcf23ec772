// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The _spt forms of functions, for which stream 0 is the calling thread's stream ("stream per
// thread").
#pragma once

#include "simulation/gpu/per_thread.h"
#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

using gpu::ParameterOf;
using gpu::PerThreadScope;

#define HALYARD_GPU_P8(name) HALYARD_GPU_P7(name), HALYARD_GPU_P(name, 7)
#define HALYARD_GPU_A8 HALYARD_GPU_A7, p7

// Exports name_spt.
#define HALYARD_HIP_PER_THREAD(name, arity) HALYARD_GPU_PER_THREAD(name, _spt, arity)

}  // namespace halyard::inline v0::sim::hip
