// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts a .hyx file that was read to contents that can be written.
#pragma once

#include <string>
#include <utility>

#include "compiler/hyx_writer.h"
#include "kernel/hyx.h"

namespace halyard {

inline compiler::Contents contents_of(const kernel::Hyx& hyx) {
  compiler::Contents contents;
  for (const kernel::KernelInfo& info : hyx.kernels()) {
    compiler::Kernel kernel = {.name = std::string(info.name),
                               .workgroup_size = info.workgroup_size,
                               .constants_bytes = info.constants_bytes,
                               .static_shared_bytes = info.static_shared_bytes,
                               .dynamic_shared_bytes = info.dynamic_shared_bytes,
                               .line = info.line,
                               .equal_sizes = {info.equal_sizes.begin(), info.equal_sizes.end()},
                               .may_overlap = info.may_overlap};
    for (const kernel::BindingInfo& binding : info.bindings) {
      const std::size_t extents = binding.tile[0] != 0 ? binding.rank : 0;
      kernel.bindings.push_back({.name = std::string(binding.name),
                                 .access = binding.access,
                                 .type = binding.type,
                                 .rank = static_cast<std::uint8_t>(binding.rank),
                                 .tile = {binding.tile.begin(), binding.tile.begin() + extents}});
    }
    for (const kernel::ConstantInfo& constant : info.constants) {
      kernel.constants.push_back({std::string(constant.name), constant.type, constant.offset});
    }
    contents.kernels.push_back(std::move(kernel));
  }
  for (const kernel::ImageInfo& image : hyx.images()) {
    const auto* const bytes = reinterpret_cast<const char*>(image.bytes.data());
    contents.images.push_back({std::string(image.target), std::string(image.convention),
                               std::string(bytes, image.bytes.size())});
  }
  for (const kernel::SourceInfo& source : hyx.sources()) {
    contents.sources.push_back({std::string(source.name), std::string(source.text)});
  }
  return contents;
}

}  // namespace halyard
