// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/foreign.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/format.h"
#include "compiler/clang_words.h"
#include "compiler/code_object.h"
#include "compiler/foreign_prelude.h"
#include "compiler/hyx_writer.h"
#include "compiler/manifest.h"
#include "compiler/metal_text.h"
#include "compiler/process.h"
#include "compiler/ptx.h"
#include "compiler/shader_image.h"
#include "compiler/spirv.h"
#include "compiler/spirv_module.h"
#include "compiler/spirv_to_metal.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::compiler {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

constexpr std::string_view kPtx = "ptx-sm_";
constexpr std::string_view kHsaco = "hsaco-gfx";
// Otherwise an installed CUDA toolkit determines the version of the PTX.
constexpr const char* kNoToolkit = "--cuda-path=/nonexistent";

enum class Language { kCuda, kOpenCl, kGlsl, kMetal };

struct Kind {
  std::string_view extension;
  Language language;
  std::string_view targets;  // for messages
  std::vector<std::string> defaults;
};

const Kind* find_kind(std::string_view source) {
  // A driver accepts PTX of an older architecture than its device's.
  static const std::array<Kind, 4> kKinds = {{
      {".cu", Language::kCuda, "ptx-sm_NN", {"ptx-sm_75"}},
      {".cl",
       Language::kOpenCl,
       "ptx-sm_NN, hsaco-gfxN",
       {"hsaco-gfx90a", "hsaco-gfx942", "hsaco-gfx1100"}},
      {".comp", Language::kGlsl, "spirv-1.5, msl-3.0", {"spirv-1.5"}},
      {".metal", Language::kMetal, "msl-3.0", {"msl-3.0"}},
  }};
  const std::size_t dot = source.rfind('.');
  const auto found =
      std::ranges::find(kKinds, dot == source.npos ? "" : source.substr(dot), &Kind::extension);
  return found == kKinds.end() ? nullptr : &*found;
}

