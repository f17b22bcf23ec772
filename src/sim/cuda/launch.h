// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of launches and copies, shared by calls and by nodes of graphs.
#pragma once

#include "sim/cuda/module.h"
#include "sim/cuda/work.h"

namespace halyard::inline v0::sim::cuda {

// Checks a launch against the function's and the device's limits, and packs its parameters from
// `parameters`, an array of pointers, or from the packed buffer that `extra` names.
Result make_kernel_work(ContextState& context, Function function, const unsigned* grid,
                        const unsigned* block, unsigned shared_bytes, void** parameters,
                        void** extra, KernelWork& work);

// Checks the parameters of a copy, and fills in pitches that were left out.
Result check_copy(Copy3D& copy);

}  // namespace halyard::inline v0::sim::cuda
