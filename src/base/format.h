// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors with formatted messages: `return error(StatusCode::kOutOfRange, "slot {} of {}", i, n);`
// and the two macros that propagate errors. Private to the library and its tools.
//
// Only format.cpp compiles the formatting. A caller instantiates the check of its format and the
// packing of its values, an eighth of the compile time of fmt::format. The library uses fmt through
// these functions only, as it does not link libfmt.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "halyard/base/result.h"
#include "halyard/base/status.h"

namespace halyard::inline v0 {
namespace base {

// Appends the text, truncated if memory is exhausted.
void append_packed(std::string& out, fmt::string_view format, fmt::format_args values) noexcept;

// Writes the text, truncated to the space; returns its end.
[[nodiscard]] char* write_packed(char* begin, char* end, fmt::string_view format,
                                 fmt::format_args values) noexcept;

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  append_packed(out, format, fmt::make_format_args(args...));
}

template <class... Args>
[[nodiscard]] std::string format(fmt::format_string<Args...> format, Args&&... args) {
  std::string out;
  append_packed(out, format, fmt::make_format_args(args...));
  return out;
}

// A number for messages; truncated if memory is exhausted. Numbers from 2^63 on are written as
// "2^64 - 4": they come from a subtraction that wrapped or from a negative number.
[[nodiscard]] std::string number(std::uint64_t value) noexcept;
// The number and the noun: "1 slot", "3 slots".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun) noexcept;

// As error() below.
[[nodiscard, gnu::cold]] Status error_packed(StatusCode code, fmt::string_view format,
                                             fmt::format_args values);

}  // namespace base

template <class... Args>
[[nodiscard, gnu::cold, gnu::noinline]] Status error(StatusCode code,
                                                     fmt::format_string<Args...> format,
                                                     Args&&... args) {
  return base::error_packed(code, format, fmt::make_format_args(args...));
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