// "ptx-sm_90a": a family, then letters and digits.
bool is_of(std::string_view target, std::string_view family) {
  if (!target.starts_with(family) || target.size() == family.size()) return false;
  return std::ranges::all_of(target.substr(family.size()), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

bool has_target(Language language, std::string_view target) {
  switch (language) {
    case Language::kCuda:
      return is_of(target, kPtx);
    case Language::kOpenCl:
      return is_of(target, kPtx) || is_of(target, kHsaco);
    case Language::kGlsl:
      return target == "spirv-1.5" || target == kernel::kMetalTarget;
    case Language::kMetal:
      return target == kernel::kMetalTarget;
  }
  return false;
}

Status check_options(const CompileOptions& options, const Kind& kind) {
  if (options.targets.empty()) {
    return error(StatusCode::kInvalidArgument, "{}: no target to compile for", options.source);
  }
  if (options.optimization < 0 || options.optimization > 3) {
    return error(StatusCode::kInvalidArgument, "{}: optimization level {}; 0 to 3 are known",
                 options.source, options.optimization);
  }
  if (options.checked) {
    return error(StatusCode::kInvalidArgument, "{}: only .hyk kernels can be checked builds",
                 options.source);
  }
  for (const std::string& target : options.targets) {
    if (!has_target(kind.language, target)) {
      return error(StatusCode::kInvalidArgument, "{}: {} cannot be a target of {} files; {} can",
                   options.source, target, kind.extension, kind.targets);
    }
    if (std::ranges::count(options.targets, target) != 1) {
      return error(StatusCode::kInvalidArgument, "{}: target '{}' is given twice", options.source,
                   target);
    }
  }
  return {};
}

kernel::ElementType element_named(std::string_view name, bool& known) {
  using enum kernel::ElementType;
  static constexpr std::pair<std::string_view, kernel::ElementType> kNames[] = {
      {"float", kFloat32}, {"int", kInt32},    {"uint", kUint32},  {"double", kFloat64},
      {"long", kInt64},    {"ulong", kUint64}, {"half", kFloat16}, {"short", kInt16},
      {"ushort", kUint16}, {"char", kInt8},    {"uchar", kUint8},  {"unsigned int", kUint32},
  };
  // "float4*" is an array of floats; "float4" is not a constant.
  if (name.ends_with('*')) {
    name.remove_suffix(1);
    while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0) {
      name.remove_suffix(1);
    }
  }
  const auto* const found =
      std::ranges::find(kNames, name, &std::pair<std::string_view, kernel::ElementType>::first);
  known = found != std::end(kNames);
  return known ? found->second : kUint8;
}

// The reflection of one kernel of a code object.
Result<Kernel> reflect(const CodeObjectKernel& from) {
  const auto wrong = [&](std::string_view what, const CodeObjectArgument& argument) {
    return error(StatusCode::kInvalidArgument, "kernel {}: parameter '{}', {}, {}; give a manifest",
                 from.name, argument.name, argument.type_name, what);
  };
  Kernel kernel{.name = from.name, .workgroup_size = from.workgroup_size};
  kernel.static_shared_bytes = from.shared_bytes;
  if (from.workgroup_size[0] == 0) {
    return error(StatusCode::kInvalidArgument,
                 "kernel {}: has no reqd_work_group_size, and no manifest gives its workgroup size",
                 from.name);
  }
  for (const CodeObjectArgument& argument : from.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    if (argument.name.empty()) return wrong("has no name", argument);
    bool known = false;
    const kernel::ElementType type = element_named(argument.type_name, known);
    if (argument.kind == "global_buffer") {
      if (!kernel.constants.empty()) return wrong("is a buffer after a scalar", argument);
      // A structure's bytes.
      kernel.bindings.push_back(
          {argument.name, argument.is_const ? kernel::Access::kRead : kernel::Access::kReadWrite,
           type});
    } else if (argument.kind == "by_value" && known && size_of(type) == argument.size) {
      const auto base = static_cast<std::uint32_t>(8 * kernel.bindings.size());
      kernel.constants.push_back({argument.name, type, argument.offset - base});
      kernel.constants_bytes = argument.offset - base + argument.size;
    } else {
      return wrong("is neither a buffer nor a number", argument);
    }
  }
  return kernel;
}

class Foreign {
 public:
  Foreign(const CompileOptions& options, const Kind& kind, const TemporaryDirectory& scratch)
      : options_(options), kind_(kind), scratch_(scratch) {}

  Result<Contents> build() {
    HALYARD_ASSIGN_OR_RETURN(std::string text, read_file(options_.source, kMaxSourceBytes));
    add_input(options_.source);
    if (!options_.manifest.empty()) {
      HALYARD_ASSIGN_OR_RETURN(const std::string manifest,
                               read_file(options_.manifest, kMaxSourceBytes));
      HALYARD_ASSIGN_OR_RETURN(contents_.kernels, parse_manifest(manifest, options_.manifest));
      add_input(options_.manifest);
    } else {
      HALYARD_RETURN_IF_ERROR(reflect());
    }
    contents_.sources.push_back({fs::path(options_.source).filename().string(), text});
    for (const std::string& target : options_.targets) {
      HALYARD_RETURN_IF_ERROR(add_image(target, text));
    }
    return std::move(contents_);
  }

 private:
  // Reads the kernels if there is no manifest.
  Status reflect() {
    if (kind_.language == Language::kGlsl) {
      HALYARD_ASSIGN_OR_RETURN(const std::string module, build_spirv());
      HALYARD_ASSIGN_OR_RETURN(contents_.kernels, reflect_spirv(options_.source, module, sets()));
      return {};
    }
    if (kind_.language != Language::kOpenCl) {
      return error(StatusCode::kInvalidArgument,
                   "{}: a {} file does not describe its kernels' parameters; give a manifest",
                   options_.source, kind_.extension);
    }
    // PTX has no names of parameters, so the metadata of an AMD image also serves for PTX.
    const auto amd = std::ranges::find_if(
        options_.targets, [](const std::string& target) { return is_of(target, kHsaco); });
    HALYARD_ASSIGN_OR_RETURN(const std::string object,
                             build_opencl(amd == options_.targets.end() ? "hsaco-gfx90a" : *amd));
    HALYARD_ASSIGN_OR_RETURN(const CodeObject code, read_code_object(object, options_.source));
    for (const CodeObjectKernel& each : code.kernels) {
      Result<Kernel> kernel = compiler::reflect(each);
      if (!kernel.ok()) return rejected(kernel.status().message());
      contents_.kernels.push_back(*std::move(kernel));
    }
    if (contents_.kernels.empty()) return rejected("has no kernel");
    return {};
  }

  Status add_image(const std::string& target, const std::string& text) {
    std::string_view convention = kernel::kKernargConvention;
    std::string bytes;
    if (kind_.language == Language::kMetal) {
      convention = kernel::kMetalConvention;
      HALYARD_RETURN_IF_ERROR(check_metal(text));
      bytes = text;
    } else if (kind_.language == Language::kGlsl && target == kernel::kMetalTarget) {
      convention = kernel::kMetalConvention;
      HALYARD_ASSIGN_OR_RETURN(const std::string module, build_spirv());
      HALYARD_RETURN_IF_ERROR(fit_to_spirv(options_.source, module, contents_.kernels, sets()));
      HALYARD_ASSIGN_OR_RETURN(
          bytes, metal_from_spirv(options_.source, module, contents_.kernels, scratch_));
    } else if (kind_.language == Language::kGlsl) {
      convention = kernel::kVulkanConvention;
      HALYARD_ASSIGN_OR_RETURN(bytes, build_spirv());
      HALYARD_RETURN_IF_ERROR(fit_to_spirv(options_.source, bytes, contents_.kernels));
      for (const Kernel& kernel : contents_.kernels) {
        if (kernel.constants_bytes <= kernel::kVulkanConstantsBytes) continue;
        return rejected(fmt::format("kernel {}: {} bytes of push constants; {} is the most",
                                    kernel.name, kernel.constants_bytes,
                                    kernel::kVulkanConstantsBytes));
      }
    } else {
      HALYARD_ASSIGN_OR_RETURN(
          bytes, kind_.language == Language::kCuda ? build_cuda(target) : build_opencl(target));
      HALYARD_RETURN_IF_ERROR(is_of(target, kPtx)
                                  ? fit_to_ptx(options_.source, bytes, contents_.kernels)
                                  : check_code_object(bytes, options_.source, contents_.kernels));
    }
    contents_.images.push_back({target, std::string(convention), std::move(bytes)});
    return {};
  }

  // ---- The compilers

  Result<std::string> build_cuda(std::string_view target) {
    const std::string arch(target.substr(4));
    if (const std::string nvcc = find_program("nvcc"); !nvcc.empty()) {
      Arguments arguments = {nvcc, "-ptx", "-arch=" + arch, "-MD", "-MF", path("rule")};
      if (options_.debug) arguments.emplace_back("-lineinfo");
      return output_of(std::move(arguments), target);
    }
    const Result<Toolchain> tools = find_toolchain(options_);
    if (!tools.ok()) {
      return error(StatusCode::kUnavailable,
                   "{}: neither nvcc (of the CUDA toolkit) nor clang (package clang-19) is in PATH",
                   options_.source);
    }
    HALYARD_RETURN_IF_ERROR(write_file(path("prelude.h"), kCudaPrelude));
    Arguments arguments = clang(*tools, "cuda");
    arguments.insert(arguments.end(), {"--cuda-device-only", "--cuda-gpu-arch=" + arch,
                                       "-nocudainc", "-nocudalib", kNoToolkit, "-S"});
    return output_of(std::move(arguments), target);
  }

  Result<std::string> build_opencl(std::string_view target) {
    const Result<Toolchain> tools = find_toolchain(options_);
    if (!tools.ok()) {
      return error(StatusCode::kUnavailable, "{}: clang (packages clang-19, lld-19) is not in PATH",
                   options_.source);
    }
    HALYARD_RETURN_IF_ERROR(write_file(path("prelude.h"), kOpenClPrelude));
    Arguments arguments = clang(*tools, "cl");
    arguments.emplace_back("-cl-kernel-arg-info");  // names in the code object's metadata
    if (is_of(target, kPtx)) {
      arguments.insert(arguments.end(),
                       {"--target=nvptx64-nvidia-cuda", fmt::format("-march={}", target.substr(4)),
                        kNoToolkit, "-S"});
    } else {
      arguments.insert(arguments.end(),
                       {"--target=amdgcn-amd-amdhsa", fmt::format("-mcpu={}", target.substr(6))});
    }
    return output_of(std::move(arguments), target);
  }

  // The workgroup size, if a manifest gives all kernels the same one.
  std::optional<std::array<std::uint32_t, 3>> common_size() const {
    if (options_.manifest.empty()) return std::nullopt;
    const auto& size = contents_.kernels.front().workgroup_size;
    const bool common = std::ranges::all_of(
        contents_.kernels, [&](const Kernel& kernel) { return kernel.workgroup_size == size; });
    return common ? std::optional(size) : std::nullopt;
  }

  Result<std::string> build_spirv() {
    const std::string entry = contents_.kernels.empty() ? fs::path(options_.source).stem().string()
                                                        : contents_.kernels.front().name;
    Result<Arguments> command = glslang_command();
    if (!command.ok()) {
      return error(command.status().code(), "{}: {}", options_.source, command.status().message());
    }
    Arguments& arguments = *command;
    arguments.insert(arguments.end(), {"--depfile", path("rule")});
    if (options_.debug) arguments.emplace_back("-g");
    HALYARD_ASSIGN_OR_RETURN(const std::string module, output_of(*std::move(command), "spirv-1.5"));
    return rename_entry_point(module, entry);
  }

  // Only images for Vulkan require that all bindings are in set 0.
  Sets sets() const {
    return std::ranges::find(options_.targets, "spirv-1.5") == options_.targets.end()
               ? Sets::kCondensed
               : Sets::kZero;
  }

  // Checks that the text has the kernels and, if there is a Metal compiler, that it compiles.
  Status check_metal(std::string_view text) {
    HALYARD_RETURN_IF_ERROR(fit_to_metal(options_.source, text, contents_.kernels));
    const std::string xcrun = find_program("xcrun");
    if (xcrun.empty()) return {};
    return output_of({xcrun, "-sdk", "macosx", "metal", "-c", "-x", "metal", "-std=metal3.0"},
                     "msl-3.0")
        .status();
  }

  Arguments clang(const Toolchain& tools, const char* language) const {
    Arguments arguments = {tools.clang,
                           "-x",
                           language,
                           "-include",
                           path("prelude.h"),
                           "-nogpulib",
                           "-fno-color-diagnostics",
                           "-Wno-unknown-cuda-version",
                           fmt::format("-O{}", options_.optimization),
                           "-MD",
                           "-MF",
                           path("rule")};
    if (options_.debug) arguments.emplace_back("-gline-tables-only");
    return arguments;
  }

  // Runs a compiler and returns its output file.
  Result<std::string> output_of(Arguments arguments, std::string_view target) {
    for (const std::string& directory : options_.include_dirs)
      arguments.push_back("-I" + directory);
    arguments.insert(arguments.end(), {"-o", path("image"), options_.source});
    HALYARD_ASSIGN_OR_RETURN(const ProcessOutput output, run_process(arguments, scratch_));
    if (output.exit_code != 0) {
      // glslangValidator prints errors on stdout.
      return rejected(
          fmt::format("cannot be built for {}\n{}", target, first_error(output.out + output.err)));
    }
    if (options_.warnings != nullptr) *options_.warnings += output.err;
    if (const Result<std::string> rule = read_file(path("rule"), kMaxSourceBytes); rule.ok()) {
      for (const std::string& input : parse_rule(*rule)) {
        if (input != path("prelude.h")) add_input(input);
      }
    }
    return read_file(path("image"), kernel::kMaxHyxBytes);
  }

  void add_input(const std::string& input) const {
    std::vector<std::string>* const inputs = options_.inputs;
    if (inputs == nullptr || std::ranges::find(*inputs, input) != inputs->end()) return;
    inputs->push_back(input);
  }

  std::string path(const char* name) const { return (scratch_.path() / name).string(); }

  Status rejected(std::string_view what) const {
    std::string text = fmt::format("{}: {}", options_.source, what);
    while (text.ends_with('\n')) text.pop_back();
    return Status(StatusCode::kInvalidArgument, text);
  }

  const CompileOptions& options_;
  const Kind& kind_;
  const TemporaryDirectory& scratch_;
  Contents contents_;
};

}  // namespace

