// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a SPIR-V module says of its compute shaders, as kernels of convention hy-vulkan-1.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// Every GLCompute entry point of `module`, with all storage buffers and push constants of it.
// Binding i is that of descriptor set 0; its name is the variable's, or else its last member's; its
// elements are that member's, and bytes (uint8) where it is of several kinds. A vector v of push
// constants is v.x, v.y and so on. Shared memory is the module's Workgroup variables.
//
// kInvalidArgument, naming `source`: no SPIR-V, or a damaged module; no compute shader; another
// kind of resource, another set, a number that is left out; push constants that are no numbers of
// 4 or 8 bytes.
Result<std::vector<Kernel>> reflect_spirv(std::string_view source, std::string_view module);

// Whether a manifest's `kernels` are entry points of such a module and have its workgroup size,
// its bindings and its push constants; names, element types, ranks and tiles are the manifest's.
Status fit_to_spirv(std::string_view source, std::string_view module,
                    const std::vector<Kernel>& kernels);

}  // namespace halyard::inline v0::compiler
