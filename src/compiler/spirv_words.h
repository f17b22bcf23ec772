// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words and instructions of a SPIR-V module, section 2.3 of the specification:
// https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace halyard::inline v0::compiler::spirv {

using Word = std::uint32_t;

// Magic number, version, generator, bound, schema.
inline constexpr std::size_t kHeaderWords = 5;
inline constexpr Word kMagic = 0x07230203;

// Empty if the bytes are not a module in this machine's byte order.
inline std::vector<Word> words_of(std::string_view bytes) {
  std::vector<Word> words(bytes.size() / sizeof(Word));
  if (bytes.size() % sizeof(Word) != 0 || words.size() < kHeaderWords) return {};
  std::memcpy(words.data(), bytes.data(), bytes.size());
  if (words[0] != kMagic) return {};
  return words;
}

// Calls visit(opcode, words) for each instruction until it returns false; the first word holds
// opcode and length. Returns false then, and also if an instruction ends beyond the module.
template <class F>
bool for_each_instruction(std::span<const Word> module, F&& visit) {
  for (std::size_t at = kHeaderWords; at < module.size();) {
    const std::size_t length = module[at] >> 16;
    if (length == 0 || length > module.size() - at) return false;
    if (!visit(module[at] & 0xffff, module.subspan(at, length))) return false;
    at += length;
  }
  return true;
}

}  // namespace halyard::inline v0::compiler::spirv
