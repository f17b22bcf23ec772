// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/msl/compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "base/content_hash.h"
#include "simulation/metal/msl/shim_texts.h"

extern char** environ;

namespace halyard::inline v0::sim::msl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 4096;  // of the cache; beyond it the older half is deleted

constexpr const char* kClang = "clang++-19";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

bool write_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  return file.good();
}

// Runs a program in `folder`, with standard output and error in files there. -1: not started.
int run_program(const std::vector<std::string>& words, const fs::path& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const std::string out = folder / "stdout", err = folder / "stderr";
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = -1;
  const int error =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string hex(base::ContentHash hash) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

// The folder of all results for these texts of the shim. Empty if it cannot be made.
class Cache {
 public:
  static Cache& get() {
    static Cache* const cache = new Cache;
    return *cache;
  }

  const fs::path& folder() const { return folder_; }
  bool usable() const { return usable_; }

  // A new empty folder, removed by remove_all.
  fs::path scratch() {
    std::string pattern = folder_ / "run-XXXXXX";
    return ::mkdtemp(pattern.data()) == nullptr ? fs::path() : fs::path(pattern);
  }

  // Moves a file to its place; other processes may do the same at the same time.
  fs::path keep(const fs::path& from, const std::string& name) {
    const fs::path to = folder_ / name;
    std::error_code error;
    fs::rename(from, to, error);
    if (++kept_ % 256 == 0) shrink();
    return error ? fs::path() : to;
  }

 private:
  Cache() {
    const char* const base = std::getenv("TMPDIR");
    const std::string hash =
        hex(base::content_hash({kShimTraits, kShimVec, kShimMath, kShimHost, kShimSimd, kShimMatrix,
                                kShimReflect, kShimMacros, kShimAbi, kShimGlue}));
    const fs::path mine = fs::path(base != nullptr && *base != 0 ? base : "/tmp") /
                          ("halyard-msl-" + std::to_string(::getuid()));
    (void)::mkdir(mine.c_str(), 0700);
    struct stat status;
    if (::lstat(mine.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != ::getuid() || (status.st_mode & 077) != 0) {
      return;  // another user's: do not run its files
    }
    folder_ = mine / hash.substr(0, 16);
    (void)::mkdir(folder_.c_str(), 0700);
    std::error_code error;
    const fs::path include = folder_ / "include";
    fs::create_directories(include, error);
    if (!fs::exists(include / "ready")) {
      for (const char* name : {"metal_stdlib",      "metal_math",       "metal_common",
                               "metal_integer",     "metal_relational", "metal_geometric",
                               "metal_matrix",      "metal_atomic",     "metal_compute",
                               "metal_types",       "metal_simdgroup",  "metal_simdgroup_matrix",
                               "metal_quadgroup",   "metal_pack",       "metal_limits",
                               "metal_type_traits", "metal_array",      "metal_graphics",
                               "metal_texture",     "metal_utility",    "metal_uniform",
                               "metal_logging",     "metal_assert",     "metal_config",
                               "metal_packed",      "metal_half",       "metal_bfloat",
                               "metal_vector",      "metal_numeric",    "metal_initializer_list",
                               "metal_tuple",       "metal_stdlib.h"}) {
        write_file(include / name, "#pragma once\n#include \"__hy_macros\"\n");
      }
      fs::create_directories(include / "simd", error);
      write_file(include / "simd" / "simd.h", "#pragma once\n#include \"../__hy_macros\"\n");
      write_file(include / "__hy_macros", kShimMacros);
      std::string shim;
      for (const std::string_view part :
           {kShimTraits, kShimVec, kShimMath, kShimHost, kShimSimd, kShimMatrix, kShimReflect}) {
        shim += part;
      }
      write_file(folder_ / "shim.h", shim);
      write_file(folder_ / "glue.c", std::string(kShimAbi) + std::string(kShimGlue));
      write_file(include / "ready", "");
    }
    usable_ = true;
  }

  void shrink() {
    std::error_code error;
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    for (fs::directory_iterator i(folder_, error), end; !error && i != end; i.increment(error)) {
      if (i->path().extension() != ".so" && i->path().extension() != ".txt") continue;
      files.emplace_back(i->last_write_time(error), i->path());
    }
    if (files.size() <= kMostFiles) return;
    std::ranges::sort(files);
    files.resize(files.size() / 2);
    for (const auto& [time, path] : files) fs::remove(path, error);
  }

  fs::path folder_;
  bool usable_ = false;
  std::atomic<std::uint32_t> kept_{0};
};

std::vector<std::string> language_flags(const CompileOptions& options, Instrument instrument) {
  std::vector<std::string> flags = {
      "-x", "clcpp", "-cl-std=clc++2021", "-cl-no-stdinc", "-cl-single-precision-constant",
      "-march=native", "-fPIC", "-w", "-fno-strict-aliasing", "-fno-finite-loops",
      "-fno-math-errno", "-ffp-contract=on", "-fvisibility=hidden", "-fno-caret-diagnostics",
      "-fno-color-diagnostics", "-ferror-limit=20",
      // Each call in the text stays one call, because its return address identifies its place.
      "-mllvm", "-tail-dup-placement=0", "-mllvm", "-disable-early-taildup", "-mllvm",
      "-disable-tail-duplicate", "-mllvm", "-enable-tail-merge=0"};
  switch (options.math_mode) {
    case MathMode::kSafe:
      flags.push_back("-ffp-contract=off");
      break;
    case MathMode::kRelaxed:
      flags.insert(flags.end(), {"-ffast-math", "-fhonor-infinities", "-fhonor-nans"});
      break;
    case MathMode::kFast:
      flags.push_back("-ffast-math");
      break;
  }
  flags.push_back("-D__HY_PRECISE=" + std::to_string(options.precise_functions ? 1 : 0));
  flags.push_back("-D__HY_PERTURB=" + std::to_string(options.perturb_fast_functions ? 1 : 0));
  if (instrument == Instrument::kMemory) {
    // Accesses of more than 16 bytes would not be passed on.
    flags.insert(flags.end(),
                 {"-O1", "-fno-vectorize", "-fno-slp-vectorize", "-mprefer-vector-width=128",
                  "-fsanitize=thread", "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm",
                  "-tsan-instrument-atomics=0", "-mllvm", "-tsan-instrument-read-before-write=1"});
  } else {
    flags.push_back("-O2");
  }
  flags.push_back("-fsanitize-coverage=trace-pc,bb,no-prune");
  return flags;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) (text += word) += '\0';
  return text;
}

// The compiled shim for these flags, made once. Empty on an error, which is in the log.
fs::path precompiled(const std::vector<std::string>& flags, std::string& log) {
  Cache& cache = Cache::get();
  const std::string name = hex(base::content_hash({joined(flags)})) + ".pch";
  const fs::path path = cache.folder() / name;
  std::error_code error;
  if (fs::exists(path, error)) return path;
  const fs::path scratch = cache.scratch();
  std::vector<std::string> words = {kClang};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"-c", "-Xclang", "-emit-pch", "-o", (scratch / "shim.pch").string(),
                             (cache.folder() / "shim.h").string()});
  fs::path result;
  if (run_program(words, scratch) == 0) {
    result = cache.keep(scratch / "shim.pch", name);
  } else {
    log = "cannot compile metal_stdlib with clang++-19:\n" + read_file(scratch / "stderr");
  }
  fs::remove_all(scratch, error);
  return result;
}

