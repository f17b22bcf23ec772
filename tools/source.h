// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel sources, compiled or taken from the cache: for `halyard compile` and `halyard run`.
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

// `what.warnings` is not used. Errors: kInvalidArgument where the source is no text; those of
// compiler::compile, and of a folder that was asked for by name and cannot be used. Where that is
// the user's own folder it compiles without.
Result<CompiledSource> compile_source(compiler::CompileOptions what, const CacheOptions& cache);

}  // namespace halyard::inline v0::tools
