// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SPIR-V modules, word by word: https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html
#pragma once

#include <string>
#include <string_view>

#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// Renames the module's only entry point. GLSL compilers call it `main`: a kernel's own name might
// be that of a function of the language, such as `barrier`. Returns kInternal if `module` is not a
// SPIR-V module with exactly one entry point.
Result<std::string> rename_entry_point(std::string_view module, std::string_view name);

// Prepares a module for spirv-cross:
//   - the resources of all descriptor sets are numbered in the order of (set, binding), as bindings
//     0, 1 ... of set 0;
//   - NoContraction is removed from operations, because spirv-cross translates it to fma(a, b, 0),
//     which is wrong if a * b is -0; the Metal text disables contraction as a whole.
// Returns kInvalidArgument if `module` is not a SPIR-V module, or uses doubles.
Result<std::string> spirv_for_metal(std::string_view module);
// Whether the module has specialization constants.
bool has_specialization(std::string_view module);

// Adds what GLSL cannot express:
//   - every floating-point operation is rounded separately, NoContraction, as on all targets;
//   - rounding is to nearest; signed zeros, infinities and NaNs are kept;
//   - a workgroup's size is that of its entry point, not one constant for the module.
// `module` is the output of glslang and spirv-link. Returns kInternal if it is not a SPIR-V module.
Result<std::string> finish_spirv(std::string_view module);

}  // namespace halyard::inline v0::compiler
