// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of launches and copies, shared by calls and by nodes of graphs.
#pragma once

#include "simulation/cuda/module.h"
#include "simulation/cuda/work.h"

namespace halyard::inline v0::sim::cuda {

// A launch as a call or a node describes it. Its parameters are those of `parameters`, an array of
// pointers, or those in the packed buffer that `extra` names.
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

// Checks the parameters of a copy, and fills in pitches that were left out, and the memory of
// arrays.
Result check_copy(Copy3D& copy);

// Whether a call returns before its copy has ended.
enum class Waits : std::uint8_t { kNever, kAlways };
Result copy_memory(Call& call, Copy3D copy, Stream handle, Waits waits);

}  // namespace halyard::inline v0::sim::cuda
