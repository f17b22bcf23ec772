// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/device_ir.h"

#include <cassert>
#include <cstddef>
#include <string_view>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

// Metadata nodes are numbered, and gaps are allowed. No module of clang reaches this number.
constexpr std::size_t kFirstNode = 1'000'000'000;

void state_in_metadata(const Kernel& kernel, std::size_t node, std::string& ir) {
  const auto& size = kernel.workgroup_size;
  std::string nodes;
  for (std::size_t d = 0; d < 3; ++d) {
    ir += fmt::format("!{} = !{{ptr @{}, !\"reqntid{}\", i32 {}}}\n", node + d, kernel.name,
                      "xyz"[d], size[d]);
  }
  ir += fmt::format("!nvvm.annotations = !{{!{}, !{}, !{}}}\n", node, node + 1, node + 2);
}

// define ... amdgpu_kernel void @name(...) ... #0 !dbg !7 {
//                                             ^ attribute    ^ metadata
void state_in_definition(const Kernel& kernel, std::size_t node, std::string& ir) {
  const std::string name = fmt::format(" amdgpu_kernel void @{}(", kernel.name);
  const std::size_t found = ir.find(name);
  assert(found != ir.npos && "clang leaves out a kernel");
  const std::size_t end = ir.find(" {\n", found);
  const std::size_t group = ir.rfind(" #", end);
  assert(end != ir.npos && group > found);
  const auto& size = kernel.workgroup_size;
  ir.insert(end, fmt::format(" !reqd_work_group_size !{}", node));
  ir.insert(group, fmt::format(" \"amdgpu-flat-work-group-size\"=\"{0},{0}\"",
                               size[0] * size[1] * size[2]));
  ir += fmt::format("!{} = !{{i32 {}, i32 {}, i32 {}}}\n", node, size[0], size[1], size[2]);
}

}  // namespace

void state_workgroup_sizes(Family family, std::span<const Kernel> kernels, std::string& ir) {
  std::size_t node = kFirstNode;
  for (const Kernel& kernel : kernels) {
    if (family == Family::kPtx) {
      state_in_metadata(kernel, node, ir);
    } else {
      state_in_definition(kernel, node, ir);
    }
    node += 3;
  }
}

}  // namespace halyard::inline v0::compiler
