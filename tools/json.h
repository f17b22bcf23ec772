// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How commands print JSON: one indented object, keys in the order they were set.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace halyard::inline v0::tools {

using Json = nlohmann::ordered_json;

// File names may hold any bytes; invalid UTF-8 becomes U+FFFD.
inline void print_json(const Json& value) {
  fmt::print("{}\n", value.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace halyard::inline v0::tools
