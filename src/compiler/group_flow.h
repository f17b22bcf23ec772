// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks rule 6 of halyard/kernel.h: a block does not write elements that earlier code reads
// outside of blocks, on any path of the group's control flow.
#pragma once

#include "compiler/diagnostics.h"
#include "compiler/hyx_writer.h"

namespace halyard::inline v0::compiler {

// `body` is the function of the kernel's body, in the form for CPUs.
void check_group_flow(const Json& body, const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace halyard::inline v0::compiler
