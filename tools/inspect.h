// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of `halyard inspect --json`. Its description of the kernels has the form of a manifest
// (compiler/manifest.h).
#pragma once

#include "json.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::tools {

Json to_json(const kernel::Hyx& hyx);

}  // namespace halyard::inline v0::tools
