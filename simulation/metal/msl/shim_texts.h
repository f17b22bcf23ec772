// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The texts of the files in shim/. CMake generates the source that defines them.
#pragma once

#include <string_view>

namespace halyard::inline v0::sim::msl {

extern const std::string_view kShimTraits, kShimVec, kShimMath, kShimHost, kShimSimd, kShimMatrix,
    kShimReflect, kShimMacros, kShimAbi, kShimGlue;

}  // namespace halyard::inline v0::sim::msl
