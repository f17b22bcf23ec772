// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels in other languages. The language's own compiler, found in PATH, builds each of them; the
// image is packed with its reflection.
//
//   source   targets                  built by               reflection
//   k.cu     ptx-sm_NN                nvcc, else clang       manifest
//   k.cl     ptx-sm_NN, hsaco-gfxN    clang                  manifest, or the AMD code object's
//   k.comp   spirv-1.5                glslangValidator       manifest, or the module's
//            msl-3.0                  the same, spirv-cross  the same
//   k.metal  msl-3.0                  packed unchanged       manifest
//
// Images follow Halyard's conventions (kernel/device_abi.h): bindings first, then scalars. Formats
// that can be read are checked against the reflection.
//
// clang compiles .cu without CUDA's headers, and .cl with the work-item functions, barrier() and a
// few functions of a number. A function of a device library is an error. A shader's entry point is
// renamed to the manifest's kernel, otherwise to the file's name. A .metal file is compiled only to
// find its errors, if there is a Metal compiler (xcrun).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// True if the file's extension is one of these languages'.
bool is_foreign(std::string_view source) noexcept;

// The default targets of a source, foreign or not.
std::vector<std::string> default_targets(std::string_view source);
// `names`, with "default" replaced by the default targets. An empty `names` means "default".
std::vector<std::string> named_targets(std::string_view source, std::span<const std::string> names);

// Like compile(), for a foreign source. `optimization` is clang's. Further errors:
//   kInvalidArgument  a target that the language does not support, a manifest that is missing or
//                     does not match the image, or `checked`
//   kUnavailable      a compiler is missing; the message names the package or toolkit
Result<std::vector<std::byte>> compile_foreign(const CompileOptions& options);

}  // namespace halyard::inline v0::compiler
