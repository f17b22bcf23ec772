// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel finds when it begins (LLVM, "User Guide for AMDGPU Backend", Initial Kernel
// Execution State; HSA, "Runtime Programmer's Reference", AQL packets).
#pragma once

#include <bitset>
#include <string>

#include "simulation/hip/gfx/workgroup.h"

namespace halyard::inline v0::sim::gfx {

// Checks run.launch and fills what follows from it and from run.program: the kernel, its arguments,
// the hidden ones among them, and the dispatch packet. A sentence about what does not fit, or
// empty.
std::string prepare(Run& run);

// The registers of a wave that begins. Returns which scalar registers are defined.
std::bitset<kScalarRegisters> begin_registers(Wave& wave);

}  // namespace halyard::inline v0::sim::gfx
