// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the compute shaders of a SPIR-V module as kernels of convention hy-vulkan-1, or of a
// convention that numbers bindings over all sets.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// Whether the bytes begin with the magic number of a module, in this machine's byte order.
bool is_spirv(std::string_view bytes) noexcept;

enum class Sets : std::uint8_t {
  kZero,       // binding i is that of descriptor set 0, as in hy-vulkan-1
  kCondensed,  // bindings of all sets are numbered in the order of (set, binding), as in hy-metal-2
};

// Returns every GLCompute entry point of `module`, with all its storage buffers and push constants.
// Binding i is numbered as `sets` says. It has the name of the variable, or otherwise of its last
// member. Its elements are those of the last member, or bytes (uint8) if the member has several
// types. A vector v of push constants becomes v.x, v.y and so on. Shared memory is the module's
// Workgroup variables.
//
// Errors: kInvalidArgument, naming `source`:
//   not SPIR-V, or a damaged module
//   no compute shader
//   another kind of resource; with Sets::kZero another set or a missing binding number
//   push constants that are not numbers of 4 or 8 bytes
Result<std::vector<Kernel>> reflect_spirv(std::string_view source, std::string_view module,
                                          Sets sets = Sets::kZero);

// Checks that a manifest's `kernels` are entry points of the module with the same workgroup size,
// bindings and push constants. Names, element types, ranks and tiles come only from the manifest.
Status fit_to_spirv(std::string_view source, std::string_view module,
                    const std::vector<Kernel>& kernels, Sets sets = Sets::kZero);

}  // namespace halyard::inline v0::compiler
