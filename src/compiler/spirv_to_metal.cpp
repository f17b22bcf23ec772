// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/spirv_to_metal.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/format.h"
#include "compiler/metal_text.h"
#include "compiler/metal_words.h"
#include "compiler/spirv_module.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::compiler {
namespace {

class Translation {
 public:
  Translation(std::string_view source, const TemporaryDirectory& scratch)
      : source_(source), scratch_(scratch) {}

  Result<std::string> text_of(std::string_view module, const std::vector<Kernel>& kernels) {
    const Result<std::string> prepared = spirv_for_metal(module);
    if (!prepared.ok()) return rejected(prepared.status().message());
    HALYARD_RETURN_IF_ERROR(write_file(path("module.spv"), *prepared));
    if (has_specialization(*prepared)) HALYARD_RETURN_IF_ERROR(freeze());
    std::vector<std::string> texts;
    for (const Kernel& kernel : kernels) {
      if (is_metal_word(kernel.name)) {
        return rejected(
            fmt::format("a kernel named '{}', a word of Metal; give it another name", kernel.name));
      }
      HALYARD_ASSIGN_OR_RETURN(std::string text, translate(kernel));
      texts.push_back(std::move(text));
    }
    return join(texts, kernels);
  }

 private:
  Status freeze() {
    HALYARD_ASSIGN_OR_RETURN(std::string program, find_tool("spirv-opt", "spirv-tools"));
    return run(
        {std::move(program), "--freeze-spec-const", path("module.spv"), "-o", path("module.spv")});
  }

  // Translates one kernel of the module, with its types and functions.
  Result<std::string> translate(const Kernel& kernel) {
    Result<std::string> program = find_tool("spirv-cross", "spirv-cross");
    if (!program.ok()) {
      return error(program.status().code(), "{}: {}", source_, program.status().message());
    }
    HALYARD_RETURN_IF_ERROR(
        run({*std::move(program), "--msl", "--msl-version", "30000",
             // One struct for set 0, with [[id(binding)]] of all its buffers.
             "--msl-argument-buffers", "--msl-force-active-argument-buffer-resources",
             "--msl-decoration-binding", "--entry", kernel.name, "--stage", "comp",
             "--rename-entry-point", kernel.name, kernel.name, "comp", "--output",
             path("kernel.metal"), path("module.spv")}));
    HALYARD_ASSIGN_OR_RETURN(std::string text,
                             read_file(path("kernel.metal"), kernel::kMaxHyxBytes));
    // spirv-cross numbers the buffers of a kernel from 0.
    if (kernel.bindings.empty() && !kernel.constants.empty()) {
      constexpr std::string_view kFirst = "[[buffer(0)]]";
      if (const std::size_t at = text.find(kFirst); at != text.npos) {
        text.replace(at, kFirst.size(),
                     fmt::format("[[buffer({})]]", kernel::kMetalConstantsBuffer));
      }
    }
    // spirv-cross takes the lengths of buffers from a separate buffer with this name.
    if (text.find("spvBufferSizeConstants") != text.npos) {
      return rejected(
          fmt::format("kernel {}: it uses the length of a buffer, which {} does not pass",
                      kernel.name, kernel::kMetalConvention));
    }
    // spirv-cross omits parameters that the entry point does not use.
    const std::string begin = fmt::format("kernel void {}(", kernel.name);
    const std::string constants = fmt::format("[[buffer({})]]", kernel::kMetalConstantsBuffer);
    const std::size_t at = text.find(begin);
    if (!kernel.constants.empty() && at != text.npos && text.find(constants, at) == text.npos) {
      text.insert(at + begin.size(),
                  fmt::format("constant uint4& {} {}, ", kUnusedConstants, constants));
    }
    HALYARD_RETURN_IF_ERROR(fit_to_metal(source_, text, {kernel}));
    return text;
  }

  // Joins the texts. Each has its own types and functions, whose names may be the same.
  static std::string join(const std::vector<std::string>& texts,
                          const std::vector<Kernel>& kernels) {
    // As in texts of the compiler (shader_language.cpp).
    std::string all =
        "#pragma METAL fp math_mode(safe)\n"
        "#pragma METAL fp contract(off)\n";
    if (texts.size() == 1) return all + texts[0];
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::set<std::string, std::less<>> names = file_scope_names(texts[i]);
      names.erase(kernels[i].name);
      all += rename_words(texts[i], names, fmt::format("_{}", i));
    }
    return all;
  }

  Status run(const std::vector<std::string>& arguments) {
    HALYARD_ASSIGN_OR_RETURN(const ProcessOutput output, run_process(arguments, scratch_));
    if (output.exit_code == 0) return {};
    return rejected(fmt::format("cannot be translated to {}\n{}", kernel::kMetalTarget,
                                output.err + output.out));
  }

  Status rejected(std::string_view what) const {
    std::string text = fmt::format("{}: {}", source_, what);
    while (text.ends_with('\n')) text.pop_back();
    return Status(StatusCode::kInvalidArgument, text);
  }

  std::string path(const char* name) const { return (scratch_.path() / name).string(); }

  const std::string_view source_;
  const TemporaryDirectory& scratch_;
};

}  // namespace

Result<std::string> metal_from_spirv(std::string_view source, std::string_view module,
                                     const std::vector<Kernel>& kernels,
                                     const TemporaryDirectory& scratch) {
  return Translation(source, scratch).text_of(module, kernels);
}

}  // namespace halyard::inline v0::compiler
