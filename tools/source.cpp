// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "source.h"

#include <algorithm>

#include "base/disk_cache.h"
#include "base/format.h"
#include "compiler/compile_cached.h"
#include "compiler/foreign.h"
#include "file.h"

namespace halyard::inline v0::tools {
namespace {

using base::DiskCache;

Result<DiskCache> open_cache(const CacheOptions& options) {
  if (options.off) return Status(StatusCode::kCancelled, "off");
  const std::string folder = options.folder.empty() ? base::default_cache_folder() : options.folder;
  if (folder.empty()) return Status(StatusCode::kNotFound, "neither HALYARD_CACHE_DIR nor HOME");
  return DiskCache::open(folder, DiskCache::kDefaultMaxBytes);
}

// Rejects an image or an array, for which a compiler would print many useless errors.
Status check_text(const std::string& path) {
  const Result<std::vector<std::byte>> file = read_file(path);
  if (!file.ok()) return {};  // the compiler reports the error, or finds another file
  const auto zero = std::ranges::find(*file, std::byte{0});
  if (zero == file->end()) return {};
  return error(StatusCode::kInvalidArgument, "{}: no text: byte {} is 0", path,
               zero - file->begin());
}

}  // namespace

Result<CompiledSource> compile_source(compiler::CompileOptions what, const CacheOptions& cache) {
  HALYARD_RETURN_IF_ERROR(check_text(what.source));
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
