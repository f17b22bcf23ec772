// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any text as a Metal source: the fuzzer reads its kernels, renames its names and compares it with
// a description. Renaming must change neither the kernels that are read nor their number.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "compiler/metal_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard::compiler;
  using halyard::kernel::Access;
  using halyard::kernel::ElementType;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const MetalText read = read_metal(text);
  for (const MetalKernel& kernel : read.kernels) {
    Kernel stated{.name = kernel.name, .workgroup_size = {64, 1, 1}};
    (void)fit_to_metal("fuzz.metal", text, {stated});
    stated.bindings = {{"x", Access::kRead, ElementType::kFloat32},
                       {"y", Access::kReadWrite, ElementType::kFloat32}};
    stated.constants = {{"a", ElementType::kFloat32, 0}, {"n", ElementType::kUint32, 4}};
    stated.constants_bytes = 8;
    (void)fit_to_metal("fuzz.metal", text, {stated});
  }
  const auto names = file_scope_names(text);
  const std::string renamed = rename_words(text, names, "_0");
  if (renamed.size() < text.size()) std::abort();
  if (rename_words(text, {}, "_0") != text) std::abort();
  return 0;
}
