// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates functions of clang's syntax tree to a shading language.
//
// Clang has expanded every macro and made every conversion explicit, so each node is translated
// literally. C and the shading languages differ in two ways: a comparison is an int in C and a bool
// in a shader, and an array parameter is a pointer in C.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/clang_tree.h"
#include "compiler/shader_language.h"
#include "compiler/shader_types.h"

namespace halyard::inline v0::compiler {

// Thrown for constructs that a shader cannot express.
struct Rejection {
  Location at;
  std::string what;
};

// The declarations at file scope, by name or by clang's id.
struct Program {
  explicit Program(const Json& unit);

  const Json& unit;
  std::map<std::string, const Json*, std::less<>> functions;  // by name; those with a body
  std::map<std::string, const Json*, std::less<>> variables;  // by name
  std::map<std::string, std::string> enumerators;             // value, by id
};

// Lines of text. A #line precedes each line that does not follow the previous one in the source.
class ShaderText {
 public:
  void at(const Location& location);
  void line(std::string_view text);  // indented
  void open(std::string_view text);  // a line that opens a brace
  void close(std::string_view text = "}");
  void close_and_open(std::string_view text);  // "} else {"
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::string indent_;
  std::string file_;
  std::uint32_t next_ = 0;  // source line of the next line of text; 0: unknown
};

class Emitter {
 public:
  // A parameter of a kernel's body: its name in the shader, and its address space.
  struct Parameter {
    std::string name;
    Space space = Space::kOwn;
  };

  Emitter(const Program& program, const ShaderLanguage& language);

  // Adds the function to definitions(), after the functions that it calls. `caller` is the place of
  // the call. Throws Rejection.
  void need(const std::string& function, const Json& caller);

  // Writes the statements of a body with these parameters, by id.
  void body(const Json& function, std::map<std::string, Parameter> parameters, ShaderText& text);

  // The structs, tables and functions that `text`, everything written so far, refers to.
  std::string definitions(std::string_view text);

  TypeTable& types() noexcept { return types_; }

  [[noreturn]] void reject(const Json& node, std::string_view what) const;

 private:
  // An expression. `atom`: it needs no parentheses as an operand. `truth`: its type in the shader
  // is bool.
  struct Text {
    std::string text;
    bool atom = false;
    bool truth = false;
  };

  // shader_expression.cpp
  Text expression(const Json& node);
  // The same for an expression that is assigned to or whose value is unused: an element of a buffer
  // keeps its stored type.
  Text place(const Json& node);
  std::string value(const Json& node);      // with its type in C
  std::string operand(const Json& node);    // the same, in parentheses if needed
  std::string condition(const Json& node);  // a bool
  Text cast(const Json& node, bool narrow = true);
  Text unary(const Json& node);
  Text binary(const Json& node);
  Text compound_assignment(const Json& node);
  Text reference(const Json& node);
  Text element(const Json& pointer, std::string index);
  bool is_stored(const Json& node);  // a narrow element of a buffer
  Text call(const Json& node);
  Text atomic(const Json& node, std::string_view name);
  Text initializer(const Json& node);
  std::string zero(const Type& type) const;
  std::string operate(const std::string& opcode, Type::Base type, const std::string& left,
                      const std::string& right) const;
  std::optional<float> constant(const Json& node) const;
  std::optional<float> half_constant(const Json& node) const;
  Text number(float number) const;

  // shader_statement.cpp
  void statement(const Json& node);
  void block(const Json& node);  // its statements, or those of a CompoundStmt, without braces
  void declaration(const Json& node, bool split);
  void variable(const Json& node, bool split);
  std::string for_declarations(const Json& node);
  void loop(const Json& node);
  void selection(const Json& node);
  void record(const Record& record, ShaderText& text) const;
  void function(const Json& node);

  Type type_of(const Json& node);        // rejects types that no shader has
  Type variable_type(const Json& node);  // of a variable, parameter or result: no pointers

  const Program& program_;
  const ShaderLanguage& language_;
  TypeTable types_;
  std::map<std::string, std::string> enumerators_;
  std::map<std::string, Parameter> parameters_;  // of the current body
  std::map<std::string, bool> functions_;        // by name; whether it is complete
  std::set<std::string> tables_;                 // variables at file scope that are used
  std::string function_text_;                    // all complete functions
  ShaderText* text_ = nullptr;                   // the target of statements
};

const Json& child(const Json& node, std::size_t index);
// The node without parentheses and casts that change nothing. For _Generic, the chosen expression.
const Json& bare(const Json& node);
// True if evaluating it twice, or not at all, differs from evaluating it once.
bool has_effects(const Json& node);
std::string function_name(const Json& call);
// The initial value of a variable that has one.
const Json& initial_value(const Json& variable);

}  // namespace halyard::inline v0::compiler
