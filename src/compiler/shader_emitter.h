// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of clang's syntax tree in a shading language.
//
// Clang has expanded every macro and made every conversion explicit, so each node is written as it
// stands. What C and the shading languages do not share: in C a comparison is an int, in a shader
// a bool; in C an array that is a parameter is a pointer.
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

// Thrown for what a shader cannot say.
struct Rejection {
  Location at;
  std::string what;
};

// What stands at file scope, by name or by clang's id.
struct Program {
  explicit Program(const Json& unit);

  const Json& unit;
  std::map<std::string, const Json*, std::less<>> functions;  // by name; those with a body
  std::map<std::string, const Json*, std::less<>> variables;  // by name
  std::map<std::string, std::string> enumerators;             // value, by id
};

// Text in lines, each preceded by #line where it does not follow the one before in the source.
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
  std::uint32_t next_ = 0;  // the source's line that the next line of text counts as; 0: none
};

class Emitter {
 public:
  // A parameter of a kernel's body: its name in the shader, and where it lives.
  struct Parameter {
    std::string name;
    Space space = Space::kOwn;
  };

  Emitter(const Program& program, const ShaderLanguage& language);

  // The function, and before it those that it calls, become part of definitions(). Throws
  // Rejection. `caller` is where it is called.
  void need(const std::string& function, const Json& caller);

  // Writes the statements of a body whose parameters, by id, are those given.
  void body(const Json& function, std::map<std::string, Parameter> parameters, ShaderText& text);

  // Structs, tables and functions that `text`, all that was written until now, refers to.
  std::string definitions(std::string_view text);

  TypeTable& types() noexcept { return types_; }

  [[noreturn]] void reject(const Json& node, std::string_view what) const;

 private:
  // An expression: `atom` if it needs no parentheses as an operand; `truth` if the shader's type is
  // bool.
  struct Text {
    std::string text;
    bool atom = false;
    bool truth = false;
  };

  // shader_expression.cpp
  Text expression(const Json& node);
  std::string value(const Json& node);      // of the type that C gives it
  std::string operand(const Json& node);    // the same, in parentheses where needed
  std::string condition(const Json& node);  // a bool
  Text cast(const Json& node);
  Text unary(const Json& node);
  Text binary(const Json& node);
  Text compound_assignment(const Json& node);
  Text reference(const Json& node);
  Text element(const Json& pointer, std::string index);
  Text call(const Json& node);
  Text atomic(const Json& node, std::string_view name);
  Text initializer(const Json& node);
  std::string zero(const Type& type) const;
  std::string operate(const std::string& opcode, Type::Base type, const std::string& left,
                      const std::string& right) const;
  std::optional<float> constant(const Json& node) const;
  Text number(float number) const;

  // shader_statement.cpp
  void statement(const Json& node);
  void block(const Json& node);  // the statements of one, or of a CompoundStmt, without braces
  void declaration(const Json& node, bool split);
  void variable(const Json& node, bool split);
  std::string for_declarations(const Json& node);
  void loop(const Json& node);
  void selection(const Json& node);
  void record(const Record& record, ShaderText& text) const;
  void function(const Json& node);

  Type type_of(const Json& node);        // rejects what no shader has
  Type variable_type(const Json& node);  // of a variable, parameter or result: no pointers

  const Program& program_;
  const ShaderLanguage& language_;
  TypeTable types_;
  std::map<std::string, std::string> enumerators_;
  std::map<std::string, Parameter> parameters_;  // of the body that is being written
  std::map<std::string, bool> functions_;        // by name; whether it is complete
  std::set<std::string> tables_;                 // the file's variables in use
  std::string function_text_;                    // all complete functions
  ShaderText* text_ = nullptr;                   // what statements are written to
};

const Json& child(const Json& node, std::size_t index);
// Without parentheses and casts that change nothing; of _Generic, the chosen expression.
const Json& bare(const Json& node);
// Whether evaluating it twice, or not at all, would differ from evaluating it once.
bool has_effects(const Json& node);
std::string function_name(const Json& call);
// Of a variable that has one.
const Json& initial_value(const Json& variable);

}  // namespace halyard::inline v0::compiler
