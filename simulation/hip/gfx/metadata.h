// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description of kernels in the note of a code object (LLVM, "User Guide for AMDGPU Backend",
// Code Object V3 Metadata and later).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulation/hip/gfx/byte_reader.h"
#include "simulation/hip/gfx/gfx.h"

namespace halyard::inline v0::sim::gfx {

struct KernelMetadata {
  Kernel kernel;
  std::string descriptor_symbol;  // "name.kd"
};

// Returns the kernels in the order of the note. Returns nothing, with a sentence in `error`, if the
// note is damaged.
std::optional<std::vector<KernelMetadata>> read_metadata(Bytes note, std::string& error);

}  // namespace halyard::inline v0::sim::gfx
