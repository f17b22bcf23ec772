// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass that translates a preprocessed text from the Metal Shading Language to C++ for OpenCL.
// It also records information that clang does not keep: attributes of parameters, names given by
// host_name, function constants, `threadgroup` variables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/metal/msl/reflection.h"

namespace halyard::inline v0::sim::msl {

// A parameter of an entry function, as written.
struct WrittenParameter {
  std::string name;
  std::string struct_name;  // the named type of a pointer or reference, or empty
  // Name of a built-in input ("thread_position_in_grid"), or empty.
  std::string input;
  std::int32_t index = -1;  // of [[buffer(n)]] and others; -1 if absent
  ArgumentKind kind = ArgumentKind::kBuffer;
  bool indirect = false;  // a pointer or a reference
  bool constant_space = false;
  bool is_const = false;          // `const device` or `constant`
  std::string function_constant;  // of [[function_constant(c)]]
};

struct WrittenMember {
  std::string name;
  std::int32_t id = -1;
};

struct WrittenStruct {
  std::string name;  // with its namespaces
  std::vector<WrittenMember> members;
  bool simple = true;  // no bases, no template, not within a function
};

struct WrittenFunction {
  std::string name;        // the function, with its namespaces
  std::string expression;  // with arguments of a template: `f<float>`
  std::string host_name;
  FunctionKind kind = FunctionKind::kKernel;
  std::vector<WrittenParameter> parameters;
  std::uint32_t max_total_threads = 0;
  std::uint32_t required_threads[3] = {0, 0, 0};
};

struct WrittenConstant {
  std::string name;
  std::string type;
  std::uint32_t index = 0;
  bool required = true;
};

// A named declaration of the text and the names in it, to find everything that a function may use.
struct Mention {
  std::string name;
  std::vector<std::string> words;
  std::vector<std::uint32_t> variables;  // ids of `threadgroup` variables in it
};

struct Rewritten {
  // Uses macros that the compilation defines: __HY_VALUE_c and __HY_DEFINED_c for each function
  // constant c.
  std::string text;
  std::vector<WrittenFunction> functions;
  std::vector<WrittenStruct> structs;
  std::vector<WrittenConstant> constants;
  std::vector<Mention> mentions;
  bool safe_math = false;  // #pragma METAL fp math_mode(safe)
  std::string error;       // a log line if the pass cannot translate the text
};

// `constant_space` replaces `constant`: "const __global" to run, "__constant" to find errors with
// address spaces.
Rewritten rewrite(std::string_view preprocessed, std::string_view constant_space);

}  // namespace halyard::inline v0::sim::msl
