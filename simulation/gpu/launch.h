// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels and their checks, shared by calls and by nodes of graphs; occupancy.
#pragma once

#include "simulation/gpu/module.h"
#include "simulation/gpu/work.h"

namespace halyard::inline v0::sim::gpu {

// A launch as a call or a node describes it. Its parameters are in `parameters`, an array of
// pointers, or in the packed buffer that `extra` names.
struct LaunchShape {
  const unsigned* grid;
  const unsigned* block;
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  bool is_cooperative = false;
};

// Checks a launch against the function's and the device's limits.
Result check_kernel(ContextState& context, Function handle, const LaunchShape& shape,
                    FunctionState*& function);
// The same, and packs its parameters.
Result make_kernel_work(ContextState& context, Function handle, const LaunchShape& shape,
                        KernelWork& work);

// cuda.h, cuLaunchCooperativeKernel: all blocks have to be resident at once.
Result check_cooperative(const FunctionState& function, const unsigned* grid, const unsigned* block,
                         unsigned shared_bytes);

// Launches for a call. The State is locked.
Result launch(Call& call, Function handle, const LaunchShape& shape, Stream stream_handle);

// Blocks that a multiprocessor holds at a time.
Result occupancy(Call& call, int* blocks, Function handle, int threads, std::size_t dynamic);
using SharedBytesOf = std::size_t (*)(int);
// The block with the best occupancy, and the number of such blocks that the device holds.
Result best_block(Call& call, int* grid, int* block, Function handle, SharedBytesOf shared_of,
                  std::size_t dynamic, int limit);
Result available_shared_bytes(Call& call, std::size_t* bytes, Function handle, int blocks,
                              int threads);

}  // namespace halyard::inline v0::sim::gpu
