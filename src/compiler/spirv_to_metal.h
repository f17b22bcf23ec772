// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates compute shaders from SPIR-V to the Metal Shading Language by the program spirv-cross
// (package spirv-cross, https://github.com/KhronosGroup/SPIRV-Cross).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "compiler/process.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// Returns a text of convention hy-metal-2 with a function for each of `kernels`, which are entry
// points of `module` (fit_to_spirv with Sets::kCondensed). The storage buffers of all descriptor
// sets are numbered in the order of (set, binding). Specialization constants have their default
// values.
//
// Errors, naming `source`:
//   kInvalidArgument  spirv-cross refuses the module, or needs an argument that hy-metal-2 lacks,
//                     such as the length of a buffer; or a kernel's name is a word of Metal
//   kUnavailable      spirv-cross is missing, or, for specialization constants, spirv-opt
Result<std::string> metal_from_spirv(std::string_view source, std::string_view module,
                                     const std::vector<Kernel>& kernels,
                                     const TemporaryDirectory& scratch);

}  // namespace halyard::inline v0::compiler
