// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers as users write them in URIs and options.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace halyard::inline v0::base {

// Nothing unless all of `text` is one decimal number in [least, most].
inline std::optional<unsigned> parse_number(std::string_view text, unsigned least,
                                            unsigned most) noexcept {
  unsigned value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, value);
  if (code != std::errc() || end != last || value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace halyard::inline v0::base
