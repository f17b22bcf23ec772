// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ContentHash: 128 bits that name bytes by their content (XXH3 of xxhash.com, without a seed). Not
// collision-resistant: do not use it on adversarial input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "halyard/base/export.h"

namespace halyard::inline v0::base {

struct ContentHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const ContentHash&, const ContentHash&) noexcept = default;
};

inline std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Hashes the parts and their boundaries: {"ab", "c"} differs from {"a", "bc"}.
HALYARD_EXPORT ContentHash content_hash(std::initializer_list<std::string_view> parts) noexcept;

}  // namespace halyard::inline v0::base
