// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes are a manifest or an error. The contents of a manifest are refused as a .hyx file, or
// can be read from it unchanged; and inspect's output for that file is an equivalent manifest.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "compiler/hyx_writer.h"
#include "compiler/manifest.h"
#include "hyx_contents.h"
#include "hyx_json.h"
#include "kernel/hyx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto kernels = compiler::parse_manifest(text, "manifest");
  if (!kernels.ok()) {
    if (kernels.status().code() != StatusCode::kInvalidArgument) __builtin_trap();
    return 0;
  }
  compiler::Contents contents;
  contents.kernels = std::move(kernels).value();
  contents.images.push_back({"x86-64", "hy-cpu-1", "bytes"});
  const auto packed = kernel::Hyx::parse(compiler::write_hyx(contents), "packed");
  if (!packed.ok()) {
    if (packed.status().code() != StatusCode::kDataLoss) __builtin_trap();
    return 0;
  }
  if (contents_of(*packed) != contents) __builtin_trap();
  const auto again = compiler::parse_manifest(tools::to_json(*packed).dump(), "again");
  if (!again.ok() || *again != contents.kernels) __builtin_trap();
  return 0;
}
