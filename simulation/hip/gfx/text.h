// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the sentences of messages from strings and numbers.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace halyard::inline v0::sim::gfx {

inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, std::integral auto number) { text += std::to_string(number); }

// Concatenates the parts; numbers are decimal.
template <typename... Parts>
std::string join(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

// "0x1f", with at least `digits` digits.
inline std::string hex(std::uint64_t value, unsigned digits = 1) {
  std::string text;
  do {
    text.insert(text.begin(), "0123456789abcdef"[value & 15]);
    value >>= 4;
  } while (value != 0 || text.size() < digits);
  return "0x" + text;
}

}  // namespace halyard::inline v0::sim::gfx
