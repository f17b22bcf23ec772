// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as a .hyx file: parsed or refused, and every view of what was accepted can be read.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/hyx.h"

namespace {

// What is read must not be optimised away.
volatile std::uint64_t sink;

void touch(std::string_view text) {
  for (const char c : text) sink = sink + static_cast<unsigned char>(c);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halyard::kernel;
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  if (size % 16 != 0) {
    // Refused, but what stands in it is to be looked at all the same.
    if (Hyx::parse(file, "fuzz.hyx").ok()) __builtin_trap();
    file.resize(size + 16 - size % 16);
  }
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
  return 0;
}
