// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one thing about kernels for GPUs that C cannot state, added to LLVM's intermediate code.
#pragma once

#include <span>
#include <string>

#include "compiler/hyx_writer.h"
#include "compiler/target.h"

namespace halyard::inline v0::compiler {

// Gives each kernel in `ir`, a module in text, its workgroup size: a launch of another size is
// refused, and registers are shared out accordingly. PTX: .reqntid; AMD: reqd_work_group_size.
// https://llvm.org/docs/NVPTXUsage.html, https://llvm.org/docs/AMDGPUUsage.html
void state_workgroup_sizes(Family family, std::span<const Kernel> kernels, std::string& ir);

}  // namespace halyard::inline v0::compiler
