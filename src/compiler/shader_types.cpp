// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/shader_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

constexpr std::string_view kWide = "is a 64-bit integer";
constexpr std::string_view kFloats = "is a floating-point type other than float";
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kProblems = {{
    // `long` has 32 bits where this form is parsed, and 64 on other targets.
    {"long", kWide},
    {"unsigned long", kWide},
    {"long long", kWide},
    {"unsigned long long", kWide},
    {"__int128", kWide},
    {"unsigned __int128", kWide},
    {"double", kFloats},
    {"long double", kFloats},
    {"_Float16", kFloats},
    {"__bf16", kFloats},
}};
struct Known {
  std::string_view name;
  Type::Base base;
  std::uint8_t bits = 32;
};
constexpr std::array<Known, 11> kBases = {{
    {"void", Type::Base::kVoid},
    {"_Bool", Type::Base::kBool},
    {"int", Type::Base::kInt},
    {"unsigned int", Type::Base::kUint},
    {"float", Type::Base::kFloat},
    {"char", Type::Base::kInt, 8},  // -fsigned-char
    {"signed char", Type::Base::kInt, 8},
    {"unsigned char", Type::Base::kUint, 8},
    {"short", Type::Base::kInt, 16},
    {"unsigned short", Type::Base::kUint, 16},
    {"__fp16", Type::Base::kFloat, 16},
}};

Type with_problem(std::string problem) {
  Type type;
  type.problem = std::move(problem);
  return type;
}

// The type without qualifiers, and with single spaces.
std::string without_qualifiers(std::string_view spelling) {
  std::string result;
  while (!spelling.empty()) {
    const std::size_t end = std::min(spelling.size(), spelling.find(' '));
    const std::string_view word = spelling.substr(0, end);
    spelling.remove_prefix(std::min(spelling.size(), end + 1));
    if (word.empty() || word == "const" || word == "volatile" || word == "restrict") continue;
    if (!result.empty()) result += ' ';
    result += word;
  }
  return result;
}

// The id of the record that a typedef denotes, through any number of typedefs.
std::string record_of(const Json& node) {
  if (text_of(node, "kind") == "RecordType") return text_of(node.at("decl"), "id");
  const auto inner = node.find("inner");
  return inner == node.end() || inner->empty() ? std::string() : record_of(inner->front());
}

}  // namespace

Type Type::element() const {
  Type type = *this;
  type.extents.erase(type.extents.begin());
  return type;
}

std::uint32_t Type::bytes() const {
  std::uint32_t size = base == Base::kBool ? 1 : bits / 8u;
  if (base == Base::kRecord && !pointer) {
    size = 0;
    for (const Field& field : record->fields) size += (field.type.bytes() + 3) / 4 * 4;
  }
  if (pointer) return 4;
  for (const std::uint32_t extent : extents) size *= extent;
  return size;
}

