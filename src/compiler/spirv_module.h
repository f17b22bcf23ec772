// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SPIR-V modules, word by word: https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html
#pragma once

#include <string>
#include <string_view>

#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// What GLSL has no words for:
//   - every floating-point operation keeps its own rounding: NoContraction, as everywhere else;
//   - rounding is to nearest; signed zeros, infinities and NaNs are kept;
//   - a workgroup's size is that of its entry point, not one constant for the module.
// `module` is what glslang and spirv-link write. kInternal if it is none.
Result<std::string> finish_spirv(std::string_view module);

}  // namespace halyard::inline v0::compiler
