// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code objects of AMD as the core loads and runs them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "simulation/gpu/code.h"
#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

// Reads a code object, or the matching code object of a bundle, for the devices' architecture.
// Errors depend on the version of HIP; the reason is printed to stderr.
Result load_code(std::span<const std::byte> bytes, std::shared_ptr<const gpu::Code>& code);
// The same for an image of unknown size, which is read from the image's headers. `image` may also
// be a compiler's wrapper ("HIPF"), which points to the image.
Result load_code(const void* image, std::shared_ptr<const gpu::Code>& code);
Result load_code_file(const char* path, std::shared_ptr<const gpu::Code>& code);

// The image in the wrapper `image`, or `image` itself if it is not a wrapper.
const void* without_wrapper(const void* image);

}  // namespace halyard::inline v0::sim::hip
