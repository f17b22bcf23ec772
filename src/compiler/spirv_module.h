// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SPIR-V modules, word by word: https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html
#pragma once

#include <string>
#include <string_view>

#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// Adds what GLSL cannot express:
//   - every floating-point operation is rounded separately, NoContraction, as on all targets;
//   - rounding is to nearest; signed zeros, infinities and NaNs are kept;
//   - a workgroup's size is that of its entry point, not one constant for the module.
// `module` is the output of glslang and spirv-link. Errors: kInternal if it is not a module.
Result<std::string> finish_spirv(std::string_view module);

}  // namespace halyard::inline v0::compiler
