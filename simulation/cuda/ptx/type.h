// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

namespace halyard::inline v0::sim::ptx {

enum class Kind : std::uint8_t {
  kNone,
  kBits,
  kUnsigned,
  kSigned,
  kFloat,   // f16, f32, f64
  kBfloat,  // bf16
  kTf32,
  kHalf2,    // f16x2
  kBfloat2,  // bf16x2
  kPredicate,
};

struct Type {
  Kind kind = Kind::kNone;
  std::uint8_t bytes = 0;

  constexpr bool operator==(const Type&) const = default;
  constexpr bool is_integer() const {
    return kind == Kind::kUnsigned || kind == Kind::kSigned || kind == Kind::kBits;
  }
  constexpr bool is_signed() const { return kind == Kind::kSigned; }
};

inline constexpr Type kPredicateType{Kind::kPredicate, 4};
inline constexpr Type kU32{Kind::kUnsigned, 4};
inline constexpr Type kB32{Kind::kBits, 4};
inline constexpr Type kU64{Kind::kUnsigned, 8};
inline constexpr Type kF32{Kind::kFloat, 4};
inline constexpr Type kF64{Kind::kFloat, 8};
inline constexpr Type kF16{Kind::kFloat, 2};
inline constexpr Type kBf16{Kind::kBfloat, 2};

// Returns Kind::kNone if `word` is not a type.
constexpr Type type_of(std::string_view word) {
  if (word == "pred") return kPredicateType;
  if (word == "f16x2") return {Kind::kHalf2, 4};
  if (word == "bf16x2") return {Kind::kBfloat2, 4};
  if (word == "bf16") return kBf16;
  if (word == "tf32") return {Kind::kTf32, 4};
  if (word.size() < 2) return {};
  Kind kind{};
  switch (word[0]) {
    case 'b':
      kind = Kind::kBits;
      break;
    case 'u':
      kind = Kind::kUnsigned;
      break;
    case 's':
      kind = Kind::kSigned;
      break;
    case 'f':
      kind = Kind::kFloat;
      break;
    default:
      return {};
  }
  const std::string_view bits = word.substr(1);
  const std::uint8_t bytes = bits == "8"     ? 1
                             : bits == "16"  ? 2
                             : bits == "32"  ? 4
                             : bits == "64"  ? 8
                             : bits == "128" ? 16
                                             : 0;
  if (bytes == 0 || (kind == Kind::kFloat && (bytes == 1 || bytes == 16)) ||
      (bytes == 16 && kind != Kind::kBits)) {
    return {};
  }
  return {kind, bytes};
}

}  // namespace halyard::inline v0::sim::ptx
