// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the entries of a PTX text with a manifest.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::compiler {

// Checks that each of `kernels` is an .entry of `ptx` whose parameters follow convention
// hy-kernarg-1: an address of 8 bytes for each binding, then the constants at their offsets,
// separately or in structs. Extends constants_bytes to the end of the entry's parameters, to
// include the padding of a struct.
//
// Errors: kInvalidArgument, naming `source`, kernel and parameter. Also for a workgroup size that
// the entry excludes, and for undefined functions that the text calls, since no driver links them.
Status fit_to_ptx(std::string_view source, std::string_view ptx, std::vector<Kernel>& kernels);

}  // namespace halyard::inline v0::compiler
