// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The source of a shared object: the rewritten text of a library, an entry point for each function
// to run, and tables that describe the types of arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulation/metal/msl/library.h"
#include "simulation/metal/msl/rewrite.h"

namespace halyard::inline v0::sim::msl {

// As __hy::type_words in shim/reflect.h, and the offset of a member.
struct TypeWords {
  std::uint32_t type, size, alignment, count, indirect, is_constant, element_type, element_size,
      element_alignment, offset;
};

// As __hy::call in shim/reflect.h.
struct Call {
  static constexpr std::size_t kArguments = 64;
  static constexpr std::size_t kInputs = 24;
  std::uint64_t arguments[kArguments] = {};
  std::uint32_t inputs[kInputs][3] = {};
};

// Places in Call::inputs.
enum class Input : std::uint8_t {
  kThreadPositionInGrid,
  kThreadPositionInThreadgroup,
  kThreadgroupPositionInGrid,
  kThreadsPerGrid,
  kThreadsPerThreadgroup,
  kDispatchThreadsPerThreadgroup,
  kThreadgroupsPerGrid,
  kThreadIndexInThreadgroup,
  kThreadIndexInSimdgroup,
  kSimdgroupIndexInThreadgroup,
  kThreadsPerSimdgroup,
  kSimdgroupsPerThreadgroup,
  kDispatchSimdgroupsPerThreadgroup,
  kQuadgroupIndexInThreadgroup,
  kThreadIndexInQuadgroup,
  kQuadgroupsPerThreadgroup,
  kDispatchQuadgroupsPerThreadgroup,
  kGridOrigin,
  kGridSize,
};

// -1 if Metal has no such input of a compute function.
int input_index(std::string_view name) noexcept;

// The entries of the tables, in order: for each parameter that is not an input, its type and then
// the members of its struct.
struct DescribedParameter {
  std::size_t parameter = 0;
  const WrittenStruct* members = nullptr;
};
std::vector<DescribedParameter> described(const Rewritten& text, const WrittenFunction& function);

// `constant_values`: by index in Rewritten::constants; an empty string means no value. Without
// `entries`, the source has only the tables, because functions that are not called have no code.
std::string kernel_source(const Rewritten& text, std::span<const std::size_t> functions,
                          std::span<const std::string> constant_values, bool entries = true);

// The value as text for clang.
std::string constant_text(const ConstantValue& value);

}  // namespace halyard::inline v0::sim::msl
