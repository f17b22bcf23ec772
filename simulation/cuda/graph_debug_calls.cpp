// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuGraphDebugDotPrint.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/graph.h"
#include "simulation/gpu/graph_structure.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuGraphDebugDotPrint(Graph handle, const char* path, unsigned flags) {
  HALYARD_GPU_CALL(cuGraphDebugDotPrint, kInitialized);
  return print_graph(handle, path, flags);
}

}  // namespace halyard::inline v0::sim::cuda
