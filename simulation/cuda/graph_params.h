// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work of nodes from their parameters in cuda.h.
#pragma once

#include "simulation/cuda/abi.h"
#include "simulation/gpu/graph.h"

namespace halyard::inline v0::sim::cuda {

Result work_of(const KernelParams& params, ContextState* current, Work& work);
Result work_of(const NodeParams& params, ContextState* current, Work& work);

}  // namespace halyard::inline v0::sim::cuda
