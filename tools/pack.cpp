// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "commands.h"
#include "compiler/code_object.h"
#include "compiler/hyx_writer.h"
#include "compiler/manifest.h"
#include "compiler/metal_text.h"
#include "compiler/process.h"
#include "compiler/ptx.h"
#include "compiler/spirv.h"
#include "compiler/spirv_to_metal.h"
#include "file.h"
#include "json.h"
#include "kernel/cpu_abi.h"
#include "kernel/cpu_image.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::tools {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Halyard's own convention for images of this target; empty if it has none.
std::string_view convention_for(std::string_view target) {
  for (const auto& [family, convention] :
       {std::pair<std::string_view, std::string_view>("x86-64", kernel::kCpuConvention),
        {"aarch64", kernel::kCpuConvention},
        {"ptx-", kernel::kKernargConvention},
        {"cubin-", kernel::kKernargConvention},
        {"fatbin", kernel::kKernargConvention},
        {"hsaco-", kernel::kKernargConvention},
        {"spirv-", kernel::kVulkanConvention},
        {"msl-", kernel::kMetalConvention}}) {
    if (target.starts_with(family)) return convention;
  }
  return {};
}

// Checks the image against the manifest, as far as images of this kind describe themselves.
Status check_image(const compiler::Image& image, std::string_view file,
                   std::vector<compiler::Kernel>& kernels) {
  const std::string_view target = image.target;
  if (image.convention != convention_for(target)) return {};
  if (target.starts_with("ptx-")) return compiler::fit_to_ptx(file, image.bytes, kernels);
  if (target.starts_with("hsaco-")) return compiler::check_code_object(image.bytes, file, kernels);
  if (target.starts_with("msl-")) return compiler::fit_to_metal(file, image.bytes, kernels);
  if (target.starts_with("spirv-")) return compiler::fit_to_spirv(file, image.bytes, kernels);
  if (image.convention == kernel::kCpuConvention) {
    for (const compiler::Kernel& kernel : kernels) {
      if (kernel.dynamic_shared_bytes == 0) continue;
      return error(StatusCode::kUnimplemented,
                   "{}: kernel {} has dynamic_shared_bytes, which {} cannot hold", file,
                   kernel.name, image.convention);
    }
    return kernel::CpuImage::check(std::as_bytes(std::span(image.bytes)), target, file);
  }
  return {};
}

// Makes a Metal text of a SPIR-V module.
Status translate(compiler::Image& image, const std::string& file,
                 const std::vector<compiler::Kernel>& kernels) {
  if (image.convention != kernel::kMetalConvention || !compiler::is_spirv(image.bytes)) return {};
  constexpr compiler::Sets kSets = compiler::Sets::kCondensed;
  HALYARD_RETURN_IF_ERROR(compiler::fit_to_spirv(file, image.bytes, kernels, kSets));
  HALYARD_ASSIGN_OR_RETURN(const compiler::TemporaryDirectory scratch,
                           compiler::TemporaryDirectory::create());
  HALYARD_ASSIGN_OR_RETURN(image.bytes,
                           compiler::metal_from_spirv(file, image.bytes, kernels, scratch));
  return {};
}

// "x86-64-v3=k.so", or "ptx-sm_80:my-convention=k.ptx".
Result<compiler::Image> read_image(std::string_view argument,
                                   std::vector<compiler::Kernel>& kernels) {
  const std::size_t equals = argument.find('=');
  const std::string_view key = argument.substr(0, equals);
  const std::size_t colon = key.find(':');
  compiler::Image image;
  image.target = key.substr(0, colon);
  if (colon != key.npos) {
    image.convention = key.substr(colon + 1);
  } else {
    image.convention = convention_for(image.target);
  }
  if (equals == argument.npos || image.target.empty() || image.convention.empty()) {
    return error(StatusCode::kInvalidArgument,
                 "--image {}: TARGET=FILE is expected, or TARGET:CONVENTION=FILE for a target "
                 "that is not x86-64..., aarch64, ptx-..., cubin-..., fatbin, hsaco-..., "
                 "spirv-... or msl-...",
                 argument);
  }
  if (image.convention == kernel::kOldMetalConvention) {
    return error(StatusCode::kInvalidArgument,
                 "--image {}: no device runs images of {} any more; {} has an argument buffer "
                 "(src/kernel/device_abi.h)",
                 argument, kernel::kOldMetalConvention, kernel::kMetalConvention);
  }
  const std::string file(argument.substr(equals + 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_file(file));
  image.bytes = text_of(bytes);
  HALYARD_RETURN_IF_ERROR(translate(image, file, kernels));
  HALYARD_RETURN_IF_ERROR(check_image(image, file, kernels));
  return image;
}

}  // namespace

Result<int> pack(const PackOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::byte> manifest, read_file(options.manifest));
  compiler::Contents contents;
  HALYARD_ASSIGN_OR_RETURN(contents.kernels,
                           compiler::parse_manifest(text_of(manifest), options.manifest));
  std::vector<std::string> targets;
  for (const std::string& argument : options.images) {
    HALYARD_ASSIGN_OR_RETURN(compiler::Image image, read_image(argument, contents.kernels));
    targets.push_back(image.target);
    contents.images.push_back(std::move(image));
  }
  const std::vector<std::byte> bytes = compiler::write_hyx(contents);
  // Never writes a file that the loader would refuse.
  HALYARD_RETURN_IF_ERROR(kernel::Hyx::parse(bytes, options.output).status());
  HALYARD_RETURN_IF_ERROR(write_file(options.output, {std::span(bytes)}));
  if (options.json) {
    print_json({{"file", options.output}, {"bytes", bytes.size()}, {"targets", targets}});
  }
  return kDone;
}

}  // namespace halyard::inline v0::tools
