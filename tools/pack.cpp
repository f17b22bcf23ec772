// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "commands.h"
#include "compiler/hyx_writer.h"
#include "compiler/manifest.h"
#include "file.h"
#include "json.h"
#include "kernel/cpu_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::tools {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// "x86-64-v3=k.so" or "ptx-sm_80:params-1=k.ptx".
Result<compiler::Image> read_image(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const std::string_view key = argument.substr(0, equals);
  const std::size_t colon = key.find(':');
  compiler::Image image;
  image.target = key.substr(0, colon);
  if (colon != key.npos) {
    image.convention = key.substr(colon + 1);
  } else if (image.target.starts_with("x86-64") || image.target == "aarch64") {
    image.convention = kernel::kCpuConvention;
  }
  if (equals == argument.npos || image.target.empty() || image.convention.empty()) {
    return error(StatusCode::kInvalidArgument,
                 "--image {}: TARGET:CONVENTION=FILE is expected; for a CPU, TARGET=FILE",
                 argument);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                           read_file(std::string(argument.substr(equals + 1))));
  image.bytes = text_of(bytes);
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
    HALYARD_ASSIGN_OR_RETURN(compiler::Image image, read_image(argument));
    targets.push_back(image.target);
    contents.images.push_back(std::move(image));
  }
  const std::vector<std::byte> bytes = compiler::write_hyx(contents);
  // Nobody gets a file that the loader would refuse.
  HALYARD_RETURN_IF_ERROR(kernel::Hyx::parse(bytes, options.output).status());
  HALYARD_RETURN_IF_ERROR(write_file(options.output, {std::span(bytes)}));
  if (options.json) {
    print_json({{"file", options.output}, {"bytes", bytes.size()}, {"targets", targets}});
  }
  return kDone;
}

}  // namespace halyard::inline v0::tools
