// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the driver learns from clang's syntax tree of a .hyk file: its kernels, and breaches of the
// dialect's rules that the compiler itself accepts.
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

// `json` is the output of clang -ast-dump=json for the CPU form of the dialect, `headers` what the
// paths of the dialect's own headers begin with. kInternal if it is not what halyard/kernel.h and
// the supported clang versions produce.
Result<Analysis> analyze(std::string_view json, std::string_view headers);

}  // namespace halyard::inline v0::compiler
