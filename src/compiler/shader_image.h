// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images for targets whose code starts as text: spirv-1.5 and msl-3.0.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "compiler/process.h"
#include "compiler/target.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// The command that runs glslangValidator for Vulkan 1.2. The module's entry point is `main`; see
// rename_entry_point(). The caller appends "-o", the module's path and the source's. Errors:
// kUnavailable if it is missing.
Result<std::vector<std::string>> glslang_command();

// Builds the image. `tree` is clang's syntax tree of the source, as JSON, in the form of
// shader_source.h; `kernels` are all kernels of the file. For spirv-1.5 it runs glslangValidator
// for each kernel, and spirv-link. Errors: kInvalidArgument, with the line, if the target cannot
// express the source; kUnavailable if a program is missing; kInternal.
Result<Image> build_shader_image(const Target& target, std::string_view tree,
                                 std::span<const Kernel> kernels,
                                 const TemporaryDirectory& scratch);

}  // namespace halyard::inline v0::compiler
