// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the compute shaders of a SPIR-V module as kernels of convention hy-vulkan-1.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// Returns every GLCompute entry point of `module`, with all its storage buffers and push constants.
// Binding i is that of descriptor set 0. Its name is the variable's, or else its last member's; its
// elements are that member's, or bytes (uint8) if it has several kinds. A vector v of push
// constants becomes v.x, v.y and so on. Shared memory is the module's Workgroup variables.
//
// Errors: kInvalidArgument, naming `source`:
//   not SPIR-V, or a damaged module
//   no compute shader
//   another kind of resource, another set, a missing binding number
//   push constants that are not numbers of 4 or 8 bytes
Result<std::vector<Kernel>> reflect_spirv(std::string_view source, std::string_view module);

// Checks that a manifest's `kernels` are entry points of the module with the same workgroup size,
// bindings and push constants. The manifest alone defines names, element types, ranks and tiles.
Status fit_to_spirv(std::string_view source, std::string_view module,
                    const std::vector<Kernel>& kernels);

}  // namespace halyard::inline v0::compiler
