// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// compile() with a cache: a folder of earlier results.
//
// The key of a result is the hash of the source's text and path, the working directory, the
// options, and the programs (by size and time). An entry also records the hash of every file that
// was read, and the paths where a new file would hide one of them. It is used only while all of
// these are unchanged. Results with other dependencies are not stored: of sources that use the time
// or test whether a file exists, or if files changed during the compilation.
#pragma once

#include <cstddef>
#include <vector>

#include "base/disk_cache.h"
#include "compiler/compile.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

struct CachedResult {
  std::vector<std::byte> bytes;
  bool hit = false;   // clang did not run
  Status not_stored;  // why the next call compiles again; ok if it does not
};

// Errors: those of compile(), never the cache's. Errors are not stored. Returns warnings and inputs
// as if clang had run.
Result<CachedResult> compile_cached(const CompileOptions& options, const base::DiskCache& cache);

}  // namespace halyard::inline v0::compiler
