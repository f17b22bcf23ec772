// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an AMD code object says of its kernels: the metadata in its ELF note.
// https://llvm.org/docs/AMDGPUUsage.html#code-object-v5-metadata
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

struct CodeObjectArgument {
  std::string name;       // empty where the compiler left it out
  std::string type_name;  // "float*", as OpenCL C says it; or empty
  std::string kind;       // "global_buffer", "by_value", "hidden_..."
  std::uint32_t offset;
  std::uint32_t size;
  bool is_const;
};

struct CodeObjectKernel {
  std::string name;
  std::vector<CodeObjectArgument> arguments;
  std::array<std::uint32_t, 3> workgroup_size;  // required; 0, 0, 0 if any is accepted
  std::uint32_t shared_bytes;
};

// kInvalidArgument, naming `name`, if `bytes` is no code object with metadata.
Result<std::vector<CodeObjectKernel>> read_code_object(std::string_view bytes,
                                                       std::string_view name);

// That each of `kernels` is there and has convention hy-kernarg-1: kInvalidArgument, naming the
// kernel and what differs.
Status check_code_object(std::string_view bytes, std::string_view name,
                         std::span<const Kernel> kernels);

}  // namespace halyard::inline v0::compiler
