// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors with formatted messages: `return error(StatusCode::kOutOfRange, "slot {} of {}", i, n);`
// and the two macros that pass errors on. Private to the library and its tools.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "halyard/base/result.h"
#include "halyard/base/status.h"

namespace halyard::inline v0 {

// Messages longer than 1 KiB are cut; the format buffer is on the stack.
template <class... Args>
[[nodiscard, gnu::cold, gnu::noinline]] Status error(StatusCode code,
                                                     fmt::format_string<Args...> format,
                                                     Args&&... args) {
  char text[1024];
  const auto end = fmt::format_to_n(text, sizeof(text), format, std::forward<Args>(args)...);
  return Status(code, std::string_view(text, end.out));
}

}  // namespace halyard::inline v0

#define HALYARD_CONCAT_INNER(a, b) a##b
#define HALYARD_CONCAT(a, b) HALYARD_CONCAT_INNER(a, b)

#define HALYARD_RETURN_IF_ERROR(expression)                                      \
  do {                                                                           \
    if (::halyard::Status halyard_status = (expression); !halyard_status.ok()) { \
      return halyard_status;                                                     \
    }                                                                            \
  } while (false)

// HALYARD_ASSIGN_OR_RETURN(auto file, open(path));
#define HALYARD_ASSIGN_OR_RETURN(declaration, expression) \
  HALYARD_ASSIGN_OR_RETURN_INNER(HALYARD_CONCAT(result_, __LINE__), declaration, expression)
#define HALYARD_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                           \
  if (!result.ok()) return std::move(result).status();                  \
  declaration = *std::move(result)
