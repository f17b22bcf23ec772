// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes, with their checksum, as a .hyx file: parsed or refused. Every view of an accepted file
// is readable, and a file written from its contents is equivalent.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "hyx_contents.h"
#include "kernel/hyx.h"

namespace {

// Keeps the compiler from removing the reads.
volatile std::uint64_t sink;

void touch(std::string_view text) {
  for (const char c : text) sink = sink + static_cast<unsigned char>(c);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard::kernel;
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  append_checksum(file);
  const auto hyx = Hyx::parse(file, "fuzz.hyx");
  if (!hyx.ok()) return 0;
  for (const KernelInfo& kernel : hyx->kernels()) {
    touch(kernel.name);
    touch(kernel.source);
    for (const BindingInfo& binding : kernel.bindings) {
      touch(binding.name);
      if (binding.rank != 0) touch(kernel.constants[binding.first_constant].name);
    }
    for (const ConstantInfo& constant : kernel.constants) touch(constant.name);
    for (const EqualSizes& each : kernel.equal_sizes) {
      const BindingInfo& first = kernel.bindings[each.binding];
      const BindingInfo& second = kernel.bindings[each.other_binding];
      touch(kernel.constants[first.first_constant + each.dimension].name);
      touch(kernel.constants[second.first_constant + each.other_dimension].name);
    }
    if (hyx->find(kernel.name).value() != &kernel) __builtin_trap();
  }
  for (const ImageInfo& image : hyx->images()) {
    touch(image.target);
    touch({reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()});
  }
  for (const SourceInfo& source : hyx->sources()) {
    touch(source.name);
    touch(source.text);
  }
  const halyard::compiler::Contents contents = halyard::contents_of(*hyx);
  const auto again = Hyx::parse(write_hyx(contents), "again.hyx");
  if (!again.ok() || halyard::contents_of(*again) != contents) __builtin_trap();
  // The writer's kernels all belong to the first source.
  const auto sources = hyx->sources();
  const std::string_view source = sources.empty() ? "" : sources[0].name;
  for (const KernelInfo& kernel : again->kernels()) {
    if (kernel.source != source) __builtin_trap();
  }
  return 0;
}
