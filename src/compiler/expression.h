// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variables that an expression of clang's syntax tree refers to, reads and writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/clang_tree.h"

namespace halyard::inline v0::compiler {

// The type of a declaration or expression, with typedef and typeof resolved. Clang does not resolve
// those of an array's element; a caller that knows the typedefs does.
std::string resolved_type(const Json& node);
// True if a type in this form is a pointer or contains one.
bool is_pointer(std::string_view type);
inline bool has_pointer_type(const Json& node) { return is_pointer(resolved_type(node)); }

// The expression without parentheses; without_casts() also removes implicit conversions.
const Json& without_parentheses(const Json& expression);
const Json& without_casts(const Json& expression);

// The declaration of the variable that an assignable expression belongs to, or that an address
// points into. A literal or another value is its own referent. Null if the variable is unknown.
const Json* referent(const Json& expression);

// The name of a parameter in the source: the pointer of an output tensor y is called
// hy_out<rank>_y, a private value p hy_my_p.
std::string user_name(const Json& declaration);

// The value of a literal, or of a sum, difference or product of literals.
std::optional<std::int64_t> constant_of(const Json& expression);

// True if the expression assigns to its first operand.
bool is_write(const Json& node);

// The operand that an atomic operation modifies; null if the expression is not an atomic.
const Json* atomic_operand(const Json& node);

// Calls fn(argument, may_write) for the addresses that a call passes; an array counts as an
// address. Skips the first operand of an atomic.
template <class F>
void for_each_address(const Json& node, F&& fn) {
  const std::string kind = text_of(node, "kind");
  const bool atomic = kind == "AtomicExpr";
  if (!atomic && (kind != "CallExpr" || atomic_operand(node) != nullptr)) return;
  const Json& inner = node.at("inner");  // the function, then its arguments
  for (std::size_t i = 1; i < inner.size(); ++i) {
    if (has_pointer_type(inner[i])) fn(inner[i], !resolved_type(inner[i]).starts_with("const "));
  }
}

// Calls fn(expression) for the operand that `node` assigns to, and for the addresses that it passes
// to a function that may write there.
template <class F>
void for_each_written(const Json& node, F&& fn) {
  if (is_write(node)) fn(node.at("inner").at(0));
  for_each_address(node, [&](const Json& argument, bool may_write) {
    if (may_write) fn(argument);
  });
}

// The innermost loop of a block, given the directive in halyard/kernel/cpu.h's expansion of
// HY_ITEMS. Null if there is no loop.
const Json* loop_of_block(const Json& directive);

}  // namespace halyard::inline v0::compiler
