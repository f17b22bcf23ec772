// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/expression.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>

#include "base/number.h"

namespace halyard::inline v0::compiler {
namespace {

template <std::size_t kCount>
bool is_one_of(std::string_view kind, const std::array<std::string_view, kCount>& kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// The operand of a selection, which the compiler chooses.
const Json* selected(const Json& selection) {
  for (const Json& part : selection.at("inner")) {
    const auto found = part.find("selected");
    if (found != part.end() && found->get<bool>()) return &part.at("inner").back();
  }
  return nullptr;
}

// One step from an expression towards its variable; null if there is no such step.
const Json* behind(const Json& expression, const std::string& kind) {
  static constexpr std::array<std::string_view, 6> kTransparent = {
      "ParenExpr",  "ImplicitCastExpr",     "CStyleCastExpr",
      "MemberExpr", "ExtVectorElementExpr", "UnaryOperator"};
  const auto inner = expression.find("inner");
  if (inner == expression.end() || inner->empty()) return nullptr;
  if (is_one_of(kind, kTransparent)) return &inner->at(0);
  if (kind == "GenericSelectionExpr") return selected(expression);
  if (kind == "ArraySubscriptExpr") {  // y[0] or 0[y]
    return &inner->at(has_pointer_type(inner->at(1)) ? 1 : 0);
  }
  if (kind == "CompoundAssignOperator") return &inner->at(0);
  if (kind != "BinaryOperator") return nullptr;
  const std::string opcode = text_of(expression, "opcode");
  if (opcode == ",") return &inner->at(1);
  if (opcode == "=") return &inner->at(0);
  return &inner->at(has_pointer_type(inner->at(1)) ? 1 : 0);  // y + 1 or 1 + y
}

}  // namespace

std::string resolved_type(const Json& node) {
  const auto type = node.find("type");
  if (type == node.end()) return {};
  std::string resolved = text_of(*type, "desugaredQualType");
  return resolved.empty() ? text_of(*type, "qualType") : resolved;
}

bool is_pointer(std::string_view type) {
  std::size_t at = type.find('*');
  // A vector is __attribute__((__vector_size__(4 * sizeof(int)))) int.
  while (at != type.npos && type.substr(at).starts_with("* sizeof(")) at = type.find('*', at + 1);
  return at != type.npos;
}

const Json& without_parentheses(const Json& expression) {
  const Json* at = &expression;
  while (is_kind(*at, "ParenExpr")) at = &at->at("inner").at(0);
  return *at;
}

const Json& without_casts(const Json& expression) {
  const Json* at = &expression;
  while (is_kind(*at, "ImplicitCastExpr") || is_kind(*at, "ParenExpr")) {
    at = &at->at("inner").at(0);
  }
  return *at;
}

const Json* referent(const Json& expression) {
  static constexpr std::array<std::string_view, 3> kLiterals = {"CompoundLiteralExpr",
                                                                "StringLiteral", "PredefinedExpr"};
  for (const Json* at = &expression;;) {
    const std::string kind = text_of(*at, "kind");
    if (kind == "DeclRefExpr") return &at->at("referencedDecl");
    // A null pointer refers to no variable.
    if (is_one_of(kind, kLiterals) || text_of(*at, "castKind") == "NullToPointer") return at;
    const Json* next = behind(*at, kind);
    if (next == nullptr) {
      // A struct that a function returns belongs to no variable; a returned address may belong to
      // any.
      const bool value = !has_pointer_type(*at) && text_of(*at, "valueCategory") == "prvalue";
      return value ? at : nullptr;
    }
    at = next;
  }
}

std::string user_name(const Json& declaration) {
  const std::string name = text_of(declaration, "name");
  const bool own = name.starts_with("hy_out") || name.starts_with("hy_in") ||
                   name.starts_with("hy_t_") || name.starts_with("hy_my_");
  return own ? name.substr(name.find('_', 3) + 1) : name;
}

std::optional<std::int64_t> constant_of(const Json& expression) {
  const Json& at = without_casts(expression);
  const std::string kind = text_of(at, "kind"), opcode = text_of(at, "opcode");
  if (kind == "IntegerLiteral") {
    return base::parse_number(text_of(at, "value"), 0u, std::numeric_limits<std::uint32_t>::max());
  }
  if (kind == "UnaryOperator" && opcode == "-") {
    const auto value = constant_of(at.at("inner").at(0));
    return value ? std::optional(-*value) : std::nullopt;
  }
  if (kind != "BinaryOperator") return std::nullopt;
  const auto left = constant_of(at.at("inner").at(0)), right = constant_of(at.at("inner").at(1));
  // Small enough that nothing overflows.
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (!left || !right || std::abs(*left) > kLimit || std::abs(*right) > kLimit) return std::nullopt;
  if (opcode == "+") return *left + *right;
  if (opcode == "-") return *left - *right;
  if (opcode == "*") return *left * *right;
  return std::nullopt;
}

bool is_write(const Json& node) {
  const std::string kind = text_of(node, "kind");
  if (kind == "CompoundAssignOperator") return true;
  const std::string opcode = text_of(node, "opcode");
  return (kind == "BinaryOperator" && opcode == "=") ||
         (kind == "UnaryOperator" && (opcode == "++" || opcode == "--"));
}

const Json* atomic_operand(const Json& node) {
  const std::string kind = text_of(node, "kind");
  if (kind == "AtomicExpr") return &node.at("inner").at(0);
  if (kind != "CallExpr" || node.at("inner").size() < 2) return nullptr;
  const Json* callee = referent(node.at("inner").at(0));
  const bool atomic = callee != nullptr && text_of(*callee, "name").starts_with("__sync_");
  return atomic ? &node.at("inner").at(1) : nullptr;
}

const Json* loop_of_block(const Json& directive) {
  // Each of these kinds contains the next one first, and then nodes that also occur elsewhere in
  // the tree.
  const Json* at = &directive;
  for (const std::string_view kind : {"CapturedStmt", "CapturedDecl", "ForStmt"}) {
    const auto inner = at->find("inner");
    if (inner == at->end()) return nullptr;
    const auto found = std::ranges::find_if(
        *inner, [&](const Json& child) { return text_of(child, "kind") == kind; });
    if (found == inner->end()) return nullptr;
    at = &*found;
  }
  return at;
}

}  // namespace halyard::inline v0::compiler
