// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts of reports.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace halyard::inline v0::sim::kfd {

inline std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

inline void append(std::string& text, std::string_view part) { text += part; }
template <std::integral T>
void append(std::string& text, T part) {
  text += std::to_string(part);
}
// Concatenates texts and decimal numbers.
template <class... Parts>
std::string join(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

}  // namespace halyard::inline v0::sim::kfd
