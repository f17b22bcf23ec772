// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// compile(), with results of earlier runs taken from a folder instead of running clang.
//
// A result is kept under the hash of the source's text and path, the working directory, the options
// and the programs (by size and time). With it go the hash of every file that was read and the
// paths where a new file would be found in place of one of those: it is used only while all of that
// still holds. Not kept are results that depend on more: sources that ask for the time or whether a
// file is there, and files that change meanwhile.
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
  Status not_stored;  // why it will run again; ok if it will not
};

// Errors: those of compile(), never the cache's. Errors are not kept. Warnings and inputs come as
// if clang had run.
Result<CachedResult> compile_cached(const CompileOptions& options, const base::DiskCache& cache);

}  // namespace halyard::inline v0::compiler
