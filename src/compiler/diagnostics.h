// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects violations of the language's rules as "file:line:column: error: ..." lines.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "compiler/clang_tree.h"

namespace halyard::inline v0::compiler {

class Diagnostics {
 public:
  // Adds a line for the first violation at a place. Others at the same place follow from it, or
  // come from a declaration that the tree contains twice.
  void complain(const Json& node, std::string_view what) {
    const Location at = location_of(node);
    const std::string place = fmt::format("{}:{}:{}: error: ", at.file, at.line, at.column);
    if (text_.find(place) == std::string::npos) text_ += fmt::format("{}{}\n", place, what);
  }

  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

}  // namespace halyard::inline v0::compiler
