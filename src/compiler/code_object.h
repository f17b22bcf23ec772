// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description of kernels in an AMD code object: the metadata in its ELF note.
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
  std::string name;       // empty if the compiler omitted it
  std::string type_name;  // "float*", as in OpenCL C; or empty
  std::string kind;       // "global_buffer", "by_value", "hidden_..."
  std::uint32_t offset;
  std::uint32_t size;
  bool is_const;
};

struct CodeObjectKernel {
  std::string name;
  std::vector<CodeObjectArgument> arguments;
  std::array<std::uint32_t, 3> workgroup_size;  // required; 0, 0, 0 if any is allowed
  std::uint32_t shared_bytes;
  // In the fields below, 0 can also mean that the compiler did not record the value.
  std::uint32_t argument_bytes;  // of the kernarg segment, with the hidden ones
  std::uint32_t private_bytes;   // of each item: scratch memory
  std::uint32_t max_items;       // of a workgroup
  std::uint32_t wave_size;
  std::uint32_t vector_registers, scalar_registers, accumulation_registers;
  std::uint32_t vector_spills, scalar_spills;
};

struct CodeObject {
  std::string target;  // "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
  std::vector<CodeObjectKernel> kernels;
};

// Errors: kInvalidArgument, naming `name`, if `bytes` is not a code object with metadata.
Result<CodeObject> read_code_object(std::string_view bytes, std::string_view name);

// Checks that each of `kernels` is there and follows convention hy-kernarg-1. Errors:
// kInvalidArgument, naming the kernel and the difference.
Status check_code_object(std::string_view bytes, std::string_view name,
                         std::span<const Kernel> kernels);

}  // namespace halyard::inline v0::compiler
