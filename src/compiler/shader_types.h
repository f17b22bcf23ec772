// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C types in a shader: bool, int, uint, float, structs and arrays of these. Integers of 8 and 16
// bits and half are types of buffers' elements only; everywhere else an int, uint or float holds
// the value.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/clang_tree.h"

namespace halyard::inline v0::compiler {

struct Record;

struct Type {
  enum class Base : std::uint8_t { kVoid, kBool, kInt, kUint, kFloat, kRecord };

  Base base = Base::kVoid;
  std::uint8_t bits = 32;                   // 8 or 16 for narrow integers, 16 for half
  Record* record = nullptr;                 // of kRecord
  std::vector<std::uint32_t> extents = {};  // of an array, outermost first
  bool pointer = false;                     // a pointer to the type in the other members
  std::string problem = {};  // why no shader has it, as "is ..."; empty if shaders have it

  bool is_array() const noexcept { return !extents.empty(); }
  // True for narrow integers and half.
  bool is_narrow() const noexcept { return bits != 32; }
  // The element type of an array.
  Type element() const;
  // The base's size times the extents. A pointer has 4 bytes, as in clang's target.
  std::uint32_t bytes() const;
};

struct Field {
  std::string name;
  Type type;
};

struct Record {
  std::string name;  // in the shader
  std::vector<Field> fields;
  std::string problem;
  const Json* declaration;
  bool used = false;
};

// The name in the shader for a name of the source. All are distinct; none is a reserved word of a
// shading language or a kernel's name, which does not begin with hy_.
enum class NameKind : std::uint8_t { kOrdinary, kTag, kUnnamedRecord, kParameter };
std::string shader_name(NameKind kind, std::string_view name);

// The types that names denote in the current scope.
class TypeTable {
 public:
  using Scope = std::map<std::string, Type, std::less<>>;  // by clang's spelling

  TypeTable() : scopes_(1) {}

  // The type of an expression or declaration. Marks a struct in it as used.
  Type of(const Json& node);
  Type parse(std::string_view spelling);

  // Adds a RecordDecl or TypedefDecl to the innermost scope. Returns the record that it defines or,
  // as a typedef, names.
  Record* declare(const Json& declaration);

  void open_scope() { scopes_.emplace_back(); }
  void close_scope() { scopes_.pop_back(); }
  // Removes and returns all scopes except the file's, so that they can be restored later.
  std::vector<Scope> leave();
  void come_back(std::vector<Scope> scopes);

  // All records of the file's scope, in order.
  const std::deque<Record*>& file_records() const noexcept { return file_records_; }

 private:
  Type base(std::string_view spelling);
  Record* define(const Json& declaration, std::string name, std::string spelling);

  std::vector<Scope> scopes_;
  std::deque<Record> records_;
  std::deque<Record*> file_records_;
  std::map<std::string, const Json*, std::less<>> unnamed_;  // by clang's id
};

}  // namespace halyard::inline v0::compiler