fs::path glue(std::string& log) {
  Cache& cache = Cache::get();
  const fs::path path = cache.folder() / "glue.o";
  std::error_code error;
  if (fs::exists(path, error)) return path;
  const fs::path scratch = cache.scratch();
  fs::path result;
  if (run_program({"clang-19", "-O2", "-fno-strict-aliasing", "-fPIC", "-march=native", "-c", "-o",
                   (scratch / "glue.o").string(), (cache.folder() / "glue.c").string()},
                  scratch) == 0) {
    result = cache.keep(scratch / "glue.o", "glue.o");
  } else {
    log = "cannot compile for this processor:\n" + read_file(scratch / "stderr");
  }
  fs::remove_all(scratch, error);
  return result;
}

std::string no_cache() {
  return "cannot compile: no folder for results below TMPDIR that belongs to this user alone\n";
}

std::shared_ptr<const Code> load(const fs::path& path, std::string& log) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    log = std::string("cannot load the compiled library: ") + ::dlerror() + "\n";
    return nullptr;
  }
  auto code = std::make_shared<Code>(handle);
  code->find_range();
  return code;
}

}  // namespace

Code::~Code() { ::dlclose(handle_); }

Code::Entry Code::entry(std::size_t k) const {
  return reinterpret_cast<Entry>(::dlsym(handle_, ("__hy_entry_" + std::to_string(k)).c_str()));
}

const TypeWords* Code::types() const {
  return static_cast<const TypeWords*>(::dlsym(handle_, "__hy_types"));
}

