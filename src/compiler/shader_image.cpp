// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/shader_image.h"

#include <exception>
#include <utility>

#include "base/format.h"
#include "compiler/clang_tree.h"
#include "compiler/shader_source.h"
#include "compiler/spirv_module.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::compiler {
namespace {

Status run(const std::vector<std::string>& arguments, const TemporaryDirectory& scratch) {
  HALYARD_ASSIGN_OR_RETURN(const ProcessOutput output, run_process(arguments, scratch));
  if (output.exit_code == 0) return {};
  return Status(StatusCode::kInvalidArgument, output.out + output.err);
}

Result<std::string> build_spirv(const std::vector<std::string>& texts,
                                std::span<const Kernel> kernels,
                                const TemporaryDirectory& scratch) {
  const std::string source = (scratch.path() / "kernel.comp").string();
  const std::string linked = (scratch.path() / "linked.spv").string();
  std::vector<std::string> link = {"", "--target-env", "vulkan1.2", "-o", linked};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(write_file(source, texts[i]));
    const std::string compiled = (scratch.path() / fmt::format("{}.spv", i)).string();
    HALYARD_ASSIGN_OR_RETURN(std::vector<std::string> compile, glslang_command());
    compile.insert(compile.end(), {"--quiet", "-o", compiled, source});
    HALYARD_RETURN_IF_ERROR(run(compile, scratch));
    HALYARD_ASSIGN_OR_RETURN(const std::string module, read_file(compiled, kernel::kMaxHyxBytes));
    HALYARD_ASSIGN_OR_RETURN(const std::string named, rename_entry_point(module, kernels[i].name));
    HALYARD_RETURN_IF_ERROR(write_file(compiled, named));
    link.push_back(compiled);
  }
  if (texts.size() > 1) {
    HALYARD_ASSIGN_OR_RETURN(link[0], find_tool("spirv-link", "spirv-tools"));
    HALYARD_RETURN_IF_ERROR(run(link, scratch));
  }
  HALYARD_ASSIGN_OR_RETURN(
      const std::string module,
      read_file(texts.size() > 1 ? linked : link.back(), kernel::kMaxHyxBytes));
  return finish_spirv(module);
}

}  // namespace

Result<std::vector<std::string>> glslang_command() {
  HALYARD_ASSIGN_OR_RETURN(std::string program, find_tool("glslangValidator", "glslang-tools"));
  return std::vector<std::string>{
      std::move(program), "-V", "--target-env", "vulkan1.2", "-S", "comp", "-e", "main"};
}

Result<Image> build_shader_image(const Target& target, std::string_view tree,
                                 std::span<const Kernel> kernels,
                                 const TemporaryDirectory& scratch) {
  const bool spirv = target.family == Family::kSpirv;
  ShaderSource source;
  try {
    const Json unit = parse_tree(tree);
    source = spirv ? glsl_source(unit, kernels) : msl_source(unit, kernels);
  } catch (const std::exception& exception) {
    return error(StatusCode::kInternal, "clang's syntax tree cannot be interpreted: {}",
                 exception.what());
  }
  if (!source.diagnostics.empty()) {
    return Status(StatusCode::kInvalidArgument, source.diagnostics);
  }
  if (!spirv) {
    return Image{std::string(target.name), std::string(kernel::kMetalConvention),
                 std::move(source.texts[0])};
  }
  HALYARD_ASSIGN_OR_RETURN(std::string module, build_spirv(source.texts, kernels, scratch));
  return Image{std::string(target.name), std::string(kernel::kVulkanAddressConvention),
               std::move(module)};
}

}  // namespace halyard::inline v0::compiler
