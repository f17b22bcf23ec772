// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates the kernels of a file from clang's syntax tree to a shading language.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/clang_tree.h"
#include "compiler/hyx_writer.h"

namespace halyard::inline v0::compiler {

struct ShaderSource {
  std::vector<std::string> texts;
  std::string diagnostics;  // "file:line:column: error: ..."; empty on success
};

// `unit` is the tree of the form that HY_TEXT selects (halyard/kernel/device.h), parsed for a
// target with 32-bit size_t. `kernels` are the result of analyze(). Throws std::exception if the
// tree is not from a supported clang version.

// One file per kernel, with the entry main and the conventions of hy-vulkan-2.
ShaderSource glsl_source(const Json& unit, std::span<const Kernel> kernels);
// One file for all kernels, with the conventions of hy-metal-2.
ShaderSource msl_source(const Json& unit, std::span<const Kernel> kernels);

}  // namespace halyard::inline v0::compiler