std::span<const std::uint32_t> Code::variables() const {
  using Find = void (*)(const std::uint32_t** begin, const std::uint32_t** end);
  const auto find = reinterpret_cast<Find>(::dlsym(handle_, "__hy_variables"));
  const std::uint32_t *begin = nullptr, *end = nullptr;
  if (find != nullptr) find(&begin, &end);
  return {begin, end};
}

void Code::find_range() {
  struct link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  struct Search {
    std::uint64_t base;
    std::pair<std::uint64_t, std::uint64_t>* range;
  } search{map->l_addr, &range_};
  ::dl_iterate_phdr(
      [](struct dl_phdr_info* info, std::size_t, void* data) {
        auto* const s = static_cast<Search*>(data);
        if (info->dlpi_addr != s->base) return 0;
        std::uint64_t end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD)
            end = std::max<std::uint64_t>(end, header.p_vaddr + header.p_memsz);
        }
        *s->range = {s->base, s->base + end};
        return 1;
      },
      &search);
}

Preprocessed preprocess(std::string_view source, const CompileOptions& options) {
  Preprocessed result;
  Cache& cache = Cache::get();
  if (!cache.usable()) {
    result.log = no_cache();
    return result;
  }
  const fs::path scratch = cache.scratch();
  write_file(scratch / "program_source", source);
  const std::uint32_t version = options.language_version == 0 ? 0x30002 : options.language_version;
  std::vector<std::string> words = {
      kClang,
      "-E",
      "-x",
      "c++",
      "-std=c++17",
      "-undef",
      "-nostdinc",
      "-w",
      "-fno-caret-diagnostics",
      "-I",
      (cache.folder() / "include").string(),
      "-D__METAL__=1",
      "-D__METAL_MACOS__=1",
      "-D__METAL_VERSION__=" + std::to_string((version >> 16) * 100 + (version & 0xffff) * 10)};
  if (options.math_mode != MathMode::kSafe) words.emplace_back("-D__FAST_MATH__=1");
  for (const auto& [name, value] : options.macros) words.push_back("-D" + name + "=" + value);
  words.emplace_back("program_source");
  result.ok = run_program(words, scratch) == 0;
  result.log = read_file(scratch / "stderr");
  if (result.ok) result.text = read_file(scratch / "stdout");
  if (!result.ok && result.log.empty()) result.log = "cannot run clang++-19\n";
  std::error_code error;
  fs::remove_all(scratch, error);
  return result;
}

Compiled compile_code(const std::string& source, const CompileOptions& options,
                      Instrument instrument) {
  Compiled result;
  Cache& cache = Cache::get();
  if (!cache.usable()) {
    result.log = no_cache();
    return result;
  }
  const std::vector<std::string> flags = language_flags(options, instrument);
  const std::string name = hex(base::content_hash({source, joined(flags)}));
  const fs::path object = cache.folder() / (name + ".so");
  std::error_code error;
  if (instrument != Instrument::kSyntax && fs::exists(object, error)) {
    result.code = load(object, result.log);
    result.ok = result.code != nullptr;
    return result;
  }
  const fs::path shim = precompiled(flags, result.log);
  const fs::path glue_object = glue(result.log);
  if (shim.empty() || glue_object.empty()) return result;
  const fs::path scratch = cache.scratch();
  write_file(scratch / "kernels.clcpp", source);
  std::vector<std::string> words = {kClang};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"-include-pch", shim.string()});
  if (instrument == Instrument::kSyntax) {
    words.insert(words.end(), {"-fsyntax-only", "kernels.clcpp"});
  } else {
    words.insert(words.end(),
                 {"kernels.clcpp", "-x", "none", glue_object.string(), "-o", "kernels.so",
                  "-shared", "-nostartfiles", "-fuse-ld=lld", "-Wl,--gc-sections",
                  "-Wl,-z,nostart-stop-gc", "-Wl,-z,defs", "-lm"});
  }
  result.ok = run_program(words, scratch) == 0;
  result.log = read_file(scratch / "stderr");
  if (!result.ok && result.log.empty()) result.log = "cannot run clang++-19\n";
  if (result.ok && instrument != Instrument::kSyntax) {
    const fs::path kept = cache.keep(scratch / "kernels.so", name + ".so");
    result.code = kept.empty() ? nullptr : load(kept, result.log);
    result.ok = result.code != nullptr;
  }
  fs::remove_all(scratch, error);
  return result;
}

}  // namespace halyard::inline v0::sim::msl
