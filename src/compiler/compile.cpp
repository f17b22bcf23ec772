// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "base/program.h"
#include "compiler/clang_words.h"
#include "compiler/code_object.h"
#include "compiler/cpu_ir.h"
#include "compiler/device_ir.h"
#include "compiler/foreign.h"
#include "compiler/hyx_writer.h"
#include "compiler/process.h"
#include "compiler/shader_image.h"
#include "compiler/syntax_tree.h"
#include "compiler/target.h"
#include "kernel/cpu_abi.h"
#include "kernel/cpu_checked.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::compiler {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

// The language is tested with clang 19.
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

// The directory of halyard/kernel.h: of the installation that this program belongs to or, in a
// build tree, the copy that src/compiler/CMakeLists.txt places beside the programs.
Result<fs::path> find_header() {
  std::error_code ignored;
  const fs::path program = base::program_path();
  const fs::path installed = (program.parent_path() / HALYARD_INCLUDE_FROM_BIN).lexically_normal();
  const fs::path built = program.parent_path() / "include";
  for (const fs::path& directory : {installed, built}) {
    if (fs::exists(directory / "halyard/kernel.h", ignored))
      return fs::canonical(directory, ignored);
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
    if (find_target(*target) == nullptr) {
      return error(StatusCode::kInvalidArgument, "{}: unknown target '{}'; known are {}",
                   options.source, *target, fmt::join(known_targets(), ", "));
    }
    if (std::find(options.targets.begin(), target, *target) != target) {
      return error(StatusCode::kInvalidArgument, "{}: target '{}' is given twice", options.source,
                   *target);
    }
  }
  return {};
}

// One compilation, step by step.
class Compilation {
 public:
  Compilation(const CompileOptions& options, const std::string& source, const Toolchain& tools,
              const TemporaryDirectory& scratch)
      : options_(options), source_(source), tools_(tools), scratch_(scratch) {}

  // Diagnostics, rules and reflection.
  Result<std::vector<Kernel>> check() const {
    if (options_.inputs != nullptr) options_.inputs->clear();
    HALYARD_ASSIGN_OR_RETURN(
        const ProcessOutput output,
        compile({kHostTriple, "-DHY_RULES", "-fopenmp-simd", "-fsyntax-only", "-Wall", "-Wextra",
                 "-Wno-unused-parameter", "-Werror=shadow", "-Werror=cast-qual", "-Werror=vla",
                 "-Werror=array-bounds", "-Werror=incompatible-pointer-types-discards-qualifiers",
                 "-Xclang", "-ast-dump=json"}));
    if (output.exit_code != 0) {
      return rejected("does not compile", in_our_words(output.err, source_));
    }
    HALYARD_ASSIGN_OR_RETURN(Analysis analysis, analyze(output.out, headers()));
    if (!analysis.diagnostics.empty()) return rejected("breaks a rule", analysis.diagnostics);
    if (analysis.kernels.empty()) return rejected("has no kernel", "no HY_KERNEL in this file\n");
    if (options_.warnings != nullptr) *options_.warnings += output.err;
    return std::move(analysis.kernels);
  }

  Result<Image> build(const Target& target, const std::vector<Kernel>& kernels) const {
    if (target.family == Family::kCpu) return build_shared_object(target);
    if (is_shader(target)) return build_shader(target, kernels);
    HALYARD_ASSIGN_OR_RETURN(Image image, build_device_image(target, kernels));
    if (target.family == Family::kHsaco) {
      // Compares the code object's metadata with the reflection: arguments where a launch puts
      // them.
      HALYARD_RETURN_IF_ERROR(check_code_object(
          image.bytes, fmt::format("{} for {}", options_.source, target.name), kernels));
    }
    return image;
  }

 private:
  static constexpr const char* kHostTriple = "--target=x86_64-unknown-linux-gnu";

  // Compiles in two steps, because C cannot express that items share their local arrays, or a
  // group's size.
  Result<Image> build_shared_object(const Target& target) const {
    HALYARD_ASSIGN_OR_RETURN(std::string ir, intermediate_code(target, {"-fPIC"}));
    share_local_arrays(ir);
    return build_intermediate(
        target, is_checked(target) ? kernel::kCheckedCpuConvention : kernel::kCpuConvention, ir,
        {"-fPIC", "-ffp-contract=off", "-ffunction-sections", "-shared", "-nostdlib",
         "-fuse-ld=lld", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--gc-sections",
         "-Wl,--build-id=none", options_.debug ? "-g" : "-s"});
  }

