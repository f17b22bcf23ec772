// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "source.h"

#include "base/disk_cache.h"
#include "base/format.h"
#include "compiler/compile_cached.h"
#include "compiler/foreign.h"

namespace halyard::inline v0::tools {
namespace {

using base::DiskCache;

Result<DiskCache> open_cache(const CacheOptions& options) {
  if (options.off) return Status(StatusCode::kCancelled, "off");
  const std::string folder = options.folder.empty() ? base::default_cache_folder() : options.folder;
  if (folder.empty()) return Status(StatusCode::kNotFound, "neither HALYARD_CACHE_DIR nor HOME");
  return DiskCache::open(folder, DiskCache::kDefaultMaxBytes);
}

}  // namespace

Result<CompiledSource> compile_source(compiler::CompileOptions what, const CacheOptions& cache) {
  CompiledSource source;
  what.warnings = &source.warnings;
  if (compiler::is_foreign(what.source)) {
    HALYARD_ASSIGN_OR_RETURN(source.bytes, compiler::compile(what));
    source.cache = "built by another compiler";
    return source;
  }
  const Result<DiskCache> folder = open_cache(cache);
  if (folder.ok()) {
    HALYARD_ASSIGN_OR_RETURN(compiler::CachedResult result,
                             compiler::compile_cached(what, *folder));
    source.bytes = std::move(result.bytes);
    source.cache = result.hit ? "hit" : "stored";
    if (!result.not_stored.ok()) source.cache = result.not_stored.message();
  } else {
    if (!cache.off && !cache.folder.empty()) return folder.status();
    HALYARD_ASSIGN_OR_RETURN(source.bytes, compiler::compile(what));
    source.cache = folder.status().message();
  }
  return source;
}

}  // namespace halyard::inline v0::tools
