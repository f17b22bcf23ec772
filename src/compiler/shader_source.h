// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of a file in a shading language, from clang's syntax tree.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/clang_tree.h"
#include "compiler/hyx_writer.h"

namespace halyard::inline v0::compiler {

struct ShaderSource {
  std::vector<std::string> texts;
  std::string diagnostics;  // "file:line:column: error: ..."; empty if there are texts
};

// `unit` is the tree of the form that HY_TEXT selects (halyard/kernel_device.h), parsed for a
// target with 32-bit size_t; `kernels` are what analyze() found. Throws std::exception if the tree
// is not what the supported clang versions produce.

// A file for each kernel. Its entry is main; conventions as hy-vulkan-1.
ShaderSource glsl_source(const Json& unit, std::span<const Kernel> kernels);
// One file; conventions as hy-metal-1.
ShaderSource msl_source(const Json& unit, std::span<const Kernel> kernels);

}  // namespace halyard::inline v0::compiler