std::string shader_name(NameKind kind, std::string_view name) {
  static constexpr std::array<std::string_view, 4> kPrefixes = {"hy_u_", "hy_t_", "hy_n_", "hy_p_"};
  std::string result(kPrefixes[static_cast<std::size_t>(kind)]);
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Y') || (c >= '0' && c <= '9') ||
                       // Two underscores in a row are reserved.
                       (c == '_' && !result.ends_with('_'));
    if (plain) {
      result += c;
    } else {
      result += fmt::format("Z{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

Type TypeTable::of(const Json& node) {
  const Json& type = node.at("type");
  const auto found = type.find("desugaredQualType");
  return parse((found != type.end() ? *found : type.at("qualType")).get_ref<const std::string&>());
}

Type TypeTable::parse(std::string_view spelling) {
  const std::size_t end = std::min(spelling.size(), spelling.find_first_of("*(["));
  // "typeof (x)" and the names of unnamed structs have parentheses too.
  if (spelling.find(" at ") != std::string_view::npos) {
    return with_problem("is a struct without a name");
  }
  Type type = base(without_qualifiers(spelling.substr(0, end)));
  std::string_view rest = spelling.substr(end);
  // "[2][3]", "*restrict", "(*restrict)[5]"; all others are pointers to pointers, or functions.
  const auto stars = std::count(rest.begin(), rest.end(), '*');
  if (stars > 1 || (stars == 0 && rest.find('(') != std::string_view::npos)) {
    return with_problem("is a type that no shader has");
  }
  type.pointer = stars == 1;
  std::vector<std::uint32_t> extents;
  for (std::size_t at = rest.find('['); at != std::string_view::npos; at = rest.find('[', at + 1)) {
    std::uint32_t extent = 0;
    const char* const last = rest.data() + rest.size();
    if (std::from_chars(rest.data() + at + 1, last, extent).ec != std::errc() || extent == 0) {
      return with_problem("is an array without a constant length");
    }
    extents.push_back(extent);
  }
  type.extents.insert(type.extents.begin(), extents.begin(), extents.end());
  return type;
}

Type TypeTable::base(std::string_view spelling) {
  for (const Known& known : kBases) {
    if (spelling == known.name) {
      Type type;
      type.base = known.base;
      type.bits = known.bits;
      return type;
    }
  }
  for (const auto& [name, problem] : kProblems) {
    if (spelling == name) return with_problem(std::string(problem));
  }
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(spelling);
    if (found == scope->end()) continue;
    Type type = found->second;
    if (type.record != nullptr) {
      type.record->used = true;
      if (!type.record->problem.empty()) type.problem = type.record->problem;
    }
    return type;
  }
  if (spelling.starts_with("enum ")) return with_problem("is an enumeration; use int");
  if (spelling.starts_with("union ")) return with_problem("is a union");
  return with_problem("is a type that no shader has");
}

Record* TypeTable::declare(const Json& declaration) {
  const std::string name = text_of(declaration, "name");
  if (text_of(declaration, "kind") == "TypedefDecl") {
    const auto unnamed = unnamed_.find(record_of(declaration));
    if (unnamed != unnamed_.end()) {
      Record* const record =
          define(*unnamed->second, shader_name(NameKind::kUnnamedRecord, name), name);
      unnamed_.erase(unnamed);
      return record;
    }
    Type type = of(declaration);
    scopes_.back().insert_or_assign(name, std::move(type));
    return nullptr;
  }
  if (!declaration.contains("completeDefinition") || text_of(declaration, "tagUsed") != "struct") {
    return nullptr;
  }
  if (name.empty()) {
    unnamed_.emplace(text_of(declaration, "id"), &declaration);
    return nullptr;
  }
  return define(declaration, shader_name(NameKind::kTag, name), "struct " + name);
}

Record* TypeTable::define(const Json& declaration, std::string name, std::string spelling) {
  Record record{std::move(name), {}, {}, &declaration};
  if (const auto inner = declaration.find("inner"); inner != declaration.end()) {
    for (const Json& field : *inner) {
      if (text_of(field, "kind") != "FieldDecl") continue;
      const std::string field_name = text_of(field, "name");
      Type type = of(field);
      if (type.pointer) type.problem = "is a pointer";
      // Sizes of structs would differ from C's.
      if (type.is_narrow()) type.problem = "is an 8- or 16-bit number";
      if (field.contains("isBitfield")) type.problem = "is a bit-field";
      if (!type.problem.empty()) {
        record.problem = fmt::format("has a member '{}', which {}", field_name, type.problem);
      }
      record.fields.push_back({shader_name(NameKind::kOrdinary, field_name), std::move(type)});
    }
  }
  if (record.fields.empty()) record.problem = "is a struct without members";
  Record* const kept = &records_.emplace_back(std::move(record));
  if (scopes_.size() == 1) file_records_.push_back(kept);
  Type type;
  type.base = Type::Base::kRecord;
  type.record = kept;
  scopes_.back().insert_or_assign(std::move(spelling), std::move(type));
  return kept;
}

std::vector<TypeTable::Scope> TypeTable::leave() {
  std::vector<Scope> left(std::make_move_iterator(scopes_.begin() + 1),
                          std::make_move_iterator(scopes_.end()));
  scopes_.resize(1);
  return left;
}

void TypeTable::come_back(std::vector<Scope> scopes) {
  scopes_.resize(1);
  std::move(scopes.begin(), scopes.end(), std::back_inserter(scopes_));
}

}  // namespace halyard::inline v0::compiler
