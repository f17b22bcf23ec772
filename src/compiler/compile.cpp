// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/compile.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "compiler/hyx_writer.h"
#include "compiler/process.h"
#include "compiler/syntax_tree.h"
#include "kernel/cpu_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::compiler {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

constexpr std::array<std::string_view, 5> kTargets = {"x86-64", "x86-64-v2", "x86-64-v3",
                                                      "x86-64-v4", "aarch64"};
constexpr const char* kX86 = "--target=x86_64-unknown-linux-gnu";
constexpr const char* kArm = "--target=aarch64-unknown-linux-gnu";
constexpr std::size_t kMaxSourceBytes = std::size_t{16} << 20;

// Clang 19 is what the dialect is tested with.
constexpr std::array<std::string_view, 4> kClangNames = {"clang-19", "clang-20", "clang-21",
                                                         "clang"};

Result<std::string> find_clang(const std::string& wanted) {
  const char* variable = std::getenv("HALYARD_CLANG");
  const std::string name = !wanted.empty() ? wanted : variable != nullptr ? variable : "";
  if (!name.empty()) {
    std::string path = find_program(name);
    if (!path.empty()) return path;
    return error(StatusCode::kUnavailable, "{}: no such compiler", name);
  }
  for (const std::string_view candidate : kClangNames) {
    std::string path = find_program(candidate);
    if (!path.empty()) return path;
  }
  return error(StatusCode::kUnavailable,
               "no clang in PATH (tried {}): install clang-19 and lld-19, or set HALYARD_CLANG",
               fmt::join(kClangNames, ", "));
}

// The directory that holds halyard/kernel.h: of the installation that this program belongs to, or,
// in a build tree, what src/compiler/CMakeLists.txt has put beside the programs.
Result<fs::path> find_header() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = (program.parent_path() / HALYARD_INCLUDE_FROM_BIN).lexically_normal();
  const fs::path built = program.parent_path() / "include";
  for (const fs::path& directory : {installed, built}) {
    if (fs::exists(directory / "halyard/kernel.h", ignored)) return fs::canonical(directory, ignored);
  }
  return error(StatusCode::kUnavailable, "halyard/kernel.h is neither in {} nor in {}",
               installed.string(), built.string());
}

Status check_options(const CompileOptions& options) {
  if (options.source.empty()) return error(StatusCode::kInvalidArgument, "compile: no source");
  if (options.targets.empty()) {
    return error(StatusCode::kInvalidArgument, "{}: no target to compile for", options.source);
  }
  if (options.optimization < 0 || options.optimization > 3) {
    return error(StatusCode::kInvalidArgument, "{}: optimization level {}; 0 to 3 are known",
                 options.source, options.optimization);
  }
  for (auto target = options.targets.begin(); target != options.targets.end(); ++target) {
    if (std::find(kTargets.begin(), kTargets.end(), *target) == kTargets.end()) {
      return error(StatusCode::kInvalidArgument, "{}: unknown target '{}'; known are {}",
                   options.source, *target, fmt::join(kTargets, ", "));
    }
    if (std::find(options.targets.begin(), target, *target) != target) {
      return error(StatusCode::kInvalidArgument, "{}: target '{}' is given twice", options.source,
                   *target);
    }
  }
  return {};
}

// The paths of a Makefile's rule "inputs: a.hyk b\ c.h \<newline> d.h", as clang writes it.
std::vector<std::string> parse_rule(std::string_view rule) {
  std::vector<std::string> paths;
  std::string path;
  const auto end_path = [&] {
    if (!path.empty()) paths.push_back(std::exchange(path, {}));
  };
  rule.remove_prefix(std::min(rule.size(), rule.find(':') + 1));
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (rule[i] == '\\' && next == '\n') {
      ++i;
    } else if ((rule[i] == '\\' && (next == ' ' || next == '#')) ||
               (rule[i] == '$' && next == '$')) {
      path += next;
      ++i;
    } else if (rule[i] == ' ' || rule[i] == '\n') {
      end_path();
    } else {
      path += rule[i];
    }
  }
  end_path();
  return paths;
}

// One compilation, step by step.
class Compilation {
 public:
  Compilation(const CompileOptions& options, const Toolchain& tools,
              const TemporaryDirectory& scratch)
      : options_(options), scratch_(scratch) {
    // Kernels see no system header, and no errno, contraction or library call: results are the same
    // on every level of x86-64.
    common_ = {tools.clang,
               "-x",
               "c",
               "-std=gnu17",
               "-ffreestanding",
               "-nostdinc",
               "-fopenmp-simd",
               "-ffp-contract=off",
               "-fno-math-errno",
               "-fno-color-diagnostics",
               "-fmacro-backtrace-limit=1",
               "-include",
               tools.include_dir + "/halyard/kernel.h",
               "-I" + tools.include_dir};
    if (options.checked) common_.push_back("-DHY_CHECKED");
    for (const std::string& directory : options.include_dirs) common_.push_back("-I" + directory);
  }

