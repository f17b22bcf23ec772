// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The initial state of a kernel (LLVM, "User Guide for AMDGPU Backend", Initial Kernel Execution
// State; HSA, "Runtime Programmer's Reference", AQL packets).
#pragma once

#include <bitset>
#include <string>

#include "simulation/hip/gfx/workgroup.h"

namespace halyard::inline v0::sim::gfx {

// Checks run.launch and derives from it and run.program the kernel, its arguments, including the
// hidden ones, and the dispatch packet. Returns an empty string or a sentence about the mismatch.
std::string prepare(Run& run);

// Initializes the registers of a new wave. Returns which scalar registers are defined.
std::bitset<kScalarRegisters> begin_registers(Wave& wave);

}  // namespace halyard::inline v0::sim::gfx
