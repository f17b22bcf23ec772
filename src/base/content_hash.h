// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ContentHash: 128 bits that name bytes by what they are (XXH3 of xxhash.com, without a seed).
// Equal bytes have equal hashes; others differ unless somebody made them to collide: it is no
// protection against who chooses the bytes.
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

// Of the parts and of where they end: {"ab", "c"} is not {"a", "bc"}.
HALYARD_EXPORT ContentHash content_hash(std::initializer_list<std::string_view> parts) noexcept;

}  // namespace halyard::inline v0::base
