// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The seeds of a stress test.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace halyard::hal::testing {

// 1 to `count`, or the range of HALYARD_STRESS_SEEDS: A..B, or A.
inline std::vector<std::uint64_t> stress_seeds(std::uint64_t count) {
  std::uint64_t first = 1, last = count;
  if (const char* const text = std::getenv("HALYARD_STRESS_SEEDS"); text != nullptr) {
    const std::string_view range = text;
    const auto dots = range.find("..");
    const char* const end = text + range.size();
    std::from_chars(text, end, first);
    last = first;
    if (dots != range.npos) std::from_chars(text + dots + 2, end, last);
  }
  std::vector<std::uint64_t> all;
  for (; first <= last; ++first) all.push_back(first);
  return all;
}

}  // namespace halyard::hal::testing
