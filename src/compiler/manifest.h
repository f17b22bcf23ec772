// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifests: descriptions of kernels that another compiler has built. JSON, in the form that
// `halyard inspect --json` prints:
//
//   {"kernels": [{"name": "saxpy", "workgroup_size": [256, 1, 1],
//                 "bindings": [{"name": "x", "access": "read", "type": "float32"}, ...],
//                 "constants": [{"name": "a", "type": "float32"}, ...]}]}
//
// A kernel has "name", "workgroup_size" (1 to 3 numbers) and, as needed, "bindings", "constants",
// "equal_sizes", "constants_bytes", "static_shared_bytes", "dynamic_shared_bytes". A binding may
// also have "rank" and "tile". A constant without "offset" follows the previous one at the next
// multiple of its size. "equal_sizes" are pairs of tensor sizes that a launch must have equal:
// [["x.size0", "y.size0"], ...]. Other fields that inspect prints are ignored; any other name is an
// error.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// Errors: kInvalidArgument, naming the manifest, the kernel and the field. kernel::Hyx checks how
// the values fit together.
Result<std::vector<Kernel>> parse_manifest(std::string_view text, std::string_view name);

}  // namespace halyard::inline v0::compiler
