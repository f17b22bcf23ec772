// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/spirv_module.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "compiler/spirv_words.h"

namespace halyard::inline v0::compiler {
namespace {

using spirv::kHeaderWords;
using spirv::Word;

constexpr Word kVersion15 = 0x00010500;

// Sections 3.6, 3.20, 3.21, 3.31 and 3.42 (3.49 in later editions).
enum Opcode : Word {
  kExecutionMode = 16,
  kCapability = 17,
  kFirstType = 19,
  kLastType = 39,
  kDecorate = 71,
};
constexpr std::array<Word, 7> kArithmetic = {
    127,  // OpFNegate
    129,  // OpFAdd
    131,  // OpFSub
    133,  // OpFMul
    136,  // OpFDiv
    140,  // OpFRem
    141,  // OpFMod
};
constexpr Word kBuiltIn = 11;
constexpr Word kWorkgroupSize = 25;
constexpr Word kNoContraction = 42;
constexpr std::array<Word, 2> kModes = {4461, 4462};  // SignedZeroInfNanPreserve, RoundingModeRTE
constexpr std::array<Word, 2> kCapabilities = {4466, 4467};  // as above
constexpr Word kLocalSize = 17;

struct Instruction {
  Word opcode;
  std::span<const Word> words;  // including the first one, which holds opcode and length
};

void append(std::vector<Word>& words, Word opcode, std::initializer_list<Word> operands) {
  words.push_back(static_cast<Word>(operands.size() + 1) << 16 | opcode);
  words.insert(words.end(), operands);
}

}  // namespace

Result<std::string> finish_spirv(std::string_view module) {
  const std::vector<Word> words = spirv::words_of(module);
  std::vector<Instruction> instructions;
  std::vector<Word> rounded;  // results of floating-point arithmetic
  const auto keep = [&](Word opcode, std::span<const Word> all) {
    if (std::ranges::find(kArithmetic, opcode) != kArithmetic.end()) {
      if (all.size() < 3) return false;
      rounded.push_back(all[2]);
    }
    instructions.push_back({opcode, all});
    return true;
  };
  if (words.empty() || words[1] > kVersion15 || !spirv::for_each_instruction(words, keep)) {
    return Status(StatusCode::kInternal, "a SPIR-V module cannot be parsed");
  }

  std::vector<Word> result(words.begin(), words.begin() + kHeaderWords);
  result[1] = kVersion15;
  // Capabilities come first, decorations right before the types.
  for (const Word capability : kCapabilities) append(result, kCapability, {capability});
  bool decorated = false;
  for (const Instruction& instruction : instructions) {
    const auto& operands = instruction.words;
    if (instruction.opcode == kDecorate && operands.size() == 4 && operands[2] == kBuiltIn &&
        operands[3] == kWorkgroupSize) {
      continue;
    }
    if (!decorated && instruction.opcode >= kFirstType && instruction.opcode <= kLastType) {
      for (const Word id : rounded) append(result, kDecorate, {id, kNoContraction});
      decorated = true;
    }
    result.insert(result.end(), operands.begin(), operands.end());
    if (instruction.opcode == kExecutionMode && operands.size() > 2 && operands[2] == kLocalSize) {
      for (const Word mode : kModes) append(result, kExecutionMode, {operands[1], mode, 32});
    }
  }
  return std::string(reinterpret_cast<const char*>(result.data()), result.size() * sizeof(Word));
}

}  // namespace halyard::inline v0::compiler
