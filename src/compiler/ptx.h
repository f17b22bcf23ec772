// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a PTX text, compared with what a manifest says of them.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::compiler {

// Whether each of `kernels` is an .entry of `ptx` whose parameters have convention hy-kernarg-1: an
// address of 8 bytes for each binding, then the constants at their offsets, one by one or several
// in a struct. Lets constants_bytes grow to the end of the entry's parameters, where a struct is
// padded.
//
// kInvalidArgument names `source`, kernel and parameter: also for a workgroup size that the entry
// excludes, and for functions that the text calls and does not have, since no driver links them.
Status fit_to_ptx(std::string_view source, std::string_view ptx, std::vector<Kernel>& kernels);

}  // namespace halyard::inline v0::compiler
