// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The differences between the shading languages:
//   GLSL 4.50 for Vulkan, https://registry.khronos.org/OpenGL/specs/gl/GLSLangSpec.4.50.pdf
//   Metal Shading Language 3.0
// In both, names begin with hy_ (see shader_types.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "compiler/shader_types.h"

namespace halyard::inline v0::compiler {

enum class Space : std::uint8_t { kBuffer, kShared, kOwn };

class ShaderLanguage {
 public:
  virtual ~ShaderLanguage() = default;

  virtual std::string_view target() const = 0;
  // The first lines of a file.
  virtual std::string_view prologue() const = 0;
  // Definitions of the functions of this file that `text` calls.
  virtual std::string helpers_of(std::string_view text) const = 0;

  virtual std::string_view function_prefix() const = 0;
  virtual std::string_view barrier() const = 0;
  virtual std::string_view unroll() const = 0;
  // The item's index in its group, the group's index, the number of groups; each has x, y and z.
  virtual std::string_view local() const = 0;
  virtual std::string_view group() const = 0;
  virtual std::string_view groups() const = 0;

  virtual std::string_view float_from_bits() const = 0;
  virtual std::string_view bits_from_float() const = 0;
  // The function for a builtin of clang; empty if the language has no such function.
  virtual std::string_view builtin(std::string_view name) const = 0;
  // The function that replaces an operator; empty if the operator itself is right.
  virtual std::string_view operation(std::string_view opcode, Type::Base type) const = 0;

  // `operation` is add, min, max, and, or, xor, exchange or compare_exchange; `values` follow the
  // element.
  virtual std::string atomic(std::string_view operation, Type::Base type, Space space,
                             std::string_view element, std::string_view values) const = 0;

  // For narrow types. stored_name(): the name of the type in a buffer. loaded(): an element of a
  // buffer as a value. stored(): a value as an element, by truncation or rounding. narrowed(): the
  // value after such a store.
  virtual std::string_view stored_name(const Type& type) const = 0;
  virtual std::string loaded(const Type& type, std::string_view element) const = 0;
  virtual std::string stored(const Type& type, std::string_view value) const = 0;
  virtual std::string narrowed(const Type& type, std::string_view value) const = 0;

  // A value of an array or struct, from its members in order.
  virtual std::string aggregate(const Type& type, std::span<const std::string> members) const = 0;
  // The qualifier of a constant at file scope.
  virtual std::string_view constant() const = 0;
};

const ShaderLanguage& glsl();
const ShaderLanguage& msl();

// type_name(): a type without its extents; of a narrow one, the type that holds its values.
// declare(): a declaration.
std::string type_name(const Type& type);
std::string declare(const Type& type, std::string_view name);

}  // namespace halyard::inline v0::compiler
