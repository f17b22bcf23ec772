// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edits clang's intermediate code for CPUs.
#pragma once

#include <string>

namespace halyard::inline v0::compiler {

// Removes the promise of a block's pragma, that items access different memory, for local arrays and
// structs: clang has one copy of them for all items, and would keep it when it vectorises over
// items. Scalars become registers. `ir` is textual and not yet optimised.
void share_local_arrays(std::string& ir);

}  // namespace halyard::inline v0::compiler