  Result<Image> build_device_image(const Target& target, const std::vector<Kernel>& kernels) const {
    HALYARD_ASSIGN_OR_RETURN(std::string ir, intermediate_code(target, {}));
    state_workgroup_sizes(target.family, kernels, ir);
    Arguments more;
    if (options_.debug) more.push_back("-gline-tables-only");
    if (target.family == Family::kPtx) more.push_back("-S");
    return build_intermediate(target, kernel::kKernargConvention, ir, std::move(more));
  }

  fs::path intermediate_path() const { return scratch_.path() / "kernels.ll"; }

  // Before any optimisation.
  Result<std::string> intermediate_code(const Target& target, Arguments more) const {
    const bool cpu = target.family == Family::kCpu;
    Arguments arguments = machine(target);
    if (options_.debug) arguments.push_back(cpu ? "-g" : "-gline-tables-only");
    if (cpu) {
      arguments.insert(arguments.end(),
                       {"-fno-stack-protector", "-fno-asynchronous-unwind-tables"});
    }
    if (is_checked(target)) arguments.push_back("-DHY_CHECKED");
    if (cpu && is_checked(target)) {  // halyard/kernel/checked.h
      arguments.insert(arguments.end(),
                       {"-fsanitize=array-bounds", "-fno-sanitize-recover=array-bounds",
                        // An array at the end of a struct is as long as it is declared.
                        "-fstrict-flex-arrays=3",
                        "-fsanitize-undefined-strip-path-components=-1"});  // only the file's name
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o",
                                       intermediate_path().string()});
    HALYARD_ASSIGN_OR_RETURN(const ProcessOutput output, compile(std::move(arguments)));
    if (output.exit_code != 0) return cannot_be_built(target, output);
    return read_file(intermediate_path(), kernel::kMaxHyxBytes);
  }

  Result<Image> build_intermediate(const Target& target, std::string_view convention,
                                   std::string_view ir, Arguments more) const {
    HALYARD_RETURN_IF_ERROR(write_file(intermediate_path(), ir));
    Arguments arguments = machine(target);
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments = to_image(std::move(arguments));
    arguments.insert(arguments.begin(), tools_.clang);
    arguments.insert(arguments.end(), {"-x", "ir", intermediate_path().string()});
    return image_of(target, convention, run_process(arguments, scratch_));
  }

  // Translates the syntax tree; clang generates no code.
  Result<Image> build_shader(const Target& target, const std::vector<Kernel>& kernels) const {
    if (is_checked(target)) {
      return error(StatusCode::kUnimplemented,
                   "{}: {} has no trap, so it cannot be a checked build; --checked-cpu checks the "
                   "images for CPUs alone",
                   options_.source, target.name);
    }
    HALYARD_ASSIGN_OR_RETURN(const ProcessOutput output,
                             compile({fmt::format("--target={}", target.triple), "-DHY_TEXT", "-w",
                                      "-fsyntax-only", "-Xclang", "-ast-dump=json"}));
    if (output.exit_code != 0) return cannot_be_built(target, output);
    Result<Image> image = build_shader_image(target, output.out, kernels, scratch_);
    if (image.status().code() == StatusCode::kInvalidArgument) {
      return rejected(fmt::format("cannot be built for {}", target.name), image.status().message());
    }
    return image;
  }

  bool is_checked(const Target& target) const {
    return options_.checked || (options_.checked_cpu && target.family == Family::kCpu);
  }

  // Options for the processor and code generation.
  Arguments machine(const Target& target) const {
    const bool hsaco = target.family == Family::kHsaco;
    // At -O0 AMD's kernels require hidden arguments, used or not, and a check does not find the
    // size of an atomic's array.
    const bool optimized = hsaco || is_checked(target);
    const int level = optimized ? std::max(1, options_.optimization) : options_.optimization;
    Arguments arguments = {fmt::format("--target={}", target.triple), fmt::format("-O{}", level),
                           // The check pass has reported the warnings.
                           "-w", "-fvisibility=hidden",
                           // clang 19.1's SLP vectoriser computes the operands of conversions to
                           // floating point in fewer bits and loses their sign: of several
                           // (float)~(uint)!x in a row it makes uitofp <4 x i8>, 255 for
                           // 4294967295. CpuCode.* fail without this option while clang does so.
                           "-fno-slp-vectorize"};
    if (options_.debug) arguments.push_back("-fdebug-compilation-dir=.");
    arguments.push_back(fmt::format("-m{}={}", hsaco ? "cpu" : "arch", target.arch));
    if (hsaco) arguments.push_back("-nogpulib");
    if (hsaco && !target.version.empty()) {
      arguments.push_back(fmt::format("-mcode-object-version={}", target.version));
    }
    if (target.family == Family::kPtx) {
      // Otherwise an installed CUDA toolkit determines the version.
      arguments.insert(arguments.end(), {"--cuda-path=/nonexistent", "-Xclang", "-target-feature",
                                         "-Xclang", fmt::format("+ptx{}", target.version)});
    }
    return arguments;
  }

  Arguments to_image(Arguments arguments) const {
    arguments.insert(arguments.end(), {"-o", (scratch_.path() / "image").string()});
    return arguments;
  }

  Result<Image> image_of(const Target& target, std::string_view convention,
                         Result<ProcessOutput> output) const {
    HALYARD_RETURN_IF_ERROR(output.status());
    if (output->exit_code != 0) return cannot_be_built(target, *output);
    HALYARD_ASSIGN_OR_RETURN(std::string bytes,
                             read_file(scratch_.path() / "image", kernel::kMaxHyxBytes));
    return Image{std::string(target.name), std::string(convention), std::move(bytes)};
  }

  // Runs clang on the source and records its headers, which may differ between targets. Kernels see
  // no system header, and no errno, contraction or library call, so that results are the same on
  // every target.
  Result<ProcessOutput> compile(Arguments arguments) const {
    Arguments all = {tools_.clang,
                     "-x",
                     "c",
                     "-std=gnu17",
                     "-ffreestanding",
                     "-nostdinc",
                     "-ffp-contract=off",
                     "-fsigned-char",  // C leaves it open, and aarch64 differs
                     "-fno-math-errno",
                     "-fno-color-diagnostics",
                     "-fmacro-backtrace-limit=1",
                     "-include",
                     tools_.include_dir + "/halyard/kernel.h",
                     "-I" + tools_.include_dir};
    for (const std::string& directory : options_.include_dirs) all.push_back("-I" + directory);
    all.insert(all.end(), std::make_move_iterator(arguments.begin()),
               std::make_move_iterator(arguments.end()));
    const std::string rule = (scratch_.path() / "rule").string();
    all.insert(all.end(), {"-MD", "-MT", "inputs", "-MF", rule, "--", options_.source});
    HALYARD_ASSIGN_OR_RETURN(ProcessOutput output, run_process(all, scratch_));
    if (output.exit_code == 0) HALYARD_RETURN_IF_ERROR(note_inputs(rule));
    return output;
  }

  Status note_inputs(const std::string& rule) const {
    if (options_.inputs == nullptr) return {};
    HALYARD_ASSIGN_OR_RETURN(const std::string text, read_file(rule, kMaxSourceBytes));
    std::vector<std::string>& inputs = *options_.inputs;
    for (std::string& input : parse_rule(text)) {
      if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(std::move(input));
    }
    return {};
  }

  std::string headers() const { return tools_.include_dir + "/halyard/"; }

  Status cannot_be_built(const Target& target, const ProcessOutput& output) const {
    return rejected(fmt::format("cannot be built for {}", target.name), first_error(output.err));
  }

  Status rejected(std::string_view what, std::string_view diagnostics) const {
    std::string text = fmt::format("{}: {}\n{}", options_.source, what, diagnostics);
    while (text.ends_with('\n')) text.pop_back();
    return Status(StatusCode::kInvalidArgument, text);
  }

  const CompileOptions& options_;
  const std::string& source_;  // its text
  const Toolchain& tools_;
  const TemporaryDirectory& scratch_;
};

