// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of shim/, in the library: CMake writes the source that holds them.
#pragma once

#include <string_view>

namespace halyard::inline v0::sim::msl {

extern const std::string_view kShimTraits, kShimVec, kShimMath, kShimHost, kShimSimd, kShimMatrix,
    kShimReflect, kShimMacros, kShimAbi, kShimGlue;

}  // namespace halyard::inline v0::sim::msl
