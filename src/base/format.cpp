// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only use of fmt in the library, which does not link libfmt; its programs do (FMT_SHARED).
#ifndef FMT_SHARED
#define FMT_HEADER_ONLY 1
#endif
#include "base/format.h"

#include <fmt/format.h>

#include <iterator>
#include <new>

namespace halyard::inline v0::base {

// The only source of the library that has exceptions. A text without memory is truncated: the
// library's own threads could not catch the exception of std::string.
void append_packed(std::string& out, fmt::string_view format, fmt::format_args values) noexcept {
#ifdef __cpp_exceptions
  try {
    fmt::vformat_to(std::back_inserter(out), format, values);
  } catch (const std::bad_alloc&) {
  }
#else  // the simulation's
  fmt::vformat_to(std::back_inserter(out), format, values);
#endif
}

char* write_packed(char* begin, char* end, fmt::string_view format,
                   fmt::format_args values) noexcept {
  const auto room = static_cast<std::size_t>(end - begin);
  return fmt::vformat_to_n(begin, room, format, values).out;
}

std::string number(std::uint64_t value) noexcept {
  const std::uint64_t below = ~value + 1;  // 2^64
  return value == 0 || below >> 40 != 0 ? format("{}", value) : format("2^64 - {}", below);
}

std::string counted(std::uint64_t count, std::string_view noun) noexcept {
  return format("{} {}{}", number(count), noun, count == 1 ? "" : "s");
}

Status error_packed(StatusCode code, fmt::string_view format, fmt::format_args values) {
  char text[512];
  const std::size_t size = fmt::vformat_to_n(text, sizeof text, format, values).size;
  if (size <= sizeof text) return Status(code, std::string_view(text, size));
  std::string longer;
  append_packed(longer, format, values);
  return Status(code, longer);
}

}  // namespace halyard::inline v0::base
