// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax of a PTX text, which parse_syntax() produces and the lowering consumes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halyard::inline v0::sim::ptx {

// Thrown while a text is parsed; Module::parse() turns it into its result.
struct SyntaxError {
  std::uint32_t line;
  std::string message;
};

enum class Number : std::uint8_t { kInteger, kFloat, kDouble };  // kFloat: "0f3F800000"

struct Operand {
  enum class Kind : std::uint8_t {
    kNone,     // "_"
    kName,     // a register or symbol, plus `value`
    kNumber,   // `value` holds the bits
    kAddress,  // [name + value], or [value] without a name
    kVector,   // {a, b, ...}
    kList,     // (a, b, ...): of a call
    kPair,     // a|b
  };
  Kind kind = Kind::kNone;
  Number number = Number::kInteger;
  bool negated = false;        // !p
  bool is_element = false;     // kName: a[2], and `value` counts elements
  std::string_view name;       // with the suffix of "%tid.x" apart
  std::string_view component;  // "x", or empty
  std::uint64_t value = 0;
  std::uint64_t mask = 0;  // of an initialiser mask(symbol); 0: none
  std::vector<Operand> elements;
};

struct Instruction {
  std::uint32_t line = 0;
  std::string_view guard;  // empty: none
  bool guard_negated = false;
  std::string_view opcode;
  std::vector<std::string_view> modifiers;  // without their dots
  std::vector<Operand> operands;
};

struct Declaration {
  std::uint32_t line = 0;
  std::string_view space;  // "reg", "global", "const", "shared", "local", "param"
  std::string_view type;   // "u32", ...
  std::string_view name;
  std::uint32_t alignment = 0;  // 0: that of the type
  std::uint32_t vector = 1;     // .v2, .v4
  std::uint32_t range = 0;      // %r<range>; 0: a single name
  bool is_array = false;
  bool is_unsized = false;  // name[]
  std::uint64_t count = 1;  // of elements
  bool is_extern = false, is_visible = false, is_weak = false, is_managed = false;
  bool has_initial = false;
  std::vector<Operand> initial;  // flat; names are addresses
};

struct Item {
  enum class Kind : std::uint8_t { kDeclaration, kInstruction, kLabel, kOpen, kClose, kTargets };
  Kind kind{};
  std::uint32_t line = 0;
  std::string_view label;               // kLabel; for kTargets the table's name
  std::vector<std::string_view> names;  // kTargets: .branchtargets and .calltargets
  Declaration declaration;
  Instruction instruction;
};

struct FunctionSyntax {
  std::uint32_t line = 0;
  std::string_view name;
  bool is_entry = false, is_extern = false, is_visible = false, is_weak = false;
  bool has_body = false;
  std::vector<Declaration> results, parameters;
  std::uint32_t max_block[3] = {0, 0, 0}, required_block[3] = {0, 0, 0}, min_blocks = 0;
  std::uint32_t max_registers = 0;  // .maxnreg; 0: none
  std::vector<Item> body;
};

struct FileSyntax {
  std::uint32_t version = 0;  // major * 10 + minor
  std::uint32_t target = 0;   // NN of sm_NN
  std::uint32_t target_line = 0;
  std::vector<Declaration> variables;
  std::vector<FunctionSyntax> functions;
  std::vector<std::pair<std::string_view, std::string_view>> aliases;
};

// The result refers to `text`.
FileSyntax parse_syntax(std::string_view text);

}  // namespace halyard::inline v0::sim::ptx
