// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads which arguments the kernels of a Metal text take, and compares them with a reflection
// (convention hy-metal-2). Metal Shading Language Specification 3.0, sections 2.13 and 5.2.
//
// The text is read as it is written, without a preprocessor: comments and lines that begin with #
// are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/hyx_writer.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::compiler {

// The name of a [[buffer(1)]] that its kernel does not read.
inline constexpr std::string_view kUnusedConstants = "hy_unused";

// One argument, or one member of a struct: `device const float* x [[id(0)]]`.
struct MetalVariable {
  struct Attribute {
    std::string name;
    std::optional<std::uint32_t> value;
  };

  std::string type;  // the last word of it, without qualifiers: "float"
  std::string name;
  std::string space;  // "device", "constant", "threadgroup", or empty
  bool is_const = false;
  bool is_pointer = false;
  bool is_reference = false;
  std::optional<std::uint32_t> extent;  // of an array
  std::vector<Attribute> attributes;

  const Attribute* attribute(std::string_view name) const noexcept;
};

struct MetalStruct {
  std::string name;
  std::vector<MetalVariable> members;
};

struct MetalKernel {
  std::string name;
  std::vector<MetalVariable::Attribute> attributes;
  std::vector<MetalVariable> arguments;
};

struct MetalText {
  std::vector<MetalStruct> structs;
  std::vector<MetalKernel> kernels;  // those that a template or a macro makes are not there
};

MetalText read_metal(std::string_view text);

// The names that the text gives to types, functions and variables at file scope; also its kernels'.
std::set<std::string, std::less<>> file_scope_names(std::string_view text);
// The text with `suffix` after each of these words, except after a dot: members of Metal's vectors
// have names, too.
std::string rename_words(std::string_view text, const std::set<std::string, std::less<>>& words,
                         std::string_view suffix);

// Checks that the kernels of the text that `kernels` describe have the arguments of hy-metal-2:
// bindings, constants, and no others. Not compared are types that the text does not define, types
// that are not a plain sequence of numbers, and kernels that a template or a macro defines. Returns
// kInvalidArgument, naming `source`, kernel and argument:
//   the name of the kernel does not occur
//   an argument is missing, or has another space, type, access or place
//   another argument that a launch would have to pass
//   the workgroup is larger than max_total_threads_per_threadgroup
Status fit_to_metal(std::string_view source, std::string_view text,
                    const std::vector<Kernel>& kernels);

}  // namespace halyard::inline v0::compiler
