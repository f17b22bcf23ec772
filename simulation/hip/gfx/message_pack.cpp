// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/message_pack.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace halyard::inline v0::sim::gfx {
namespace {

using Kind = MessageValue::Kind;

constexpr unsigned kMaxDepth = 32;

class Parser {
 public:
  explicit Parser(Bytes bytes) : bytes_(bytes) {}

  bool value(MessageValue& result, unsigned depth);

 private:
  // The next big-endian number.
  template <typename T>
  bool number(T& result) {
    const std::optional<T> found = read<T>(bytes_, position_);
    if (!found) return false;
    position_ += sizeof(T);
    result = *found;
    if constexpr (sizeof(T) == 2) result = static_cast<T>(__builtin_bswap16(result));
    if constexpr (sizeof(T) == 4) result = static_cast<T>(__builtin_bswap32(result));
    if constexpr (sizeof(T) == 8) result = static_cast<T>(__builtin_bswap64(result));
    return true;
  }
  template <typename Encoded, typename Signed = Encoded>
  bool integer(MessageValue& result) {
    Encoded encoded = 0;
    if (!number(encoded)) return false;
    result.kind = Kind::kInteger;
    if constexpr (std::numeric_limits<Signed>::is_signed) {
      result.integer = static_cast<Signed>(encoded);
    } else {
      result.integer = static_cast<std::int64_t>(
          std::min<std::uint64_t>(encoded, std::numeric_limits<std::int64_t>::max()));
    }
    return true;
  }
  template <typename Size>
  bool sized_text(MessageValue& result) {
    Size size = 0;
    return number(size) && text(result, size);
  }
  bool text(MessageValue& result, std::uint64_t size) {
    const std::optional<Bytes> found = part(bytes_, position_, size);
    if (!found) return false;
    position_ += size;
    result.kind = Kind::kText;
    result.text = text_of(*found);
    return true;
  }
  template <typename Size>
  bool sized_array(MessageValue& result, unsigned depth) {
    Size size = 0;
    return number(size) && array(result, size, depth);
  }
  bool array(MessageValue& result, std::uint64_t size, unsigned depth) {
    // Each item takes at least one byte, so a larger size is invalid.
    if (size > bytes_.size() - position_) return false;
    result.kind = Kind::kArray;
    for (std::uint64_t i = 0; i != size; ++i) {
      if (!value(result.items.emplace_back(), depth + 1)) return false;
    }
    return true;
  }
  template <typename Size>
  bool sized_map(MessageValue& result, unsigned depth) {
    Size size = 0;
    return number(size) && map(result, size, depth);
  }
  bool map(MessageValue& result, std::uint64_t size, unsigned depth) {
    if (!array(result, 2 * size, depth)) return false;
    result.kind = Kind::kMap;
    return true;
  }
  bool skip(MessageValue& result, unsigned bytes) {
    if (!part(bytes_, position_, bytes)) return false;
    position_ += bytes;
    result.kind = Kind::kFloat;
    return true;
  }

  Bytes bytes_;
  std::uint64_t position_ = 0;  // at most the size
};

bool Parser::value(MessageValue& result, unsigned depth) {
  std::uint8_t first = 0;
  if (depth > kMaxDepth || !number(first)) return false;
  if (first <= 0x7f || first >= 0xe0) {
    result.kind = Kind::kInteger;
    result.integer = static_cast<std::int8_t>(first);
    return true;
  }
  if (first <= 0x8f) return map(result, first & 15, depth);
  if (first <= 0x9f) return array(result, first & 15, depth);
  if (first <= 0xbf) return text(result, first & 31);
  switch (first) {
    case 0xc0:
      return true;
    case 0xc2:
    case 0xc3:
      result.kind = Kind::kBool;
      result.integer = first & 1;
      return true;
    case 0xc4:
    case 0xd9:
      return sized_text<std::uint8_t>(result);
    case 0xc5:
    case 0xda:
      return sized_text<std::uint16_t>(result);
    case 0xc6:
    case 0xdb:
      return sized_text<std::uint32_t>(result);
    case 0xca:
      return skip(result, 4);
    case 0xcb:
      return skip(result, 8);
    case 0xcc:
      return integer<std::uint8_t>(result);
    case 0xcd:
      return integer<std::uint16_t>(result);
    case 0xce:
      return integer<std::uint32_t>(result);
    case 0xcf:
      return integer<std::uint64_t>(result);
    case 0xd0:
      return integer<std::uint8_t, std::int8_t>(result);
    case 0xd1:
      return integer<std::uint16_t, std::int16_t>(result);
    case 0xd2:
      return integer<std::uint32_t, std::int32_t>(result);
    case 0xd3:
      return integer<std::uint64_t, std::int64_t>(result);
    case 0xdc:
      return sized_array<std::uint16_t>(result, depth);
    case 0xdd:
      return sized_array<std::uint32_t>(result, depth);
    case 0xde:
      return sized_map<std::uint16_t>(result, depth);
    case 0xdf:
      return sized_map<std::uint32_t>(result, depth);
    default:
      return false;
  }
}

}  // namespace

const MessageValue* MessageValue::find(std::string_view key) const {
  if (kind != Kind::kMap) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind == Kind::kText && items[i].text == key) return &items[i + 1];
  }
  return nullptr;
}

std::optional<std::string_view> MessageValue::text_at(std::string_view key) const {
  const MessageValue* const found = find(key);
  if (found == nullptr || found->kind != Kind::kText) return std::nullopt;
  return found->text;
}

std::optional<std::int64_t> MessageValue::integer_at(std::string_view key) const {
  const MessageValue* const found = find(key);
  if (found == nullptr || (found->kind != Kind::kInteger && found->kind != Kind::kBool)) {
    return std::nullopt;
  }
  return found->integer;
}

std::optional<MessageValue> parse_message_pack(Bytes bytes) {
  std::optional<MessageValue> result(std::in_place);
  if (!Parser(bytes).value(*result, 0)) result.reset();
  return result;
}

}  // namespace halyard::inline v0::sim::gfx
