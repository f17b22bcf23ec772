// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewriter: the work of rewrite(), in passes over the tokens. The walk over scopes is in
// rewrite_scopes.cpp, entry functions in rewrite_functions.cpp, the rest in rewrite.cpp.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/metal/msl/rewrite.h"
#include "simulation/metal/msl/tokens.h"

namespace halyard::inline v0::sim::msl {

bool is_function_word(std::string_view word) noexcept;

class Rewriter {
 public:
  Rewriter(std::string_view text, std::string_view constant_space)
      : tokens_(tokenize(text)), constant_space_(constant_space), source_(text) {}
  Rewritten run();

 private:
  enum class Scope : unsigned char { kNamespace, kStruct, kFunction, kBlock, kOther };
  struct Open {
    Scope scope;
    std::size_t statement;  // where the statement around it begins
    int depth;              // of parentheses around it
    std::size_t brace;
    std::string name;
    std::size_t mention = 0;
    bool is_template = false;
    std::set<std::string> device_members{};  // of a struct: functions that have a `device` form
  };

  void replace_words();
  void blank(std::size_t begin, std::size_t end);
  void take_attributes();
  bool is_attribute(std::size_t i) const;
  void wrap_conditionals();
  void wrap_value(std::size_t begin, std::size_t end);
  void function_constant(std::size_t begin, std::size_t end);
  void defined_constants();
  bool threadgroup_variable(std::size_t begin, std::size_t end, std::size_t function);
  void local_constant(std::size_t begin, std::size_t end);

  void walk();
  void open_brace(std::size_t i);
  void close_brace(std::size_t i);
  void statement(std::size_t begin, std::size_t end);
  std::string scope_name(std::string_view name) const;
  void note_words(std::size_t mention, std::size_t begin, std::size_t end);
  std::size_t new_mention(std::string name);
  void member(WrittenStruct& s, std::size_t begin, std::size_t end);

  // The position of the ( of the parameters of the function that begins at `begin`, or `end`.
  std::size_t parameters_of(std::size_t begin, std::size_t end) const;
  std::size_t behind_template(std::size_t begin, std::size_t end) const;
  void entry_function(std::size_t begin, std::size_t end);
  void explicit_instance(std::size_t begin, std::size_t end);
  void read_parameters(WrittenFunction& f, std::size_t open);
  WrittenParameter read_parameter(std::size_t begin, std::size_t end) const;
  void read_attributes(WrittenFunction& f, std::size_t begin, std::size_t end) const;
  bool entry_words(WrittenFunction& f, std::size_t begin, std::size_t end);

  std::vector<Token> tokens_;
  std::string constant_space_;
  std::string_view source_;
  Rewritten result_;
  std::vector<Open> open_;
  std::vector<WrittenStruct> open_structs_;
  std::vector<WrittenFunction> templates_;  // entry functions that are templates
  std::size_t statement_ = 0;
  int depth_ = 0;
  std::uint32_t next_variable_ = 1;
};

}  // namespace halyard::inline v0::sim::msl