bool is_foreign(std::string_view source) noexcept { return find_kind(source) != nullptr; }

std::vector<std::string> default_targets(std::string_view source) {
  const Kind* const kind = find_kind(source);
  return kind == nullptr ? CompileOptions{}.targets : kind->defaults;
}

std::vector<std::string> named_targets(std::string_view source,
                                       std::span<const std::string> names) {
  const std::vector<std::string> defaults = default_targets(source);
  if (names.empty()) return defaults;
  std::vector<std::string> targets;
  for (const std::string& name : names) {
    if (name == "default") {
      targets.insert(targets.end(), defaults.begin(), defaults.end());
    } else {
      targets.push_back(name.starts_with("gfx") ? "hsaco-" + name : name);
    }
  }
  return targets;
}

Result<std::vector<std::byte>> compile_foreign(const CompileOptions& options) {
  const Kind* const kind = find_kind(options.source);
  if (kind == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: not a .cu, .cl, .comp or .metal file",
                 options.source);
  }
  HALYARD_RETURN_IF_ERROR(check_options(options, *kind));
  HALYARD_ASSIGN_OR_RETURN(const TemporaryDirectory scratch, TemporaryDirectory::create());
  HALYARD_ASSIGN_OR_RETURN(const Contents contents, Foreign(options, *kind, scratch).build());
  std::vector<std::byte> bytes = write_hyx(contents);
  // Never returns a file that the loader would refuse.
  HALYARD_RETURN_IF_ERROR(kernel::Hyx::parse(bytes, options.source).status());
  return bytes;
}

}  // namespace halyard::inline v0::compiler
