// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clang's syntax tree, as -ast-dump=json prints it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace halyard::inline v0::compiler {

// Ordered: clang omits a location's file and line if they equal those printed before.
using Json = nlohmann::ordered_json;

// Parses the tree and completes every location. Throws std::exception if the text is not JSON.
Json parse_tree(std::string_view json);

// A member that is a string; empty otherwise.
std::string text_of(const Json& node, const char* key);
inline bool is_kind(const Json& node, std::string_view kind) {
  return text_of(node, "kind") == kind;
}

struct Location {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// The place in the user's source: for the expansion of a macro, the place of the macro's use.
Location location_of(const Json& node);
// The file with its first token: for the expansion of a macro, the file of the macro's definition;
// "<scratch space>" for a token that a macro pasted.
std::string spelling_file(const Json& node);

}  // namespace halyard::inline v0::compiler
