// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifests: what is to be known of kernels that another compiler has built. JSON, in the form that
// `halyard inspect --json` prints:
//
//   {"kernels": [{"name": "saxpy", "workgroup_size": [256, 1, 1],
//                 "bindings": [{"name": "x", "access": "read", "type": "float32"}, ...],
//                 "constants": [{"name": "a", "type": "float32"}, ...]}]}
//
// Of a kernel: "name", "workgroup_size" (1 to 3 numbers); "bindings", "constants",
// "equal_sizes", "constants_bytes", "static_shared_bytes", "dynamic_shared_bytes" as they are
// needed. Of a binding also "rank" and "tile". A constant without "offset" follows the one before
// it at the next multiple of its size. "equal_sizes" are pairs of sizes of tensors that a launch is
// held to: [["x.size0", "y.size0"], ...]. What else inspect prints is passed over; any other name
// is an error.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// kInvalidArgument, naming the manifest, the kernel and the field. What the values mean together,
// kernel::Hyx judges.
Result<std::vector<Kernel>> parse_manifest(std::string_view text, std::string_view name);

}  // namespace halyard::inline v0::compiler
