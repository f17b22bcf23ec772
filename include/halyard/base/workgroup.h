// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workgroup: the argument by which a kernel in machine code for the CPU learns its workgroup. Its
// layout is part of the calling convention hy-cpu-1 and never changes.
#pragma once

#include <cstddef>

namespace halyard::inline v0 {

// In x, y, z. The same as hy_wg in halyard/kernel.h.
struct Workgroup {
  std::size_t group[3];  // index of the workgroup in the grid
  std::size_t count[3];  // number of workgroups of the grid
};

}  // namespace halyard::inline v0
