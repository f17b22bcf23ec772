// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/metal_words.h"

#include <cstddef>

namespace halyard::inline v0::compiler {
namespace {

// Each word has a space on both sides.
constexpr std::string_view kWords =
    " alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t class compl "
    "const_cast constexpr decltype delete dynamic_cast explicit export false friend mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "reinterpret_cast static_assert static_cast template this thread_local throw true try typeid "
    "typename using virtual wchar_t xor xor_eq main "
    // Metal's own.
    "constant device fragment kernel mesh metal object_data patch ray_data thread threadgroup "
    "threadgroup_imageblock vertex as_type array atomic sampler texture vec bfloat half uchar "
    "ushort uint ulong size_t ptrdiff_t int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t "
    "uint64_t "
    // Macros.
    "assert INFINITY NAN MAXFLOAT MAXHALF HUGE_VALF HUGE_VALH FP_ILOGB0 FP_ILOGBNAN CHAR_BIT "
    "CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX INT_MAX INT_MIN "
    "UINT_MAX LONG_MAX LONG_MIN ULONG_MAX NULL offsetof ";
constexpr std::string_view kScalars =
    " bool char uchar short ushort int uint long ulong half float bfloat ";

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
    if (words[at - 1] == ' ' && words[at + word.size()] == ' ') return true;
  }
  return false;
}

bool is_size(char c) { return c >= '2' && c <= '4'; }

// float4, packed_half3, float4x4.
bool is_vector(std::string_view name) {
  constexpr std::string_view kPacked = "packed_";
  if (name.starts_with(kPacked)) name.remove_prefix(kPacked.size());
  if (name.size() > 3 && name[name.size() - 2] == 'x' && is_size(name.back())) {
    name.remove_suffix(2);
  }
  return name.size() > 1 && is_size(name.back()) &&
         has_word(kScalars, name.substr(0, name.size() - 1));
}

// M_PI_F, FLT_MAX, __METAL_VERSION__.
bool is_macro(std::string_view name) {
  const bool of_float = name.ends_with("_F") || name.ends_with("_H");
  return (name.starts_with("M_") && of_float) || name.starts_with("FLT_") ||
         name.starts_with("HALF_") || name.starts_with("__METAL");
}

}  // namespace

bool is_metal_word(std::string_view name) noexcept {
  return !name.empty() && (has_word(kWords, name) || is_vector(name) || is_macro(name));
}

}  // namespace halyard::inline v0::compiler
