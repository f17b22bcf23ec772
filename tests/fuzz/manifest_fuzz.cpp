// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes are a manifest or an error; what a manifest says can be written, and read or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "compiler/hyx_writer.h"
#include "compiler/manifest.h"
#include "kernel/hyx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto kernels = compiler::parse_manifest(text, "manifest");
  if (!kernels.ok()) return 0;
  compiler::Contents contents;
  contents.kernels = std::move(kernels).value();
  contents.images.push_back({"x86-64", "hy-cpu-1", "bytes"});
  (void)kernel::Hyx::parse(compiler::write_hyx(contents), "packed").ok();
  return 0;
}
