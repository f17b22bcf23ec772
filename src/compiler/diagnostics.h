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
  // Adds a line once: the tree holds some declarations twice.
  void complain(const Json& node, std::string_view what) {
    const Location at = location_of(node);
    const std::string line =
        fmt::format("{}:{}:{}: error: {}\n", at.file, at.line, at.column, what);
    if (text_.find(line) == std::string::npos) text_ += line;
  }

  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

}  // namespace halyard::inline v0::compiler
