// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `halyard inspect --json` prints: of the kernels all that a manifest says of them, in its
// form (compiler/manifest.h).
#pragma once

#include "json.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::tools {

Json to_json(const kernel::Hyx& hyx);

}  // namespace halyard::inline v0::tools
