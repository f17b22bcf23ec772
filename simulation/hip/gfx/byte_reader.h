// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads numbers and texts from untrusted bytes: every access is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace halyard::inline v0::sim::gfx {

using Bytes = std::span<const std::byte>;

// `size` bytes from `offset`, or nothing if they exceed `bytes`.
inline std::optional<Bytes> part(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// A little-endian number at `offset`, or nothing. (The host is little-endian.)
template <typename T>
std::optional<T> read(Bytes bytes, std::uint64_t offset) {
  const std::optional<Bytes> found = part(bytes, offset, sizeof(T));
  if (!found) return std::nullopt;
  T value;
  std::memcpy(&value, found->data(), sizeof(T));
  return value;
}

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The zero-terminated text at `offset`, or nothing if there is no zero.
inline std::optional<std::string_view> read_text(Bytes bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  const std::string_view rest = text_of(bytes.subspan(static_cast<std::size_t>(offset)));
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

}  // namespace halyard::inline v0::sim::gfx
