// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads clang's syntax tree of a .hyk file: finds its kernels, and violations of rules that clang
// itself accepts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

struct Analysis {
  std::vector<Kernel> kernels;  // in source order
  std::string diagnostics;      // "file:line:column: error: ..." lines; empty if all rules hold
};

// `json` is the output of clang -ast-dump=json for the CPU form of the language; paths of the
// language's own headers begin with `headers`. Errors: kInternal if the tree is not from
// halyard/kernel.h and a supported clang version.
Result<Analysis> analyze(std::string_view json, std::string_view headers);

}  // namespace halyard::inline v0::compiler
