// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds to LLVM's intermediate code of GPU kernels what C cannot express: the workgroup size.
#pragma once

#include <span>
#include <string>

#include "compiler/hyx_writer.h"
#include "compiler/target.h"

namespace halyard::inline v0::compiler {

// Adds its workgroup size to each kernel in `ir`, a module as text. Launches of another size are
// then refused, and registers are allocated for this size. PTX: .reqntid; AMD:
// reqd_work_group_size. https://llvm.org/docs/NVPTXUsage.html,
// https://llvm.org/docs/AMDGPUUsage.html
void state_workgroup_sizes(Family family, std::span<const Kernel> kernels, std::string& ir);

}  // namespace halyard::inline v0::compiler
