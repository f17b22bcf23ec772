// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/compile_cached.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/content_hash.h"
#include "base/format.h"
#include "base/program.h"
#include "compiler/process.h"

namespace halyard::inline v0::compiler {
namespace {

namespace fs = std::filesystem;
using base::content_hash;

constexpr std::size_t kMaxInputBytes = std::size_t{16} << 20;

// Text that makes a result depend on more than the files that clang read. The last text is split in
// two, because otherwise ccache would not cache this source, for the same reason.
constexpr std::array<std::string_view, 6> kUnrepeatable = {"__DATE__",
                                                           "__TIME__",
                                                           "__TIMESTAMP__",
                                                           "__has_include",
                                                           "__has_embed",
                                                           ".inc"
                                                           "bin"};

// The environment variables that clang uses.
constexpr std::array kVariables = {"CPATH", "C_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS"};

// Identifies a program without running it.
std::string stamp(const fs::path& program) {
  std::error_code ignored;
  const fs::path file = fs::canonical(program, ignored);
  const auto size = fs::file_size(file, ignored);
  const auto time = fs::last_write_time(file, ignored).time_since_epoch().count();
  return fmt::format("{} {} {}", file.string(), size, time);
}

std::string hash_of(std::string_view text) {
  const base::ContentHash hash = content_hash({text});
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

base::ContentHash key_of(const CompileOptions& options, const Toolchain& tools,
                         std::string_view source) {
  std::error_code ignored;
  const fs::path linker = fs::canonical(tools.clang, ignored).parent_path() / "ld.lld";
  nlohmann::json key = {
      "hyx",
      stamp(base::program_path()),
      tools.clang,
      stamp(tools.clang),
      stamp(fs::exists(linker, ignored) ? linker.string() : find_program("ld.lld")),
      tools.include_dir,
      fs::current_path(ignored).string(),
      options.source,
      source,
      options.include_dirs,
      options.targets,
      options.optimization,
      options.debug,
      options.checked,
      options.checked_cpu};
  if (std::ranges::find(options.targets, "spirv-1.5") != options.targets.end()) {
    for (const char* const tool : {"glslangValidator", "spirv-link"}) {
      key.push_back(stamp(find_program(tool)));
    }
  }
  for (const char* const name : kVariables) {
    const char* const value = std::getenv(name);
    key.push_back(value == nullptr ? "" : value);
  }
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(key);
  return content_hash({base::text_of(std::as_bytes(std::span(bytes)))});
}

// ---- Conditions of a stored result ----------------------------------------------------------

std::string join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

// The paths at which clang would find a file in place of one of `inputs`: with the same name, in
// another directory that it searches.
nlohmann::json shadows_of(const CompileOptions& options, const std::vector<std::string>& inputs) {
  std::vector<std::string> directories = options.include_dirs;
  for (std::string& directory : directories) {
    while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  }
  for (const std::string& input : inputs) {
    directories.push_back(fs::path(input).parent_path().string());
  }
  std::sort(directories.begin(), directories.end());
  directories.erase(std::unique(directories.begin(), directories.end()), directories.end());

  nlohmann::json shadows = nlohmann::json::array();
  std::error_code ignored;
  for (const std::string& input : inputs) {
    for (const std::string& found_in : directories) {
      const std::string prefix = join(found_in, "");
      if (input == options.source || !input.starts_with(prefix)) continue;
      const std::string name = input.substr(prefix.size());
      if (name.starts_with('/')) continue;
      for (const std::string& directory : directories) {
        const std::string path = join(directory, name);
        // Existing files were already skipped by clang.
        if (!fs::exists(path, ignored)) shadows.push_back(path);
      }
    }
  }
  return shadows;
}

bool still_holds(const nlohmann::json& kept) {
  std::error_code ignored;
  for (const nlohmann::json& input : kept.at("inputs")) {
    const auto text = read_file(input.at(0).get<std::string>(), kMaxInputBytes);
    if (!text.ok() || hash_of(*text) != input.at(1).get<std::string>()) return false;
  }
  return std::ranges::none_of(kept.at("shadows"), [&](const nlohmann::json& path) {
    return fs::exists(path.get<std::string>(), ignored);
  });
}

// ---- Loading and storing ---------------------------------------------------------------------

std::optional<std::vector<std::byte>> find(const CompileOptions& options,
                                           const base::DiskCache& cache,
                                           const base::ContentHash& key) {
  const base::DiskCache::Entry entry = cache.find(key);
  if (!entry) return {};
  const std::string_view text = base::text_of(entry.bytes());
  const nlohmann::json kept = nlohmann::json::from_cbor(text.begin(), text.end(), true, false);
  if (kept.is_discarded() || !still_holds(kept)) return {};
  if (options.warnings != nullptr) *options.warnings += kept.at("warnings").get<std::string>();
  if (options.inputs != nullptr) {
    for (const nlohmann::json& input : kept.at("inputs")) options.inputs->push_back(input.at(0));
  }
  const auto bytes = std::as_bytes(std::span(kept.at("hyx").get_binary()));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Status keep(const CompileOptions& options, const std::vector<std::string>& inputs,
            const std::string& warnings, std::span<const std::byte> hyx, fs::file_time_type began,
            const base::DiskCache& cache, const base::ContentHash& key) {
  nlohmann::json hashes = nlohmann::json::array();
  for (const std::string& input : inputs) {
    HALYARD_ASSIGN_OR_RETURN(const std::string text, read_file(input, kMaxInputBytes));
    std::error_code ignored;
    if (fs::last_write_time(input, ignored) >= began) {
      return error(StatusCode::kFailedPrecondition, "{}: changed while it was compiled", input);
    }
    for (const std::string_view word : kUnrepeatable) {
      if (text.find(word) == std::string::npos) continue;
      return error(StatusCode::kFailedPrecondition, "{}: depends on more than files: {}", input,
                   word);
    }
    hashes.push_back({input, hash_of(text)});
  }
  const auto* const data = reinterpret_cast<const std::uint8_t*>(hyx.data());
  const std::vector<std::uint8_t> bytes =
      nlohmann::json::to_cbor({{"inputs", std::move(hashes)},
                               {"shadows", shadows_of(options, inputs)},
                               {"warnings", warnings},
                               {"hyx", nlohmann::json::binary({data, data + hyx.size()})}});
  return cache.put(key, std::as_bytes(std::span(bytes)));
}

Result<CachedResult> compile_or_find(const CompileOptions& options, const base::DiskCache& cache) {
  HALYARD_ASSIGN_OR_RETURN(const std::string source, read_file(options.source, kMaxInputBytes));
  HALYARD_ASSIGN_OR_RETURN(const Toolchain tools, find_toolchain(options));
  const base::ContentHash key = key_of(options, tools, source);
  CachedResult result;
  if (auto found = find(options, cache, key)) {
    result.bytes = std::move(*found);
    result.hit = true;
    return result;
  }
  const auto began = fs::file_time_type::clock::now();
  std::string warnings;
  std::vector<std::string> inputs;
  CompileOptions what = options;
  what.warnings = &warnings;
  what.inputs = &inputs;
  HALYARD_ASSIGN_OR_RETURN(result.bytes, compile(what));
  result.not_stored = keep(options, inputs, warnings, result.bytes, began, cache, key);
  if (options.warnings != nullptr) *options.warnings += warnings;
  if (options.inputs != nullptr) *options.inputs = std::move(inputs);
  return result;
}

}  // namespace

Result<CachedResult> compile_cached(const CompileOptions& options, const base::DiskCache& cache) {
  try {
    return compile_or_find(options, cache);
  } catch (const std::bad_alloc&) {
    return error(StatusCode::kResourceExhausted, "{}: out of memory", options.source);
  } catch (const std::exception& exception) {
    return error(StatusCode::kInternal, "{}: {}", options.source, exception.what());
  }
}

}  // namespace halyard::inline v0::compiler
