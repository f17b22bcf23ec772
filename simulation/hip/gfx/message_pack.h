// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MessagePack (msgpack specification, 2013 and later), without extension types, which metadata do
// not use. Code objects are not trusted, so nesting has a limit, which nlohmann-json's reader
// lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "simulation/hip/gfx/byte_reader.h"

namespace halyard::inline v0::sim::gfx {

struct MessageValue {
  enum class Kind : std::uint8_t { kNil, kBool, kInteger, kFloat, kText, kArray, kMap };
  Kind kind = Kind::kNil;
  std::int64_t integer = 0;         // kBool too; larger values become 2^63 - 1
  std::string_view text;            // in the bytes that were parsed; binary data as well
  std::vector<MessageValue> items;  // of a map: each key, followed by its value

  // The member of a map with a text as its key, or null.
  const MessageValue* find(std::string_view key) const;
  // The member if it is of that kind, or nothing.
  std::optional<std::string_view> text_at(std::string_view key) const;
  std::optional<std::int64_t> integer_at(std::string_view key) const;
};

// Parses the value at the start of `bytes`. Returns nothing if they are not MessagePack or nest
// deeper than 32. The value refers to `bytes`.
std::optional<MessageValue> parse_message_pack(Bytes bytes);

}  // namespace halyard::inline v0::sim::gfx
