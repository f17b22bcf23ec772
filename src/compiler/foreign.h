// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels in other languages: each is built by its own compiler, which is found in PATH, and packed
// with its reflection.
//
//   source   targets                  built by               reflection
//   k.cu     ptx-sm_NN                nvcc, else clang       manifest
//   k.cl     ptx-sm_NN, hsaco-gfxN    clang                  manifest, or the AMD code object's
//   k.comp   spirv-1.5                glslangValidator       manifest, or the module's
//   k.metal  msl-3.0                  packed as it is        manifest
//
// Images keep to Halyard's conventions (kernel/device_abi.h): bindings first, then scalars. That
// an image does is checked against its reflection wherever it can be read.
//
// clang compiles .cu without CUDA's headers, and .cl with the work-item functions, barrier() and a
// few functions of a number; what needs a device library is an error. A shader's entry point
// becomes the manifest's kernel, else the file's name. A .metal file is compiled where there is a
// Metal compiler (xcrun), to find its errors only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// By its extension.
bool is_foreign(std::string_view source) noexcept;

// What such a source is compiled for where nobody says.
std::vector<std::string> default_targets(std::string_view source);

// As compile(), for a foreign source. kInvalidArgument also for a target that its language does not
// have, a manifest that is missing or does not fit the image, and `checked`; kUnavailable, naming
// package or toolkit, for a compiler that is missing. `optimization` is clang's.
Result<std::vector<std::byte>> compile_foreign(const CompileOptions& options);

}  // namespace halyard::inline v0::compiler
