// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles kernel sources or takes them from the cache: for `halyard compile` and `halyard run`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "commands.h"
#include "compiler/compile.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::tools {

struct CompiledSource {
  std::vector<std::byte> bytes;
  std::string warnings;  // the compiler's
  std::string cache;     // "hit", "stored", or why it was not stored
};

// Ignores `what.warnings`. Errors: kInvalidArgument if the source is not text; those of
// compiler::compile(); those of opening a folder that the options name. If the default folder
// cannot be used, compiles without a cache.
Result<CompiledSource> compile_source(compiler::CompileOptions what, const CacheOptions& cache);

}  // namespace halyard::inline v0::tools