  // Diagnostics, rules and reflection.
  Result<std::vector<Kernel>> check() const {
    const std::string rule = (scratch_.path() / "rule").string();
    HALYARD_ASSIGN_OR_RETURN(
        const ProcessOutput output,
        clang({kX86, "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wshadow",
               "-Werror=shadow", "-Xclang", "-ast-dump=json", "-MD", "-MT", "inputs", "-MF",
               rule}));
    if (output.exit_code != 0) return rejected("does not compile", output.err);
    HALYARD_ASSIGN_OR_RETURN(Analysis analysis, analyze(output.out));
    if (!analysis.diagnostics.empty()) return rejected("breaks a rule", analysis.diagnostics);
    if (analysis.kernels.empty()) return rejected("has no kernel", "no HY_KERNEL in this file\n");
    if (options_.warnings != nullptr) *options_.warnings += output.err;
    if (options_.inputs != nullptr) {
      HALYARD_ASSIGN_OR_RETURN(const std::string text, read_file(rule, kMaxSourceBytes));
      *options_.inputs = parse_rule(text);
    }
    return std::move(analysis.kernels);
  }

  Result<Image> build(const std::string& target) const {
    const fs::path path = scratch_.path() / "image";
    const bool arm = target == "aarch64";
    Arguments arguments = {arm ? kArm : kX86, "-march=" + (arm ? "armv8-a" : target),
                           fmt::format("-O{}", options_.optimization),
                           // Warnings were the check pass's business.
                           "-w", "-fvisibility=hidden", "-fPIC", "-ffunction-sections",
                           "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-shared",
                           "-nostdlib", "-fuse-ld=lld", "-Wl,-z,defs", "-Wl,-z,noexecstack",
                           "-Wl,--gc-sections", "-Wl,--build-id=none", "-o", path.string()};
    if (options_.debug) {
      arguments.insert(arguments.end(), {"-g", "-fdebug-compilation-dir=."});
    } else {
      arguments.push_back("-s");
    }
    HALYARD_ASSIGN_OR_RETURN(const ProcessOutput output, clang(std::move(arguments)));
    if (output.exit_code != 0) {
      return rejected(fmt::format("cannot be built for {}", target), output.err);
    }
    HALYARD_ASSIGN_OR_RETURN(std::string bytes, read_file(path, kernel::kMaxHyxBytes));
    return Image{target, std::string(kernel::kCpuConvention), std::move(bytes)};
  }

 private:
  Result<ProcessOutput> clang(Arguments arguments) const {
    Arguments all = common_;
    all.insert(all.end(), std::make_move_iterator(arguments.begin()),
               std::make_move_iterator(arguments.end()));
    all.insert(all.end(), {"--", options_.source});
    return run_process(all, scratch_);
  }

  Status rejected(std::string_view what, std::string_view diagnostics) const {
    std::string text = fmt::format("{}: {}\n{}", options_.source, what, diagnostics);
    while (text.ends_with('\n')) text.pop_back();
    return Status(StatusCode::kInvalidArgument, text);
  }

  const CompileOptions& options_;
  const TemporaryDirectory& scratch_;
  Arguments common_;
};

Result<std::vector<std::byte>> compile_checked(const CompileOptions& options) {
  HALYARD_RETURN_IF_ERROR(check_options(options));
  Contents contents;
  HALYARD_ASSIGN_OR_RETURN(std::string text, read_file(options.source, kMaxSourceBytes));
  contents.sources.push_back({fs::path(options.source).filename().string(), std::move(text)});
  HALYARD_ASSIGN_OR_RETURN(const Toolchain tools, find_toolchain(options));
  HALYARD_ASSIGN_OR_RETURN(const TemporaryDirectory scratch, TemporaryDirectory::create());

  const Compilation compilation(options, tools, scratch);
  HALYARD_ASSIGN_OR_RETURN(contents.kernels, compilation.check());
  for (const std::string& target : options.targets) {
    HALYARD_ASSIGN_OR_RETURN(Image image, compilation.build(target));
    contents.images.push_back(std::move(image));
  }
  std::vector<std::byte> bytes = write_hyx(contents);
  // Nobody gets a file that the loader would refuse.
  HALYARD_RETURN_IF_ERROR(kernel::Hyx::parse(bytes, options.source).status());
  return bytes;
}

}  // namespace

std::span<const std::string_view> known_targets() noexcept { return kTargets; }

Result<Toolchain> find_toolchain(const CompileOptions& options) {
  Toolchain tools;
  HALYARD_ASSIGN_OR_RETURN(tools.clang, find_clang(options.clang));
  HALYARD_ASSIGN_OR_RETURN(const fs::path header, find_header());
  tools.include_dir = header.string();
  return tools;
}

Result<std::vector<std::byte>> compile(const CompileOptions& options) {
  try {
    return compile_checked(options);
  } catch (const std::bad_alloc&) {
    return error(StatusCode::kResourceExhausted, "{}: out of memory", options.source);
  } catch (const std::exception& exception) {
    return error(StatusCode::kInternal, "{}: {}", options.source, exception.what());
  }
}

}  // namespace halyard::inline v0::compiler
