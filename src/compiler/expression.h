// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an expression of clang's syntax tree refers to, reads and writes.
#pragma once

#include <string>
#include <string_view>

#include "compiler/clang_tree.h"

namespace halyard::inline v0::compiler {

// The type of a declaration or expression, with the names of typedef and typeof resolved. Clang
// resolves none of an array's element: that is for who knows the names.
std::string resolved_type(const Json& node);
// Whether a type so printed is a pointer, or has one in it.
bool is_pointer(std::string_view type);
inline bool has_pointer_type(const Json& node) { return is_pointer(resolved_type(node)); }

// Below parentheses, and implicit conversions.
const Json& without_parentheses(const Json& expression);
const Json& without_casts(const Json& expression);

// The declaration of the variable that an assignable expression is part of, or that an address
// points into. A literal or another value is its own. Null if it cannot be told which variable it
// is.
const Json* referent(const Json& expression);

// The name by which the user knows a parameter: the pointer of an output tensor y is called
// hy_out<rank>_y, a private value p hy_my_p.
std::string user_name(const Json& declaration);

// Whether the expression assigns to its first operand.
bool is_write(const Json& node);

// What an atomic operation works on; null if the expression is none.
const Json* atomic_operand(const Json& node);

// fn(argument, may_write) for the addresses, also of arrays, that a call gives away. The first
// operand of an atomic is not among them.
template <class F>
void for_each_address(const Json& node, F&& fn) {
  const std::string kind = text_of(node, "kind");
  const bool atomic = kind == "AtomicExpr";
  if (!atomic && (kind != "CallExpr" || atomic_operand(node) != nullptr)) return;
  const Json& inner = node.at("inner");  // the function, and its arguments
  for (std::size_t i = 1; i < inner.size(); ++i) {
    if (has_pointer_type(inner[i])) fn(inner[i], !resolved_type(inner[i]).starts_with("const "));
  }
}

// fn(expression) for what the expression `node` assigns to, and for what it gives a function the
// address of, unless that may only read.
template <class F>
void for_each_written(const Json& node, F&& fn) {
  if (is_write(node)) fn(node.at("inner").at(0));
  for_each_address(node, [&](const Json& argument, bool may_write) {
    if (may_write) fn(argument);
  });
}

// The innermost loop of a block, by the directive that halyard/kernel_cpu.h makes of HY_ITEMS. Null
// if there is none.
const Json* loop_of_block(const Json& directive);

}  // namespace halyard::inline v0::compiler
