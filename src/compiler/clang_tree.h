// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clang's syntax tree, as -ast-dump=json prints it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace halyard::inline v0::compiler {

// Ordered: clang leaves out a location's file and line where they equal those printed before.
using Json = nlohmann::ordered_json;

// Throws std::exception if it is no JSON. Every location in the result is complete.
Json parse_tree(std::string_view json);

// A member that is a string; else empty.
std::string text_of(const Json& node, const char* key);
inline bool is_kind(const Json& node, std::string_view kind) {
  return text_of(node, "kind") == kind;
}

struct Location {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// Where the user wrote it: for what comes from a macro, where the macro was used.
Location location_of(const Json& node);
// The file that holds its first word: for what comes from a macro, where the macro was defined;
// "<scratch space>" for what a macro put together.
std::string spelling_file(const Json& node);

}  // namespace halyard::inline v0::compiler
