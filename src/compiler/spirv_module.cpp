// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/spirv_module.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/format.h"
#include "compiler/spirv_words.h"

namespace halyard::inline v0::compiler {
namespace {

using spirv::kHeaderWords;
using spirv::Word;

constexpr Word kVersion15 = 0x00010500;

// Sections 3.6, 3.20, 3.21, 3.31 and 3.42 (3.49 in later editions).
enum Opcode : Word {
  kName = 5,
  kEntryPoint = 15,
  kExecutionMode = 16,
  kCapability = 17,
  kFirstType = 19,
  kTypeFloat = 22,
  kLastType = 39,
  kFirstSpecConstant = 48,
  kLastSpecConstant = 52,
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
constexpr Word kBinding = 33;
constexpr Word kDescriptorSet = 34;
constexpr Word kNoContraction = 42;
constexpr std::array<Word, 2> kModes = {4461, 4462};  // SignedZeroInfNanPreserve, RoundingModeRTE
constexpr std::array<Word, 2> kCapabilities = {4466, 4467};  // as above
constexpr Word kLocalSize = 17;
constexpr std::size_t kMostWords = 0xffff;  // of an instruction

struct Instruction {
  Word opcode;
  std::span<const Word> words;  // including the first one, which holds opcode and length
};

void append(std::vector<Word>& words, Word opcode, std::initializer_list<Word> operands) {
  words.push_back(static_cast<Word>(operands.size() + 1) << 16 | opcode);
  words.insert(words.end(), operands);
}

std::string bytes_of(std::span<const Word> words) {
  return std::string(reinterpret_cast<const char*>(words.data()), words.size_bytes());
}

// Section 2.2.1: a literal ends with a zero byte, and with zeros up to the end of its last word.
std::vector<Word> literal(std::string_view text) {
  std::vector<Word> words(text.size() / sizeof(Word) + 1);
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}
std::size_t words_of_literal(std::span<const Word> words) {
  const auto last =
      std::ranges::find_if(words, [](Word word) { return word >> 24 == 0; }) - words.begin();
  return std::min(static_cast<std::size_t>(last) + 1, words.size());
}

}  // namespace

Result<std::string> rename_entry_point(std::string_view module, std::string_view name) {
  const std::vector<Word> words = spirv::words_of(module);
  if (words.empty()) return Status(StatusCode::kInternal, "a SPIR-V module cannot be parsed");
  const std::vector<Word> its_name = literal(name);
  std::vector<Word> result(words.begin(), words.begin() + kHeaderWords);
  int entries = 0;
  Word entry = 0;
  // `first` is where the name begins.
  const auto append_renamed = [&](std::span<const Word> all, std::size_t first) {
    const auto rest = all.subspan(first + words_of_literal(all.subspan(first)));
    const std::size_t length = first + its_name.size() + rest.size();
    if (length > kMostWords) return false;
    result.push_back(static_cast<Word>(length) << 16 | (all[0] & 0xffff));
    result.insert(result.end(), all.begin() + 1, all.begin() + static_cast<std::ptrdiff_t>(first));
    result.insert(result.end(), its_name.begin(), its_name.end());
    result.insert(result.end(), rest.begin(), rest.end());
    return true;
  };
  const auto visit = [&](Word opcode, std::span<const Word> all) {
    if (opcode == kEntryPoint && all.size() > 3) {
      ++entries;
      entry = all[2];
      return append_renamed(all, 3);
    }
    // OpName is for tools. It comes after all entry points.
    if (opcode == kName && all.size() > 2 && entries != 0 && all[1] == entry) {
      return append_renamed(all, 2);
    }
    result.insert(result.end(), all.begin(), all.end());
    return true;
  };
  if (!spirv::for_each_instruction(words, visit) || entries != 1) {
    return error(StatusCode::kInternal, "a SPIR-V module has no entry point to be renamed to '{}'",
                 name);
  }
  return bytes_of(result);
}

Result<std::string> spirv_for_metal(std::string_view module) {
  const std::vector<Word> words = spirv::words_of(module);
  std::map<Word, std::pair<Word, Word>> places;  // set and binding, by variable
  bool has_double = false;
  const auto read = [&](Word opcode, std::span<const Word> all) {
    has_double |= opcode == kTypeFloat && all.size() > 2 && all[2] == 64;
    if (opcode != kDecorate || all.size() < 4) return true;
    if (all[2] == kDescriptorSet) places[all[1]].first = all[3];
    if (all[2] == kBinding) places[all[1]].second = all[3];
    return true;
  };
  if (words.empty() || !spirv::for_each_instruction(words, read)) {
    return Status(StatusCode::kInvalidArgument, "not a SPIR-V module, or a damaged one");
  }
  if (has_double) return Status(StatusCode::kInvalidArgument, "it has doubles, which Metal lacks");
  std::vector<std::pair<std::pair<Word, Word>, Word>> order;
  for (const auto& [id, place] : places) order.emplace_back(place, id);
  std::ranges::sort(order);
  std::map<Word, Word> numbers;
  for (const auto& [place, id] : order) numbers[id] = static_cast<Word>(numbers.size());
  std::vector<Word> result(words.begin(), words.begin() + kHeaderWords);
  spirv::for_each_instruction(words, [&](Word opcode, std::span<const Word> all) {
    if (opcode == kDecorate && all.size() > 2 && all[2] == kNoContraction) return true;
    result.insert(result.end(), all.begin(), all.end());
    if (opcode != kDecorate || all.size() < 4) return true;
    if (all[2] == kDescriptorSet) result.back() = 0;
    if (all[2] == kBinding) result.back() = numbers[all[1]];
    return true;
  });
  return bytes_of(result);
}

bool has_specialization(std::string_view module) {
  const std::vector<Word> words = spirv::words_of(module);
  return !spirv::for_each_instruction(words, [](Word opcode, std::span<const Word>) {
    return opcode < kFirstSpecConstant || opcode > kLastSpecConstant;
  });
}

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
  return bytes_of(result);
}

}  // namespace halyard::inline v0::compiler