Result<std::vector<std::byte>> compile_checked(const CompileOptions& options) {
  if (is_foreign(options.source)) return compile_foreign(options);
  if (!options.manifest.empty()) {
    return error(StatusCode::kInvalidArgument, "{}: a .hyk file needs no manifest", options.source);
  }
  HALYARD_RETURN_IF_ERROR(check_options(options));
  Contents contents;
  HALYARD_ASSIGN_OR_RETURN(std::string text, read_file(options.source, kMaxSourceBytes));
  contents.sources.push_back({fs::path(options.source).filename().string(), std::move(text)});
  HALYARD_ASSIGN_OR_RETURN(const Toolchain tools, find_toolchain(options));
  HALYARD_ASSIGN_OR_RETURN(const TemporaryDirectory scratch, TemporaryDirectory::create());

  const Compilation compilation(options, contents.sources[0].text, tools, scratch);
  HALYARD_ASSIGN_OR_RETURN(contents.kernels, compilation.check());
  for (const std::string& target : options.targets) {
    HALYARD_ASSIGN_OR_RETURN(Image image,
                             compilation.build(*find_target(target), contents.kernels));
    contents.images.push_back(std::move(image));
  }
  std::vector<std::byte> bytes = write_hyx(contents);
  // Never returns a file that the loader would refuse.
  HALYARD_RETURN_IF_ERROR(kernel::Hyx::parse(bytes, options.source).status());
  return bytes;
}

}  // namespace

std::vector<std::string_view> known_targets() {
  std::vector<std::string_view> names;
  for (const Target& target : targets()) names.push_back(target.name);
  return names;
}

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
